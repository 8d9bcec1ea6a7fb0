"""Canonical JSON: RFC 8785 on a subset where every implementation agrees, read strictly.

The subset has strings, booleans, null, integers within ±(2^53 - 1), arrays and objects
(spec: storage, "Objects"). msgspec's sorted encoder equals RFC 8785 on it; its decoder
accepts more than that (duplicate members, white space, ``-0``, ``1.0``), so every document
that is read is encoded again and compared.
"""

from __future__ import annotations

import re
from typing import Any, Final, TypeVar

import msgspec

from vstore.errors import InvalidError, UnsupportedError
from vstore.objects.document import Document, schema_name, type_named
from vstore.objects.ids import ObjectId
from vstore.objects.plain_json import (
    MAX_DEPTH,
    MAX_DOCUMENT_BYTES,
    check_size,
    decode_value,
    encode_value,
)

__all__ = [
    "MAX_DEPTH",
    "MAX_DOCUMENT_BYTES",
    "decode",
    "decode_document",
    "decode_value",
    "encode",
    "encode_part",
    "encode_value",
    "references",
    "to_value",
]

T = TypeVar("T")

_is_object_id: Final = re.compile(r"b3:[0-9a-f]{64}").fullmatch
_is_schema_name: Final = re.compile(r"[a-z][a-z0-9-]{0,63}-v[1-9][0-9]{0,3}").fullmatch
# Patterns of what goes wrong are compiled when something does.
#: A bound of the type, which quotes nothing of the document.
_BOUND: Final = r"Expected `(str|int|array|object)`( of length)? ([<>]=?) (-?[0-9]+)(?: - at |$)"
#: A member of the type that is missing; its name is ours and none of the document's.
_MISSING: Final = r"Object missing required field `([A-Za-z_]{1,64})`(?: - at |$)"
_POINTER: Final = r" - at (?:`key` in )?`(\$(?:\.[A-Za-z_]{1,64}|\[[0-9]+\]|\[\.\.\.\]){0,64})`\Z"
_new: Final = str.__new__
#: Ids that were read lately: documents that follow one another name the same ones.
_ids: Final[dict[object, ObjectId]] = {}
_KEPT_IDS: Final = 4096


def _dec_hook(kind: type, value: object) -> object:
    # Called for every object id that is read: the hottest Python code of reading.
    if kind is ObjectId:
        if type(value) is str:
            known = _ids.get(value)
            if known is not None:
                return known
            if _is_object_id(value):
                if len(_ids) >= _KEPT_IDS:
                    _ids.clear()
                found = _ids[value] = _new(ObjectId, value)
                return found
        raise ValueError("not an object id")
    raise NotImplementedError(kind)


# An object id is a str to everybody but the encoder, which asks; str.__str__ answers without
# a Python call and refuses whatever is no str.
_encoder: Final = msgspec.json.Encoder(order="sorted", enc_hook=str.__str__)
_decoders: dict[Any, msgspec.json.Decoder[Any]] = {}


class _Header(msgspec.Struct):
    schema: str


_header_decoder: Final = msgspec.json.Decoder(_Header)


def encode(value: msgspec.Struct) -> bytes:
    """The canonical bytes of a document or a part of one.

    Types are trusted here: whether members are in range is checked when bytes are decoded.

    Raises:
        InvalidError: A member holds what JSON can't represent.
    """
    try:
        return _encoder.encode(value)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise InvalidError(
            f"{type(value).__name__} can't be written as canonical JSON",
            kind="not_representable",
            hint="every text is Unicode: give it as UTF-8, without lone surrogates",
        ) from error


def encode_part(value: object) -> bytes:
    """The canonical bytes of a value inside a document: a text, a tagged one, a Struct.

    Raises:
        InvalidError: It is nothing that JSON can represent.
    """
    try:
        return _encoder.encode(value)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise InvalidError(
            "a value can't be written as canonical JSON", kind="not_representable"
        ) from error


def decode(
    data: bytes, kind: type[T], *, max_bytes: int = MAX_DOCUMENT_BYTES, what: str | None = None
) -> T:
    """Read one document, or part of one, strictly.

    Args:
        data: The bytes.
        kind: The Struct type that they must be.
        max_bytes: Refuse more than this, 1 or more.
        what: How messages call it; the type's name by default.

    Raises:
        LimitExceeded: More than ``max_bytes``.
        UnsupportedError: A document of a schema that this version doesn't know.
        InvalidError: Not JSON (``invalid_json``), not of this type (``invalid_document``),
            or not in canonical form (``not_canonical``).
    """
    if len(data) > max_bytes:
        check_size(data, max_bytes, what or _name(kind))
    decoder = _decoders.get(kind)
    if decoder is None:
        decoder = _decoders[kind] = msgspec.json.Decoder(kind, dec_hook=_dec_hook)
    try:
        value: T = decoder.decode(data)
        canonical = _encoder.encode(value) == data
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise _explain(data, kind, what, error) from error
    if not canonical:
        raise InvalidError(
            f"{what or _name(kind)} is not in canonical form",
            kind="not_canonical",
            hint="canonical JSON has sorted members, no white space and one form per value",
        )
    return value


def decode_document(data: bytes, *, max_bytes: int = MAX_DOCUMENT_BYTES) -> Document:
    """Read a document of any type, chosen by its ``schema`` member.

    Raises:
        As :func:`decode`.
    """
    check_size(data, max_bytes, "document")
    name = _schema_of(data)
    kind = type_named(name)
    if kind is None:
        raise _unknown_schema(name)
    return decode(data, kind, max_bytes=max_bytes, what=name)


def references(data: bytes, kind: type[Document]) -> list[ObjectId]:
    """The object ids that a valid document names, in the order of its members.

    Raises:
        InvalidError: It isn't valid.
    """
    found: list[ObjectId] = []

    def collect(wanted: type, value: object) -> object:
        one = _dec_hook(wanted, value)
        found.append(one)  # type: ignore[arg-type]
        return one

    try:
        msgspec.json.decode(data, type=kind, dec_hook=collect)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise _explain(data, kind, None, error) from error
    return found


def to_value(value: object) -> Any:
    """The plain JSON value of a Struct: dicts, lists, strings, integers, booleans, None."""
    return msgspec.to_builtins(value, enc_hook=str.__str__, str_keys=True)


def _schema_of(data: bytes) -> str:
    try:
        return _header_decoder.decode(data).schema
    except (ValueError, RecursionError) as error:
        is_json = isinstance(error, msgspec.ValidationError)
        raise InvalidError(
            "not a document", kind="invalid_document" if is_json else "invalid_json"
        ) from error


def _unknown_schema(name: str) -> InvalidError | UnsupportedError:
    if _is_schema_name(name) is None:
        return InvalidError("not a document: its schema has no name", kind="invalid_document")
    return UnsupportedError(
        f"a document of the schema {name}, which this version doesn't know",
        kind="unsupported_schema",
        hint="a newer vstore may be able to read it",
        schema=name,
    )


def _explain(
    data: bytes, kind: object, what: str | None, error: Exception
) -> InvalidError | UnsupportedError:
    """What to raise for a library's error."""
    what = what or _name(kind)
    if not isinstance(error, msgspec.ValidationError):
        return InvalidError(f"{what} is not JSON of the subset", kind="invalid_json")
    if isinstance(kind, type) and issubclass(kind, Document):
        name = _schema_of(data)
        known = name == schema_name(kind) or type_named(name) is not None
        if not known and _is_schema_name(name):
            return _unknown_schema(name)
    pointer = _pointer(error)
    return InvalidError(
        f"{what} is not valid", kind="invalid_document", hint=_bound(error), pointer=pointer
    )


def _bound(error: msgspec.ValidationError) -> str | None:
    """Which bound of its type a member breaks, or which is missing, where that is all."""
    missing = re.match(_MISSING, str(error))
    if missing is not None:
        return f"the member {missing[1]} is missing"
    found = re.match(_BOUND, str(error))
    if found is None:
        return None
    noun = {"str": "a text", "int": "an integer", "array": "an array", "object": "an object"}
    return f"expected {noun[found[1]]}{found[2] or ''} {found[3]} {found[4]}"


def _pointer(error: msgspec.ValidationError) -> str:
    """The path of a msgspec error (`` - at `$.a[0].b` ``), as far as it names known members.

    The error's text may quote the document, so that a path is only believed when it holds
    nothing but member names and positions.
    """
    found = re.search(_POINTER, str(error))
    return found[1] if found else "$"


def _name(kind: object) -> str:
    if isinstance(kind, type) and issubclass(kind, Document):
        return schema_name(kind)
    return getattr(kind, "__name__", "value")
