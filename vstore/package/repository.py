"""One package, for writing: publishing the generation after the head.

What a publication needs is built in a transaction; :meth:`Repository.publish` makes the
generation document that names it and appends both in one frame. Refs are a projection of
the last frame (spec: storage, "Read and write ordering").
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self, Unpack

from vstore.errors import ConflictError, IntegrityError, VStoreError
from vstore.objects.canonical import encode
from vstore.objects.durable import DurableIO
from vstore.objects.ids import ObjectId
from vstore.objects.layout import TMP
from vstore.objects.locks import EVIDENCE, PackageLock
from vstore.objects.transaction import Transaction
from vstore.objects.writer import ObjectWriter
from vstore.package import refs_policy
from vstore.package.change import Change, checked_event, first_generation, next_generation
from vstore.package.documents import Blocked, Event, Generation
from vstore.package.history import HistoryTree, history_of
from vstore.package.options import WriterOptions, WriterSettings
from vstore.package.pinned import PinnedPackage
from vstore.package.reader import PackageReader, is_package
from vstore.package.succession import expected_refs

if TYPE_CHECKING:
    from vstore.package.transfer import IncomingHistory

__all__ = ["Repository"]


def _residue(root: Path) -> list[Path]:
    from vstore.package.health import tmp_residue

    return tmp_residue(root)


class Repository:
    """A writer for one package; make one with :meth:`create` or :meth:`open`.

    Args:
        writer: The package's object store.
        options: See :class:`~vstore.package.options.WriterOptions`.
    """

    def __init__(self, writer: ObjectWriter, **options: Unpack[WriterOptions]) -> None:
        settings = WriterSettings(**options)
        self._writer = writer
        self._settings = settings
        self.actor = settings.actor
        self.clock = settings.clock
        self.limits = settings.limits
        self.reader = PackageReader(writer.reader)
        #: Held while this object works; several threads may share it.
        self.mutex = threading.RLock()
        self._history = HistoryTree(self.root, self._read_generation)
        self._evidence_lock: PackageLock | None = None
        self._refs_checked = False
        self._before_close: list[Callable[[PinnedPackage], None]] = []

    @classmethod
    def create(cls, path: Path, **options: Unpack[WriterOptions]) -> Repository:
        """Make a package without a generation, or open one whose creation was cut short.

        Files that are in the folder stay as they are.

        Args:
            path: The folder; its parent must exist.
            options: See :class:`~vstore.package.options.WriterOptions`.

        Raises:
            ConflictError: The folder is a package with a generation (``package_exists``).
            StorageError: The disk failed.
        """
        if not is_package(path):
            store = WriterSettings(**options).for_store()
            return cls(ObjectWriter.create(path, **store), **options)
        repository = cls.open(path, **options)
        if repository.reader.head_id() is not None:
            repository.close()
            raise ConflictError(
                "the folder is an evidence package already",
                kind="package_exists",
                hint="a case has one package; status shows it",
            )
        return repository

    @classmethod
    def open(cls, path: Path, **options: Unpack[WriterOptions]) -> Repository:
        """Open the package in this folder for writing; nothing is written yet.

        Args:
            path: The package's folder itself.
            options: See :class:`~vstore.package.options.WriterOptions`.

        Raises:
            NotFoundError: Not a package.
            StorageError, IntegrityError, UnsupportedError: It can't be read.
        """
        store = WriterSettings(**options).for_store()
        return cls(ObjectWriter.open(path, **store), **options)

    @property
    def root(self) -> Path:
        """The package's folder."""
        return self._writer.reader.root

    @property
    def io(self) -> DurableIO:
        """What does the durable I/O."""
        return self._settings.io

    def pinned(self) -> PinnedPackage:
        """The head generation, publications of other processes included.

        Raises:
            NotFoundError: The package has no generation yet (``no_generation``).
            IntegrityError, InvalidError, UnsupportedError: It can't be read.
        """
        with self.mutex:
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

        Raises:
            InvalidError: One of them isn't what an event can hold (``invalid_event``).
        """
        return checked_event(
            Event(
                kind=kind,
                operation_id=operation_id,
                actor=actor or self.actor,
                at=self.clock(),
                reason=reason,
            )
        )

    @contextmanager
    def locked(self) -> Iterator[PinnedPackage]:
        """Hold the publication lock: nobody else publishes, so what is read stays the head.

        For decisions that continue from the head whatever it is. Never while a person, a
        network or a model works.

        Yields:
            The head.

        Raises:
            LockTimeout: Somebody else held the lock for too long.
            NotFoundError, IntegrityError, InvalidError, UnsupportedError, StorageError: As
                :meth:`pinned`.
        """
        with self.mutex, self._writer.lock:
            yield self.pinned()

    @contextmanager
    def evidence_lock(self) -> Iterator[None]:
        """Hold the evidence lock of the case, for commands that recompute and then publish.

        Raises:
            LockTimeout: Somebody else held the lock for too long.
            StorageError: The lock can't be taken here.
        """
        with self.mutex:
            if self._evidence_lock is None:
                self._evidence_lock = PackageLock(
                    self.root,
                    EVIDENCE,
                    timeout=self._settings.lock_timeout,
                    command=self._settings.command,
                    clock=self.clock,
                )
            with self._evidence_lock:
                yield

    @contextmanager
    def begin(self) -> Iterator[Transaction]:
        """A transaction for one publication; abandoned when the block ends without one.

        Raises:
            IntegrityError: The log is damaged, or refs are missing or foreign.
            UnsupportedError: A newer version wrote last: the package is read-only.
            StorageError: The disk failed, or an earlier sync of this process did.
        """
        with self.mutex:
            self._writer.log.check()
            if not self._refs_checked:
                self._check_refs()
                self._refs_checked = True
            with self._writer.transaction() as transaction:
                yield transaction

    def publish(
        self,
        transaction: Transaction,
        base: PinnedPackage,
        *,
        events: Sequence[Event],
        blocked: Blocked | None = None,
        inputs: ObjectId | None = None,
        snapshots: Mapping[str, ObjectId] | None = None,
        attachments: ObjectId | None = None,
        artifacts: Mapping[str, ObjectId] | None = None,
    ) -> PinnedPackage:
        """Publish the generation after ``base``.

        State, revision, number, parent, history and the declared roots follow from ``base``,
        the events and the members that change.

        Args:
            transaction: Holds the objects that the generation names, as far as they are new.
            base: The head that everything was decided on.
            events: What happened, in order; at least one.
            blocked: Why the case waits from now on, for events that block it.
            inputs: The new raw input.
            snapshots: Snapshots to add, by name.
            attachments: The new tree of attachments.
            artifacts: Artifacts to set, by name; none is ever taken away.

        Returns:
            The new head.

        Raises:
            StaleGeneration: The head is no longer ``base``; nothing was published, and the
                transaction may be published again on another base.
            StateError: An event isn't legal in the state of ``base``.
            InvalidError: The members don't go with the events (``bad_generation``).
            IntegrityError: The package is damaged.
            StorageError: The disk failed; ``details["outcome"]`` may be ``unknown``.
        """
        change = Change(
            events=events,
            blocked=blocked,
            inputs=inputs,
            snapshots=snapshots or {},
            attachments=attachments,
            artifacts=artifacts or {},
        )
        with self.mutex:
            history = history_of(self._history.through(base.generation_id))
            child = next_generation(base.generation_id, base.generation, change, history)
            return self._append(transaction, base, child)

    def publish_first(
        self,
        transaction: Transaction,
        case_id: str,
        package_id: str,
        *,
        events: Sequence[Event],
        inputs: ObjectId,
    ) -> PinnedPackage:
        """Publish the first generation.

        Args:
            transaction: Holds the objects of the raw input.
            case_id: The case.
            package_id: The package.
            events: What happened: ``init``.
            inputs: The raw input.

        Raises:
            StaleGeneration: There is a generation already.
            StateError, InvalidError, IntegrityError, StorageError: As :meth:`publish`.
        """
        with self.mutex:
            history = history_of(self._history.through(None))
            child = first_generation(
                case_id, package_id, Change(events=events, inputs=inputs), history
            )
            return self._append(transaction, None, child)

    def _append(
        self, transaction: Transaction, base: PinnedPackage | None, child: Generation
    ) -> PinnedPackage:
        previous = {} if base is None else expected_refs(base.generation_id, base.generation)
        oid = transaction.publish(
            parent=None if base is None else base.generation_id,
            generation=child,
            refs=child.artifacts,
            previous_refs=previous,
            earlier=refs_policy.earlier_refs(self.reader),
        )
        # From here on the publication stands, and nothing may report it as failed.
        self.reader.remember(oid, child)
        self._history.advance(oid, encode(child))
        if self._history.due():
            self._history.save()
        return PinnedPackage(oid, child, self.reader.objects)

    def extend(self, base: PinnedPackage, incoming: IncomingHistory) -> PinnedPackage:
        """Take over the generations that another copy of the package went on to.

        Nothing of them is judged here: the caller has verified them.

        Args:
            base: The head; ``incoming`` has it, and goes on from there.
            incoming: The other copy.

        Returns:
            The new head.

        Raises:
            StaleGeneration: The head is no longer ``base``.
            IntegrityError: One of the two is damaged.
            StorageError: The disk failed; the first few generations may have been taken over.
        """
        with self.mutex:
            head = incoming.head
            self._writer.extend(
                base.generation_id,
                incoming.after(base.generation_id),
                previous_refs=expected_refs(base.generation_id, base.generation),
                earlier=refs_policy.earlier_refs(self.reader),
                refs=expected_refs(head, incoming.generation(head)),
            )
            return self.pinned()

    def confirm(self) -> PinnedPackage:
        """Make sure that the head is on the disk and the refs say so.

        To be called before a repeated operation is answered from what is stored: the process
        that stored it may have died before it came so far.

        Returns:
            The head.

        Raises:
            IntegrityError: The log is damaged, or refs are missing or foreign.
            StorageError: The disk failed.
        """
        with self.locked() as head:
            self._restore_refs(accept=False)
            return head

    def repair(
        self, *, accept_log_head: bool = False, residue: bool = False, dry_run: bool = False
    ) -> list[str]:
        """Do what the recovery table allows: move lagging refs forward.

        The log is never changed: torn bytes stay where they are, and the next writer begins
        a new segment behind them.

        Args:
            accept_log_head: Also replace refs that are missing or foreign, on the assumption
                that the log's last publication is the newest one there ever was.
            residue: Also remove files that a crash left in ``tmp``; only while nobody writes.
            dry_run: Only say what would be done.

        Returns:
            What was done, or would be, in words; nothing where nothing is wrong.

        Raises:
            IntegrityError: The log is damaged, or refs are missing or foreign and
                ``accept_log_head`` is false.
            StorageError: The disk failed.
        """
        with self.mutex:
            self.reader.refresh()
            self._writer.log.check()
            statuses = [one for one in self.reader.ref_report() if one.state != "current"]
            if not accept_log_head:
                refs_policy.refuse_damaged(statuses)
            left = _residue(self.root) if residue else []
            if (statuses or left) and not dry_run:
                with self._writer.lock:
                    self.reader.refresh()
                    self._restore_refs(accept=accept_log_head)
                    for path in left:
                        self._settings.io.unlink(path)
            return [
                *(refs_policy.in_words(one) for one in statuses),
                *(f"remove {TMP}/{path.name}, which a crash left" for path in left),
            ]

    def _check_refs(self) -> None:
        try:
            refs_policy.refuse_damaged(self.reader.ref_report())
        except IntegrityError:
            # Another process may have published in between: look again while none can.
            with self._writer.lock:
                self.reader.refresh()
                refs_policy.refuse_damaged(self.reader.ref_report())

    def _restore_refs(self, *, accept: bool) -> None:
        self._writer.restore_refs(
            refs_policy.head_refs(self.reader),
            refs_policy.earlier_refs(self.reader),
            accept=accept,
        )

    def _read_generation(self, oid: ObjectId) -> tuple[Generation, bytes]:
        return self.reader.generation(oid), self.reader.objects.get(oid)

    def before_close(self, keep: Callable[[PinnedPackage], None]) -> None:
        """Have something called with the head when this repository is closed.

        Args:
            keep: Keeps what helps the next process; a VStoreError of it is of no consequence.
        """
        self._before_close.append(keep)

    def close(self) -> None:
        """Save what helps the next process, and close the files that are open."""
        with self.mutex:
            keepers, self._before_close = self._before_close, []
            for keep in keepers:
                with suppress(VStoreError):
                    keep(self.pinned())
            self._history.save()
            if self._evidence_lock is not None:
                self._evidence_lock.close()
            self._writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
