"""A ledger that can be told what to do, one command a call."""

import copy
from dataclasses import dataclass, field

import pytest

from vstore.budget import commands
from vstore.budget.ledger import Planned, entry_of, plan
from vstore.budget.state import LedgerState, Outcome
from vstore.objects.ids import object_id
from vstore.testing.budget_samples import SettableFacts, policy


@dataclass
class Desk:
    """Carries commands out as a controller does, and remembers the entries."""

    facts: SettableFacts = field(default_factory=SettableFacts)
    state: LedgerState = field(default_factory=lambda: LedgerState.empty("C1", "P1"))
    entries: list = field(default_factory=list)
    revision: int = 1

    def do(self, command):
        planned = plan(self.state, self.revision, command, self.facts)
        if isinstance(planned, Outcome):
            return planned
        assert isinstance(planned, Planned)
        entry = entry_of(self.state, planned)
        self.state.commit(planned, entry.id)
        self.entries.append(entry)
        return entry.document.event

    def initialise(self, one=None, hypotheses=("H1", "H2")):
        ref = self.facts.add_policy(policy() if one is None else one)
        return self.do(commands.Initialise(policy=ref, hypotheses=list(hypotheses)))

    def reserve(self, action, hypothesis="H1", operation="source.search"):
        return self.do(
            commands.Reserve(hypothesis_id=hypothesis, action_id=action, operation=operation)
        )

    def publish(self, action, novelty, hypothesis="H1", **more):
        return self.facts.add_record(self.revision, hypothesis, action, novelty, **more)

    def record(self, action, ref, hypothesis="H1"):
        return self.do(
            commands.RecordEvidence(hypothesis_id=hypothesis, action_id=action, record=ref)
        )

    def result(self, action, refs=(), hypothesis="H1", result="a result"):
        return self.do(
            commands.RecordResult(
                hypothesis_id=hypothesis, action_id=action, result=result, novel_refs=list(refs)
            )
        )

    def settle(self, action, score=100, hypothesis="H1", reason="assessed"):
        return self.do(
            commands.Settle(
                hypothesis_id=hypothesis, action_id=action, semantic_score=score, reason=reason
            )
        )

    def void(self, action, hypothesis="H1", reason="not needed"):
        return self.do(commands.Void(hypothesis_id=hypothesis, action_id=action, reason=reason))

    def fail(self, action, hypothesis="H1", reason="tool broke"):
        return self.do(commands.Fail(hypothesis_id=hypothesis, action_id=action, reason=reason))

    def reopen(self, reason="review"):
        return self.do(commands.Reopen(reason=reason))

    def earn(self, action, novelty, score=100, hypothesis="H1"):
        """Reserve, publish, record and settle in one go."""
        self.reserve(action, hypothesis)
        self.record(action, self.publish(action, novelty, hypothesis), hypothesis)
        return self.settle(action, score, hypothesis)

    def figures(self, hypothesis="H1"):
        one = self.state.accounts[hypothesis]
        return {
            "I": one.granted,
            "B": one.balance,
            "R": one.reserved,
            "D": one.debited,
            "W": one.rewarded,
            "E": one.expired,
        }

    def dump(self):
        return copy.deepcopy(
            {name: getattr(self.state, name) for name in LedgerState.__struct_fields__}
        )


@pytest.fixture
def desk():
    return Desk()


@pytest.fixture
def open_desk(desk):
    desk.initialise()
    return desk


@pytest.fixture
def absent():
    return object_id(b"absent")
