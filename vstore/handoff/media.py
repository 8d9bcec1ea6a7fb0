"""What kind of file an attachment seems to be, by its first bytes alone.

Names are not looked at, and nothing that a browser would run (HTML, SVG, scripts) is ever
recognised: such a file is plain text. The answer is for people; whoever serves the bytes
still says ``nosniff``.
"""

from __future__ import annotations

import codecs
from typing import Final

__all__ = ["SNIFFED_BYTES", "media_type"]

#: How many bytes are looked at, at the most.
SNIFFED_BYTES: Final = 4096

_STARTS: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", "application/pdf"),
    (b"PK\x03\x04", "application/zip"),
    (b"PK\x05\x06", "application/zip"),
    (b"\x1f\x8b\x08", "application/gzip"),
    (b"\x28\xb5\x2f\xfd", "application/zstd"),
    (b"\xfd7zXZ\x00", "application/x-xz"),
    (b"BZh", "application/x-bzip2"),
    (b"SQLite format 3\x00", "application/vnd.sqlite3"),
    (b"\x1aE\xdf\xa3", "video/webm"),
    (b"\x7fELF", "application/octet-stream"),
)


def media_type(head: bytes, *, complete: bool) -> str:
    """The media type of a file.

    Args:
        head: Its first bytes; more than :data:`SNIFFED_BYTES` are not looked at.
        complete: Whether that is the whole file.
    """
    head, complete = head[:SNIFFED_BYTES], complete and len(head) <= SNIFFED_BYTES
    for start, kind in _STARTS:
        if head.startswith(start):
            return kind
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    if head[4:8] == b"ftyp":
        return "video/mp4"
    return "text/plain" if _is_text(head, complete=complete) else "application/octet-stream"


def _is_text(head: bytes, *, complete: bool) -> bool:
    if b"\0" in head:
        return False
    try:
        # A character may be cut in two where there are more bytes.
        codecs.getincrementaldecoder("utf-8")().decode(head, complete)
    except UnicodeDecodeError:
        return False
    return True
