"""What a person does to a case: raw input, snapshots, hypotheses, the next state.

Every operation is one publication, with an actor and an instant, and is refused with a
:class:`~vstore.errors.StateError` that says what is legal where the lifecycle table doesn't
allow it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal

import msgspec

from vstore.errors import ConflictError, InvalidError, StateError
from vstore.objects.memory import ObjectSink
from vstore.objects.plain_json import decode_value
from vstore.package.documents import Hypotheses, Hypothesis, SnapshotDescriptor, State
from vstore.package.hypotheses import read_hypotheses
from vstore.package.inputs import InputFile, add_inputs, excluded_note
from vstore.package.lifecycle import Rule, check
from vstore.package.pinned import INPUTS_SOURCE, PinnedPackage
from vstore.package.repository import Repository

__all__ = ["Added", "Capture", "Case"]

#: Captures a snapshot into a sink and says what it captured.
Capture = Callable[[ObjectSink], SnapshotDescriptor]


class Added(msgspec.Struct, frozen=True):
    """What an addition of raw input came to.

    Attributes:
        package: The head afterwards; the head before where nothing was new.
        paths: Paths that are new or have new bytes, in byte order.
    """

    package: PinnedPackage
    paths: tuple[bytes, ...]


class Case:
    """The operations on one case.

    Args:
        repository: Its package.
    """

    def __init__(self, repository: Repository) -> None:
        self.repository = repository

    @property
    def package(self) -> PinnedPackage:
        """The head generation."""
        return self.repository.pinned()

    def init(
        self,
        case_id: str,
        package_id: str,
        files: Iterable[InputFile] = (),
        *,
        exclude: Sequence[str] = (),
        actor: str | None = None,
    ) -> PinnedPackage:
        """Publish the first generation, in ADMITTED, with these files as raw input.

        Args:
            case_id: The case.
            package_id: The package.
            files: The bug report and other files; may be none.
            exclude: Patterns of what to leave out.
            actor: Who does it; the repository's actor by default.

        Raises:
            ConflictError: The package has a generation already (``package_exists``).
            InvalidError, NotFoundError, LimitExceeded: A file can't be taken in.
            StorageError: The disk failed.
        """
        if self.repository.reader.head_id() is not None:
            raise ConflictError(
                "the package has a generation already",
                kind="package_exists",
                hint="input add takes further files in",
            )
        with self.repository.begin() as transaction:
            added = add_inputs(
                transaction,
                None,
                transaction,
                files,
                exclude=exclude,
                limits=self.repository.limits,
                never_enter=[self.repository.root],
            )
            return self.repository.publish_first(
                transaction,
                case_id,
                package_id,
                events=[
                    self.repository.event(
                        "init", actor=actor, reason=excluded_note(exclude, added.excluded)
                    )
                ],
                inputs=added.root,
            )

    def input_add(
        self,
        files: Iterable[InputFile],
        *,
        exclude: Sequence[str] = (),
        replace: bool = False,
        actor: str | None = None,
    ) -> Added:
        """Take further files into the raw input.

        Args:
            files: Files, links and folders.
            exclude: Patterns of what to leave out.
            replace: Take new bytes for paths that exist; else they are refused.
            actor: Who does it; the repository's actor by default.

        Raises:
            StateError: Not in ADMITTED, INTERPRETING or REOPENED.
            InvalidError, NotFoundError, LimitExceeded: A file can't be taken in.
            StaleGeneration, IntegrityError, StorageError: As publishing.
        """
        base = self._allowed("input.add")
        with self.repository.begin() as transaction:
            added = add_inputs(
                base.objects,
                base.raw_input,
                transaction,
                files,
                exclude=exclude,
                limits=self.repository.limits,
                replace=replace,
                never_enter=[self.repository.root],
            )
            if added.root == base.raw_input:
                return Added(base, ())
            head = self.repository.publish(
                transaction,
                base,
                events=[
                    self.repository.event(
                        "input.add", actor=actor, reason=excluded_note(exclude, added.excluded)
                    )
                ],
                inputs=added.root,
            )
            return Added(head, added.added)

    def add_snapshot(
        self,
        name: str,
        kind: Literal["source", "database"],
        capture: Capture,
        *,
        actor: str | None = None,
    ) -> PinnedPackage:
        """Pin a source or database snapshot under a new name.

        Args:
            name: How queries call it; ``inputs`` is taken.
            kind: What it is.
            capture: Captures it into the sink that it is given; its descriptor bears ``name``.
            actor: Who does it; the repository's actor by default.

        Raises:
            StateError: The case is BLOCKED or CLOSED.
            ConflictError: The name is taken (``snapshot_exists``): names are never replaced.
            InvalidError: The descriptor has another name or kind, or the capture's errors.
            StaleGeneration, IntegrityError, StorageError: As publishing.
        """
        event = f"{kind}.add"
        base = self._allowed(event)
        if name == INPUTS_SOURCE:
            raise ConflictError(
                f"{name} is the name of the raw input, which can be asked as a source",
                kind="snapshot_exists",
                hint="choose another name",
                name=name,
            )
        if name in base.generation.snapshots:
            raise ConflictError(
                f"a snapshot named {name} is pinned already",
                kind="snapshot_exists",
                hint="snapshots are never replaced: choose another name",
                name=name,
            )
        with self.repository.begin() as transaction:
            descriptor = capture(transaction)
            if (descriptor.name, descriptor.kind) != (name, kind):
                raise InvalidError(
                    "the captured descriptor has another name or kind", kind="bad_descriptor"
                )
            oid = transaction.put_document(descriptor)
            return self.repository.publish(
                transaction,
                base,
                events=[self.repository.event(event, actor=actor)],
                snapshots={name: oid},
            )

    def set_hypotheses(
        self,
        hypotheses: bytes | Sequence[Hypothesis | Mapping[str, object]],
        *,
        actor: str | None = None,
    ) -> PinnedPackage:
        """State the hypotheses of this analysis revision, or a new version of them.

        Args:
            hypotheses: JSON of a list of hypotheses or of an object with ``hypotheses``, or
                the list itself; ``confidence`` is ``open`` and ``open_questions`` are none
                where they are left out.
            actor: Who does it; the repository's actor by default.

        Raises:
            StateError: Neither GENERATING_HYPOTHESES nor INVESTIGATING_HYPOTHESES, or other ids
                than those that the revision's accounts were opened for (``hypotheses_fixed``).
            InvalidError: Not hypotheses, or two with one id.
            StaleGeneration, IntegrityError, StorageError: As publishing.
        """
        base = self._allowed("hypotheses")
        document = Hypotheses(
            case_id=base.case_id,
            package_id=base.package_id,
            analysis_revision=base.revision,
            hypotheses=read_hypotheses(hypotheses),
        )
        _check_fixed(base, document)
        with self.repository.begin() as transaction:
            oid = transaction.put_document(document)
            if oid == base.artifact("hypotheses"):
                return base
            return self.repository.publish(
                transaction,
                base,
                events=[self.repository.event("hypotheses", actor=actor)],
                artifacts={"hypotheses": oid},
            )

    def advance(
        self,
        *,
        expect: State | None = None,
        actor: str | None = None,
        reason: str | None = None,
    ) -> PinnedPackage:
        """Move the case to the next ordinary state.

        Args:
            expect: The state that it should lead to; anything else is refused.
            actor: Who does it; the repository's actor by default.
            reason: Why, for people.

        Raises:
            StateError: BLOCKED or CLOSED, another state than expected (``unexpected_state``),
                or something is needed first (``not_ready``).
            StaleGeneration, IntegrityError, StorageError: As publishing.
        """
        base = self.package
        rule = check(base.position, "advance")
        if expect is not None and rule.target != expect:
            raise StateError(
                f"advance leads from {base.position} to {rule.target}, not to {expect}",
                kind="unexpected_state",
                state=base.state,
                event="advance",
                legal=[str(rule.target)],
            )
        _check_ready(base, rule)
        with self.repository.begin() as transaction:
            return self.repository.publish(
                transaction,
                base,
                events=[self.repository.event("advance", actor=actor, reason=reason)],
            )

    def _allowed(self, event: str) -> PinnedPackage:
        base = self.package
        check(base.position, event)
        return base


def _check_ready(base: PinnedPackage, rule: Rule) -> None:
    missing = []
    if "hypotheses" in rule.needs and base.hypotheses() is None:
        missing.append("hypotheses")
    if "budget" in rule.needs and not _has_accounts(base):
        missing.append("budget init")
    if missing:
        raise StateError(
            f"advance to {rule.target} needs {' and '.join(missing)} first: neither could be "
            "made up for later in this revision"
            if len(missing) > 1
            else f"advance to {rule.target} needs {missing[0]} first",
            kind="not_ready",
            hint=f"run: {', then '.join(missing)}",
            state=base.state,
            event=rule.event,
            needs=list(rule.needs),
        )


def _check_fixed(base: PinnedPackage, document: Hypotheses) -> None:
    """Accounts fix which hypotheses a revision has; what they say may change."""
    before = base.hypotheses()
    if before is None or not _has_accounts(base):
        return
    if {one.id for one in document.hypotheses} != {one.id for one in before.hypotheses}:
        raise StateError(
            f"the budget of revision {base.revision} has fixed which hypotheses there are",
            kind="hypotheses_fixed",
            hint="their statements and confidences can change; reopening the case starts anew",
            state=base.state,
            event="hypotheses",
        )


def _has_accounts(base: PinnedPackage) -> bool:
    """Whether the ledger goes on in this analysis revision.

    The ledger's rules belong to a higher layer; what is asked here is only the revision of
    its last entry. The entry of a reopening bears the revision that it ends.
    """
    oid = base.artifact("budget_ledger")
    if oid is None:
        return False
    entry = decode_value(base.objects.get(oid))
    return isinstance(entry, dict) and entry.get("analysis_revision") == base.revision
