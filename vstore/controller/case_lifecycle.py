"""Blocking, resuming and reopening cases (spec: lifecycle, "States"; budget, ``reopen``).

Reopening moves the ledger in the same publication, so it can't be one of the operations of
:class:`vstore.package.case.Case`, which knows no ledger.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal, get_args

from vstore.budget import documents as ledger_events
from vstore.budget.commands import Reopen
from vstore.budget.documents import Disposition, LedgerEntry
from vstore.budget.ledger import Planned, plan_all
from vstore.budget.state import LedgerState, Outcome
from vstore.controller.projection import projection_of
from vstore.errors import BudgetError, InvalidError, StaleGeneration, StateError
from vstore.objects.ids import ObjectId
from vstore.objects.sealed import Sealed
from vstore.objects.transaction import Transaction
from vstore.package.documents import BLOCK_REASONS, Blocked, BlockReason
from vstore.package.inputs import AddedInputs, InputFile, add_inputs, check_present
from vstore.package.lifecycle import after, check
from vstore.package.pinned import PinnedPackage
from vstore.package.repository import Repository
from vstore.package.workspace import Workspace

__all__ = ["REOPEN_CAUSES", "CaseLifecycle", "ReopenCause", "Reopened", "may_resume"]

ReopenCause = Literal["review", "patch_rejected", "new_input"]
REOPEN_CAUSES: Final[tuple[ReopenCause, ...]] = get_args(ReopenCause)
_MAX_REASON: Final = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Reopened:
    """What a reopening came to.

    Attributes:
        package: The head, in REOPENED, of the next analysis revision.
        actions: What became of the actions that were open, in the order of their reservation.
        paths: Paths of the raw input that are new or have new bytes, in byte order.
    """

    package: PinnedPackage
    actions: tuple[Disposition, ...]
    paths: tuple[bytes, ...]


def may_resume(blocked: Blocked, instant: str) -> bool:
    """Whether a worker may resume a blocked case by itself.

    Args:
        blocked: Why the case waits.
        instant: Now, UTC, as events bear it.

    Returns:
        False for a case that waits for test feedback, and without ``automatic_retry``,
        whatever the time; else whether ``retry_not_before`` has come.
    """
    if blocked.reason == "AWAITING_TEST_FEEDBACK" or not blocked.automatic_retry:
        return False
    return blocked.retry_not_before is None or blocked.retry_not_before <= instant


class CaseLifecycle:
    """Blocks, resumes and reopens the cases of a workspace.

    Args:
        workspace: Where the cases are.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def block(
        self,
        case_id: str,
        package_id: str,
        reason: BlockReason,
        *,
        retry_not_before: str | None = None,
        automatic_retry: bool = False,
        note: str | None = None,
        actor: str | None = None,
    ) -> PinnedPackage:
        """Let a case wait; its budget and evidence stay as they are until it is resumed.

        Continues from the head under the publication lock, so it is never stale.

        Args:
            case_id: The case.
            package_id: Its package.
            reason: BUDGET_EXHAUSTED, PROVIDER_UNAVAILABLE or OPERATOR_HOLD.
            retry_not_before: The instant (UTC, ``2026-01-02T03:04:05Z``) before which trying
                again is pointless; None for none.
            automatic_retry: Whether a worker may resume the case by itself then.
            note: Why, for people; up to 2,000 characters.
            actor: Who acts; the workspace's actor by default.

        Raises:
            StateError: The case isn't in a working state, or the reason doesn't go with the
                state (``block_reason``); waiting for a test is the test request's business.
            InvalidError: Not a reason (``block_reason``), not an instant
                (``invalid_instant``), or an automatic retry of what no time mends
                (``no_automatic_retry``).
            NotFoundError, ConflictError, IntegrityError, StorageError: As publishing.
        """
        if reason not in BLOCK_REASONS:
            raise InvalidError(
                "not a reason to block a case",
                kind="block_reason",
                hint=f"one of {', '.join(BLOCK_REASONS)}",
            )
        if retry_not_before is not None:
            _check_instant(retry_not_before)
        if automatic_retry and reason == "BUDGET_EXHAUSTED":
            raise InvalidError(
                "an exhausted budget is not refilled by waiting",
                kind="no_automatic_retry",
                hint="leave automatic_retry out; an operator resumes the case",
            )
        repository = self._workspace.repository(case_id, package_id)
        with repository.locked() as package:
            after(package.position, "block", reason=reason)
            with repository.begin() as transaction:
                return repository.publish(
                    transaction,
                    package,
                    events=[repository.event("block", actor=actor, reason=note)],
                    blocked=Blocked(
                        reason=reason,
                        resume_state=package.state,
                        retry_not_before=retry_not_before,
                        automatic_retry=automatic_retry,
                    ),
                )

    def resume(
        self,
        case_id: str,
        package_id: str,
        *,
        early: bool = False,
        automatic: bool = False,
        note: str | None = None,
        actor: str | None = None,
    ) -> PinnedPackage:
        """Let a blocked case go on in the state that it left.

        Args:
            case_id: The case.
            package_id: Its package.
            early: Also before ``retry_not_before``: a person's decision.
            automatic: A worker asks, not a person: only where ``automatic_retry`` allows it.
            note: Why, for people; up to 2,000 characters.
            actor: Who acts; the workspace's actor by default.

        Raises:
            StateError: Not blocked, waiting for test feedback, before ``retry_not_before``
                (``too_early``), or not for a worker to resume (``no_automatic_retry``).
            NotFoundError, ConflictError, IntegrityError, StorageError: As publishing.
        """
        repository = self._workspace.repository(case_id, package_id)
        with repository.locked() as package:
            check(package.position, "resume")
            blocked = package.generation.blocked
            assert blocked is not None, "only a blocked case can be resumed"
            _check_retry(blocked, repository.clock(), early=early, automatic=automatic)
            with repository.begin() as transaction:
                return repository.publish(
                    transaction,
                    package,
                    events=[repository.event("resume", actor=actor, reason=note)],
                )

    def reopen(
        self,
        case_id: str,
        package_id: str,
        cause: ReopenCause,
        *,
        reason: str,
        files: Iterable[InputFile] = (),
        exclude: Sequence[str] = (),
        replace: bool = False,
        actor: str | None = None,
    ) -> Reopened:
        """Start the next analysis revision.

        Open actions without a record, a result or a submitted test are voided, others are
        forfeited, balances expire; evidence, ids and what was seen go on as they are.

        Args:
            case_id: The case.
            package_id: Its package.
            cause: ``review`` and ``patch_rejected`` after a diagnosis, ``new_input`` also
                from a working state.
            reason: Why, 1 to 2,000 characters.
            files: Raw input to take in with it; ``new_input`` needs some that are new.
            exclude: Patterns of what to leave out.
            replace: Take new bytes for paths that exist; else they are refused.
            actor: Who acts; the workspace's actor by default.

        Raises:
            StateError: The case's state doesn't allow it.
            InvalidError: No reason, ``new_input`` without new input (``no_new_input``), or a
                file that can't be taken in.
            BudgetError: The case's policy allows no further revision (``max_revisions``), or
                its cap leaves nothing to grant (``credit_cap``).
            StaleGeneration: Somebody else changed the raw input meanwhile.
            NotFoundError, ConflictError, LimitExceeded, IntegrityError, StorageError: As
                publishing.
        """
        if cause not in REOPEN_CAUSES:
            raise InvalidError(
                "not a cause to reopen a case",
                kind="reopen_cause",
                hint=f"one of {', '.join(REOPEN_CAUSES)}",
            )
        if not isinstance(reason, str) or not 1 <= len(reason) <= _MAX_REASON:
            raise InvalidError(
                "reopening a case needs a reason of 1 to 2,000 characters", kind="no_reason"
            )
        taken = list(files)
        check_present(taken)
        event = f"reopen.{cause}"
        repository = self._workspace.repository(case_id, package_id)
        with repository.evidence_lock():
            base = repository.pinned()
            check(base.position, event)
            with repository.begin() as transaction:
                # Taking files in may last; the publication lock is for the decision alone.
                added = _add(repository, transaction, base, taken, exclude, replace=replace)
                if cause == "new_input" and added.root == base.raw_input:
                    raise InvalidError(
                        "the raw input is what it was: nothing new to analyse",
                        kind="no_new_input",
                        hint="name the files that are new or have changed",
                    )
                with repository.locked() as package:
                    if package.raw_input != base.raw_input:
                        raise StaleGeneration(
                            "the raw input changed meanwhile",
                            hint="asking again is enough",
                            current=package.generation_id,
                        )
                    check(package.position, event)
                    return self._reopen(
                        repository, transaction, package, added, event, reason, actor
                    )

    def _reopen(
        self,
        repository: Repository,
        transaction: Transaction,
        package: PinnedPackage,
        added: AddedInputs,
        event: str,
        reason: str,
        actor: str | None,
    ) -> Reopened:
        projection = projection_of(repository, package)
        with projection.mutex:
            projection.follow(package)
            ledger = projection.ledger
            _check_next_revision(ledger, package.revision + 1)
            ended: list[tuple[Planned, Sealed[LedgerEntry]]] = []
            artifacts: dict[str, ObjectId] = {}
            if ledger.is_initialised(package.revision):
                facts = projection.facts(transaction)
                done = plan_all(ledger, package.revision, [Reopen(reason=reason)], facts)
                ended = [one for one in done if not isinstance(one, Outcome)]
                for _, entry in ended:
                    artifacts["budget_ledger"] = transaction.put_sealed(entry)
            head = repository.publish(
                transaction,
                package,
                events=[repository.event(event, actor=actor, reason=reason)],
                inputs=added.root,
                artifacts=artifacts,
            )
            actions: list[Disposition] = []
            for planned, entry in ended:
                ledger.commit(planned, entry.id)
                if isinstance(planned.event, ledger_events.Reopen):
                    actions += planned.event.actions
            return Reopened(package=head, actions=tuple(actions), paths=added.added)


def _add(
    repository: Repository,
    transaction: Transaction,
    base: PinnedPackage,
    files: Sequence[InputFile],
    exclude: Sequence[str],
    *,
    replace: bool,
) -> AddedInputs:
    if not files:
        return AddedInputs(base.raw_input, 0, 0, (), 0)
    return add_inputs(
        base.objects,
        base.raw_input,
        transaction,
        files,
        exclude=exclude,
        limits=repository.limits,
        replace=replace,
        never_enter=[repository.root],
    )


def _check_instant(text: str) -> None:
    try:
        good = datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ")  # noqa: DTZ007 - only a check
    except (TypeError, ValueError):
        good = None
    # strptime takes 2026-1-2 too, which would not compare as text.
    if good is None or len(text) != len("2026-01-02T03:04:05Z") or not text.isascii():
        raise InvalidError(
            "not an instant in UTC",
            kind="invalid_instant",
            hint="write it as 2026-01-02T03:04:05Z",
        )


def _check_retry(blocked: Blocked, instant: str, *, early: bool, automatic: bool) -> None:
    if automatic and not blocked.automatic_retry:
        raise StateError(
            "the case waits for a person to resume it",
            kind="no_automatic_retry",
            state="BLOCKED",
            event="resume",
            legal=[],
        )
    time = blocked.retry_not_before
    if time is not None and instant < time and not (early and not automatic):
        raise StateError(
            f"the case is blocked until {time}",
            kind="too_early",
            hint="wait, or resume it early if you know better",
            state="BLOCKED",
            event="resume",
            legal=[],
            retry_not_before=time,
        )


def _check_next_revision(ledger: LedgerState, revision: int) -> None:
    """Refuse a revision that could never have accounts: it would be a dead end."""
    if ledger.revision == 0:
        return
    if revision > ledger.max_revisions:
        raise BudgetError(
            f"revision {revision} is past the case's limit of {ledger.max_revisions}",
            kind="max_revisions",
            hint="the case's first policy fixed it; start another case",
            limit="max_revisions",
            value=ledger.max_revisions,
            asked=revision,
        )
    if ledger.granted >= ledger.case_credit_cap:
        raise BudgetError(
            f"the case's credit cap of {ledger.case_credit_cap} leaves nothing to grant",
            kind="credit_cap",
            hint="the case's first policy fixed it; start another case",
            limit="case_credit_cap",
            value=ledger.case_credit_cap,
            asked=ledger.granted + 1,
        )
