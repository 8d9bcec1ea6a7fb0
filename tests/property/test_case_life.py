"""Cases over their whole life on two services, at random, against a simple model.

Legal and illegal operations, repeats, conflicts, crashes, bundles carried to and fro: states,
ids, novelty, balances and heads agree with the model, and the package verifies after every
step. What the model expects stands in :mod:`vstore.testing.reference_case`.
"""

# ruff: noqa: PT017 - whether an error is expected, the model says first

from __future__ import annotations

import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    rule,
    run_state_machine_as_test,
)

from vstore.admission import admit
from vstore.budget.documents import BudgetPolicy, LowInformation
from vstore.controller import BudgetManager, CaseLifecycle, EvidenceStore
from vstore.controller.bundles import create_bundle
from vstore.errors import (
    ConflictError,
    InvalidError,
    NotFoundError,
    StateError,
    UnsupportedError,
    VStoreError,
)
from vstore.evidence.documents import EvidenceIndex, EvidenceRecord
from vstore.objects.durable import REAL
from vstore.objects.ids import ObjectId
from vstore.objects.tree import walk
from vstore.package.inputs import InputFile
from vstore.package.reader import PackageReader
from vstore.package.workspace import Workspace
from vstore.testing.clock import FrozenClock
from vstore.testing.faults import KillingIO, SimulatedDeath
from vstore.testing.reference_case import Action, ReferenceCase, Refusal
from vstore.tools.capture_source import capture_source
from vstore.tools.request import Arguments, SourceList, SourceRead
from vstore.tools.router import Router
from vstore.verify import verify_package

CASE, PACKAGE = "CASE", "PACKAGE"
LINES = [f"line {number}" for number in range(1, 7)]
NUMBERS: dict[str, Any] = {
    "costs": {"source.read": 20, "source.list": 7},
    "initial_credits": 100,
    "new_evidence_score": 80,
    "max_reward_percent": 70,
    "threshold": 10,
    "streak": 2,
    "case_credit_cap": 500,
    "max_revisions": 4,
}
POLICY = BudgetPolicy(
    costs=NUMBERS["costs"],
    initial_credits=100,
    new_evidence_score=80,
    max_reward_percent=70,
    low_information=LowInformation(threshold=10, streak=2),
    case_credit_cap=500,
    max_revisions=4,
)
OTHER_POLICY = msgspec.structs.replace(POLICY, costs={"source.read": 20, "source.list": 7, "x": 1})
#: What the model says of a command that was carried out already.
AGAIN = (None, True)
FUTURE = "2099-01-01T00:00:00Z"
LIFE = [
    *["reopen", "resume"],
    *["advance", "initialise", "input_add"] * 2,
    *["hypotheses", "block"] * 4,
    *["prepare"] * 2,
]
WORK = [
    *["reserve"] * 3,
    *["store"] * 4,
    *["whole_action"] * 3,
    *["record_evidence"] * 2,
    *["record_result"] * 2,
    *["settle"] * 2,
    *["give_up"] * 3,
    *["once_more"] * 3,
]
TRANSPORT = [*["bundle"] * 3, *["admit"] * 4, *["carry"] * 9, "fresh_process"]
counts: Counter[str] = Counter()


class Dice:
    """Chance with a seed.

    Args:
        seed: Decides everything.
    """

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def pick(self, choices: Sequence[Any]) -> Any:
        """One of several, each alike."""
        return self._random.choice(choices)


class Site:
    """One service, and what the model says of the case there."""

    def __init__(self, root: Path, name: str) -> None:
        self.root = root / name
        self.root.mkdir()
        self.name = name
        self.path = self.root / CASE
        self.clock = FrozenClock(step=1)
        self.model: ReferenceCase | None = None
        #: Ids of the generations, oldest first.
        self.history: list[str] = []
        self.io: Any = REAL
        self.begin()

    def begin(self, io: Any = REAL) -> None:
        self.workspace = Workspace.open(self.root, actor=self.name, clock=self.clock, io=io)
        self.budget = BudgetManager(self.workspace)
        self.life = CaseLifecycle(self.workspace)
        self.router = Router.default()
        self.evidence = EvidenceStore(self.workspace, router=self.router)

    def again(self, io: Any = REAL) -> None:
        """Another process."""
        # One that dies while it closes its files saved less for the next.
        with suppress(SimulatedDeath):
            self.workspace.close()
        self.begin(io)

    @property
    def head(self) -> str | None:
        if self.model is None and not (self.path / "VSTORE").exists():
            return None
        with PackageReader.open(self.path) as reader:
            return reader.head_id()


@dataclass
class Parcel:
    """A bundle on its way."""

    path: Path
    model: ReferenceCase
    history: list[str]
    #: The generation that it continues, None for a full one.
    since: str | None


class LifeMachine(RuleBasedStateMachine):
    @initialize(ahead=st.sampled_from([0, 2, 5, 5, 6]))
    def create(self, ahead: int) -> None:
        self.base = Path(tempfile.mkdtemp())
        self.sites = [Site(self.base, "a"), Site(self.base, "b")]
        self.parcels: list[Parcel] = []
        self.serial = 0
        self.steps = 0
        #: Commands, what the model says of them now, and how to give them.
        self.done: list[
            tuple[Site, str, Callable[[], tuple[Refusal, bool]], Callable[[], object]]
        ] = []
        self.sensible = False
        #: What the model was at each generation that a crash may leave a service at.
        self.past: dict[str, ReferenceCase] = {}
        here = self.sites[0]
        source = self.base / "source"
        source.mkdir()
        (source / "code").write_text("\n".join(LINES) + "\n")
        here.workspace.init(CASE, PACKAGE)
        here.workspace.case(CASE).add_snapshot(
            "code", "source", lambda sink: capture_source(source, sink, name="code")
        )
        here.model = ReferenceCase(policy=NUMBERS, number=2)
        self.learn(here)
        # Random steps alone would rarely come far.
        for step in range(ahead):
            if step == 2:
                self.set_hypotheses(here, ["H1", "H2"])
            elif step == 3:
                self.open_accounts(here, "policy")
            elif step in (0, 1, 4, 5):
                self.go_on(here)

    def teardown(self) -> None:
        if hasattr(self, "sites"):
            for site in self.sites:
                site.workspace.close()
            shutil.rmtree(self.base)

    # ---- the one rule

    @rule(seed=st.integers(0, 2**48))
    def step(self, seed: int) -> None:
        """One operation. A seed decides, so that chance is even; examples still lose steps."""
        # Seeds repeat themselves more than steps should.
        self.steps += 1
        dice = Dice(seed * 1_000_003 + self.steps)
        # Half of the steps make sense where the case stands: chance alone rarely comes far.
        self.sensible = dice.pick([True, False])
        if self.sensible and dice.pick(range(8)):
            kind = dice.pick(_sense(_model(self.site(dice))))
        else:
            kind = dice.pick([*LIFE, *WORK, *WORK, *TRANSPORT])
        death = dice.pick([None] * 4 + [dice.pick(range(26))])
        getattr(self, kind)(dice, death)

    # ---- what every operation goes through

    def learn(self, site: Site) -> None:
        """Note the generations that are new, and hold everything against the model."""
        model = site.model
        assert model is not None
        with PackageReader.open(site.path) as reader:
            history = [str(oid) for oid, _ in reader.history(newest_first=False)]
            head = reader.pinned()
            # What was published stays, and one operation adds one generation at the most.
            assert history[: len(site.history)] == site.history
            site.history = history
            assert len(history) == head.number == model.number
            self.past[history[-1]] = model.copy()
            assert (head.state, head.revision) == (model.state, model.revision)
            blocked = head.generation.blocked
            assert (None if blocked is None else (blocked.reason, blocked.resume_state)) == (
                None if model.reason is None else (model.reason, model.resume)
            )
            assert {
                one.path: head.objects.get(one.entry.object)
                for one in walk(head.objects, head.raw_input)
            } == model.inputs
            stated = head.hypotheses()
            assert (None if stated is None else [one.id for one in stated.hypotheses]) == (
                model.hypotheses
            )
            index_id = head.artifact("evidence_index")
            if index_id is not None:
                index = head.objects.document(index_id, EvidenceIndex)
                assert (index.count, index.distinct_atoms) == (len(model.records), len(model.seen))
        budget = site.budget.snapshot(CASE, PACKAGE)
        assert (budget.revision, budget.granted) == (model.opened, model.granted)
        assert {one.hypothesis_id: _figures(one) for one in budget.accounts} == {
            name: _figures(one) for name, one in model.accounts.items()
        }
        assert {one.action_id: (one.operation, one.cost) for one in budget.open_actions} == {
            name: (one.operation, one.cost) for name, one in model.actions.items()
        }
        evidence = site.evidence.snapshot(CASE, PACKAGE)
        assert [one.id for one in evidence.records] == [
            f"E{number:06}" for number in range(1, len(model.records) + 1)
        ]
        if evidence.records:
            last = evidence.package.objects.document(evidence.records[-1].object, EvidenceRecord)
            _, novelty, first = model.records[-1]
            assert (last.novelty_score, last.duplicate_of) == (
                novelty,
                None if first is None else f"E{first:06}",
            )
        report = verify_package(site.path)
        assert report.exit_code == 0, report.findings

    def attempt(
        self,
        site: Site,
        name: str,
        expected: Refusal,
        call: Callable[[], object],
        apply: Callable[[], None] | None,
        death: int | None = None,
        *,
        repeatable: bool = False,
    ) -> None:
        """Do it on a service; what the model refuses must change nothing.

        ``apply`` is None where a legal operation publishes nothing. ``repeatable``: after a
        crash the same is done once more, and must come to one publication in all.
        """
        before = site.head
        if death is not None:
            site.again(KillingIO(death, written=50, simulate=True))
        try:
            call()
        except SimulatedDeath:
            counts["died"] += 1
            site.again()
            moved = site.head != before
            counts["died behind the commit point"] += moved
            assert not (moved and (apply is None or expected is not None))
            if moved and apply is not None:
                apply()
            self.learn(site)
            if repeatable and expected is None:
                call()
                counts["repeated after a crash"] += 1
                if not moved and apply is not None:
                    apply()
                self.learn(site)
            return
        except VStoreError as error:
            assert expected is not None, (name, error)
            assert isinstance(error, expected), (name, error)
            counts[f"{name} refused"] += 1
            assert site.head == before
            if death is not None:
                site.again()
            self.learn(site)
            return
        assert expected is None, name
        counts[name] += 1
        if apply is None:
            assert site.head == before
        else:
            apply()
        if death is not None:
            site.again()
        self.learn(site)

    def site(self, dice: Dice) -> Site:
        """A service that has the case."""
        there = [one for one in self.sites if one.model is not None]
        # Mostly the same one, or no history would ever be the beginning of the other.
        return dice.pick(there[:1] * 5 + there)

    # ---- the lifecycle

    def go_on(self, site: Site, death: int | None = None) -> None:
        model = _model(site)
        self.attempt(
            site,
            "advance",
            model.advance(),
            lambda: site.workspace.case(CASE).advance(),
            model.do_advance,
            death,
        )

    def set_hypotheses(self, site: Site, names: list[str]) -> None:
        model = _model(site)
        self.serial += 1
        statement = f"version {self.serial}"

        def apply() -> None:
            model.hypotheses = names
            model.publish()

        self.attempt(
            site,
            "hypotheses",
            model.state_hypotheses(names),
            lambda: site.workspace.case(CASE).set_hypotheses(
                [{"id": name, "statement": statement} for name in names]
            ),
            apply,
        )

    def open_accounts(self, site: Site, policy: str, death: int | None = None) -> None:
        model = _model(site)
        refusal, repeat = model.initialise(policy)
        chosen = POLICY if policy == "policy" else OTHER_POLICY
        self.attempt(
            site,
            "initialise",
            refusal,
            lambda: site.budget.initialise(CASE, PACKAGE, chosen),
            None if repeat else lambda: model.do_initialise(policy),
            death,
            repeatable=True,
        )

    def advance(self, dice: Dice, death: int | None) -> None:
        site = self.site(dice)
        # Working states are where most can be tried.
        if _model(site).state != "INVESTIGATING_HYPOTHESES" or dice.pick([False, True]):
            self.go_on(site, death)

    def hypotheses(self, dice: Dice, death: int | None) -> None:
        del death  # Nothing is repeated after it.
        names = dice.pick([["H1"], ["H1", "H2"], ["H2", "H1"]])
        self.set_hypotheses(self.site(dice), names)

    def initialise(self, dice: Dice, death: int | None) -> None:
        policy = dice.pick(["policy", "policy", "other"])
        self.open_accounts(self.site(dice), policy, death)

    def prepare(self, dice: Dice, death: int | None) -> None:
        """The way from the beginning of a revision to its investigation, where it is open."""
        del death
        site = self.site(dice)
        model = _model(site)
        if model.state in ("REOPENED", "INTERPRETING"):
            self.go_on(site)
        if model.state == "GENERATING_HYPOTHESES":
            if model.hypotheses is None:
                self.set_hypotheses(site, ["H1", "H2"])
            self.open_accounts(site, "policy")
            self.go_on(site)

    def input_add(self, dice: Dice, death: int | None) -> None:
        site = self.site(dice)
        model = _model(site)
        file = self.new_file()

        def apply() -> None:
            model.inputs[file.target] = file.source.read_bytes()
            model.publish()

        self.attempt(
            site,
            "input_add",
            model.input_add(),
            lambda: site.workspace.case(CASE).input_add([file]),
            apply,
            death,
        )

    def new_file(self) -> InputFile:
        self.serial += 1
        path = self.base / f"file-{self.serial}"
        path.write_bytes(b"%d\n" % self.serial)
        return InputFile(path, b"in/%d" % self.serial)

    def block(self, dice: Dice, death: int | None) -> None:
        reason: Any = dice.pick(["BUDGET_EXHAUSTED", "PROVIDER_UNAVAILABLE", "OPERATOR_HOLD"])
        not_before = dice.pick([None, "2020-01-01T00:00:00Z", FUTURE])
        site = self.site(dice)
        model = _model(site)
        self.attempt(
            site,
            "block",
            model.block(reason),
            lambda: site.life.block(CASE, PACKAGE, reason, retry_not_before=not_before),
            lambda: model.do_block(reason, not_before),
            death,
        )

    def resume(self, dice: Dice, death: int | None) -> None:
        early = self.sensible or dice.pick([False, True])
        site = self.site(dice)
        model = _model(site)
        self.attempt(
            site,
            "resume",
            model.resuming("2026-01-01T00:00:00Z", early=early),
            lambda: site.life.resume(CASE, PACKAGE, early=early),
            model.do_resume,
            death,
        )

    def reopen(self, dice: Dice, death: int | None) -> None:
        cause: Any = dice.pick(["review", "patch_rejected", "new_input", "new_input"])
        site = self.site(dice)
        model = _model(site)
        files = [self.new_file()] if cause == "new_input" else []
        expected: dict[str, str] = {}

        def call() -> None:
            done = site.life.reopen(CASE, PACKAGE, cause, reason="because", files=files)
            expected.clear()
            expected.update({one.action_id: one.outcome for one in done.actions})

        def apply() -> None:
            outcomes = model.do_reopen({one.target: one.source.read_bytes() for one in files})
            assert not expected or expected == outcomes

        self.attempt(site, "reopen", model.reopen(cause), call, apply, death)

    # ---- the budget and the evidence

    def drawn_action(
        self, dice: Dice, model: ReferenceCase, fits: Callable[[Action], bool]
    ) -> tuple[str, str]:
        """An action and a hypothesis; in a step that makes sense one that fits, if there is."""
        fitting = sorted(name for name, one in model.actions.items() if fits(one))
        if self.sensible and fitting:
            name = dice.pick(fitting)
            return name, model.actions[name].hypothesis
        name = dice.pick([*sorted(model.actions) * 2, *(f"a{number}" for number in range(9))])
        found = model.actions.get(name)
        own = ["H1", "H2"] if found is None else [found.hypothesis] * 5 + ["H1", "H2"]
        return name, dice.pick([*own, "H3"])

    def command(
        self,
        site: Site,
        command: str,
        action: str,
        payload: tuple[Any, ...],
        call: Callable[[], object],
        death: int | None,
    ) -> None:
        model = _model(site)
        refusal, repeat = model.command(command, action, payload)
        self.done.append(
            (site, command, lambda: _model(site).command(command, action, payload), call)
        )
        if repeat:
            counts[f"{command} repeated"] += 1
        self.attempt(
            site,
            command,
            refusal,
            call,
            None if repeat else lambda: model.do(command, action, payload),
            death,
            repeatable=True,
        )

    def reserve(self, dice: Dice, death: int | None) -> None:
        operation = dice.pick(["source.read", "source.read", "source.list", "source.search"])
        site = self.site(dice)
        model = _model(site)
        names = [f"a{number}" for number in range(9)]
        hypotheses = ["H1", "H2", "H1", "H2", "H3"]
        if self.sensible and model.open:
            used = {key[2] for key in model.keys if key[:2] == (model.revision, "reserve")}
            self.serial += 1
            names = [one for one in names if one not in used] or [f"b{self.serial}"]
            hypotheses = list(model.accounts)
        name, hypothesis = dice.pick(names), dice.pick(hypotheses)
        self.command(
            site,
            "reserve",
            name,
            (hypothesis, operation),
            lambda: site.budget.reserve(CASE, PACKAGE, hypothesis, name, operation=operation),
            death,
        )

    def store(self, dice: Dice, death: int | None) -> None:
        start, length = dice.pick(range(1, 7)), dice.pick(range(4))
        site = self.site(dice)
        model = _model(site)
        name, hypothesis = self.drawn_action(
            dice, model, lambda one: one.record is None and not one.result
        )
        found = model.actions.get(name)
        operation = "source.read" if found is None else found.operation
        if not self.sensible and dice.pick(range(4)) == 0:
            operation = "source.list" if operation == "source.read" else "source.read"
        operation_id = dice.pick([f"{name}-{model.revision}"] * 3 + ["o0", "o1", "o2"])
        arguments: Arguments = SourceList(source="code")
        items: frozenset[Any] = frozenset({"code"})
        if operation == "source.read":
            end = min(6, start + length)
            arguments = SourceRead(source="code", path="code", start=start, end=end)
            items = frozenset(range(start, end + 1))
        asked = (operation, start, length) if operation == "source.read" else operation
        asked = tuple(sorted(items)) if operation == "source.read" else asked
        refusal, repeat = model.store(operation_id, hypothesis, name, operation, asked)
        if repeat:
            counts["store repeated"] += 1

        def call() -> None:
            package = site.budget.snapshot(CASE, PACKAGE).package
            request = site.router.request(package, [(hypothesis, name, arguments)])
            reply = site.router.query(package, request)
            saved = site.evidence.store_tool_results(CASE, PACKAGE, operation_id, request, reply)
            now = _model(site)
            known = now.stored.get((now.revision, operation_id))
            if known is not None:
                assert saved.record_ids == (f"E{known[1]:06}",)

        def apply() -> None:
            model.do_store(operation_id, hypothesis, name, asked, items)

        self.done.append(
            (
                site,
                "store",
                lambda: _model(site).store(operation_id, hypothesis, name, operation, asked),
                call,
            )
        )

        self.attempt(
            site, "store", refusal, call, None if repeat else apply, death, repeatable=True
        )

    def record_evidence(self, dice: Dice, death: int | None) -> None:
        site = self.site(dice)
        model = _model(site)
        if not model.records:
            return
        name, hypothesis = self.drawn_action(
            dice, model, lambda one: one.record is not None and not one.bound
        )
        found = model.actions.get(name)
        numbers = list(range(1, len(model.records) + 1))
        if found is not None and found.record is not None:
            numbers += [found.record] * 3 * len(numbers)
        if self.sensible and found is not None and found.record is not None:
            numbers = [found.record]
        number = dice.pick(numbers)

        def call() -> None:
            records = site.evidence.snapshot(CASE, PACKAGE).records
            site.budget.record_evidence(CASE, PACKAGE, hypothesis, name, records[number - 1].object)

        self.command(site, "record_evidence", name, (hypothesis, number), call, death)

    def record_result(self, dice: Dice, death: int | None) -> None:
        refs: tuple[str, ...] = dice.pick([(), ("r1",), ("r1", "r2")])
        site = self.site(dice)
        name, hypothesis = self.drawn_action(
            dice, _model(site), lambda one: one.record is None and not one.result
        )
        self.command(
            site,
            "record_result",
            name,
            (hypothesis, refs),
            lambda: site.budget.record_result(
                CASE, PACKAGE, hypothesis, name, result="seen", novel_refs=refs
            ),
            death,
        )

    def settle(self, dice: Dice, death: int | None) -> None:
        score = dice.pick([0, 5, 50, 80, 100])
        site = self.site(dice)
        name, hypothesis = self.drawn_action(
            dice, _model(site), lambda one: one.bound or one.result
        )
        self.command(
            site,
            "settle",
            name,
            (hypothesis, score),
            lambda: site.budget.settle(
                CASE, PACKAGE, hypothesis, name, semantic_score=score, reason="because"
            ),
            death,
        )

    def whole_action(self, dice: Dice, death: int | None) -> None:
        """Bind and settle an action that has a record: chance alone rarely does all three."""
        site = self.site(dice)
        model = _model(site)
        ready = sorted(
            name
            for name, one in model.actions.items()
            if one.record is not None and not one.bound and not one.result
        )
        if not ready:
            return
        name = dice.pick(ready)
        found: Action = model.actions[name]
        hypothesis, number = found.hypothesis, found.record
        assert number is not None

        def record() -> None:
            records = site.evidence.snapshot(CASE, PACKAGE).records
            site.budget.record_evidence(CASE, PACKAGE, hypothesis, name, records[number - 1].object)

        self.command(site, "record_evidence", name, (hypothesis, number), record, death)
        self.command(
            site,
            "settle",
            name,
            (hypothesis, 100),
            lambda: site.budget.settle(
                CASE, PACKAGE, hypothesis, name, semantic_score=100, reason="because"
            ),
            None,
        )

    def give_up(self, dice: Dice, death: int | None) -> None:
        kind = dice.pick(["void", "fail"])
        site = self.site(dice)
        name, hypothesis = self.drawn_action(
            dice, _model(site), lambda one: one.record is None and not one.result
        )
        self.command(
            site,
            kind,
            name,
            (hypothesis,),
            lambda: getattr(site.budget, kind)(CASE, PACKAGE, hypothesis, name, reason="because"),
            death,
        )

    def once_more(self, dice: Dice, death: int | None) -> None:
        """One of the last commands again: where it was carried out, nothing is added."""
        ready = [one for one in self.done[-12:] if one[0].model is not None and one[2]() == AGAIN]
        if ready:
            site, name, _, call = dice.pick(ready)
            counts[f"{name} repeated"] += 1
            self.attempt(site, name, None, call, None, death)

    # ---- transport

    def bundle(self, dice: Dice, death: int | None) -> None:
        del death  # It changes nothing.
        site = self.site(dice)
        model = _model(site)
        elsewhere = sorted(set(self.past) - set(site.history))
        choices: list[list[str | None]] = [[None], [*site.history], [site.history[-1]]]
        choices += [list(elsewhere)] if elsewhere else []
        since = dice.pick(dice.pick(choices))
        self.serial += 1
        target = self.base / f"bundle-{self.serial}.zip"
        expected: Refusal = None
        if since is not None and since not in site.history:
            expected = NotFoundError
        elif since == site.history[-1]:
            expected = InvalidError

        def call() -> None:
            create_bundle(site.path, target, since=None if since is None else ObjectId.parse(since))

        self.attempt(site, "bundle", expected, call, None)
        if expected is None:
            self.parcels.append(Parcel(target, model.copy(), list(site.history), since))

    def admit(self, dice: Dice, death: int | None) -> None:
        """Bring a bundle, most often the latest, to a service, most often the other one."""
        if not self.parcels:
            return
        parcel = dice.pick([*self.parcels, *self.parcels[-1:] * 4])
        site = dice.pick(self.sites)
        self.bring(parcel, site, death)

    def carry(self, dice: Dice, death: int | None) -> None:
        """The case as it is, to the other service."""
        origin = self.site(dice)
        one, other = self.sites
        if self.sensible and one.history == other.history[: len(one.history)]:
            origin = other if len(other.history) > len(one.history) else one
        target = self.sites[1] if origin is self.sites[0] else self.sites[0]
        model = _model(origin)
        self.bring(Parcel(origin.path, model.copy(), list(origin.history), None), target, death)

    def bring(self, parcel: Parcel, site: Site, death: int | None) -> None:
        mine, theirs = site.history, parcel.history
        common = sum(1 for one, other in zip(mine, theirs, strict=False) if one == other)
        expected: Refusal = None
        apply: Callable[[], None] | None = None
        if parcel.since is not None and parcel.since not in mine:
            expected = UnsupportedError
        elif common == len(mine) < len(theirs):

            def apply() -> None:
                site.model = parcel.model.copy()

        elif common < len(theirs):
            expected = ConflictError
        before = site.head
        if death is not None:
            site.again(KillingIO(death, written=50, simulate=True))
        try:
            done = admit(site.workspace, parcel.path)
        except SimulatedDeath:
            counts["died admitting"] += 1
            site.again()
            if site.head != before:
                assert apply is not None
                # A few of the generations may have come in, never something else.
                assert site.head in theirs[common:]
                site.model = self.past[str(site.head)].copy()
        except VStoreError as error:
            assert expected is not None, error
            assert isinstance(error, expected), error
            counts["admit refused"] += 1
            assert site.head == before
            if expected is ConflictError:
                assert error.kind == "diverged"
                number = error.details["common_generation"]
                assert number == (common or None)
                assert error.details["common"] == (theirs[common - 1] if common else None)
            else:
                assert error.kind == "missing_base"
        else:
            assert expected is None
            counts["admit"] += 1
            counts[f"admit {done.outcome}"] += 1
            assert (done.outcome == "unchanged") == (apply is None)
            if apply is not None:
                apply()
        if death is not None:
            site.again()
        if site.model is not None:
            self.learn(site)

    def fresh_process(self, dice: Dice, death: int | None) -> None:
        del death
        lose_cache = dice.pick([False, True])
        site = self.site(dice)
        site.workspace.close()
        if lose_cache:
            shutil.rmtree(site.path / "cache", ignore_errors=True)
        site.begin()
        counts["fresh process"] += 1
        self.learn(site)


def _sense(model: ReferenceCase) -> list[str]:
    """Operations that make sense where a case stands."""
    if model.state in ("ADMITTED", "INTERPRETING"):
        return ["advance", "input_add"]
    if model.state == "REOPENED":
        return ["prepare", "input_add"]
    if model.state == "GENERATING_HYPOTHESES":
        return ["prepare"]
    if model.state == "BLOCKED":
        return ["resume"]
    if model.state in ("DIAGNOSED", "CLOSED"):
        return ["reopen", "reopen", "reopen", "advance"]
    found = ["reserve"] * 4 + ["block", "reopen", "advance"]
    for one in model.actions.values():
        if one.bound or one.result:
            found += ["settle"] * 3
        elif one.record is not None:
            found += ["record_evidence", "record_evidence", "whole_action", "give_up"]
        else:
            found += ["store", "store", "record_result", "give_up", "give_up"]
    return found


def _model(site: Site) -> ReferenceCase:
    assert site.model is not None
    return site.model


def _figures(account: Any) -> tuple[Any, ...]:
    return (
        account.granted,
        account.balance,
        account.reserved,
        account.debited,
        account.rewarded,
        account.expired,
        account.streak,
        account.status,
    )


KINDS = (
    "advance",
    "hypotheses",
    "initialise",
    "input_add",
    "block",
    "resume",
    "reopen",
    "reserve",
    "store",
    "record_evidence",
    "record_result",
    "settle",
    "void",
    "fail",
    "bundle",
    "admit",
)
OTHERS = (
    "died",
    "died behind the commit point",
    "died admitting",
    "repeated after a crash",
    "reserve repeated",
    "store repeated",
    "admit fast_forwarded",
    "admit unchanged",
    "fresh process",
)


def _run(examples: int, steps: int) -> None:
    run_state_machine_as_test(
        LifeMachine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_a_case_over_its_life_is_what_the_model_says() -> None:
    _run(4, 25)


def _rare() -> list[str]:
    """What happened too seldom to say anything of it."""
    wanted = {name: 50 for kind in KINDS for name in (kind, f"{kind} refused")}
    wanted |= dict.fromkeys(OTHERS, 20)
    return [name for name, least in wanted.items() if counts[name] < least]


@pytest.mark.deep
def test_a_case_over_its_life_thousands_of_times() -> None:
    counts.clear()
    _run(300, 60)
    # What happens is drawn by chance: rather than ask for less, go on until there was enough.
    for _ in range(5):
        if not _rare():
            break
        _run(60, 60)
    assert not _rare(), counts
    assert sum(counts[kind] + counts[f"{kind} refused"] for kind in KINDS) >= 3_000


def test_the_model_refuses_by_itself() -> None:
    """What the model says of a few histories, by hand."""
    model = ReferenceCase(policy=NUMBERS)
    assert model.reopen("review") is StateError
    model.state, model.hypotheses = "GENERATING_HYPOTHESES", ["H1"]
    model.do_initialise("policy")
    assert model.command("reserve", "a", ("H1", "source.read")) == (None, False)
    model.do("reserve", "a", ("H1", "source.read"))
    model.do_store("o", "H1", "a", "asked", frozenset({1, 2}))
    model.do("record_evidence", "a", ("H1", 1))
    model.do("settle", "a", ("H1", 100))
    # 20 credits, 70 per cent, score 80: 11 of 20 come back.
    assert _figures(model.accounts["H1"]) == (100, 91, 0, 20, 11, 0, 0, "open")
