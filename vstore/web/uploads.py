"""Files that testers upload: streamed to the disk, digested on the way, theirs until confirmed.

A file is first ``ID.part``. Only when all of it has come, within the limits and of a type that
is taken, is it synced and renamed to ``ID``, and only then does the database call it stored.
So a service that dies leaves a half upload that the next start recognises and removes. Names
are random: what a tester calls a file is a text in the database, never a path.
"""

from __future__ import annotations

import os
import re
import secrets
import sqlite3
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import BinaryIO, Final

from vstore.errors import ConflictError, InvalidError, NotFoundError, StorageError, VStoreError
from vstore.handoff.attachments import check_attachment_name
from vstore.objects.durable import REAL, DurableIO
from vstore.objects.ids import ObjectId
from vstore.web.accounts import Account
from vstore.web.audit import Audit
from vstore.web.board import RequestKey
from vstore.web.claims import Claims
from vstore.web.database import Database
from vstore.web.problems import TooMany
from vstore.web.service_folder import ServiceFolder
from vstore.web.upload_policy import UploadPolicy
from vstore.web.upload_table import (
    Upload,
    count_receiving,
    delete_all,
    find_upload,
    insert_receiving,
    old_tests,
    set_stored,
    stored_uploads,
    usage_of,
)
from vstore.web.upload_writer import Room, UploadWriter

__all__ = ["KEPT_SECONDS", "Upload", "Uploads"]

#: How long uploads outlive an answer that was somebody else's.
KEPT_SECONDS: Final = 30 * 86_400
_IS_OURS: Final = re.compile(r"[0-9a-f]{32}(\.part)?").fullmatch


class Uploads:
    """The uploads of all testers.

    Args:
        folder: Where the files are.
        database: What is known of them.
        claims: Who may upload.
        audit: The trail that they leave.
        policy: What is taken.
        io: Does the durable I/O.
    """

    def __init__(
        self,
        folder: ServiceFolder,
        database: Database,
        claims: Claims,
        audit: Audit,
        *,
        policy: UploadPolicy | None = None,
        io: DurableIO = REAL,
    ) -> None:
        self.policy = policy or UploadPolicy()
        self._folder = folder.uploads
        self._database = database
        self._claims = claims
        self._audit = audit
        self.io = io

    def begin(
        self,
        key: RequestKey,
        account: Account,
        fence: int,
        name: str,
        declared_size: int | None = None,
    ) -> UploadWriter:
        """Begin to take a file.

        Args:
            key: The test.
            account: Who uploads.
            fence: Their token.
            name: What the file is called: 1 to 200 printable characters without a slash.
            declared_size: How many bytes are to come, 0 or more, where that is known.

        Raises:
            InvalidError: Such a name is no attachment's (``invalid_name``).
            LimitExceeded: It would pass a limit (``upload_limit``); so far as that is known.
            TooMany: Too many of theirs are arriving at this moment.
            ConflictError: As :meth:`vstore.web.claims.Claims.check`.
            StorageError: The disk failed, or is full (``disk_full``).
        """
        check_attachment_name(name)
        announced = declared_size or 0
        if announced < 0:
            raise InvalidError("a file has 0 bytes or more", kind="invalid_size")
        upload_id = secrets.token_hex(16)
        with self._database.transaction() as db:
            self._claims.check(db, key, account, fence, writes=True)
            room = self._room(db, key, account, announced, files=1)
            receiving = count_receiving(db, account.account_id)
            if receiving >= self.policy.max_receiving:
                raise TooMany(
                    "too many files are arriving at the same time",
                    kind="too_many_uploads",
                    hint="wait until the others have arrived",
                    limit="max_receiving",
                    value=self.policy.max_receiving,
                    asked=receiving + 1,
                    retry_after=5,
                )
            insert_receiving(
                db,
                upload_id,
                key,
                account.account_id,
                name=name,
                announced=announced,
                now=self._database.now(),
            )
        try:
            return UploadWriter(self, upload_id, key, account, fence, name, declared_size, room)
        except StorageError:
            self.forget(upload_id)
            raise

    def list(self, key: RequestKey, account: Account) -> list[Upload]:
        """What a tester has uploaded for a test, oldest first."""
        with self._database.reading() as db:
            return list(self.stored(db, key, account).values())

    def stored(
        self, db: sqlite3.Connection, key: RequestKey, account: Account
    ) -> dict[str, Upload]:
        """The same by upload id, as a transaction sees it."""
        return stored_uploads(db, key, account.account_id)

    def get(self, upload_id: str, account: Account) -> Upload:
        """One upload, for whoever uploaded it and for administrators.

        Raises:
            NotFoundError: There is none, or it is none of theirs (``unknown_upload``).
        """
        found = None
        if _IS_OURS(upload_id):
            with self._database.reading() as db:
                found = find_upload(db, upload_id)
        if found is None or not (account.is_admin or found.account_id == account.account_id):
            raise NotFoundError("there is no such upload", kind="unknown_upload")
        return found

    def open(self, upload_id: str, account: Account) -> tuple[Upload, BinaryIO]:
        """An upload's bytes, for whoever may see it; the caller closes them.

        Raises:
            NotFoundError: As :meth:`get`.
            StorageError: Its file can't be read.
        """
        upload = self.get(upload_id, account)
        return upload, self.stream(upload)

    def stream(self, upload: Upload) -> BinaryIO:
        """An upload's bytes, for the service itself.

        Raises:
            StorageError: Its file can't be read, or has another size by now (``unreadable``).
        """
        path = self._folder / upload.upload_id
        try:
            fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            found = os.fdopen(fd, "rb")
        except OSError as error:
            raise StorageError(
                "an uploaded file can't be read", kind="unreadable", hint="upload it again"
            ) from error
        if os.fstat(fd).st_size != upload.size:
            found.close()
            raise StorageError(
                "an uploaded file changed on the disk", kind="unreadable", hint="upload it again"
            )
        return found

    def remove(self, key: RequestKey, account: Account, fence: int | None, upload_id: str) -> None:
        """Remove an upload; a draft that names it will say so.

        Args:
            key: The test.
            account: Who uploaded it.
            fence: Their token; None where they don't hold the test any more, so that what
                they uploaded before counts no longer.
            upload_id: Which one.

        Raises:
            NotFoundError: They uploaded no such file for this test (``unknown_upload``).
            ConflictError: As :meth:`begin`; without a token, they hold the test
                (``claimed``).
        """
        with self._database.transaction() as db:
            if fence is None:
                self._claims.check_free(db, key, account)
            else:
                self._claims.check(db, key, account, fence, writes=True)
            upload = self.stored(db, key, account).get(upload_id)
            if upload is None:
                raise NotFoundError("there is no such upload", kind="unknown_upload")
            db.execute("DELETE FROM uploads WHERE upload_id = ?", (upload_id,))
            self._note(db, "upload.remove", upload, account)
        self._discard(upload_id)

    def drop(self, db: sqlite3.Connection, key: RequestKey, account_id: int) -> tuple[str, ...]:
        """Forget what a tester uploaded for a test, in a transaction; their ids.

        Their files are to be removed with :meth:`discard` once that is durable.
        """
        return delete_all(db, key, account_id)

    def discard(self, upload_ids: Iterable[str]) -> None:
        """Remove the files of forgotten uploads; what fails is left for the next start."""
        for one in upload_ids:
            self._discard(one)

    def sweep(self, is_answered: Callable[[RequestKey], bool]) -> int:
        """Drop what was uploaded for tests that somebody else answered, a month later.

        Args:
            is_answered: Whether a test has its answer.

        Returns:
            How many were dropped.
        """
        before = self._database.now() - KEPT_SECONDS
        with self._database.reading() as db:
            found = old_tests(db, before)
        count = 0
        for key, account_id in found:
            if is_answered(key):
                with self._database.transaction() as db:
                    dropped = self.drop(db, key, account_id)
                self.discard(dropped)
                count += len(dropped)
        return count

    def clean(self) -> int:
        """Remove half uploads and files that nothing names; at the start of a service.

        Returns:
            How many were removed.

        Raises:
            StorageError: The folder can't be listed.
        """
        with self._database.transaction() as db:
            db.execute("DELETE FROM uploads WHERE state = 'receiving'")
            kept = {row[0] for row in db.execute("SELECT upload_id FROM uploads").fetchall()}
        try:
            names = os.listdir(self._folder)  # noqa: PTH208
        except OSError as error:
            raise StorageError("can't list the uploads", kind="read_failed") from error
        # Only what we could have made: the folder's other files are somebody's.
        left = [name for name in names if _IS_OURS(name) and name not in kept]
        for name in left:
            self.io.discard(self._folder / name)
        return len(left)

    # ---- for the writer

    def finish(self, writer: UploadWriter, oid: ObjectId, kind: str) -> Upload:
        """Call an upload stored, once its file is in place; for its writer."""
        key, account, upload_id = writer.key, writer.account, writer.upload_id
        with self._database.transaction() as db:
            self._claims.check(db, key, account, writer.fence, writes=True)
            known = self.stored(db, key, account).values()
            same = next(
                (one for one in known if (one.object, one.name) == (oid, writer.name)), None
            )
            if same is None:
                # Others that came meanwhile count by now; this one counts as what it is.
                db.execute("UPDATE uploads SET size = 0 WHERE upload_id = ?", (upload_id,))
                self._room(db, key, account, writer.size, files=0)
                if not set_stored(db, upload_id, size=writer.size, object=oid, media_type=kind):
                    raise ConflictError(
                        "the upload was given up", kind="upload_ended", hint="upload it again"
                    )
                upload = self.stored(db, key, account)[upload_id]
                self._note(db, "upload.store", upload, account)
                return upload
        # The same file again, after a reload perhaps, is no second one.
        self.forget(upload_id)
        return same

    def renew(self, writer: UploadWriter) -> None:
        """A sign of life for the claim; for the writer of a long upload."""
        self._claims.renew(writer.key, writer.account, writer.fence)

    def forget(self, upload_id: str) -> None:
        """Give up an upload that didn't come to an end, or isn't needed; for its writer."""
        try:
            with self._database.transaction() as db:
                db.execute(
                    "DELETE FROM uploads WHERE upload_id = ? AND state = 'receiving'",
                    (upload_id,),
                )
                kept = db.execute("SELECT 1 FROM uploads WHERE upload_id = ?", (upload_id,))
                stored = kept.fetchone() is not None
        except VStoreError:
            return  # what it is can't be told now; the next start does
        if not stored:
            self._discard(upload_id)

    def path(self, name: str) -> Path:
        """The file of an upload."""
        return self._folder / name

    def _room(
        self, db: sqlite3.Connection, key: RequestKey, account: Account, size: int, *, files: int
    ) -> Room:
        """How many bytes a file may have; refuses ``size`` where that is less."""
        policy = self.policy
        used = usage_of(db, key, account.account_id)
        policy.check("max_file_bytes", size)
        policy.check("max_request_files", used.request_files + files)
        policy.check("max_request_bytes", used.request_bytes + size)
        policy.check("max_tester_bytes", used.tester_bytes + size)
        return min(
            Room(policy.max_file_bytes, "max_file_bytes", 0),
            *(
                Room(getattr(policy, limit) - already, limit, already)
                for limit, already in (
                    ("max_request_bytes", used.request_bytes),
                    ("max_tester_bytes", used.tester_bytes),
                )
            ),
        )

    def _discard(self, upload_id: str) -> None:
        for name in (upload_id, f"{upload_id}.part"):
            self.io.discard(self._folder / name)

    def _note(self, db: sqlite3.Connection, action: str, one: Upload, account: Account) -> None:
        self._audit.note(
            db,
            account.name,
            action,
            case_id=one.key.case_id,
            request_id=one.key.request_id,
            name=one.name,
            size=one.size,
            object=str(one.object),
        )
