"""Untrusted text made safe to show, on a terminal, in a log, in a report.

What comes from a package may hold escape sequences that rewrite a terminal, bidirectional
overrides that make text read differently, or bytes that are no text. All of these become
visible escapes; ordinary text of any language stays as it is.
"""

from __future__ import annotations

import unicodedata
from typing import Final

from vstore.objects.text import RawText, Text

__all__ = ["visible", "visible_bytes", "visible_text"]

_SHORT: Final = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}


def visible(text: str, *, keep: str = "", double_backslash: bool = False) -> str:
    """Text whose control characters, format characters and surrogates are visible escapes.

    Escaped are all characters of the Unicode categories control (``ESC``, ``NUL``, C1),
    format (bidirectional overrides, zero-width characters, tags), surrogate, private use and
    unassigned, and the line and paragraph separators. A surrogate that stands for a byte of
    a file name that is not UTF-8 (U+DC80 to U+DCFF) is shown as that byte.

    Args:
        text: Any string.
        keep: Characters to leave as they are although they would be escaped, such as
            ``"\\n"`` where lines are meant.
        double_backslash: Write a backslash as two, so that no text looks like an escape that
            was not made here. Off by default: source code is full of them.

    Returns:
        A string that ``str.encode`` can encode, without anything a terminal acts on except
        the characters in ``keep``.
    """
    if text.isprintable() and not (double_backslash and "\\" in text):
        return text
    return "".join(
        one if one in keep else _escape(one, double_backslash=double_backslash) for one in text
    )


def visible_bytes(raw: bytes, *, keep: str = "", double_backslash: bool = False) -> str:
    """As :func:`visible`, of bytes that should be UTF-8; bytes that are not become ``\\xNN``."""
    text = raw.decode("utf-8", "surrogateescape")
    return visible(text, keep=keep, double_backslash=double_backslash)


def visible_text(text: Text, *, keep: str = "", double_backslash: bool = False) -> str:
    """As :func:`visible`, of a text of a document, whether it is UTF-8 or tagged as not."""
    if isinstance(text, RawText):
        raw = bytes.fromhex(text.hex)
        return visible_bytes(raw, keep=keep, double_backslash=double_backslash)
    return visible(text, keep=keep, double_backslash=double_backslash)


def _escape(one: str, *, double_backslash: bool) -> str:
    if one == "\\":
        return r"\\" if double_backslash else one
    # Spaces other than U+0020 are no danger, and ordinary in some languages.
    if one.isprintable() or unicodedata.category(one) == "Zs":
        return one
    if one in _SHORT:
        return _SHORT[one]
    number = ord(one)
    if 0xDC80 <= number <= 0xDCFF:
        return f"\\x{number - 0xDC00:02x}"
    if number <= 0xFF:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number <= 0xFFFF else f"\\U{number:08x}"
