"""Commands: their ranges, their keys, and the way from an event back to its command."""

import pytest

from vstore.budget import commands
from vstore.budget import documents as events
from vstore.budget.commands import checked_payload, command_of, key_of, name_of
from vstore.errors import InvalidError
from vstore.objects.ids import object_id

REF = object_id(b"x")
ACTION = {"hypothesis_id": "H1", "action_id": "a1"}
ALL = [
    commands.Initialise(policy=REF, hypotheses=["H1", "H2"]),
    commands.Reserve(**ACTION, operation="source.search"),
    commands.RecordEvidence(**ACTION, record=REF),
    commands.RecordResult(**ACTION, result="r", novel_refs=["x"]),
    commands.Settle(**ACTION, semantic_score=50, reason="r"),
    commands.Void(**ACTION, reason="r"),
    commands.Fail(**ACTION, reason="r"),
    commands.Reopen(reason="r"),
]
EVENTS = [
    events.Initialise(
        policy=REF,
        grants=[
            events.Grant(hypothesis_id="H1", credits=5),
            events.Grant(hypothesis_id="H2", credits=5),
        ],
    ),
    events.Reserve(**ACTION, operation="source.search", cost=7),
    events.RecordEvidence(**ACTION, record_id="E000001", record=REF, novelty_cap=3),
    events.RecordResult(**ACTION, result="r", novel_refs=["x"]),
    events.Settle(**ACTION, semantic_score=50, reason="r", deterministic=1, score=1, reward=1),
    events.Void(**ACTION, reason="r"),
    events.Fail(**ACTION, reason="r"),
    events.Reopen(reason="r", actions=[]),
]


@pytest.mark.parametrize(("command", "event"), list(zip(ALL, EVENTS, strict=True)))
def test_an_event_gives_its_command_back(command, event):
    assert command_of(event) == command


def test_keys_are_revision_command_and_action():
    assert [key_of(3, one) for one in ALL] == [
        (3, "initialise", ""),
        (3, "reserve", "a1"),
        (3, "record_evidence", "a1"),
        (3, "record_result", "a1"),
        (3, "settle", "a1"),
        (3, "void", "a1"),
        (3, "fail", "a1"),
        (3, "reopen", ""),
    ]
    assert name_of(ALL[1]) == "reserve"


def test_payloads_differ_where_anything_differs():
    assert len({checked_payload(one) for one in ALL}) == len(ALL)
    assert checked_payload(commands.Void(**ACTION, reason="r")) != checked_payload(
        commands.Void(**ACTION, reason="s")
    )


def settle(**members):
    return commands.Settle(**({**ACTION, "semantic_score": 50, "reason": "r"} | members))


@pytest.mark.parametrize(
    "bad",
    [
        *(settle(semantic_score=one) for one in (-1, 101, True, 50.0, "50", None)),
        *(settle(reason=one) for one in ("", "x" * 2001, None, "\ud800")),
        *(settle(action_id=one) for one in ("", "a b", "-a", "a" * 101, "a\n", 1)),
        settle(hypothesis_id=""),
        commands.Reserve(**ACTION, operation="Source.Search"),
        commands.RecordEvidence(**ACTION, record="b3:xyz"),
        commands.RecordResult(**ACTION, result="r", novel_refs=[""]),
        commands.RecordResult(**ACTION, result="r", novel_refs=["x" * 501]),
        commands.RecordResult(**ACTION, result="r", novel_refs=["x"] * 1001),
        commands.Initialise(policy=REF, hypotheses=[]),
        commands.Initialise(policy=REF, hypotheses=[f"H{at}" for at in range(101)]),
        commands.Reopen(reason=""),
    ],
)
def test_members_out_of_range_are_refused(bad):
    with pytest.raises(InvalidError):
        checked_payload(bad)


def test_a_value_that_only_looks_like_what_is_written_is_refused():
    with pytest.raises(InvalidError):
        checked_payload(commands.RecordResult(**ACTION, result="r", novel_refs=("x",)))
