"""The members of every document in the notation of ``docs/spec/documents.md``.

The page is written by hand, because what members mean is not in the code; this says what its
tables must state, so that a test keeps them in step.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple, get_args

import msgspec.inspect as inspect

from vstore.objects.document import MAX_INTEGER, MapKey, Name, RecordId, registered
from vstore.objects.ids import Digest, ObjectId
from vstore.objects.text import Hex
from vstore.package.documents import Instant
from vstore.verify.decoding import DocumentDecoder

__all__ = ["FormatTable", "format_tables"]


def _pattern(alias: Any) -> str:
    return str(next(meta.pattern for meta in get_args(alias)[1:] if meta.pattern))


_PATTERNS: Final = {
    _pattern(Name): "name",
    _pattern(RecordId): "record id",
    _pattern(MapKey): "map key",
    _pattern(Instant): "instant",
    _pattern(Hex): "hex",
}
_NUMBERS: Final = {
    (0, MAX_INTEGER): "count",
    (1, MAX_INTEGER): "positive",
    (0, 100): "percent",
    (-MAX_INTEGER, MAX_INTEGER): "integer",
    (0, 10**12): "credits",
}
_VALUE: Final = (
    "string or integer or BigInteger or Real or Blob or RawTextValue or LargeBlob or LargeText"
    " or null"
)
#: Unions with a name of their own, the longest first.
_UNIONS: Final = (
    (_VALUE, "value"),
    ("string or RawText or CutLine", "line text"),
    ("string or RawText", "text"),
)
_DIGEST_LENGTH: Final = get_args(Digest)[1].min_length


class FormatTable(NamedTuple):
    """One table: what stands above it, and per member name, type and origin."""

    head: str
    rows: list[tuple[str, str, str]]


def format_tables() -> dict[str, FormatTable]:
    """Every document and every part of one, by the name of its schema or of its type."""
    DocumentDecoder()  # imports all modules that define documents
    waiting: list[inspect.Type] = [inspect.type_info(one) for one in registered().values()]
    tables: dict[str, FormatTable] = {}
    types: dict[str, type] = {}
    while waiting:
        kind = waiting.pop()
        assert isinstance(kind, inspect.StructType)
        is_document = kind.tag_field == "schema"
        name = str(kind.tag) if is_document else kind.cls.__name__
        if types.setdefault(name, kind.cls) is not kind.cls:
            raise ValueError(f"two parts of documents are called {name}")
        if name in tables:
            continue
        head = ""
        if kind.array_like:
            head = "Written as an array of its members' values, in this order."
        elif kind.tag_field and not is_document:
            head = f'Also has `{kind.tag_field}`, which is `"{kind.tag}"`.'
        rows = []
        for member in kind.fields:
            text, origin = _notation(member.type, waiting)
            rows.append((member.encode_name, text, origin))
        tables[name] = FormatTable(head, rows)
    return tables


def _notation(kind: inspect.Type, parts: list[inspect.Type]) -> tuple[str, str]:
    """A type in the page's notation, and its origin mark."""
    if isinstance(kind, inspect.Metadata):
        text, below = _notation(kind.type, parts)
        marks = kind.extra_json_schema or {}
        if "x-content" in marks:
            text = text.replace("object id", "content id")
        return text, marks.get("x-origin", below)
    if isinstance(kind, inspect.ListType):
        text, origin = _notation(kind.item_type, parts)
        low, high = kind.min_length or 0, kind.max_length
        bounds = f"{{{low}..{'' if high is None else high}}}" if low or high else ""
        return f"[{text}]{bounds}", origin
    if isinstance(kind, inspect.DictType):
        text, origin = _notation(kind.value_type, parts)
        return f"{{{text}}}", origin
    if isinstance(kind, inspect.UnionType):
        options = [_notation(one, parts)[0] for one in kind.types]
        text = " or ".join(sorted(options, key=lambda option: option == "null"))
        for long, short in _UNIONS:
            text = text.replace(long, short)
        return text, ""
    if isinstance(kind, inspect.StructType):
        parts.append(kind)
        return kind.cls.__name__, ""
    return _scalar(kind), ""


def _scalar(kind: inspect.Type) -> str:
    if isinstance(kind, inspect.IntType):
        return _NUMBERS.get((kind.ge or 0, kind.le or 0), f"integer {kind.ge}..{kind.le}")
    if isinstance(kind, inspect.StrType):
        if kind.pattern is not None:
            plain = kind.pattern.removeprefix("^").removesuffix(r"\Z")
            return _PATTERNS.get(kind.pattern, f"/{plain}/")
        if kind.min_length == _DIGEST_LENGTH == kind.max_length:
            return "digest"
        if kind.max_length is None:
            return "string"
        return f"string {kind.min_length or 0}..{kind.max_length}"
    if isinstance(kind, inspect.LiteralType):
        return " or ".join(f'"{one}"' if isinstance(one, str) else str(one) for one in kind.values)
    if isinstance(kind, inspect.CustomType):
        assert kind.cls is ObjectId, kind
        return "object id"
    names = {inspect.NoneType: "null", inspect.BoolType: "boolean"}
    return names[type(kind)]
