"""What a guarded connection refuses."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from vstore.testing.database_samples import captured, make_database
from vstore.tools.sqlite_guard import guard
from vstore.tools.sqlite_open import SqliteLimits, open_sqlite


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    path = make_database(tmp_path / "a.db", "CREATE TABLE t (a)", "INSERT INTO t VALUES (1)")
    with open_sqlite(path, SqliteLimits()) as database:
        yield database.connection


@pytest.mark.parametrize(
    "sql",
    [
        "ATTACH 'other.db' AS other",
        "DETACH main",
        "SELECT load_extension('x')",
        "SELECT randomblob(1000000000)",
        "SELECT fts3_tokenizer('simple')",
        "SELECT sqlite_compileoption_get(0)",
        "INSERT INTO t VALUES (2)",
        "DELETE FROM t",
        "UPDATE sqlite_master SET sql = ''",
        "CREATE TABLE u (a)",
        "CREATE TEMP TABLE u (a)",
        "DROP TABLE t",
        "VACUUM",
        "VACUUM INTO 'copy.db'",
        "ANALYZE",
        "SAVEPOINT s",
        "PRAGMA writable_schema = ON",
        "PRAGMA query_only = OFF",
        "PRAGMA user_version = 7",
        "PRAGMA temp_store_directory = '/'",
        "PRAGMA journal_mode = WAL",
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT * FROM n",
    ],
)
def test_refused(connection: sqlite3.Connection, sql: str) -> None:
    with pytest.raises(sqlite3.Error):
        connection.execute(sql).fetchall()


def test_reading_is_allowed(connection: sqlite3.Connection) -> None:
    assert connection.execute("SELECT a, abs(a) FROM t").fetchall() == [(1, 1)]
    assert connection.execute("PRAGMA user_version").fetchall() == [(0,)]
    assert connection.execute("SELECT 'x', x'79'").fetchall() == [(bytearray(b"x"), b"y")]


def test_restraints_are_in_force(connection: sqlite3.Connection) -> None:
    assert connection.getlimit(sqlite3.SQLITE_LIMIT_ATTACHED) == 0
    assert connection.getlimit(sqlite3.SQLITE_LIMIT_LENGTH) == SqliteLimits().max_cell_bytes
    connection.set_authorizer(None)
    assert connection.execute("PRAGMA trusted_schema").fetchall() == [(0,)]
    assert connection.execute("PRAGMA query_only").fetchall() == [(1,)]
    with pytest.raises(sqlite3.OperationalError):
        connection.execute("DELETE FROM t")


def test_the_authorizer_comes_back(tmp_path: Path) -> None:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        watch = guard(connection, 1_000_000, 10)
        with watch.unwatched():
            connection.execute("SELECT random()").fetchall()
        with pytest.raises(sqlite3.DatabaseError):
            connection.execute("SELECT random()")


def test_functions_of_a_schema_run_only_where_they_are_harmless(tmp_path: Path) -> None:
    """A full-text table over a view is the one way in which a view's SQL runs at capture."""
    path = make_database(
        tmp_path / "a.db",
        "CREATE TABLE t (id INTEGER PRIMARY KEY, a)",
        "INSERT INTO t VALUES (1, 'word')",
        "CREATE VIEW good AS SELECT id, upper(a) AS a FROM t",
        "CREATE VIEW bad AS SELECT id, load_extension(a) AS a FROM t",
        "CREATE VIRTUAL TABLE over_good USING fts5(a, content='good', content_rowid='id')",
        "CREATE VIRTUAL TABLE over_bad USING fts5(a, content='bad', content_rowid='id')",
    )
    found = captured(path)
    assert found.values("over_good") == [["WORD"]]
    assert found.table("over_bad").unread == "unreadable"
    assert found.descriptor.coverage.kind == "partial"
