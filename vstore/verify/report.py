"""The outcome of verifying one package."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from vstore.objects.ids import ObjectId
from vstore.verify.findings import Finding, Severity
from vstore.verify.rules import RULES

__all__ = [
    "EXIT_FAULT",
    "EXIT_FAULTY",
    "EXIT_UNVERIFIED",
    "EXIT_VERIFIED",
    "Counts",
    "FindingCollector",
    "FirstError",
    "Report",
    "unread",
]

EXIT_VERIFIED: Final = 0
EXIT_FAULTY: Final = 1
#: Something kept the verifier from judging; 2 (usage) is the command line's.
EXIT_UNVERIFIED: Final = 3
#: vstore itself failed, so nothing that it says of the package can be relied on.
EXIT_FAULT: Final = 4

#: Findings listed at the most; the others are only counted.
MAX_LISTED: Final = 1_000


@dataclass(slots=True)
class Counts:
    """What was read."""

    generations: int = 0
    records: int = 0
    entries: int = 0
    objects: int = 0
    #: Uncompressed bytes of the objects.
    bytes: int = 0
    #: Replies asked again of the pinned snapshots.
    recomputed: int = 0


@dataclass(frozen=True, slots=True)
class Report:
    """What was found in one package, and what was not looked at.

    Args:
        path: What was verified, as it was given.
        head: The generation of the last valid publication, or None.
        case_id: The case, where one was readable.
        package_id: The package, where one was readable.
        findings: In the order in which they were met, at most :data:`MAX_LISTED`.
        unlisted: Findings beyond these.
        by_severity: How many of each severity, the unlisted ones included.
        incomplete: Whether something could not be judged.
        not_checked: What was not checked and why, one sentence each.
        counts: What was read.
        seconds: How long it took.
        bundle: Whether the package is one file rather than a folder.
        fault: Whether vstore itself failed on the way.
    """

    path: str
    head: ObjectId | None
    case_id: str | None
    package_id: str | None
    findings: tuple[Finding, ...]
    unlisted: int
    by_severity: dict[Severity, int]
    incomplete: bool
    not_checked: tuple[str, ...]
    counts: Counts
    seconds: float
    bundle: bool = False
    fault: bool = False

    @property
    def exit_code(self) -> int:
        """4 after a fault of vstore, else 1 with an error, else 3 where something could not
        be judged, else 0.
        """
        if self.fault:
            return EXIT_FAULT
        if self.by_severity["error"]:
            return EXIT_FAULTY
        return EXIT_UNVERIFIED if self.incomplete else EXIT_VERIFIED

    @property
    def verdict(self) -> str:
        """``verified``, ``faulty`` or ``not verified``."""
        return {EXIT_VERIFIED: "verified", EXIT_FAULTY: "faulty"}.get(
            self.exit_code, "not verified"
        )

    def codes(self) -> set[str]:
        """The codes of the listed findings."""
        return {finding.code for finding in self.findings}


class FirstError(BaseException):
    """Leaves the replay at the first error, past checks that survive every ``Exception``."""


@dataclass(slots=True)
class FindingCollector:
    """Takes findings while a package is read.

    Args:
        bundle: Severities are those of a bundle, not of a directory.
        stop_at_error: Raise :class:`FirstError` once an error was found.
    """

    bundle: bool = False
    stop_at_error: bool = False
    findings: list[Finding] = field(default_factory=list)
    unlisted: int = 0
    by_severity: Counter[Severity] = field(default_factory=Counter)
    incomplete: bool = False
    not_checked: list[str] = field(default_factory=list)

    def add(
        self,
        code: str,
        message: str,
        *,
        object: ObjectId | None = None,
        pointer: str | None = None,
        file: str | None = None,
        offset: int | None = None,
        expected: object = None,
        actual: object = None,
        affects: tuple[str, ...] = (),
    ) -> None:
        """Report one finding of the kind with this code; see :class:`Finding`."""
        rule = RULES[code]
        severity = rule.bundle if self.bundle and rule.bundle is not None else rule.severity
        self.by_severity[severity] += 1
        self.incomplete |= rule.incomplete
        if len(self.findings) >= MAX_LISTED:
            self.unlisted += 1
            return
        self.findings.append(
            Finding(
                rule,
                severity,
                message,
                object,
                pointer,
                file,
                offset,
                _shown(expected),
                _shown(actual),
                affects,
            )
        )
        if self.stop_at_error and severity == "error":
            raise FirstError

    def skip(self, what: str) -> None:
        """Say once that something was not checked."""
        if what not in self.not_checked:
            self.not_checked.append(what)

    def extend_affected(self, dependents: Mapping[str, Sequence[int]]) -> None:
        """Let findings that affect records affect the ledger entries that rest on these.

        Args:
            dependents: Numbers of ledger entries by record id.
        """
        for position, finding in enumerate(self.findings):
            entries = dict.fromkeys(
                f"ledger entry {number}"
                for name in finding.affects
                if name.startswith("record ")
                for number in dependents.get(name[7:], ())
            )
            if entries:
                affects = tuple(dict.fromkeys((*finding.affects, *entries)))
                self.findings[position] = replace(finding, affects=affects)

    @property
    def faulty(self) -> bool:
        """Whether an error was found so far."""
        return bool(self.by_severity["error"])


def unread(path: str, code: str, message: str, *, fault: bool = False) -> Report:
    """The report of a package that nothing was read of.

    Args:
        path: What was to be verified, as it was given.
        code: Why not: a kind of finding that leaves the verdict open.
        message: The finding's sentence.
        fault: Whether it was vstore that failed.
    """
    found = FindingCollector()
    found.add(code, message)
    found.skip("anything: nothing was read to its end")
    return Report(
        path=path,
        head=None,
        case_id=None,
        package_id=None,
        findings=tuple(found.findings),
        unlisted=0,
        by_severity={one: found.by_severity[one] for one in ("error", "warning", "note")},
        incomplete=True,
        not_checked=tuple(found.not_checked),
        counts=Counts(),
        seconds=0.0,
        fault=fault,
    )


def _shown(value: object) -> str | None:
    if value is None or type(value) is str:
        return value
    return str(value)
