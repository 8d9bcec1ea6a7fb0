"""Canonical JSON: RFC 8785 on a subset where every implementation agrees, read strictly.

The subset has strings, booleans, null, integers within ±(2^53 - 1), arrays and objects
(spec: storage, "Objects"). msgspec's sorted encoder equals RFC 8785 on it; its decoder
accepts more than that (duplicate members, white space, ``-0``, ``1.0``), so every document
that is read is encoded again and compared.
"""

from __future__ import annotations

from typing import Any, Final, TypeVar

import msgspec

from vstore.errors import InvalidError, LimitExceeded, UnsupportedError
from vstore.objects.document import MAX_INTEGER, Document, registered, schema_name
from vstore.objects.ids import PREFIX, ObjectId

__all__ = [
    "MAX_DEPTH",
    "MAX_DOCUMENT_BYTES",
    "decode",
    "decode_document",
    "decode_value",
    "encode",
    "encode_value",
    "references",
    "to_value",
]

MAX_DEPTH: Final = 64
#: No document of any kind is larger; evidence and handoff have lower limits of their own.
MAX_DOCUMENT_BYTES: Final = 64 * 1024 * 1024

T = TypeVar("T")

_HEX_DIGITS: Final = "0123456789abcdef"


def _to_id(value: object) -> ObjectId:
    if (
        type(value) is str
        and len(value) == 67
        and value.startswith(PREFIX)
        and not value[3:].strip(_HEX_DIGITS)
    ):
        return str.__new__(ObjectId, value)
    raise ValueError("not an object id")


def _dec_hook(kind: type, value: object) -> object:
    if kind is ObjectId:
        return _to_id(value)
    raise NotImplementedError(kind)


def _enc_hook(value: object) -> object:
    if type(value) is ObjectId:
        return str(value)
    raise TypeError(f"{type(value).__name__} has no canonical form")


_encoder: Final = msgspec.json.Encoder(order="sorted", enc_hook=_enc_hook)
_any_decoder: Final = msgspec.json.Decoder()
_decoders: dict[Any, msgspec.json.Decoder[Any]] = {}


class _Header(msgspec.Struct):
    schema: str


def encode(value: msgspec.Struct) -> bytes:
    """The canonical bytes of a document or a part of one.

    Raises:
        InvalidError: A member holds what JSON or the subset can't represent.
    """
    try:
        return _encoder.encode(value)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise InvalidError(
            f"{type(value).__name__} can't be written as canonical JSON",
            kind="not_representable",
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
    what = what or _name(kind)
    _check_size(data, max_bytes, what)
    decoder = _decoders.get(kind)
    if decoder is None:
        decoder = _decoders[kind] = msgspec.json.Decoder(kind, dec_hook=_dec_hook)
    try:
        value: T = decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError) as error:
        raise _explain(what, error) from error
    if _encoder.encode(value) != data:
        raise InvalidError(
            f"{what} is not in canonical form",
            kind="not_canonical",
            hint="canonical JSON has sorted members, no white space and one form per value",
        )
    return value


def decode_document(data: bytes, *, max_bytes: int = MAX_DOCUMENT_BYTES) -> Document:
    """Read a document of any registered type, chosen by its ``schema`` member.

    Raises:
        As :func:`decode`.
    """
    _check_size(data, max_bytes, "document")
    name = _schema_of(data)
    kind = registered().get(name)
    if kind is None:
        raise UnsupportedError(
            "a document of a schema that this version doesn't know",
            kind="unsupported_schema",
            hint="a newer vstore may be able to read it",
        )
    return decode(data, kind, max_bytes=max_bytes, what=schema_name(kind))


def references(data: bytes, kind: type[Document]) -> list[ObjectId]:
    """The object ids that a valid document names, in the order of its members."""
    found: list[ObjectId] = []

    def collect(wanted: type, value: object) -> object:
        if wanted is ObjectId:
            one = _to_id(value)
            found.append(one)
            return one
        raise NotImplementedError(wanted)

    msgspec.json.decode(data, type=kind, dec_hook=collect)
    return found


def to_value(value: object) -> Any:
    """The plain JSON value of a Struct: dicts, lists, strings, integers, booleans, None."""
    return msgspec.to_builtins(value, enc_hook=_enc_hook, str_keys=True)


def encode_value(value: object) -> bytes:
    """The canonical bytes of a plain JSON value.

    Raises:
        InvalidError: Outside the subset: a float, an integer past ±(2^53 - 1), a lone
            surrogate, a member name that is no string, or nested deeper than 64.
    """
    _check_value(value, MAX_DEPTH)
    try:
        return _encoder.encode(value)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise InvalidError("not representable as canonical JSON", kind="not_representable") from (
            error
        )


def decode_value(
    data: bytes, *, max_bytes: int = MAX_DOCUMENT_BYTES, canonical: bool = True
) -> Any:
    """Read a plain JSON value of the subset.

    Args:
        data: The bytes.
        max_bytes: Refuse more than this, 1 or more.
        canonical: Demand canonical form too; else white space and member order are free, and
            a duplicate member is still refused.

    Raises:
        LimitExceeded: More than ``max_bytes``.
        InvalidError: Not JSON, outside the subset, or not canonical though demanded.
    """
    _check_size(data, max_bytes, "JSON")
    if canonical:
        _check_depth(data)
        try:
            value = _any_decoder.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise InvalidError("not JSON", kind="invalid_json") from error
        if encode_value(value) != data:
            raise InvalidError("not in canonical form", kind="not_canonical")
        return value
    return _decode_loose(data)


def _decode_loose(data: bytes) -> Any:
    # The standard library tells duplicate members apart; msgspec keeps the last one.
    import json

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) != len(pairs):
            raise ValueError("duplicate member")
        return value

    def refuse(_: str) -> Any:
        raise ValueError("a number outside the subset")

    def integer(text: str) -> int:
        if len(text) > 17:
            raise ValueError("a number outside the subset")
        return int(text)

    _check_depth(data)
    try:
        value = json.loads(
            data.decode("utf-8"),
            object_pairs_hook=members,
            parse_float=refuse,
            parse_constant=refuse,
            parse_int=integer,
        )
    except (ValueError, RecursionError) as error:
        raise InvalidError("not JSON of the accepted subset", kind="invalid_json") from error
    _check_value(value, MAX_DEPTH)
    return value


def _check_depth(data: bytes) -> None:
    """Refuse nesting past the limit before any recursive parser sees it."""
    if data.count(b"[") + data.count(b"{") <= MAX_DEPTH:
        return
    depth = 0
    in_string = escaped = False
    for byte in data:
        if in_string:
            if escaped:
                escaped = False
            elif byte == 0x5C:
                escaped = True
            elif byte == 0x22:
                in_string = False
        elif byte == 0x22:
            in_string = True
        elif byte in b"[{":
            depth += 1
            if depth > MAX_DEPTH:
                raise InvalidError(
                    f"JSON nested deeper than {MAX_DEPTH}", kind="too_deep", limit=MAX_DEPTH
                )
        elif byte in b"]}":
            depth -= 1


def _check_value(value: object, depth: int) -> None:
    kind = type(value)
    if kind is str:
        return
    if kind is int:
        if not -MAX_INTEGER <= value <= MAX_INTEGER:  # type: ignore[operator]
            raise InvalidError("an integer past 2^53 - 1", kind="not_representable")
        return
    if value is None or kind is bool:
        return
    if depth == 0:
        raise InvalidError(f"nested deeper than {MAX_DEPTH}", kind="too_deep", limit=MAX_DEPTH)
    if kind is list or kind is tuple:
        for one in value:  # type: ignore[attr-defined]
            _check_value(one, depth - 1)
        return
    if kind is dict:
        for name, one in value.items():  # type: ignore[attr-defined]
            if type(name) is not str:
                raise InvalidError("a member name that is no string", kind="not_representable")
            _check_value(one, depth - 1)
        return
    if kind is ObjectId:
        return
    raise InvalidError(f"{kind.__name__} has no canonical form", kind="not_representable")


def _check_size(data: bytes, max_bytes: int, what: str) -> None:
    if len(data) > max_bytes:
        raise LimitExceeded(
            f"{what} has {len(data)} bytes; at most {max_bytes} are read",
            limit="max_bytes",
            value=max_bytes,
            asked=len(data),
        )


def _schema_of(data: bytes) -> str:
    try:
        return msgspec.json.decode(data, type=_Header).schema
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidError("not a document", kind="invalid_json") from error


def _explain(what: str, error: Exception) -> InvalidError | UnsupportedError:
    if not isinstance(error, msgspec.ValidationError):
        return InvalidError(f"{what} is not JSON", kind="invalid_json")
    return InvalidError(f"{what} is not valid", kind="invalid_document", pointer=_pointer(error))


def _pointer(error: msgspec.ValidationError) -> str:
    """The path of a msgspec error (`` - at `$.a[0].b` ``), as far as it names known members."""
    text = str(error)
    start = text.rfind("`$")
    return text[start + 1 : -1] if start >= 0 else "$"


def _name(kind: object) -> str:
    if isinstance(kind, type) and issubclass(kind, Document):
        return schema_name(kind)
    return getattr(kind, "__name__", "value")
