"""How many pixels a picture's own header claims, without decoding any of it.

The page shows a picture only where that is few enough that a browser holds it in memory with
ease. What is no PNG, JPEG, GIF or WebP, or says its size in no way known here, has no size and
is never shown (spec: handoff, "download headers").
"""

from __future__ import annotations

from typing import Final, NamedTuple

__all__ = ["HEADER_BYTES", "MAX_PIXELS", "RASTER_TYPES", "Dimensions", "dimensions", "shown_inline"]

#: Bytes of a picture that are read to find its size. A JPEG's stands behind its metadata.
HEADER_BYTES: Final = 1 << 18
#: More pixels than this are never shown.
MAX_PIXELS: Final = 40_000_000
#: The media types that may be shown in a page.
RASTER_TYPES: Final = frozenset({"image/gif", "image/jpeg", "image/png", "image/webp"})

_PNG: Final = b"\x89PNG\r\n\x1a\n"
#: JPEG markers that start a frame: SOF0 to SOF15 without DHT, JPG and DAC.
_FRAMES: Final = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_START_OF_SCAN: Final = 0xDA


class Dimensions(NamedTuple):
    """Pixels across and down, each 1 or more."""

    width: int
    height: int


def dimensions(head: bytes) -> Dimensions | None:
    """The size that a picture's header claims.

    Args:
        head: The file's first bytes; :data:`HEADER_BYTES` are enough.

    Returns:
        None for what is no such picture, is cut before its size, or claims no pixels.

    Source: PNG (ISO 15948) 11.2.2, GIF89a 18, JPEG (ITU-T T.81) B.2.2, WebP (RFC 9649) 2.5-2.7.
    """
    found = None
    if head.startswith(_PNG):
        found = _png(head)
    elif head[:6] in (b"GIF87a", b"GIF89a"):
        found = _gif(head)
    elif head.startswith(b"\xff\xd8\xff"):
        found = _jpeg(head)
    elif head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        found = _webp(head)
    return found if found is not None and min(found) > 0 else None


def shown_inline(media_type: str, head: bytes) -> bool:
    """Whether a file may be shown as a picture in a page.

    Args:
        media_type: What its first bytes were recognised as.
        head: Its first :data:`HEADER_BYTES` bytes.
    """
    if media_type not in RASTER_TYPES:
        return False
    found = dimensions(head)
    return found is not None and found.width * found.height <= MAX_PIXELS


def _png(head: bytes) -> Dimensions | None:
    if head[12:16] != b"IHDR" or len(head) < 24:
        return None
    return Dimensions(int.from_bytes(head[16:20], "big"), int.from_bytes(head[20:24], "big"))


def _little(
    head: bytes, at: int, width: int, *, mask: int = -1, less: int = 0
) -> Dimensions | None:
    """Two little-endian numbers of ``width`` bytes each."""
    if len(head) < at + 2 * width:
        return None
    across = int.from_bytes(head[at : at + width], "little") & mask
    down = int.from_bytes(head[at + width : at + 2 * width], "little") & mask
    return Dimensions(across + less, down + less)


def _gif(head: bytes) -> Dimensions | None:
    """The logical screen, or the first frame where that is larger: browsers grow the screen."""
    screen = _little(head, 6, 2)
    if screen is None or len(head) < 13:
        return None
    at = 13 + _colours(head[10])
    while head[at : at + 1] == b"\x21":  # extensions: a label, then blocks to the empty one
        at += 2
        while length := head[at : at + 1]:
            at += 1 + length[0]
            if length == b"\0":
                break
    frame = _little(head, at + 5, 2) if head[at : at + 1] == b"\x2c" else None
    if frame is None:
        return None
    return Dimensions(max(screen.width, frame.width), max(screen.height, frame.height))


def _colours(flags: int) -> int:
    """Bytes of a colour table that a GIF's flags announce."""
    return 3 << (flags & 7) + 1 if flags & 0x80 else 0


def _jpeg(head: bytes) -> Dimensions | None:
    """The largest frame before the first scan."""
    found, at = None, 2
    while at + 9 <= len(head) and head[at] == 0xFF:
        marker = head[at + 1]
        if marker == 0xFF:  # filling
            at += 1
            continue
        if marker == _START_OF_SCAN:
            return found
        if marker in _FRAMES:
            down = int.from_bytes(head[at + 5 : at + 7], "big")
            across = int.from_bytes(head[at + 7 : at + 9], "big")
            size = Dimensions(across, down)
            found = size if found is None else max(found, size, key=lambda one: one[0] * one[1])
        length = int.from_bytes(head[at + 2 : at + 4], "big")
        if length < 2:
            return None
        at += 2 + length
    return None


def _webp(head: bytes) -> Dimensions | None:
    kind = head[12:16]
    if kind == b"VP8X":  # 24 bits each, less one
        return _little(head, 24, 3, less=1)
    if kind == b"VP8 " and head[23:26] == b"\x9d\x01\x2a":
        return _little(head, 26, 2, mask=0x3FFF)
    if kind == b"VP8L" and head[20:21] == b"\x2f" and len(head) >= 25:
        bits = int.from_bytes(head[21:25], "little")
        return Dimensions((bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)
    return None
