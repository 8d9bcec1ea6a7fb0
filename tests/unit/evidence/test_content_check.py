"""A content that would have another normal form is refused."""

import msgspec
import pytest

from vstore.errors import InvalidError
from vstore.evidence.content import normalise
from vstore.evidence.content_check import check_content
from vstore.evidence.documents import (
    EvidenceContent,
    SoughtTest,
    TestFact,
    TestObservation,
    TestScope,
)
from vstore.objects.ids import digest_of, object_id
from vstore.objects.text import RawText
from vstore.testing.evidence_samples import file_item, line, ok_result, row, table
from vstore.tools.items import Column, CutLine, ForeignKey, IndexInfo, SourceFile, TableSchema
from vstore.tools.reply import Truncation
from vstore.tools.request import SourceList, SourceSearch
from vstore.tools.values import Blob, RawTextValue, Real

change = msgspec.structs.replace
LINES = normalise(ok_result([line("a", 1, "x"), line("a", 2, "y"), line("b", 1, "z")]))[0]
FILES = normalise(ok_result([file_item("a"), file_item("b")]))[0]
ROWS = normalise(
    ok_result([row("s", 0, [("n", 1)]), row("t", 0, [("n", 1)]), row("t", 5, [("n", 2)])])
)[0]
TABLES = normalise(ok_result([table("a"), table("b")]))[0]
EMPTY = normalise(ok_result([]))[0]
OBSERVED = EvidenceContent(
    kind="test_observations",
    scope=None,
    coverage=None,
    tested=TestScope(
        executor="human",
        environment=[TestFact(name="os", value="Debian"), TestFact(name="release", value="3.35")],
    ),
    truncated=None,
    sought=None,
    lines=None,
    files=None,
    rows=None,
    tables=None,
    observations=[
        TestObservation(asked="a", observed="x", attachments=[]),
        TestObservation(asked="a", observed="x", attachments=[object_id(b"")]),
        TestObservation(asked="b", observed="", attachments=[]),
    ],
)


UNABLE = change(
    OBSERVED,
    sought=SoughtTest(question="q", steps=["b", "a"], observations=["a", "b"]),
    observations=[],
)


@pytest.mark.parametrize("good", [LINES, FILES, ROWS, TABLES, EMPTY, OBSERVED, UNABLE])
def test_normal_contents_pass(good):
    check_content(good)


def with_line(text):
    group = LINES.lines[1]
    return change(
        LINES,
        lines=[LINES.lines[0], change(group, lines=[change(group.lines[0], text=text)])],
    )


def with_row(**members):
    group = ROWS.rows[0]
    return change(ROWS, rows=[change(group, rows=[change(group.rows[0], **members)])])


def with_location(**members):
    return with_row(location=change(ROWS.rows[0].rows[0].location, **members))


def with_table(**members):
    return change(TABLES, tables=[change(TABLES.tables[0], **members)])


HEAD = "é" * 2048  # 4,096 bytes
NOT_RAW = RawText(b"utf-8".hex())
INDEX = IndexInfo(name="i", unique=False, partial=False, origin="c", columns=["id"], sql=None)
KEY = ForeignKey(
    table="t", columns=["id"], references=[None], on_update="NO ACTION", on_delete="NO ACTION"
)


@pytest.mark.parametrize(
    "good",
    [
        with_line(HEAD),
        with_line(RawText("ff" * 4096)),
        with_line(CutLine(HEAD, 4097, digest_of(b""))),
        with_line("form\ffeed and CR\r"),
        with_location(rowid=None, key=[Column("n", 1)]),
        with_location(rowid=None, key=None),
        with_table(indices=[INDEX], foreign_keys=[KEY], sql=None, name=RawText("ff")),
    ],
)
def test_edges_that_are_normal_pass(good):
    check_content(good)


@pytest.mark.parametrize(
    ("kind", "bad"),
    [
        ("invalid_content", change(LINES, kind="source_files")),
        ("invalid_content", change(LINES, files=[])),
        ("invalid_content", change(LINES, lines=None)),
        ("invalid_content", change(LINES, scope=None)),
        ("invalid_content", change(LINES, coverage=None)),
        ("invalid_content", change(OBSERVED, scope=LINES.scope)),
        ("invalid_content", change(OBSERVED, coverage=LINES.coverage)),
        ("invalid_content", change(LINES, sought=SourceSearch(source="a", pattern="x"))),
        ("invalid_content", change(EMPTY, sought=None)),
        ("invalid_content", change(EMPTY, sought=SourceList(source="a"))),
        ("invalid_content", change(OBSERVED, sought=SourceList(source="a"))),
        ("invalid_content", change(OBSERVED, tested=None)),
        ("invalid_content", change(LINES, tested=OBSERVED.tested)),
        ("invalid_content", change(OBSERVED, sought=UNABLE.sought)),
        ("invalid_content", change(UNABLE, sought=None)),
        ("invalid_content", change(EMPTY, sought=UNABLE.sought)),
        ("invalid_content", change(UNABLE, sought=EMPTY.sought)),
        (
            "invalid_content",
            change(UNABLE, sought=change(UNABLE.sought, observations=["b", "a"])),
        ),
        (
            "invalid_content",
            change(
                OBSERVED,
                tested=change(OBSERVED.tested, environment=OBSERVED.tested.environment[::-1]),
            ),
        ),
        (
            "invalid_content",
            change(
                OBSERVED,
                observations=[
                    change(
                        OBSERVED.observations[0],
                        attachments=sorted([object_id(b""), object_id(b"x")], reverse=True),
                    )
                ],
            ),
        ),
        (
            "invalid_content",
            change(
                OBSERVED,
                truncated=Truncation(limit="limit", value=1, total=1, skipped_files=0),
            ),
        ),
        ("invalid_content", change(LINES, lines=LINES.lines[::-1])),
        ("invalid_content", change(LINES, lines=LINES.lines[:1] * 2)),
        ("invalid_content", change(LINES, lines=[change(LINES.lines[0], lines=[])])),
        (
            "invalid_content",
            change(LINES, lines=[change(LINES.lines[0], lines=LINES.lines[0].lines[::-1])]),
        ),
        (
            "invalid_content",
            change(LINES, lines=[change(LINES.lines[0], lines=LINES.lines[0].lines[:1] * 2)]),
        ),
        ("invalid_content", change(FILES, files=FILES.files[::-1])),
        ("invalid_content", change(ROWS, rows=ROWS.rows[::-1])),
        ("invalid_content", change(ROWS, rows=[change(ROWS.rows[0], rows=[])])),
        (
            "invalid_content",
            change(ROWS, rows=[change(ROWS.rows[1], rows=ROWS.rows[1].rows[::-1])]),
        ),
        ("invalid_content", with_row(values=[])),
        ("invalid_content", with_row(values=[1, 2])),
        ("invalid_content", change(TABLES, tables=TABLES.tables[::-1])),
        ("invalid_content", change(OBSERVED, observations=OBSERVED.observations[::-1])),
        ("invalid_location", with_location(pointer="/tables/t/rows/x")),
        ("not_canonical", change(LINES, lines=[change(LINES.lines[0], path=NOT_RAW)])),
        ("not_canonical", change(FILES, files=[change(FILES.files[0], path=NOT_RAW)])),
        ("not_canonical", change(ROWS, rows=[change(ROWS.rows[0], table=NOT_RAW)])),
        ("not_canonical", change(ROWS, rows=[change(ROWS.rows[0], columns=[NOT_RAW])])),
        ("not_canonical", with_line("a\nb")),
        ("not_canonical", with_line(HEAD + "x")),
        ("not_canonical", with_line(NOT_RAW)),
        ("not_canonical", with_line(RawText("ff0a"))),
        ("not_canonical", with_line(RawText("ff" * 4097))),
        ("not_canonical", with_line(CutLine(HEAD, 4096, digest_of(b"")))),
        ("not_canonical", with_line(CutLine(HEAD[1:], 5000, digest_of(b"")))),
        ("not_canonical", with_line(CutLine("\n" + "x" * 4095, 5000, digest_of(b"")))),
        ("not_canonical", with_row(values=[Real("1")])),
        ("not_canonical", with_row(values=["x" * 4097])),
        ("not_canonical", with_location(rowid=Blob("00" * 4097))),
        ("not_canonical", with_location(key=[Column("n", RawTextValue("41"))])),
        ("not_canonical", with_location(key=[Column(NOT_RAW, 1)])),
        ("not_canonical", with_table(name=NOT_RAW)),
        ("not_canonical", with_table(table=NOT_RAW)),
        ("not_canonical", with_table(sql=NOT_RAW)),
        (
            "not_canonical",
            with_table(columns=[change(TABLES.tables[0].columns[0], declared_type=NOT_RAW)]),
        ),
        (
            "not_canonical",
            with_table(columns=[change(TABLES.tables[0].columns[0], default=NOT_RAW)]),
        ),
        ("not_canonical", with_table(indices=[change(INDEX, columns=[None, NOT_RAW])])),
        ("not_canonical", with_table(indices=[change(INDEX, sql=NOT_RAW)])),
        ("not_canonical", with_table(foreign_keys=[change(KEY, table=NOT_RAW)])),
        ("not_canonical", with_table(foreign_keys=[change(KEY, columns=[NOT_RAW])])),
        ("not_canonical", with_table(foreign_keys=[change(KEY, references=[NOT_RAW])])),
    ],
)
def test_contents_that_are_not_normal_are_refused(kind, bad):
    with pytest.raises(InvalidError) as caught:
        check_content(bad)
    assert caught.value.kind == kind


def test_every_empty_kind_passes_with_its_own_question():
    for kind in (SourceFile, TableSchema, type(row("t", 0, []))):
        check_content(normalise(ok_result([], kind=kind))[0])
