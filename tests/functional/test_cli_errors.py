"""Exit codes, errors and hints, help texts, closed pipes, Ctrl-C."""

from __future__ import annotations

import contextlib
import re
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest

from vstore.errors import StorageError, UnsupportedError
from vstore_cli.commands import COMMANDS
from vstore_cli.group import cli

from .conftest import CommandLine

VSTORE = [sys.executable, "-m", "vstore_cli"]


def _every_command() -> list[tuple[list[str], click.Command]]:
    """Every command and subcommand with the words that name it."""
    found: list[tuple[list[str], click.Command]] = []
    context = click.Context(cli)
    for name in COMMANDS:
        command = cli.get_command(context, name)
        assert command is not None
        found.append(([name], command))
        if isinstance(command, click.Group):
            found += [([name, sub], one) for sub, one in command.commands.items()]
    return found


EVERY = _every_command()


@pytest.mark.parametrize(("words", "command"), EVERY, ids=[" ".join(one[0]) for one in EVERY])
def test_help_texts(vstore: CommandLine, words: list[str], command: click.Command) -> None:
    out = vstore.ok(*words, "--help").out
    assert all(len(line) <= 80 for line in out.splitlines())
    assert "Example:\n" in out
    assert f"vstore {words[0]}" in out.split("Example:")[1]
    assert vstore.ok(*words, "-h").out == out
    for parameter in command.params:
        if isinstance(parameter, click.Option) and not parameter.hidden:
            assert parameter.help, (words, parameter.name)
            assert parameter.help.endswith("."), (words, parameter.name)
    if len(words) == 1:
        # The table of commands has the commands' own words, and their names.
        assert command.short_help == COMMANDS[words[0]].summary
        assert command.name == words[0]


def test_the_overview_names_every_command(vstore: CommandLine) -> None:
    out = vstore.ok("--help").out
    assert vstore.ok().out == out
    for name in COMMANDS:
        assert re.search(rf"^  {name} ", out, re.MULTILINE), name
    assert all(len(line) <= 80 for line in out.splitlines())


def test_the_overview_imports_no_command() -> None:
    script = (
        "import sys; sys.argv = ['vstore', '--version']\n"
        "from vstore_cli.main import run\n"
        "assert run(['--help']) == 0\n"
        "heavy = [n for n in sys.modules if n.startswith('vstore_cli.command_')]\n"
        "late = ['re2', 'filelock', 'zstandard']\n"
        # Measuring coverage needs it, vstore doesn't.
        "late += ['sqlite3'] if 'coverage' not in sys.modules else []\n"
        "heavy += [n for n in late if n in sys.modules]\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)


def test_help_as_a_command(vstore: CommandLine) -> None:
    assert vstore.ok("help", "log").out == vstore.ok("log", "--help").out
    assert vstore.ok("help", "budget", "init").out == vstore.ok("budget", "init", "--help").out
    assert vstore.ok("help").out == vstore.ok("--help").out
    vstore.refused("usage", "help", "nonsense", code=2)


def test_version(vstore: CommandLine) -> None:
    from vstore import __version__

    assert vstore.ok("--version").out == f"vstore {__version__}\n"


def test_wrong_usage(vstore: CommandLine) -> None:
    outcome = vstore.refused("usage", "stauts", code=2)
    assert "did you mean status?" in outcome.err
    vstore.refused("usage", "--nonsense", code=2)
    vstore.refused("usage", "query", "nonsense", code=2)
    vstore.refused("usage", "init", code=2)
    vstore.refused("usage", "log", "-n", "many", code=2)
    vstore.refused("usage", "-C", "absent", "status", code=2)
    assert vstore.refused("usage", "settle", "a", code=2).err.endswith(
        "hint: vstore settle --help shows the usage\n"
    )


def test_outside_a_package(vstore: CommandLine) -> None:
    for words in (["status"], ["log"], ["budget", "show"], ["advance"]):
        outcome = vstore.refused("not_a_package", *words)
        assert outcome.err.startswith("error: ")
        assert "\nhint: " in outcome.err
    # Nothing to check is no verdict.
    vstore.refused("not_a_package", "verify", code=3)
    vstore.refused("usage", "verify", "--expect", "HEAD", code=2)


def test_where_the_package_is(investigated: CommandLine, vstore: CommandLine) -> None:
    head = investigated.ok("rev-parse", "HEAD").out
    outside = vstore.at(vstore.folder)
    package = investigated.folder
    assert outside.ok("-C", package, "rev-parse", "HEAD").out == head
    assert outside.ok("-C", package.parent, "-C", "case-1", "rev-parse", "HEAD").out == head
    assert outside.ok("--package", package, "rev-parse", "HEAD").out == head
    assert outside.ok("rev-parse", "HEAD", "-p", package).out == head
    assert outside.ok("rev-parse", "HEAD", environ={"VSTORE_PACKAGE": str(package)}).out == head
    deep = package / "notes" / "deep"
    deep.mkdir(parents=True)
    assert outside.at(deep).ok("rev-parse", "HEAD").out == head
    assert Path.cwd() != package


def test_storage_is_three(investigated: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    from vstore.package.reader import PackageReader

    for error in (
        StorageError("the disk failed"),
        UnsupportedError("a newer format"),
        OSError(28, "No space left on device", "x"),
    ):

        def broken(self: object, error: Exception = error) -> None:
            raise error

        monkeypatch.setattr(PackageReader, "pinned", broken)
        outcome = investigated("status")
        assert outcome.code == 3
        assert outcome.err.startswith("error: ")
        assert "Traceback" not in outcome.err


def test_a_fault_asks_for_a_report(
    investigated: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    from vstore.package.reader import PackageReader

    def broken(self: object) -> None:
        raise ZeroDivisionError("secret text of a package")

    monkeypatch.setattr(PackageReader, "pinned", broken)
    outcome = investigated.refused("fault", "status", code=4)
    assert "ZeroDivisionError" in outcome.err
    assert "please report it" in outcome.err
    assert "Traceback" not in outcome.err
    assert "secret" not in outcome.err
    assert "Traceback" in investigated("status", environ={"VSTORE_DEBUG": "1"}).err


def test_an_error_can_be_traced(vstore: CommandLine) -> None:
    assert "Traceback" in vstore("status", environ={"VSTORE_DEBUG": "1"}).err
    assert "Traceback" not in vstore("status").err


def test_errors_are_harmless_on_a_terminal(vstore: CommandLine) -> None:
    (vstore.folder / "x").write_text("x")
    vstore.ok("init", "c", "x")
    inside = vstore.at(vstore.folder / "c")
    for words in (
        ["input", "add", "evil\x1b[2J\u202e"],
        ["source", "add", "app", "evil\x1b[2J\u202e"],
        ["database", "add", "db", "evil\x1b[2J\u202e"],
        ["show", "HEAD:evil\x1b[2J\u202e"],
        ["evil\x1b[2J\u202e"],
        ["log", "--evil\x1b[2J\u202e"],
        ["-C", "evil\x1b[2J\u202e", "log"],
        ["hypotheses", "set", "evil\x1b[2J\u202e"],
        ["hash-object", "evil\x1b[2J\u202e"],
        ["verify", "evil\x1b[2J\u202e"],
    ):
        outcome = inside(*words)
        assert outcome.code in (1, 2, 3), (words, outcome)
        assert "\x1b" not in outcome.err + outcome.out, words
        assert "\u202e" not in outcome.err + outcome.out, words


def test_a_reader_that_goes_away(investigated: CommandLine) -> None:
    """As with git: no complaint, and the exit code of a death by SIGPIPE."""
    for number in range(30):
        investigated.ok("hypotheses", "update", "H1", "--statement", f"{number} " + "x" * 3900)
    process = subprocess.Popen(
        [*VSTORE, "log"],
        cwd=investigated.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.read(10)
    process.stdout.close()
    err = process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=30) == 141
    assert err == b""


def test_ctrl_c(tmp_path: Path) -> None:
    """The process dies by the signal, without a traceback, so that a shell's loop stops too."""
    with subprocess.Popen(
        [*VSTORE, "hash-object", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # Whoever runs the tests in the background has it ignored, and children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        assert process.stdin is not None
        # More than a pipe holds: when this returns, the command is at work.
        process.stdin.write(bytes(1 << 20))
        process.stdin.flush()
        # Python drops an interrupt that meets a destructor, so a person would press again.
        for _ in range(30):
            process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=1)
                break
        else:
            process.kill()
        out, err = process.communicate()
        assert process.returncode == -signal.SIGINT
        assert (out, err) == (b"", b"")


def test_a_folder_that_is_gone(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    done = subprocess.run(
        ["sh", "-c", 'rmdir "$PWD"; exec "$@"', "sh", *VSTORE, "status"],
        cwd=gone,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (1, 3)
    assert done.stderr.startswith("error: ")


def test_an_ascii_locale(investigated: CommandLine) -> None:
    investigated.ok("hypotheses", "update", "H1", "--statement", "größer 漢字")
    done = subprocess.run(
        [*VSTORE, "hypotheses"],
        cwd=investigated.folder,
        env={"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PATH": "/bin"},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0
    assert done.stderr == b""
    assert b"gr" in done.stdout
