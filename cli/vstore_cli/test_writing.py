"""A test request from a file, from options, or from both; and its reservation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import click

from vstore.handoff.documents import OPERATION_OF, AsyncTestRequest
from vstore.handoff.drafts import read_request
from vstore.handoff.matching import refuse, request_faults
from vstore.objects.ids import ObjectId
from vstore.objects.sealed import seal
from vstore.package.lifecycle import check
from vstore_cli.services import Services

if TYPE_CHECKING:
    from vstore.handoff.state import Handoff
    from vstore.package.pinned import PinnedPackage

__all__ = ["RequestOptions", "instant_option", "write_request"]

_KINDS: Final = ("text", "yes_no", "number", "attachment")
#: Stands for a reservation while a request is looked at before anything is reserved.
_NOTHING: Final = ObjectId.parse("b3:" + "0" * 64)


@dataclass(frozen=True, kw_only=True)
class RequestOptions:
    """What the options of a command line say of a request; they win over a file."""

    request_id: str | None = None
    hypothesis: str | None = None
    action: str | None = None
    executor: str | None = None
    question: str | None = None
    deadline: str | None = None
    prerequisites: Sequence[str] = ()
    steps: Sequence[str] = ()
    observations: Sequence[str] = ()
    environment: Sequence[str] = field(default=())

    def members(self) -> dict[str, Any]:
        """The members of the request that they give.

        Raises:
            click.UsageError: One can't be read.
        """
        members: dict[str, Any] = {
            "request_id": self.request_id,
            "hypothesis_id": self.hypothesis,
            "action_id": self.action,
            "executor": self.executor,
            "question": self.question,
            "deadline": self.deadline,
            "prerequisites": list(self.prerequisites) or None,
            "steps": list(self.steps) or None,
            "observations": [_observation(one) for one in self.observations] or None,
            "environment": [_fact(one) for one in self.environment] or None,
        }
        return {name: value for name, value in members.items() if value is not None}


def instant_option(text: str) -> str:
    """An instant with its time zone, as UTC to the second.

    Raises:
        click.UsageError: Not an instant, or without a time zone.
    """
    from datetime import UTC, datetime

    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        raise click.UsageError(
            "a deadline looks like 2026-12-01T17:00:00Z or 2026-12-01T18:00:00+01:00"
        ) from None
    if instant.tzinfo is None:
        raise click.UsageError(
            "the deadline needs a time zone: end it in Z for UTC, or in +01:00 and the like"
        )
    try:
        return instant.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except OverflowError:
        raise click.UsageError("the deadline is outside the calendar") from None


def write_request(
    services: Services, written: Mapping[str, Any], options: RequestOptions
) -> AsyncTestRequest:
    """The request, its action reserved; a request that is known keeps what it has.

    Everything that can be refused is refused before credits are set aside.

    Args:
        services: On the package.
        written: The members that a file gives.
        options: The members that options give.

    Raises:
        InvalidError: Not a request.
        StateError, BudgetError, OperationConflict: It can't be handed out or paid for.
    """
    members = {"executor": "human", **written, **options.members()}
    snapshot = services.tests.snapshot(services.case_id, services.package_id)
    package = snapshot.package
    known = next(
        (one for one in snapshot.handoffs if one.request.request_id == members.get("request_id")),
        None,
    )
    if known is not None:
        return read_request(members, _of_known(known))
    action = members.get("action_id")
    looked_at = read_request(
        members,
        {
            **_identities(package),
            "action_id": action or "x",
            "request_id": action or "x",
            "reservation": _NOTHING,
        },
    )
    refuse(request_faults(looked_at))
    check(package.position, "test.submit")
    hypothesis, operation = looked_at.hypothesis_id, OPERATION_OF[looked_at.executor]
    if action is None:
        from vstore.budget.documents import Reserve
        from vstore_cli.asking import reserve_next

        entry = reserve_next(services, hypothesis, operation)
        assert isinstance(entry.event, Reserve)
        action = entry.event.action_id
    else:
        # A repeat gives the entry that reserved it.
        entry = services.budget.reserve(
            services.case_id, services.package_id, hypothesis, action, operation=operation
        )
    return read_request(
        members,
        {
            **_identities(package),
            "action_id": action,
            "request_id": action,
            "reservation": seal(entry).id,
        },
    )


def _identities(package: PinnedPackage) -> dict[str, object]:
    return {
        "case_id": package.case_id,
        "package_id": package.package_id,
        "analysis_revision": package.revision,
    }


def _of_known(known: Handoff) -> dict[str, object]:
    request = known.request
    return {
        name: getattr(request, name)
        for name in (
            "case_id",
            "package_id",
            "analysis_revision",
            "hypothesis_id",
            "action_id",
            "reservation",
        )
    }


def _observation(text: str) -> dict[str, str]:
    name, equals, what = text.partition("=")
    oid, _, kind = name.partition(":")
    if not equals or not what.strip() or (kind or "text") not in _KINDS:
        raise click.UsageError(
            f"--observe is ID=TEXT or ID:KIND=TEXT, with one of the kinds {', '.join(_KINDS)}"
        )
    return {"id": oid, "text": what.strip(), "kind": kind or "text"}


def _fact(text: str) -> dict[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise click.UsageError("--environment is NAME=VALUE")
    return {"name": name, "value": value}
