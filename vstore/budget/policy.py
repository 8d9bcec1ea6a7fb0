"""Loading a budget policy; anything outside its bounds is refused here, once.

A policy is written by an operator, so white space and the order of members are free in its
file; what is stored is the canonical form.
"""

from __future__ import annotations

from typing import Final

from vstore.budget.documents import BudgetPolicy, LowInformation
from vstore.errors import InvalidError
from vstore.objects.canonical import decode, encode
from vstore.objects.plain_json import decode_value, encode_value

__all__ = ["EXAMPLE_POLICY", "MAX_POLICY_BYTES", "TEST_OPERATIONS", "check_policy", "load_policy"]

MAX_POLICY_BYTES: Final = 1 << 20
#: Operations that somebody else performs later; their results are feedback, never
#: ``record_result``.
TEST_OPERATIONS: Final = frozenset({"testing.request_human", "testing.request_automated"})

EXAMPLE_POLICY: Final = BudgetPolicy(
    costs={
        "database.rows": 10,
        "database.schema": 5,
        "source.list": 5,
        "source.read": 10,
        "source.search": 10,
        "testing.request_automated": 20,
        "testing.request_human": 40,
    },
    initial_credits=100,
    new_evidence_score=60,
    max_reward_percent=50,
    low_information=LowInformation(threshold=10, streak=3),
    case_credit_cap=1000,
    max_revisions=5,
)


def load_policy(data: bytes) -> BudgetPolicy:
    """Read a policy that an operator wrote.

    Args:
        data: JSON with ``"schema": "budget-policy-v1"``.

    Raises:
        LimitExceeded: More than :data:`MAX_POLICY_BYTES`.
        InvalidError: Not JSON, not a policy, or a value out of its bounds.
    """
    value = decode_value(data, max_bytes=MAX_POLICY_BYTES, canonical=False)
    if type(value) is not dict or value.get("schema") != "budget-policy-v1":
        raise InvalidError(
            "not a budget policy",
            kind="invalid_policy",
            hint='a policy is a JSON object with "schema": "budget-policy-v1"',
        )
    try:
        policy = decode(encode_value(value), BudgetPolicy)
    except InvalidError as error:
        raise InvalidError(
            error.message,
            kind="invalid_policy",
            hint="integers only; see `vstore schema budget-policy-v1` for the bounds",
            **error.details,
        ) from error
    check_policy(policy)
    return policy


def check_policy(policy: BudgetPolicy) -> None:
    """Check a policy against its bounds, also those that its schema can't say.

    Raises:
        InvalidError: A member is out of range, nothing has a cost, or the cap is less than
            what one hypothesis is granted.
    """
    decode(encode(policy), BudgetPolicy)
    if not policy.costs:
        raise InvalidError("a policy without costs allows nothing", kind="invalid_policy")
    if policy.initial_credits > policy.case_credit_cap:
        raise InvalidError(
            "case_credit_cap is less than initial_credits",
            kind="invalid_policy",
            hint="the cap bounds all grants together; it must hold at least one",
        )
