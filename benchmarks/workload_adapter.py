"""The shared workload behind our own API: an adapter that answers in O(items).

Query ``n`` asks for the content of publication ``n`` of the workload; the answer is made
anew from plain values each time it is asked, so that recomputing it costs what an adapter
with a perfect index would cost, and nothing more. Occurrences become source lines, rows of
the symbol table become database rows, both in the order a tool would give them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from workload import MAX_ITEMS, Publication

from vstore.objects.ids import Digest, ObjectId, digest_of, object_id
from vstore.objects.plain_json import encode_value
from vstore.package.pinned import PinnedPackage
from vstore.tools.items import Column, DatabaseRow, Location, SourceLine
from vstore.tools.reply import Page, Scope, ToolResult
from vstore.tools.request import (
    Arguments,
    Condition,
    DatabaseRows,
    QueryLimits,
    SourceSearch,
    ToolQuery,
    ToolRequest,
    operation_of,
)

__all__ = ["CONTRACT", "DATABASE", "SOURCE", "WorkloadAdapter", "action_of", "request_for"]

CONTRACT: Final = "workload-benchmark/1"
SOURCE: Final = "library"
DATABASE: Final = "symbols"
_COLUMNS: Final = ("name", "kind", "signature", "line", "indent")
_LIMITS: Final = QueryLimits()


def action_of(number: int) -> str:
    """The action that publication ``number`` is made for."""
    return f"query-{number:06d}"


def _file_id(digest: str) -> ObjectId:
    """A file of the pinned source holds the digest of the workload's file, not its bytes."""
    return object_id(bytes.fromhex(digest))


class WorkloadAdapter:
    """Answers from the publications that it was given.

    Args:
        publications: Of the workload, from the first on.
    """

    contract = CONTRACT
    operations = frozenset({"source.search", "database.rows"})

    def __init__(self, publications: Iterable[Publication]) -> None:
        self._lines: dict[int, list[tuple[str, ObjectId, int, str]]] = {}
        self._rows: dict[int, list[tuple[int, str, list[Any], Digest]]] = {}
        self.arguments: dict[int, Arguments] = {}
        places: dict[str, int] = {}
        texts: dict[str, str] = {}
        files: dict[str, ObjectId] = {}
        #: Path and SHA-256 of every file that lines come from; see :func:`_file_id`.
        self.files: dict[str, bytes] = {}
        for one in publications:
            content = one.values["content"]
            items, term = content["items"], content["subject"]
            if content["kind"] == "occurrences":
                for item in items:
                    self.files[item["path"]] = bytes.fromhex(item["file_hash"])
                self._lines[one.number] = sorted(
                    (
                        texts.setdefault(item["path"], item["path"]),
                        files.setdefault(item["file_hash"], _file_id(item["file_hash"])),
                        item["line"],
                        texts.setdefault(item["text"], item["text"]),
                    )
                    for item in items
                )
                self.arguments[one.number] = SourceSearch(
                    source=SOURCE, pattern=term, limit=MAX_ITEMS, offset=one.number
                )
            else:
                self._rows[one.number] = sorted(
                    (
                        places.setdefault(item["key"], len(places)),
                        item["key"],
                        item["cells"],
                        digest_of(encode_value(item["cells"])),
                    )
                    for item in items
                )
                self.arguments[one.number] = DatabaseRows(
                    database=DATABASE,
                    table="symbols",
                    where=[Condition(column="name", op="eq", value=term)],
                    limit=MAX_ITEMS,
                    offset=one.number,
                )

    def answer(self, package: PinnedPackage, query: ToolQuery) -> ToolResult:
        """See :class:`vstore.tools.adapter.Adapter`."""
        arguments = query.arguments
        assert isinstance(arguments, SourceSearch | DatabaseRows)
        number = arguments.offset
        lines = rows = None
        if isinstance(arguments, SourceSearch):
            descriptor = package.snapshot(SOURCE, kind="source")
            lines = [
                SourceLine(path=path, file=file, line=line, text=text)
                for path, file, line, text in self._lines[number]
            ]
            returned = len(lines)
        else:
            descriptor = package.snapshot(DATABASE, kind="database")
            rows = [
                DatabaseRow(
                    table="symbols",
                    location=Location(
                        rowid=None,
                        key=[Column("key", key)],
                        pointer=f"/tables/symbols/rows/{place}",
                    ),
                    row=digest,
                    columns=list(map(Column, _COLUMNS, cells)),
                )
                for place, key, cells, digest in self._rows[number]
            ]
            returned = len(rows)
        return ToolResult(
            action_id=query.action_id,
            operation=operation_of(arguments),
            status="ok",
            provider=CONTRACT,
            kind="source_lines" if rows is None else "database_rows",
            scope=Scope(content=descriptor.content, name=descriptor.name, origin=descriptor.origin),
            coverage=descriptor.coverage,
            page=Page(offset=number, limit=MAX_ITEMS, returned=returned, total=None),
            lines=lines,
            rows=rows,
        )


def request_for(
    package: PinnedPackage, hypothesis: str, number: int, arguments: Arguments
) -> ToolRequest:
    """The request whose answer is publication ``number``."""
    return ToolRequest(
        case_id=package.case_id,
        package_id=package.package_id,
        analysis_revision=package.revision,
        generation=package.generation_id,
        queries=[
            ToolQuery(
                hypothesis_id=hypothesis,
                action_id=action_of(number),
                contract=CONTRACT,
                limits=_LIMITS,
                arguments=arguments,
            )
        ],
    )
