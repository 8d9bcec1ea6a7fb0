from __future__ import annotations

from typing import Any

import pytest

from vstore.verify.checks.difference import difference_of


@pytest.mark.parametrize(
    ("expected", "actual", "found"),
    [
        ({"a": 1}, {"a": 2}, ("/m/a", "1", "2")),
        ({"a": 1}, {}, ("/m/a", "1", "nothing")),
        ({}, {"a/b~c": None}, ("/m/a~1b~0c", "nothing", "null")),
        ([1, [2, "x"]], [1, [2, "y"]], ("/m/1/1", "x", "y")),
        ([1], [1, 2], ("/m/1", "nothing", "2")),
        ({"a": True}, {"a": 1}, ("/m/a", "true", "1")),
        ({"a": [1]}, {"a": {"b": 1}}, ("/m/a", "[1]", '{"b":1}')),
        ("x" * 300, "y", ("/m", "x" * 200 + "…", "y")),
        (1, 1, ("/m", "1", "1")),
    ],
)
def test_finds_the_first_difference_and_shows_both_values(
    expected: Any, actual: Any, found: tuple[str, str, str]
) -> None:
    assert difference_of(expected, actual, "/m") == found
