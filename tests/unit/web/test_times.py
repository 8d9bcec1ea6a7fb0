"""Instants and seconds, against published values."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vstore.errors import InvalidError
from vstore.web.times import instant, seconds

# From POSIX and RFC 3339, and from counting days.
KNOWN = {
    "1970-01-01T00:00:00Z": 0,
    "2001-09-09T01:46:40Z": 1_000_000_000,
    "2000-02-29T00:00:00Z": 951_782_400,
    "1969-12-31T23:59:59Z": -1,
    "9999-12-31T23:59:59Z": 253_402_300_799,
}


@pytest.mark.parametrize("text", KNOWN)
def test_known_instants(text: str) -> None:
    assert seconds(text) == KNOWN[text]
    assert instant(KNOWN[text]) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "now",
        "2026-03-01",
        "2026-03-01T12:00:00",
        "2026-03-01T12:00:00+00:00",
        "2026-03-01T12:00:00.5Z",
        "2026-03-01T12:00:00z",
        "2026-03-01T12:00:00Z\n",
        "2026-02-30T12:00:00Z",
        "2026-03-01T24:00:00Z",
        "0000-03-01T12:00:00Z",
        "２026-03-01T12:00:00Z",
    ],
)
def test_what_is_no_instant(text: str) -> None:
    with pytest.raises(InvalidError) as error:
        seconds(text)
    assert error.value.kind == "invalid_instant"


def test_seconds_out_of_range() -> None:
    for number in (253_402_300_800, -62_135_596_801, 10**30):
        with pytest.raises(InvalidError):
            instant(number)


@given(st.integers(-62_135_596_800, 253_402_300_799))
def test_there_and_back(number: int) -> None:
    assert seconds(instant(number)) == number
