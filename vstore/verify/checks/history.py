"""VS-HIS: the chain of generations, states by the lifecycle table, what is declared, refs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from msgspec.structs import replace

from vstore.errors import UnsupportedError, VStoreError
from vstore.objects.canonical import decode
from vstore.objects.frame import FrameSummary
from vstore.objects.ids import ObjectId
from vstore.objects.merkle import Frontier
from vstore.objects.refs import GENERATION, BadRef, classify
from vstore.package.checkpoint import Checkpoint, origin_of, root_text
from vstore.package.documents import Generation, Hypotheses
from vstore.package.lifecycle import RULES as LIFECYCLE
from vstore.package.succession import (
    RESERVED_ARTIFACTS,
    declared_roots,
    expected_refs,
    faults,
)
from vstore.verify.checks.objects import ObjectCheck
from vstore.verify.report import FindingCollector

__all__ = ["KNOWN_ARTIFACTS", "HistoryCheck", "Step", "check_hypotheses"]

#: Artifacts whose meaning this version judges.
KNOWN_ARTIFACTS: Final = frozenset(
    {
        "evidence_index",
        "budget_ledger",
        "budget_policy",
        "hypotheses",
        "async_test_feedback",
        "async_test_request",
        "investigation_log",
        "working_brief",
    }
)
_CODES: Final = {
    "artifact": "VS-HIS-020",
    "blocked": "VS-HIS-006",
    "declared": "VS-HIS-008",
    "event": "VS-HIS-004",
    "history": "VS-HIS-007",
    "identity": "VS-HIS-003",
    "member": "VS-HIS-009",
    "number": "VS-HIS-002",
    "parent": "VS-HIS-001",
    "revision": "VS-HIS-005",
    "snapshot": "VS-INP-006",
    "state": "VS-HIS-004",
}
_REFS: Final = {"lagging": "VS-HIS-012", "missing": "VS-HIS-013", "foreign": "VS-HIS-014"}
#: Events of which a generation may have several: the state or the snapshots count them.
_REPEATABLE: Final = frozenset({"advance", "source.add", "database.add"})
#: Members that events of this kind may change; to notice an event that changed nothing.
_CHANGES: Final[dict[str, frozenset[str]]] = {
    name: frozenset(member for rule in LIFECYCLE if rule.event == name for member in rule.changes)
    for name in {rule.event for rule in LIFECYCLE}
}
#: Whoever reopens a case may change them; only what came in new must have.
_TRACES: Final[dict[str, frozenset[str]]] = {
    "reopen.review": frozenset(),
    "reopen.patch_rejected": frozenset(),
    "reopen.new_input": frozenset({"inputs"}),
}


@dataclass(frozen=True, slots=True)
class Step:
    """One generation and the one before it."""

    oid: ObjectId
    generation: Generation
    parent_id: ObjectId | None
    parent: Generation | None

    @property
    def name(self) -> str:
        """How messages call it."""
        return f"generation {self.generation.package_generation}"

    def changed(self, artifact: str) -> ObjectId | None:
        """The object that an artifact's name leads to since this generation, or None."""
        oid = self.generation.artifacts.get(artifact)
        if oid is None or (self.parent is not None and self.parent.artifacts.get(artifact) == oid):
            return None
        return oid


class Head(NamedTuple):
    """The last generation so far."""

    oid: ObjectId
    generation: Generation

    @property
    def name(self) -> str:
        """How messages call it."""
        return f"generation {self.generation.package_generation}"


class HistoryCheck:
    """Checks how each generation follows the one before.

    Args:
        objects: Where documents are.
        found: Takes the findings.
        extends: A generation that must be part of the history, or a checkpoint that it must
            go on from, or None.
        waits: Says whether a test was outstanding before the generation at hand, so that the
            handoff's check says what the ledger mustn't do.
    """

    def __init__(
        self,
        objects: ObjectCheck,
        found: FindingCollector,
        *,
        extends: ObjectId | Checkpoint | None = None,
        waits: Callable[[], bool] = lambda: False,
    ) -> None:
        self._objects = objects
        self._found = found
        self._extends = extends
        #: Whether nothing is left to say about it.
        self._extended = extends is None
        self._waits = waits
        if isinstance(extends, Checkpoint) and extends.signatures:
            found.skip(
                f"trust in the checkpoint: none of its signatures ({len(extends.signatures)}) was "
                "checked, for this version knows no keys; anybody can have written it"
            )
        #: Merkle tree over the generations so far.
        self.frontier = Frontier()
        self.count = 0
        self.head_id: ObjectId | None = None
        self._head: Generation | None = None
        self._believed: Generation | None = None
        #: The bytes of the head where it was proved right and nobody asked for more yet.
        self._accepted: bytes | None = None
        self._identity: tuple[str, str] | None = None

    @property
    def head(self) -> Head | None:
        """The last generation, or None."""
        self._read_accepted()
        return (
            None if self.head_id is None or self._head is None else Head(self.head_id, self._head)
        )

    @property
    def believed(self) -> Generation | None:
        """The last generation, what was found wrong in it set right; or None."""
        self._read_accepted()
        return self._believed

    def _read_accepted(self) -> None:
        if self._accepted is not None:
            self._head = self._believed = decode(self._accepted, Generation)
            self._accepted = None

    def step(self, frame: FrameSummary) -> Step | None:
        """Check the generation that a frame publishes; None when it can't be read."""
        oid = frame.generation
        assert oid is not None, "a bulk frame publishes nothing"
        self._objects.reach(oid)
        if oid not in self._objects.table:
            self._found.add(
                "VS-HIS-019",
                "the frame publishes an object that is not there",
                object=oid,
                affects=(f"generation {self.count + 1}",),
            )
            return None
        generation = self._objects.lookup(oid, Generation, oid)
        if generation is None:
            return None
        step = Step(oid, generation, self.head_id, self.believed)
        self._check(step, frame)
        self._identity = self._identity or (generation.case_id, generation.package_id)
        self._enter(oid, self._objects.encoded(oid))
        self._head, self._believed = generation, self._true(generation, self._identity)
        return step

    def accept(self, oid: ObjectId, encoded: bytes) -> None:
        """Take in a generation that was proved right elsewhere (:mod:`vstore.verify.swift`).

        It is only read again when somebody asks for it, which the next one like it doesn't.

        Args:
            oid: The id of the child of the last generation.
            encoded: Its bytes.
        """
        self._accepted = encoded
        self._enter(oid, encoded)

    def _enter(self, oid: ObjectId, encoded: bytes) -> None:
        self.frontier.append(encoded)
        self.head_id = oid
        if not self._extended:
            self._check_extended(oid)
        self.count += 1

    def _check_extended(self, oid: ObjectId) -> None:
        """Look whether this generation is what the history should extend."""
        asked = self._extends
        if not isinstance(asked, Checkpoint):
            self._extended = oid == asked
            return
        # Numbers and identities that were found wrong are those of the first generation.
        assert self._identity is not None
        origin = origin_of(self._identity[1])
        if origin != asked.origin:
            self._found.add(
                "VS-HIS-022",
                "the checkpoint is of another package",
                expected=asked.origin,
                actual=origin,
            )
        elif self.frontier.size != asked.size:
            return
        elif (root := self.frontier.root()) != asked.root:
            self._found.add(
                "VS-HIS-021",
                f"the first {asked.size} generations are not those of the checkpoint",
                object=oid,
                expected=asked.root_text,
                actual=root_text(root),
                affects=(f"generations 1 to {asked.size}",),
            )
        self._extended = True

    def _true(self, generation: Generation, first: tuple[str, str]) -> Generation:
        """A generation as the next one should see it: a wrong number is reported once."""
        if (generation.package_generation, generation.case_id, generation.package_id) == (
            self.count,
            *first,
        ):
            return generation
        return replace(
            generation, package_generation=self.count, case_id=first[0], package_id=first[1]
        )

    def _check(self, step: Step, frame: FrameSummary) -> None:
        child, found = step.generation, self._found
        try:
            wrong = faults(step.parent_id, step.parent, child)
        except UnsupportedError as error:
            found.add("VS-VER-003", error.message, object=step.oid, pointer="/events")
            wrong = []
        else:
            self._check_traces(step)
        # A removal or a replacement has a finding of its own.
        named = {fault.pointer for fault in wrong if fault.kind == "snapshot"}
        if step.parent is not None:
            named |= {
                f"/artifacts/{name}" for name in step.parent.artifacts.keys() - child.artifacts
            }
        # So has an artifact whose meaning isn't known: why it changed can't be judged.
        named |= {f"/artifacts/{name}" for name in child.artifacts.keys() - KNOWN_ARTIFACTS}
        if self._waits():
            named.add("/artifacts/budget_ledger")
        reserved = {fault.pointer[10:] for fault in wrong if fault.kind == "artifact"}
        named |= {f"/declared{pointer}" for pointer in reserved}
        for fault in wrong:
            if fault.kind in ("member", "declared") and fault.pointer in named:
                continue
            code = _CODES[fault.kind]
            if fault.kind == "member" and fault.pointer.startswith(("/inputs", "/snapshots")):
                code = "VS-INP-005"
            found.add(
                code,
                f"{step.name} does not follow from the one before",
                object=step.oid,
                pointer=fault.pointer,
                expected=fault.expected,
                actual=fault.actual,
                affects=(step.name,),
            )
        if frame.parent != child.parent and child.parent == step.parent_id:
            found.add(
                "VS-HIS-019",
                f"the frame of {step.name} continues another generation",
                object=step.oid,
                pointer="/parent",
                expected=frame.parent,
                actual=child.parent,
                affects=(step.name,),
            )
        root = self.frontier.root()
        if child.history.root != root:
            found.add(
                "VS-HIS-007",
                f"{step.name} commits to another history",
                object=step.oid,
                pointer="/history/root",
                expected=root,
                actual=child.history.root,
                affects=(step.name,),
            )
        # The order within a role is the one thing that the rules above don't look at.
        if len(child.declared.get("snapshots", ())) > 1 and child.declared != declared_roots(
            step.parent, child
        ):
            found.add(
                "VS-HIS-008",
                f"{step.name} declares other roots than it adds",
                object=step.oid,
                pointer="/declared",
                affects=(step.name,),
            )
        self._check_artifacts(step)

    def _check_traces(self, step: Step) -> None:
        """Report events that say something happened of which there is no trace."""
        child, parent = step.generation, step.parent
        seen: set[str] = set()
        for position, event in enumerate(child.events):
            if event.kind in seen and event.kind not in _REPEATABLE:
                self._found.add(
                    "VS-HIS-009",
                    f"{step.name} says twice that the same happened",
                    object=step.oid,
                    pointer=f"/events/{position}/kind",
                    affects=(step.name,),
                )
            seen.add(event.kind)
            members = _TRACES.get(event.kind, _CHANGES.get(event.kind))
            if not members:
                continue
            if parent is not None and not any(
                _member(parent, one) != _member(child, one) for one in members
            ):
                self._found.add(
                    "VS-HIS-009",
                    f"{step.name} says that something happened, and nothing changed",
                    object=step.oid,
                    pointer=f"/events/{position}/kind",
                    affects=(step.name,),
                )

    def _check_artifacts(self, step: Step) -> None:
        artifacts = step.generation.artifacts
        same = step.parent is not None and step.parent.artifacts.keys() == artifacts.keys()
        if same and artifacts.keys() <= KNOWN_ARTIFACTS:
            return
        for name in artifacts.keys() - KNOWN_ARTIFACTS - RESERVED_ARTIFACTS:
            if step.changed(name) is not None:
                self._found.add(
                    "VS-HIS-011",
                    f"{step.name} has an artifact that this version can't judge",
                    object=step.oid,
                    pointer=f"/artifacts/{name}",
                )
        if step.parent is None:
            return
        for name in sorted(step.parent.artifacts.keys() - artifacts.keys()):
            self._found.add(
                "VS-HIS-010",
                f"{step.name} lacks an artifact that the one before had",
                object=step.oid,
                pointer=f"/artifacts/{name}",
                expected=step.parent.artifacts[name],
                affects=(step.name,),
            )

    # ---- the end

    def finish(
        self,
        refs: Mapping[str, ObjectId | BadRef] | None,
        read_again: Callable[[], Mapping[str, ObjectId | BadRef] | None],
        *,
        complete: bool,
        expect: ObjectId | None,
    ) -> None:
        """Check refs and head against what was remembered elsewhere.

        Args:
            refs: What the ref files said before the log was opened; None where they can't
                be read.
            read_again: Gives what they say now: a writer may have moved them since.
            complete: Whether all frames were read.
            expect: What the head must be, or None.
        """
        head = self.head
        if not complete:
            self._found.skip("refs, and the head that was asked for: frames of the log were lost")
            return
        wanted = self._expected_refs()
        if refs is not None and refs != wanted and read_again() != wanted:
            self._check_refs(refs)
        actual = None if head is None else head.oid
        if expect is not None and actual != expect:
            self._found.add(
                "VS-HIS-016", "the head is another generation", expected=expect, actual=actual
            )
        if not self._extended and isinstance(self._extends, Checkpoint):
            self._found.add(
                "VS-HIS-021",
                f"the history is shorter than the checkpoint: {self.count} generations",
                expected=self._extends.size,
                actual=self.count,
            )
        elif not self._extended:
            self._found.add(
                "VS-HIS-017",
                "the generation to extend is not in the history",
                expected=self._extends,
                actual=actual,
            )

    def _expected_refs(self) -> dict[str, ObjectId]:
        head = self.head
        return {} if head is None else expected_refs(head.oid, head.generation)

    def _check_refs(self, refs: Mapping[str, ObjectId | BadRef]) -> None:
        expected = self._expected_refs()
        for name, state in classify(refs, expected, self._earlier()).items():
            if state == "current":
                continue
            value = refs.get(name)
            lost = name == GENERATION and state == "foreign" and not isinstance(value, BadRef)
            self._found.add(
                "VS-HIS-015" if lost else _REFS[state],
                f"the ref {name} is {'of a generation that is not in the log' if lost else state}",
                file=f"refs/{name}",
                expected=expected.get(name),
                actual=value.reason if isinstance(value, BadRef) else value,
            )

    def _earlier(self) -> Iterator[Mapping[str, ObjectId]]:
        """All refs of each generation before the head, newest first."""
        oid = None if self.head is None else self.head.generation.parent
        for _ in range(self.count):
            if oid is None:
                return
            try:
                generation = self._objects.table.document(oid, Generation)
            except VStoreError:
                return
            yield expected_refs(oid, generation)
            oid = generation.parent


def _member(generation: Generation, name: str) -> object:
    if name.startswith("artifacts."):
        return generation.artifacts.get(name[10:])
    return getattr(generation, name)


def check_hypotheses(
    step: Step, objects: ObjectCheck, found: FindingCollector, accounts: Mapping[str, object]
) -> None:
    """Check the hypotheses that a generation sets.

    Args:
        step: The generation.
        objects: Where documents are.
        found: Takes the findings.
        accounts: By hypothesis id, the accounts of the revision; empty while there are none.
    """
    oid = step.changed("hypotheses")
    if oid is None:
        return
    document = objects.lookup(oid, Hypotheses, step.oid, "/artifacts/hypotheses")
    if document is None:
        return
    generation = step.generation
    for name in ("case_id", "package_id", "analysis_revision"):
        expected, actual = getattr(generation, name), getattr(document, name)
        if expected != actual:
            found.add(
                "VS-HIS-018",
                f"the hypotheses of {step.name} were made for something else",
                object=oid,
                pointer=f"/{name}",
                expected=expected,
                actual=actual,
                affects=(step.name,),
            )
    ids = [one.id for one in document.hypotheses]
    if len(set(ids)) != len(ids):
        found.add(
            "VS-HIS-018",
            f"the hypotheses of {step.name} name one twice",
            object=oid,
            pointer="/hypotheses",
            affects=(step.name,),
        )
    missing = [name for name in accounts if name not in ids]
    if missing:
        found.add(
            "VS-HIS-018",
            f"the hypotheses of {step.name} lack one that has an account",
            object=oid,
            pointer="/hypotheses",
            expected=", ".join(missing[:10]),
            affects=(step.name,),
        )
    added = [name for name in ids if name not in accounts] if accounts else []
    if added:
        found.add(
            "VS-HIS-018",
            f"the hypotheses of {step.name} have one that has no account",
            object=oid,
            pointer="/hypotheses",
            actual=", ".join(added[:10]),
            affects=(step.name,),
        )
