from __future__ import annotations

import gzip
import io
import sqlite3
import zipfile
from pathlib import Path

import pytest

from vstore.handoff.media import SNIFFED_BYTES, media_type

FIXTURES = Path(__file__).parents[2] / "fixtures/real_bugs/sqlite_utils_592/human"


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (b"", "text/plain"),
        (b"plain\n", "text/plain"),
        ("Grüße\n".encode(), "text/plain"),
        ("Grüße".encode("latin-1"), "application/octet-stream"),
        (b"a\0b", "application/octet-stream"),
        # What a browser would run is text.
        (b"<!DOCTYPE html><script>alert(1)</script>", "text/plain"),
        (b'<?xml version="1.0"?><svg onload="x"/>', "text/plain"),
        (b"\xff\xd8\xff\xe0....", "image/jpeg"),
        (b"GIF89a.", "image/gif"),
        (b"RIFF\x10\0\0\0WEBPVP8 ", "image/webp"),
        (b"RIFF\x10\0\0\0WAVE", "application/octet-stream"),
        (b"\0\0\0\x20ftypisom", "video/mp4"),
        (b"%PDF-1.7\n", "application/pdf"),
        (b"\x7fELF\x02", "application/octet-stream"),
        (gzip.compress(b"x", mtime=0), "application/gzip"),
    ],
)
def test_the_type_follows_from_the_bytes(head: bytes, kind: str) -> None:
    assert media_type(head, complete=True) == kind


def test_real_files(tmp_path: Path) -> None:
    assert media_type((FIXTURES / "search-grid.png").read_bytes(), complete=True) == "image/png"
    assert media_type((FIXTURES / "search.log").read_bytes(), complete=True) == "text/plain"
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("a", "b")
    assert media_type(packed.getvalue(), complete=True) == "application/zip"
    with sqlite3.connect(tmp_path / "a.db") as connection:
        connection.execute("CREATE TABLE t (x)")
    connection.close()
    found = media_type((tmp_path / "a.db").read_bytes(), complete=True)
    assert found == "application/vnd.sqlite3"


def test_a_character_may_be_cut_only_where_there_is_more() -> None:
    cut = ("x" * (SNIFFED_BYTES - 1) + "ü").encode()
    assert media_type(cut[:SNIFFED_BYTES], complete=False) == "text/plain"
    assert media_type(cut, complete=True) == "text/plain"
    assert media_type(cut[:SNIFFED_BYTES], complete=True) == "application/octet-stream"
    # What comes later isn't looked at.
    assert media_type(cut + b"\0", complete=True) == "text/plain"
