"""JSON for machines: ASCII only, so that it is safe wherever it is shown."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["document", "line"]


def document(value: Any) -> bytes:
    """A value on many lines, members in the order given."""
    return _encoded(json.dumps(value, ensure_ascii=True, allow_nan=False, indent=2))


def line(value: Any) -> bytes:
    """A value on one line, members in the order given."""
    return _encoded(json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":")))


def _encoded(text: str) -> bytes:
    # DEL is the one character of ASCII beyond the controls that JSON leaves as it is.
    return text.replace("\x7f", "\\u007f").encode("ascii") + b"\n"
