"""What queries return: located items (spec: evidence, table of kinds)."""

from typing import Annotated, Final, Literal

import msgspec

from vstore.objects.document import Count, Derived, Part, Positive
from vstore.objects.ids import Digest, ObjectId
from vstore.objects.text import RawText, Text, text_from_bytes
from vstore.tools.values import Value

__all__ = [
    "MAX_LINE_BYTES",
    "Column",
    "ColumnInfo",
    "CutLine",
    "DatabaseRow",
    "ForeignKey",
    "IndexInfo",
    "Item",
    "LineText",
    "Location",
    "SourceFile",
    "SourceLine",
    "TableSchema",
    "line_text",
]

MAX_LINE_BYTES: Final = 4096


class CutLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="cut", tag_field="type"):
    """A line of more than :data:`MAX_LINE_BYTES`: its head, and the digest of the whole."""

    head: Text
    size: Count
    digest: Digest


LineText = str | RawText | CutLine


def line_text(raw: bytes) -> LineText:
    """The one encoding of a line's bytes, given without its LF."""
    if len(raw) <= MAX_LINE_BYTES:
        return text_from_bytes(raw)
    from vstore.objects.ids import digest_of

    return CutLine(text_from_bytes(raw[:MAX_LINE_BYTES]), len(raw), digest_of(raw))


class SourceLine(Part, frozen=True, kw_only=True):
    """One line of a file."""

    path: Annotated[Text, Derived]
    file: Annotated[ObjectId, Derived]
    #: 1 for the first line.
    line: Annotated[Positive, Derived]
    text: Annotated[LineText, Derived]


class SourceFile(Part, frozen=True, kw_only=True):
    """One file of a source."""

    path: Annotated[Text, Derived]
    file: Annotated[ObjectId, Derived]
    size: Annotated[Count, Derived]


class Column(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A selected cell, written as the pair ``[name, value]``."""

    name: Annotated[Text, Derived]
    value: Annotated[Value, Derived]


class Location(Part, frozen=True, kw_only=True):
    """Where a row is: by its rowid, or by its primary key where it has none."""

    rowid: Annotated[Value, Derived]
    key: Annotated[list[Column] | None, Derived]
    #: The 0-based position in the snapshot, such as ``/tables/orders/rows/17``.
    pointer: Annotated[str, Derived]


class DatabaseRow(Part, frozen=True, kw_only=True):
    """One row of a table, the selected columns of it."""

    table: Annotated[Text, Derived]
    location: Location
    #: Digest of the canonical full row, all columns in table order.
    row: Annotated[Digest, Derived]
    columns: Annotated[list[Column], Derived]


class ColumnInfo(Part, frozen=True, kw_only=True):
    """One column of a table or view."""

    name: Annotated[Text, Derived]
    declared_type: Annotated[Text, Derived]
    not_null: Annotated[bool, Derived]
    default: Annotated[Text | None, Derived]
    #: 1-based position in the primary key, 0 outside it.
    primary_key: Annotated[Count, Derived]
    #: ``stored`` or ``virtual`` for generated columns, ``hidden`` for a virtual table's own.
    generated: Annotated[Literal["no", "stored", "virtual", "hidden"], Derived]


class IndexInfo(Part, frozen=True, kw_only=True):
    """One index of a table."""

    name: Annotated[Text, Derived]
    unique: Annotated[bool, Derived]
    partial: Annotated[bool, Derived]
    #: ``c`` CREATE INDEX, ``u`` UNIQUE constraint, ``pk`` PRIMARY KEY.
    origin: Annotated[str, Derived]
    #: Column names; null stands for rowid or an expression.
    columns: Annotated[list[Text | None], Derived]
    sql: Annotated[Text | None, Derived]


class ForeignKey(Part, frozen=True, kw_only=True):
    """One foreign key of a table."""

    table: Annotated[Text, Derived]
    columns: Annotated[list[Text], Derived]
    #: Referenced columns; null where the parent's primary key is meant.
    references: Annotated[list[Text | None], Derived]
    on_update: Annotated[str, Derived]
    on_delete: Annotated[str, Derived]


class TableSchema(Part, frozen=True, kw_only=True):
    """One table, view or trigger."""

    name: Annotated[Text, Derived]
    type: Annotated[Literal["table", "view", "trigger", "virtual", "shadow"], Derived]
    #: The table that a trigger belongs to; a table's or view's own name.
    table: Annotated[Text, Derived]
    without_rowid: Annotated[bool, Derived]
    strict: Annotated[bool, Derived]
    columns: Annotated[list[ColumnInfo], Derived]
    indices: Annotated[list[IndexInfo], Derived]
    foreign_keys: Annotated[list[ForeignKey], Derived]
    sql: Annotated[Text | None, Derived]


Item = SourceLine | SourceFile | DatabaseRow | TableSchema
