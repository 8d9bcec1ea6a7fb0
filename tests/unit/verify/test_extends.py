"""What a package is demanded to extend: a checkpoint of its own history and of nothing else.

The checkpoints are made here, from the bytes of the generations alone.
"""

from __future__ import annotations

import shutil
from base64 import b64encode
from dataclasses import replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vstore.controller.bundles import create_bundle
from vstore.package.checkpoint import Checkpoint, parse_checkpoint
from vstore.package.reader import PackageReader
from vstore.testing.bad.change import put
from vstore.testing.editor import PackageEditor
from vstore.verify import Report, verify_package
from vstore.verify.formats.areas import by_area
from vstore.verify.many import Options, verify_many

GOOD = Path(__file__).parents[2] / "fixtures" / "good"
NAMES = ("investigation", "tests", "calls", "reopened", "large")
GENERATION = "package-generation-v1"
SIGNATURE = "— a-witness " + b64encode(bytes(68)).decode()


@cache
def generations(name: str) -> tuple[bytes, ...]:
    return tuple(one.content for one in PackageEditor(GOOD / name).objects(GENERATION))


def tree_hash(data: tuple[bytes, ...]) -> bytes:
    """RFC 6962, section 2.1, word for word."""
    if len(data) == 1:
        return sha256(b"\0" + data[0]).digest()
    split = 1
    while split * 2 < len(data):
        split *= 2
    return sha256(b"\1" + tree_hash(data[:split]) + tree_hash(data[split:])).digest()


def checkpoint(data: tuple[bytes, ...], more: str = "") -> Checkpoint:
    root = b64encode(tree_hash(data)).decode()
    return parse_checkpoint(f"vstore/package/PACKAGE-1\n{len(data)}\n{root}\n{more}".encode())


def codes(report: Report) -> list[str]:
    return [one.code for one in report.findings]


@pytest.mark.parametrize("name", NAMES)
def test_every_prefix_of_a_history_is_extended_by_it(name: str) -> None:
    data = generations(name)
    for size in range(1, len(data) + 1):
        for shortcuts in (True, False):
            report = verify_package(
                GOOD / name, extends=checkpoint(data[:size]), recompute=False, shortcuts=shortcuts
            )
            assert (report.exit_code, codes(report)) == (0, []), size


@pytest.mark.parametrize("name", NAMES)
def test_a_shorter_history_is_not(name: str) -> None:
    data = generations(name)
    for longer in (1, 2, 1000):
        report = verify_package(
            GOOD / name, extends=checkpoint(data + (b"later",) * longer), recompute=False
        )
        assert (report.exit_code, codes(report)) == (1, ["VS-HIS-021"])
        (finding,) = report.findings
        assert (finding.expected, finding.actual) == (str(len(data) + longer), str(len(data)))


@settings(max_examples=60)
@given(st.data())
def test_any_other_root_is_not(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(NAMES))
    right = generations(name)
    size = data.draw(st.integers(1, len(right)))
    place = data.draw(st.integers(0, size - 1))
    changed = bytearray(right[place])
    changed[data.draw(st.integers(0, len(changed) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    wrong = (*right[:place], bytes(changed), *right[place + 1 : size])
    report = verify_package(GOOD / name, extends=checkpoint(wrong), recompute=False)
    assert (report.exit_code, codes(report)) == (1, ["VS-HIS-021"])
    (finding,) = report.findings
    assert (finding.expected, finding.actual) == (
        b64encode(tree_hash(wrong)).decode(),
        b64encode(tree_hash(right[:size])).decode(),
    )


@pytest.mark.parametrize("place", range(25))
def test_a_rewritten_history_is_found_by_every_checkpoint_behind_the_change(
    tmp_path: Path, place: int
) -> None:
    """Rewritten as a whole it is consistent; only what was remembered shows it."""
    name, data = "investigation", generations("investigation")
    editor = PackageEditor(GOOD / name)
    editor.edit(editor.find(GENERATION, place), put("/events/0/actor", "somebody else"))
    editor.rechain()
    forged = editor.save(tmp_path / "forged")
    assert verify_package(forged, recompute=False).exit_code == 0
    for size in {max(1, place), place + 1, min(place + 2, 25), 25}:
        report = verify_package(forged, extends=checkpoint(data[:size]), recompute=False)
        found = size > place
        assert (report.exit_code, codes(report)) == (found, ["VS-HIS-021"] * found), size


def test_a_rewound_package_is_found(tmp_path: Path) -> None:
    data = generations("investigation")
    editor = PackageEditor(GOOD / "investigation")
    editor.frames.pop()
    rewound = editor.save(tmp_path / "rewound")
    assert verify_package(rewound, extends=checkpoint(data[:-1])).exit_code == 0
    report = verify_package(rewound, extends=checkpoint(data))
    assert (report.exit_code, codes(report)) == (1, ["VS-HIS-021"])


def test_the_checkpoint_of_another_package_says_nothing_of_this_one() -> None:
    asked = replace(checkpoint(generations("tests")), origin="vstore/package/PACKAGE-10")
    report = verify_package(GOOD / "tests", extends=asked)
    assert (report.exit_code, codes(report)) == (1, ["VS-HIS-022"])
    (finding,) = report.findings
    assert finding.expected == "vstore/package/PACKAGE-10"
    assert finding.actual == "vstore/package/PACKAGE-1"


def test_an_origin_cannot_act_on_a_terminal() -> None:
    asked = replace(checkpoint(generations("tests")), origin="vstore/package/\u202ePACKAGE-1")
    (report,) = verify_many([str(GOOD / "tests")], Options(extends=asked))
    from vstore.verify.render import text_lines

    text = "\n".join(line.text for line in text_lines(report))
    assert "\u202e" not in text
    assert "\\u202e" in text


def test_signatures_are_never_passed_over_in_silence() -> None:
    for more, extends in (("", True), (f"\n{SIGNATURE}\n", True), (f"\n{SIGNATURE}\n", False)):
        data = generations("tests") if extends else (b"other",)
        report = verify_package(GOOD / "tests", extends=checkpoint(data, more))
        assert report.exit_code == (not extends)
        said = [one for one in report.not_checked if "signatures" in one]
        assert len(said) == bool(more)
        areas = {one.name: one.gaps for one in by_area(report)}
        assert areas.get("trust", []) == said
        assert "trusted" not in str(said)


def test_signatures_are_spoken_of_where_nothing_else_could_be_judged(tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    asked = checkpoint(generations("tests"), f"\n{SIGNATURE}\n")
    report = verify_package(tmp_path / "package", extends=asked)
    assert report.exit_code == 3
    assert any("signatures" in one for one in report.not_checked)


def test_extension_lines_are_others(tmp_path: Path) -> None:
    data = generations("tests")
    assert verify_package(GOOD / "tests", extends=checkpoint(data, "more\n")).exit_code == 0


def test_bundles_extend_too(tmp_path: Path) -> None:
    data = generations("tests")
    create_bundle(GOOD / "tests", tmp_path / "whole.zip")
    assert verify_package(tmp_path / "whole.zip", extends=checkpoint(data[:9])).exit_code == 0
    report = verify_package(tmp_path / "whole.zip", extends=checkpoint((*data[:8], b"other")))
    assert (report.exit_code, codes(report)) == (1, ["VS-HIS-021"])
    # An incremental one says nothing of the history before it, unless that is there.
    with PackageReader.open(GOOD / "tests") as reader:
        create_bundle(reader, tmp_path / "rest.zip", since=reader.resolve("g9"))
    asked: dict[str, Any] = {"extends": checkpoint(data)}
    report = verify_package(tmp_path / "rest.zip", **asked)
    assert (report.exit_code, codes(report)) == (3, ["VS-CON-021"])
    assert verify_package(tmp_path / "rest.zip", base=GOOD / "tests", **asked).exit_code == 0


def test_a_damaged_log_is_no_shorter_history(tmp_path: Path) -> None:
    """What couldn't be read isn't said to be absent; what was read is compared."""
    data = generations("investigation")
    package = Path(shutil.copytree(GOOD / "investigation", tmp_path / "package"))
    (log,) = (package / "objects" / "log").iterdir()
    raw = bytearray(log.read_bytes())
    raw[len(raw) // 2] ^= 1
    log.write_bytes(raw)
    report = verify_package(package, extends=checkpoint(data))
    assert (report.exit_code, codes(report)) == (1, ["VS-CON-005"])
    assert any("head that was asked for" in one for one in report.not_checked)
    report = verify_package(package, extends=checkpoint((b"other",)))
    assert set(codes(report)) == {"VS-CON-005", "VS-HIS-021"}


def test_reports_travel_between_processes() -> None:
    """A checkpoint is handed to other processes as everything else is."""
    data = generations("tests")
    paths = [str(GOOD / "tests"), str(GOOD / "reopened")]
    reports = list(verify_many(paths, Options(extends=checkpoint(data)), jobs=2))
    assert [one.exit_code for one in reports] == [0, 1]
