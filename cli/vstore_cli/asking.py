"""One question from reservation to record: what ``query`` does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click
import msgspec

from vstore.budget.documents import LedgerEntry, Reserve
from vstore.errors import OperationConflict, StaleGeneration, VStoreError
from vstore.objects.canonical import decode, encode
from vstore.package.pinned import INPUTS_SOURCE, PinnedPackage
from vstore.tools.reply import ToolReply, ToolResult
from vstore.tools.request import Arguments, operation_of
from vstore_cli.accounts import new_action_id
from vstore_cli.happenings import Observation, observation
from vstore_cli.services import Services

if TYPE_CHECKING:
    from vstore.controller.evidence_store import Saved

__all__ = ["Answer", "ask", "choose_snapshot", "reserve_next", "stays_reserved"]

#: Somebody else's publication between asking and storing only means asking again.
_ATTEMPTS: Final = 20


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What a question came to."""

    hypothesis: str
    action: str
    cost: int | None
    arguments: Arguments
    result: ToolResult
    #: The record; None for an error result.
    observation: Observation | None
    #: Whether the action still waits to be settled.
    is_open: bool


def choose_snapshot(package: PinnedPackage, kind: str) -> str:
    """The snapshot that is meant where none is named: the only one there is.

    Args:
        package: The head.
        kind: ``source`` or ``database``.

    Raises:
        click.UsageError: There is none, or there are several.
    """
    names = [one for one in package.snapshot_names(kind=kind) if one != INPUTS_SOURCE]
    if len(names) == 1:
        return names[0]
    if not names and kind == "source":
        return INPUTS_SOURCE
    if not names:
        raise click.UsageError(f"no {kind} is pinned yet; vstore {kind} add NAME FILE pins one")
    raise click.UsageError(f"which {kind}? give --{kind} with one of {', '.join(names)}")


def reserve_next(services: Services, hypothesis: str, operation: str) -> LedgerEntry:
    """Reserve an action under the next numbered id that nobody has used.

    Raises:
        VStoreError: Whatever the budget refuses.
    """
    case_id, package_id = services.case_id, services.package_id
    action = new_action_id(services.package())
    while True:
        try:
            return services.budget.reserve(
                case_id, package_id, hypothesis, action, operation=operation, only_new=True
            )
        except OperationConflict:
            number = int(action.removeprefix("query-")) + 1
            action = f"query-{number:04d}"


def ask(services: Services, hypothesis: str, action: str | None, arguments: Arguments) -> Answer:
    """Reserve (unless an action is named), ask, store, record.

    The operation's id is the action's, so that the same command with the same action picks
    up where a crash left it.

    Raises:
        VStoreError: Whatever the services refuse. The reservation stays.
    """
    # Refuse what no adapter could read before credits are set aside for it.
    arguments = decode(encode(arguments), type(arguments), what="the query")
    operation = operation_of(arguments)
    case_id, package_id = services.case_id, services.package_id
    made = action is None
    if action is None:
        event = reserve_next(services, hypothesis, operation).event
        assert isinstance(event, Reserve)
        action = event.action_id
    try:
        saved, reply = _asked_and_stored(services, hypothesis, action, arguments)
    except VStoreError as error:
        if made:
            # Nobody else says what became of the credits that were set aside just now.
            error.hint = "; ".join(filter(None, (error.hint, stays_reserved(action))))
        raise
    record = saved.record_refs[0]
    seen = None
    if record is not None:
        services.budget.record_evidence(case_id, package_id, hypothesis, action, record)
        seen = observation(services.package().objects, record)
    budget = services.budget.snapshot(case_id, package_id)
    policy = budget.policy
    return Answer(
        hypothesis=hypothesis,
        action=action,
        cost=None if policy is None else policy.costs.get(operation),
        arguments=arguments,
        result=reply.results[0],
        observation=seen,
        is_open=any(one.action_id == action for one in budget.open_actions),
    )


def stays_reserved(action: str) -> str:
    """What can be done about an action whose question brought no record."""
    again = f"ask again with --action {action}"
    return f'{action} stays reserved: {again}, or vstore budget void {action} -m "..."'


def _asked_and_stored(
    services: Services, hypothesis: str, action: str, arguments: Arguments
) -> tuple[Saved, ToolReply]:
    case_id, package_id = services.case_id, services.package_id
    left = _ATTEMPTS
    while True:
        package = services.budget.snapshot(case_id, package_id).package
        request = services.router.request(package, [(hypothesis, action, arguments)])
        reply = services.router.query(package, request)
        try:
            saved = services.evidence.store_tool_results(
                case_id, package_id, action, request, reply
            )
        except StaleGeneration:
            left -= 1
            if not left:
                raise
        else:
            return saved, reply
