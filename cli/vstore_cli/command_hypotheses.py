"""``vstore hypotheses``: what may be the cause, and how likely that seems by now."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vstore_cli.context import (
    Session,
    actor_option,
    json_option,
    package_option,
    pass_session,
)

if TYPE_CHECKING:
    from vstore.package.documents import Hypothesis
    from vstore.package.pinned import PinnedPackage

__all__ = ["command"]

_MOST_BYTES = 1024 * 1024
_CONFIDENCES = ["open", "strengthened", "weakened", "confirmed", "refuted"]


@click.group(
    "hypotheses", invoke_without_command=True, short_help="Show, state and weigh hypotheses."
)
@json_option
@package_option
@actor_option
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """Show the hypotheses of the current revision; state and weigh them by subcommands.

    \b
    Example:
      vstore hypotheses add H1 "transform() drops the triggers"
      vstore hypotheses update H1 --confidence weakened
    """
    if ctx.invoked_subcommand is not None:
        return
    session: Session = ctx.obj
    package = session.reader().pinned()
    _show(session, package, as_json=as_json)


@command.command("add", short_help="State a hypothesis.")
@click.argument("identifier", metavar="ID")
@click.argument("statement")
@click.option("--question", "-q", multiple=True, metavar="TEXT", help="An open question.")
@json_option
@package_option
@actor_option
@pass_session
def add(
    session: Session, identifier: str, statement: str, question: tuple[str, ...], as_json: bool
) -> None:
    """State a hypothesis. The budget's initialisation fixes which ones there are.

    \b
    Example:
      vstore hypotheses add H1 "the index is stale" -q "who writes to it?"
    """
    from vstore.errors import ConflictError
    from vstore.package.documents import Hypothesis

    case = session.case()
    known = _known(case.package)
    if any(one.id == identifier for one in known):
        raise ConflictError(
            f"there is a hypothesis {identifier} already",
            kind="hypothesis_exists",
            hint=f"vstore hypotheses update {identifier} changes it",
        )
    stated = Hypothesis(
        id=identifier, statement=statement, confidence="open", open_questions=list(question)
    )
    _fixed(case.package)
    _show(session, case.set_hypotheses([*known, stated]), as_json=as_json)


@command.command("update", short_help="Change a hypothesis, or how likely it seems.")
@click.argument("identifier", metavar="ID")
@click.option("--confidence", "-c", type=click.Choice(_CONFIDENCES), help="How likely it seems.")
@click.option("--statement", metavar="TEXT", help="Other words for it.")
@click.option("--question", "-q", multiple=True, metavar="TEXT",
              help="An open question; replaces the ones before.")  # fmt: skip
@click.option("--no-questions", is_flag=True, help="No question is open any more.")
@json_option
@package_option
@actor_option
@pass_session
def update(
    session: Session,
    identifier: str,
    confidence: str | None,
    statement: str | None,
    question: tuple[str, ...],
    no_questions: bool,
    as_json: bool,
) -> None:
    """Change a hypothesis, or how likely it seems by now.

    \b
    Example:
      vstore hypotheses update H3 --confidence confirmed --no-questions
    """
    import msgspec

    from vstore.errors import NotFoundError

    changes: dict[str, Any] = {}
    if confidence is not None:
        changes["confidence"] = confidence
    if statement is not None:
        changes["statement"] = statement
    if question or no_questions:
        changes["open_questions"] = list(question)
    if not changes:
        raise click.UsageError("say what changes: --confidence, --statement, --question")
    case = session.case()
    base = case.package
    known = _known(base)
    if all(one.id != identifier for one in known):
        raise NotFoundError(
            f"no hypothesis {identifier} in revision {base.revision}",
            kind="unknown_hypothesis",
            hint="vstore hypotheses lists them",
        )
    changed = [
        msgspec.structs.replace(one, **changes) if one.id == identifier else one for one in known
    ]
    _show(session, case.set_hypotheses(changed), as_json=as_json)


@command.command("set", short_help="Take all hypotheses from a JSON file.")
@click.argument("file", type=click.Path(path_type=Path))
@json_option
@package_option
@actor_option
@pass_session
def set_all(session: Session, file: Path, as_json: bool) -> None:
    """Take all hypotheses from a JSON file: a list of objects with id and statement, and
    where wanted confidence and open_questions. - is standard input.

    \b
    Example:
      vstore hypotheses set hypotheses.json
    """
    from vstore.package.hypotheses import read_hypotheses
    from vstore_cli.files import read_file

    stated = read_hypotheses(read_file(file, _MOST_BYTES))
    case = session.case()
    if [one.id for one in stated] != [one.id for one in _known(case.package)]:
        _fixed(case.package)
    _show(session, case.set_hypotheses(stated), as_json=as_json)


def _fixed(base: PinnedPackage) -> None:
    """Refuse other hypotheses where the budget has accounts for those that there are."""
    from vstore.errors import StateError
    from vstore_cli.accounts import read_accounts

    if read_accounts(base) is not None:
        raise StateError(
            f"the budget of revision {base.revision} has fixed which hypotheses there are",
            kind="hypotheses_fixed",
            hint="their statements and confidences can change; reopening the case starts anew",
        )


def _known(base: PinnedPackage) -> list[Hypothesis]:
    found = base.hypotheses()
    return [] if found is None else list(found.hypotheses)


def _show(session: Session, package: PinnedPackage, *, as_json: bool) -> None:
    from vstore_cli.show_document import hypotheses_lines

    found = package.hypotheses()
    if as_json:
        session.terminal.json(
            {
                "schema": "vstore-hypotheses/1",
                "case_id": package.case_id,
                "analysis_revision": package.revision,
                "head": str(package.generation_id),
                "hypotheses": [] if found is None else found.hypotheses,
            }
        )
        return
    if found is None:
        session.terminal.print("no hypothesis yet")
        return
    for line in hypotheses_lines(session.terminal, found):
        session.terminal.print(line)
