"""The inbox worker: admits what comes in, then hands runnable cases to a handler.

Several workers may share an inbox and a workspace. A bad bundle never stops one, and neither
does a handler that fails (spec: lifecycle, "Workspace, admission, worker").
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from vstore.admission.admit import (
    IN_THE_WAY,
    LOCAL_PACKAGE,
    MISSING_BASE,
    NotVerified,
    Unverifiable,
    admit,
)
from vstore.admission.claims import claimed
from vstore.admission.inbox import Inbox
from vstore.admission.quarantine import Quarantine
from vstore.controller.case_lifecycle import CaseLifecycle, may_resume
from vstore.errors import (
    ConflictError,
    IntegrityError,
    InvalidError,
    LimitExceeded,
    NotFoundError,
    StateError,
    StorageError,
    UnsupportedError,
    VStoreError,
)
from vstore.objects.ids import ObjectId
from vstore.objects.locks import LockTimeout
from vstore.package.pinned import PinnedPackage
from vstore.package.workspace import Workspace
from vstore.tools.router import Router
from vstore.verify.render import report_value

__all__ = ["RUNNABLE", "Handler", "InboxWorker", "PassSummary", "rejection"]

#: States in which there is something to do for an investigator.
RUNNABLE: Final = (
    "ADMITTED",
    "INTERPRETING",
    "GENERATING_HYPOTHESES",
    "INVESTIGATING_HYPOTHESES",
    "REOPENED",
)
#: Refusals that are about the bundle: trying again would bring the same.
_FOR_GOOD: Final = (
    ConflictError,
    IntegrityError,
    InvalidError,
    LimitExceeded,
    NotFoundError,
    UnsupportedError,
)
#: Refusals that are about what is here: the bundle waits.
_NOT_YET: Final = (LOCAL_PACKAGE, MISSING_BASE, IN_THE_WAY)
#: Those of them that nothing but the case's place decides.
_UNTIL_CHANGED: Final = (MISSING_BASE, IN_THE_WAY)
#: Seconds between two passes of a worker that watches.
INTERVAL: Final = 2.0

#: What works on a case: gets the workspace and the case's head. No lock of the package is
#: held meanwhile, only the worker's own claim of the case.
Handler = Callable[[Workspace, PinnedPackage], None]


@dataclass(slots=True)
class PassSummary:
    """What one pass did.

    Attributes:
        admitted: Names of bundles that were taken in, with what came of each.
        rejected: Names of bundles that were refused, with the kind of the refusal.
        left: Names of bundles that wait on, with the kind of what went wrong.
        resumed: Cases that were resumed.
        handed: Cases that were handed to the handler.
        waiting: Cases that are blocked.
        failed: Cases that couldn't be looked at or whose handler failed, with a kind.
    """

    admitted: dict[str, str] = field(default_factory=dict)
    rejected: dict[str, str] = field(default_factory=dict)
    left: dict[str, str] = field(default_factory=dict)
    resumed: list[str] = field(default_factory=list)
    handed: list[str] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(
            self.admitted or self.rejected or self.left or self.resumed or self.handed
        ) or bool(self.failed)


def rejection(error: VStoreError) -> dict[str, Any]:
    """Why a bundle was refused, as JSON for the file beside it."""
    report = error.report if isinstance(error, NotVerified | Unverifiable) else None
    return {
        "schema": "vstore-rejection/1",
        "kind": error.kind,
        "message": error.message,
        "hint": error.hint,
        "report": None if report is None else report_value(report),
    }


class InboxWorker:
    """Admits the bundles of an inbox and hands out the cases that can go on.

    Args:
        workspace: Where the cases are.
        inbox: The directory that bundles are dropped into.
        handler: Works on a case; none by default, so that cases are only admitted.
        router: Recomputes replies when bundles are verified.
        actor: Who resumes cases; ``vstore worker`` by default.
    """

    def __init__(
        self,
        workspace: Workspace,
        inbox: Path,
        *,
        handler: Handler | None = None,
        router: Router | None = None,
        actor: str = "vstore worker",
    ) -> None:
        self._workspace = workspace
        self._inbox = Inbox(inbox)
        self._handler = handler
        self._router = router
        self._actor = actor
        #: The head at which a case was handed out last: it is again when it has moved.
        self._seen: dict[str, ObjectId] = {}
        #: Bundles that wait for something else in a case's place, so that they aren't read
        #: again before there is: the kind, the case, and how file and place were.
        self._waiting: dict[Path, tuple[str, str, object, object]] = {}

    def run_once(self, stop: threading.Event | None = None) -> PassSummary:
        """Admit everything that waits, then hand out every case that can go on.

        Args:
            stop: Set from elsewhere to end the pass after the bundle or case at hand.

        Raises:
            StorageError: The inbox or the workspace can't be read.
        """
        done = PassSummary()
        Quarantine(self._workspace).residue(remove=True)
        waiting = self._inbox.waiting()
        self._waiting = {path: one for path, one in self._waiting.items() if path in waiting}
        while waiting:
            before = len(done.admitted)
            for path in waiting:
                if stop is not None and stop.is_set():
                    return done
                try:
                    with self._inbox.claim(path) as mine:
                        if mine:
                            self._admit(path, done)
                except StorageError as error:
                    # Unreadable, or no ordinary file any more: those behind it go on.
                    done.left[path.name] = error.kind
            # What an incremental bundle continues may have come in behind it.
            again = [path for path in waiting if done.left.get(path.name) == MISSING_BASE]
            waiting = again if len(done.admitted) > before else []
        for case_id in self._workspace.cases():
            if stop is not None and stop.is_set():
                return done
            try:
                self._look_at(case_id, done)
            except VStoreError as error:
                done.failed[case_id] = error.kind
            except Exception as error:  # noqa: BLE001 - one case never stops the others
                done.failed[case_id] = type(error).__name__
        return done

    def watch(
        self,
        stop: threading.Event,
        *,
        interval: float = INTERVAL,
        after_pass: Callable[[PassSummary], None] | None = None,
    ) -> None:
        """Pass after pass, until told to stop.

        Args:
            stop: Set it to end: what is at hand is finished first.
            interval: Seconds between passes, more than 0.
            after_pass: Told what each pass did.

        Raises:
            StorageError: As :meth:`run_once`.
        """
        while not stop.is_set():
            done = self.run_once(stop)
            if after_pass is not None:
                after_pass(done)
            stop.wait(interval)

    def _admit(self, path: Path, done: PassSummary) -> None:
        done.left.pop(path.name, None)
        known = self._waiting.get(path)
        if known is not None and known[2:] == (_state_of(path), self._place_of(known[1])):
            done.left[path.name] = known[0]
            return
        state = _state_of(path)
        try:
            try:
                found = admit(self._workspace, path, router=self._router)
            except LockTimeout:
                raise
            except _FOR_GOOD as error:
                if error.kind in _NOT_YET:
                    raise
                self._inbox.reject(path, rejection(error))
                done.rejected[path.name] = error.kind
            else:
                self._inbox.accept(path)
                done.admitted[path.name] = found.outcome
        except VStoreError as error:
            # Not the bundle's fault: it waits for the next pass.
            done.left[path.name] = error.kind
            case_id = error.details.get("case_id")
            if error.kind in _UNTIL_CHANGED and isinstance(case_id, str):
                self._waiting[path] = (error.kind, case_id, state, self._place_of(case_id))
        except Exception as error:  # noqa: BLE001 - one file never stops those behind it
            done.left[path.name] = type(error).__name__

    def _place_of(self, case_id: str) -> object:
        """What is in a case's place: another value once a bundle has reason to come again."""
        try:
            return self._workspace.repository(case_id).pinned().generation_id
        except VStoreError as error:
            return error.kind, _state_of(self._workspace.package_path(case_id))

    def _look_at(self, case_id: str, done: PassSummary) -> None:
        package = self._workspace.repository(case_id).pinned()
        blocked = package.generation.blocked
        if blocked is not None:
            if not may_resume(blocked, self._workspace.clock()):
                done.waiting.append(case_id)
                return
            try:
                package = CaseLifecycle(self._workspace).resume(
                    case_id, package.package_id, automatic=True, actor=self._actor
                )
            except StateError:
                # Another worker was faster; it looks after the case.
                done.waiting.append(case_id)
                return
            done.resumed.append(case_id)
        if self._handler is None or package.state not in RUNNABLE:
            return
        if self._seen.get(case_id) == package.generation_id:
            return
        try:
            with claimed(self._workspace, case_id, "worker", timeout=0):
                self._hand_out(self._handler, case_id, package, done)
        except LockTimeout:
            # Another worker has the case at hand.
            return

    def _hand_out(
        self, handler: Handler, case_id: str, package: PinnedPackage, done: PassSummary
    ) -> None:
        self._seen[case_id] = package.generation_id
        try:
            handler(self._workspace, package)
        except VStoreError as error:
            done.failed[case_id] = error.kind
        except Exception as error:  # noqa: BLE001 - a handler is not ours, and stops nobody
            done.failed[case_id] = type(error).__name__
        else:
            done.handed.append(case_id)


def _state_of(path: Path) -> tuple[int, ...] | None:
    """A value that changes with what is at a path, None where nothing is."""
    try:
        now = path.lstat()
    except OSError:
        return None
    return now.st_dev, now.st_ino, now.st_size, now.st_ctime_ns
