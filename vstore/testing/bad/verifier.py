"""VS-VER: what kept the verifier from judging.

Two of these no package brings about: they are said when vstore, what it was given or the
system fails. So here the package is a good one, and what fails does so for real.
"""

from __future__ import annotations

import multiprocessing
from pathlib import Path
from typing import Final

from vstore.objects.layout import FORMAT_FILE
from vstore.package.pinned import PinnedPackage
from vstore.testing.bad.change import BadPackage, edited, files, put
from vstore.tools.database_adapter import DatabaseAdapter
from vstore.tools.reply import ToolResult
from vstore.tools.request import ToolQuery
from vstore.tools.router import Router
from vstore.tools.source_adapter import SourceAdapter
from vstore.verify import Report
from vstore.verify.many import Options, verify_many

__all__ = ["PACKAGES"]


class _Failing(SourceAdapter):
    """An adapter from elsewhere that has a fault."""

    def answer(self, package: PinnedPackage, query: ToolQuery) -> ToolResult:  # noqa: ARG002
        """See :class:`vstore.tools.adapter.Adapter`."""
        raise ZeroDivisionError


def _ended(path: Path) -> Report:
    """Verified by a process that is killed, as a system that lacks memory does it."""
    before = set(multiprocessing.active_children())

    def kill(_path: str, _objects: int, _size: int) -> None:
        for one in set(multiprocessing.active_children()) - before:
            one.kill()

    return next(verify_many([str(path)] * 2, Options(), jobs=2, progress=kill))


PACKAGES: Final[tuple[BadPackage, ...]] = (
    BadPackage(
        code="VS-VER-001",
        change="nothing, and an adapter from elsewhere fails when requests are asked again",
        make=files(lambda _: None),
        options={"router": Router([_Failing(), DatabaseAdapter()])},
    ),
    BadPackage(
        code="VS-VER-002",
        change="the file VSTORE is missing",
        make=files(lambda package: (package / FORMAT_FILE).unlink()),
    ),
    BadPackage(
        code="VS-VER-003",
        change="the last ledger entry follows rules of a later version",
        make=edited("budget-ledger-v1", -1, put("/rules", "budget/2")),
    ),
    BadPackage(
        code="VS-VER-004",
        change="nothing, and the process that verifies it is killed",
        make=files(lambda _: None),
        judge=_ended,
    ),
)
