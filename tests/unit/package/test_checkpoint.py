"""Checkpoints: their text, and roots that another library and brute force give too."""

from __future__ import annotations

import shutil
from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest
from pymerkle import InmemoryTree

from vstore.controller.bundles import create_bundle
from vstore.errors import IntegrityError, InvalidError, NotFoundError
from vstore.objects.ids import ObjectId, object_id
from vstore.package.checkpoint import (
    MAX_CHECKPOINT_BYTES,
    Checkpoint,
    checkpoint_of,
    encode_checkpoint,
    origin_of,
    parse_checkpoint,
)
from vstore.package.reader import PackageReader
from vstore.testing.bad.change import forged, put
from vstore.testing.editor import PackageEditor

GOOD = Path(__file__).parents[2] / "fixtures" / "good"
ROOT = b64encode(bytes(range(32))).decode()
TEXT = f"vstore/package/P-1\n12\n{ROOT}\n"
SIGNATURE = "— example.com/log " + b64encode(b"key!" + bytes(64)).decode()
SPACED = SIGNATURE.replace(".com", "\u3000com")


def leaves(package: Path) -> list[bytes]:
    """The generations of a package, oldest first."""
    return [one.content for one in PackageEditor(package).objects("package-generation-v1")]


def tree_hash(data: list[bytes]) -> bytes:
    """RFC 6962, section 2.1, word for word."""
    if len(data) == 1:
        return sha256(b"\0" + data[0]).digest()
    split = 1
    while split * 2 < len(data):
        split *= 2
    return sha256(b"\1" + tree_hash(data[:split]) + tree_hash(data[split:])).digest()


@pytest.fixture(params=["investigation", "tests", "calls", "reopened", "large"])
def package(request: pytest.FixtureRequest) -> Path:
    return GOOD / str(request.param)


@pytest.fixture
def reader(package: Path) -> Iterator[PackageReader]:
    with PackageReader.open(package) as reader:
        yield reader


def test_the_root_of_every_prefix_is_that_of_another_library(
    package: Path, reader: PackageReader
) -> None:
    tree = InmemoryTree(algorithm="sha256")
    data = leaves(package)
    for size, content in enumerate(data, 1):
        tree.append_entry(content)
        found = checkpoint_of(reader, object_id(content))
        assert (found.size, found.origin) == (size, "vstore/package/PACKAGE-1")
        assert bytes.fromhex(found.root) == tree.get_root(size) == tree_hash(data[:size])
    assert checkpoint_of(reader) == found


def test_a_bundle_has_the_checkpoint_of_its_package(tmp_path: Path) -> None:
    create_bundle(GOOD / "tests", tmp_path / "bundle.zip")
    with (
        PackageReader.open(tmp_path / "bundle.zip") as bundle,
        PackageReader.open(GOOD / "tests") as folder,
    ):
        assert checkpoint_of(bundle) == checkpoint_of(folder)


def test_the_text(reader: PackageReader, package: Path) -> None:
    found = checkpoint_of(reader)
    data = leaves(package)
    lines = encode_checkpoint(found).decode().split("\n")
    root = b64encode(tree_hash(data)).decode()
    assert lines == ["vstore/package/PACKAGE-1", str(len(data)), root, "", ""]
    assert parse_checkpoint(encode_checkpoint(found)) == found


@pytest.mark.parametrize(
    ("more", "extensions", "signatures"),
    [
        ("", (), ()),
        ("\n", (), ()),
        ("one line\nanother — one\n", ("one line", "another — one"), ()),
        (f"\n{SIGNATURE}\n", (), (SIGNATURE,)),
        (f"more\n\n{SIGNATURE}\n{SIGNATURE}\n", ("more",), (SIGNATURE, SIGNATURE)),
    ],
    ids=["no empty line", "empty line", "extensions", "signed", "all"],
)
def test_what_may_follow(
    more: str, extensions: tuple[str, ...], signatures: tuple[str, ...]
) -> None:
    found = parse_checkpoint((TEXT + more).encode())
    assert found == Checkpoint(
        origin="vstore/package/P-1",
        size=12,
        root=bytes(range(32)).hex(),
        extensions=extensions,
        signatures=signatures,
    )
    whole = TEXT + more if "\n\n" in TEXT + more else TEXT + more + "\n"
    assert encode_checkpoint(found) == whole.encode()


def test_signature_lines_are_appended_as_they_are() -> None:
    plain = encode_checkpoint(parse_checkpoint(TEXT.encode()))
    signed = parse_checkpoint(plain + f"{SIGNATURE}\n".encode())
    assert signed.signatures == (SIGNATURE,)


def test_an_origin_of_another_log_is_read_too() -> None:
    raw = TEXT.replace("vstore/package/P-1", "go.sum database tree").encode()
    assert parse_checkpoint(raw).origin == "go.sum database tree"
    assert origin_of("P-1") == "vstore/package/P-1"


MALFORMED = {
    "nothing": b"",
    "a line": b"vstore/package/P-1\n",
    "two lines": b"vstore/package/P-1\n12\n",
    "an object id": b"b3:" + b"0" * 64 + b"\n",
    "no end": TEXT.encode()[:-1],
    "CRLF": TEXT.replace("\n", "\r\n").encode(),
    "a tab": TEXT.replace("P-1", "P\t1").encode(),
    "an escape": TEXT.replace("P-1", "P\x1b[31m").encode(),
    "a byte order mark, and then": b"\xff\xfe" + TEXT.encode(),
    "no origin": f"\n12\n{ROOT}\n".encode(),
    "an empty line among them": f"vstore/package/P-1\n\n12\n{ROOT}\n".encode(),
    "no generation": TEXT.replace("12", "0").encode(),
    "a leading zero": TEXT.replace("12", "012").encode(),
    "a sign": TEXT.replace("12", "+12").encode(),
    "white space": TEXT.replace("12", " 12").encode(),
    "other digits": TEXT.replace("12", "１２").encode(),
    "past 2^53": TEXT.replace("12", "9007199254740992").encode(),
    "many digits": TEXT.replace("12", "9" * 5000).encode(),
    "31 bytes": TEXT.replace(ROOT, b64encode(bytes(31)).decode()).encode(),
    "33 bytes": TEXT.replace(ROOT, b64encode(bytes(33)).decode()).encode(),
    "hex": TEXT.replace(ROOT, bytes(32).hex()).encode(),
    "no padding": TEXT.replace(ROOT, ROOT.rstrip("=")).encode(),
    "other last bits": TEXT.replace(ROOT, ROOT[:-2] + "9=").encode(),
    "URL Base64": TEXT.replace(ROOT, b64encode(b"\xff" * 32).decode().replace("/", "_")).encode(),
    "no signature": f"{TEXT}\nsigned: me\n".encode(),
    "another dash": f"{TEXT}\n{SIGNATURE.replace('—', '-')}\n".encode(),
    "no name": f"{TEXT}\n—  {SIGNATURE.split()[2]}\n".encode(),
    "a name with a plus": f"{TEXT}\n{SIGNATURE.replace('.com', '+com')}\n".encode(),
    "a name with a space": f"{TEXT}\n{SPACED}\n".encode(),
    "a signature of no bytes": f"{TEXT}\n— name {b64encode(b'key!').decode()}\n".encode(),
    "a signature without padding": f"{TEXT}\n{SIGNATURE.rstrip('=')}\n".encode(),
    "a signature without end": f"{TEXT}\n{SIGNATURE}".encode(),
    "something behind signatures": f"{TEXT}\n{SIGNATURE}\n\n".encode(),
    "too much": TEXT.encode() + b"x" * MAX_CHECKPOINT_BYTES,
}


@pytest.mark.parametrize("name", list(MALFORMED))
def test_what_is_none(name: str) -> None:
    with pytest.raises(InvalidError) as caught:
        parse_checkpoint(MALFORMED[name])
    assert caught.value.kind == "invalid_checkpoint"
    assert caught.value.hint


def test_of_a_generation_that_is_not_there() -> None:
    with PackageReader.open(GOOD / "tests") as reader, pytest.raises(NotFoundError) as caught:
        checkpoint_of(reader, ObjectId.parse("77" * 32))
    assert caught.value.kind == "no_generation"


def test_a_generation_that_commits_to_another_history_has_none(tmp_path: Path) -> None:
    """What it says of the generations before is compared: the last one would be wrong else."""
    make = forged(
        lambda editor: editor.edit(
            editor.find("package-generation-v1", -1), put("/history/root", "0" * 64)
        ),
        base="tests",
    )
    make(GOOD, tmp_path / "package")
    with PackageReader.open(tmp_path / "package") as reader:
        with pytest.raises(IntegrityError) as caught:
            checkpoint_of(reader)
        assert caught.value.kind == "broken_history"
        # Those before are as they were.
        *_, before, _ = (oid for oid, _ in reader.history(newest_first=False))
        assert checkpoint_of(reader, before).size == 16


def test_a_damaged_generation_has_none(tmp_path: Path) -> None:
    package = Path(shutil.copytree(GOOD / "tests", tmp_path / "package"))
    (log,) = (package / "objects" / "log").iterdir()
    raw = bytearray(log.read_bytes())
    raw[len(raw) // 2] ^= 1
    log.write_bytes(raw)
    with PackageReader.open(package) as reader, pytest.raises(IntegrityError):
        checkpoint_of(reader)
