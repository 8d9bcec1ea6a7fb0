"""The tables of the service's database, version by version.

A database says its version in ``PRAGMA user_version``. Each entry of :data:`MIGRATIONS`
leads from the version before it to its own, in a transaction of its own. A released entry
never changes: what comes later is one more entry at the end, by whoever owns the tables.

Instants are INTEGER seconds since 1970, so that SQL calculates with them. A statement ends
with its line.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from typing import Final

from vstore.errors import IntegrityError, UnsupportedError
from vstore.web.desk_tables import DESK_TABLES

__all__ = ["APPLICATION_ID", "MIGRATIONS", "SERVICE_TABLES", "check_version", "migrate"]

#: Stands in the file's header, so that no other program's database is taken for ours.
APPLICATION_ID: Final = int.from_bytes(b"vstt")

#: Who may do what: accounts and what proves them, the audit trail, and rates.
SERVICE_TABLES: Final = """
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
"""

MIGRATIONS: Final[tuple[str, ...]] = (SERVICE_TABLES, DESK_TABLES)


def check_version(connection: sqlite3.Connection, newest: int) -> int:
    """The version of a database; 0 when it is empty.

    Args:
        connection: Only read.
        newest: The newest version that is known.

    Raises:
        UnsupportedError: A newer release made it (``newer_database``), or another program
            did (``foreign_database``).
    """
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    if application != (0 if not tables else APPLICATION_ID) or (version == 0 and tables):
        raise UnsupportedError(
            "the database is not one of a testers' page",
            kind="foreign_database",
            hint="name the folder that vstore serve works with; nothing was changed",
        )
    if version > newest:
        raise UnsupportedError(
            f"the testers' database has version {version}, and this release knows {newest}",
            kind="newer_database",
            hint="use the newer vstore that made it; nothing was changed",
            version=version,
        )
    return int(version)


def migrate(connection: sqlite3.Connection, migrations: Sequence[str] = MIGRATIONS) -> int:
    """Bring a database to the newest version, one transaction for each step.

    Args:
        connection: In autocommit mode, outside of a transaction.
        migrations: The steps, the first from an empty database.

    Returns:
        The version that it had.

    Raises:
        IntegrityError: A reference between tables doesn't hold afterwards
            (``damaged_database``); the step is undone.
        UnsupportedError: As :func:`check_version`.
    """
    before = check_version(connection, len(migrations))
    # Tables that are rebuilt would lose their references otherwise; they are checked below.
    connection.execute("PRAGMA foreign_keys = OFF")
    for number in range(before + 1, len(migrations) + 1):
        connection.execute("BEGIN IMMEDIATE")
        try:
            for statement in _statements(migrations[number - 1]):
                connection.execute(statement)
            if connection.execute("PRAGMA foreign_key_check").fetchone() is not None:
                raise IntegrityError(
                    "the testers' database has references that lead nowhere",
                    kind="damaged_database",
                )
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {number}")
            connection.execute("COMMIT")
        except BaseException:
            connection.execute("ROLLBACK")
            raise
    connection.execute("PRAGMA foreign_keys = ON")
    return before


def _statements(script: str) -> Iterator[str]:
    """The statements of a script; sqlite3's own way would commit before them."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
    assert not statement.strip(), "the script ends within a statement"
