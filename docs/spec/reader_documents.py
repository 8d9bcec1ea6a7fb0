"""Documents for the independent reader: canonical JSON, and the tables of ``documents.md``.

The tables are read from the page itself: they are the schema.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

MAX_DOCUMENT: Final = 64 << 20
MAX_DEPTH: Final = 64
MAX_INTEGER: Final = 2**53 - 1
INLINE: Final = 4096

_SCHEMA: Final = re.compile(r"[a-z][a-z0-9-]{0,63}-v[1-9][0-9]{0,3}")
_NUMBERS: Final = {
    "count": (0, MAX_INTEGER),
    "positive": (1, MAX_INTEGER),
    "percent": (0, 100),
    "credits": (0, 10**12),
    "integer": (-MAX_INTEGER, MAX_INTEGER),
}
_STRINGS: Final = {
    "object id": r"b3:[0-9a-f]{64}",
    "content id": r"b3:[0-9a-f]{64}",
    "digest": r"[\s\S]{64}",
    "name": r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}",
    "map key": r"[a-z][a-z0-9_.]{0,63}",
    "record id": r"E([0-9]{6}|[1-9][0-9]{6,14})",
    "instant": r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z",
    "hex": r"([0-9a-f]{2})*",
    "string": r"[\s\S]*",
}
_UNIONS: Final = {
    "text": "string or RawText",
    "line text": "string or RawText or CutLine",
    "value": "string or integer or BigInteger or Real or Blob or RawTextValue or LargeBlob"
    " or LargeText or null",
}

#: Says whether a value is of a type; notes the object ids that it refers to.
Checker = Callable[[Any, list[str]], bool]


class Unreadable(Exception):
    """Bytes that are no valid document. ``unsupported``: of a schema without a table."""

    def __init__(self, why: str, *, unsupported: bool = False) -> None:
        super().__init__(why)
        self.unsupported = unsupported


def canonical(value: Any) -> bytes:
    """The canonical bytes of a value whose member names are ASCII."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return text.encode("utf-8")


def parse(data: bytes) -> Any:
    """The value of canonical JSON."""
    value = parse_loosely(data)
    try:
        same = canonical(value) == data
    except (ValueError, RecursionError) as error:
        raise Unreadable("not canonical JSON") from error
    if not same:
        raise Unreadable("not in canonical form")
    return value


def parse_loosely(data: bytes) -> Any:
    """The value of JSON in any form, without numbers that no document has."""

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) != len(pairs):
            raise ValueError("a member stands twice")
        return value

    def refuse(text: str) -> Any:
        raise ValueError(f"a number that no document has: {text[:20]}")

    try:
        value = json.loads(
            data.decode("utf-8"),
            object_pairs_hook=members,
            parse_float=refuse,
            parse_constant=refuse,
        )
        _check_depth(value, MAX_DEPTH)
    except (ValueError, RecursionError) as error:
        raise Unreadable("not JSON of the subset") from error
    return value


def _schema_of(data: bytes) -> str:
    """The name of a document's schema, whatever else is wrong with its form."""

    def refuse(text: str) -> Any:
        raise ValueError(f"no JSON: {text}")

    try:
        value = json.loads(data.decode("utf-8"), parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise Unreadable("not JSON") from error
    schema = value.get("schema") if isinstance(value, dict) else None
    if not isinstance(schema, str) or not _SCHEMA.fullmatch(schema):
        raise Unreadable("no document: it has no schema")
    return schema


def _check_depth(value: Any, left: int) -> None:
    if isinstance(value, dict | list):
        if left == 0:
            raise ValueError("nested too deep")
        for one in value.values() if isinstance(value, dict) else value:
            _check_depth(one, left - 1)


class Schemas:
    """The document types of the page.

    Args:
        page: ``documents.md``.
    """

    def __init__(self, page: Path) -> None:
        self.tables: dict[str, list[tuple[str, str]]] = {}
        self._arrays: set[str] = set()
        self._tags: dict[str, tuple[str, str]] = {}
        self._checkers: dict[str, Checker] = {}
        sections = re.split(r"^### (\S+)\n", page.read_text("utf-8"), flags=re.MULTILINE)
        for name, body in zip(sections[1::2], sections[2::2], strict=True):
            self.tables[name] = re.findall(r"^\| `(\w+)` \| `([^`]+)` \|", body, re.MULTILINE)
            if body.lstrip().startswith("Written as an array"):
                self._arrays.add(name)
            tag = re.search(r"^Also has `(\w+)`, which is `\"([^\"]+)\"`", body, re.MULTILINE)
            if tag:
                self._tags[name] = (tag[1], tag[2])
            elif _SCHEMA.fullmatch(name):
                self._tags[name] = ("schema", name)

    def read(self, data: bytes) -> tuple[dict[str, Any], list[str]]:
        """A document and the object ids that it refers to.

        Raises:
            Unreadable: It isn't one.
        """
        if len(data) > MAX_DOCUMENT:
            raise Unreadable("larger than any document", unsupported=True)
        schema = _schema_of(data)
        if schema not in self.tables:
            raise Unreadable(f"the schema {schema} is not known", unsupported=True)
        references: list[str] = []
        value = parse(data)
        if not self.checker(schema)(value, references):
            raise Unreadable(f"no valid {schema}")
        return value, references

    def checker(self, kind: str) -> Checker:
        """The checker of a type in the page's notation."""
        known = self._checkers.get(kind)
        if known is None:
            # A type may contain itself: find it by name when it is used.
            self._checkers[kind] = lambda value, found: self._checkers[kind](value, found)
            known = self._checkers[kind] = self._compile(kind)
        return known

    def _compile(self, kind: str) -> Checker:
        kind = _UNIONS.get(kind, kind)
        parts = _alternatives(kind)
        if len(parts) > 1:
            options = [self.checker(part) for part in parts]
            return lambda value, found: any(option(value, found) for option in options)
        if kind in self.tables:
            return self._table(kind)
        if kind[0] == "[":
            inner, _, bounds = kind[1:].rpartition("]")
            return _array(self.checker(inner), *_bounds(bounds.strip("{}"), 1 << 62))
        if kind[0] == "{":
            return _map(self.checker(kind[1:-1]))
        return _scalar(kind)

    def _table(self, name: str) -> Checker:
        members = [(member, self.checker(kind)) for member, kind in self.tables[name]]
        if name in self._arrays:

            def check_array(value: Any, found: list[str]) -> bool:
                return (
                    type(value) is list
                    and len(value) == len(members)
                    and all(
                        check(one, found) for one, (_, check) in zip(value, members, strict=True)
                    )
                )

            return check_array
        tag, tagged = self._tags.get(name, ("", ""))
        names = {member for member, _ in members} | ({tag} if tag else set())

        def check_object(value: Any, found: list[str]) -> bool:
            return (
                type(value) is dict
                and value.keys() == names
                and (not tag or value[tag] == tagged)
                and all(check(value[member], found) for member, check in members)
            )

        return check_object


def _alternatives(kind: str) -> list[str]:
    """The parts of a type that ``or`` separates, outside brackets."""
    parts, depth, start = [], 0, 0
    for found in re.finditer(r"[\[\]{}]| or ", kind):
        if found[0] == " or ":
            if depth == 0:
                parts.append(kind[start : found.start()])
                start = found.end()
        else:
            depth += 1 if found[0] in "[{" else -1
    return [*parts, kind[start:]]


def _bounds(text: str, highest: int) -> tuple[int, int]:
    low, _, high = text.partition("..")
    return int(low or 0), int(high or highest)


def _array(check: Checker, low: int, high: int) -> Checker:
    def check_array(value: Any, found: list[str]) -> bool:
        return (
            type(value) is list
            and low <= len(value) <= high
            and all(check(one, found) for one in value)
        )

    return check_array


def _map(check: Checker) -> Checker:
    key = re.compile(_STRINGS["map key"])

    def check_map(value: Any, found: list[str]) -> bool:
        return type(value) is dict and all(
            key.fullmatch(name) and check(one, found) for name, one in value.items()
        )

    return check_map


def _scalar(kind: str) -> Checker:
    word, _, bounds = kind.partition(" ")
    if kind == "null":
        return lambda value, _: value is None
    if kind == "boolean":
        return lambda value, _: type(value) is bool
    if kind.isdecimal():
        return lambda value, _: type(value) is int and value == int(kind)
    if kind[0] == '"':
        return lambda value, _: value == kind[1:-1]
    if kind in _NUMBERS or word == "integer":
        low, high = _NUMBERS.get(kind) or _bounds(bounds, MAX_INTEGER)
        return lambda value, _: type(value) is int and low <= value <= high
    if word == "string" and bounds:
        low, high = _bounds(bounds, MAX_DOCUMENT)
        return lambda value, _: type(value) is str and low <= len(value) <= high
    pattern = re.compile(kind[1:-1] if kind[0] == "/" else _STRINGS[kind], re.ASCII)
    if kind in ("object id", "content id"):

        def check_object_id(value: Any, found: list[str]) -> bool:
            if type(value) is not str or not pattern.fullmatch(value):
                return False
            found.append(value)
            return True

        return check_object_id
    return lambda value, _: type(value) is str and pattern.fullmatch(value) is not None


def text_bytes(text: Any) -> bytes:
    """The bytes of a text.

    Raises:
        Unreadable: It has another encoding.
    """
    if isinstance(text, str):
        return text.encode("utf-8")
    raw = bytes.fromhex(text["hex"])
    if _is_utf8(raw):
        raise Unreadable("bytes that are UTF-8 are tagged as if not")
    return raw


def check_value(value: Any) -> None:
    """Check that a value has its one encoding, beyond what its table says.

    Raises:
        Unreadable: It has another.
    """
    kind = value["type"] if isinstance(value, dict) else ""
    bad = False
    if isinstance(value, str):
        bad = len(value.encode("utf-8")) > INLINE
    elif kind == "integer":
        number = int(value["value"])
        bad = -MAX_INTEGER <= number <= MAX_INTEGER or not -(2**63) <= number < 2**63
    elif kind == "real":
        bad = not _is_real(value["value"])
    elif kind in ("blob", "text"):
        raw = bytes.fromhex(value["hex"])
        bad = len(raw) > INLINE or (kind == "text" and _is_utf8(raw))
    elif kind:
        bad = value["size"] <= INLINE
    if bad:
        raise Unreadable("a value has another encoding")


def _is_real(text: str) -> bool:
    try:
        return repr(float(text)) == text and text != "nan"
    except ValueError:
        return False


def _is_utf8(raw: bytes) -> bool:
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
