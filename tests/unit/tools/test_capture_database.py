"""Capturing SQLite databases: what comes out is what SQLite holds."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import tracemalloc
from contextlib import closing
from pathlib import Path

import pytest

from vstore.errors import LimitExceeded, UnsupportedError
from vstore.objects.canonical import encode
from vstore.objects.document import Document
from vstore.objects.ids import ObjectId, digest_of, object_id
from vstore.objects.memory import MemoryObjects
from vstore.objects.text import RawText
from vstore.testing.database_samples import CapturedDatabase, captured, make_database
from vstore.tools import sqlite_open
from vstore.tools.capture_database import capture_sqlite, join_statement
from vstore.tools.database_content import DatabaseRowChunk
from vstore.tools.snapshot_check import check_database
from vstore.tools.sqlite_open import SqliteLimits
from vstore.tools.values import (
    BigInteger,
    Blob,
    LargeBlob,
    LargeText,
    RawTextValue,
    Real,
)


def capture(path: Path) -> CapturedDatabase:
    """Capture, and check that the result is canonical by the verifier's rules."""
    found = captured(path)
    assert list(check_database(found.objects, found.content)) == []
    return found


def complete(path: Path) -> CapturedDatabase:
    found = capture(path)
    assert found.descriptor.coverage.kind == "complete", found.statement
    return found


def test_values_are_lossless(tmp_path: Path) -> None:
    values = [
        (1, None),
        (2, 0),
        (3, -(2**63)),
        (4, 2**63 - 1),
        (5, 2**53),
        (6, 0.1),
        (7, float("inf")),
        (8, float("-inf")),
        (9, -0.0),
        (10, 1e16),
        (11, ""),
        (12, "a\0b"),
        (13, "é\U0001f600"),
        (14, b""),
        (15, b"\0\xff"),
        (16, "x" * 4096),
        (17, "x" * 4097),
        (18, b"y" * 4097),
    ]
    path = make_database(
        tmp_path / "a.db",
        "CREATE TABLE t (n, v)",
        *[("INSERT INTO t VALUES (?, ?)", row) for row in values],
        "INSERT INTO t VALUES (19, CAST(x'61ff00' AS TEXT))",
        "INSERT INTO t VALUES (20, 9e999 - 9e999)",
    )
    found = complete(path)
    cells = {row[0]: row[1] for row in found.values("t")}
    large_text, large_blob = cells.pop(17), cells.pop(18)
    assert cells == {
        1: None,
        2: 0,
        3: BigInteger("-9223372036854775808"),
        4: BigInteger("9223372036854775807"),
        5: BigInteger("9007199254740992"),
        6: Real("0.1"),
        7: Real("inf"),
        8: Real("-inf"),
        9: Real("-0.0"),
        10: Real("1e+16"),
        11: "",
        12: "a\0b",
        13: "é\U0001f600",
        14: Blob(""),
        15: Blob("00ff"),
        16: "x" * 4096,
        19: RawTextValue("61ff00"),
        20: None,
    }
    assert isinstance(large_text, LargeText)
    assert found.objects.get(large_text.object) == b"x" * 4097
    assert isinstance(large_blob, LargeBlob)
    assert found.objects.get(large_blob.object) == b"y" * 4097


def test_rowids_and_their_order_are_kept(tmp_path: Path) -> None:
    path = make_database(
        tmp_path / "a.db",
        "CREATE TABLE t (v)",
        "CREATE INDEX covers ON t (v)",
        *[
            ("INSERT INTO t (rowid, v) VALUES (?, ?)", (rowid, -rowid))
            for rowid in (5, 40, -3, 2**62, 7)
        ],
        "DELETE FROM t WHERE rowid = 7",
    )
    found = complete(path)
    assert found.rowids("t") == [-3, 5, 40, BigInteger(str(2**62))]


def test_an_integer_primary_key_is_the_rowid(tmp_path: Path) -> None:
    path = make_database(
        tmp_path / "a.db",
        "CREATE TABLE t (rowid TEXT, oid TEXT, _rowid_ InTeGeR PRIMARY KEY)",
        "INSERT INTO t VALUES ('a', 'b', 9), ('c', 'd', 3)",
        "CREATE TABLE d (id INTEGER PRIMARY KEY DESC, v)",
        "INSERT INTO d VALUES (9, 'a'), (3, 'b')",
    )
    found = complete(path)
    assert found.rowids("t") == [3, 9]
    assert found.values("t") == [["c", "d", 3], ["a", "b", 9]]
    # DESC makes it an ordinary column with an index, a quirk that SQLite keeps.
    assert found.rowids("d") == [1, 2]


def test_columns_that_hide_names_of_the_rowid(tmp_path: Path) -> None:
    path = make_database(
        tmp_path / "a.db",
        "CREATE TABLE two (RowId, _ROWID_)",
        "INSERT INTO two (oid, rowid, _rowid_) VALUES (7, 'a', 'b')",
        "CREATE TABLE three (rowid, _rowid_, oid)",
        "CREATE INDEX covers ON three (oid, rowid, _rowid_)",
        "INSERT INTO three VALUES (3, 3, 3), (1, 1, 1), (2, 2, 2)",
    )
    found = capture(path)
    assert found.rowids("two") == [7]
    assert found.table("three").order == "scan"
    assert found.values("three") == [[3, 3, 3], [1, 1, 1], [2, 2, 2]]
    assert found.rowids("three") == [None, None, None]
    assert found.descriptor.coverage.kind == "partial"
    assert 'table "three": its rowids can\'t be read' in found.statement


@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16le", "UTF-16be"])
def test_without_rowid_in_key_order_whatever_sorts_it(tmp_path: Path, encoding: str) -> None:
    keys = ["b", "B", "a", "\ufffd", "\U00010000", "é", "Z"]
    path = make_database(
        tmp_path / "a.db",
        f"PRAGMA encoding = '{encoding}'",
        "CREATE TABLE plain (v, k TEXT, n, PRIMARY KEY (k, n)) WITHOUT ROWID",
        "CREATE TABLE folded (k COLLATE NOCASE, n, PRIMARY KEY (k, n)) WITHOUT ROWID",
        "CREATE TABLE falling (k, n, PRIMARY KEY (k DESC, n)) WITHOUT ROWID",
        *[
            (f"INSERT INTO {table} (k, n) VALUES (?, ?)", (key, number))
            for table in ("plain", "folded", "falling")
            for number, key in enumerate(keys)
        ],
        "INSERT INTO falling VALUES (1, 0), (1.5, 0), (x'00', 0)",
    )
    found = complete(path)
    wanted = sorted(keys, key=str.encode)
    assert [row[1] for row in found.values("plain")] == wanted
    assert [row[0] for row in found.values("folded")] == wanted
    assert [row[0] for row in found.values("falling")] == [1, Real("1.5"), *wanted, Blob("00")]
    assert found.rowids("plain") == [None] * len(keys)
    assert (found.table("plain").order, found.table("plain").key) == ("key", [1, 2])
    assert f"SQLite file: {encoding}," in found.statement


def test_fts5_virtual_and_shadow_tables(tmp_path: Path) -> None:
    path = make_database(
        tmp_path / "a.db",
        "CREATE VIRTUAL TABLE docs USING fts5(title, body)",
        "INSERT INTO docs (rowid, title, body) VALUES (7, 'one', 'text'), (3, 'two', 'other')",
    )
    found = complete(path)
    types = {entry.name: entry.type for entry in found.snapshot.schema()}
    assert types == {
        "docs": "virtual",
        "docs_config": "shadow",
        "docs_content": "shadow",
        "docs_data": "shadow",
        "docs_docsize": "shadow",
        "docs_idx": "shadow",
    }
    assert found.rowids("docs") == [3, 7]
    assert found.values("docs") == [["two", "other"], ["one", "text"]]
    assert found.values("docs_content") == [[3, "two", "other"], [7, "one", "text"]]
    (schema,) = [entry for entry in found.snapshot.schema() if entry.name == "docs"]
    assert [column.generated for column in schema.columns] == ["no", "no", "hidden", "hidden"]
    with closing(sqlite3.connect(path)) as connection:
        blocks = connection.execute("SELECT id, block FROM docs_data ORDER BY id").fetchall()
    assert found.values("docs_data") == [
        [number if number < 2**53 else BigInteger(str(number)), Blob(block.hex())]
        for number, block in blocks
    ]


def test_rtree_and_fts4(tmp_path: Path) -> None:
    path = make_database(
        tmp_path / "a.db",
        "CREATE VIRTUAL TABLE boxes USING rtree(id, low, high)",
        "INSERT INTO boxes VALUES (9, 1, 2), (4, 3, 5)",
        "CREATE VIRTUAL TABLE notes USING fts4(body)",
        "INSERT INTO notes (docid, body) VALUES (5, 'b'), (2, 'a')",
    )
    found = complete(path)
    assert found.rowids("boxes") == [4, 9]
    assert found.values("boxes") == [[4, Real("3.0"), Real("5.0")], [9, Real("1.0"), Real("2.0")]]
    assert found.rowids("notes") == [2, 5]


def test_generated_columns(tmp_path: Path) -> None:
    path = make_database(
        tmp_path / "a.db",
        "CREATE TABLE t (a, s AS (a + 1) STORED, v AS (upper(a)) VIRTUAL)",
        "INSERT INTO t (a) VALUES (1), ('x')",
    )
    found = complete(path)
    assert found.values("t") == [[1, 2, "1"], ["x", 1, "X"]]
    (schema,) = found.snapshot.schema()
    assert [column.generated for column in schema.columns] == ["no", "stored", "virtual"]


def test_a_virtual_column_that_fails_takes_only_itself_away(tmp_path: Path) -> None:
    path = make_database(
        tmp_path / "a.db",
        "CREATE TABLE t (a, s AS (length(a)) STORED, b)",
        "INSERT INTO t (a, b) VALUES (1, 1), (-9223372036854775808, 2)",
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_master SET sql ="
        " 'CREATE TABLE t (a, s AS (length(a)) STORED, v AS (abs(a)), b)'",
    )
    found = captured(path, limits=SqliteLimits(max_rows=2))
    assert list(check_database(found.objects, found.content)) == []
    assert found.table("t").columns == ["a", "s", "b"]
    assert found.values("t") == [[1, 1, 1], [BigInteger("-9223372036854775808"), 20, 2]]
    assert found.rowids("t") == [1, 2]
    assert found.descriptor.coverage.kind == "partial"
    assert "virtual generated columns can't be computed" in found.statement


def test_a_virtual_column_that_is_too_large(tmp_path: Path) -> None:
    path = make_database(
        tmp_path / "a.db",
        "CREATE TABLE t (a)",
        "INSERT INTO t (a) VALUES (900000000)",
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_master SET sql = 'CREATE TABLE t (a, v AS (zeroblob(a)))'",
    )
    found = capture(path)
    assert found.values("t") == [[900_000_000]]


def test_entries_that_sqlite_cant_parse_are_recorded(tmp_path: Path) -> None:
    path = make_database(
        tmp_path / "a.db",
        "CREATE TABLE good (a)",
        "INSERT INTO good VALUES (1)",
        "CREATE TABLE bad (a)",
        "CREATE VIEW bad_view AS SELECT 1",
        "CREATE VIRTUAL TABLE bad_virtual USING fts5(a)",
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_master SET sql = replace(sql, ' bad', ' 1bad')",
    )
    found = capture(path)
    assert found.values("good") == [[1]]
    types = {entry.name: entry.type for entry in found.snapshot.schema()}
    assert types["bad"] == "table"
    assert types["bad_view"] == "view"
    assert types["bad_virtual"] == "virtual"
    assert found.table("bad").unread == "unreadable"
    assert found.table("bad_virtual").unread == "unreadable"
    assert found.descriptor.coverage.kind == "partial"
    assert 'table "bad": SQLite can\'t read it here' in found.statement
    assert 'view "bad_view": SQLite can\'t tell its columns' in found.statement


def test_odd_rows_of_the_schema_table_are_counted(tmp_path: Path) -> None:
    path = make_database(
        tmp_path / "a.db",
        "CREATE TABLE t (a)",
        "INSERT INTO t VALUES (1)",
        "PRAGMA writable_schema = ON",
        "INSERT INTO sqlite_master VALUES ('table', x'05', x'05', 2, 'CREATE TABLE u (a)')",
        "INSERT INTO sqlite_master VALUES ('other', 'u', 'u', 0, NULL)",
        "INSERT INTO sqlite_master SELECT * FROM sqlite_master WHERE name = 't'",
    )
    found = capture(path)
    assert found.values("t") == [[1]]
    assert found.descriptor.coverage.kind == "partial"
    assert "3 rows of sqlite_master describe no table, view or trigger" in found.statement


def test_an_absent_module(tmp_path: Path) -> None:
    path = make_database(
        tmp_path / "a.db", "CREATE VIRTUAL TABLE EXAMPLE1 USING fts5(a)", "CREATE TABLE t (a)"
    )
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("UPDATE sqlite_master SET sql = replace(sql, 'fts5', 'absent')")
    found = capture(path)
    assert found.table("EXAMPLE1").unread == "unreadable"
    assert found.table("t").unread is None


@pytest.mark.parametrize("encoding", ["UTF-16le", "UTF-16be"])
def test_utf16_text_that_sqlites_conversion_would_change(tmp_path: Path, encoding: str) -> None:
    codec = encoding.lower()
    texts = {1: "a\ufffeb\uffff", 2: "\ud800", 3: "x\udc00\ud800y", 4: "", 5: "a\0é\U0001f600"}
    path = make_database(
        tmp_path / "a.db",
        f"PRAGMA encoding = '{encoding}'",
        "CREATE TABLE t (n, v)",
        *[
            ("INSERT INTO t VALUES (?, ?)", (n, text.encode(codec, "surrogatepass")))
            for n, text in texts.items()
        ],
        # Only a value read from a row is taken in the database's encoding, byte for byte.
        "UPDATE t SET v = CAST(v AS TEXT)",
        "INSERT INTO t VALUES (6, x'0061'), (7, 1.5), (8, NULL)",
    )
    found = complete(path)
    assert found.values("t") == [
        [1, "a\ufffeb\uffff"],
        [2, RawTextValue("eda080")],
        [3, RawTextValue("78edb080eda08079")],
        [4, ""],
        [5, "a\0é\U0001f600"],
        [6, Blob("0061")],
        [7, Real("1.5")],
        [8, None],
    ]


def test_quoted_odd_and_empty_names(tmp_path: Path) -> None:
    names = ["", " ", 'a"b', "a]b", "select", "ü/~\n", "x'y", "PRAGMA", "[a]", "a`b", "日本"]
    quoted = ['"' + name.replace('"', '""') + '"' for name in names]
    path = make_database(
        tmp_path / "a.db",
        *[f"CREATE TABLE {name} ({', '.join(quoted)})" for name in quoted],
        *[(f"INSERT INTO {name} ({name}) VALUES (?)", (name,)) for name in quoted],
    )
    found = complete(path)
    assert [table.name for table in found.snapshot.content.tables] == sorted(names)
    for place, name in enumerate(names):
        assert found.table(name).columns == names
        (row,) = found.values(name)
        assert row[place] == quoted[place]
        assert sum(cell is not None for cell in row) == 1


def garble(path: Path, old: bytes, new: bytes) -> None:
    """Replace bytes in the schema's text, as a damaged or foreign writer would leave it."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA writable_schema = ON")
        for column in ("sql", "name", "tbl_name"):
            connection.execute(
                f"UPDATE sqlite_master SET {column} = CAST(replace(CAST({column} AS BLOB), ?, ?)"
                " AS TEXT)",
                (old, new),
            )


def test_names_that_are_not_utf8(tmp_path: Path) -> None:
    path = make_database(
        tmp_path / "a.db",
        "CREATE TABLE t (a, COLUMN1, b DEFAULT 'DEFAULT1')",
        "CREATE TABLE TABLE1 (a)",
        "CREATE TRIGGER TRIGGER1 AFTER INSERT ON t BEGIN SELECT 'TEXT1'; END",
        "INSERT INTO t VALUES (1, 2, 3)",
        "INSERT INTO TABLE1 VALUES (1)",
    )
    garble(path, b"COLUMN1", b"c\xff")
    garble(path, b"DEFAULT1", b"d\xff")
    garble(path, b"TABLE1", b"t\xfe")
    garble(path, b"TRIGGER1", b"r\xfd")
    garble(path, b"TEXT1", b"s\xfc")
    found = capture(path)
    assert found.table("t").columns == ["a", RawText("63ff"), "b"]
    assert found.values("t") == [[1, 2, 3]]
    names = {entry.name for entry in found.snapshot.schema()}
    assert names == {"t", RawText("74fe"), RawText("72fd")}
    (table,) = [one for one in found.snapshot.content.tables if one.name != "t"]
    assert (table.unread, table.rows) == ("unreadable", 0)
    assert found.descriptor.coverage.kind == "partial"
    assert "table x'74fe': SQLite can't read it" in found.statement


def test_schema_descriptors(tmp_path: Path) -> None:
    path = make_database(
        tmp_path / "a.db",
        "CREATE TABLE author (id INTEGER PRIMARY KEY, name TEXT NOT NULL DEFAULT 'x' UNIQUE)",
        "CREATE TABLE book (a REFERENCES author ON DELETE CASCADE, b, c, n INT,"
        " FOREIGN KEY (b, c) REFERENCES pair (x, y) ON UPDATE SET NULL)",
        "CREATE UNIQUE INDEX i2 ON book (b, lower(c) DESC) WHERE b > 1",
        "CREATE INDEX i1 ON book (a COLLATE NOCASE)",
        "CREATE VIEW titles AS SELECT n, n + 1 AS next FROM book",
        "CREATE VIEW broken AS SELECT * FROM absent",
        "CREATE TRIGGER after_book AFTER INSERT ON book BEGIN SELECT 1; END",
        "CREATE TABLE strict_one (a INT) STRICT",
    )
    found = captured(path)
    assert found.descriptor.coverage.kind == "complete"
    assert 'view "broken": SQLite can\'t tell its columns' in found.statement
    entries = {entry.name: entry for entry in found.snapshot.schema()}
    assert list(entries) == sorted(entries)
    author = entries["author"]
    assert author.type == "table"
    id_column, name_column = author.columns
    assert (id_column.declared_type, id_column.primary_key) == ("INTEGER", 1)
    assert (name_column.not_null, name_column.default) == (True, "'x'")
    assert [(one.name, one.unique, one.origin, one.sql) for one in author.indices] == [
        ("sqlite_autoindex_author_1", True, "u", None)
    ]
    book = entries["book"]
    assert [index.name for index in book.indices] == ["i1", "i2"]
    assert book.indices[1].columns == ["b", None]
    assert (book.indices[1].unique, book.indices[1].partial) == (True, True)
    assert book.indices[1].sql == "CREATE UNIQUE INDEX i2 ON book (b, lower(c) DESC) WHERE b > 1"
    assert [(one.table, one.columns, one.references) for one in book.foreign_keys] == [
        ("pair", ["b", "c"], ["x", "y"]),
        ("author", ["a"], [None]),
    ]
    assert book.foreign_keys[0].on_update == "SET NULL"
    assert book.foreign_keys[1].on_delete == "CASCADE"
    view = entries["titles"]
    assert view.type == "view"
    assert [(column.name, column.declared_type) for column in view.columns] == [
        ("n", ""),
        ("next", ""),
    ]
    assert entries["broken"].columns == []
    trigger = entries["after_book"]
    assert (trigger.type, trigger.table) == ("trigger", "book")
    assert trigger.sql == "CREATE TRIGGER after_book AFTER INSERT ON book BEGIN SELECT 1; END"
    assert entries["strict_one"].strict
    assert {table.name for table in found.snapshot.content.tables} == {
        "author",
        "book",
        "strict_one",
    }


def test_a_view_and_a_trigger_are_told_from_an_index_of_a_table(tmp_path: Path) -> None:
    path = make_database(
        tmp_path / "a.db",
        "CREATE TABLE t (a)",
        "CREATE TRIGGER t AFTER INSERT ON t BEGIN SELECT 1; END",
    )
    found = complete(path)
    assert [(entry.name, entry.type) for entry in found.snapshot.schema()] == [
        ("t", "table"),
        ("t", "trigger"),
    ]


def test_equal_content_in_another_layout_has_the_same_id(tmp_path: Path) -> None:
    rows = [("INSERT INTO t VALUES (?, ?)", (n, f"text {n}" * 20)) for n in range(2_000)]
    schema = "CREATE TABLE t (id INTEGER PRIMARY KEY, v)"
    one = make_database(tmp_path / "one.db", "PRAGMA page_size = 512", schema, *rows)
    other = make_database(
        tmp_path / "other.db",
        "PRAGMA page_size = 65536",
        "PRAGMA auto_vacuum = FULL",
        schema,
        *reversed(rows),
        "CREATE TABLE temporary (a)",
        "DROP TABLE temporary",
    )
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
    assert one.read_bytes() != other.read_bytes()
    first, second = complete(one), complete(other)
    assert first.content == second.content
    changed = make_database(one, "UPDATE t SET v = 'other' WHERE id = 1000")
    third = complete(changed)
    assert third.content != first.content
    old = {chunk.object for chunk in first.table("t").chunks}
    new = {chunk.object for chunk in third.table("t").chunks}
    assert len(old) > 3
    assert len(new - old) <= 2


def test_internal_tables_have_rows_too(tmp_path: Path) -> None:
    path = make_database(
        tmp_path / "a.db",
        "CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT)",
        "INSERT INTO t VALUES (41)",
    )
    assert complete(path).values("sqlite_sequence") == [["t", 41]]


def test_descriptor(tmp_path: Path) -> None:
    path = make_database(tmp_path / "a.db", "CREATE TABLE t (a)", "PRAGMA user_version = 12")
    objects = MemoryObjects()
    found = capture_sqlite(
        path, objects, name="shop", label="backup of May", statement="The shop's.", partial=True
    )
    assert (found.name, found.kind) == ("shop", "database")
    assert (found.origin.kind, found.origin.label) == ("sqlite", "backup of May")
    assert found.origin.digest == digest_of(path.read_bytes())
    assert found.coverage.kind == "partial"
    assert found.coverage.statement == (
        "The shop's.\nSQLite file: UTF-8, user_version 12, application_id 0"
    )
    plain = capture_sqlite(path, objects, name="shop")
    assert plain.origin.label == "a.db"
    assert plain.coverage.kind == "complete"
    assert plain.content == found.content


def test_a_long_statement_says_how_much_it_leaves_out() -> None:
    notes = [f"note {number} " + "x" * 990 for number in range(100)]
    text = join_statement("s" * 30_000, "facts", notes)
    assert len(text) <= 20_000
    left_out = 100 - text.count("note ")
    assert text.endswith(f"\nand {left_out} more")


def test_an_old_sqlite_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_open, "MIN_SQLITE", (99, 0, 0))
    with pytest.raises(UnsupportedError):
        captured(make_database(tmp_path / "a.db", "CREATE TABLE t (a)"))


@pytest.mark.parametrize(
    ("limits", "limit"),
    [
        (SqliteLimits(max_rows=9), "max_rows"),
        (SqliteLimits(max_row_bytes=100), "max_row_bytes"),
        (SqliteLimits(max_cell_bytes=2_000), "max_cell_bytes"),
        (SqliteLimits(max_schema_entries=1), "max_schema_entries"),
        (SqliteLimits(max_schema_bytes=40), "max_schema_bytes"),
        (SqliteLimits(max_database_bytes=4_096), "max_database_bytes"),
    ],
)
def test_limits(tmp_path: Path, limits: SqliteLimits, limit: str) -> None:
    path = make_database(
        tmp_path / "a.db",
        "CREATE TABLE t (a)",
        "CREATE INDEX i ON t (a)",
        *[("INSERT INTO t VALUES (?)", ("x" * 2_500,)) for _ in range(10)],
    )
    with pytest.raises(LimitExceeded) as caught:
        captured(path, limits=limits)
    assert caught.value.details["limit"] == limit


class CountingSink(MemoryObjects):
    """Keeps no rows, so that memory shows what capture itself needs."""

    def put_document(self, document: Document) -> ObjectId:
        if isinstance(document, DatabaseRowChunk):
            return object_id(encode(document))
        return super().put_document(document)


def peak_of(path: Path) -> int:
    tracemalloc.start()
    try:
        capture_sqlite(path, CountingSink(), name="db")
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def filled(path: Path, count: int) -> Path:
    return make_database(
        path,
        "CREATE TABLE t (a)",
        f"WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count})"
        " INSERT INTO t SELECT 'text number ' || i FROM n",
    )


def test_memory_does_not_grow_with_rows(tmp_path: Path) -> None:
    # All rows together would take some 40 MB. One chunk at its largest takes two, with its
    # copies; the ids of chunks take 200 bytes for each 48 KiB of rows.
    assert peak_of(filled(tmp_path / "large.db", 150_000)) < 4_000_000


@pytest.mark.deep
def test_memory_does_not_grow_with_millions_of_rows(tmp_path: Path) -> None:
    assert peak_of(filled(tmp_path / "large.db", 3_000_000)) < 5_000_000


def test_another_process_and_hash_seed_give_the_same_id(tmp_path: Path) -> None:
    path = filled(tmp_path / "a.db", 3_000)
    script = (
        "import sys, pathlib; from vstore.testing.database_samples import captured;"
        "print(captured(pathlib.Path(sys.argv[1])).content)"
    )
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", script, str(path)],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
            cwd=Path(__file__).parents[3],
        )
        assert done.stdout.strip() == captured(path).content


def test_the_id_of_a_fixed_database(tmp_path: Path) -> None:
    """The same on every platform, Python and SQLite: tried with SQLite 3.40.1 and 3.51.1."""
    path = make_database(
        tmp_path / "a.db",
        "CREATE TABLE a (id INTEGER PRIMARY KEY AUTOINCREMENT, b TEXT NOT NULL DEFAULT 'x' UNIQUE,"
        " c REAL, d AS (id + 1), e AS (upper(b)) STORED)",
        "INSERT INTO a (b, c) VALUES ('q', 1.5), ('w', -0.0), ('e', 1e300)",
        "CREATE TABLE w (k TEXT COLLATE NOCASE, v, PRIMARY KEY (k DESC)) WITHOUT ROWID",
        "INSERT INTO w VALUES ('b', 1), ('A', 2), ('c', x'00')",
        "CREATE VIEW v AS SELECT b, id + 1 AS n, lower(b), count(*) FROM a GROUP BY b",
        "CREATE VIEW v2 AS SELECT * FROM v",
        "CREATE TRIGGER tr AFTER INSERT ON a BEGIN SELECT 1; END",
        "CREATE INDEX i ON a (b, c DESC) WHERE c > 1",
        "CREATE INDEX j ON a (lower(b))",
        "CREATE TABLE s (a INT, b ANY) STRICT",
        "CREATE TABLE p (x REFERENCES a (id) ON DELETE CASCADE, y, z,"
        " FOREIGN KEY (y, z) REFERENCES q (m, n))",
        ("INSERT INTO s VALUES (9007199254740993, ?)", ("x" * 5_000,)),
    )
    assert complete(path).content == (
        "b3:ae810fb136cde08c23a6ac6b93567e23267cd97e075cb9c0616bbe412236f530"
    )
