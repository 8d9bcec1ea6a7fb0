"""``vstore checkpoint`` and ``vstore verify --extends``: a history held against what was kept."""

from __future__ import annotations

import io
import shutil
import sys
from base64 import b64decode, b64encode
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from vstore.testing.bad.change import put
from vstore.testing.editor import PackageEditor

if TYPE_CHECKING:
    from conftest import CommandLine

GENERATION = "package-generation-v1"
SIGNATURE = "— example.com/log " + b64encode(b"key!" + bytes(64)).decode()


@pytest.fixture
def case(_investigated: Path, vstore: CommandLine) -> CommandLine:
    """The command line beside a package ``case-1``."""
    shutil.copytree(_investigated / "case-1", vstore.folder / "case-1")
    return vstore


def test_the_lines(case: CommandLine) -> None:
    out = case.ok("-C", "case-1", "checkpoint").out
    origin, size, root, *rest = out.split("\n")
    generations = [one.content for one in PackageEditor(case.folder / "case-1").objects(GENERATION)]
    value = PackageEditor(case.folder / "case-1").find(GENERATION).value
    assert origin == f"vstore/package/{value['package_id']}"
    assert size == str(len(generations))
    assert rest == ["", ""]
    # By hand over the first three.
    first, second, third = (sha256(b"\0" + one).digest() for one in generations[:3])
    three = sha256(b"\1" + sha256(b"\1" + first + second).digest() + third).digest()
    assert case.ok("-C", "case-1", "checkpoint", "g3").out.split("\n")[1:3] == [
        "3",
        b64encode(three).decode(),
    ]
    shown = case.ok("checkpoint", "-p", "case-1", "--json").json
    assert shown == {
        "schema": "vstore-checkpoint/1",
        "origin": origin,
        "size": int(size),
        "root": root,
        "generation": case.ok("-C", "case-1", "rev-parse", "HEAD").out.strip(),
        "text": out,
    }
    assert len(b64decode(root)) == 32


def test_of_what_is_no_generation(case: CommandLine) -> None:
    case.refused("no_generation", "-C", "case-1", "checkpoint", "E000001")
    case.refused("unknown_name", "-C", "case-1", "checkpoint", "nothing")
    case.refused("not_a_package", "checkpoint")


def test_a_file_of_it_is_what_is_printed(case: CommandLine) -> None:
    assert case.ok("-C", "case-1", "checkpoint", "-o", "../kept").out == ""
    kept = (case.folder / "kept").read_bytes()
    assert kept.decode() == case.ok("-C", "case-1", "checkpoint").out
    case.ok("verify", "case-1", "--extends", "kept")


def test_a_case_that_goes_on_extends_what_was_kept(case: CommandLine) -> None:
    case.ok("-C", "case-1", "checkpoint", "-o", "../kept")
    inside = case.at(case.folder / "case-1")
    inside.ok("query", "source.list", "-H", "H1")
    case.ok("verify", "case-1", "--extends", "kept")
    case.ok("bundle", "create", "case-1", "case.zip")
    case.ok("verify", "case.zip", "--extends", "kept")
    # What came later is not in what was there before.
    inside.ok("checkpoint", "-o", "../later")
    case.ok("-C", "case.zip", "checkpoint", "-o", "bundled")
    assert (case.folder / "bundled").read_bytes() == (case.folder / "later").read_bytes()


def test_a_case_that_was_rewritten_does_not(case: CommandLine) -> None:
    case.ok("-C", "case-1", "checkpoint", "-o", "../kept")
    editor = PackageEditor(case.folder / "case-1")
    editor.edit(editor.find(GENERATION, -2), put("/events/0/actor", "somebody else"))
    editor.rechain()
    editor.save(case.folder / "forged")
    case.ok("verify", "forged")
    outcome = case("verify", "forged", "--extends", "kept")
    assert outcome.code == 1
    assert "error VS-HIS-021 checkpoint-differs: " in outcome.out
    assert f"expected {(case.folder / 'kept').read_text().split()[2]}" in outcome.out
    assert "Don't build on it" in " ".join(outcome.out.split())
    # And one that goes back to the generation before the last.
    editor = PackageEditor(case.folder / "case-1")
    editor.frames.pop()
    editor.save(case.folder / "rewound")
    case.ok("verify", "rewound")
    outcome = case("verify", "rewound", "--extends", "kept")
    assert outcome.code == 1
    assert "the history is shorter than the checkpoint" in outcome.out


def test_a_checkpoint_of_another_package(case: CommandLine) -> None:
    (case.folder / "report.txt").write_text("it breaks as well\n")
    case.ok("init", "case-2", "report.txt")
    case.ok("-C", "case-2", "checkpoint", "-o", "../kept")
    outcome = case("verify", "case-1", "case-2", "--extends", "kept", "--json").json
    assert [one["exit_code"] for one in outcome["packages"]] == [1, 0]
    (finding,) = (one for one in outcome["packages"][0]["findings"] if one["severity"] == "error")
    assert finding["code"] == "VS-HIS-022"
    assert finding["expected"].startswith("vstore/package/")


def test_how_it_is_given(case: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    text = case.ok("-C", "case-1", "checkpoint", "g9").out
    case.ok("verify", "case-1", "--extends", text)
    # A shell's $(vstore checkpoint) has no line feed at its end.
    case.ok("verify", "case-1", "--extends", text.rstrip("\n"))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    case.ok("verify", "case-1", "--extends", "-")
    # A file may as well hold a head.
    head = case.ok("-C", "case-1", "rev-parse", "g9").out
    (case.folder / "head").write_text(head)
    case.ok("verify", "case-1", "--extends", "head")
    (case.folder / "head").write_text("b3:" + "0" * 64 + "\n")
    assert case("verify", "case-1", "--extends", "head").code == 1


def test_signatures_are_said_to_be_unchecked(case: CommandLine) -> None:
    case.ok("-C", "case-1", "checkpoint", "-o", "../kept")
    with (case.folder / "kept").open("a") as kept:
        kept.write(f"{SIGNATURE}\n")
    out = " ".join(case.ok("verify", "case-1", "--extends", "kept").out.split())
    assert "Not checked: - trust in the checkpoint: none of its signatures (1) was checked" in out
    assert "trusted" not in out
    (report,) = case.ok("verify", "case-1", "--extends", "kept", "--json").json["packages"]
    assert any("none of its signatures (1) was checked" in one for one in report["not_checked"])
    junit = case.ok("verify", "case-1", "--extends", "kept", "--format", "junit").out
    assert 'name="trust"' in junit
    assert "none of its signatures (1) was checked" in junit


MALFORMED = {
    "empty": "",
    "text": "what somebody left here\n",
    "two lines": "vstore/package/P\n1\n",
    "a short root": "vstore/package/P\n1\nAAAA\n",
    "no signature": "vstore/package/P\n1\n" + b64encode(bytes(32)).decode() + "\n\nme\n",
    "a head and more": "b3:" + "0" * 64 + "\n" + "b3:" + "0" * 64 + "\n",
    "large": "x" * 70_000,
}


@pytest.mark.parametrize("name", list(MALFORMED))
def test_what_is_no_checkpoint_is_wrong_usage(case: CommandLine, name: str) -> None:
    (case.folder / "kept").write_text(MALFORMED[name])
    case.refused("usage", "verify", "case-1", "--extends", "kept", code=2)
    if "\n" in MALFORMED[name]:
        case.refused("usage", "verify", "case-1", "--extends", MALFORMED[name], code=2)


@pytest.mark.parametrize("name", ["absent", "case-1", "HEAD", "b3:12", "a\x1b[31m", "x" * 5000])
def test_what_is_no_file_is_wrong_usage(case: CommandLine, name: str) -> None:
    outcome = case.refused("usage", "verify", "case-1", "--extends", name, code=2)
    assert "\x1b" not in outcome.err
