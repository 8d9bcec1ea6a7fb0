"""Row digests and pointers, by literal vectors."""

from __future__ import annotations

import pytest
from blake3 import blake3

from vstore.objects.text import RawText, Text
from vstore.tools.database_content import row_digest, row_pointer
from vstore.tools.values import Blob


@pytest.mark.parametrize(
    ("table", "wanted"),
    [
        ("orders", "/tables/orders/rows/17"),
        ("", "/tables//rows/17"),
        ("a/b~c", "/tables/a~1b~0c/rows/17"),
        ("~x00", "/tables/~0x00/rows/17"),
        (RawText("fffe"), "/tables/~xfffe/rows/17"),
        ('with "quotes" é', '/tables/with "quotes" é/rows/17'),
    ],
)
def test_pointer(table: Text, wanted: str) -> None:
    assert row_pointer(table, 17) == wanted


def test_digest_is_of_the_canonical_array_of_values() -> None:
    canonical = b'[1,"a",null,{"hex":"00","type":"blob"}]'
    assert row_digest([1, "a", None, Blob("00")]) == blake3(canonical).hexdigest()
