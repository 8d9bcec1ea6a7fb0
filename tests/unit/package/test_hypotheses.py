from __future__ import annotations

import json

import pytest

from vstore.errors import InvalidError, LimitExceeded
from vstore.package.documents import Hypothesis
from vstore.package.hypotheses import read_hypotheses

ONE = {"id": "H1", "statement": "It is the cache."}


def test_what_is_left_out_is_open() -> None:
    expected = [
        Hypothesis(id="H1", statement="It is the cache.", confidence="open", open_questions=[])
    ]
    for stated in (
        json.dumps([ONE]).encode(),
        json.dumps({"hypotheses": [ONE]}, indent=2).encode(),
        json.dumps({"schema": "hypotheses-v1", "case_id": "c", "hypotheses": [ONE]}).encode(),
        [ONE],
        (ONE,),
        expected,
    ):
        assert read_hypotheses(stated) == expected  # type: ignore[arg-type]


def test_everything_stated_is_kept_in_order() -> None:
    stated = [
        {"id": "B", "statement": "b", "confidence": "weakened", "open_questions": ["why?"]},
        {"id": "A", "statement": "a\n\u00e4"},
    ]
    found = read_hypotheses(json.dumps(stated).encode())
    assert [one.id for one in found] == ["B", "A"]
    assert (found[0].confidence, found[0].open_questions) == ("weakened", ["why?"])
    assert found[1].statement == "a\n\u00e4"


@pytest.mark.parametrize(
    ("stated", "says"),
    [
        ([], "0 hypotheses"),
        ({}, "a list"),
        ({"hypotheses": "H1"}, "a list"),
        ("H1", "a list"),
        (7, "a list"),
        (["H1"], "hypothesis 1 is no object"),
        ([ONE, {"id": "H2"}], "hypothesis 2 lacks statement"),
        ([{"id": "../x", "statement": "s"}], "hypothesis 1 is not valid at id"),
        ([{"id": "H1", "statement": ""}], "at statement"),
        ([{**ONE, "confidence": "sure"}], "at confidence"),
        ([{**ONE, "open_questions": [""]}], "at open_questions"),
        ([{**ONE, "secret": 1}], "hypothesis 1 has a member that is none of id, statement"),
        ([ONE, ONE], "the id H1 of an earlier one"),
        ([{**ONE, "id": f"H{n}"} for n in range(101)], "101 hypotheses"),
    ],
)
def test_what_are_no_hypotheses(stated: object, says: str) -> None:
    with pytest.raises(InvalidError) as caught:
        read_hypotheses(json.dumps(stated).encode())
    assert caught.value.kind == "invalid_hypotheses"
    assert says in str(caught.value)


@pytest.mark.parametrize("raw", [b"", b"{", b"\xff", b"[1.5]", b'{"a":1,"a":2}', b"\xef\xbb\xbf[]"])
def test_what_is_no_json(raw: bytes) -> None:
    with pytest.raises(InvalidError):
        read_hypotheses(raw)


def test_size_first() -> None:
    with pytest.raises(LimitExceeded):
        read_hypotheses(b" " * (4 * 1024 * 1024 + 1))


def test_values_that_json_does_not_have() -> None:
    with pytest.raises(InvalidError):
        read_hypotheses([{"id": "H1", "statement": b"x"}])
    with pytest.raises(InvalidError):
        read_hypotheses([{**ONE, 1: 2}])  # type: ignore[dict-item]
