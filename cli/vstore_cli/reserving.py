"""What ``vstore budget reserve`` does, once its command line is read."""

from __future__ import annotations

from vstore_cli.session import Session

__all__ = ["reserve"]


def reserve(
    session: Session, hypothesis: str, operation: str, action: str | None, as_json: bool
) -> None:
    """Set the cost of an operation aside, and print what was reserved.

    Args:
        session: Knows the package and the terminal.
        hypothesis: Whose credits.
        operation: What they are for.
        action: The action's id; None for the next free one.
        as_json: Print JSON.
    """
    from vstore.budget.documents import Reserve
    from vstore_cli.services import open_services

    services = open_services(session)
    if action is None:
        from vstore_cli.asking import reserve_next

        entry = reserve_next(services, hypothesis, operation)
    else:
        entry = services.budget.reserve(
            services.case_id, services.package_id, hypothesis, action, operation=operation
        )
    event = entry.event
    assert isinstance(event, Reserve)
    if as_json:
        session.terminal.json(
            {
                "schema": "vstore-budget-reserve/1",
                "event": event,
                "account": entry.accounts[0],
            }
        )
        return
    session.terminal.print(
        f"reserved {event.action_id} for {hypothesis}: {operation}, cost {event.cost}, "
        f"balance {entry.accounts[0].balance}"
    )
