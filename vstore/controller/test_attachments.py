"""Attachments of the test that a case waits for: streamed into the package, never replaced.

Bytes are taken in before the publication lock is, so that a slow upload holds nobody up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import BinaryIO, Final, cast

from vstore.controller.projection import Projection, following
from vstore.errors import LimitExceeded, NotFoundError, StateError
from vstore.handoff.attachments import attachment_path, check_attachment_name, stored_attachments
from vstore.handoff.documents import Attachment
from vstore.handoff.limits import HandoffLimits
from vstore.handoff.media import SNIFFED_BYTES, media_type
from vstore.handoff.state import Handoff
from vstore.objects.transaction import Transaction
from vstore.package.lifecycle import check
from vstore.package.pinned import PinnedPackage
from vstore.package.repository import Repository
from vstore.package.tree_builder import TreeBuilder

__all__ = ["Attached", "Upload", "attach", "unknown_request", "waiting_for"]

_EVENT: Final = "test.attach"
_PIECE: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that is to become an attachment.

    Attributes:
        name: What it is called: 1 to 200 printable characters without a slash.
        stream: Its bytes; read once, to the end.
    """

    name: str
    stream: BinaryIO


@dataclass(frozen=True, slots=True, kw_only=True)
class Attached:
    """What an upload came to.

    Attributes:
        package: The head afterwards.
        attachments: As an answer lists them, in the order of the uploads.
        repeated: Whether all of them were there before, so that nothing was published.
    """

    package: PinnedPackage
    attachments: tuple[Attachment, ...]
    repeated: bool


def waiting_for(
    projection: Projection, package: PinnedPackage, request_id: str | None, event: str
) -> Handoff:
    """The test that a case waits for.

    Args:
        projection: Follows the package.
        package: The head.
        request_id: The test that the caller means; the outstanding one where None.
        event: What is to happen to it.

    Raises:
        NotFoundError: The case never handed this test out (``unknown_request``).
        StateError: The case doesn't wait for a test, or for another one
            (``not_outstanding``).
    """
    handoffs = projection.handoffs()
    if request_id is not None and request_id not in handoffs.handoffs:
        raise unknown_request(request_id)
    check(package.position, event)
    found = handoffs.outstanding
    if found is None or (request_id is not None and found.request.request_id != request_id):
        raise StateError(
            "the case doesn't wait for this test",
            kind="not_outstanding",
            hint=None if found is None else f"it waits for an answer to {found.request.request_id}",
            state=package.state,
            event=event,
        )
    return found


def unknown_request(request_id: str) -> NotFoundError:
    """The error for a test that the case never handed out."""
    return NotFoundError(
        "the case handed out no test with this request id",
        kind="unknown_request",
        hint="test list shows the requests of the case",
        request_id=request_id,
    )


def attach(
    repository: Repository,
    uploads: Sequence[Upload],
    limits: HandoffLimits,
    *,
    request_id: str | None,
    actor: str | None,
) -> Attached:
    """Take files in as attachments of the outstanding test, all of them or none.

    Args:
        repository: The package.
        uploads: The files.
        limits: Bounds on each of them and on their number.
        request_id: The test that the caller means; the outstanding one where None.
        actor: Who acts; the repository's actor by default.

    Raises:
        As :meth:`vstore.controller.test_coordinator.AsyncTestCoordinator.attach`.
    """
    for one in uploads:
        check_attachment_name(one.name)
    # Before their bytes come in, so that refusing them leaves none behind.
    limits.check("max_attachments", len(uploads))
    with following(repository) as (package, projection):
        meant = waiting_for(projection, package, request_id, _EVENT)
    with repository.begin() as transaction:
        taken = [_take(transaction, one, limits) for one in uploads]
        with repository.locked() as package, projection.mutex:
            projection.follow(package)
            # Somebody may have answered while the bytes came in.
            waiting_for(projection, package, meant.request.request_id, _EVENT)
            return _publish(repository, transaction, package, meant, taken, limits, actor)


def _publish(
    repository: Repository,
    transaction: Transaction,
    package: PinnedPackage,
    meant: Handoff,
    taken: Sequence[Attachment],
    limits: HandoffLimits,
    actor: str | None,
) -> Attached:
    root = package.generation.attachments
    builder = TreeBuilder() if root is None else TreeBuilder.from_tree(package.objects, root)
    new = False
    for one in taken:
        path = attachment_path(meant.request_ref, one.object, one.name)
        if builder.find(path) is None:
            builder.add_file(path, one.object, one.size)
            new = True
    if not new:
        repository.confirm()
        return Attached(package=package, attachments=tuple(taken), repeated=True)
    built = builder.build(transaction).root
    count = sum(1 for _ in stored_attachments(transaction, built, meant.request_ref))
    limits.check("max_attachments", count)
    head = repository.publish(
        transaction,
        package,
        events=[repository.event(_EVENT, operation_id=meant.request.request_id, actor=actor)],
        attachments=built,
    )
    return Attached(package=head, attachments=tuple(taken), repeated=False)


def _take(transaction: Transaction, upload: Upload, limits: HandoffLimits) -> Attachment:
    most = limits.max_attachment_bytes
    watched = _Watched(upload.stream)
    try:
        oid, size = transaction.put_stream(cast("BinaryIO", watched), max_bytes=most)
    except LimitExceeded as error:
        raise LimitExceeded(
            f"an attachment has more than max_attachment_bytes = {most} bytes",
            hint="raise max_attachment_bytes, or leave it out",
            limit="max_attachment_bytes",
            value=most,
            asked=most + 1,
        ) from error
    head = bytes(watched.head)
    return Attachment(
        name=upload.name,
        media_type=media_type(head, complete=size == len(head)),
        size=size,
        object=oid,
    )


class _Watched:
    """A stream that remembers how it began."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.head = bytearray()

    def read(self, size: int = -1, /) -> bytes:
        """The next bytes."""
        piece = self._stream.read(size)
        if len(self.head) < SNIFFED_BYTES:
            self.head += piece[: SNIFFED_BYTES - len(self.head)]
        return piece
