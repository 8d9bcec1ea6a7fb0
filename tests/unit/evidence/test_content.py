"""Normal form of what tools answer: order, repeats, grouping, and the way back."""

import msgspec
import pytest

from vstore.errors import InvalidError, NotFoundError
from vstore.evidence.content import envelope, item_count, items, normalise, restore
from vstore.evidence.content_check import check_content
from vstore.evidence.documents import EvidenceContent
from vstore.objects.canonical import decode, encode
from vstore.objects.ids import object_id
from vstore.objects.text import RawText
from vstore.testing.evidence_samples import (
    error_result,
    file_item,
    line,
    ok_result,
    reply_of,
    row,
    scope,
    table,
)
from vstore.tools.items import SourceFile, TableSchema
from vstore.tools.reply import Failure, Page, Truncation
from vstore.tools.request import SourceSearch

REQUEST = object_id(b"request")


def restored(reply):
    stored, contents = envelope(REQUEST, reply)
    by_id = {one.id: one.document for one in contents if one is not None}
    return restore(stored, by_id.__getitem__)


def test_lines_are_sorted_by_path_bytes_then_number_and_grouped_by_file():
    given = [line("b.py", 2, "x"), line("a.py", 10, "y"), line("a.py", 9, "z"), line("B.py", 1, "")]
    content, order = normalise(ok_result(given))
    assert [(group.path, [one.line for one in group.lines]) for group in content.lines] == [
        ("B.py", [1]),
        ("a.py", [9, 10]),
        ("b.py", [2]),
    ]
    assert order == [3, 2, 1, 0]
    assert content.files is content.rows is content.tables is content.observations is None


def test_paths_are_compared_as_bytes_not_as_code_points_or_utf_16():
    # U+FFFD is EF BF BD, U+1F600 is F0 9F 98 80 but D83D DE00 in UTF-16; FF stands last.
    paths = ["\ufffd".encode(), "\U0001f600".encode(), b"\xff", b"z"]
    content, _ = normalise(ok_result([line(path, 1, "") for path in reversed(paths)]))
    assert [group.path for group in content.lines] == [
        "z",
        "\ufffd",
        "\U0001f600",
        RawText("ff"),
    ]


def test_the_sorted_order_needs_no_order_in_the_envelope():
    given = [line("a.py", 1, "x"), line("a.py", 2, "x"), line("b.py", 1, "x")]
    assert normalise(ok_result(given))[1] is None
    assert normalise(ok_result([]))[1] is None


def test_an_item_returned_twice_is_kept_once_and_the_order_remembers_it():
    given = [line("a.py", 1, "x"), line("a.py", 1, "x"), line("a.py", 3, "y")]
    content, order = normalise(ok_result(given))
    assert item_count(content) == 2
    assert order == [0, 0, 1]


def test_two_different_texts_at_one_place_are_refused():
    with pytest.raises(InvalidError) as caught:
        normalise(ok_result([line("a.py", 1, "x"), line("a.py", 1, "y")]))
    assert caught.value.kind == "conflicting_items"


def test_rows_are_sorted_by_table_projection_and_snapshot_position():
    both = [("id", 1), ("name", "x")]
    given = [
        row("t", 10, both),
        row("t", 9, both),
        row("t", 9, [("id", 1)]),
        row("s", 11, both),
    ]
    content, order = normalise(ok_result(given))
    assert [
        (group.table, group.columns, [one.location.rowid for one in group.rows])
        for group in content.rows
    ] == [
        ("s", ["id", "name"], [12]),
        ("t", ["id"], [10]),
        ("t", ["id", "name"], [10, 11]),
    ]
    assert content.rows[0].rows[0].values == [1, "x"]
    assert order == [3, 2, 1, 0]


def test_column_names_are_written_once_per_group():
    given = [row("t", at, [("a_long_column_name", at)]) for at in range(20)]
    assert encode(normalise(ok_result(given))[0]).count(b"a_long_column_name") == 1


def test_tables_are_sorted_by_name_type_and_owner():
    trigger = msgspec.structs.replace(table("b"), type="trigger", table="a")
    given = [trigger, table("b"), table("a")]
    content, order = normalise(ok_result(given))
    assert [(one.name, one.type) for one in content.tables] == [
        ("a", "table"),
        ("b", "table"),
        ("b", "trigger"),
    ]
    assert order == [2, 1, 0]


def test_files_are_sorted_by_path():
    content, order = normalise(ok_result([file_item("b", 5), file_item("a", 7)]))
    assert [(one.path, one.size) for one in content.files] == [("a", 7), ("b", 5)]
    assert order == [1, 0]


@pytest.mark.parametrize(
    "pointer",
    [
        "/tables/t/rows/",
        "/tables/t/rows/01",
        "/tables/t/rows/-1",
        "/tables/t/rows/+1",
        "/tables/t/rows/1_0",
        "/tables/t/rows/\u0661",
        "/tables/t/rows/99999999999999999",
        "/tables/t/u/rows/1",
        "/table/t/rows/1",
        "tables/t/rows/1",
        "/tables/t/row/1",
        "17",
        "",
    ],
)
def test_a_location_that_is_no_position_in_a_table_is_refused(pointer):
    one = row("t", 0, [("id", 1)])
    bad = msgspec.structs.replace(
        one, location=msgspec.structs.replace(one.location, pointer=pointer)
    )
    with pytest.raises(InvalidError) as caught:
        normalise(ok_result([bad]))
    assert caught.value.kind == "invalid_location"


def test_an_empty_content_carries_the_normalised_question():
    one = normalise(ok_result([], sought=SourceSearch(source="app", pattern="x")))[0]
    other = normalise(ok_result([], sought=SourceSearch(source="app", pattern="y")))[0]
    assert one.lines == []
    assert one.sought == SourceSearch(source="app", pattern="x")
    assert encode(one) != encode(other)
    assert normalise(ok_result([line("a", 1, "")]))[0].sought is None


def test_ids_pages_and_providers_are_not_in_a_content():
    one = ok_result([line("a.py", 1, "x")], action_id="a1")
    other = msgspec.structs.replace(
        one,
        action_id="a2",
        operation="source.read",
        provider="other/2",
        page=Page(offset=40, limit=7, returned=1, total=41),
    )
    assert encode(normalise(one)[0]) == encode(normalise(other)[0])


def test_truncation_and_coverage_are_in_a_content():
    one = ok_result([line("a.py", 1, "x")])
    cut = Truncation(limit="max_matches", value=1, total=None, skipped_files=2)
    assert normalise(msgspec.structs.replace(one, truncated=cut))[0].truncated == cut
    partial = ok_result([line("a.py", 1, "x")], coverage="partial")
    assert normalise(partial)[0].coverage.kind == "partial"


def replaced(**members):
    return msgspec.structs.replace(ok_result([line("a.py", 1, "x")]), **members)


@pytest.mark.parametrize(
    "bad",
    [
        replaced(status="error"),
        replaced(error=Failure(kind="x", message="")),
        replaced(kind=None),
        replaced(kind="test_observations"),
        replaced(kind="source_files"),
        replaced(scope=None),
        replaced(coverage=None),
        replaced(lines=None),
        replaced(files=[]),
        replaced(page=Page(offset=0, limit=1, returned=2, total=2)),
        replaced(sought=SourceSearch(source="app", pattern="x")),
        msgspec.structs.replace(ok_result([]), sought=None),
    ],
)
def test_a_result_that_is_not_well_formed_is_refused(bad):
    with pytest.raises(InvalidError) as caught:
        normalise(bad)
    assert caught.value.kind == "malformed_reply"


def test_a_result_without_a_page_is_fine():
    assert normalise(replaced(page=None))[0].lines


def test_envelope_names_contents_by_id_and_error_results_have_none():
    reply = reply_of(ok_result([line("b", 1, ""), line("a", 1, "")]), error_result("a2"))
    stored, contents = envelope(REQUEST, reply)
    assert stored.request == REQUEST
    assert stored.generation == reply.generation
    first, second = stored.results
    assert first.content == contents[0].id == object_id(encode(contents[0].document))
    assert first.order == [1, 0]
    assert contents[1] is second.content is second.order is None
    assert second.error == Failure(kind="unknown_path", message="no such path")


@pytest.mark.parametrize(
    "bad",
    [
        msgspec.structs.replace(error_result(), error=None),
        msgspec.structs.replace(error_result(), kind="source_lines"),
        msgspec.structs.replace(error_result(), scope=scope()),
        msgspec.structs.replace(error_result(), lines=[]),
        msgspec.structs.replace(error_result(), sought=SourceSearch(source="a", pattern="x")),
    ],
)
def test_an_error_result_with_more_than_an_error_is_refused(bad):
    with pytest.raises(InvalidError) as caught:
        envelope(REQUEST, reply_of(bad))
    assert caught.value.kind == "malformed_reply"


def test_envelope_and_contents_give_the_reply_back():
    reply = reply_of(
        ok_result([line("b", 1, "x"), line("a", 2, b"\xff\r"), line("b", 1, "x")]),
        error_result("a2"),
        ok_result([row("t", 3, [("id", None)]), row("s", 1, [])]),
        ok_result([file_item("b"), file_item("a")]),
        ok_result([table("b"), table("a")]),
        ok_result([], kind=TableSchema),
        ok_result([], kind=SourceFile),
    )
    assert restored(reply) == reply


@pytest.mark.parametrize(
    "change",
    [
        {"order": [0, 2]},
        {"order": [0, 0]},
        {"order": []},
        {"content": None},
        {"content": None, "order": None},
        {"content": None, "status": "error"},
    ],
)
def test_an_envelope_that_does_not_fit_its_content_is_refused(change):
    stored, contents = envelope(
        REQUEST, reply_of(ok_result([line("b", 1, "x"), line("a", 2, "y")]))
    )
    bad = msgspec.structs.replace(
        stored, results=[msgspec.structs.replace(stored.results[0], **change)]
    )
    with pytest.raises(InvalidError) as caught:
        restore(bad, lambda _: contents[0].document)
    assert caught.value.kind == "malformed_reply"


def test_a_content_that_is_missing_is_the_source_of_contents_to_report():
    stored, _ = envelope(REQUEST, reply_of(ok_result([line("b", 1, "x")])))

    def missing(oid):
        raise NotFoundError("no object", kind="no_object")

    with pytest.raises(NotFoundError):
        restore(stored, missing)


def test_observations_are_no_reply_of_a_tool():
    stored, contents = envelope(REQUEST, reply_of(ok_result([line("b", 1, "x")])))
    observed = msgspec.structs.replace(
        contents[0].document, kind="test_observations", lines=None, observations=[]
    )
    with pytest.raises(InvalidError):
        restore(stored, lambda _: observed)


def test_ungrouping_a_row_without_as_many_values_as_columns_is_refused():
    content = normalise(ok_result([row("t", 0, [("id", 1)])]))[0]
    group = content.rows[0]
    bad = msgspec.structs.replace(
        content,
        rows=[
            msgspec.structs.replace(
                group, rows=[msgspec.structs.replace(group.rows[0], values=[1, 2])]
            )
        ],
    )
    with pytest.raises(InvalidError) as caught:
        list(items(bad))
    assert caught.value.kind == "invalid_content"


def test_items_come_ungrouped_and_are_counted_without_ungrouping():
    for given in (
        [line("a", 1, "x"), line("a", 2, "y"), line("b", 1, "x")],
        [row("t", 0, [("id", 1)]), row("t", 1, [("id", 2)])],
        [file_item("a"), file_item("b")],
        [table("a")],
    ):
        content = normalise(ok_result(given))[0]
        assert list(items(content)) == given
        assert item_count(content) == len(given)


def test_a_normalised_content_reads_back_and_is_normal():
    for given in ([line("b", 1, b"\xff"), line("a", 1, "x" * 5000)], [row("t", 0, [("x", "y")])]):
        content = normalise(ok_result(given))[0]
        check_content(decode(encode(content), EvidenceContent))
