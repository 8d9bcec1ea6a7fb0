"""Text that may not be UTF-8: file names and lines of files.

One legal encoding per value: a JSON string where the bytes are valid UTF-8, else
``{"type": "bytes", "hex": ...}``.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from vstore.errors import InvalidError

__all__ = ["RawText", "Text", "text_from_bytes", "text_to_bytes"]

Hex = Annotated[str, msgspec.Meta(pattern=r"^([0-9a-f]{2})*\Z")]


class RawText(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="bytes", tag_field="type"
):
    """Bytes that are not UTF-8."""

    hex: Hex


Text = str | RawText


def text_from_bytes(raw: bytes) -> Text:
    """The one encoding of these bytes."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return RawText(raw.hex())


def text_to_bytes(text: Text) -> bytes:
    """The bytes that ``text`` encodes.

    Raises:
        InvalidError: A tagged text whose bytes are UTF-8, which has another legal encoding
            (``not_canonical``); half a surrogate pair or a bad hex digit, which has none
            (``not_representable``).
    """
    try:
        if isinstance(text, str):
            return text.encode("utf-8")
        raw = bytes.fromhex(text.hex)
    except ValueError as error:
        raise InvalidError("a text that encodes no bytes", kind="not_representable") from error
    if not isinstance(text_from_bytes(raw), RawText):
        raise InvalidError("bytes that are UTF-8 are tagged as if not", kind="not_canonical")
    return raw
