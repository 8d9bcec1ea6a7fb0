"""Reserving credits, recording what they bought, settling (spec: budget).

Commands continue from the ledger's last entry under the publication lock, so none of them
is ever stale.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from vstore.budget import commands
from vstore.budget.commands import Command, name_of
from vstore.budget.documents import AccountFigures, BudgetPolicy, LedgerEntry
from vstore.budget.ledger import plan_all, recognise
from vstore.budget.policy import check_policy, load_policy
from vstore.budget.state import OpenAction, Outcome
from vstore.controller.projection import Projection, following, projection_of
from vstore.errors import BudgetError, InvalidError, OperationConflict
from vstore.objects.ids import ObjectId
from vstore.objects.sealed import Sealed, load, seal
from vstore.package.lifecycle import check
from vstore.package.pinned import PinnedPackage
from vstore.package.repository import Repository
from vstore.package.workspace import Workspace

__all__ = ["BudgetManager", "BudgetSnapshot"]


class BudgetSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """The budget of a case at one generation.

    Attributes:
        package: The generation, pinned: what a router query is bound to.
        revision: The revision that the accounts belong to; 0 while there are none.
        policy: Its policy, or None.
        accounts: Per hypothesis, in the order in which they were opened.
        open_actions: Reserved and not ended, in the order of their reservation.
        granted: Credits granted in all revisions together.
        ledger_ref: The latest entry, or None.
    """

    package: PinnedPackage
    revision: int
    policy: BudgetPolicy | None
    accounts: tuple[AccountFigures, ...]
    open_actions: tuple[OpenAction, ...]
    granted: int
    ledger_ref: ObjectId | None

    def account(self, hypothesis_id: str) -> AccountFigures:
        """The account of a hypothesis.

        Raises:
            BudgetError: It has none (``unknown_hypothesis``).
        """
        for account in self.accounts:
            if account.hypothesis_id == hypothesis_id:
                return account
        raise BudgetError(
            f"no account for hypothesis {hypothesis_id}",
            kind="unknown_hypothesis",
            hypothesis_id=hypothesis_id,
        )


class BudgetManager:
    """Carries out budget commands on the cases of a workspace.

    Args:
        workspace: Where the cases are.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def snapshot(self, case_id: str, package_id: str) -> BudgetSnapshot:
        """The accounts, the open actions and the pinned generation; legal in every state.

        Raises:
            NotFoundError, ConflictError: No such case, or another package.
            IntegrityError, InvalidError, UnsupportedError, StorageError: Not readable.
        """
        repository = self._workspace.repository(case_id, package_id)
        with following(repository) as (package, projection):
            ledger = projection.ledger
            return BudgetSnapshot(
                package=package,
                revision=ledger.revision,
                policy=ledger.policy,
                accounts=tuple(ledger.accounts.values()),
                open_actions=projection.open_actions(),
                granted=ledger.granted,
                ledger_ref=ledger.head,
            )

    def initialise(
        self,
        case_id: str,
        package_id: str,
        policy: BudgetPolicy | bytes,
        hypotheses: Sequence[str] | None = None,
        *,
        actor: str | None = None,
    ) -> LedgerEntry:
        """Open the accounts of the current analysis revision; fixes its hypotheses.

        Args:
            case_id: The case.
            package_id: Its package.
            policy: The policy, or the JSON text of one.
            hypotheses: The ids of all hypotheses that the case states, in the order in which
                the accounts are opened; as they are stated by default.
            actor: Who acts; the workspace's actor by default.

        Raises:
            StateError: Not in GENERATING_HYPOTHESES.
            InvalidError: The policy is out of bounds, or a hypothesis is not stated.
            BudgetError: The revision has accounts, or the case's cap doesn't allow them.
            OperationConflict: It has accounts with another policy or other hypotheses.
        """
        if isinstance(policy, bytes):
            policy = load_policy(policy)
        else:
            check_policy(policy)
        sealed = seal(policy)

        def command(package: PinnedPackage) -> list[Command]:
            stated = package.hypotheses()
            known = [] if stated is None else [one.id for one in stated.hypotheses]
            wanted = known if hypotheses is None else list(hypotheses)
            strangers = [one for one in wanted if one not in known]
            missing = [one for one in known if one not in wanted]
            if not wanted or strangers or missing:
                # Where no budget can be initialised, stating hypotheses wouldn't help.
                check(package.position, "budget.initialise")
                raise InvalidError(
                    "the budget is for the hypotheses that the case states"
                    + (
                        f"; {strangers[0]} isn't one"
                        if strangers
                        else f", and {missing[0]} among them"
                        if missing
                        else ", and it states none"
                    ),
                    kind="unknown_hypothesis",
                    hint="state them with `vstore hypotheses` first",
                )
            return [commands.Initialise(policy=sealed.id, hypotheses=wanted)]

        return self._run(case_id, package_id, command, actor, policy=sealed)[0]

    def reserve(
        self,
        case_id: str,
        package_id: str,
        hypothesis_id: str,
        action_id: str,
        *,
        operation: str,
        only_new: bool = False,
        actor: str | None = None,
    ) -> LedgerEntry:
        """Set the cost of an operation aside for one action.

        Args:
            case_id: The case.
            package_id: Its package.
            hypothesis_id: Who pays.
            action_id: The caller's id for the action, unique per analysis revision.
            operation: What for, such as ``source.search``.
            only_new: Refuse a repeat as well: for whoever makes an id up and must know that
                the action is nobody else's.
            actor: Who acts; the workspace's actor by default.

        Raises:
            StateError: The case's state doesn't allow it.
            BudgetError: No account, stopped, no cost for the operation, too few credits.
            OperationConflict: The action id was used with other particulars, or at all.
        """
        command = commands.Reserve(
            hypothesis_id=hypothesis_id, action_id=action_id, operation=operation
        )
        return self._run(case_id, package_id, lambda _: [command], actor, only_new=only_new)[0]

    def reserve_all(
        self,
        case_id: str,
        package_id: str,
        actions: Sequence[tuple[str, str, str]],
        *,
        actor: str | None = None,
    ) -> list[LedgerEntry]:
        """Reserve several actions in one publication, all of them or none.

        Args:
            case_id: The case.
            package_id: Its package.
            actions: Hypothesis id, action id and operation of each, one or more.
            actor: Who acts; the workspace's actor by default.

        Raises:
            As :meth:`reserve`, for the first one that is refused.
        """
        wanted: list[Command] = [
            commands.Reserve(hypothesis_id=hypothesis, action_id=action, operation=operation)
            for hypothesis, action, operation in actions
        ]
        if not wanted:
            raise InvalidError("nothing to reserve", kind="empty_batch")
        return self._run(case_id, package_id, lambda _: wanted, actor)

    def record_evidence(
        self,
        case_id: str,
        package_id: str,
        hypothesis_id: str,
        action_id: str,
        record_ref: ObjectId | None,
        *,
        actor: str | None = None,
    ) -> LedgerEntry:
        """Bind an evidence record to its reserved action; no balance moves.

        Args:
            case_id: The case.
            package_id: Its package.
            hypothesis_id: Who pays.
            action_id: As reserved.
            record_ref: From ``Saved.record_refs``; None there means that the query failed.
            actor: Who acts; the workspace's actor by default.

        Raises:
            InvalidError: ``record_ref`` is None: an error result is no evidence.
            NotFoundError: The index holds no such record.
            StateError, BudgetError, OperationConflict: The ledger doesn't allow it.
        """
        if record_ref is None:
            raise InvalidError(
                f"action {action_id} has no record to bind",
                kind="no_record",
                hint="its query failed: ask again under the same action, or fail the action",
            )
        command = commands.RecordEvidence(
            hypothesis_id=hypothesis_id, action_id=action_id, record=record_ref
        )
        return self._run(case_id, package_id, lambda _: [command], actor)[0]

    def record_result(
        self,
        case_id: str,
        package_id: str,
        hypothesis_id: str,
        action_id: str,
        *,
        result: str,
        novel_refs: Sequence[str] = (),
        actor: str | None = None,
    ) -> LedgerEntry:
        """Bind a result that is no evidence to a reserved action; no balance moves.

        Args:
            case_id: The case.
            package_id: Its package.
            hypothesis_id: Who pays.
            action_id: As reserved.
            result: What came of it, 1 to 2,000 characters.
            novel_refs: What it refers to; it earns only where one of them is new to the case.
            actor: Who acts; the workspace's actor by default.

        Raises:
            StateError, BudgetError, OperationConflict: The ledger doesn't allow it.
        """
        command = commands.RecordResult(
            hypothesis_id=hypothesis_id,
            action_id=action_id,
            result=result,
            novel_refs=list(novel_refs),
        )
        return self._run(case_id, package_id, lambda _: [command], actor)[0]

    def settle(
        self,
        case_id: str,
        package_id: str,
        hypothesis_id: str,
        action_id: str,
        *,
        semantic_score: int,
        reason: str,
        actor: str | None = None,
    ) -> LedgerEntry:
        """End a recorded action: its cost is spent, and what it brought is rewarded.

        Args:
            case_id: The case.
            package_id: Its package.
            hypothesis_id: Who pays.
            action_id: As recorded.
            semantic_score: What the assessor thinks it is worth, 0 to 100.
            reason: Why, 1 to 2,000 characters.
            actor: Who acts; the workspace's actor by default.

        Raises:
            StateError, BudgetError, OperationConflict: The ledger doesn't allow it.
        """
        command = commands.Settle(
            hypothesis_id=hypothesis_id,
            action_id=action_id,
            semantic_score=semantic_score,
            reason=reason,
        )
        return self._run(case_id, package_id, lambda _: [command], actor)[0]

    def void(
        self,
        case_id: str,
        package_id: str,
        hypothesis_id: str,
        action_id: str,
        *,
        reason: str,
        actor: str | None = None,
    ) -> LedgerEntry:
        """Take back a reservation that was never dispatched; the only refund.

        Raises:
            StateError, BudgetError, OperationConflict: The ledger doesn't allow it.
        """
        command = commands.Void(hypothesis_id=hypothesis_id, action_id=action_id, reason=reason)
        return self._run(case_id, package_id, lambda _: [command], actor)[0]

    def fail(
        self,
        case_id: str,
        package_id: str,
        hypothesis_id: str,
        action_id: str,
        *,
        reason: str,
        actor: str | None = None,
    ) -> LedgerEntry:
        """End an action that brought no evidence; its cost is spent without a reward.

        Raises:
            StateError, BudgetError, OperationConflict: The ledger doesn't allow it.
        """
        command = commands.Fail(hypothesis_id=hypothesis_id, action_id=action_id, reason=reason)
        return self._run(case_id, package_id, lambda _: [command], actor)[0]

    def _run(
        self,
        case_id: str,
        package_id: str,
        wanted: Callable[[PinnedPackage], list[Command]],
        actor: str | None,
        *,
        policy: Sealed[BudgetPolicy] | None = None,
        only_new: bool = False,
    ) -> list[LedgerEntry]:
        """Carry commands out on whatever the head is by then; repeats append nothing."""
        repository = self._workspace.repository(case_id, package_id)
        with repository.locked() as package:
            projection = projection_of(repository, package)
            with projection.mutex:
                projection.follow(package)
                asked = wanted(package)
                if only_new and any(
                    recognise(projection.ledger, package.revision, one) for one in asked
                ):
                    raise OperationConflict(
                        "an action of this id is reserved already", hint="choose another id"
                    )
                return self._once(repository, projection, package, asked, actor, policy)

    def _once(
        self,
        repository: Repository,
        projection: Projection,
        package: PinnedPackage,
        wanted: list[Command],
        actor: str | None,
        policy: Sealed[BudgetPolicy] | None,
    ) -> list[LedgerEntry]:
        ledger = projection.ledger
        known = [recognise(ledger, package.revision, command) for command in wanted]
        if all(outcome is not None for outcome in known):
            repository.confirm()
            return [
                load(package.objects, outcome.entry, LedgerEntry).document
                for outcome in known
                if outcome is not None
            ]
        event = f"budget.{name_of(wanted[0])}"
        check(package.position, event)
        with repository.begin() as transaction:
            artifacts: dict[str, ObjectId] = {}
            if policy is not None:
                artifacts["budget_policy"] = transaction.put_sealed(policy)
            done = plan_all(ledger, package.revision, wanted, projection.facts(transaction))
            fresh = [one for one in done if not isinstance(one, Outcome)]
            for _, entry in fresh:
                artifacts["budget_ledger"] = transaction.put_sealed(entry)
            repository.publish(
                transaction,
                package,
                events=[repository.event(event, operation_id=_operation(wanted), actor=actor)],
                artifacts=artifacts,
            )
        for planned, entry in fresh:
            ledger.commit(planned, entry.id)
        return [
            load(package.objects, one.entry, LedgerEntry).document
            if isinstance(one, Outcome)
            else one[1].document
            for one in done
        ]


def _operation(wanted: Sequence[Command]) -> str | None:
    """The action that a publication is about, where there is one."""
    return getattr(wanted[0], "action_id", None) if len(wanted) == 1 else None
