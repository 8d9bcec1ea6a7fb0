"""Transactions, connections of threads and processes, and what SQLite complains of."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from filelock import FileLock

from vstore.errors import IntegrityError, StateError, StorageError
from vstore.testing.clock import FrozenClock
from vstore.web import database as module
from vstore.web.database import Database
from vstore.web.service_folder import ServiceFolder


@pytest.fixture
def table(database: Database) -> Database:
    with database.transaction() as db:
        db.execute("CREATE TABLE t (n INTEGER NOT NULL UNIQUE) STRICT")
    return database


def numbers(database: Database) -> list[int]:
    with database.reading() as db:
        return [row["n"] for row in db.execute("SELECT n FROM t ORDER BY n")]


def test_settings_of_a_connection(database: Database) -> None:
    with database.reading() as db:
        settings = {
            name: db.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("journal_mode", "synchronous", "foreign_keys", "trusted_schema")
        }
    assert settings == {
        "journal_mode": "wal",
        "synchronous": 2,  # FULL
        "foreign_keys": 1,
        "trusted_schema": 0,
    }


def test_only_its_owner_reads_the_files(table: Database) -> None:
    files = sorted(path.name for path in table.path.parent.iterdir() if path.is_file())
    assert files == [
        "testers.sqlite3", "testers.sqlite3-shm", "testers.sqlite3-wal", "testers.sqlite3.lock",
    ]  # fmt: skip
    for name in files:
        assert stat.S_IMODE((table.path.parent / name).stat().st_mode) == 0o600


def test_all_or_nothing(table: Database) -> None:
    with table.transaction() as db:
        db.execute("INSERT INTO t VALUES (1)")
    with pytest.raises(KeyError), table.transaction() as db:
        db.execute("INSERT INTO t VALUES (2)")
        raise KeyError
    with pytest.raises(sqlite3.IntegrityError), table.transaction() as db:
        db.execute("INSERT INTO t VALUES (3)")
        db.execute("INSERT INTO t VALUES (1)")
    assert numbers(table) == [1]


def test_a_nested_block_is_a_part_of_the_outer_one(table: Database) -> None:
    with table.transaction() as db:
        db.execute("INSERT INTO t VALUES (1)")
        with table.transaction() as again:
            assert again is db
            again.execute("INSERT INTO t VALUES (2)")
        with pytest.raises(KeyError), table.transaction() as again:
            again.execute("INSERT INTO t VALUES (3)")
            with table.transaction() as third:
                third.execute("INSERT INTO t VALUES (4)")
            raise KeyError
        with table.reading() as same:
            assert same is db
        db.execute("INSERT INTO t VALUES (5)")
    assert numbers(table) == [1, 2, 5]
    with pytest.raises(KeyError), table.transaction():
        with table.transaction() as again:
            again.execute("INSERT INTO t VALUES (6)")
        raise KeyError
    assert numbers(table) == [1, 2, 5]


def test_reading_sees_one_state(table: Database) -> None:
    with table.reading() as db:
        assert db.execute("SELECT count(*) FROM t").fetchone()[0] == 0
        thread = threading.Thread(target=lambda: add(table, 1))
        thread.start()
        thread.join()
        assert db.execute("SELECT count(*) FROM t").fetchone()[0] == 0
        with table.reading() as again:
            assert again is db
        with pytest.raises(RuntimeError), table.transaction():
            pass
    assert numbers(table) == [1]


def add(database: Database, number: int) -> None:
    with database.transaction() as db:
        db.execute("INSERT INTO t VALUES (?)", (number,))


def test_threads_count_on_without_losing_one(table: Database) -> None:
    def count(_: int) -> None:
        with table.transaction() as db:
            (newest,) = db.execute("SELECT coalesce(max(n), 0) FROM t").fetchone()
            db.execute("INSERT INTO t VALUES (?)", (newest + 1,))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(count, range(80)))
    assert numbers(table) == list(range(1, 81))


def test_connections_of_ended_threads_are_closed(table: Database) -> None:
    for number in range(20):
        thread = threading.Thread(target=add, args=(table, number))
        thread.start()
        thread.join()
    held = Path("/proc/self/fd")
    if not held.exists():
        held = Path("/dev/fd")
    paths = [os.path.realpath(one) for one in held.iterdir()]
    # This thread's own, and at most one that ended after the last look.
    assert paths.count(str(table.path)) <= 2


def test_processes_open_it_at_the_same_time(folder: ServiceFolder) -> None:
    code = (
        "import sys; from pathlib import Path; from vstore.web.database import Database\n"
        "sys.stdin.read()\n"
        "database = Database(Path(sys.argv[1]))\n"
        "with database.transaction() as db:\n"
        "    db.execute(\"INSERT INTO rates VALUES (x'00', ?, 0)\", (int(sys.argv[2]),))\n"
    )
    started = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(folder.database_path), str(number)],
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(4)
    ]
    # All wait for their end of input, so that they open it together.
    for one in started:
        assert one.stdin is not None
        one.stdin.close()
    for one in started:
        assert one.stderr is not None
        with one.stderr:
            told = one.stderr.read()
        assert one.wait() == 0, told
    database = Database(folder.database_path)
    with database.reading() as db:
        assert [row[0] for row in db.execute("SELECT at FROM rates ORDER BY at")] == [0, 1, 2, 3]
    database.close()


def test_damage_is_told(folder: ServiceFolder, clock: FrozenClock) -> None:
    Database(folder.database_path, clock=clock).close()
    with closing(sqlite3.connect(folder.database_path)) as db:
        pages = dict(
            db.execute("SELECT name, rootpage FROM sqlite_schema WHERE name IN ('rates', 'tokens')")
        )
        (size,) = db.execute("PRAGMA page_size").fetchone()
    whole = bytearray(folder.database_path.read_bytes())
    folder.database_path.write_bytes(b"no database at all" * 300)
    with pytest.raises(IntegrityError) as error:
        Database(folder.database_path)
    assert error.value.kind == "damaged_database"
    # It opens, and two of its tables are gone.
    for page in pages.values():
        whole[(page - 1) * size : page * size] = b"\xff" * size
    folder.database_path.write_bytes(whole)
    database = Database(folder.database_path)
    with pytest.raises(IntegrityError), database.transaction() as db:
        db.execute("INSERT INTO rates VALUES (x'00', 1, 1)")
    with pytest.raises(IntegrityError), database.reading() as db:
        db.execute("SELECT * FROM tokens").fetchall()
    database.close()


def test_what_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(StorageError):
        Database(tmp_path / "absent" / "file")
    (tmp_path / "folder").mkdir()
    with pytest.raises(StorageError):
        Database(tmp_path / "folder")


def test_a_mistake_in_sql_stays_one(database: Database) -> None:
    with pytest.raises(sqlite3.OperationalError), database.transaction() as db:
        db.execute("SELECT nonsense")


def test_closed(database: Database) -> None:
    database.close()
    with pytest.raises(StateError) as error, database.reading():
        pass
    assert error.value.kind == "closed"


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for anybody."""
    monkeypatch.setattr(module, "_PATIENCE", 0.0)


def test_another_writer_that_does_not_end(folder: ServiceFolder, impatient: None) -> None:
    database = Database(folder.database_path)
    with closing(sqlite3.connect(folder.database_path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StorageError) as error, database.transaction():
            pass
        assert error.value.kind == "database_busy"
        # Readers don't care.
        with database.reading() as db:
            assert db.execute("SELECT count(*) FROM accounts").fetchone()[0] == 0
        other.execute("ROLLBACK")
    with database.transaction():
        pass
    database.close()


def test_another_one_that_prepares_it(folder: ServiceFolder, impatient: None) -> None:
    path = folder.database_path
    with FileLock(path.with_name(path.name + ".lock")), pytest.raises(StorageError) as error:
        Database(path)
    assert error.value.kind == "database_busy"
    assert not path.exists()


@pytest.mark.parametrize(
    ("pragma", "kind"), [("max_page_count = 1", "disk_full"), ("query_only = ON", "read_only")]
)
def test_what_the_disk_refuses(database: Database, pragma: str, kind: str) -> None:
    with database.reading() as db:
        db.execute(f"PRAGMA {pragma}")
    with pytest.raises(StorageError) as error, database.transaction() as db:
        db.executemany(
            "INSERT INTO rates VALUES (zeroblob(4000), ?, 1)", [(number,) for number in range(50)]
        )
    assert error.value.kind == kind
    with database.reading() as db:
        assert db.execute("SELECT count(*) FROM rates").fetchone()[0] == 0


def test_a_forked_process_opens_its_own(table: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    with table.reading() as db:
        mine = db
    monkeypatch.setattr(os, "getpid", lambda: 1)
    with table.reading() as db:
        assert db is not mine
    with table.reading() as again:
        assert again is db
    mine.close()


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(StorageError):
        Database(tmp_path / ("x" * 240 + ".sqlite3"))
    with pytest.raises(StorageError):
        Database(tmp_path / ("x" * 300))
