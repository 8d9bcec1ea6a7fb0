"""Showing that a case moved from one state to another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vstore_cli.session import Session

if TYPE_CHECKING:
    from vstore.package.pinned import PinnedPackage

__all__ = ["move_value", "show_move"]


def move_value(schema: str, before: PinnedPackage, package: PinnedPackage) -> dict[str, Any]:
    """The facts of a move as a JSON value."""
    return {
        "schema": schema,
        "from": before.state,
        "state": package.state,
        "blocked": package.generation.blocked,
        "analysis_revision": package.revision,
        "head": str(package.generation_id),
        "generation": package.number,
    }


def show_move(
    session: Session, schema: str, before: PinnedPackage, package: PinnedPackage, *, as_json: bool
) -> None:
    """Print from where to where a case moved."""
    terminal = session.terminal
    if as_json:
        terminal.json(move_value(schema, before, package))
        return
    blocked = package.generation.blocked
    until = ""
    if blocked is not None and blocked.retry_not_before is not None:
        until = f", not before {blocked.retry_not_before}"
    terminal.print(
        f"{before.position} to {terminal.paint(str(package.position), 'bold')}{until}, "
        f"generation {package.number}"
    )
