"""Every byte string has one text, and every other text is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vstore.errors import InvalidError
from vstore.objects.canonical import decode, encode, encode_value
from vstore.objects.document import Part
from vstore.objects.text import RawText, Text, text_from_bytes, text_to_bytes


class Holder(Part, frozen=True, kw_only=True):
    text: Text


@given(st.binary(max_size=20) | st.text(max_size=10).map(str.encode))
def test_bytes_survive(raw: bytes) -> None:
    text = text_from_bytes(raw)
    assert text_to_bytes(text) == raw
    encoded = encode(Holder(text=text))
    assert decode(encoded, Holder) == Holder(text=text)
    try:
        plain: object = raw.decode()
    except UnicodeDecodeError:
        plain = {"hex": raw.hex(), "type": "bytes"}
    assert json.loads(encoded) == {"text": plain}


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"", ""),
        (b"a\r", "a\r"),
        ("é".encode(), "é"),
        (b"\xef\xbb\xbfx", "\ufeffx"),
        (b"\x00", "\x00"),
        (b"\xff", RawText("ff")),
        (b"caf\xe9", RawText("636166e9")),
        (b"\xed\xa0\x80", RawText("eda080")),
        (b"\xc0\x80", RawText("c080")),
    ],
)
def test_examples(raw: bytes, text: Text) -> None:
    assert text_from_bytes(raw) == text
    assert text_to_bytes(text) == raw


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (RawText(""), "not_canonical"),
        (RawText("61"), "not_canonical"),
        (RawText("zz"), "not_representable"),
        (RawText("f"), "not_representable"),
        ("\ud800", "not_representable"),
    ],
)
def test_texts_without_bytes_of_their_own(text: Text, kind: str) -> None:
    with pytest.raises(InvalidError) as caught:
        text_to_bytes(text)
    assert caught.value.kind == kind


@pytest.mark.parametrize("hex_", ["f", "FF", "ff\n", "0xff", "f f", "\u0661\u0661"])
def test_hex_is_pairs_of_lower_case_digits(hex_: str) -> None:
    data = encode_value({"text": {"hex": hex_, "type": "bytes"}})
    with pytest.raises(InvalidError) as caught:
        decode(data, Holder)
    assert caught.value.kind == "invalid_document"


def test_naughty_strings(vectors: Path) -> None:
    strings = json.loads((vectors / "naughty-strings/blns.json").read_bytes())
    assert len(strings) > 400
    for text in strings:
        assert text_from_bytes(text.encode()) == text
        assert decode(encode(Holder(text=text)), Holder).text == text
