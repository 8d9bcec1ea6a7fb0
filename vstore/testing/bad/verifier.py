"""VS-VER: what kept the verifier from judging."""

from __future__ import annotations

from typing import Final

from vstore.objects.layout import FORMAT_FILE
from vstore.testing.bad.change import BadPackage, Unmade, edited, files, put

__all__ = ["PACKAGES", "UNMADE"]

PACKAGES: Final[tuple[BadPackage, ...]] = (
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
)
UNMADE: Final[tuple[Unmade, ...]] = (
    Unmade(code="VS-VER-001", reason="it takes a package that leads the verifier astray"),
    Unmade(code="VS-VER-004", reason="it takes a fault of vstore, or a process that is ended"),
)
