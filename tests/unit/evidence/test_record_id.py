import pytest

from vstore.errors import InvalidError
from vstore.evidence.record_id import MAX_NUMBER, record_id, record_number


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (1, "E000001"),
        (999_999, "E999999"),
        (1_000_000, "E1000000"),
        (10**15 - 1, "E999999999999999"),
    ],
)
def test_ids_have_six_digits_and_more_past_999999(number, text):
    assert record_id(number) == text
    assert record_number(text) == number


@pytest.mark.parametrize("number", [0, -1, MAX_NUMBER + 1, True, 1.0])
def test_numbers_out_of_range_are_refused(number):
    with pytest.raises(InvalidError):
        record_id(number)


@pytest.mark.parametrize(
    "text", ["E000000", "E00001", "E0000001", "e000001", "E00000１", "E000001\n", "", "E1", "E" * 7]
)
def test_other_texts_are_refused(text):
    with pytest.raises(InvalidError):
        record_number(text)
