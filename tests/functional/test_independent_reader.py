"""A reader that was written from the format's pages alone says what ``vstore verify`` says.

It runs in an interpreter that has blake3 and zstandard and can't import vstore.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import pytest
import zstandard
from blake3 import blake3

from vstore.controller.bundles import create_bundle
from vstore.objects.layout import pack_name
from vstore.package.case import Case
from vstore.package.inputs import InputFile
from vstore.package.reader import PackageReader
from vstore.package.repack import repack
from vstore.package.repository import Repository
from vstore.testing.bad.make import write_all
from vstore.testing.bundles import edit_archive, write_archive
from vstore.testing.calls import small_calls
from vstore.testing.editor import PackageEditor
from vstore.testing.handoff import handed_out
from vstore.testing.investigation import CASE, PACKAGE, Investigation, small_investigation
from vstore.testing.packs import PackParts, read_parts
from vstore.testing.reopened import reopened_investigation
from vstore.tools.request import SourceSearch
from vstore.verify import verify_package
from vstore.verify.bundle import open_source
from vstore.verify.replay import verify_source
from vstore.verify.report import Report

from .conftest import CommandLine

READER: Final = Path(__file__).parents[2] / "docs" / "spec" / "reader.py"
FIXTURES: Final = Path(__file__).parents[1] / "fixtures"
#: Where both must say the same.
AREAS: Final = ("container", "objects", "history", "inputs", "evidence", "ledger")
_AREA_OF: Final = dict(zip(("CON", "OBJ", "HIS", "INP", "EVD", "LED"), AREAS, strict=True))
#: What the reader doesn't judge, code by code. Of the other areas it judges nothing: it follows
#: tests (VS-HND) and calls (VS-INV) as far as others rest on them.
NOT_JUDGED: Final = {
    "VS-INP-004": "how the rows of a database are cut into chunks, ordered and encoded",
    "VS-EVD-022": "what queries yield when they are asked again",
    "VS-EVD-027": "whether they can be asked again",
}
LOG: Final = "objects/log/00000001.vlog"
ABSENT: Final = "b3:" + "7" * 64

_START: Final = """
import runpy, sys
sys.path[:0] = [sys.argv[1]]
sys.argv = sys.argv[2:]
try:
    import vstore
except ImportError:
    pass
else:
    sys.exit("vstore can be imported here")
runpy.run_path(sys.argv[0], run_name="__main__")
"""

Verdict = dict[str, str]
Change = Callable[[Path], Any]


@pytest.fixture(scope="session")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the two libraries that the reader needs, and nothing else."""
    folder = tmp_path_factory.mktemp("libraries")
    for name in ("blake3", "zstandard"):
        spec = find_spec(name)
        assert spec is not None
        assert spec.origin is not None
        (folder / name).symlink_to(Path(spec.origin).parent, target_is_directory=True)
    return folder


class Reader:
    """Runs the reader on packages, many in one process."""

    def __init__(self, libraries: Path) -> None:
        self._libraries = libraries

    def run(self, *words: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [
                *(sys.executable, "-I", "-S", "-c", _START),
                *(self._libraries, READER, *words),
            ],
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )

    def verdicts(self, packages: list[Path]) -> list[Verdict]:
        """Of each package, the gravest severity of each area."""
        done = self.run(*packages)
        assert done.stderr == ""
        assert done.returncode in (0, 1, 3), done
        found: list[Verdict] = []
        for line in done.stdout.splitlines():
            area, _, rest = line.partition(": ")
            if rest and not line.startswith(" "):
                found[-1][area] = rest.split()[0]
            elif not line.startswith(" "):
                found.append({})
        assert len(found) == len(packages)
        return found


@pytest.fixture(scope="session")
def reader(libraries: Path) -> Reader:
    return Reader(libraries)


def verdict_of(report: Report) -> Verdict:
    """What a report comes to, in the reader's words."""
    order = ("error", "unsupported", "warning", "note", "ok")
    verdict = dict.fromkeys(AREAS, "ok")
    for one in report.findings:
        area = _AREA_OF.get(one.code[3:6])
        if area is None or one.code in NOT_JUDGED:
            continue
        judged = one.severity == "error" or not one.rule.incomplete
        severity = one.severity if judged else "unsupported"
        verdict[area] = min(verdict[area], severity, key=order.index)
    return verdict


def verify_any(path: Path) -> Report:
    """What vstore finds in a folder or a bundle, queries left out."""
    with closing(open_source(path)) as source:
        return verify_source(source, str(path), recompute=False)


def assert_same(reader: Reader, packages: dict[str, Path]) -> list[Verdict]:
    """Both say the same of all packages; what they say."""
    found = reader.verdicts(list(packages.values()))
    differing = []
    for (name, path), said in zip(packages.items(), found, strict=True):
        report = verify_any(path)
        wanted = verdict_of(report)
        areas = {one: (wanted[one], said[one]) for one in AREAS if wanted[one] != said[one]}
        if areas:
            codes = sorted({one.code for one in report.findings})
            differing.append(f"{name}: vstore and the reader say {areas}; vstore has {codes}")
    assert not differing, "\n".join(differing)
    return found


# ---- good packages


def _two_segments(root: Path, scratch: Path) -> None:
    small_investigation(root, scratch).close()
    log = root / LOG
    log.write_bytes(log.read_bytes() + b"what a crash left")
    one = Investigation(root, scratch)
    one.ask("batch-4", [("H2", "q11", SourceSearch(source="code", pattern="orders"))])
    one.close()


def _answered(root: Path, scratch: Path) -> None:
    case, answer = handed_out(root, scratch)
    case.confirm(answer)
    feedback = case.budget.snapshot(CASE, PACKAGE).package.generation.artifacts[
        "async_test_feedback"
    ]
    case.evidence.store_feedback(CASE, PACKAGE, "feedback-1", feedback)
    case.close()


def _large(root: Path, scratch: Path) -> None:
    (scratch / "large.bin").write_bytes(random.Random(1).randbytes(1_300_000))
    with Repository.create(root, clock=lambda: "2026-01-02T03:04:05Z") as repository:
        case = Case(repository)
        case.init(CASE, PACKAGE, [InputFile(scratch / "large.bin", b"large.bin")])
        case.advance()


def _packed(root: Path, scratch: Path) -> None:
    """Torn bytes, a large object, one pack and a second one, publications behind."""
    _large(root, scratch)
    log = root / LOG
    log.write_bytes(log.read_bytes() + b"what a crash left")
    with Repository.open(root, clock=lambda: "2026-01-02T03:04:05Z") as repository:
        Case(repository).advance()
    repack(root)
    with Repository.open(root, clock=lambda: "2026-01-02T03:04:05Z") as repository:
        Case(repository).set_hypotheses([{"id": "H1", "statement": "it is slow"}])


def _packed_investigation(root: Path, scratch: Path) -> None:
    _two_segments(root, scratch)
    repack(root)


def _small(root: Path, scratch: Path) -> None:
    small_investigation(root, scratch).close()


def _calls(root: Path, scratch: Path) -> None:
    small_calls(root, scratch).close()


def _reopened(root: Path, scratch: Path) -> None:
    reopened_investigation(root, scratch).close()


GOOD: Final = {
    "small": _small,
    "two segments": _two_segments,
    "answered": _answered,
    "large": _large,
    "calls": _calls,
    "reopened": _reopened,
    "packed": _packed,
    "packed investigation": _packed_investigation,
}


@pytest.fixture(scope="session")
def good(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Good packages that nobody writes to."""
    packages = {}
    for name, make in GOOD.items():
        folder = tmp_path_factory.mktemp("good")
        make(folder / "package", folder)
        for derived in ("cache", "locks"):
            shutil.rmtree(folder / "package" / derived, ignore_errors=True)
        packages[name] = folder / "package"
    return packages


def test_good_packages(reader: Reader, good: dict[str, Path]) -> None:
    for verdict in assert_same(reader, good):
        assert set(verdict.values()) <= {"ok", "note"}
    assert reader.run(*good.values()).returncode == 0


def test_the_demo(reader: Reader, tmp_path: Path) -> None:
    pytest.importorskip("sqlite_utils")
    CommandLine(tmp_path).ok("demo")
    (package,) = (one.parent for one in tmp_path.rglob("VSTORE"))
    (verdict,) = assert_same(reader, {"demo": package})
    assert set(verdict.values()) <= {"ok", "note"}


def test_exit_codes(reader: Reader, good: dict[str, Path], tmp_path: Path) -> None:
    small = good["small"]
    bad = shutil.copytree(small, tmp_path / "bad")
    (bad / LOG).write_bytes((bad / LOG).read_bytes()[:-300])
    later = shutil.copytree(small, tmp_path / "later")
    (later / "VSTORE").write_text('{"format":2}\n')
    assert reader.run(small).returncode == 0
    assert reader.run(later).returncode == 3
    assert reader.run(small, later, bad).returncode == 1
    assert reader.run(tmp_path / "none").returncode == 3
    assert reader.run().returncode == 2


# ---- a package for every finding


def test_fixtures(reader: Reader, tmp_path: Path) -> None:
    """All committed good packages, and the bad one for each finding."""
    write_all(tmp_path / "all", FIXTURES / "good")
    packages = {
        f"{path.parent.name}/{path.name}": path
        for kind in ("good", "warn", "bad")
        for path in sorted((tmp_path / "all" / kind).iterdir())
    }
    verdicts = dict(zip(packages, assert_same(reader, packages), strict=True))
    missed = {
        name[4:14]
        for name, verdict in verdicts.items()
        if name.startswith("bad/")
        and name[7:10] in _AREA_OF
        and not {"error", "unsupported"} & set(verdict.values())
    }
    # The reader says of each that it is bad, but where it doesn't judge, or isn't asked to:
    # --expect and --extends are the caller's knowledge, and so is how many files are too many.
    assert missed == {
        *NOT_JUDGED,
        *("VS-HIS-016", "VS-HIS-017", "VS-HIS-021", "VS-HIS-022", "VS-CON-024"),
    }
    # Of tests it judges this one thing.
    (waited,) = (one for name, one in verdicts.items() if "VS-HND-008" in name)
    assert waited["handoff"] == "error"


# ---- damaged ones


def flip(name: str, at: int, bit: int) -> Change:
    def change(package: Path) -> None:
        content = bytearray((package / name).read_bytes())
        content[at] ^= bit
        (package / name).write_bytes(content)

    return change


def write(name: str, content: bytes) -> Change:
    def change(package: Path) -> None:
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_bytes(content)

    return change


def damages(package: Path, rng: random.Random, times: int) -> Iterator[tuple[str, Change]]:
    """Ways to damage a package, file by file, and names that don't belong there."""
    for path in sorted(one for one in package.rglob("*") if one.is_file()):
        name, content = path.relative_to(package).as_posix(), path.read_bytes()
        size = len(content)
        yield f"no {name}", lambda root, name=name: (root / name).unlink()
        yield f"empty {name}", write(name, b"")
        yield f"zeros for {name}", write(name, bytes(size))
        yield f"more {name}", write(name, content + b"x")
        yield f"begun {name}", write(name, content[:100])
        for _ in range(times if size > 1000 else 2):
            at, bit = rng.randrange(size), 1 << rng.randrange(8)
            yield f"flip {name} {at} {bit}", flip(name, at, bit)
            at = rng.randrange(size)
            yield f"cut {name} {at}", write(name, content[:at])
            at = rng.randrange(size)
            holed = content[:at] + bytes(len(content[at : at + 700])) + content[at + 700 :]
            yield f"hole {name} {at}", write(name, holed)
    for name in (
        *("new", "refs/UP", "refs/x", "refs/x/y", "objects/pack/x", "objects/log/x", "tmp/x"),
        *("objects/log/00000000.vlog", "objects/log/00000003.vlog", "objects/log/00000009.vlog"),
        *(f"objects/large/ab/{'c' * 62}", "objects/large/zz/x", "cache/x", "locks/x", "cache"),
    ):
        yield f"{name} added", write(name, b"what somebody left here")
    yield "folder", lambda root: (root / "folder").mkdir()
    yield "link", lambda root: (root / "link").symlink_to("VSTORE")
    yield "link in tmp", lambda root: (root / "tmp" / "link").symlink_to("/")
    yield (
        "linked ref",
        lambda root: (
            (root / "refs/generation").rename(root / "tmp/ref"),
            (root / "refs/generation").symlink_to("../tmp/ref"),
        ),
    )
    yield "no refs", lambda root: shutil.rmtree(root / "refs")
    yield "no log", lambda root: shutil.rmtree(root / "objects/log")
    head = (package / "refs/generation").read_bytes()
    for name in ("generation", "evidence_index", "hypotheses"):
        for content in (ABSENT.encode() + b"\n", head, head[:20], head[:20] + bytes(48), b"\n"):
            yield f"ref {name} {content!r}", write(f"refs/{name}", content)
    for text in (
        '{"format":2}',
        '{"digest":"sha256","format":1,"optional":[],"required":[]}\n',
        '{"digest":"blake3","format":1,"optional":[],"required":["x"]}\n',
        '{"digest":"blake3","format":1,"optional":["y"],"required":[]}\n',
        '{"digest":"blake3", "format":1,"optional":[],"required":[]}\n',
        '{"digest":"blake3","format":1,"optional":[],"required":[]}',
        "[]\n",
        "x" * 5000,
    ):
        yield f"VSTORE {text[:60]}", write("VSTORE", text.encode())


@pytest.mark.parametrize(("name", "times"), [("two segments", 6), ("large", 3), ("packed", 12)])
def test_damaged_packages(
    reader: Reader, good: dict[str, Path], tmp_path: Path, name: str, times: int
) -> None:
    packages = {}
    changes = list(damages(good[name], random.Random(7), times))
    for number, (what, change) in enumerate(changes):
        target = shutil.copytree(good[name], tmp_path / str(number))
        (target / "tmp").mkdir(exist_ok=True)
        change(target)
        packages[f"{number} {what}"] = target
    verdicts = assert_same(reader, packages)
    assert sum("error" in one.values() for one in verdicts) > len(verdicts) // 3


def test_files_that_were_taken_in(reader: Reader, tmp_path: Path) -> None:
    """What the raw input has at the same path is known, while it is the same."""
    (tmp_path / "file").write_bytes(b"content")
    with Repository.create(
        tmp_path / "package", clock=lambda: "2026-01-02T03:04:05Z"
    ) as repository:
        names = (b"a.txt", b"logs/b.log", b"logs/raw\xff", b"refs/UPPER", b"cache")
        Case(repository).init(CASE, PACKAGE, [InputFile(tmp_path / "file", one) for one in names])
    for derived in ("cache", "locks"):
        shutil.rmtree(tmp_path / "package" / derived, ignore_errors=True)
    (tmp_path / "package" / "logs").mkdir()
    for name in (b"a.txt", b"logs/b.log", b"logs/raw\xff"):
        Path(os.fsdecode(os.fsencode(tmp_path / "package") + b"/" + name)).write_bytes(b"content")
    changes: dict[str, Change] = {
        "as it was": lambda _: None,
        "another byte": write("a.txt", b"Content"),
        "longer": write("a.txt", b"content and more"),
        "another name": write("b.txt", b"content"),
        "one more below": write("logs/more", b"content"),
        "an own name": write("refs/UPPER", b"content"),
        "an own folder's name": write("cache", b"content"),
        "a folder": lambda package: (
            (package / "logs" / "b.log").unlink(),
            (package / "logs" / "b.log").mkdir(),
        ),
        "cut": lambda package: (package / LOG).write_bytes((package / LOG).read_bytes()[:-90]),
    }
    packages = {}
    for number, (what, change) in enumerate(changes.items()):
        packages[what] = Path(shutil.copytree(tmp_path / "package", tmp_path / str(number)))
        change(packages[what])
    found = [one["container"] for one in assert_same(reader, packages)]
    assert found == ["ok", *["warning"] * 8]


# ---- bundles


@pytest.fixture(scope="session")
def bundles(good: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A full bundle of each good package."""
    folder = tmp_path_factory.mktemp("bundles")
    paths = {}
    for name, package in good.items():
        paths[name] = folder / f"{name}.zip"
        create_bundle(package, paths[name])
    return paths


def test_good_bundles(reader: Reader, bundles: dict[str, Path]) -> None:
    for verdict in assert_same(reader, bundles):
        assert set(verdict.values()) <= {"ok", "note"}


def test_an_incremental_bundle(reader: Reader, good: dict[str, Path], tmp_path: Path) -> None:
    bundle = tmp_path / "rest.zip"
    with closing(PackageReader.open(good["small"])) as package:
        create_bundle(good["small"], bundle, since=package.resolve("HEAD~5"))
    (verdict,) = assert_same(reader, {"incremental": bundle})
    assert verdict["container"] == "unsupported"
    packages = {}
    for number, (old, new) in enumerate(
        [(b'"since_generation":', b'"since_generation":1'), (b"CASE-1", b"CASE-2"), (b"\n", b"")]
    ):

        def change(members: list[tuple[str, bytes]], old: bytes = old, new: bytes = new) -> None:
            (place,) = (at for at, one in enumerate(members) if one[0] == "BUNDLE")
            members[place] = ("BUNDLE", members[place][1].replace(old, new))

        packages[f"{old!r}"] = edit_archive(bundle, tmp_path / f"{number}.zip", change)
    for verdict in assert_same(reader, packages):
        assert verdict["container"] == "error"


def test_damaged_bundles(reader: Reader, bundles: dict[str, Path], tmp_path: Path) -> None:
    content, rng = bundles["small"].read_bytes(), random.Random(3)
    copies = {
        "nothing": b"",
        "text": b"no archive\n" * 20,
        "before": b"x" + content,
        "behind": content + b"x",
        "twice": content + content,
    }
    for _ in range(40):
        at, bit = rng.randrange(len(content)), 1 << rng.randrange(8)
        copies[f"flip {at} {bit}"] = content[:at] + bytes([content[at] ^ bit]) + content[at + 1 :]
    for _ in range(15):
        at = rng.randrange(len(content))
        copies[f"cut {at}"] = content[:at]
    # The directory and the end are the part where every byte is compared.
    for at in range(len(content) - 120, len(content), 3):
        copies[f"flip {at}"] = content[:at] + bytes([content[at] ^ 16]) + content[at + 1 :]
    packages = {}
    for number, (what, altered) in enumerate(copies.items()):
        packages[what] = tmp_path / f"{number}.zip"
        packages[what].write_bytes(altered)
    verdicts = assert_same(reader, packages)
    assert all({"error", "unsupported"} & set(one.values()) for one in verdicts)


def test_bundles_with_other_members(
    reader: Reader, bundles: dict[str, Path], tmp_path: Path
) -> None:
    def add(name: str, place: int | None = None, content: bytes = b"what else") -> Any:
        return lambda members: members.insert(
            len(members) if place is None else place, (name, content)
        )

    names = ("cache/x", "refs/zzz", "/VSTORE", "../x", "refs\\x", "vstore", "objects/log/x", "x/")
    changes: dict[str, Any] = {f"add {name}": add(name) for name in names}
    changes |= {
        "reversed": lambda members: members.reverse(),
        "no format": lambda members: members.pop(0),
        "no log": lambda members: members.pop(),
        "another segment": add("objects/log/00000002.vlog"),
        "a large object": add(f"objects/large/aa/{'b' * 62}"),
        "torn": lambda members: members.append((members[-1][0], members.pop()[1] + b"torn")),
        "cut": lambda members: members.append((members[-1][0], members.pop()[1][:-1])),
        "claims": add("BUNDLE", 1, b'{"bundle":1}\n'),
        "claims of a later version": add("BUNDLE", 1, b'{"bundle":2}\n'),
    }
    packages = {
        what: edit_archive(bundles["small"], tmp_path / f"{number}.zip", change)
        for number, (what, change) in enumerate(changes.items())
    }
    packages["folder"] = write_archive(
        tmp_path / "folder.zip",
        [
            (path.relative_to(tmp_path / "unpacked").as_posix(), path.read_bytes())
            for path in unpacked(bundles["two segments"], tmp_path / "unpacked")
        ],
    )
    verdicts = assert_same(reader, packages)
    assert sum("error" in one.values() for one in verdicts) >= len(verdicts) - 3


def unpacked(bundle: Path, folder: Path) -> list[Path]:
    """The files of an unzipped bundle, in the order of the archive; their log is another's."""
    with zipfile.ZipFile(bundle) as archive:
        archive.extractall(folder)
        paths = [folder / name for name in archive.namelist()]
    PackageEditor(folder).save(folder.with_name("edited"))
    shutil.copytree(folder.with_name("edited") / "objects", folder / "objects", dirs_exist_ok=True)
    return paths


# ---- hostile ones


def frames_of(content: bytes) -> list[tuple[int, int, int]]:
    """Offset, header length and length of each frame of a segment."""
    found, at = [], 160
    while at < len(content):
        header, stored = (struct.unpack_from("<I", content, at + one)[0] for one in (8, 120))
        found.append((at, header, header + stored + 40))
        at += found[-1][2]
    return found


def reframe(content: bytes, which: int, change: Callable[[bytearray, bytes], bytes]) -> bytes:
    """A segment with one frame changed and its digests right again.

    Args:
        content: The segment.
        which: The frame, negative from the end.
        change: Takes the header, to be changed in place, and the payload; gives the payload.
    """
    at, length, total = frames_of(content)[which]
    header = bytearray(content[at : at + length - 32])
    payload = change(header, content[at + length : at + total - 40])
    body = bytes(header) + blake3(header).digest() + payload
    frame = body + blake3(body).digest() + struct.pack("<I4s", len(body) + 40, b"VSFe")
    return content[:at] + frame + content[at + total :]


def add(offset: int, kind: str, number: int) -> Callable[[bytearray, bytes], bytes]:
    """Add to a member of a frame's header."""

    def change(header: bytearray, payload: bytes) -> bytes:
        (value,) = struct.unpack_from(kind, header, offset)
        bits = 8 * struct.calcsize(kind)
        struct.pack_into(kind, header, offset, (value + number) % (1 << bits))
        return payload

    return change


def recompress(**options: Any) -> Callable[[bytearray, bytes], bytes]:
    """Compress the payload otherwise."""

    def change(header: bytearray, payload: bytes) -> bytes:
        content = zstandard.ZstdDecompressor().decompress(payload)
        stored = zstandard.ZstdCompressor(**options).compress(content)
        struct.pack_into("<I", header, 120, len(stored))
        return stored

    return change


def alter_object(header: bytearray, payload: bytes) -> bytes:
    content = bytearray(zstandard.ZstdDecompressor().decompress(payload))
    content[1] ^= 1
    stored = zstandard.ZstdCompressor().compress(content)
    struct.pack_into("<I", header, 120, len(stored))
    return stored


def twice(header: bytearray, payload: bytes) -> bytes:
    struct.pack_into("<I", header, 120, 2 * len(payload))
    return payload + payload


def test_hostile_frames(reader: Reader, good: dict[str, Path], tmp_path: Path) -> None:
    members = ((8, "I"), (12, "I"), (16, "Q"), (32, "Q"), (40, "Q"), (48, "Q"), (80, "Q"))
    members += ((112, "I"), (116, "I"), (120, "I"), (124, "I"))
    # Of the first entry: its id, kind, state, offset and length.
    members += ((128, "Q"), (160, "B"), (161, "B"), (162, "I"), (166, "I"))
    changes: dict[str, Callable[[bytearray, bytes], bytes]] = {
        f"{offset} + {number}": add(offset, f"<{kind}", number)
        for offset, kind in members
        for number in ((1, 70_000) if offset in (120, 124) else (1,))
    }
    changes |= {
        "no size": recompress(write_content_size=False),
        "a checksum": recompress(write_checksum=True),
        "another level": recompress(level=19),
        "another object": alter_object,
        "twice": twice,
        "no zstd": lambda _, payload: bytes(len(payload)),
    }
    content = (good["small"] / LOG).read_bytes()
    logs = {
        f"frame {which}: {what}": reframe(content, which, change)
        for which in (3, -1)
        for what, change in changes.items()
    }
    frames = [content[at : at + total] for at, _, total in frames_of(content)]
    logs["a frame again"] = content[:160] + b"".join([*frames[:3], frames[2], *frames[3:]])
    logs["a frame left out"] = content[:160] + b"".join([*frames[:3], *frames[4:]])
    for offset, kind in ((0, "B"), (8, "I"), (12, "I"), (16, "Q"), (24, "B"), (40, "Q"), (48, "B"),
                         (80, "Q"), (88, "Q"), (96, "B")):  # fmt: skip
        header = bytearray(content[:128])
        add(offset, f"<{kind}", 1)(header, b"")
        logs[f"segment {offset}"] = bytes(header) + blake3(header).digest() + content[160:]
    packages = {}
    for number, (what, altered) in enumerate(logs.items()):
        packages[what] = shutil.copytree(good["small"], tmp_path / str(number))
        (packages[what] / LOG).write_bytes(altered)
    verdicts = assert_same(reader, packages)
    assert sum("error" in one.values() for one in verdicts) > len(verdicts) // 2


def block(number: int, change: Callable[[bytearray], Any]) -> Callable[[PackParts], None]:
    """Change a block before it is compressed."""

    def altered(parts: PackParts) -> None:
        raw = bytearray(parts.raw(number))
        change(raw)
        parts.set_raw(number, bytes(raw))

    return altered


def place(number: int, **members: Any) -> Callable[[PackParts], None]:
    """Change what the directory says of a block."""

    def altered(parts: PackParts) -> None:
        parts.places[number] = parts.places[number]._replace(**members)

    return altered


def segment(number: int, **members: Any) -> Callable[[PackParts], None]:
    """Change what the directory says of a segment."""

    def altered(parts: PackParts) -> None:
        parts.segments[number] = parts.segments[number]._replace(**members)

    return altered


def claim(**members: Any) -> Callable[[PackParts], None]:
    """Let the trailer say something else."""
    return lambda parts: parts.claims.update(members)


def stored(number: int, change: Callable[[bytes], bytes]) -> Callable[[PackParts], None]:
    """Change a block as it is stored."""
    return lambda parts: parts.set_stored(number, change(parts.blocks[number]))


def plus(offset: int, amount: int = 1) -> Callable[[bytearray], None]:
    """Add to a byte."""

    def altered(raw: bytearray) -> None:
        raw[offset] = (raw[offset] + amount) % 256

    return altered


def with_index(change: Callable[[bytes], bytes]) -> Callable[[PackParts], None]:
    def altered(parts: PackParts) -> None:
        parts.index = change(parts.index)

    return altered


def bomb(parts: PackParts) -> None:
    """A block that says it is small and unpacks to a hundred megabytes."""
    huge = zstandard.ZstdCompressor(write_content_size=False).compress(bytes(100_000_000))
    parts.set_stored(0, huge)


def large_claim(parts: PackParts) -> None:
    """A block of a hundred megabytes that says so, and the directory what is allowed."""
    parts.set_stored(0, zstandard.ZstdCompressor().compress(bytes(100_000_000)))


def with_dictionary(parts: PackParts) -> None:
    parts.dictionary = b"\x37\xa4\x30\xec" + bytes(5000)


def block_twice(parts: PackParts) -> None:
    """The first block again, as one of the last segment's."""
    parts.blocks.append(parts.blocks[0])
    parts.places.append(parts.places[0])
    last = parts.segments[-1]
    parts.segments[-1] = last._replace(blocks=last.blocks + 1)
    parts.index = parts.index + parts.index[1024:]


#: What every digest is set right after. Offsets of a block: 8 is the length of its first frame,
#: 12 what that publishes; the last byte is one of an object.
HOSTILE_PACKS: Final[dict[str, Callable[[PackParts], None]]] = {
    "an object": block(0, lambda raw: plus(len(raw) - 1)(raw)),
    "objects of a frame": block(0, plus(0)),
    "large objects of a frame": block(0, plus(4)),
    "length of a frame": block(0, plus(8)),
    "length of a frame, huge": block(0, plus(11, 200)),
    "publishes nothing": block(0, lambda raw: raw.__setitem__(12, 0)),
    "publishes otherwise": block(0, lambda raw: raw.__setitem__(12, 2)),
    "publishes unknown": block(0, lambda raw: raw.__setitem__(12, 3)),
    "cut block": block(0, lambda raw: raw.__delitem__(slice(-1, None))),
    "longer block": block(0, lambda raw: raw.append(0)),
    "empty block": block(0, lambda raw: raw.clear()),
    "raw length": place(0, raw=100),
    "raw length, huge": place(0, raw=1 << 25),
    "raw length, too large": place(0, raw=(1 << 25) + 1),
    "frames": place(0, frames=1),
    "frames, too many": place(0, frames=1 << 31),
    "no frames": place(0, frames=0),
    "objects": place(0, objects=1),
    "offset": place(0, offset=161),
    "offset of another": place(0, offset=160 + (1 << 40)),
    "head": place(0, head=b"x" * 32),
    "digest": place(0, digest=bytes(32)),
    "stored length": place(0, stored=1),
    "valid end": segment(0, valid=161),
    "valid end, huge": segment(0, valid=1 << 60),
    "blocks of a segment": segment(0, blocks=2),
    "no blocks": segment(0, blocks=0),
    "torn length": segment(0, torn=1),
    "header": segment(0, header=bytes(160)),
    "not zstd": stored(0, lambda _: b"x" * 100),
    "two zstd frames": stored(0, lambda one: one + zstandard.compress(b"x")),
    "something behind": stored(0, lambda one: one + b"x"),
    "bomb": bomb,
    "large claim": large_claim,
    "dictionary": with_dictionary,
    "no dictionary": lambda parts: setattr(parts, "dictionary", b"x" * 100),
    "a block twice": block_twice,
    "index entry": with_index(lambda raw: raw[:-8] + bytes(8)),
    "index order": with_index(lambda raw: raw[:1024] + raw[1032:] + raw[1024:1032]),
    "index counts": with_index(lambda raw: bytes(1024) + raw[1024:]),
    "index cut": with_index(lambda raw: raw[:-8]),
    "index longer": with_index(lambda raw: raw + raw[-8:]),
    "torn bytes": lambda parts: setattr(parts, "torn", parts.torn + b"x"),
    "features": claim(features=1),
    "first segment": claim(first=2),
    "no segments": claim(segments=0),
    "dictionary length": claim(dictionary_length=1),
    "dictionary length, huge": claim(dictionary_length=1 << 30),
    "directory length": claim(directory_length=1 << 40),
    "index length": claim(index_length=1 << 50),
    "torn length claimed": claim(torn_length=1 << 60),
    "start digest": claim(start_digest=bytes(32)),
    "torn digest": claim(torn_digest=bytes(32)),
    "index digest": claim(index_digest=bytes(32)),
}


def test_hostile_packs(reader: Reader, good: dict[str, Path], tmp_path: Path) -> None:
    packages: dict[str, Path] = {}
    for name, change in HOSTILE_PACKS.items():
        target = packages[name] = shutil.copytree(good["packed"], tmp_path / name)
        (path,) = (target / "objects/pack").iterdir()
        parts = read_parts(path)
        change(parts)
        path.write_bytes(parts.join())
    (pack,) = (good["packed"] / "objects/pack").iterdir()
    ranges = ((1, 1), (2, 2), (2, 9), (1, 9), (7, 9), (0, 1), (2, 1))
    for name in (pack_name(first, last) for first, last in ranges):
        target = packages[f"copy as {name}"] = shutil.copytree(good["packed"], tmp_path / name)
        shutil.copyfile(pack, target / "objects/pack" / name)
    verdicts = assert_same(reader, packages)
    fine = [name for name, one in zip(packages, verdicts, strict=True)
            if not {"error", "unsupported", "warning"} & set(one.values())]  # fmt: skip
    assert fine == [f"copy as {pack_name(1, 1)}", f"copy as {pack_name(2, 2)}"]
    outcomes = [verify_package(path).exit_code for path in packages.values()]
    assert outcomes.count(0) == 4  # two replaced packs, two files of other names


def test_a_flip_anywhere_in_a_pack(reader: Reader, good: dict[str, Path], tmp_path: Path) -> None:
    (pack,) = (good["packed"] / "objects/pack").iterdir()
    size = pack.stat().st_size
    packages: dict[str, Path] = {}
    for at in random.Random(3).sample(range(size), 60):
        target = packages[str(at)] = shutil.copytree(good["packed"], tmp_path / str(at))
        flip(f"objects/pack/{pack.name}", at, 1 << at % 8)(target)
    for name, one in zip(packages, assert_same(reader, packages), strict=True):
        assert one["container"] in ("error", "unsupported"), name


def test_documents_in_other_forms(reader: Reader, good: dict[str, Path], tmp_path: Path) -> None:
    forms: dict[str, Callable[[bytes], bytes]] = {
        "space behind": lambda text: text + b" ",
        "space inside": lambda text: text.replace(b":", b": ", 1),
        "byte order mark": lambda text: b"\xef\xbb\xbf" + text,
        "cut": lambda text: text[:-1],
        "no UTF-8": lambda text: text.replace(b'":"', b'":"\xff', 1),
        "surrogate": lambda text: text.replace(b'":"', b'":"\\ud800', 1),
        "escape": lambda text: text.replace(b'":"b3', b'":"\\u00623', 1),
        "fraction": lambda text: re.sub(rb":([0-9]+)([,}])", rb":\1.0\2", text, count=1),
        "exponent": lambda text: re.sub(rb":([0-9]+)([,}])", rb":\1e0\2", text, count=1),
        "leading zero": lambda text: re.sub(rb":([0-9]+)([,}])", rb":0\1\2", text, count=1),
        "minus zero": lambda text: re.sub(rb":[0-9]+([,}])", rb":-0\1", text, count=1),
        "past 2^53": lambda text: re.sub(rb":[0-9]+([,}])", rb":9007199254740992\1", text, count=1),
        "true for one": lambda text: re.sub(rb":[0-9]+([,}])", rb":true\1", text, count=1),
        "another member first": lambda text: b'{"zz":1,' + text[1:],
        "member twice": lambda text: text[:-1] + b',"schema":"x-v1"}',
        "digest of other digits": lambda text: re.sub(
            rb'"[0-9a-f]{64}"', b'"' + b"z" * 64 + b'"', text, count=1
        ),
        "tagged though UTF-8": lambda text: re.sub(
            rb'"(name|path|table)":"([a-z./]+)"',
            lambda found: b'"%b":{"hex":"%b","type":"bytes"}' % (found[1], found[2].hex().encode()),
            text,
            count=1,
        ),
        "another real": lambda text: text.replace(b'"2.5"', b'"2.50"'),
        "nothing": lambda _: b"",
        "null": lambda _: b"null",
        "deep": lambda _: b"[" * 70 + b"]" * 70,
        "unknown": lambda _: b'{"schema":"later-v1"}',
        "unknown in another form": lambda _: b'{"schema":"later-v1", "a":1.5}',
        "no schema": lambda _: b'{"schema":"Later"}',
        "another type": lambda _: b'{"entries":[],"schema":"tree-v1"}',
    }
    packages: dict[str, Path] = {}
    schemas = ("tree-v1", "tool-request-v1", "evidence-content-v1", "evidence-record-v1",
               "evidence-index-v1", "budget-ledger-v1", "package-generation-v1",
               "database-rows-v1", "snapshot-descriptor-v1")  # fmt: skip
    for number, (what, change) in enumerate(forms.items()):
        for schema in schemas[number % 3 :: 3] if number < 19 else schemas[:3]:
            editor = PackageEditor(good["small"])
            target = editor.find(schema)
            if change(target.content) == target.content:
                continue
            target.content, target.edited = change(target.content), True
            try:
                editor.rechain()
            except ValueError:
                continue  # the editor needs to read indices and generations
            name = f"{schema} {what}"
            packages[name] = editor.save(tmp_path / str(len(packages)))
    assert len(packages) > 40
    assert_same(reader, packages)


# ---- forged ones


def places(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Every place in a document below its root, and what stands there."""
    if way:
        yield way, value
    if isinstance(value, dict):
        for name, one in value.items():
            yield from places(one, (*way, name))
    elif isinstance(value, list):
        for number, one in enumerate(value):
            yield from places(one, (*way, number))


def others(value: Any) -> list[Any]:
    """Other values to put in a value's place."""
    if isinstance(value, bool):
        return [not value, None]
    if isinstance(value, int):
        return [value + 1, 0 if value else 7, -1]
    if isinstance(value, str):
        more = [ABSENT] if value.startswith("b3:") else ["0" * 64] if len(value) == 64 else []
        return [value + "x", "", None, *more]
    if isinstance(value, list):
        return [value[1:], value + value[:1], value[::-1], None]
    if isinstance(value, dict):
        return [{**value, "extra": 1}, {}]
    return [1, "x"]


def forgeries(package: Path) -> list[tuple[int, tuple[Any, ...], Any]]:
    """Which document, where, and what to put there."""
    return [
        (number, way, other)
        for number, one in enumerate(PackageEditor(package).objects())
        if one.value is not None
        for way, value in places(one.value)
        for other in others(value)
        if other != value or type(other) is not type(value)
    ]


def forge(package: Path, target: Path, forgery: tuple[int, tuple[Any, ...], Any]) -> Path | None:
    """A package with one change, re-hashed up to the head; None where that can't be written."""
    number, way, other = forgery
    editor = PackageEditor(package)

    def change(document: Any) -> None:
        for part in way[:-1]:
            document = document[part]
        document[way[-1]] = other

    try:
        editor.edit(list(editor.objects())[number], change)
        editor.rechain()
        return editor.save(target)
    except Exception:  # noqa: BLE001 - an editor is no verifier: it needs documents of some form
        shutil.rmtree(target, ignore_errors=True)
        return None


def compare_forgeries(
    reader: Reader, package: Path, folder: Path, seed: int, count: int
) -> list[Verdict]:
    packages = {}
    for number, forgery in enumerate(random.Random(seed).sample(forgeries(package), count)):
        target = forge(package, folder / str(number), forgery)
        if target is not None:
            packages[f"{forgery}"] = target
    assert len(packages) > count * 3 // 4
    return assert_same(reader, packages)


@pytest.mark.parametrize(
    ("name", "count"), [("small", 24), ("answered", 16), ("calls", 16), ("reopened", 16)]
)
def test_forged_packages(
    reader: Reader, good: dict[str, Path], tmp_path: Path, name: str, count: int
) -> None:
    verdicts = compare_forgeries(reader, good[name], tmp_path, 11, count)
    assert sum("error" in one.values() for one in verdicts) > len(verdicts) // 2


@pytest.mark.deep
@pytest.mark.parametrize("name", ["small", "answered", "calls", "reopened"])
@pytest.mark.parametrize("seed", range(5))
def test_many_forged_packages(
    reader: Reader, good: dict[str, Path], tmp_path: Path, name: str, seed: int
) -> None:
    compare_forgeries(reader, good[name], tmp_path, seed, 100)
