"""``vstore demo``: a real bug, investigated before your eyes."""

from __future__ import annotations

from pathlib import Path

import click

from vstore_cli.context import Session, pass_session

__all__ = ["command"]


@click.command("demo", short_help="Investigate a real bug, then show the log and verify.")
@click.argument("folder", metavar="[DIR]", default="vstore-demo",
                type=click.Path(path_type=Path))  # fmt: skip
@click.option("--force", is_flag=True, help="Move what is at DIR aside; nothing is deleted.")
@pass_session
def command(session: Session, folder: Path, force: bool) -> int:
    """Investigate a real bug, sqlite-utils issue 592: pin the source and the database, ask,
    keep the evidence, settle the budget, show the log, verify.

    The answers are real and recomputed; only the assessments are written down beforehand.
    Writes DIR (./vstore-demo) and nothing else; needs no network.

    \b
    Example:
      vstore demo
    """
    from vstore_cli.demo_run import run_demo

    return run_demo(session, folder, force=force)
