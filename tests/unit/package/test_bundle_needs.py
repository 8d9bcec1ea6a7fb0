from __future__ import annotations

import json

import pytest

from vstore.errors import IntegrityError, UnsupportedError
from vstore.objects.ids import object_id
from vstore.package.bundle_needs import BundleNeeds, encode_needs, parse_needs

NEEDS = BundleNeeds(
    bundle=1,
    case_id="c",
    package_id="p",
    since=object_id(b"1"),
    since_generation=3,
    head=object_id(b"2"),
    head_generation=5,
)


def test_round_trip() -> None:
    raw = encode_needs(NEEDS)
    assert parse_needs(raw) == NEEDS
    assert raw == (
        b'{"bundle":1,"case_id":"c","head":"'
        + object_id(b"2").encode()
        + b'","head_generation":5,"package_id":"p","since":"'
        + object_id(b"1").encode()
        + b'","since_generation":3}\n'
    )


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\n",
        b"{}\n",
        b"[]\n",
        encode_needs(NEEDS)[:-1],
        encode_needs(NEEDS) + b"\n",
        b" " + encode_needs(NEEDS),
        encode_needs(NEEDS).replace(b"b3:", b"b4:"),
        encode_needs(NEEDS)[:-2] + b',"x":1}\n',
        b"{" + b" " * 5000 + b"}",
    ],
)
def test_damaged(raw: bytes) -> None:
    with pytest.raises(IntegrityError):
        parse_needs(raw)


def test_another_version() -> None:
    raw = json.dumps({"bundle": 2, "whatever": []}).encode()
    with pytest.raises(UnsupportedError):
        parse_needs(raw)
