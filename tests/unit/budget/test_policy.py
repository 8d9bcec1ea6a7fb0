"""Anything outside a policy's bounds is refused when it is loaded."""

import json

import pytest

from vstore.budget.documents import BudgetPolicy
from vstore.budget.policy import EXAMPLE_POLICY, MAX_POLICY_BYTES, check_policy, load_policy
from vstore.errors import InvalidError, LimitExceeded
from vstore.objects.canonical import encode
from vstore.testing.budget_samples import policy

GOOD = json.loads(encode(EXAMPLE_POLICY))


def changed(path, value):
    document = json.loads(json.dumps(GOOD))
    at = document
    for name in path[:-1]:
        at = at[name]
    at[path[-1]] = value
    return json.dumps(document).encode()


def without(*path):
    document = json.loads(json.dumps(GOOD))
    at = document
    for name in path[:-1]:
        at = at[name]
    del at[path[-1]]
    return json.dumps(document).encode()


def test_the_example_sets_tests_to_40_and_20():
    check_policy(EXAMPLE_POLICY)
    assert EXAMPLE_POLICY.costs["testing.request_human"] == 40
    assert EXAMPLE_POLICY.costs["testing.request_automated"] == 20


def test_white_space_and_member_order_are_free():
    text = json.dumps(dict(reversed(GOOD.items())), indent=4).encode()
    assert load_policy(text) == EXAMPLE_POLICY


INTEGERS = [
    (["costs", "source.read"], 1, 10**9),
    (["initial_credits"], 1, 1000),
    (["new_evidence_score"], 0, 100),
    (["max_reward_percent"], 0, 99),
    (["low_information", "threshold"], 1, 100),
    (["low_information", "streak"], 1, 2**53 - 1),
    (["case_credit_cap"], 100, 10**12),
    (["max_revisions"], 1, 2**53 - 1),
]


@pytest.mark.parametrize(("path", "low", "high"), INTEGERS)
def test_bounds_are_inclusive(path, low, high):
    for value in (low, high):
        assert isinstance(load_policy(changed(path, value)), BudgetPolicy)
    for value in (low - 1, high + 1):
        with pytest.raises(InvalidError):
            load_policy(changed(path, value))


@pytest.mark.parametrize("path", [path for path, _, _ in INTEGERS])
@pytest.mark.parametrize("value", [True, False, 1.0, 50.5, "50", None, [50], 10**30, -(10**30)])
def test_only_integers_are_integers(path, value):
    with pytest.raises(InvalidError):
        load_policy(changed(path, value))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"null",
        b"{}",
        b"\xff",
        b'{"schema": "budget-policy-v1"}',
        changed(["schema"], "budget-policy-v2"),
        changed(["schema"], 1),
        changed(["surprise"], 1),
        changed(["costs"], {}),
        changed(["costs"], {"Source.Read": 1}),
        changed(["costs"], {"": 1}),
        changed(["costs"], []),
        changed(["low_information"], {}),
        changed(["low_information", "surprise"], 1),
        without("schema"),
        *(without(name) for name in GOOD if name != "schema"),
        without("low_information", "streak"),
        json.dumps(GOOD)
        .replace('"max_revisions": 5', '"max_revisions": 5, "max_revisions": 6')
        .encode(),
        json.dumps(GOOD).replace('"max_revisions": 5', '"max_revisions": 5e0').encode(),
        json.dumps(GOOD).replace('"max_revisions": 5', '"max_revisions": NaN').encode(),
    ],
)
def test_anything_else_is_refused(data):
    with pytest.raises(InvalidError):
        load_policy(data)


def test_a_policy_file_has_a_size_limit():
    with pytest.raises(LimitExceeded):
        load_policy(encode(EXAMPLE_POLICY) + b" " * MAX_POLICY_BYTES)


def test_the_cap_holds_at_least_one_grant():
    check_policy(policy(initial_credits=100, case_credit_cap=100))
    with pytest.raises(InvalidError):
        check_policy(policy(initial_credits=101, case_credit_cap=100))


def test_a_policy_made_in_code_is_checked_too():
    with pytest.raises(InvalidError):
        check_policy(policy(max_reward_percent=100))
    with pytest.raises(InvalidError):
        check_policy(policy(initial_credits=True))
