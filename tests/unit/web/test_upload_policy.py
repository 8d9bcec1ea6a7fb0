"""Limits on uploads are numbers from 1, and told before anybody uploads."""

from __future__ import annotations

from typing import Any

import pytest

from vstore.errors import InvalidError, LimitExceeded
from vstore.web.upload_policy import UploadPolicy


def test_what_is_taken_can_be_shown() -> None:
    shown = UploadPolicy(max_file_bytes=5).describe()
    assert shown["max_file_bytes"] == 5
    assert shown["max_request_files"] == 100
    types = shown["types"]
    assert isinstance(types, list)
    assert "text/plain" in types
    # What nothing is known of, and programs, aren't taken unless somebody says so.
    assert "application/octet-stream" not in types


@pytest.mark.parametrize(
    "change", [{"max_file_bytes": 0}, {"max_tester_bytes": 1.5}, {"types": ()}], ids=str
)
def test_limits_that_are_none(change: dict[str, Any]) -> None:
    with pytest.raises(InvalidError) as error:
        UploadPolicy(**change)
    assert error.value.kind == "invalid_limit"


def test_a_limit_says_which_and_what_to_do() -> None:
    policy = UploadPolicy(max_file_bytes=5)
    policy.check("max_file_bytes", 5)
    with pytest.raises(LimitExceeded) as error:
        policy.check("max_file_bytes", 6)
    assert error.value.kind == "upload_limit"
    assert error.value.hint
    assert error.value.details == {"limit": "max_file_bytes", "value": 5, "asked": 6}
