"""One upload on its way: counted, digested and looked at while it is written.

Whatever refuses it, at whatever byte, gives the whole file up: nothing half is ever a tester's
upload.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple

from blake3 import blake3

from vstore.errors import ConflictError, InvalidError
from vstore.handoff.media import SNIFFED_BYTES, media_type
from vstore.objects.durable import storage_error
from vstore.objects.ids import ObjectId
from vstore.web.accounts import Account
from vstore.web.board import RequestKey

if TYPE_CHECKING:
    from vstore.web.uploads import Upload, Uploads

__all__ = ["Room", "UploadWriter"]

#: Seconds between two signs of life that an upload gives for its claim, by a clock that
#: nobody moves.
_RENEW_EVERY: Final = 30.0


class Room(NamedTuple):
    """How many bytes a file may have, which limit says so, and what counts for it already."""

    available: int
    limit: str
    used: int


class UploadWriter:
    """Takes one file; end it with :meth:`finish` or :meth:`abort`.

    Made by :meth:`vstore.web.uploads.Uploads.begin`. One thread at a time may use it.

    Attributes:
        size: Bytes that have come so far.
    """

    def __init__(
        self,
        uploads: Uploads,
        upload_id: str,
        key: RequestKey,
        account: Account,
        fence: int,
        name: str,
        declared_size: int | None,
        room: Room,
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.upload_id = upload_id
        self.key = key
        self.account = account
        self.fence = fence
        self.name = name
        self.size = 0
        self._uploads = uploads
        self._declared = declared_size
        self._room = room
        self._monotonic = monotonic
        self._renewed = monotonic()
        self._hasher = blake3()
        self._head = bytearray()
        self._part = uploads.path(f"{upload_id}.part")
        self._fd = uploads.io.create(self._part)
        self._open = True
        try:
            os.fchmod(self._fd, 0o600)
        except OSError as error:
            self.abort()
            raise storage_error(error, "protect", self._part) from error

    def write(self, piece: bytes) -> None:
        """Take the next bytes; a refusal gives the whole file up.

        Raises:
            LimitExceeded: The file is larger than it may be (``upload_limit``).
            InvalidError: It is of a type that isn't taken (``upload_type``), or larger than
                announced (``upload_size``).
            ConflictError: The test is no longer theirs, or the upload has ended.
            StorageError: The disk failed, or is full (``disk_full``).
        """
        with self._giving_up():
            size = self.size + len(piece)
            if self._declared is not None and size > self._declared:
                raise _wrong_size(self._declared, size)
            if size > self._room.available:
                self._uploads.policy.check(self._room.limit, self._room.used + size)
            self._look_at(piece, size)
            if self._monotonic() - self._renewed >= _RENEW_EVERY:
                self._uploads.renew(self)
                self._renewed = self._monotonic()
            self._hasher.update(piece)
            self._uploads.io.write(self._fd, piece)
            self.size = size

    def finish(self) -> Upload:
        """Keep the file: it is durable, and the tester's, when this returns.

        Raises:
            InvalidError: Its type isn't taken, or it ended early (``upload_size``).
            LimitExceeded, ConflictError, StorageError: As :meth:`write`.
        """
        with self._giving_up():
            if self._declared is not None and self.size != self._declared:
                raise _wrong_size(self._declared, self.size)
            head = bytes(self._head)
            kind = media_type(head, complete=self.size == len(head))
            self._uploads.policy.check_type(kind)
            io, path = self._uploads.io, self._uploads.path(self.upload_id)
            io.sync(self._fd)
            self._close()
            io.replace(self._part, path)
            io.sync_folder(path.parent)
            return self._uploads.finish(self, ObjectId.from_bytes(self._hasher.digest()), kind)

    def abort(self) -> None:
        """Give the file up; nothing happens after :meth:`finish`."""
        if self._open:
            self._close()
            self._uploads.forget(self.upload_id)

    def _look_at(self, piece: bytes, size: int) -> None:
        self._head += piece[: SNIFFED_BYTES - len(self._head)]
        if self.size <= SNIFFED_BYTES < size:
            # Early, so that nobody waits for an upload that is going to be refused.
            self._uploads.policy.check_type(media_type(bytes(self._head), complete=False))

    @contextmanager
    def _giving_up(self) -> Iterator[None]:
        """Removes what has come of the file when a step of it fails."""
        if not self._open:
            raise ConflictError("the upload has ended", kind="upload_ended")
        try:
            yield
        except BaseException:
            self._close()
            self._uploads.forget(self.upload_id)
            raise

    def _close(self) -> None:
        if self._open:
            self._open = False
            self._uploads.io.close(self._fd)


def _wrong_size(declared: int, came: int) -> InvalidError:
    return InvalidError(
        "the file has another size than was announced",
        kind="upload_size",
        hint="the connection broke, or the file changed: upload it again",
        declared=declared,
        came=came,
    )
