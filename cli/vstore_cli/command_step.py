"""``vstore step``: judge a model's reply, and store what follows from it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from vstore_cli.context import (
    Session,
    actor_option,
    json_option,
    package_option,
    pass_session,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from vstore.controller.investigation_steps import InvestigationSteps
    from vstore.investigation.documents import (
        InvestigationRequest,
        InvestigationUpdate,
        WorkingBrief,
    )
    from vstore.investigation.rejection import Hint
    from vstore.investigation.state import InvestigationState
    from vstore.package.pinned import PinnedPackage

__all__ = ["command"]

F = TypeVar("F", bound="Callable[..., Any]")

_reply = click.argument("reply", type=click.Path(path_type=Path))
_call = click.option("--call", metavar="ID", help="The call that it answers; made up if new.")
_cut_off = click.option(
    "--cut-off", is_flag=True, help="The provider stopped early: refuse without parsing."
)


@click.group("step", short_help="Check and apply a model's replies.")
def command() -> None:
    """Check and apply a model's replies to an investigation.

    \b
    Example:
      vstore step open -H H1 > request.json
      vstore step check reply.json -H H1
      vstore step apply reply.json -H H1
    """


def _hypothesis(*, required: bool) -> Callable[[F], F]:
    return click.option(
        "--hypothesis", "-H", required=required, metavar="ID", help="What the step is about."
    )


@command.command("open", short_help="Open a call; print what the model is sent.")
@_hypothesis(required=True)
@_call
@package_option
@actor_option
@pass_session
def open_call(session: Session, hypothesis: str, call: str | None) -> None:
    """Open a call on a hypothesis, and print messages and reply schema as JSON.

    \b
    Example:
      vstore step open -H H1 --call call-0007 > request.json
    """
    steps, package = _services(session)
    opened = steps.open_step(
        package.case_id, package.package_id, hypothesis, call or _new_call(package)
    )
    session.terminal.json(
        {
            "schema": "vstore-step-open/1",
            "call_id": opened.call_id,
            "request": str(opened.request_id),
            "contract": opened.contract.name,
            "messages": opened.messages,
            "reply_schema": opened.contract.schema,
            "provider_schema": opened.contract.provider_schema,
        }
    )


@command.command("check", short_help="Judge a reply offline; nothing is stored.")
@_reply
@_hypothesis(required=False)
@_call
@_cut_off
@json_option
@package_option
@pass_session
def check(
    session: Session,
    reply: Path,
    hypothesis: str | None,
    call: str | None,
    cut_off: bool,
    as_json: bool,
) -> int | None:
    """Judge REPLY as its call would, and show the hints as the model would get them.

    It is judged by the open call of the hypothesis, or as if one were opened now. - is
    standard input. Exit code 1 where it would be refused.

    \b
    Example:
      vstore step check reply.json --package case-1 -H H1
    """
    from vstore.investigation.context import past_of
    from vstore.investigation.contracts import contract_named
    from vstore.investigation.entries import subject_of
    from vstore.investigation.judgement import Refusal, judge
    from vstore.investigation.rejection import hint_value
    from vstore.investigation.vocabulary import MAX_REPLY_BYTES
    from vstore_cli.files import read_file

    raw = read_file(reply, MAX_REPLY_BYTES + 1)
    package = session.reader().pinned()
    request = _request(package, hypothesis, call)
    verdict = judge(
        contract_named(request.contract),
        raw,
        subject_of(request),
        past_of(package.objects, request),
        cut_off=cut_off,
    )
    refused = isinstance(verdict, Refusal)
    value: dict[str, Any] = {
        "schema": "vstore-step-check/1",
        "accepted": not refused,
        "contract": request.contract,
        "hypothesis_id": request.hypothesis_id,
    }
    if isinstance(verdict, Refusal):
        value |= hint_value(verdict.hints)
    else:
        value |= {
            "update": verdict.update.document,
            "brief": verdict.brief.document,
            "change_audit": None if verdict.audit is None else verdict.audit.document,
        }
    if as_json:
        session.terminal.json(value)
    elif isinstance(verdict, Refusal):
        _print_refusal(session, verdict.hints)
    else:
        _print_accepted(session, verdict.update.document, verdict.brief.document)
        session.terminal.print("nothing was stored; vstore step apply stores it")
    return 1 if refused else None


@command.command("apply", short_help="Judge a reply; store what follows from it.")
@_reply
@_hypothesis(required=False)
@_call
@_cut_off
@json_option
@package_option
@actor_option
@pass_session
def apply(
    session: Session,
    reply: Path,
    hypothesis: str | None,
    call: str | None,
    cut_off: bool,
    as_json: bool,
) -> int | None:
    """Judge REPLY, and store the step or the refusal. Nothing is settled, no tool is asked.

    It answers the open call of the hypothesis; where none is open, one is opened first.
    Exit code 1 where it was refused.

    \b
    Example:
      vstore step apply reply.json -H H1 --call call-0007
    """
    from vstore.investigation.vocabulary import MAX_REPLY_BYTES
    from vstore_cli.files import read_file

    raw = read_file(reply, MAX_REPLY_BYTES + 1)
    steps, package = _services(session)
    case_id, package_id = package.case_id, package.package_id
    state = _state(package)
    if call is None and hypothesis is not None:
        call = state.open.get(hypothesis)
    if call is None or state.call(call) is None:
        if hypothesis is None:
            raise click.UsageError("say what the step is about: --hypothesis ID, or --call ID")
        call = call or _new_call(package)
        steps.open_step(case_id, package_id, hypothesis, call)
    outcome = steps.submit_reply(case_id, package_id, call, raw, cut_off=cut_off)
    if as_json:
        session.terminal.json(
            {
                "schema": "vstore-step-apply/1",
                "accepted": outcome.accepted,
                "call_id": outcome.call_id,
                "repeated": outcome.repeated,
                "step": None if outcome.step_id is None else str(outcome.step_id),
                "update": outcome.update,
                "head": str(outcome.package.generation_id),
                **outcome.rejection,
            }
        )
    elif outcome.update is not None and outcome.brief is not None:
        session.terminal.print(f"accepted {outcome.call_id}" + _again(repeated=outcome.repeated))
        _print_accepted(session, outcome.update, outcome.brief)
    else:
        session.terminal.print(f"refused {outcome.call_id}" + _again(repeated=outcome.repeated))
        _print_refusal(session, outcome.hints)
    return None if outcome.accepted else 1


def _again(*, repeated: bool) -> str:
    return ", as before" if repeated else ""


def _services(session: Session) -> tuple[InvestigationSteps, PinnedPackage]:
    from vstore.controller.investigation_steps import InvestigationSteps

    workspace = session.workspace()
    package = workspace.repository(workspace.only_case()).pinned()
    return InvestigationSteps(workspace), package


def _state(package: PinnedPackage) -> InvestigationState:
    from vstore.controller.investigation_fold import follow
    from vstore.investigation.state import InvestigationState

    state = InvestigationState()
    follow(state, package)
    return state


def _new_call(package: PinnedPackage) -> str:
    """The next numbered call id that nobody used in this revision."""
    state = _state(package)
    number = 1
    while state.call(f"call-{number:04d}") is not None:
        number += 1
    return f"call-{number:04d}"


def _request(
    package: PinnedPackage, hypothesis: str | None, call: str | None
) -> InvestigationRequest:
    """The request of a call, or the one that would be made now."""
    from vstore.controller.investigation_fold import latest_record
    from vstore.errors import NotFoundError
    from vstore.investigation.contracts import contract_named
    from vstore.investigation.entries import request_of
    from vstore.investigation.vocabulary import V14

    state = _state(package)
    if call is None and hypothesis is not None:
        call = state.open.get(hypothesis)
    if call is not None:
        known = state.call(call)
        if known is None:
            raise NotFoundError(
                f"no call {call} in this analysis revision",
                kind="unknown_call",
                hint="leave --call out to check as if a call were opened now",
            )
        return known.request
    stated = package.hypotheses()
    names = [] if stated is None else [one.id for one in stated.hypotheses]
    if hypothesis is None and len(names) != 1:
        raise click.UsageError("say what the step is about: --hypothesis ID, or --call ID")
    hypothesis = hypothesis or names[0]
    if hypothesis not in names:
        raise NotFoundError(
            f"no hypothesis {hypothesis} in revision {package.revision}",
            kind="unknown_hypothesis",
            hint="vstore hypotheses lists them",
        )
    return request_of(
        state,
        contract_named(V14),
        package.generation_id,
        package.generation,
        hypothesis,
        "check",
        latest=latest_record(package, hypothesis, after=state.assessed.get(hypothesis, 0)),
        hints=[],
    )


def _print_refusal(session: Session, hints: Sequence[Hint]) -> None:
    terminal = session.terminal
    for one in hints:
        details = one.details
        where = details.field or "the reply"
        told = ", ".join([*details.ids, *details.members])
        terminal.print(
            f"{terminal.paint(one.rejection, 'bad')}  {where}: {details.requirement}"
            + (f": {told}" if told else "")
        )


def _print_accepted(session: Session, update: InvestigationUpdate, brief: WorkingBrief) -> None:
    from vstore_cli.show_brief import EFFECTS, brief_lines, move_text
    from vstore_cli.terminal import safe

    terminal = session.terminal
    review = update.causal_review
    terminal.print(
        f"{update.hypothesis_id} {update.confidence}: {EFFECTS[review.effect]} "
        f"({len(review.evidence_refs)} records)"
    )
    if update.assessment is not None:
        given = update.assessment
        terminal.print(f"assessed {given.result} {given.semantic_score}: {safe(given.reason)}")
    for line in brief_lines(terminal, brief):
        terminal.print(line)
    terminal.print(f"next: {move_text(update.next)}")
