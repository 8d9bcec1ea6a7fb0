"""One run of the verifier over some packages."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from vstore.verify.report import EXIT_FAULT, EXIT_FAULTY, EXIT_UNVERIFIED, EXIT_VERIFIED, Report

__all__ = ["Run", "overall"]

#: What counts first. A fault of vstore makes the whole run doubtful; an error is certain.
_GRAVEST_FIRST: Final = (EXIT_FAULT, EXIT_FAULTY, EXIT_UNVERIFIED)
_VERDICTS: Final = {EXIT_VERIFIED: "verified", EXIT_FAULTY: "faulty"}


@dataclass(frozen=True, slots=True)
class Run:
    """What one call of the verifier came to.

    Args:
        reports: A report a package, in the order in which they were given.
        skipped: Packages that were not begun, as they were given.
        fail_on_warnings: Whether a warning alone makes the run fail.
        root: The folder that CI takes paths to be relative to, absolute; None where paths
            are shown as they were given.
        at: When the run was made, RFC 3339 in UTC; for JUnit only.
    """

    reports: tuple[Report, ...]
    skipped: tuple[str, ...] = ()
    fail_on_warnings: bool = False
    root: str | None = None
    at: str = "1970-01-01T00:00:00Z"

    @property
    def exit_code(self) -> int:
        """The exit code of the run: 4, else 1, else 3, else 0, whichever some package has;
        3 without any package.
        """
        code = overall(report.exit_code for report in self.reports)
        if code == EXIT_VERIFIED and self.skipped:
            return EXIT_UNVERIFIED
        if code == EXIT_VERIFIED and self.fail_on_warnings and self.warnings:
            return EXIT_FAULTY
        return code

    @property
    def warnings(self) -> int:
        """How many warnings all packages have."""
        return sum(report.by_severity["warning"] for report in self.reports)

    @property
    def verdict(self) -> str:
        """``verified``, ``faulty`` or ``not verified``."""
        return _VERDICTS.get(self.exit_code, "not verified")


def overall(codes: Iterable[int]) -> int:
    """The exit code of several packages from theirs; nothing to verify is never 0."""
    seen = set(codes)
    for code in _GRAVEST_FIRST:
        if code in seen:
            return code
    return EXIT_VERIFIED if seen else EXIT_UNVERIFIED
