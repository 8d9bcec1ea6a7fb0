"""``vstore verify`` as CI and people call it: many packages, formats, exit codes."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from vstore.testing.report_formats import junit_faults, workflow_command
from vstore.verify.formats import FORMATS
from vstore_cli.command_verify import command

if TYPE_CHECKING:
    from conftest import CommandLine

ABSENT = "b3:" + "0" * 64


@pytest.fixture
def cases(_investigated: Path, vstore: CommandLine) -> CommandLine:
    """A folder with a good package, a faulty one and a file that is none."""
    for name in ("good", "faulty"):
        shutil.copytree(_investigated / "case-1", vstore.folder / name)
    (vstore.folder / "faulty" / "refs" / "generation").write_text(ABSENT + "\n")
    (vstore.folder / "text.txt").write_text("no package\n")
    return vstore


def process(*words: str, folder: Path, code: str = "") -> subprocess.CompletedProcess[str]:
    """A command line in a process of its own, after some code that breaks something."""
    script = f"{code}\nfrom vstore_cli.main import main\nmain()"
    return subprocess.run(
        [sys.executable, "-c", script, *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "VSTORE_ACTOR": "tester"},
    )


def test_exit_0(cases: CommandLine) -> None:
    assert process("verify", "good", folder=cases.folder).returncode == 0
    (cases.folder / "good" / "notes.txt").write_text("a stray file is a warning\n")
    done = process("verify", "good", folder=cases.folder)
    assert done.returncode == 0
    assert "warning VS-CON-003" in done.stdout
    strict = process("verify", "good", "--fail-on-warnings", folder=cases.folder)
    assert strict.returncode == 1


def test_exit_1(cases: CommandLine) -> None:
    done = process("verify", "good", "faulty", "absent", folder=cases.folder)
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == "1 of 3 packages verified"


@pytest.mark.parametrize(
    "words",
    [
        ["--format", "pdf"],
        ["--jobs", "0"],
        ["--jobs", "many"],
        ["--expect", "HEAD"],
        ["--extends", "b3:12"],
        ["--unknown"],
    ],
)
def test_exit_2(cases: CommandLine, words: list[str]) -> None:
    cases.refused("usage", "verify", "good", *words, code=2)


def test_exit_3(cases: CommandLine) -> None:
    for word in ("absent", "text.txt", "good/absent", "."):
        outcome = cases("verify", word)
        assert (word, outcome.code) == (word, 3)
        assert "not verified" in outcome.out
    empty = cases.folder / "empty"
    empty.mkdir()
    assert cases("verify", "empty").code == 3
    # Nothing was named and nothing is around.
    assert cases.at(empty)("verify").code == 3
    format_file = cases.folder / "good" / "VSTORE"
    format_file.write_bytes(format_file.read_bytes().replace(b"1", b"9", 1))
    assert cases("verify", "good").code in (1, 3)


def test_a_file_in_a_package_is_not_taken_for_the_package(cases: CommandLine) -> None:
    """A broken bundle that lies in a package must not be verified because that is sound."""
    (cases.folder / "good" / "notes").mkdir()
    broken = cases.folder / "good" / "notes" / "broken.vstore"
    broken.write_bytes(b"PK\x03\x04 broken")
    assert cases("verify", broken).code in (1, 3)
    assert cases("verify", broken.parent).code == 0


def _unprivileged() -> None:
    """Take away, from what is executed next, root's right to read every file."""
    libc = ctypes.CDLL(None, use_errno=True)
    for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
        if libc.prctl(24, capability, 0, 0, 0) != 0:  # PR_CAPBSET_DROP
            raise OSError(ctypes.get_errno(), "prctl")


@pytest.mark.skipif(
    os.geteuid() == 0 and sys.platform != "linux", reason="root reads everything here"
)
@pytest.mark.parametrize(
    ("name", "findings"),
    [
        ("VSTORE", ["VS-CON-015"]),
        ("objects/log/00000001.vlog", ["VS-CON-015"]),
        ("refs", ["VS-CON-015"]),
        ("refs/hypotheses", ["VS-CON-015"]),
        ("objects", ["VS-CON-015"]),
        (".", ["VS-VER-002", "VS-CON-015"]),
        ("../good.zip", ["VS-CON-015"]),
    ],
)
def test_an_unreadable_file_is_never_verified(
    cases: CommandLine, name: str, findings: list[str]
) -> None:
    cases.ok("bundle", "create", "good", "good.zip")
    path = cases.folder / "good" / name
    package = "good.zip" if path.suffix == ".zip" else "good"
    mode = path.stat().st_mode
    path.chmod(0)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "vstore_cli", "verify", package, "--json"],
            cwd=cases.folder,
            capture_output=True,
            text=True,
            check=False,
            preexec_fn=_unprivileged if os.geteuid() == 0 else None,
        )
    finally:
        path.chmod(mode)
    assert (done.returncode, done.stderr) == (3, "")
    (report,) = json.loads(done.stdout)["packages"]
    assert {one["code"] for one in report["findings"]} & set(findings), report["findings"]
    assert report["verdict"] == "not verified"
    assert cases("verify", package).code == 0


BROKEN = """
import vstore.verify.replay as replay
def counts(self):
    raise ZeroDivisionError("a fault")
replay.Replay.counts = counts
"""


def test_exit_4(cases: CommandLine) -> None:
    done = process("verify", "good", "faulty", folder=cases.folder, code=BROKEN)
    assert done.returncode == 4
    assert "fault of vstore itself: ZeroDivisionError in vstore.verify.replay:" in done.stderr
    assert "Traceback" not in done.stderr + done.stdout
    assert "warning VS-VER-004" in done.stdout
    assert "good: not verified" in done.stdout
    shown = process(
        "verify", "good", folder=cases.folder,
        code=BROKEN + "import os; os.environ['VSTORE_DEBUG'] = '1'",
    )  # fmt: skip
    assert "Traceback" in shown.stderr
    # A fault in printing is one, too.
    code = "import vstore.verify.render as r; r.text_lines = None"
    assert process("verify", "good", folder=cases.folder, code=code).returncode == 4


@pytest.mark.parametrize("form", FORMATS)
def test_a_fault_is_in_every_report(
    cases: CommandLine, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("vstore.verify.replay.Replay.counts", broken)
    outcome = cases("verify", "good", "--format", form)
    assert outcome.code == 4
    assert "VS-VER-004" in outcome.out
    assert "[fault]" in outcome.err


def test_the_gravest_package_decides(cases: CommandLine) -> None:
    assert cases("verify", "good", "absent").code == 3
    assert cases("verify", "absent", "faulty", "good").code == 1
    # Named twice, directly or by a file of it, it is verified once.
    outcome = cases.ok("verify", "good", "good/VSTORE", "good", "good/refs/generation", "-q")
    assert outcome.lines == ["good: verified"]
    outcome = cases.ok("verify", "good/refs/generation", "-q")
    assert outcome.lines == ["good: verified"]


@pytest.mark.parametrize("form", FORMATS)
def test_formats_go_to_standard_output_or_a_file(cases: CommandLine, form: str) -> None:
    outcome = cases("verify", "good", "faulty", "--format", form)
    assert (outcome.code, outcome.err) == (1, "")
    assert "VS-HIS-015" in outcome.out
    written = cases("verify", "good", "faulty", "--format", form, "--output", "report")
    assert written.code == 1
    assert written.lines == [
        "good: verified",
        "faulty: faulty (1 error)",
        "1 of 2 packages verified",
    ]
    text = (cases.folder / "report").read_text()
    assert "VS-HIS-015" in text
    if form == "junit":
        assert junit_faults(text.encode()) == []
        assert ET.fromstring(text)[0].get("timestamp", "").startswith("20")
    if form == "sarif":
        (one,) = json.loads(text)["runs"][0]["results"]
        place = one["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        assert place == "faulty/refs/generation"
    if form == "github":
        assert all(workflow_command(line) for line in text.splitlines())


def test_paths_are_relative_to_the_folder_of_the_call(cases: CommandLine) -> None:
    outcome = cases("verify", cases.folder / "faulty", "--format", "gitlab")
    assert [one["location"]["path"] for one in outcome.json] == ["faulty/refs/generation"]


def test_several_processes_say_the_same(cases: CommandLine) -> None:
    one = process("verify", "good", "faulty", "absent", "--json", folder=cases.folder)
    two = process("verify", "good", "faulty", "absent", "--json", "-j", "2", folder=cases.folder)
    first, second = json.loads(one.stdout), json.loads(two.stdout)
    for value in (first, second):
        for package in value["packages"]:
            package.pop("milliseconds")
    assert first == second
    assert (one.returncode, two.returncode) == (1, 1)
    assert (one.stderr, two.stderr) == ("", "")


def test_failing_fast(cases: CommandLine) -> None:
    outcome = cases("verify", "faulty", "good", "--fail-fast")
    assert outcome.code == 1
    assert "everything after the first error, as asked" in outcome.out
    assert outcome.lines[-2:] == ["good: not begun", "0 of 2 packages verified"]
    assert cases("verify", "good", "faulty", "--fail-fast").code == 1
    value = cases("verify", "faulty", "good", "--fail-fast", "--json").json
    assert value["skipped"] == ["good"]


def test_a_file_that_was_taken_in_is_no_stray_file(cases: CommandLine) -> None:
    inside = cases.at(cases.folder / "good")
    (inside.folder / "late.log").write_text("it breaks\n")
    assert "VS-CON-003" in inside.ok("verify").out
    # At work a case takes new raw input by being reopened.
    inside.ok("reopen", "new_input", "late.log", "--reason", "a log came in")
    assert "VS-CON-003" not in inside.ok("verify").out
    (inside.folder / "late.log").write_text("it breaks again\n")
    assert "VS-CON-003" in inside.ok("verify").out


def test_extends_means_an_ancestor_or_the_head_itself(cases: CommandLine) -> None:
    head = cases("-p", "good", "rev-parse", "HEAD").out.strip()
    earlier = cases("-p", "good", "rev-parse", "HEAD~3").out.strip()
    for name in (head, earlier):
        cases.ok("verify", "good", "--extends", name)
    inside = cases.at(cases.folder / "good")
    inside.ok("query", "source.list", "-H", "H1")
    later = inside.ok("rev-parse", "HEAD").out.strip()
    cases.ok("verify", "good", "--extends", head)
    # The package as it was does not extend what came later.
    shutil.rmtree(cases.folder / "faulty" / "refs")
    outcome = cases("verify", "faulty", "--extends", later)
    assert outcome.code == 1
    assert "VS-HIS-017" in outcome.out
    record = cases("-p", "good", "rev-parse", "E000001").out.strip()
    assert cases("verify", "good", "--extends", record).code == 1


def test_progress_of_admitting_and_cloning(
    cases: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vstore_cli.progress._PATIENCE", 0)
    monkeypatch.setattr("vstore_cli.progress._PAUSE", 0)
    cases.ok("bundle", "create", "good", "good.zip")
    (cases.folder / "workspace").mkdir()
    for words in (
        ["clone", "good.zip", "cloned"],
        ["admit", "good.zip", "--workspace", "workspace"],
    ):
        outcome = cases(*words, tty=True)
        assert outcome.code == 0
        shown = outcome.err.split("\r\x1b[K")
        assert any(one.startswith("verifying good.zip: ") for one in shown), outcome.err
        assert outcome.err.endswith("\r\x1b[K")
    assert cases.ok("clone", "good.zip", "again").err == ""


def test_progress_is_for_terminals_only(
    cases: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vstore_cli.progress._PATIENCE", 0)
    monkeypatch.setattr("vstore_cli.progress._PAUSE", 0)
    shutil.copytree(cases.folder / "good", cases.folder / "second")
    outcome = cases("verify", "good", "second", tty=True)
    shown = outcome.err.split("\r\x1b[K")
    assert any(line.startswith("verifying 1 of 2 good: ") for line in shown)
    assert any(line == "verifying 2 of 2 second" for line in shown)
    assert outcome.err.endswith("\r\x1b[K")
    assert "verifying" not in outcome.out
    assert cases("verify", "good").err == ""
    assert cases("verify", "good", tty=True, environ={"TERM": "dumb"}).err == ""


def test_a_hostile_path_never_acts_on_the_terminal(
    cases: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vstore_cli.progress._PATIENCE", 0)
    evil = "evil\x1b[2J\u202e\n::error::x"
    (cases.folder / "good").rename(cases.folder / evil)
    outcome = cases("verify", evil, tty=True)
    assert outcome.code == 0
    for text in (outcome.out, outcome.err.replace("\r\x1b[K", "")):
        assert "\x1b[2J" not in text
        assert "\u202e" not in text
        assert "\n::" not in text


def test_the_command_knows_every_format() -> None:
    (option,) = [one for one in command.params if one.name == "form"]
    assert tuple(option.type.choices) == FORMATS  # type: ignore[attr-defined]


def test_what_is_not_needed_is_not_imported(cases: CommandLine) -> None:
    code = (
        "import atexit, sys\n"
        "before = set(sys.modules)\n"
        "atexit.register(lambda: print(*(set(sys.modules) - before), file=sys.stderr))"
    )
    done = process("verify", "good", folder=cases.folder, code=code)
    assert done.returncode == 0
    loaded = set(done.stderr.split())
    assert "vstore.verify.replay" in loaded
    unwanted = {
        "concurrent.futures",
        "multiprocessing",
        "filelock",
        "zipfile",
        *(f"vstore.verify.formats.{form}" for form in FORMATS if form != "text"),
    }
    assert not loaded & unwanted
