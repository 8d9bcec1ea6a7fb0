"""One question from reservation to record: what ``query`` does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import click

from vstore.errors import StaleGeneration
from vstore.objects.canonical import decode, encode
from vstore.package.pinned import INPUTS_SOURCE, PinnedPackage
from vstore.tools.reply import ToolResult
from vstore.tools.request import Arguments, operation_of
from vstore_cli.accounts import Accounts, read_accounts
from vstore_cli.happenings import Observation, observation
from vstore_cli.services import Services

__all__ = ["Answer", "ask", "choose_snapshot", "new_action_id"]

#: Somebody else's publication between asking and storing only means asking again.
_ATTEMPTS: Final = 5


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a question came to."""

    hypothesis: str
    action: str
    cost: int | None
    arguments: Arguments
    result: ToolResult
    #: The record; None for an error result.
    observation: Observation | None


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


def new_action_id(accounts: Accounts | None) -> str:
    """An action id that is still free in this revision: ``query-0001`` and so on."""
    known = {} if accounts is None else accounts.actions
    number = len(known) + 1
    while f"query-{number:04d}" in known:
        number += 1
    return f"query-{number:04d}"


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
    if action is None:
        action = new_action_id(read_accounts(services.package()))
        services.budget.reserve(case_id, package_id, hypothesis, action, operation=operation)
    for attempt in range(_ATTEMPTS):
        package = services.budget.snapshot(case_id, package_id).package
        request = services.router.request(package, [(hypothesis, action, arguments)])
        reply = services.router.query(package, request)
        try:
            saved = services.evidence.store_tool_results(
                case_id, package_id, action, request, reply
            )
            break
        except StaleGeneration:
            if attempt == _ATTEMPTS - 1:
                raise
    record = saved.record_refs[0]
    seen = None
    if record is not None:
        services.budget.record_evidence(case_id, package_id, hypothesis, action, record)
        seen = observation(services.package().objects, record)
    accounts = read_accounts(services.package())
    costs = {} if accounts is None or accounts.policy is None else accounts.policy.costs
    return Answer(
        hypothesis=hypothesis,
        action=action,
        cost=costs.get(operation),
        arguments=arguments,
        result=reply.results[0],
        observation=seen,
    )
