"""Opening hostile, live and damaged SQLite files: nothing is changed, nothing appears beside."""

from __future__ import annotations

import os
import sqlite3
import struct
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from vstore.errors import ConflictError, InvalidError, LimitExceeded, StorageError, VStoreError
from vstore.testing.database_samples import captured, make_database
from vstore.tools.snapshot_check import check_database
from vstore.tools.sqlite_open import SqliteLimits, open_sqlite


def files_of(folder: Path) -> dict[str, bytes]:
    return {one.name: one.read_bytes() for one in folder.iterdir() if one.is_file()}


@pytest.mark.parametrize("mode", ["DELETE", "WAL"])
def test_nothing_changes_and_nothing_appears(tmp_path: Path, mode: str) -> None:
    path = make_database(tmp_path / "a.db", f"PRAGMA journal_mode = {mode}", "CREATE TABLE t (a)")
    before = files_of(tmp_path)
    assert list(before) == ["a.db"]
    captured(path)
    assert files_of(tmp_path) == before


def live_wal(folder: Path) -> sqlite3.Connection:
    """A database whose last rows are only in the -wal, still open."""
    connection = sqlite3.connect(folder / "a.db", isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA wal_autocheckpoint = 0")
    connection.execute("CREATE TABLE t (a)")
    connection.execute("INSERT INTO t VALUES (1)")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.execute("INSERT INTO t VALUES (2)")
    return connection


def test_the_wal_is_honoured(tmp_path: Path) -> None:
    with closing(live_wal(tmp_path)):
        before = files_of(tmp_path)
        assert sorted(before) == ["a.db", "a.db-shm", "a.db-wal"]
        found = captured(tmp_path / "a.db")
        assert found.values("t") == [[1], [2]]
        assert "SQLite file with its -wal: UTF-8" in found.statement
        assert files_of(tmp_path) == before


def test_a_wal_left_behind_and_read_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "live").mkdir()
    (tmp_path / "dead").mkdir()
    (tmp_path / "links").mkdir()
    with closing(live_wal(tmp_path / "live")):
        for name in ("a.db", "a.db-wal"):
            (tmp_path / "dead" / name).write_bytes((tmp_path / "live" / name).read_bytes())
    link = tmp_path / "links" / "link.db"
    link.symlink_to(tmp_path / "dead" / "a.db")
    before = files_of(tmp_path / "dead")
    assert captured(link).values("t") == [[1], [2]]
    assert files_of(tmp_path / "dead") == before
    assert files_of(tmp_path / "links") == {"link.db": before["a.db"]}


def test_private_copies_are_removed(tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with (
        closing(live_wal(tmp_path)),
        open_sqlite(tmp_path / "a.db", SqliteLimits(), scratch=scratch) as database,
    ):
        (folder,) = scratch.iterdir()
        assert oct(folder.stat().st_mode)[-3:] == "700"
        assert database.companion == "-wal"
    assert list(scratch.iterdir()) == []


def hot_journal(folder: Path) -> Path:
    """A database left in the middle of a transaction that was already written into it."""
    path = folder / "a.db"
    live = folder / "live.db"
    make_database(live, "CREATE TABLE t (a)", "INSERT INTO t VALUES ('before')")
    with closing(sqlite3.connect(live, isolation_level=None)) as connection:
        connection.execute("PRAGMA cache_size = 1")
        connection.execute("PRAGMA cache_spill = 1")
        connection.execute("BEGIN")
        connection.execute("UPDATE t SET a = 'torn'")
        for _ in range(200):
            connection.execute("INSERT INTO t VALUES (?)", ("x" * 3000,))
        path.write_bytes(live.read_bytes())
        path.with_name("a.db-journal").write_bytes(live.with_name("live.db-journal").read_bytes())
        connection.execute("ROLLBACK")
    live.unlink()
    return path


def test_a_hot_journal_is_rolled_back_in_a_copy(tmp_path: Path) -> None:
    path = hot_journal(tmp_path)
    before = files_of(tmp_path)
    assert b"torn" in before["a.db"] or len(before["a.db"]) > 8192
    found = captured(path)
    assert found.values("t") == [["before"]]
    assert "with its -journal" in found.statement
    assert files_of(tmp_path) == before


def test_a_journal_that_names_another_file_is_refused(tmp_path: Path) -> None:
    path = hot_journal(tmp_path)
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    name = os.fsencode(victim)
    end = struct.pack(">II", len(name), sum(name)) + bytes.fromhex("d9d505f920a163d7")
    journal = path.with_name("a.db-journal")
    journal.write_bytes(journal.read_bytes() + struct.pack(">I", 0) + name + end)
    before = files_of(tmp_path)
    with pytest.raises(InvalidError) as caught:
        captured(path)
    assert caught.value.kind == "super_journal"
    assert files_of(tmp_path) == before


@pytest.mark.parametrize("content", [b"", b"\0" * 512])
def test_a_journal_that_is_over_is_ignored(tmp_path: Path, content: bytes) -> None:
    path = make_database(tmp_path / "a.db", "CREATE TABLE t (a)")
    path.with_name("a.db-journal").write_bytes(content)
    path.with_name("a.db-wal").write_bytes(b"")
    found = captured(path)
    assert found.statement.startswith("SQLite file: UTF-8")


def test_a_writer_meanwhile_is_noticed(tmp_path: Path) -> None:
    path = make_database(tmp_path / "a.db", "CREATE TABLE t (a)")
    with (
        pytest.raises(ConflictError) as caught,
        open_sqlite(path, SqliteLimits()) as database,
    ):
        make_database(path, "INSERT INTO t VALUES (1)")
        # What damage the writer does to the reader doesn't matter.
        raise InvalidError(f"read {database.digest}")
    assert caught.value.kind == "changed_while_read"


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"text", "not_a_database"),
        (b"SQLite format 3\0" + b"\xff" * 500, "not_a_database"),
        (os.urandom(4096), "not_a_database"),
    ],
)
def test_not_a_database(tmp_path: Path, content: bytes, kind: str) -> None:
    path = tmp_path / "a.db"
    path.write_bytes(content)
    with pytest.raises(InvalidError) as caught:
        captured(path)
    assert caught.value.kind == kind


def test_an_empty_file_is_an_empty_database(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    path.write_bytes(b"")
    found = captured(path)
    assert found.snapshot.content.tables == []
    assert found.snapshot.schema() == []
    assert list(check_database(found.objects, found.content)) == []


def test_what_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(InvalidError) as caught:
        captured(tmp_path / "absent")
    assert caught.value.kind == "no_such_file"
    with pytest.raises(InvalidError) as caught:
        captured(tmp_path)
    assert caught.value.kind == "not_a_file"
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InvalidError) as caught:
        captured(tmp_path / "pipe")
    assert caught.value.kind == "not_a_file"


def test_names_that_a_uri_would_misread(tmp_path: Path) -> None:
    for name in ("a?mode=rwc#b%20.db", "a b.db", "ü.db", os.fsdecode(b"\xff.db")):
        path = tmp_path / name
        make_database(tmp_path / "plain.db", "CREATE TABLE IF NOT EXISTS t (a)")
        (tmp_path / "plain.db").rename(path)
        found = captured(path)
        assert [table.name for table in found.snapshot.content.tables] == ["t"]
        assert "\udcff" not in found.descriptor.origin.label


def many_pages(path: Path) -> bytes:
    make_database(
        path,
        "PRAGMA page_size = 512",
        "CREATE TABLE good (a)",
        "INSERT INTO good VALUES ('fine')",
        "CREATE TABLE bad (a)",
        *[("INSERT INTO bad VALUES (?)", (f"row {n} " + "x" * 100,)) for n in range(300)],
    )
    return path.read_bytes()


def test_damaged_pages_are_recorded_with_the_rows_before(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    raw = many_pages(path)
    place = raw.index(b"row 150 ") // 512 * 512
    path.write_bytes(raw[:place] + b"\xff" * 512 + raw[place + 512 :])
    found = captured(path)
    assert found.values("good") == [["fine"]]
    bad = found.table("bad")
    assert bad.unread == "malformed"
    assert 100 < bad.rows < 150
    assert found.rowids("bad") == list(range(1, bad.rows + 1))
    assert found.descriptor.coverage.kind == "partial"
    note = f"rows after the {bad.rows} captured ones are missing"
    assert f'table "bad": its pages are damaged or its rows are out of order; {note}' in (
        found.statement
    )
    assert list(check_database(found.objects, found.content)) == []


def test_rows_out_of_order_are_damage(tmp_path: Path) -> None:
    path = make_database(
        tmp_path / "a.db",
        "CREATE TABLE t (a)",
        *[("INSERT INTO t VALUES (?)", (f"row{n}",)) for n in range(1, 5)],
    )
    raw = path.read_bytes()
    # Record of row 2: payload size, rowid, header, text. Give it rowid 9.
    place = raw.index(b"row2") - 4 + 1
    assert raw[place] == 2
    path.write_bytes(raw[:place] + b"\x09" + raw[place + 1 :])
    found = captured(path)
    assert (found.rowids("t"), found.table("t").unread) == ([1, 9], "malformed")


def test_a_truncated_file(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    raw = many_pages(path)
    path.write_bytes(raw[: len(raw) // 2])
    try:
        found = captured(path)
    except InvalidError as error:
        assert error.kind == "malformed_schema"  # noqa: PT017
    else:
        assert found.descriptor.coverage.kind == "partial"


@pytest.mark.parametrize("seed", range(40))
def test_flipped_bytes_never_escape_as_another_error(tmp_path: Path, seed: int) -> None:
    import random

    path = tmp_path / "a.db"
    raw = bytearray(many_pages(path))
    chance = random.Random(seed)
    for _ in range(chance.randrange(1, 30)):
        raw[chance.randrange(16, len(raw) if seed % 2 else 2048)] = chance.randrange(256)
    path.write_bytes(raw)
    try:
        found = captured(path, limits=SqliteLimits(max_rows=10_000, max_steps=50))
    except VStoreError:
        return
    assert list(check_database(found.objects, found.content)) == []


def test_endless_work_between_rows_is_stopped(tmp_path: Path) -> None:
    """A full-text index over a view that never ends."""
    path = make_database(
        tmp_path / "a.db",
        "CREATE TABLE n (a)",
        *[("INSERT INTO n VALUES (?)", (number,)) for number in range(100)],
        "CREATE VIEW endless AS SELECT 1 AS rowid, '' AS body FROM n AS a, n AS b, n AS c, n AS d,"
        " n AS e, n AS f WHERE a.a + b.a + c.a + d.a + e.a + f.a < 0",
        "CREATE VIRTUAL TABLE docs USING fts5(body, content='endless')",
    )
    with pytest.raises(LimitExceeded) as caught:
        captured(path, limits=SqliteLimits(max_steps=3))
    assert caught.value.details["limit"] == "max_steps"


def test_a_file_that_goes_away_meanwhile(tmp_path: Path) -> None:
    path = make_database(tmp_path / "a.db", "CREATE TABLE t (a)")
    with pytest.raises(ConflictError) as caught, open_sqlite(path, SqliteLimits()):
        path.unlink()
    assert caught.value.kind == "changed_while_read"


@pytest.mark.parametrize("suffix", ["", "-wal", "-journal"])
def test_the_system_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str) -> None:
    path = make_database(tmp_path / "a.db", "CREATE TABLE t (a)")
    if suffix:
        path.with_name(f"a.db{suffix}").write_bytes(b"x" * 100)
    look, read = Path.lstat, Path.open

    def refuse_look(one: Path) -> os.stat_result:
        if one.name == f"a.db{suffix}":
            raise PermissionError(13, "Permission denied")
        return look(one)

    def refuse_read(one: Path, *args: Any, **options: Any) -> Any:
        if one.name == f"a.db{suffix}":
            raise OSError(5, "Input/output error")
        return read(one, *args, **options)

    # Root reads whatever its mode says, so the refusals are played.
    for name, refuse in (("lstat", refuse_look), ("open", refuse_read)):
        with monkeypatch.context() as patch:
            patch.setattr(Path, name, refuse)
            with pytest.raises(StorageError) as caught:
                captured(path)
            assert caught.value.kind == "unreadable_file"


def test_a_schema_table_that_is_damaged(tmp_path: Path) -> None:
    path = make_database(tmp_path / "a.db", "CREATE TABLE t (a)")
    raw = bytearray(path.read_bytes())
    raw[100] = 0x77
    path.write_bytes(raw)
    with pytest.raises(InvalidError) as caught:
        captured(path)
    assert caught.value.kind == "malformed_schema"


def test_an_unreadable_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = make_database(tmp_path / "a.db", "CREATE TABLE t (a)")

    def refuse(*args: object, **options: object) -> object:
        raise PermissionError(13, "Permission denied")

    # Root reads whatever its mode says, so the refusal is played.
    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(StorageError) as caught:
        captured(path)
    assert caught.value.kind == "unreadable_file"
    assert "Permission denied" in caught.value.message
