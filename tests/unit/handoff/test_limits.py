from __future__ import annotations

from typing import Any

import pytest

from vstore.errors import InvalidError, LimitExceeded
from vstore.handoff.limits import HandoffLimits


def test_a_limit_names_itself_its_value_and_what_was_asked() -> None:
    limits = HandoffLimits(max_json_bytes=10)
    limits.check("max_json_bytes", 10)
    with pytest.raises(LimitExceeded) as caught:
        limits.check("max_json_bytes", 11)
    assert caught.value.details == {"limit": "max_json_bytes", "value": 10, "asked": 11}


def test_the_default_of_a_document_is_one_mebibyte() -> None:
    assert HandoffLimits().max_json_bytes == 1_048_576


@pytest.mark.parametrize("value", [0, -1, True, 1.5, None, 2**53])
def test_limits_are_positive_integers(value: Any) -> None:
    with pytest.raises(InvalidError):
        HandoffLimits(max_attachments=value)
