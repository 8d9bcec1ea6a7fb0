"""``vstore repair``: refs that fit the log again."""

from __future__ import annotations

import click

from vstore_cli.context import (
    Session,
    actor_option,
    json_option,
    package_option,
    pass_session,
)

__all__ = ["command"]


@click.command("repair", short_help="Move refs forward to the last generation of the log.")
@click.option("--accept-log-head", is_flag=True,
              help="Take the log's last generation as the head, whatever refs say.")  # fmt: skip
@click.option("--residue", is_flag=True,
              help="Remove what a crash left in tmp/; only while nobody writes.")  # fmt: skip
@click.option("--dry-run", "-n", is_flag=True, help="Only say what would be done.")
@json_option
@package_option
@actor_option
@pass_session
def command(
    session: Session, accept_log_head: bool, residue: bool, dry_run: bool, as_json: bool
) -> None:
    """Move refs that lag behind forward to the last generation of the log.

    Missing or foreign refs are a sign of tampering: they are replaced only with
    --accept-log-head, which assumes that nothing after the log's last generation was lost.
    The log itself is never changed. doctor says what is wrong first.

    \b
    Example:
      vstore repair --dry-run
    """
    from vstore_cli.terminal import safe

    repository = session.case().repository
    done = repository.repair(accept_log_head=accept_log_head, residue=residue, dry_run=dry_run)
    if as_json:
        session.terminal.json(
            {"schema": "vstore-repair/1", "dry_run": dry_run, "actions": list(done)}
        )
        return
    if done and accept_log_head:
        session.terminal.print(
            "assuming that the log's last generation is the newest one there ever was:"
        )
    for line in done:
        session.terminal.print(("would " if dry_run else "") + safe(line))
    if not done:
        session.terminal.print("nothing to repair")
