"""Capturing JSON lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from vstore.errors import ConflictError, InvalidError, LimitExceeded, StorageError
from vstore.objects.memory import MemoryObjects
from vstore.testing.database_samples import CapturedDatabase
from vstore.tools import capture_jsonl as module
from vstore.tools.capture_jsonl import capture_jsonl
from vstore.tools.snapshot_check import check_database
from vstore.tools.sqlite_open import SqliteLimits
from vstore.tools.values import BigInteger, LargeText, Real


def capture(path: Path, **options: object) -> CapturedDatabase:
    objects = MemoryObjects()
    return CapturedDatabase(objects, capture_jsonl(path, objects, name="dump", **options))  # type: ignore[arg-type]


def test_types_and_columns(tmp_path: Path) -> None:
    path = tmp_path / "dump.jsonl"
    path.write_text(
        '{"a": 1, "b": "é", "c": 1.5}\n'
        '{"d": true, "a": null, "e": [1, {"x": 2.0}]}\n'
        '{"a": 9223372036854775807, "b": "\\ud83d\\ude00", "d": false}',
        encoding="utf-8",
    )
    found = capture(path, statement="all of it")
    table = found.table("lines")
    assert table.columns == ["a", "b", "c", "d", "e"]
    assert found.rowids("lines") == [1, 2, 3]
    assert found.values("lines") == [
        [1, "é", Real("1.5"), None, None],
        [None, None, None, 1, '[1,{"x":2.0}]'],
        [BigInteger("9223372036854775807"), "\U0001f600", None, 0, None],
    ]
    assert found.descriptor.origin.kind == "jsonl"
    assert found.descriptor.origin.label == "dump.jsonl"
    assert found.descriptor.coverage.kind == "complete"
    assert found.statement.startswith("all of it\nJSON lines:")
    assert list(check_database(found.objects, found.content)) == []
    assert [entry.name for entry in found.snapshot.schema()] == ["lines"]


def test_large_text_and_partial(tmp_path: Path) -> None:
    path = tmp_path / "dump.jsonl"
    path.write_text('{"a": "' + "x" * 5000 + '"}\n')
    found = capture(path, partial=True, label="export of May")
    (value,) = found.values("lines")[0]
    assert isinstance(value, LargeText)
    assert found.objects.get(value.object) == b"x" * 5000
    assert found.descriptor.coverage.kind == "partial"
    assert found.descriptor.origin.label == "export of May"


def test_an_empty_file_is_a_table_without_columns(tmp_path: Path) -> None:
    path = tmp_path / "dump.jsonl"
    path.write_bytes(b"")
    found = capture(path)
    assert found.table("lines").rows == 0
    assert list(check_database(found.objects, found.content)) == []


def test_columns_may_take_the_names_of_the_rowid(tmp_path: Path) -> None:
    path = tmp_path / "dump.jsonl"
    path.write_text('{"rowid": 5, "_rowid_": 6, "OID": 7}\n')
    found = capture(path)
    assert found.table("lines").order == "scan"
    assert found.rowids("lines") == [None]
    assert list(check_database(found.objects, found.content)) == []


@pytest.mark.parametrize(
    "line",
    [
        b"[1]",
        b"1",
        b"",
        b"{",
        b'{"a": 1, "a": 2}',
        b'{"a": NaN}',
        b'{"a": 1e999}',
        b'{"a": 9223372036854775808}',
        b'{"a": "\\ud800"}',
        b'{"\\udc00": 1}',
        b'\xef\xbb\xbf{"a": 1}',
        b'{"a": "\xff"}',
        b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"a": ' + b"9" * 5000 + b"}",
    ],
)
def test_refused_lines_are_named(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "dump.jsonl"
    path.write_bytes(b'{"a": 1}\n' + line + b"\n")
    with pytest.raises(InvalidError) as caught:
        capture(path)
    assert caught.value.kind == "invalid_line"
    assert caught.value.details["line"] == 2


@pytest.mark.parametrize(
    ("limits", "limit"),
    [
        (SqliteLimits(max_row_bytes=20), "max_row_bytes"),
        (SqliteLimits(max_database_bytes=30), "max_database_bytes"),
        (SqliteLimits(max_rows=1), "max_rows"),
    ],
)
def test_limits(tmp_path: Path, limits: SqliteLimits, limit: str) -> None:
    path = tmp_path / "dump.jsonl"
    path.write_text('{"a": [{"b": "\\""}], "c": 1}\n' * 2)
    with pytest.raises(LimitExceeded) as caught:
        capture(path, limits=limits)
    assert caught.value.details["limit"] == limit


def test_a_row_may_be_larger_than_its_line(tmp_path: Path) -> None:
    path = tmp_path / "dump.jsonl"
    path.write_text('{"a":1.5}\n')
    with pytest.raises(LimitExceeded) as caught:
        capture(path, limits=SqliteLimits(max_row_bytes=12))
    assert caught.value.details["asked"] == len('[1,[{"type":"real","value":"1.5"}]]')


def test_too_many_columns(tmp_path: Path) -> None:
    path = tmp_path / "dump.jsonl"
    path.write_text("{" + ",".join(f'"c{n}":1' for n in range(2001)) + "}\n")
    with pytest.raises(LimitExceeded) as caught:
        capture(path)
    assert caught.value.details["limit"] == "max_columns"


def test_a_file_that_changes_between_the_readings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "dump.jsonl"
    path.write_text('{"a": 1}\n')
    schema = module._schema

    def write_then_describe(names: list[str]) -> object:
        path.write_text('{"a": 2}\n')
        return schema(names)

    monkeypatch.setattr(module, "_schema", write_then_describe)
    with pytest.raises(ConflictError) as caught:
        capture(path)
    assert caught.value.kind == "changed_while_read"


def test_an_absent_file(tmp_path: Path) -> None:
    with pytest.raises(StorageError):
        capture(tmp_path / "absent")
