"""A case driven at random, with crashes, lost caches and rewound refs, against a plain model.

The model knows states by name, numbers and contents, and no rule of vstore.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from vstore.errors import ConflictError, InvalidError, StateError
from vstore.objects.durable import REAL
from vstore.objects.tree import walk
from vstore.package.case import Case
from vstore.package.documents import Coverage, Origin, SnapshotDescriptor
from vstore.package.inputs import InputFile
from vstore.package.repository import Repository
from vstore.testing.clock import FrozenClock
from vstore.testing.faults import KillingIO, SimulatedDeath

NEXT = {
    "ADMITTED": "INTERPRETING",
    "INTERPRETING": "GENERATING_HYPOTHESES",
    "GENERATING_HYPOTHESES": "INVESTIGATING_HYPOTHESES",
    "INVESTIGATING_HYPOTHESES": "DIAGNOSED",
    "DIAGNOSED": "CLOSED",
}
counts: Counter[str] = Counter()


class Model:
    """What a case comes to."""

    def __init__(self) -> None:
        self.state = "ADMITTED"
        self.number = 1
        self.inputs: dict[bytes, bytes] = {}
        self.sources: dict[str, bytes] = {}
        self.hypotheses: str | None = None
        self.budget = False


class CaseMachine(RuleBasedStateMachine):
    @initialize()
    def create(self) -> None:
        self.base = Path(tempfile.mkdtemp())
        self.path = self.base / "package"
        self.model = Model()
        self.old_refs: list[dict[str, bytes]] = []
        self.io: Any = REAL
        self.repository = Repository.create(self.path, clock=FrozenClock(step=1))
        Case(self.repository).init("c", "p")
        self.known: list[str] = []

    def teardown(self) -> None:
        if hasattr(self, "repository"):
            self.repository.close()
            shutil.rmtree(self.base)

    def reopen(self, io: Any = REAL) -> None:
        # One that dies while it closes its files saved less for the next.
        with suppress(SimulatedDeath):
            self.repository.close()
        self.repository = Repository.open(self.path, clock=FrozenClock(step=1), io=io)

    def attempt(
        self, name: str, legal: bool, operation: Callable[[Case], object], apply: Callable[[], None]
    ) -> None:
        """Do it; where the model says that it isn't legal, nothing may change."""
        head = self.repository.pinned().generation_id
        self.remember_refs()
        try:
            operation(Case(self.repository))
        except SimulatedDeath:
            counts["died"] += 1
            self.reopen()
            # Either all of it happened, or nothing did.
            if self.repository.pinned().generation_id != head:
                apply()
                self.model.number += 1
                counts["died behind the commit point"] += 1
            return
        except (StateError, InvalidError, ConflictError):
            assert not legal, name
            counts[f"{name} refused"] += 1
            assert self.repository.pinned().generation_id == head
            return
        assert legal, name
        counts[name] += 1
        apply()
        self.model.number += 1

    def remember_refs(self) -> None:
        refs = {one.name: one.read_bytes() for one in (self.path / "refs").iterdir()}
        if not self.old_refs or self.old_refs[-1] != refs:
            self.old_refs.append(refs)

    @rule(death=st.none() | st.integers(0, 25))
    def advance(self, death: int | None) -> None:
        model = self.model
        following = NEXT.get(model.state)
        legal = following is not None
        if model.state == "GENERATING_HYPOTHESES":
            legal = model.hypotheses is not None and model.budget

        def apply() -> None:
            assert following is not None
            model.state = following

        self.dying(death, "advance", legal, lambda case: case.advance(), apply)

    @rule(
        name=st.sampled_from(["report", "log", "deep/log", "deep"]),
        content=st.sampled_from([b"", b"1", b"22"]),
        replace=st.booleans(),
        death=st.none() | st.integers(0, 25),
    )
    def input_add(self, name: str, content: bytes, replace: bool, death: int | None) -> None:
        model = self.model
        file = self.base / "file"
        file.write_bytes(content)
        path = name.encode()
        legal = model.state in ("ADMITTED", "INTERPRETING")
        if path in model.inputs:
            if model.inputs[path] == content and legal:
                before = self.repository.pinned()
                added = Case(self.repository).input_add([InputFile(file, path)], replace=replace)
                assert (added.package, added.paths) == (before, ())
                counts["input_add of the same"] += 1
                return
            legal = legal and replace
        elif (path == b"deep" and b"deep/log" in model.inputs) or (
            path == b"deep/log" and b"deep" in model.inputs
        ):
            legal = False

        def apply() -> None:
            model.inputs[path] = content

        self.dying(
            death,
            "input_add",
            legal,
            lambda case: case.input_add([InputFile(file, path)], replace=replace),
            apply,
        )

    @rule(name=st.sampled_from(["a", "b", "c", "inputs"]), death=st.none() | st.integers(0, 25))
    def source_add(self, name: str, death: int | None) -> None:
        model = self.model
        legal = model.state != "CLOSED" and name not in model.sources and name != "inputs"
        content = f"{name} {model.number}".encode()

        def apply() -> None:
            model.sources[name] = content

        self.dying(
            death,
            "source_add",
            legal,
            lambda case: case.add_snapshot(
                name,
                "source",
                lambda sink: SnapshotDescriptor(
                    name=name,
                    kind="source",
                    content=sink.put(content),
                    origin=Origin(kind="directory", label="", digest=None),
                    coverage=Coverage(kind="complete", statement=""),
                ),
            ),
            apply,
        )

    @rule(death=st.none() | st.integers(0, 25))
    def state_hypotheses(self, death: int | None) -> None:
        model = self.model
        text = f"version {model.number}"

        def apply() -> None:
            model.hypotheses = text

        self.dying(
            death,
            "hypotheses",
            model.state in ("GENERATING_HYPOTHESES", "INVESTIGATING_HYPOTHESES"),
            lambda case: case.set_hypotheses([{"id": "H1", "statement": text}]),
            apply,
        )

    @rule()
    def initialise_budget(self) -> None:
        model = self.model

        def initialise(case: Case) -> None:
            repository = case.repository
            with repository.begin() as transaction:
                repository.publish(
                    transaction,
                    repository.pinned(),
                    events=[repository.event("budget.initialise")],
                    artifacts={
                        "budget_ledger": transaction.put(
                            b'{"analysis_revision":1,"sequence":%d}' % model.number
                        )
                    },
                )

        def apply() -> None:
            model.budget = True

        self.attempt("budget", model.state == "GENERATING_HYPOTHESES", initialise, apply)

    def dying(
        self,
        death: int | None,
        name: str,
        legal: bool,
        operation: Callable[[Case], object],
        apply: Callable[[], None],
    ) -> None:
        if death is not None:
            self.reopen(KillingIO(death, written=50, simulate=True))
        self.attempt(name, legal, operation, apply)
        if death is not None:
            self.reopen()

    @rule(lose_cache=st.booleans())
    def fresh_process(self, lose_cache: bool) -> None:
        self.repository.close()
        if lose_cache:
            shutil.rmtree(self.path / "cache", ignore_errors=True)
        self.repository = Repository.open(self.path, clock=FrozenClock(step=1))

    @rule(data=st.data())
    def rewind_a_ref(self, data: st.DataObject) -> None:
        if not self.old_refs:
            return
        refs = data.draw(st.sampled_from(self.old_refs))
        name = data.draw(st.sampled_from(sorted(refs)))
        (self.path / "refs" / name).write_bytes(refs[name])
        self.reopen()
        if data.draw(st.booleans()):
            self.repository.repair()
        counts["ref rewound"] += 1

    @invariant()
    def the_package_is_what_the_model_says(self) -> None:
        if not hasattr(self, "repository"):
            return
        head, model = self.repository.pinned(), self.model
        assert (head.state, head.number, head.revision) == (model.state, model.number, 1)
        assert {
            one.path: head.objects.get(one.entry.object)
            for one in walk(head.objects, head.raw_input)
        } == model.inputs
        assert {
            name: head.objects.get(head.snapshot(name).content)
            for name in head.generation.snapshots
        } == model.sources
        stated = head.hypotheses()
        assert (None if stated is None else stated.hypotheses[0].statement) == model.hypotheses
        assert all(
            one.state in ("current", "lagging") for one in self.repository.reader.ref_report()
        )
        leaves = []
        ids = []
        for oid, generation in self.repository.reader.history(newest_first=False):
            assert generation.history.root == _root(leaves)
            leaves.append(hashlib.sha256(b"\x00" + head.objects.get(oid)).digest())
            ids.append(str(oid))
        # What was published stays.
        assert ids[: len(self.known)] == self.known
        self.known = ids


def _root(leaves: list[bytes]) -> str:
    if not leaves:
        return hashlib.sha256(b"").hexdigest()
    level = leaves
    while len(level) > 1:
        pairs = [
            hashlib.sha256(b"\x01" + level[n] + level[n + 1]).digest()
            for n in range(0, len(level) - 1, 2)
        ]
        level = pairs + level[len(level) - len(level) % 2 :]
    return level[0].hex()


def test_a_case_is_what_was_done_to_it() -> None:
    run_state_machine_as_test(
        CaseMachine,
        settings=settings(max_examples=12, stateful_step_count=25, deadline=None),
    )


@pytest.mark.deep
def test_a_case_is_what_was_done_to_it_thousands_of_times() -> None:
    counts.clear()
    run_state_machine_as_test(
        CaseMachine,
        settings=settings(max_examples=300, stateful_step_count=60, deadline=None),
    )
    for name in ("advance", "input_add", "source_add", "hypotheses", "budget"):
        assert counts[name] >= 50, counts
        assert counts[f"{name} refused"] >= 50, counts
    for name in ("died", "died behind the commit point", "ref rewound"):
        assert counts[name] >= 50, counts
