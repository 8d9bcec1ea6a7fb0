"""The size that a picture's header claims; files here are built by the formats' own layouts."""

from __future__ import annotations

import base64
import struct
import zlib

import pytest

from vstore.web.raster import MAX_PIXELS, dimensions, shown_inline


def png(width: int, height: int) -> bytes:
    header = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + struct.pack(">I", 13)
        + header
        + struct.pack(">I", zlib.crc32(header))
    )


def gif(width: int, height: int, *, frame: tuple[int, int], extension: bytes = b"") -> bytes:
    table = b"\0" * 6  # two colours
    screen = struct.pack("<HHBBB", width, height, 0x80, 0, 0) + table
    return b"GIF89a" + screen + extension + b"\x2c" + struct.pack("<HHHHB", 0, 0, *frame, 0)


def segment(marker: int, content: bytes) -> bytes:
    return bytes([0xFF, marker]) + struct.pack(">H", len(content) + 2) + content


def jpeg(*segments: bytes) -> bytes:
    return b"\xff\xd8" + b"".join(segments) + segment(0xDA, b"\1\1\0\0\x3f\0")


def frame(marker: int, width: int, height: int) -> bytes:
    return segment(marker, struct.pack(">BHHB", 8, height, width, 1) + b"\1\x11\0")


#: What encoders of WebP write for one pixel: lossy, lossless, extended with alpha.
WEBP = {
    "lossy": "UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA",
    "lossless": "UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA==",
    "extended": (
        "UklGRkoAAABXRUJQVlA4WAoAAAAQAAAAAAAAAAAAQUxQSAwAAAARBxAR/Q9ERP8DAABWUDggGAAAABQB"
        "AJ0BKgEAAQAAAP4AAA3AAP7mtQAAAA=="
    ),
}


@pytest.mark.parametrize(
    ("picture", "size"),
    [
        pytest.param(png(640, 480), (640, 480), id="png"),
        pytest.param(gif(640, 480, frame=(640, 480)), (640, 480), id="gif"),
        pytest.param(gif(1, 1, frame=(640, 480)), (640, 480), id="gif-frame-beyond-its-screen"),
        pytest.param(
            gif(2, 3, frame=(1, 1), extension=b"\x21\xf9\x04\0\0\0\0\0\x21\xfe\x03abc\0"),
            (2, 3),
            id="gif-with-extensions",
        ),
        pytest.param(jpeg(segment(0xE0, b"JFIF\0"), frame(0xC0, 640, 480)), (640, 480), id="jpeg"),
        pytest.param(jpeg(frame(0xC2, 640, 480)), (640, 480), id="progressive-jpeg"),
        pytest.param(
            jpeg(segment(0xC4, b"\0" * 9), b"\xff", frame(0xC1, 640, 480)), (640, 480),
            id="jpeg-after-a-table-and-filling",
        ),
        pytest.param(jpeg(frame(0xC0, 2, 2), frame(0xC0, 640, 480)), (640, 480), id="two-frames"),
        *(
            pytest.param(base64.b64decode(text), (1, 1), id=f"webp-{name}")
            for name, text in WEBP.items()
        ),
        pytest.param(
            b"RIFF\x16\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\x7f\x02\0\xdf\x01\0", (640, 480), id="webp"
        ),
    ],
)  # fmt: skip
def test_the_header_says_the_size(picture: bytes, size: tuple[int, int]) -> None:
    assert dimensions(picture) == size


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"<svg xmlns='http://www.w3.org/2000/svg' width='1' height='1'/>", id="svg"),
        pytest.param(png(640, 480)[:20], id="png-cut"),
        pytest.param(b"\x89PNG\r\n\x1a\n" + b"\0\0\0\rIDAT" + b"\0\0\0\1" * 4, id="png-of-others"),
        pytest.param(png(0, 480), id="png-of-no-width"),
        pytest.param(gif(640, 480, frame=(1, 1))[:14], id="gif-cut"),
        pytest.param(b"GIF89a" + b"\1\0\1\0\0\0\0;", id="gif-without-a-frame"),
        pytest.param(jpeg(segment(0xE0, b"JFIF\0")), id="jpeg-without-a-frame"),
        pytest.param(b"\xff\xd8\xff\xe0\0\0" + b"\0" * 20, id="jpeg-with-an-empty-segment"),
        pytest.param(b"\xff\xd8\xff\xe0\xff\xff" + b"\0" * 20, id="jpeg-cut"),
        pytest.param(b"RIFF\x16\0\0\0WEBPVP9 " + b"\0" * 20, id="webp-of-a-later-day"),
        pytest.param(b"RIFF\x16\0\0\0WEBPVP8L\x0a\0\0\0\x2f", id="webp-cut"),
    ],
)
def test_what_has_no_size_is_never_shown(content: bytes) -> None:
    assert dimensions(content) is None
    assert not shown_inline("image/png", content)


def test_every_beginning_of_a_picture_is_read_without_a_fault() -> None:
    whole = [png(9, 9), gif(9, 9, frame=(9, 9)), jpeg(frame(0xC0, 9, 9))]
    whole += [base64.b64decode(one) for one in WEBP.values()]
    for one in whole:
        for cut in range(len(one)):
            dimensions(one[:cut])


def test_forty_megapixels_are_shown_and_one_more_row_is_not() -> None:
    assert MAX_PIXELS == 8000 * 5000
    assert shown_inline("image/png", png(8000, 5000))
    assert not shown_inline("image/png", png(8000, 5001))
    assert not shown_inline("image/png", png(2**31, 2**31))


def test_only_the_four_raster_types_are_shown() -> None:
    for media_type in ("text/plain", "image/svg+xml", "application/pdf", "text/html"):
        assert not shown_inline(media_type, png(1, 1))
