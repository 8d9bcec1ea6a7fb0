"""Plain JSON values: the subset of RFC 8785 where every implementation agrees.

Strings without lone surrogates, booleans, null, integers within ±(2^53 - 1), arrays and
objects, nested at most :data:`MAX_DEPTH` deep (spec: storage, "Objects"). ``canonical``
has the same for documents with a type.
"""

from __future__ import annotations

from itertools import accumulate
from typing import Any, Final

import msgspec

from vstore.errors import InvalidError, LimitExceeded
from vstore.objects.document import MAX_INTEGER
from vstore.objects.ids import ObjectId

__all__ = [
    "MAX_DEPTH",
    "MAX_DOCUMENT_BYTES",
    "check_size",
    "decode_value",
    "encode_value",
]

MAX_DEPTH: Final = 64
#: No document of any kind is larger; evidence and handoff have lower limits of their own.
MAX_DOCUMENT_BYTES: Final = 64 * 1024 * 1024

# Longer than any integer of the subset with its sign.
_MAX_DIGITS: Final = len(str(-MAX_INTEGER))

_sorted_encoder: Final = msgspec.json.Encoder(order="sorted", enc_hook=str.__str__)
_ordered_encoder: Final = msgspec.json.Encoder(enc_hook=str.__str__)
_any_decoder: Final = msgspec.json.Decoder()

_STRUCTURE: Final = b'[]{}"'
_NOT_STRUCTURE: Final = bytes(set(range(256)) - set(_STRUCTURE))
_STEP: Final = [
    1 if byte in b"[{" else -1 if byte in b"]}" else 0 for byte in range(256)
].__getitem__


def encode_value(value: object) -> bytes:
    """The canonical bytes of a plain JSON value.

    Args:
        value: Dicts, lists or tuples, strings, integers, booleans, None, object ids.

    Raises:
        InvalidError: Outside the subset (``not_representable``): a float, an integer past
            ±(2^53 - 1), a lone surrogate, a member name that is no string, another type;
            or nested deeper than 64 (``too_deep``).
    """
    if _check_value(value, MAX_DEPTH):
        return _sorted_encoder.encode(value)
    return _ordered_encoder.encode(_reordered(value))


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
        InvalidError: Not JSON (``invalid_json``), outside the subset (``invalid_json``,
            ``not_representable``), nested deeper than 64 (``too_deep``), or not canonical
            though demanded (``not_canonical``).
    """
    check_size(data, max_bytes, "JSON")
    _check_depth(data)
    if not canonical:
        return _decode_loose(data)
    try:
        value = _any_decoder.decode(data)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise InvalidError("not JSON", kind="invalid_json") from error
    if encode_value(value) != data:
        raise InvalidError("not in canonical form", kind="not_canonical")
    return value


def check_size(data: bytes, max_bytes: int, what: str) -> None:
    """Refuse input over a limit before anything reads it.

    Raises:
        LimitExceeded: More than ``max_bytes``.
    """
    if len(data) > max_bytes:
        raise LimitExceeded(
            f"{what} has {len(data)} bytes; at most {max_bytes} are read",
            limit="max_bytes",
            value=max_bytes,
            asked=len(data),
        )


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("duplicate member")
    return value


def _refuse(_: str) -> Any:
    raise ValueError("a number outside the subset")


def _integer(text: str) -> int:
    # Some implementations read -0 as a float of its own, so the subset has no such number.
    if len(text) > _MAX_DIGITS or text == "-0":
        raise ValueError("a number outside the subset")
    return int(text)


def _decode_loose(data: bytes) -> Any:
    # The standard library tells duplicate members apart; msgspec keeps the last one.
    import json

    try:
        value = json.loads(
            data.decode("utf-8"),
            object_pairs_hook=_members,
            parse_float=_refuse,
            parse_constant=_refuse,
            parse_int=_integer,
        )
    except (ValueError, RecursionError) as error:
        raise InvalidError(
            "not JSON of the accepted subset",
            kind="invalid_json",
            hint="UTF-8 without a byte order mark, no number but integers, no member twice",
        ) from error
    _check_value(value, MAX_DEPTH)
    return value


def _check_depth(data: bytes) -> None:
    """Refuse nesting past the limit before any recursive parser sees it.

    Whatever isn't JSON may be counted wrong: a parser refuses it afterwards.
    """
    if data.count(b"[") + data.count(b"{") <= MAX_DEPTH:
        return
    # Escapes go first, so that every quote left opens or closes a string. Pairs of
    # backslashes are taken from the left of each run, as a parser does.
    plain = data.replace(b"\\\\", b"").replace(b'\\"', b"").translate(None, _NOT_STRUCTURE)
    outside_strings = b"".join(plain.split(b'"')[::2])
    if max(accumulate(map(_STEP, outside_strings)), default=0) > MAX_DEPTH:
        raise _too_deep()


def _check_value(value: object, depth: int) -> bool:
    """Refuse what the subset lacks; say whether code points sort member names rightly."""
    kind = type(value)
    if kind is str:
        return _check_text(value)  # type: ignore[arg-type]
    if kind is int:
        if not -MAX_INTEGER <= value <= MAX_INTEGER:  # type: ignore[operator]
            raise InvalidError("an integer past 2^53 - 1", kind="not_representable")
        return True
    if value is None or kind is bool or kind is ObjectId:
        return True
    if depth == 0:
        raise _too_deep()
    simple = True
    if kind is list or kind is tuple:
        for one in value:  # type: ignore[attr-defined]
            simple &= _check_value(one, depth - 1)
        return simple
    if kind is dict:
        for name, one in value.items():  # type: ignore[attr-defined]
            if type(name) is str:
                _check_text(name)
                # Past U+FFFF the order of code points and of UTF-16 units may differ.
                simple &= name.isascii() or max(name) <= "\uffff"
            elif type(name) is not ObjectId:
                raise InvalidError("a member name that is no string", kind="not_representable")
            simple &= _check_value(one, depth - 1)
        return simple
    raise InvalidError(f"{kind.__name__} has no canonical form", kind="not_representable")


def _check_text(text: str) -> bool:
    if not text.isascii():
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise InvalidError(
                "a text with half a surrogate pair", kind="not_representable"
            ) from error
    return True


def _reordered(value: object) -> object:
    """The value with members in the order of their names' UTF-16 units (RFC 8785, 3.2.3)."""
    if isinstance(value, dict):
        ordered = sorted(value.items(), key=lambda member: member[0].encode("utf-16-be"))
        return {name: _reordered(one) for name, one in ordered}
    if isinstance(value, list | tuple):
        return [_reordered(one) for one in value]
    return value


def _too_deep() -> InvalidError:
    return InvalidError(f"JSON nested deeper than {MAX_DEPTH}", kind="too_deep", limit=MAX_DEPTH)
