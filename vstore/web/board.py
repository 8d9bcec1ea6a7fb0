"""What there is to test: every request of every case in the workspace, and its answer.

Read from the packages, never from the service's database: a request is open exactly as long
as its case has no confirmed answer. A case that didn't change since the last look costs a
look at the end of its log. Nothing here takes a lock of a package, so the list of tests
doesn't wait for somebody's upload.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import BinaryIO, Literal, NamedTuple

from vstore.errors import InvalidError, NotFoundError, VStoreError
from vstore.handoff.attachments import attachments_of
from vstore.handoff.documents import AsyncTestFeedback, AsyncTestRequest, Attachment
from vstore.handoff.history import follow_handoffs
from vstore.handoff.state import Handoff, HandoffState
from vstore.objects.ids import ObjectId
from vstore.package.clock import Clock
from vstore.package.pinned import PinnedPackage
from vstore.package.reader import PackageReader, is_package
from vstore.package.workspace import Workspace

__all__ = ["Board", "BoardEntry", "BoardView", "RequestKey", "UnreadableCase", "unknown_request"]


class RequestKey(NamedTuple):
    """Which test: ids of the case, its package and the request."""

    case_id: str
    package_id: str
    request_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardEntry:
    """One test.

    Attributes:
        key: Which one.
        request: What is asked.
        request_ref: The object id of the request.
        status: ``open`` while its answer is awaited, else ``answered``.
        overdue: Open, and the deadline has passed by the clock here; nothing follows from it.
        feedback_ref: The object id of the confirmed answer, or None.
        outcome: The answer's ``completed`` or ``unable_to_test``, or None.
        confirmed_by: Who confirmed it, as the answer says, or None.
        confirmed_at: When, or None.
        confirmed_in: The number of the generation that took it, or None.
    """

    key: RequestKey
    request: AsyncTestRequest
    request_ref: ObjectId
    status: Literal["open", "answered"]
    overdue: bool = False
    feedback_ref: ObjectId | None = None
    outcome: str | None = None
    confirmed_by: str | None = None
    confirmed_at: str | None = None
    confirmed_in: int | None = None


class UnreadableCase(NamedTuple):
    """A case whose package can't be read: its id, and the kind of the error."""

    case_id: str
    kind: str


class BoardView(NamedTuple):
    """The board at one look: its tests by deadline, and the cases that can't be read."""

    entries: list[BoardEntry]
    unreadable: list[UnreadableCase]


@dataclass(slots=True)
class _Case:
    """What is known of one case, up to one generation."""

    reader: PackageReader
    state: HandoffState = field(default_factory=HandoffState)
    package: PinnedPackage | None = None
    entries: dict[str, BoardEntry] = field(default_factory=dict)


class Board:
    """The tests of all cases; used by several threads.

    Args:
        workspace: Where the cases are.
        clock: Says what is overdue.
    """

    def __init__(self, workspace: Workspace, *, clock: Clock) -> None:
        self._workspace = workspace
        self._clock = clock
        self._mutex = threading.RLock()
        self._cases: dict[str, _Case] = {}

    def look(self) -> BoardView:
        """Every test, by deadline, and which cases can't be read.

        Raises:
            StorageError: The workspace can't be listed.
        """
        now = self._clock()
        entries: list[BoardEntry] = []
        unreadable: list[UnreadableCase] = []
        with self._mutex:
            names = self._workspace.cases()
            for gone in self._cases.keys() - set(names):
                self._drop(gone)
            for name in names:
                try:
                    found = self._followed(name)
                except VStoreError as error:
                    self._drop(name)
                    unreadable.append(UnreadableCase(name, error.kind))
                    continue
                entries += (_dated(one, now) for one in found.entries.values())
        return BoardView(sorted(entries, key=_by_deadline), unreadable)

    def entries(self) -> list[BoardEntry]:
        """Every test of the cases that can be read, by deadline."""
        return self.look().entries

    def entry(self, key: RequestKey) -> BoardEntry:
        """One test.

        Raises:
            NotFoundError: No such case, package or request (``unknown_request``).
            IntegrityError, InvalidError, UnsupportedError, StorageError: The package can't
                be read.
        """
        with self._reading(key) as (_, found):
            return _dated(found, self._clock())

    def feedback(self, key: RequestKey) -> AsyncTestFeedback:
        """The confirmed answer to a test.

        Raises:
            NotFoundError: No such test, or no answer yet (``unanswered``).
            IntegrityError, InvalidError, UnsupportedError, StorageError: As :meth:`entry`.
        """
        with self._reading(key) as (package, found):
            if found.feedback_ref is None:
                raise NotFoundError("the test has no confirmed answer yet", kind="unanswered")
            return package.objects.document(found.feedback_ref, AsyncTestFeedback)

    def generation_of(self, key: RequestKey) -> ObjectId:
        """The id of the generation that took the answer to a test.

        Raises:
            As :meth:`feedback`.
        """
        with self._reading(key) as (package, found):
            reader = self._cases[key.case_id].reader
            for oid, generation in reader.history(start=package.generation_id):
                if generation.package_generation == found.confirmed_in:
                    return oid
        raise NotFoundError("the test has no confirmed answer yet", kind="unanswered")

    def attachments(self, key: RequestKey) -> list[Attachment]:
        """The attachments of a test that are in its package, with the types of their bytes.

        Raises:
            As :meth:`entry`.
        """
        with self._reading(key) as (package, found):
            return attachments_of(package, found.request_ref)

    def open_attachment(
        self, key: RequestKey, object: str, name: str
    ) -> tuple[Attachment, BinaryIO]:
        """The bytes of an attachment in the package; the caller closes them.

        Args:
            key: The test.
            object: The attachment's object id.
            name: Its name.

        Returns:
            The attachment, of the type that its bytes have whatever an answer says; a stream.

        Raises:
            NotFoundError: The test has no such attachment (``no_attachment``).
            IntegrityError, InvalidError, UnsupportedError, StorageError: As :meth:`entry`.
        """
        with self._reading(key) as (package, found):
            for one in attachments_of(package, found.request_ref):
                if one.object == object and one.name == name:
                    return one, package.objects.open(one.object)
        raise NotFoundError("the test has no such attachment", kind="no_attachment")

    def close(self) -> None:
        """Close the packages that are open."""
        with self._mutex:
            for name in list(self._cases):
                self._drop(name)

    @contextmanager
    def _reading(self, key: RequestKey) -> Iterator[tuple[PinnedPackage, BoardEntry]]:
        with self._mutex:
            case = self._case_of(key)
            package, found = case.package, case.entries.get(key.request_id)
            assert package is not None
            if found is None or found.key != key:
                raise unknown_request(key)
            yield package, found

    def _case_of(self, key: RequestKey) -> _Case:
        # A key comes out of an address: it may be anything.
        try:
            path = self._workspace.package_path(key.case_id)
        except InvalidError:
            raise unknown_request(key) from None
        try:
            if not is_package(path):
                raise unknown_request(key)
            return self._followed(key.case_id)
        except VStoreError as error:
            self._drop(key.case_id)
            if error.kind == "unknown_case":
                raise unknown_request(key) from None
            raise

    def _followed(self, case_id: str) -> _Case:
        """A case, brought up to its head."""
        case = self._cases.get(case_id)
        if case is None:
            path = self._workspace.package_path(case_id)
            case = self._cases[case_id] = _Case(PackageReader.open(path))
        case.reader.refresh()
        if case.package is None or case.package.generation_id != case.reader.head_id():
            package = case.reader.pinned()
            if package.case_id != case_id:
                # A folder that somebody renamed is no other case.
                raise NotFoundError("the package is of another case", kind="unknown_case")
            follow_handoffs(case.state, package)
            case.entries = {
                name: case.entries[name]
                if name in case.entries and case.entries[name].status == "answered"
                else _entry(package, one)
                for name, one in case.state.handoffs.items()
            }
            case.package = package
        return case

    def _drop(self, case_id: str) -> None:
        case = self._cases.pop(case_id, None)
        if case is not None:
            with suppress(VStoreError):
                case.reader.close()


def unknown_request(key: RequestKey) -> NotFoundError:
    """The error for a test that isn't there."""
    return NotFoundError(
        "there is no such test here",
        kind="unknown_request",
        hint="the list of tests shows what there is",
        request_id=key.request_id,
    )


def _entry(package: PinnedPackage, handoff: Handoff) -> BoardEntry:
    request = handoff.request
    entry = BoardEntry(
        key=RequestKey(package.case_id, package.package_id, request.request_id),
        request=request,
        request_ref=handoff.request_ref,
        status="open" if handoff.feedback_ref is None else "answered",
    )
    if handoff.feedback_ref is None:
        return entry
    feedback = package.objects.document(handoff.feedback_ref, AsyncTestFeedback)
    return replace(
        entry,
        feedback_ref=handoff.feedback_ref,
        outcome=feedback.outcome,
        confirmed_by=feedback.confirmed_by,
        confirmed_at=feedback.confirmed_at,
        confirmed_in=handoff.confirmed_in,
    )


def _dated(entry: BoardEntry, now: str) -> BoardEntry:
    overdue = entry.status == "open" and entry.request.deadline < now
    return replace(entry, overdue=True) if overdue else entry


def _by_deadline(entry: BoardEntry) -> tuple[str, RequestKey]:
    return entry.request.deadline, entry.key
