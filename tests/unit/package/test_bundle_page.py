"""What ``docs/spec/bundle.md`` says in numbers, against the code."""

from __future__ import annotations

import re
from pathlib import Path

from blake3 import blake3

from vstore.package.bundle_layout import (
    MAX_CENTRAL_BYTES,
    MAX_MEMBERS,
    Member,
    central_entry,
    local_header,
)
from vstore.package.bundle_log import SEGMENT_BYTES, max_raw_bytes, segment_salt
from vstore.package.bundle_needs import BundleNeeds

PAGE = (Path(__file__).parents[3] / "docs/spec/bundle.md").read_text()


def test_the_header_on_the_page() -> None:
    [shown] = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)
    assert bytes.fromhex(shown) == local_header(Member(b"VSTORE", 76, 0x11223344))


def test_the_numbers_on_the_page() -> None:
    for number in (MAX_MEMBERS, SEGMENT_BYTES, max_raw_bytes(0)):
        assert f"{number:,}" in PAGE
    assert max_raw_bytes(7) == max_raw_bytes(0) + 7 * 1000
    assert MAX_CENTRAL_BYTES == 16 << 20
    entry = central_entry(Member(b"a", 1, 2), 0)
    assert entry[4:8] == bytes.fromhex("2d030a00")
    assert entry[38:42] == bytes.fromhex("0000a481")


def test_the_salt_as_the_page_says() -> None:
    context = b"vstore-bundle-salt-v1\0"
    assert len(context) == 22
    head, since = bytes(range(32)), bytes(range(32, 64))
    for continued in (bytes(32), since):
        expected = blake3(context + head + continued + b"\x02" + bytes(7)).digest()[:16]
        assert segment_salt(2, head, continued) == expected


def test_every_member_of_bundle_is_on_the_page() -> None:
    for name in BundleNeeds.__struct_fields__:
        assert f"`{name}`" in PAGE
