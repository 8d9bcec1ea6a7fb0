"""Versions of the database: old ones are brought on, newer and foreign ones left alone."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from vstore.errors import IntegrityError, UnsupportedError
from vstore.web.database import Database
from vstore.web.migrations import MIGRATIONS
from vstore.web.service_folder import ServiceFolder

#: Version 1 as raw SQL, written down and not imported: what a released service left behind.
VERSION_1 = """
CREATE TABLE accounts (
    account_id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    name_key TEXT NOT NULL UNIQUE,
    role TEXT NOT NULL CHECK (role IN ('tester', 'admin')),
    disabled INTEGER NOT NULL DEFAULT 0 CHECK (disabled IN (0, 1)),
    created_at INTEGER NOT NULL,
    zone TEXT,
    language TEXT
) STRICT;
CREATE TABLE credentials (
    account_id INTEGER PRIMARY KEY REFERENCES accounts (account_id),
    password_hash TEXT NOT NULL,
    changed_at INTEGER NOT NULL
) STRICT;
CREATE TABLE enrolment_codes (
    code_hash BLOB PRIMARY KEY,
    account_id INTEGER NOT NULL UNIQUE REFERENCES accounts (account_id),
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE sessions (
    session_hash BLOB PRIMARY KEY,
    account_id INTEGER NOT NULL REFERENCES accounts (account_id),
    created_at INTEGER NOT NULL,
    last_seen INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_of_account ON sessions (account_id);
CREATE TABLE tokens (
    token_id INTEGER PRIMARY KEY AUTOINCREMENT,
    token_hash BLOB NOT NULL UNIQUE,
    account_id INTEGER NOT NULL REFERENCES accounts (account_id),
    label TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    last_used INTEGER,
    revoked_at INTEGER
) STRICT;
CREATE INDEX tokens_of_account ON tokens (account_id);
CREATE TABLE rates (
    key BLOB NOT NULL,
    at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX rates_of_key ON rates (key, at);
CREATE INDEX rates_by_end ON rates (expires_at);
CREATE TABLE audit (
    entry_id INTEGER PRIMARY KEY AUTOINCREMENT,
    at INTEGER NOT NULL,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    case_id TEXT,
    request_id TEXT,
    facts TEXT NOT NULL
) STRICT;
CREATE TRIGGER audit_is_never_changed BEFORE UPDATE ON audit
BEGIN
    SELECT RAISE(ABORT, 'the audit trail is only appended to');
END;
CREATE TRIGGER audit_is_never_removed BEFORE DELETE ON audit
BEGIN
    SELECT RAISE(ABORT, 'the audit trail is only appended to');
END;
PRAGMA application_id = 1987277940;
PRAGMA user_version = 1;
INSERT INTO accounts VALUES (7, 'Pat', 'pat', 'admin', 0, 1767225600, 'Europe/Berlin', NULL);
INSERT INTO tokens VALUES (3, x'0102', 7, 'bot', 1767225600, NULL, NULL);
INSERT INTO audit VALUES (1, 1767225600, 'operator', 'account.added', NULL, NULL, '{"name":"Pat"}');
"""


def raw(path: Path, script: str) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.executescript(script)


def shape(path: Path) -> list[tuple[str, str]]:
    with closing(sqlite3.connect(path)) as db:
        return sorted(db.execute("SELECT name, sql FROM sqlite_schema WHERE sql NOT NULL"))


def version(path: Path) -> int:
    with closing(sqlite3.connect(path)) as db:
        return db.execute("PRAGMA user_version").fetchone()[0]


def test_version_1_becomes_what_a_new_database_is(folder: ServiceFolder, tmp_path: Path) -> None:
    raw(folder.database_path, VERSION_1)
    database = Database(folder.database_path)
    with database.reading() as db:
        account = db.execute("SELECT * FROM accounts").fetchone()
        assert (account["account_id"], account["name"], account["zone"]) == (
            7, "Pat", "Europe/Berlin",
        )  # fmt: skip
        assert db.execute("SELECT label FROM tokens").fetchone()[0] == "bot"
        assert db.execute("SELECT facts FROM audit").fetchone()[0] == '{"name":"Pat"}'
    database.close()
    new = tmp_path / "new.sqlite3"
    Database(new).close()
    assert shape(folder.database_path) == shape(new)
    assert version(folder.database_path) == version(new) == len(MIGRATIONS)


def test_a_step_happens_once_and_whole(tmp_path: Path) -> None:
    path = tmp_path / "db"
    first = ("CREATE TABLE a (n INTEGER);\nINSERT INTO a VALUES (1);",)
    Database(path, migrations=first).close()
    Database(path, migrations=first).close()
    second = (*first, "ALTER TABLE a ADD COLUMN m INTEGER;\nUPDATE a SET m = n + 1;")
    Database(path, migrations=second).close()
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT n, m FROM a").fetchall() == [(1, 2)]
    third = (*second, "INSERT INTO a VALUES (5, 6);\nINSERT INTO absent VALUES (1);")
    with pytest.raises(sqlite3.OperationalError):
        Database(path, migrations=third)
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT n, m FROM a").fetchall() == [(1, 2)]
    assert version(path) == 2


def test_a_step_that_leaves_references_nowhere(tmp_path: Path) -> None:
    path = tmp_path / "db"
    script = """
        CREATE TABLE a (n INTEGER PRIMARY KEY);
        CREATE TABLE b (n INTEGER REFERENCES a (n));
        INSERT INTO a VALUES (1);
        INSERT INTO b VALUES (1);
    """
    first = (script,)
    Database(path, migrations=first).close()
    with pytest.raises(IntegrityError):
        Database(path, migrations=(*first, "DELETE FROM a;"))
    assert version(path) == 1
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT count(*) FROM a").fetchone() == (1,)


@pytest.mark.parametrize("journal", ["delete", "wal"])
def test_a_newer_database_is_left_as_it_was(folder: ServiceFolder, journal: str) -> None:
    path = folder.database_path
    raw(path, VERSION_1 + f"PRAGMA user_version = 99; PRAGMA journal_mode = {journal};")
    before = path.read_bytes()
    with pytest.raises(UnsupportedError) as error:
        Database(path)
    assert error.value.kind == "newer_database"
    assert error.value.details["version"] == 99
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "script",
    [
        "CREATE TABLE mine (n);",
        "CREATE TABLE mine (n); PRAGMA user_version = 1;",
        "PRAGMA application_id = 5;",
    ],
    ids=["tables", "version", "application"],
)
def test_a_foreign_database_is_left_as_it_was(tmp_path: Path, script: str) -> None:
    path = tmp_path / "db"
    raw(path, script)
    before = path.read_bytes()
    with pytest.raises(UnsupportedError) as error:
        Database(path)
    assert error.value.kind == "foreign_database"
    assert path.read_bytes() == before
