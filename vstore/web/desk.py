"""The desk: everything that the testers' page and the API do, without HTTP."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Final, Self

from filelock import FileLock, Timeout

from vstore.controller.test_coordinator import AsyncTestCoordinator
from vstore.errors import ConflictError, InvalidError
from vstore.handoff.limits import HandoffLimits
from vstore.objects.durable import REAL, DurableIO
from vstore.package.clock import Clock, utc_now
from vstore.package.workspace import Workspace
from vstore.web.accounts import Accounts
from vstore.web.audit import Audit
from vstore.web.board import Board
from vstore.web.claims import LEASE_SECONDS, Claims
from vstore.web.confirming import Confirming
from vstore.web.database import Database
from vstore.web.draft_store import DraftStore
from vstore.web.enrolment import Enrolment
from vstore.web.journal import Journal
from vstore.web.rates import Rates
from vstore.web.recovery import Recovered, Recovery
from vstore.web.service_folder import ServiceFolder
from vstore.web.sessions import Sessions
from vstore.web.tokens import Tokens
from vstore.web.upload_policy import UploadPolicy
from vstore.web.uploads import Uploads

__all__ = ["Desk"]

_LOCK: Final = "service.lock"


class Desk:
    """Owns a workspace, the service's data beside it, and what works on both.

    Make one with :meth:`open`; use it from several threads; end it with :meth:`close`.

    Attributes:
        workspace: The cases.
        coordinator: Takes answers into packages.
        database: The service's own data.
        accounts, enrolment, sessions, tokens, rates: Who somebody is.
        audit: Who did what when.
        board, claims, drafts, uploads, confirming: The work on a test, in its order.
        recovered: What the last service had left half done.
    """

    def __init__(
        self,
        workspace: Workspace,
        folder: ServiceFolder,
        *,
        clock: Clock,
        handoff_limits: HandoffLimits,
        upload_policy: UploadPolicy,
        lease_seconds: int,
        io: DurableIO,
        lock: FileLock,
    ) -> None:
        self._lock = lock
        self.workspace = workspace
        self.folder = folder
        self.clock = clock
        self.database = Database(folder.database_path, clock=clock)
        self.accounts = Accounts(self.database)
        self.enrolment = Enrolment(self.database, self.accounts)
        self.sessions = Sessions(self.database)
        self.tokens = Tokens(self.database)
        self.audit = Audit(self.database)
        self.rates = Rates(self.database)
        self.coordinator = AsyncTestCoordinator(workspace, limits=handoff_limits)
        self.board = Board(workspace, clock=clock)
        self.claims = Claims(self.database, self.board, self.audit, lease_seconds=lease_seconds)
        self.drafts = DraftStore(self.database, self.board, self.claims, self.audit)
        self.uploads = Uploads(
            folder, self.database, self.claims, self.audit, policy=upload_policy, io=io
        )
        journal = Journal(self.database)
        recovery = Recovery(
            workspace,
            self.coordinator,
            self.database,
            self.board,
            self.claims,
            self.uploads,
            journal,
            self.audit,
        )
        self.confirming = Confirming(
            workspace,
            self.coordinator,
            self.database,
            self.board,
            self.claims,
            self.drafts,
            self.uploads,
            journal,
            recovery,
            handoff_limits,
        )
        self.recovered: Recovered = recovery.run()

    @classmethod
    def open(
        cls,
        workspace: Path,
        folder: ServiceFolder,
        *,
        clock: Clock = utc_now,
        handoff_limits: HandoffLimits | None = None,
        upload_policy: UploadPolicy | None = None,
        lease_seconds: int = LEASE_SECONDS,
        io: DurableIO = REAL,
    ) -> Self:
        """Open the desk of a workspace, and settle what the last one left half done.

        Args:
            workspace: The folder of cases, or of one package.
            folder: Where the service keeps its own data.
            clock: Gives the time.
            handoff_limits: Limits on requests and answers.
            upload_policy: What testers may upload.
            lease_seconds: How long a claim lasts without a sign of life, 1 to 604,800.
            io: Does the durable I/O of packages and uploads.

        Raises:
            ConflictError: Another service works with this folder (``already_served``).
            InvalidError: Limits that contradict each other (``invalid_limit``).
            NotFoundError: No such workspace.
            IntegrityError, StorageError, UnsupportedError: The service's data can't be used.
        """
        limits, policy = handoff_limits or HandoffLimits(), upload_policy or UploadPolicy()
        if policy.max_file_bytes > limits.max_attachment_bytes:
            raise InvalidError(
                "uploads may be larger than what a package takes",
                kind="invalid_limit",
                hint="max_file_bytes is at most max_attachment_bytes",
            )
        # Two services would take each other's uploads for leftovers.
        lock = FileLock(folder.path / _LOCK, timeout=0, mode=0o600, thread_local=False)
        try:
            lock.acquire()
        except Timeout as error:
            raise ConflictError(
                "another service works with this state folder",
                kind="already_served",
                hint="stop it, or name another folder",
            ) from error
        opened: Workspace | None = None
        try:
            opened = Workspace.open(
                workspace, actor="vstore serve", command="vstore serve", clock=clock, io=io
            )
            return cls(
                opened,
                folder,
                clock=clock,
                handoff_limits=limits,
                upload_policy=policy,
                lease_seconds=lease_seconds,
                io=io,
                lock=lock,
            )
        except BaseException:
            if opened is not None:
                opened.close()
            lock.release()
            raise

    def close(self) -> None:
        """Close everything; nobody may be in the middle of something."""
        self.board.close()
        self.workspace.close()
        self.database.close()
        self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
