"""What happened in one generation, as facts: read from its own objects and its parent's.

Reading an entry costs the same whether it is generation 10 or 10,000: only what the
generation adds is looked at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from vstore.evidence.index_documents import EvidenceIndex, EvidenceRecord, ToolOrigin
from vstore.objects.ids import ObjectId
from vstore.objects.memory import ObjectSource
from vstore.objects.tree import Tree
from vstore.package.documents import Generation, Hypotheses, SnapshotDescriptor
from vstore.tools.reply import ReplyEnvelope
from vstore.tools.request import Arguments, ToolRequest
from vstore_cli.happening import Happening
from vstore_cli.terminal import safe
from vstore_cli.words import asked

if TYPE_CHECKING:
    from vstore.evidence.documents import SoughtTest

__all__ = ["Entry", "Observation", "entry_of", "observation"]

_UNKNOWN = "a question that its request lacks"


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One generation and what happened in it."""

    oid: ObjectId
    generation: Generation
    happenings: list[Happening] = msgspec.field(default_factory=list)

    @property
    def at(self) -> str:
        """When, as the writer's clock said."""
        return self.generation.events[-1].at

    @property
    def actor(self) -> str:
        """Who, as the writer said; not yet safe to print."""
        return self.generation.events[-1].actor

    def value(self) -> dict[str, Any]:
        """The JSON value."""
        generation = self.generation
        return {
            "generation": generation.package_generation,
            "object": str(self.oid),
            "parent": None if generation.parent is None else str(generation.parent),
            "analysis_revision": generation.analysis_revision,
            "state": generation.state,
            "at": self.at,
            "actor": self.actor,
            "events": [
                {"kind": one.kind, "operation_id": one.operation_id, "reason": one.reason}
                for one in generation.events
            ],
            "changes": [one.value() for one in self.happenings],
        }


class Observation(msgspec.Struct, frozen=True, kw_only=True):
    """A record with the question that it answers and how much came back."""

    record: EvidenceRecord
    oid: ObjectId
    #: What was asked of a tool or a tester; None where the request doesn't have it.
    arguments: Arguments | SoughtTest | None
    #: Items returned, or None where the reply doesn't say.
    returned: int | None

    @property
    def question(self) -> str:
        """The question in words."""
        return _UNKNOWN if self.arguments is None else asked(self.arguments)

    @property
    def brief(self) -> str:
        """The question in few words."""
        return _UNKNOWN if self.arguments is None else asked(self.arguments, brief=True)


def observation(objects: ObjectSource, oid: ObjectId) -> Observation:
    """A record and what it answers."""
    record = objects.document(oid, EvidenceRecord)
    if not isinstance(record.origin, ToolOrigin):
        from vstore.evidence.documents import EvidenceContent, SoughtTest
        from vstore.handoff.documents import AsyncTestFeedback, AsyncTestRequest

        feedback = objects.document(record.origin.feedback, AsyncTestFeedback)
        test = objects.document(feedback.request, AsyncTestRequest)
        content = objects.document(record.content, EvidenceContent)
        return Observation(
            record=record,
            oid=oid,
            arguments=SoughtTest(
                question=test.question,
                steps=test.steps,
                observations=[one.text for one in test.observations],
            ),
            returned=len(content.observations or ()),
        )
    request = objects.document(record.origin.request, ToolRequest)
    reply = objects.document(record.origin.reply, ReplyEnvelope)
    at = record.origin.position
    arguments = request.queries[at].arguments if at < len(request.queries) else None
    page = reply.results[at].page if at < len(reply.results) else None
    return Observation(
        record=record,
        oid=oid,
        arguments=arguments,
        returned=None if page is None else page.returned,
    )


def entry_of(
    objects: ObjectSource, oid: ObjectId, generation: Generation, parent: Generation | None
) -> Entry:
    """What happened in a generation, given its parent (None for the first)."""
    kinds = {event.kind for event in generation.events}
    happenings = [
        *_opening(objects, generation, parent),
        *_moves(generation, parent),
        *_inputs(objects, generation, parent),
        *_snapshots(objects, generation, parent),
        *_hypotheses(objects, generation, parent),
        *_tests(objects, generation, parent, kinds),
        *_records(objects, generation, parent),
        *_ledger(objects, generation, parent),
        *_calls(objects, generation, parent),
    ]
    if not happenings:
        # Kept readable when a newer vstore wrote an event that this one doesn't know.
        happenings = [Happening(kind=kind, what=safe(kind)) for kind in sorted(kinds)]
    return Entry(oid=oid, generation=generation, happenings=happenings)


def _opening(
    objects: ObjectSource, generation: Generation, parent: Generation | None
) -> list[Happening]:
    if parent is not None:
        return []
    names = [safe(entry.name) for entry in objects.document(generation.inputs, Tree).entries]
    what = f"created the package of case {generation.case_id}"
    return [Happening(kind="init", what=what + (f" with {_list(names)}" if names else ""))]


def _moves(generation: Generation, parent: Generation | None) -> list[Happening]:
    if parent is None or (
        parent.state == generation.state and parent.blocked == generation.blocked
    ):
        return []
    event = generation.events[-1]
    what = f"{parent.state} to {generation.state}"
    if generation.blocked is not None:
        what += f" ({generation.blocked.reason})"
    reason = None if event.reason is None else safe(event.reason)
    return [Happening(kind=event.kind, what=what, reason=reason)]


def _inputs(
    objects: ObjectSource, generation: Generation, parent: Generation | None
) -> list[Happening]:
    if parent is None or parent.inputs == generation.inputs:
        return []
    before = {entry.name: entry for entry in objects.document(parent.inputs, Tree).entries}
    added, changed = [], []
    for entry in objects.document(generation.inputs, Tree).entries:
        if entry.name not in before:
            added.append(safe(entry.name))
        elif before[entry.name] != entry:
            changed.append(safe(entry.name))
    what = [f"added {_list(added)} to the raw input"] if added else []
    what += [f"changed {_list(changed)} in the raw input"] if changed else []
    return [Happening(kind="input.add", what="; ".join(what))]


def _snapshots(
    objects: ObjectSource, generation: Generation, parent: Generation | None
) -> list[Happening]:
    before = {} if parent is None else parent.snapshots
    found = []
    for name, oid in generation.snapshots.items():
        if before.get(name) == oid:
            continue
        pinned = objects.document(oid, SnapshotDescriptor)
        label = f": {pinned.origin.label}" if pinned.origin.label else ""
        origin = safe(pinned.origin.kind + label)
        partial = ", partial" if pinned.coverage.kind == "partial" else ""
        found.append(
            Happening(
                kind=f"{pinned.kind}.add",
                what=f"pinned {pinned.kind} {name} ({origin}{partial})",
            )
        )
    return found


def _hypotheses(
    objects: ObjectSource, generation: Generation, parent: Generation | None
) -> list[Happening]:
    oid = generation.artifacts.get("hypotheses")
    earlier = None if parent is None else parent.artifacts.get("hypotheses")
    if oid is None or oid == earlier:
        return []
    before = (
        {}
        if earlier is None
        else {one.id: one for one in objects.document(earlier, Hypotheses).hypotheses}
    )
    found = []
    for one in objects.document(oid, Hypotheses).hypotheses:
        old = before.get(one.id)
        if old == one:
            continue
        if old is None:
            what = f"stated: {safe(one.statement)}"
        elif old.confidence != one.confidence:
            what = f"{one.confidence} (was {old.confidence})"
        else:
            what = "reworded"
        found.append(Happening(kind="hypotheses", what=what, hypothesis=one.id))
    return found or [Happening(kind="hypotheses", what="restated the hypotheses")]


def _records(
    objects: ObjectSource, generation: Generation, parent: Generation | None
) -> list[Happening]:
    head = generation.artifacts.get("evidence_index")
    until = None if parent is None else parent.artifacts.get("evidence_index")
    if head is None or head == until:
        return []
    found = []
    for indexed in objects.document(head, EvidenceIndex).records:
        seen = observation(objects, indexed.object)
        record = seen.record
        found.append(
            Happening(
                kind="evidence",
                what=f"{record.id} {seen.question}{_novelty_note(seen)}",
                brief=f"{record.id} {seen.brief}",
                hypothesis=record.hypothesis_id,
                action=record.action_id,
                record=record.id,
                operation=seen.question.split(" ")[0] if seen.arguments is not None else None,
                novelty=record.novelty_score,
            )
        )
    return found


def _novelty_note(seen: Observation) -> str:
    if seen.record.duplicate_of is not None:
        return f" (same as {seen.record.duplicate_of})"
    if seen.returned == 0:
        return " (nothing found)"
    if seen.returned is None:
        return ""
    return f" ({len(seen.record.novel_atoms)} of {seen.returned} new)"


def _list(names: list[str]) -> str:
    shown = names[:3]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def _ledger(
    objects: ObjectSource, generation: Generation, parent: Generation | None
) -> list[Happening]:
    if not _changed("budget_ledger", generation, parent):
        return []
    from vstore_cli.ledger_happenings import ledger_happenings

    return ledger_happenings(objects, generation, parent)


def _calls(
    objects: ObjectSource, generation: Generation, parent: Generation | None
) -> list[Happening]:
    if not _changed("investigation_log", generation, parent):
        return []
    from vstore_cli.call_happenings import call_happenings

    return call_happenings(objects, generation, parent)


def _changed(artifact: str, generation: Generation, parent: Generation | None) -> bool:
    head = generation.artifacts.get(artifact)
    return head is not None and (parent is None or parent.artifacts.get(artifact) != head)


def _tests(
    objects: ObjectSource, generation: Generation, parent: Generation | None, kinds: set[str]
) -> list[Happening]:
    if not any(kind.startswith("test.") for kind in kinds):
        return []
    from vstore_cli.test_happenings import test_happenings

    return test_happenings(objects, generation, parent)
