"""The GitHub action and the pre-commit hook: the very commands that they run, run."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from vstore.testing.report_formats import junit_faults, workflow_command
from vstore.verify.formats import FORMATS

ROOT = Path(__file__).parents[2]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS = {step["id"]: step for step in ACTION["runs"]["steps"]}
(HOOK,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
ABSENT = "b3:" + "0" * 64
EXPRESSION = re.compile(r"\$\{\{\s*inputs\.([a-z-]+)\s*\}\}")


@pytest.fixture
def checkout(_investigated: Path, tmp_path: Path) -> Path:
    """A repository with packages, one faulty, and files that try to be imported."""
    folder = tmp_path / "check out"
    for name in ("good one", "faulty"):
        shutil.copytree(_investigated / "case-1", folder / "cases" / name)
    (folder / "cases" / "faulty" / "refs" / "generation").write_text(ABSENT + "\n")
    for name in ("click.py", "vstore.py", "msgspec.py"):
        (folder / name).write_text("raise SystemExit('a module of the checkout was imported')\n")
    return folder


class Job:
    """One job on a runner, with an environment that stands in for the installed one."""

    def __init__(self, folder: Path, checkout: Path) -> None:
        self.temp = folder / "runner"
        self.checkout = checkout
        self.output = folder / "output"
        self.calls = folder / "calls"
        (self.temp / "vstore" / "bin").mkdir(parents=True)
        python = self.temp / "vstore" / "bin" / "python"
        python.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n')
        python.chmod(0o755)

    def run(self, step: str, **inputs: str) -> subprocess.CompletedProcess[str]:
        """Run a step as a runner does, with these inputs and the defaults of the others."""
        assert set(inputs) <= {name.replace("-", "_") for name in ACTION["inputs"]}
        self.output.write_text("")
        environment = {
            "PATH": os.environ["PATH"],
            "GITHUB_ACTION_PATH": str(ROOT),
            "GITHUB_OUTPUT": str(self.output),
            "RUNNER_TEMP": str(self.temp),
        }
        for name, value in STEPS[step]["env"].items():
            (wanted,) = EXPRESSION.findall(value)
            default = ACTION["inputs"][wanted].get("default", "")
            environment[name] = inputs.get(wanted.replace("-", "_"), default)
        return subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", STEPS[step]["run"]],
            cwd=self.checkout,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    def record(self) -> None:
        """From now on, write down what would be run instead of running it."""
        python = self.temp / "vstore" / "bin" / "python"
        python.write_text(f'#!/bin/sh\nprintf "%s\\0" "$@" >{shlex.quote(str(self.calls))}\n')

    @property
    def called(self) -> list[str]:
        """The words that would have been run."""
        words = self.calls.read_text().split("\0")[:-1]
        self.calls.unlink()
        return words

    @property
    def exit_code(self) -> str:
        """What the step says to later ones."""
        return self.output.read_text()


@pytest.fixture
def job(checkout: Path, tmp_path: Path) -> Job:
    return Job(tmp_path, checkout)


def test_the_action_is_well_formed() -> None:
    assert set(ACTION) == {
        "name", "description", "author", "branding", "inputs", "outputs", "runs"
    }  # fmt: skip
    assert ACTION["runs"]["using"] == "composite"
    for name, one in ACTION["inputs"].items():
        assert set(one) <= {"description", "required", "default"}
        assert one["description"].endswith(".")
        assert one.get("required") or isinstance(one["default"], str), name
    assert [name for name, one in ACTION["inputs"].items() if one.get("required")] == ["paths"]
    for form in FORMATS:
        assert form in ACTION["inputs"]["format"]["description"]
    assert ACTION["outputs"]["exit-code"]["value"] == "${{ steps.verify.outputs.exit-code }}"


def test_the_action_uses_no_other_and_reads_no_input_as_code() -> None:
    used: set[str] = set()
    for step in STEPS.values():
        assert set(step) == {"name", "id", "shell", "env", "run"}
        assert "${{" not in step["run"]
        for value in step["env"].values():
            found = EXPRESSION.fullmatch(value)
            assert found is not None
            used.add(found[1])
        for name in step["env"]:
            # Each is quoted wherever it is used, or within [[ ]] or an assignment.
            for line in step["run"].splitlines():
                plain = re.sub(r'"[^"]*"|\[\[.*?\]\]', "", line)
                assert f"${name}" not in plain, line
    assert used == set(ACTION["inputs"])


def test_a_verified_package(job: Job) -> None:
    done = job.run("verify", paths="cases/good one")
    assert (done.returncode, job.exit_code) == (0, "exit-code=0\n"), done.stderr
    (line,) = done.stdout.splitlines()
    name, properties, text = workflow_command(line) or ("", {}, "")
    assert (name, properties) == ("notice", {"title": "vstore verify"})
    assert text.startswith("cases/good one: verified ")


def test_several_packages(job: Job) -> None:
    done = job.run("verify", paths="cases/*\n")
    assert (done.returncode, job.exit_code) == (1, "exit-code=1\n"), done.stderr
    commands = [workflow_command(line) for line in done.stdout.splitlines()]
    assert all(commands)
    assert {one[1].get("file") for one in commands if one} >= {"cases/faulty/refs/generation"}


def test_nothing_to_verify(job: Job) -> None:
    done = job.run("verify", paths="absent/*")
    assert (done.returncode, job.exit_code) == (3, "exit-code=3\n")
    done = job.run("verify", paths="\n")
    assert (done.returncode, job.exit_code) == (2, "exit-code=2\n")


COMMON = ["-P", "-m", "vstore_cli", "verify"]


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        ("cases/*\n", ["cases/faulty", "cases/good one"]),
        ("cases/good one\n\ncases/faulty", ["cases/good one", "cases/faulty"]),
        ("**/faulty", ["cases/faulty"]),
        ("no*thing", ["no*thing"]),
        ("-x\n  blanks ", ["-x", "  blanks "]),
    ],
)
def test_patterns(job: Job, paths: str, expected: list[str]) -> None:
    job.record()
    assert job.run("verify", paths=paths).returncode == 0
    assert job.called == [*COMMON, "--format=github", "--jobs=2", "--", *expected]


def test_inputs_become_options(job: Job) -> None:
    job.record()
    inputs = {"paths": "p", "format": "sarif", "output": "o", "extends": "e", "expect": "x"}
    more = {"recompute": "false", "fail_on_warnings": "true", "jobs": "7"}
    assert job.run("verify", **inputs, **more).returncode == 0
    assert job.called == [
        *COMMON, "--format=sarif", "--jobs=7", "--output=o", "--extends=e", "--expect=x",
        "--no-recompute", "--fail-on-warnings", "--", "p",
    ]  # fmt: skip


def test_options_are_ones_that_verify_has(job: Job) -> None:
    more = {"recompute": "false", "fail_on_warnings": "true", "extends": ABSENT, "expect": ABSENT}
    done = job.run("verify", paths="cases/good one", output="out", **more)
    assert done.returncode == 1
    text = (job.checkout / "out").read_text()
    assert "VS-HIS-016" in text
    assert "VS-HIS-017" in text
    assert "replies were not recomputed" in text


HOSTILE = [
    "$(touch hacked)",
    "`touch hacked`",
    '"; touch hacked; "',
    "x\n$(touch hacked)",
    "--output=hacked",
    "-ohacked",
    "cases/*; touch hacked",
]


OPTIONS = {name: f"--{name}=" for name in ("format", "output", "extends", "expect", "jobs")}


@pytest.mark.parametrize("value", HOSTILE)
def test_inputs_are_never_code(job: Job, value: str) -> None:
    job.record()
    before = sorted(job.checkout.iterdir())
    for name, option in OPTIONS.items():
        assert job.run("verify", paths="p", **{name: value}).returncode == 0
        assert option + value in job.called
    assert job.run("verify", paths=value).returncode == 0
    called = job.called
    assert called[called.index("--") + 1 :] == value.splitlines()
    assert sorted(job.checkout.iterdir()) == before


def test_reports_for_other_systems(job: Job) -> None:
    for form in ("sarif", "junit"):
        done = job.run("verify", paths="cases/*", format=form, output=f"out {form}")
        assert done.returncode == 1
        lines = done.stdout.splitlines()
        # No line of the report is read as a command.
        token = lines[0].removeprefix("::stop-commands::")
        assert re.fullmatch("[0-9a-f]{32}", token)
        assert lines[-1] == f"::{token}::"
        assert any("faulty: faulty (1 error)" in line for line in lines)
    value = json.loads((job.checkout / "out sarif").read_text())
    (result,) = value["runs"][0]["results"]
    place = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert place == "cases/faulty/refs/generation"
    assert junit_faults((job.checkout / "out junit").read_bytes()) == []


def test_install_checks_versions_and_hashes(job: Job, tmp_path: Path) -> None:
    """The commands of the step; what they call writes down how it was called."""
    calls = tmp_path / "calls"
    fake = tmp_path / "bin" / "python"
    fake.parent.mkdir()
    fake.write_text(
        f'#!/bin/sh\n[ "$1" = -c ] && exec {sys.executable} "$@"\n'
        f'printf "%s\\n" "$*" >>{calls}\n'
        '[ "$1" = -m ] && [ "$2" = venv ] && mkdir -p "$3/bin" && cp "$0" "$3/bin/python"\nexit 0\n'
    )
    fake.chmod(0o755)
    shutil.rmtree(job.temp)
    assert job.run("install", python=str(fake)).returncode == 0
    pip = "-m pip --disable-pip-version-check install --quiet"
    hashed = f"{pip} --require-hashes -r {ROOT}/requirements/runtime.txt"
    venv = f"-m venv {job.temp}/vstore"
    assert calls.read_text().splitlines() == [venv, hashed]
    calls.unlink()
    assert job.run("install", python=str(fake), version="1.2.3").returncode == 0
    assert calls.read_text().splitlines() == [venv, hashed, f"{pip} --no-deps vstore==1.2.3"]
    for version in ("1.2; touch hacked", "--index-url=x", "1.2 @ x", "$(id)"):
        assert job.run("install", python=str(fake), version=version).returncode == 2
    old = tmp_path / "old"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    assert job.run("install", python=str(old)).returncode == 3


@pytest.mark.deep
def test_the_whole_action_with_an_environment_of_its_own(job: Job) -> None:
    shutil.rmtree(job.temp)
    done = job.run("install", python=sys.executable)
    if done.returncode and os.environ.get("CI") != "true":
        pytest.skip(f"packages can't be installed here: {done.stderr[-500:]}")
    assert done.returncode == 0, done.stderr
    assert job.run("verify", paths="cases/good one").returncode == 0
    assert job.run("verify", paths="cases/*").returncode == 1


# ---- pre-commit


def test_the_hook_is_well_formed() -> None:
    assert set(HOOK) == {
        "id", "name", "description", "entry", "language", "files", "types", "require_serial"
    }  # fmt: skip
    assert (HOOK["id"], HOOK["language"], HOOK["types"]) == ("vstore-verify", "python", ["file"])
    assert HOOK["require_serial"] is True


def hook(folder: Path, *changed: str) -> subprocess.CompletedProcess[str]:
    """What pre-commit runs for changed files: the entry with those that match."""
    names = [name for name in changed if re.search(HOOK["files"], name)]
    assert names
    words = shlex.split(HOOK["entry"])
    program = shutil.which(words[0], path=str(Path(sys.executable).parent))
    assert program is not None
    return subprocess.run(
        [program, *words[1:], *names], cwd=folder, capture_output=True, text=True, check=False
    )


def test_the_hook_verifies_the_packages_of_changed_files(checkout: Path) -> None:
    files = [
        str(path.relative_to(checkout)) for path in sorted(checkout.rglob("*")) if path.is_file()
    ]
    good = [name for name in files if name.startswith("cases/good one/")]
    done = hook(checkout, "README.md", *good)
    assert done.returncode == 0, done.stdout
    assert done.stdout.count(": verified") == 1
    done = hook(checkout, *files)
    assert done.returncode == 1
    assert "error VS-HIS-015" in done.stdout


def test_the_hook_takes_what_makes_up_a_package(checkout: Path) -> None:
    for name in (
        "a/VSTORE",
        "VSTORE",
        "a/refs/generation",
        "refs/budget_ledger",
        "x.vstore",
        "a/objects/log/00000001.vlog",
        "a/objects/large/ab/cd",
        "b/x.vstore.zip",
    ):
        assert re.search(HOOK["files"], name), name
    for name in ("VSTORE.md", "a/refs/heads/main", "src/objects.py", "objects/log"):
        assert not re.search(HOOK["files"], name), name
