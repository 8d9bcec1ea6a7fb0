"""``source-snapshot/1``: what each question yields, and how each bad one fails."""

from __future__ import annotations

import pytest

from vstore.errors import InvalidError, NotFoundError
from vstore.objects.canonical import decode, encode
from vstore.objects.document import Document
from vstore.objects.ids import digest_of, object_id
from vstore.objects.memory import MemoryObjects
from vstore.objects.text import RawText
from vstore.objects.tree import Tree
from vstore.package.pinned import PinnedPackage
from vstore.testing.pinned import build_tree, pin, source_descriptor
from vstore.tools import source_index
from vstore.tools.items import CutLine, SourceFile, SourceLine
from vstore.tools.reply import Page, Scope, ToolResult, Truncation
from vstore.tools.request import (
    SOURCE_CONTRACT,
    Arguments,
    DatabaseSchema,
    QueryLimits,
    SourceList,
    SourceRead,
    SourceSearch,
    ToolQuery,
)
from vstore.tools.source_adapter import SourceAdapter
from vstore.tools.source_cache import SourceCache

FILES = {
    b"README": b"no match here\n",
    b"a.py": b"needle one\r\nsecond\nlast needle",
    b"a/b.py": b"needle in a folder\n",
    b"a/deep/c.py": b"nothing\n\nneedle\n",
    b"a-b.py": b"needle dash\n",
    b"empty": b"",
    b"binary": b"needle\0needle\n",
    b"latin1.txt": b"needle caf\xe9\n",
    b"caf\xc3\xa9 name": b"needle \xc3\xa9\n",
    b"raw\xff": b"needle raw path\n",
}
LINKS = {b"a/link": b"../README", b"z-out": b"/etc/needle"}
# Byte order of whole paths: "-" (0x2D) before "." (0x2E) before "/" (0x2F).
ORDER = sorted(FILES)


@pytest.fixture(scope="module")
def package() -> PinnedPackage:
    objects = MemoryObjects()
    tree = build_tree(objects, FILES, links=LINKS, folders=[b"hollow"])
    inputs = build_tree(objects, {b"report.log": b"needle in a log\n"})
    return pin(objects, [source_descriptor(tree)], inputs=inputs)


def ask(package: PinnedPackage, question: Arguments, **limits: int) -> ToolResult:
    query = ToolQuery(
        hypothesis_id="H1",
        action_id="Q1",
        contract=SOURCE_CONTRACT,
        limits=QueryLimits(**limits),
        arguments=question,
    )
    result = SourceAdapter().answer(package, query)
    # Every answer survives its own schema.
    assert decode(encode(result), ToolResult) == result
    return result


def search(package: PinnedPackage, pattern: str, **arguments: object) -> ToolResult:
    limits = arguments.pop("limits", {})
    question = SourceSearch(source="code", pattern=pattern, **arguments)  # type: ignore[arg-type]
    return ask(package, question, **limits)  # type: ignore[arg-type]


def read(package: PinnedPackage, path: str, start: int = 1, end: int | None = None) -> ToolResult:
    return ask(package, SourceRead(source="code", path=path, start=start, end=end))


def places(result: ToolResult) -> list[tuple[object, int]]:
    assert result.lines is not None, result.error
    return [(one.path, one.line) for one in result.lines]


def test_search_in_byte_order_with_skipped_files_counted(package: PinnedPackage) -> None:
    result = search(package, "needle")
    assert places(result) == [
        ("a-b.py", 1),
        ("a.py", 1),
        ("a.py", 3),
        ("a/b.py", 1),
        ("a/deep/c.py", 3),
        ("caf\u00e9 name", 1),
        (RawText(b"raw\xff".hex()), 1),
    ]
    assert result.page == Page(offset=0, limit=100, returned=7, total=7)
    assert result.truncated == Truncation(limit=None, value=None, total=7, skipped_files=2)
    assert result.sought is None
    assert result.kind == "source_lines"


def test_a_hit_is_a_located_line_with_its_cr(package: PinnedPackage) -> None:
    result = search(package, "needle one")
    oid = object_id(FILES[b"a.py"])
    assert result.lines == [SourceLine(path="a.py", file=oid, line=1, text="needle one\r")]
    assert result.status == "ok"
    assert result.provider == "source-snapshot/1"
    assert (result.action_id, result.operation) == ("Q1", "source.search")
    descriptor = package.snapshot("code")
    assert result.scope == Scope(content=descriptor.content, name="code", origin=descriptor.origin)
    assert result.coverage == descriptor.coverage


def test_a_hit_and_a_read_line_are_the_same_item(package: PinnedPackage) -> None:
    found = search(package, "last needle").lines
    assert found == read(package, "a.py", 3, 3).lines


def test_search_below_a_folder_a_file_and_a_raw_path(package: PinnedPackage) -> None:
    assert places(search(package, "needle", under="a")) == [("a/b.py", 1), ("a/deep/c.py", 3)]
    assert places(search(package, "needle", under="a/deep/c.py")) == [("a/deep/c.py", 3)]
    raw = RawText(b"raw\xff".hex())
    assert places(search(package, "needle", under=raw)) == [(raw, 1)]
    assert search(package, "needle", under="hollow").page == Page(
        offset=0, limit=100, returned=0, total=0
    )


def test_an_empty_finding_carries_the_question_without_its_paging(package: PinnedPackage) -> None:
    result = search(package, "absent", under="a", limit=7, offset=3)
    assert result.lines == []
    assert result.truncated is None
    assert result.sought == SourceSearch(source="code", pattern="absent", under="a")


def test_a_page_past_the_end_says_that_something_was_left_out(package: PinnedPackage) -> None:
    result = search(package, "needle", under="a", offset=5)
    assert result.lines == []
    assert result.truncated == Truncation(limit="offset", value=5, total=2, skipped_files=0)
    assert result.sought == SourceSearch(source="code", pattern="needle", under="a")


def test_pages_count_all_and_put_together_give_all(package: PinnedPackage) -> None:
    whole = places(search(package, "needle"))
    paged: list[tuple[object, int]] = []
    for offset in range(0, 8, 2):
        result = search(package, "needle", limit=2, offset=offset)
        assert result.page is not None
        assert result.page.total == 7
        paged += places(result)
    assert paged == whole


def test_limits_name_themselves(package: PinnedPackage) -> None:
    matches = search(package, "needle", limits={"max_matches": 3})
    assert len(places(matches)) == 3
    assert matches.truncated == Truncation(limit="max_matches", value=3, total=7, skipped_files=2)
    first = search(package, "needle", limit=1).lines
    assert first is not None
    size = len(encode(first[0]))
    by_bytes = search(package, "needle", limits={"max_result_bytes": size})
    assert places(by_bytes) == [("a-b.py", 1)]
    assert by_bytes.truncated == Truncation(
        limit="max_result_bytes", value=size, total=7, skipped_files=2
    )


@pytest.mark.parametrize("files", range(len(ORDER) + 1))
def test_the_scan_stops_before_the_file_that_would_pass_its_limit(
    package: PinnedPackage, files: int
) -> None:
    bound = sum(len(FILES[path]) for path in ORDER[:files])
    result = search(package, "needle", limits={"max_bytes_scanned": max(bound, 1)})
    looked_at = [
        path for path in ORDER[:files] if b"\0" not in FILES[path] and path != b"latin1.txt"
    ]
    expected = sum(line.count(b"needle") > 0 for p in looked_at for line in FILES[p].split(b"\n"))
    assert len(places(result)) == expected
    if files == len(ORDER):
        assert result.page == Page(offset=0, limit=100, returned=7, total=7)
    else:
        assert result.page is not None
        assert result.page.total is None
        assert result.truncated is not None
        assert result.truncated.limit == "max_bytes_scanned"
        assert result.truncated.skipped_files == len(
            {b"binary", b"latin1.txt"} & set(ORDER[:files])
        )


def test_expressions_work_across_files(package: PinnedPackage) -> None:
    result = search(package, r"^needle\b.*\w$", syntax="re2")
    assert ("a.py", 1) not in places(result)  # its CR is no \w
    assert ("a/b.py", 1) in places(result)


def test_a_long_line_is_cut_with_the_digest_of_the_whole() -> None:
    objects = MemoryObjects()
    line = b"x" * 5000 + b"needle"
    tree = build_tree(objects, {b"f": b"first\n" + line + b"\n"})
    package = pin(objects, [source_descriptor(tree)])
    result = search(package, "needle")
    assert result.lines is not None
    assert result.lines[0].text == CutLine("x" * 4096, 5006, digest_of(line))


def test_list_leaves_links_out_and_counts_them(package: PinnedPackage) -> None:
    result = ask(package, SourceList(source="code"))
    assert result.files == [
        SourceFile(
            path=p.decode() if p != b"raw\xff" else RawText(p.hex()),
            file=object_id(FILES[p]),
            size=len(FILES[p]),
        )
        for p in ORDER
    ]
    assert result.kind == "source_files"
    assert result.truncated == Truncation(limit=None, value=None, total=10, skipped_files=2)


def test_list_pages_and_parts(package: PinnedPackage) -> None:
    result = ask(package, SourceList(source="code", under="a", limit=1, offset=1))
    assert result.files is not None
    assert [one.path for one in result.files] == ["a/deep/c.py"]
    assert result.page == Page(offset=1, limit=1, returned=1, total=2)
    assert result.truncated == Truncation(limit="offset", value=1, total=2, skipped_files=1)
    cut = ask(package, SourceList(source="code", limit=2))
    assert cut.truncated == Truncation(limit="limit", value=2, total=10, skipped_files=2)
    empty = ask(package, SourceList(source="code", under="hollow", limit=3))
    assert empty.sought == SourceList(source="code", under="hollow")


def test_the_raw_input_is_a_source(package: PinnedPackage) -> None:
    result = ask(package, SourceSearch(source="inputs", pattern="needle"))
    assert places(result) == [("report.log", 1)]
    assert result.scope is not None
    assert result.scope.content == package.raw_input


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"one\ntwo\n", ["one", "two"]),
        (b"one\ntwo", ["one", "two"]),
        (b"\n", [""]),
        (b"\n\n", ["", ""]),
        (b"a\r\nb\rc\x0cd\x0be\xc2\x85f\xe2\x80\xa8g\n", ["a\r", "b\rc\x0cd\x0be\x85f\u2028g"]),
        (b"caf\xe9\n\0\n", [RawText(b"caf\xe9".hex()), "\0"]),
    ],
)
def test_read_knows_only_lf(content: bytes, lines: list[object]) -> None:
    objects = MemoryObjects()
    package = pin(objects, [source_descriptor(build_tree(objects, {b"f": content}))])
    result = read(package, "f")
    assert result.lines is not None
    assert [one.text for one in result.lines] == lines
    assert [one.line for one in result.lines] == list(range(1, len(lines) + 1))
    assert result.page == Page(offset=0, limit=None, returned=len(lines), total=len(lines))
    assert result.truncated is None
    assert result.sought is None


def test_read_a_range(package: PinnedPackage) -> None:
    result = read(package, "a.py", 2, 3)
    assert places(result) == [("a.py", 2), ("a.py", 3)]
    assert result.page == Page(offset=1, limit=2, returned=2, total=3)
    assert result.truncated is None
    past = read(package, "a.py", 3, 99)
    assert places(past) == [("a.py", 3)]
    assert past.page == Page(offset=2, limit=97, returned=1, total=3)


def test_read_an_empty_file_is_an_empty_finding(package: PinnedPackage) -> None:
    for end in (None, 1, 5):
        result = read(package, "empty", 1, end)
        assert result.lines == []
        assert result.sought == SourceRead(source="code", path="empty")
        assert result.page is not None
        assert result.page.total == 0


def test_read_limits() -> None:
    objects = MemoryObjects()
    package = pin(objects, [source_descriptor(build_tree(objects, {b"f": b"x\n" * 10}))])
    question = SourceRead(source="code", path="f", start=2, end=9)
    result = ask(package, question, max_matches=3)
    assert [line for _, line in places(result)] == [2, 3, 4]
    assert result.page == Page(offset=1, limit=8, returned=3, total=10)
    assert result.truncated == Truncation(limit="max_matches", value=3, total=10, skipped_files=0)
    unread = ask(package, question, max_bytes_scanned=19)
    assert unread.lines == []
    assert unread.page == Page(offset=1, limit=8, returned=0, total=None)
    assert unread.truncated == Truncation(
        limit="max_bytes_scanned", value=19, total=None, skipped_files=0
    )
    assert unread.sought == question
    assert ask(package, question, max_bytes_scanned=20).truncated is None


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        (SourceSearch(source="other", pattern="x"), "unknown_source"),
        (SourceList(source="other"), "unknown_source"),
        (SourceRead(source="other", path="a.py"), "unknown_source"),
        (SourceSearch(source="code", pattern="x", under="missing"), "unknown_path"),
        (SourceSearch(source="code", pattern="x", under="a/missing/x"), "unknown_path"),
        (SourceSearch(source="code", pattern="x", under="a.py/x"), "unknown_path"),
        (SourceSearch(source="code", pattern="x", under=""), "unknown_path"),
        (SourceSearch(source="code", pattern="x", under="a/"), "unknown_path"),
        (SourceSearch(source="code", pattern="x", under="./a"), "unknown_path"),
        (SourceSearch(source="code", pattern="x", under="a/../a"), "unknown_path"),
        (SourceSearch(source="code", pattern="x", under="/a"), "unknown_path"),
        (SourceSearch(source="code", pattern="x", under="a/link"), "not_a_file"),
        (SourceSearch(source="code", pattern="x", under="a/link/x"), "unknown_path"),
        (SourceList(source="code", under="z-out"), "not_a_file"),
        (SourceList(source="code", under="missing"), "unknown_path"),
        (SourceRead(source="code", path="a"), "not_a_file"),
        (SourceRead(source="code", path="a/link"), "not_a_file"),
        (SourceRead(source="code", path="missing"), "unknown_path"),
        (SourceRead(source="code", path=RawText(b"a.py".hex())), "bad_path"),
        (SourceSearch(source="code", pattern="x", under=RawText("61")), "bad_path"),
        (SourceRead(source="code", path="a.py", start=3, end=2), "bad_range"),
        (SourceRead(source="code", path="a.py", start=4), "bad_range"),
        (SourceRead(source="code", path="empty", start=2), "bad_range"),
        (SourceSearch(source="code", pattern="(", syntax="re2"), "bad_pattern"),
        (SourceSearch(source="code", pattern=r"\pL", syntax="re2"), "bad_pattern"),
        (SourceSearch(source="code", pattern="\u00e9", ignore_case=True), "bad_pattern"),
        (SourceSearch(source="code", pattern="a\nb"), "bad_pattern"),
        (DatabaseSchema(database="code"), "unsupported_operation"),
    ],
)
def test_a_bad_question_is_an_error_result(
    package: PinnedPackage, question: Arguments, kind: str
) -> None:
    result = ask(package, question)
    assert result.status == "error"
    assert result.error is not None
    assert result.error.kind == kind
    assert result.lines is None
    assert result.files is None
    assert result.scope is None
    assert result.sought is None


def test_a_database_is_no_source() -> None:
    objects = MemoryObjects()
    tree = build_tree(objects, {b"f": b"x"})
    from msgspec.structs import replace

    descriptor = replace(source_descriptor(tree, name="db"), kind="database")
    result = ask(pin(objects, [descriptor]), SourceList(source="db"))
    assert result.error is not None
    assert result.error.kind == "unknown_source"


def test_a_damaged_package_is_no_error_result() -> None:
    objects = MemoryObjects()
    tree = build_tree(objects, {b"f": b"x"})
    file = objects.document(tree, Tree).entries[0].object
    package = pin(objects, [source_descriptor(tree)])
    del objects._objects[file]
    with pytest.raises(NotFoundError):
        search(package, "x")
    absent = pin(MemoryObjects(), [])
    lost = PinnedPackage(
        absent.generation_id,
        package.generation,
        absent.objects,
    )
    with pytest.raises(NotFoundError):
        search(lost, "x")


def test_a_malformed_tree_is_refused() -> None:
    objects = MemoryObjects()
    good = objects.document(build_tree(objects, {b"a": b"x", b"b": b"y"}), Tree)
    bad: Document = Tree(entries=list(reversed(good.entries)))
    package = pin(objects, [source_descriptor(objects.put_document(bad))])
    with pytest.raises(InvalidError):
        search(package, "x")
    with pytest.raises(InvalidError):
        read(package, "a")


def test_the_index_changes_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal files at several places, matches far apart and in one row, pages that end early."""
    monkeypatch.setattr(source_index, "STRETCH_BYTES", 20)
    text = b"one needle\n" + b"hay\n" * 30 + b"two needles, needle\nNeedle again\n" + b"hay\n" * 9
    objects = MemoryObjects()
    files = {b"a": text, b"b/c": text, b"b/d": text + b"needle", b"e": b"hay\n" * 50, b"f": text}
    pinned = pin(objects, [source_descriptor(build_tree(objects, files))])
    for pattern in ("needle", "hay", "needle again", "needles, need", "two", "eed", "e"):
        for ignore_case in (False, True):
            for offset, limit in ((0, 100), (0, 1), (3, 2), (7, 100)):
                query = ToolQuery(
                    hypothesis_id="H1",
                    action_id="Q1",
                    contract=SOURCE_CONTRACT,
                    limits=QueryLimits(),
                    arguments=SourceSearch(
                        source="code",
                        pattern=pattern,
                        ignore_case=ignore_case,
                        offset=offset,
                        limit=limit,
                    ),
                )
                plain, indexed = (
                    SourceAdapter(cache=SourceCache(index_after=after)).answer(pinned, query)
                    for after in (99, 0)
                )
                assert indexed == plain
                needle = pattern.lower() if ignore_case else pattern
                total = sum(
                    needle in (line.lower() if ignore_case else line)
                    for content in files.values()
                    for line in content.decode().split("\n")
                )
                assert plain.page is not None
                assert plain.page.total == total


def test_answers_do_not_depend_on_what_was_asked_before(package: PinnedPackage) -> None:
    questions: list[Arguments] = [
        SourceSearch(source="code", pattern="needle"),
        SourceSearch(source="code", pattern="needle", under="a"),
        SourceSearch(source="code", pattern="NEEDLE", ignore_case=True, limit=2),
        SourceSearch(source="code", pattern="needle (in|dash)", syntax="re2"),
        SourceSearch(source="code", pattern="(?i)EDLE", syntax="re2"),
        SourceSearch(source="code", pattern="."),
        SourceSearch(source="code", pattern="absent"),
        SourceList(source="code"),
        SourceRead(source="code", path="a.py"),
    ]
    queries = [
        ToolQuery(
            hypothesis_id="H1",
            action_id="Q1",
            contract=SOURCE_CONTRACT,
            limits=QueryLimits(),
            arguments=question,
        )
        for question in questions
    ]
    fresh = [SourceAdapter().answer(package, query) for query in queries]
    for cache in (
        SourceCache(),
        SourceCache(index_after=0),
        SourceCache(max_bytes=0, max_selections=1, index_after=0),
        SourceCache(max_bytes=20, max_indexed_bytes=0),
    ):
        adapter = SourceAdapter(cache=cache)
        for _ in range(4):
            assert [adapter.answer(package, query) for query in queries] == fresh
