"""Small, readable pieces of replies and contents for tests of the evidence rules."""

from __future__ import annotations

from collections.abc import Sequence

from vstore.evidence.content import normalise
from vstore.evidence.documents import EvidenceContent, ToolOrigin
from vstore.evidence.index import Draft
from vstore.objects.ids import Digest, ObjectId, digest_of, object_id
from vstore.objects.sealed import Sealed, seal
from vstore.objects.text import Text, text_from_bytes
from vstore.package.documents import Coverage, Origin
from vstore.tools.items import (
    Column,
    ColumnInfo,
    DatabaseRow,
    Location,
    SourceFile,
    SourceLine,
    TableSchema,
    line_text,
)
from vstore.tools.reply import Failure, Page, Scope, ToolReply, ToolResult
from vstore.tools.request import (
    Arguments,
    DatabaseRows,
    DatabaseSchema,
    SourceList,
    SourceSearch,
)
from vstore.tools.values import Value

__all__ = [
    "SNAPSHOT",
    "draft",
    "error_result",
    "file_item",
    "line",
    "lines_content",
    "ok_result",
    "payload",
    "reply_of",
    "row",
    "scope",
    "sealed",
    "table",
]

#: The content id of the snapshot that samples come from.
SNAPSHOT = object_id(b"snapshot")
_MEMBERS: dict[type, tuple[str, str, str]] = {
    SourceLine: ("source_lines", "lines", "source.search"),
    SourceFile: ("source_files", "files", "source.list"),
    DatabaseRow: ("database_rows", "rows", "database.rows"),
    TableSchema: ("database_schema", "tables", "database.schema"),
}
_SOUGHT: dict[type, Arguments] = {
    SourceLine: SourceSearch(source="app", pattern="needle"),
    SourceFile: SourceList(source="app"),
    DatabaseRow: DatabaseRows(database="app", table="t"),
    TableSchema: DatabaseSchema(database="app"),
}


def payload(text: str) -> Digest:
    """Some payload digest."""
    return digest_of(text.encode())


def scope(content: ObjectId = SNAPSHOT, name: str = "app", label: str = "1.0") -> Scope:
    """A scope with this snapshot content."""
    return Scope(
        content=content, name=name, origin=Origin(kind="directory", label=label, digest=None)
    )


def line(path: str | bytes, number: int, text: str | bytes) -> SourceLine:
    """Line ``number`` of a file; the file's id follows from its path."""
    raw_path = path.encode() if isinstance(path, str) else path
    return SourceLine(
        path=text_from_bytes(raw_path),
        file=object_id(raw_path),
        line=number,
        text=line_text(text.encode() if isinstance(text, str) else text),
    )


def file_item(path: str | bytes, size: int = 1) -> SourceFile:
    """A file; its id follows from its path."""
    raw_path = path.encode() if isinstance(path, str) else path
    return SourceFile(path=text_from_bytes(raw_path), file=object_id(raw_path), size=size)


def row(name: str, position: int, columns: Sequence[tuple[Text, Value]]) -> DatabaseRow:
    """The row at a 0-based position of a table, with rowid position + 1."""
    return DatabaseRow(
        table=name,
        location=Location(rowid=position + 1, key=None, pointer=f"/tables/{name}/rows/{position}"),
        row=digest_of(f"{name} {position}".encode()),
        columns=[Column(column, value) for column, value in columns],
    )


def table(name: str, columns: Sequence[str] = ("id",)) -> TableSchema:
    """A plain table."""
    return TableSchema(
        name=name,
        type="table",
        table=name,
        without_rowid=False,
        strict=False,
        columns=[
            ColumnInfo(
                name=one,
                declared_type="TEXT",
                not_null=False,
                default=None,
                primary_key=0,
                generated="no",
            )
            for one in columns
        ],
        indices=[],
        foreign_keys=[],
        sql=f"CREATE TABLE {name}",
    )


def ok_result(
    items: Sequence[object],
    *,
    kind: type = SourceLine,
    action_id: str = "a1",
    of: Scope | None = None,
    coverage: str = "complete",
    sought: Arguments | None = None,
) -> ToolResult:
    """A successful result with these items, all of one kind."""
    kind = type(items[0]) if items else kind
    name, member, operation = _MEMBERS[kind]
    members: dict[str, object] = {member: list(items)}
    return ToolResult(
        action_id=action_id,
        operation=operation,
        status="ok",
        provider="source-snapshot/1",
        kind=name,  # type: ignore[arg-type]
        scope=of or scope(),
        coverage=Coverage(kind=coverage, statement="all of it"),  # type: ignore[arg-type]
        page=Page(offset=0, limit=100, returned=len(items), total=len(items)),
        sought=None if items else (sought or _SOUGHT[kind]),
        **members,  # type: ignore[arg-type]
    )


def error_result(action_id: str = "a1") -> ToolResult:
    """A result that says why there is none."""
    return ToolResult(
        action_id=action_id,
        operation="source.read",
        status="error",
        provider="source-snapshot/1",
        error=Failure(kind="unknown_path", message="no such path"),
    )


def reply_of(*results: ToolResult) -> ToolReply:
    """A reply with these results."""
    return ToolReply(
        request=object_id(b"request"), generation=object_id(b"generation"), results=list(results)
    )


def sealed(result: ToolResult) -> Sealed[EvidenceContent]:
    """The sealed content of a result."""
    return seal(normalise(result)[0])


def lines_content(
    *places: tuple[str, int, str], of: Scope | None = None, coverage: str = "complete"
) -> Sealed[EvidenceContent]:
    """A content of lines, given as path, number and text."""
    return sealed(ok_result([line(*place) for place in places], of=of, coverage=coverage))


def draft(
    content: Sealed[EvidenceContent],
    action_id: str = "a1",
    hypothesis_id: str = "H1",
    position: int = 0,
) -> Draft:
    """A draft from a tool's reply."""
    return Draft(
        hypothesis_id=hypothesis_id,
        action_id=action_id,
        content=content,
        origin=ToolOrigin(
            request=object_id(b"request"), reply=object_id(b"reply"), position=position
        ),
    )
