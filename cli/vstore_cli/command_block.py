"""``vstore block``: let a case wait."""

from __future__ import annotations

import click

from vstore.package.documents import BlockReason
from vstore_cli.context import (
    Session,
    actor_option,
    json_option,
    package_option,
    pass_session,
)

__all__ = ["command"]

#: Waiting for a test is begun by its request alone.
_REASONS = ("BUDGET_EXHAUSTED", "PROVIDER_UNAVAILABLE", "OPERATOR_HOLD")


@click.command("block", short_help="Let the case wait; nothing is lost.")
@click.argument("reason", type=click.Choice(_REASONS, case_sensitive=False))
@click.option("--until", metavar="INSTANT",
              help="Not before: UTC, as 2026-01-02T03:04:05Z.")  # fmt: skip
@click.option("--automatic", is_flag=True, help="A worker may resume the case by itself.")
@click.option("--note", "-m", metavar="TEXT", help="Why, for the log.")
@json_option
@package_option
@actor_option
@pass_session
def command(
    session: Session,
    reason: BlockReason,
    until: str | None,
    automatic: bool,
    note: str | None,
    as_json: bool,
) -> None:
    """Let the case wait for REASON; its budget and evidence stay as they are.

    Legal while the case is worked on: INTERPRETING, GENERATING_HYPOTHESES (but for
    BUDGET_EXHAUSTED both), INVESTIGATING_HYPOTHESES. resume leads back.

    \b
    Example:
      vstore block PROVIDER_UNAVAILABLE --until 2026-01-02T03:00:00Z --automatic
    """
    from vstore.controller import CaseLifecycle
    from vstore_cli.moves import show_move

    workspace = session.workspace()
    case_id = workspace.only_case()
    before = workspace.case(case_id).package
    package = CaseLifecycle(workspace).block(
        case_id,
        before.package_id,
        reason,
        retry_not_before=until,
        automatic_retry=automatic,
        note=note,
    )
    show_move(session, "vstore-block/1", before, package, as_json=as_json)
