"""What a controller does, and repeats as a whole after a crash."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from vstore.objects.durable import REAL, DurableIO
from vstore.testing.investigation import CASE, PACKAGE, Investigation
from vstore.tools.request import Arguments, SourceRead, SourceSearch

__all__ = ["ACTIONS", "publish_record_settle"]

_QUERIES: Final[list[tuple[str, str, Arguments]]] = [
    ("H1", "q1", SourceSearch(source="code", pattern="BUG")),
    ("H2", "q2", SourceRead(source="code", path="app/orders.py")),
]
#: What must be reserved before.
ACTIONS: Final = [("H1", "q1", "source.search"), ("H2", "q2", "source.read")]


def publish_record_settle(root: Path, scratch: Path, io: DurableIO = REAL) -> None:
    """Ask, store one batch of two results, record and settle the first action.

    Args:
        root: The package of an :class:`Investigation` that has begun and reserved ``ACTIONS``.
        scratch: Its scratch folder.
        io: Does the durable I/O.
    """
    one = Investigation(root, scratch, io=io)
    package = one.budget.snapshot(CASE, PACKAGE).package
    request = one.router.request(package, _QUERIES)
    reply = one.router.query(package, request)
    saved = one.evidence.store_tool_results(CASE, PACKAGE, "batch", request, reply)
    one.settle(saved, 0, "H1", "q1", 70)
    one.close()
