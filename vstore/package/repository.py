"""One package, for writing: publishing the generation after the head.

What a publication needs is built in a transaction; :meth:`Repository.publish` makes the
generation document that names it and appends both in one frame. Refs are a projection of
the last frame (spec: storage, "Read and write ordering").
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

import msgspec

from vstore.errors import ConflictError, InvalidError
from vstore.objects.canonical import encode
from vstore.objects.durable import REAL, DurableIO
from vstore.objects.ids import ObjectId
from vstore.objects.writer import ObjectWriter, Transaction
from vstore.package.clock import Clock, utc_now
from vstore.package.documents import Blocked, Event, Generation
from vstore.package.history import HistoryTree, history_of
from vstore.package.lifecycle import Position, after_events, starts_revision
from vstore.package.limits import PackageLimits
from vstore.package.pinned import PinnedPackage
from vstore.package.reader import PackageReader, is_package
from vstore.package.succession import declared_roots, faults

__all__ = ["Repository"]


class Repository:
    """A writer for one package; make one with :meth:`create` or :meth:`open`.

    Args:
        writer: The package's object store.
        actor: Who acts, for events that name nobody else.
        clock: Gives the instants of events.
        limits: Bounds on raw input and snapshots.
    """

    def __init__(
        self,
        writer: ObjectWriter,
        *,
        actor: str = "vstore",
        clock: Clock = utc_now,
        limits: PackageLimits | None = None,
    ) -> None:
        self._writer = writer
        self.actor = actor
        self.clock = clock
        self.limits = limits or PackageLimits()
        self.reader = PackageReader(writer.reader)
        self._history = HistoryTree(self.root, self._read_generation)

    @classmethod
    def create(
        cls,
        path: Path,
        *,
        actor: str = "vstore",
        clock: Clock = utc_now,
        limits: PackageLimits | None = None,
        io: DurableIO = REAL,
    ) -> Repository:
        """Make a package without a generation, or open one whose creation was cut short.

        Files that are in the folder stay as they are.

        Raises:
            ConflictError: The folder is a package with a generation (``package_exists``).
            StorageError: The disk failed.
        """
        if not is_package(path):
            writer = ObjectWriter.create(path, io=io)
            return cls(writer, actor=actor, clock=clock, limits=limits)
        repository = cls.open(path, actor=actor, clock=clock, limits=limits, io=io)
        if repository.reader.head_id() is not None:
            repository.close()
            raise ConflictError(
                "the folder is an evidence package already",
                kind="package_exists",
                hint="a case has one package; status shows it",
            )
        return repository

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        actor: str = "vstore",
        clock: Clock = utc_now,
        limits: PackageLimits | None = None,
        io: DurableIO = REAL,
    ) -> Repository:
        """Open the package in this folder for writing; nothing is written yet.

        Raises:
            NotFoundError: Not a package.
            StorageError, IntegrityError, UnsupportedError: It can't be read.
        """
        return cls(ObjectWriter.open(path, io=io), actor=actor, clock=clock, limits=limits)

    @property
    def root(self) -> Path:
        """The package's folder."""
        return self._writer.reader.root

    def pinned(self) -> PinnedPackage:
        """The head generation, publications of other processes included.

        Raises:
            NotFoundError: The package has no generation yet (``no_generation``).
            IntegrityError, InvalidError, UnsupportedError: It can't be read.
        """
        self.reader.refresh()
        return self.reader.pinned()

    def event(
        self,
        kind: str,
        *,
        operation_id: str | None = None,
        actor: str | None = None,
        reason: str | None = None,
    ) -> Event:
        """An event of now.

        Args:
            kind: As the lifecycle table calls it.
            operation_id: The caller's id for the operation, where it has one.
            actor: Who acts; the repository's actor by default.
            reason: Why, for people; up to 2,000 characters.
        """
        return Event(
            kind=kind,
            operation_id=operation_id,
            actor=actor or self.actor,
            at=self.clock(),
            reason=reason,
        )

    @contextmanager
    def begin(self) -> Iterator[Transaction]:
        """A transaction for one publication; abandoned when the block ends without one.

        Raises:
            IntegrityError: The package is damaged, or its refs are missing or foreign.
            StorageError: The disk failed.
        """
        transaction = self._writer.transaction()
        try:
            yield transaction
        finally:
            transaction.abandon()

    def publish(
        self,
        transaction: Transaction,
        base: PinnedPackage | None,
        *,
        events: Sequence[Event],
        case_id: str | None = None,
        package_id: str | None = None,
        blocked: Blocked | None = None,
        inputs: ObjectId | None = None,
        snapshots: Mapping[str, ObjectId] | None = None,
        attachments: ObjectId | None = None,
        artifacts: Mapping[str, ObjectId | None] | None = None,
        declared: Mapping[str, Sequence[ObjectId]] | None = None,
    ) -> PinnedPackage:
        """Publish the generation after ``base``.

        State, revision, number, parent, history and the declared roots follow from ``base``,
        the events and the members that change.

        Args:
            transaction: Holds the objects that the generation names, as far as they are new.
            base: The head that everything was decided on; None for the first generation.
            events: What happened, in order; at least one.
            case_id: Of the first generation.
            package_id: Of the first generation.
            blocked: Why the case waits from now on, for events that block it.
            inputs: The new raw input.
            snapshots: Snapshots to add, by name.
            attachments: The new tree of attachments.
            artifacts: Artifacts to set, by name; None takes one away.
            declared: Further roots that this generation adds and nothing else names, by role.

        Returns:
            The new head.

        Raises:
            StaleGeneration: The head is no longer ``base``; nothing was published.
            StateError: An event isn't legal in the state of ``base``.
            InvalidError: The members don't go with the events (``bad_generation``).
            IntegrityError: The package is damaged.
            StorageError: The disk failed; ``details["outcome"]`` may be ``unknown``.
        """
        child = self._next(
            base,
            events=list(events),
            case_id=case_id,
            package_id=package_id,
            blocked=blocked,
            inputs=inputs,
            snapshots=snapshots or {},
            attachments=attachments,
            artifacts=artifacts or {},
            declared=declared or {},
        )
        parent_id = None if base is None else base.generation_id
        parent = None if base is None else base.generation
        wrong = faults(parent_id, parent, child)
        if wrong:
            first = wrong[0]
            raise InvalidError(
                f"the next generation would break the rule on {first.pointer}: "
                f"expected {first.expected}, not {first.actual}",
                kind="bad_generation",
                pointer=first.pointer,
            )
        oid = self._append(transaction, parent_id, parent, child)
        self._history.advance(oid, encode(child))
        if self._history.due():
            self._history.save()
        return PinnedPackage(oid, child, self._writer.reader)

    def _append(
        self,
        transaction: Transaction,
        parent_id: ObjectId | None,
        parent: Generation | None,
        child: Generation,
    ) -> ObjectId:
        raise NotImplementedError

    def _next(
        self,
        base: PinnedPackage | None,
        *,
        events: list[Event],
        case_id: str | None,
        package_id: str | None,
        blocked: Blocked | None,
        inputs: ObjectId | None,
        snapshots: Mapping[str, ObjectId],
        attachments: ObjectId | None,
        artifacts: Mapping[str, ObjectId | None],
        declared: Mapping[str, Sequence[ObjectId]],
    ) -> Generation:
        parent = None if base is None else base.generation
        position = after_events(
            None if base is None else base.position,
            events,
            reason=None if blocked is None else blocked.reason,
        )
        if parent is None:
            if case_id is None or package_id is None or inputs is None:
                raise InvalidError(
                    "the first generation needs a case, a package and a raw input",
                    kind="bad_generation",
                )
            revision = 1
        else:
            case_id, package_id = parent.case_id, parent.package_id
            revision = parent.analysis_revision
            inputs = inputs or parent.inputs
            attachments = attachments or parent.attachments
        merged = {} if parent is None else dict(parent.artifacts)
        for name, oid in artifacts.items():
            if oid is None:
                merged.pop(name, None)
            else:
                merged[name] = oid
        child = Generation(
            case_id=case_id,
            package_id=package_id,
            package_generation=1 if parent is None else parent.package_generation + 1,
            analysis_revision=revision + sum(starts_revision(event.kind) for event in events),
            state=position.state,
            blocked=_blocked(position, parent, blocked),
            parent=None if base is None else base.generation_id,
            history=history_of(self._history.through(None if base is None else base.generation_id)),
            inputs=inputs,
            snapshots={**({} if parent is None else parent.snapshots), **snapshots},
            attachments=attachments,
            artifacts=merged,
            declared={},
            events=events,
        )
        roots = declared_roots(parent, child)
        for role, oids in declared.items():
            roots[role] = sorted({*roots.get(role, ()), *oids})
        return msgspec.structs.replace(child, declared=roots)

    def _read_generation(self, oid: ObjectId) -> tuple[Generation, bytes]:
        return self.reader.generation(oid), self.reader.objects.get(oid)

    def close(self) -> None:
        """Close the files that are open."""
        self.reader.close()

    def __enter__(self) -> Repository:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _blocked(
    position: Position, parent: Generation | None, blocked: Blocked | None
) -> Blocked | None:
    if position.state != "BLOCKED" or position.resume_state is None:
        return None
    if blocked is not None:
        return msgspec.structs.replace(blocked, resume_state=position.resume_state)
    return None if parent is None else parent.blocked
