"""Running the real command line, in this process for speed or in one of its own."""

from __future__ import annotations

import io
import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from vstore.testing.clock import FrozenClock
from vstore_cli.main import run
from vstore_cli.terminal import Terminal

#: Enough for every command; nothing of the machine that runs the tests.
ENVIRON = {"VSTORE_ACTOR": "tester", "HOME": "/nonexistent"}


class _Screen(io.StringIO):
    """A stream that claims to be a terminal."""

    def isatty(self) -> bool:
        return True


@dataclass(frozen=True)
class Outcome:
    """What a command line came to."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output as JSON; nothing else stands there."""
        return json.loads(self.out)

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


class CommandLine:
    """Runs ``vstore`` in a folder.

    ``ok`` demands exit code 0 and an empty standard error; calling it directly demands
    nothing. The clock moves on a second with each instant that is taken.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = FrozenClock(step=1)

    def __call__(
        self, *words: str | Path, environ: dict[str, str] | None = None, tty: bool = False
    ) -> Outcome:
        kind = _Screen if tty else io.StringIO
        out, err = kind(), kind()
        terminal = Terminal(out, err, ENVIRON | {"PAGER": "cat"} | (environ or {}))
        before = Path.cwd()
        os.chdir(self.folder)
        try:
            code = run([str(word) for word in words], terminal=terminal, clock=self.clock)
        finally:
            os.chdir(before)
        return Outcome(code, out.getvalue(), err.getvalue())

    def ok(self, *words: str | Path, **options: Any) -> Outcome:
        outcome = self(*words, **options)
        assert outcome.err == "", outcome.err
        assert outcome.code == 0, outcome
        return outcome

    def refused(self, kind: str, *words: str | Path, code: int = 1, **options: Any) -> Outcome:
        """Demand an error of this stable kind, and nothing on standard output."""
        outcome = self(*words, **options)
        assert outcome.code == code, outcome
        assert f"[{kind}]" in outcome.err, outcome.err
        assert outcome.out == "", outcome.out
        return outcome

    def at(self, folder: Path) -> CommandLine:
        """The same in another folder."""
        other = CommandLine(folder)
        other.clock = self.clock
        return other


@pytest.fixture
def vstore(tmp_path: Path) -> CommandLine:
    """The command line in an empty folder."""
    return CommandLine(tmp_path)


def make_material(folder: Path) -> None:
    """A report, a source tree and a database, small enough to count by hand."""
    (folder / "report.txt").write_bytes(b"It breaks.\r\nSince Tuesday.\n")
    source = folder / "tree"
    (source / "pkg").mkdir(parents=True)
    (source / "main.py").write_text("import pkg\nprint(pkg.answer)\n")
    (source / "pkg" / "__init__.py").write_text("answer = 41\n# answer: 42 was meant\n")
    (source / "data.bin").write_bytes(b"\x00answer\x01")
    connection = sqlite3.connect(folder / "bug.sqlite3")
    connection.executescript(
        """
        CREATE TABLE orders (code TEXT NOT NULL, amount REAL, note, raw BLOB);
        INSERT INTO orders VALUES
            ('a-1', 1.5, 'first', x'00ff'), ('a-2', 2, NULL, NULL), ('b-1', -3.25, 'it''s', x'');
        CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT);
        INSERT INTO customers VALUES (7, 'Ada'), (9, 'Bob');
        CREATE TRIGGER keep AFTER DELETE ON orders BEGIN SELECT 1; END;
        """
    )
    connection.commit()
    connection.close()


@pytest.fixture(scope="session")
def _prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A case with two hypotheses and accounts, a source and a database; nothing asked yet."""
    folder = tmp_path_factory.mktemp("prepared")
    make_material(folder)
    vstore = CommandLine(folder)
    vstore.ok("init", "case-1", "report.txt")
    inside = vstore.at(folder / "case-1")
    inside.ok("source", "add", "app", folder / "tree")
    inside.ok("database", "add", "db", folder / "bug.sqlite3")
    inside.ok("advance")
    inside.ok("advance")
    inside.ok("hypotheses", "add", "H1", "the answer is wrong")
    inside.ok("hypotheses", "add", "H2", "the orders are wrong", "-q", "since when?")
    inside.ok("budget", "init")
    inside.ok("advance")
    return folder


@pytest.fixture(scope="session")
def _investigated(_prepared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with three records, one settled, one recorded, one repeated."""
    folder = tmp_path_factory.mktemp("investigated") / "work"
    shutil.copytree(_prepared, folder, symlinks=True)
    inside = CommandLine(folder / "case-1")
    inside.clock.tick(3600)
    inside.ok("query", "source.search", "-H", "H1", "answer")
    inside.ok("settle", "query-0001", "--score", "80", "--reason", "three places")
    inside.ok("query", "database.rows", "-H", "H2", "orders", "--order", "-amount")
    inside.ok("query", "source.search", "-H", "H2", "answer")
    return folder


@pytest.fixture
def prepared(_prepared: Path, tmp_path: Path) -> CommandLine:
    """The command line in a fresh copy of the prepared package."""
    return _copy(_prepared, tmp_path)


@pytest.fixture
def investigated(_investigated: Path, tmp_path: Path) -> CommandLine:
    """The command line in a fresh copy of the investigated package."""
    return _copy(_investigated, tmp_path)


def _copy(origin: Path, tmp_path: Path) -> CommandLine:
    folder = tmp_path / "work"
    shutil.copytree(origin, folder, symlinks=True)
    found = CommandLine(folder / "case-1")
    found.clock.tick(7200)
    return found


@pytest.fixture
def files_of() -> Callable[[Path], dict[str, bytes]]:
    """Every file of a package but locks and caches, with its bytes."""

    def read(folder: Path) -> dict[str, bytes]:
        return {
            str(path.relative_to(folder)): path.read_bytes()
            for path in sorted(folder.rglob("*"))
            if path.is_file() and path.relative_to(folder).parts[0] not in ("locks", "cache")
        }

    return read
