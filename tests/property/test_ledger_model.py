"""Random commands against a model of the budget that is written here, from its page alone.

After every command the numbered invariants of the specification hold, and the ledger agrees
with the model on what is allowed, on every figure, and on what a repeat is.
"""

import random
from collections import Counter
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vstore.budget import commands
from vstore.budget.ledger import entry_of, plan
from vstore.budget.replay import adopt, judge
from vstore.budget.state import LedgerState, Outcome
from vstore.errors import OperationConflict, VStoreError
from vstore.objects.ids import object_id
from vstore.testing.budget_samples import SettableFacts, policy

HYPOTHESES = ["H1", "H2"]
ACTIONS = [f"a{at}" for at in range(6)]
COSTS = {"source.search": 7, "source.list": 1, "testing.request_human": 20}


class Refused(Exception):
    pass


class Conflict(Exception):
    pass


@dataclass
class Act:
    hypothesis: str
    operation: str
    cost: int
    state: str = "reserved"
    cap: int | None = None
    unseen: bool = False
    end: str | None = None


@dataclass
class Model:
    """Accounts as dicts of I B R D W E; nothing of the library."""

    policy: dict
    revision: int = 1
    initialised: bool = False
    closed: bool = False
    granted: int = 0
    accounts: dict = field(default_factory=dict)
    actions: dict = field(default_factory=dict)
    keys: dict = field(default_factory=dict)
    seen: set = field(default_factory=set)
    records: dict = field(default_factory=dict)  # (revision, action) -> novelty
    tests: set = field(default_factory=set)

    def carry_out(self, name, action, particulars):
        """True when something happened, False for a repeat."""
        key = (self.revision, name, action)
        if key in self.keys:
            if self.keys[key] != particulars:
                raise Conflict
            return False
        getattr(self, name)(action, *particulars)
        self.keys[key] = particulars
        return True

    def initialise(self, _action):
        if self.initialised and not self.closed:
            raise Refused
        room = self.policy["cap"] - self.granted
        share = min(self.policy["initial"], room // len(HYPOTHESES))
        if share < 1 or self.revision > self.policy["revisions"]:
            raise Refused
        self.granted += share * len(HYPOTHESES)
        self.initialised, self.closed = True, False
        self.actions = {}
        self.accounts = {
            one: {
                "I": share,
                "B": share,
                "R": 0,
                "D": 0,
                "W": 0,
                "E": 0,
                "streak": 0,
                "stop": False,
            }
            for one in HYPOTHESES
        }

    def working(self):
        if not self.initialised or self.closed:
            raise Refused

    def open(self, hypothesis, action):
        self.working()
        found = self.actions.get(action)
        if found is None or found.end is not None or found.hypothesis != hypothesis:
            raise Refused
        return self.accounts[hypothesis], found

    def has_record(self, action):
        return (self.revision, action) in self.records

    def dispatched(self, action):
        return (
            self.actions[action].state != "reserved"
            or self.has_record(action)
            or (self.revision, action) in self.tests
        )

    def reserve(self, action, hypothesis, operation):
        self.working()
        account = self.accounts[hypothesis]
        cost = COSTS.get(operation)
        if account["stop"] or cost is None or account["B"] < cost:
            raise Refused
        account["B"] -= cost
        account["R"] += cost
        self.actions[action] = Act(hypothesis, operation, cost)

    def record_evidence(self, action, hypothesis):
        _, act = self.open(hypothesis, action)
        if act.state != "reserved" or not self.has_record(action):
            raise Refused
        act.state, act.cap = "record", self.records[self.revision, action]

    def record_result(self, action, hypothesis, refs):
        _, act = self.open(hypothesis, action)
        if (
            act.state != "reserved"
            or act.operation.startswith("testing.")
            or self.has_record(action)
        ):
            raise Refused
        act.state, act.unseen = "result", not self.seen.issuperset(refs)
        self.seen.update(refs)

    def settle(self, action, hypothesis, semantic):
        account, act = self.open(hypothesis, action)
        if act.state == "reserved":
            raise Refused
        best = self.policy["new"]
        if act.state == "record":
            best = min(best, act.cap)
        elif not act.unseen:
            best = 0
        score = min(semantic, best)
        # The exact rational, floored, instead of a product divided at once.
        reward = 0
        while (reward + 1) * 10_000 <= act.cost * self.policy["percent"] * score:
            reward += 1
        account["R"] -= act.cost
        account["D"] += act.cost
        account["W"] += reward
        account["B"] += reward
        account["streak"] = account["streak"] + 1 if score < self.policy["threshold"] else 0
        account["stop"] = account["stop"] or account["streak"] >= self.policy["streak"]
        act.end = "settled"

    def void(self, action, hypothesis):
        account, act = self.open(hypothesis, action)
        if self.dispatched(action):
            raise Refused
        account["R"] -= act.cost
        account["B"] += act.cost
        act.end = "voided"

    def fail(self, action, hypothesis):
        account, act = self.open(hypothesis, action)
        if act.state == "record" or self.has_record(action):
            raise Refused
        account["R"] -= act.cost
        account["D"] += act.cost
        act.end = "failed"

    def reopen(self, _action):
        self.working()
        for name, act in self.actions.items():
            if act.end is None:
                account = self.accounts[act.hypothesis]
                account["R"] -= act.cost
                if self.dispatched(name):
                    account["D"] += act.cost
                    act.end = "forfeited"
                else:
                    account["B"] += act.cost
                    act.end = "voided"
        for account in self.accounts.values():
            account["E"], account["B"] = account["B"], 0
        self.closed = True


hypotheses = st.sampled_from(HYPOTHESES)
actions = st.sampled_from(ACTIONS)
percents = st.integers(0, 100)
refs = st.lists(st.sampled_from("xyz"), max_size=2)
steps = st.one_of(
    st.tuples(st.just("reserve"), actions, hypotheses, st.sampled_from([*COSTS, "source.read"])),
    st.tuples(st.just("reserve"), actions, hypotheses, st.just("source.search")),
    st.tuples(st.just("publish"), actions, hypotheses, percents),
    st.tuples(st.just("record_evidence"), actions, hypotheses),
    st.tuples(st.just("record_result"), actions, hypotheses, refs),
    st.tuples(st.just("settle"), actions, hypotheses, percents),
    st.tuples(st.just("loop"), actions, hypotheses, percents),
    st.tuples(st.just("void"), actions, hypotheses),
    st.tuples(st.just("fail"), actions, hypotheses),
    st.tuples(st.just("submit"), actions),
    st.tuples(st.just("initialise"), st.just("")),
    st.tuples(st.just("reopen"), st.just("")),
    st.tuples(st.just("next_revision"), st.just("")),
)
policies = st.fixed_dictionaries(
    {
        "initial": st.integers(1, 60),
        "new": percents,
        "percent": st.integers(0, 99),
        "threshold": st.integers(1, 100),
        "streak": st.integers(1, 3),
        "cap": st.integers(60, 200),
        "revisions": st.integers(1, 3),
    }
)


def command(name, action, particulars, facts, revision):
    if name == "initialise":
        (ref,) = facts.policies
        return commands.Initialise(policy=ref, hypotheses=HYPOTHESES)
    if name == "reopen":
        return commands.Reopen(reason="r")
    hypothesis, *rest = particulars
    common = {"hypothesis_id": hypothesis, "action_id": action}
    if name == "reserve":
        return commands.Reserve(**common, operation=rest[0])
    if name == "record_evidence":
        ref = object_id(f"record of {action} in {revision}".encode())
        return commands.RecordEvidence(**common, record=ref)
    if name == "record_result":
        return commands.RecordResult(**common, result="r", novel_refs=list(rest[0]))
    if name == "settle":
        return commands.Settle(**common, semantic_score=rest[0], reason="r")
    return {"void": commands.Void, "fail": commands.Fail}[name](**common, reason="r")


def dump(state):
    """Every member; containers copied, what they hold is frozen."""
    members = ((name, getattr(state, name)) for name in LedgerState.__struct_fields__)
    return {
        name: value.copy() if isinstance(value, dict | set) else value for name, value in members
    }


class Check:
    """The library beside the model, one step at a time."""

    def __init__(self, numbers):
        self.facts = SettableFacts()
        self.facts.add_policy(
            policy(
                COSTS,
                initial_credits=numbers["initial"],
                new_evidence_score=numbers["new"],
                max_reward_percent=numbers["percent"],
                threshold=numbers["threshold"],
                streak=numbers["streak"],
                case_credit_cap=numbers["cap"],
                max_revisions=numbers["revisions"],
            )
        )
        self.model = Model(numbers)
        self.state = LedgerState.empty("C", "P")
        self.entries = []
        self.counts = Counter()
        self.snapshots = []  # facts at each entry, for the replay
        self.step("initialise", "")

    def step(self, name, action, *particulars):
        if name == "publish":
            self.publish(action, *particulars)
        elif name == "submit":
            self.submit(action)
        elif name == "next_revision":
            if self.model.closed:
                self.model.revision += 1
                self.step("initialise", "")
        elif name == "loop":
            hypothesis, percent = particulars
            self.step("reserve", action, hypothesis, "source.search")
            self.publish(action, hypothesis, percent)
            self.step("record_evidence", action, hypothesis)
            self.step("settle", action, hypothesis, percent)
        else:
            self.command(name, action, particulars)

    def publish(self, action, hypothesis, novelty):
        """The evidence store keeps its own rule: one record, for a reserved action."""
        act = self.model.actions.get(action)
        key = (self.model.revision, action)
        if (
            act is None
            or act.end is not None
            or act.state != "reserved"
            or act.hypothesis != hypothesis
            or self.model.closed
            or key in self.model.records
        ):
            return
        before = dump(self.state)
        self.facts.add_record(*key[:1], hypothesis, action, novelty, operation=act.operation)
        self.model.records[key] = novelty
        assert dump(self.state) == before

    def submit(self, action):
        """Invariant 5: a test handoff moves no balance, no streak, no reservation."""
        act = self.model.actions.get(action)
        if act is not None and act.end is None and act.operation.startswith("testing."):
            before = dump(self.state)
            self.facts.submitted_tests.add((self.model.revision, action))
            self.model.tests.add((self.model.revision, action))
            assert dump(self.state) == before

    def command(self, name, action, particulars):
        asked = command(name, action, particulars, self.facts, self.model.revision)
        try:
            happened = self.model.carry_out(name, action, particulars)
        except (Refused, Conflict) as refusal:
            conflict = type(refusal) is Conflict
            # The model checks before it moves anything, so it is as it was, too.
            self.counts[name, "conflict" if conflict else "refused"] += 1
            before = dump(self.state)
            with pytest.raises(VStoreError) as caught:
                plan(self.state, self.model.revision, asked, self.facts)
            assert isinstance(caught.value, OperationConflict) == conflict
            assert dump(self.state) == before  # invariant 4
            return
        before = dump(self.state)
        total = self.total()
        planned = plan(self.state, self.model.revision, asked, self.facts)
        assert dump(self.state) == before
        if not happened:
            assert isinstance(planned, Outcome)  # invariant 4
            self.counts[name, "repeat"] += 1
            return
        self.counts[name, "done"] += 1
        entry = entry_of(self.state, planned)
        self.entries.append(entry)
        self.snapshots.append(
            SettableFacts(
                dict(self.facts.policies),
                dict(self.facts.records),
                set(self.facts.recorded_actions),
                set(self.facts.submitted_tests),
            )
        )
        self.state.commit(planned, entry.id)
        self.invariants(planned, name, total)

    def total(self):
        return {
            one.hypothesis_id: one.balance + one.reserved for one in self.state.accounts.values()
        }

    def invariants(self, planned, name, total):
        open_costs = dict.fromkeys(HYPOTHESES, 0)
        ended_costs = dict.fromkeys(HYPOTHESES, 0)
        for act in self.model.actions.values():
            if act.end is None:
                open_costs[act.hypothesis] += act.cost
            elif act.end != "voided":
                ended_costs[act.hypothesis] += act.cost
        assert set(self.state.accounts) == set(HYPOTHESES)
        for one in self.state.accounts.values():
            figures = {
                "I": one.granted,
                "B": one.balance,
                "R": one.reserved,
                "D": one.debited,
                "W": one.rewarded,
                "E": one.expired,
            }
            # 1
            assert one.granted + one.rewarded - one.debited == (
                one.balance + one.reserved + one.expired
            )
            assert min(figures.values()) >= 0
            if name != "initialise":
                assert one.balance + one.reserved <= total[one.hypothesis_id]
            # 3
            assert one.reserved == open_costs[one.hypothesis_id]
            assert one.debited == ended_costs[one.hypothesis_id]
            # the model
            wanted = self.model.accounts[one.hypothesis_id]
            assert figures == {name: wanted[name] for name in figures}
            assert one.streak == wanted["streak"]
            status = "closed" if self.model.closed else "stopped" if wanted["stop"] else "open"
            assert one.status == status
        if name == "settle":  # 2
            cost = self.model.actions[planned.event.action_id].cost
            most = self.model.policy["percent"] * cost // 100
            assert planned.event.reward <= most < cost
        assert self.state.granted == self.model.granted <= self.model.policy["cap"]

    def replay(self):
        """Invariant 8, as far as it goes without a disk: every prefix, folded anew, continues."""
        judged = LedgerState.empty("C", "P")
        adopted = LedgerState.empty("C", "P")
        for entry, facts in zip(self.entries, self.snapshots, strict=True):
            planned, expected = judge(judged, entry.document, facts)
            assert expected.encoded == entry.encoded
            judged.commit(planned, expected.id)
            adopt(adopted, entry, facts.policy)
        assert dump(judged) == dump(adopted) == dump(self.state)


@given(policies, st.lists(steps, max_size=40))
@settings(max_examples=150, deadline=None)
def test_the_ledger_agrees_with_the_model_and_keeps_its_invariants(numbers, wanted):
    check = Check(numbers)
    for step in wanted:
        check.step(*step)
    check.replay()


def test_each_command_is_carried_out_repeated_and_refused_often_enough_to_mean_something():
    rng = random.Random(20240117)
    counts = Counter()
    names = ("reserve", "record_evidence", "record_result", "settle", "void", "fail")
    for _ in range(200):
        check = Check(
            {
                "initial": rng.randint(20, 60),
                "new": rng.choice((0, 60, 100)),
                "percent": rng.choice((0, 50, 99)),
                "threshold": rng.choice((1, 10, 100)),
                "streak": rng.randint(1, 3),
                "cap": rng.randint(60, 200),
                "revisions": rng.randint(1, 3),
            }
        )
        for _ in range(25):
            name = rng.choice((*names, "reserve", "publish", "publish", "submit", "settle"))
            action, hypothesis = rng.choice(ACTIONS[:4]), rng.choice(HYPOTHESES)
            known = check.model.actions.get(action)
            if known is not None and rng.random() < 0.85:
                hypothesis = known.hypothesis
            more = {
                "reserve": [rng.choice(["source.search", *COSTS])],
                "record_result": [rng.choices("xyz", k=2)],
                "settle": [rng.choice((0, 50, 100))],
                "publish": [rng.randint(0, 100)],
            }.get(name, [])
            step = (name, action, *([] if name == "submit" else [hypothesis, *more]))
            check.step(*step)
            if name == "publish":
                step = ("record_evidence", action, hypothesis)
                check.step(*step)
            if rng.random() < 0.5:
                check.step(*step)
            if rng.random() < 0.04:
                check.step("reopen", "")
                check.step(rng.choice(("reopen", "initialise")), "")
                check.step("next_revision", "")
        check.replay()
        counts += check.counts
    for name in names:
        for what in ("done", "repeat", "refused"):
            assert counts[name, what] >= 10, (name, what, counts)
    for name in ("reserve", "settle", "record_result"):
        assert counts[name, "conflict"] >= 10, (name, counts)
    for name, what in (
        ("initialise", "done"),
        ("initialise", "repeat"),
        ("initialise", "refused"),
        ("reopen", "done"),
        ("reopen", "repeat"),
        ("reopen", "refused"),
    ):
        assert counts[name, what] >= 10, (name, what, counts)


@pytest.mark.deep
@given(policies, st.lists(steps, max_size=200))
@settings(max_examples=5000, deadline=None)
def test_the_ledger_agrees_with_the_model_at_length(numbers, wanted):
    check = Check(numbers)
    for step in wanted:
        check.step(*step)
    check.replay()
