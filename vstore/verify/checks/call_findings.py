"""What the checks of calls share: telling a finding, and comparing a document member by member."""

from __future__ import annotations

from typing import Any, Final

from vstore.objects.canonical import to_value
from vstore.objects.ids import ObjectId
from vstore.package.documents import Hypotheses
from vstore.verify.checks.difference import difference_of
from vstore.verify.checks.history import Step
from vstore.verify.checks.objects import ObjectCheck
from vstore.verify.report import FindingCollector

__all__ = ["IDENTITY", "CallFindings", "stated_hypotheses"]

#: The codes of members that every document of a call has.
IDENTITY: Final = {
    "case_id": "VS-INV-003",
    "package_id": "VS-INV-003",
    "analysis_revision": "VS-INV-003",
}


class CallFindings:
    """Tells what is wrong with calls.

    Args:
        found: Takes the findings.
    """

    def __init__(self, found: FindingCollector) -> None:
        self._found = found

    def skip(self, what: str) -> None:
        """Say that something is not checked."""
        self._found.skip(what)

    def add(
        self,
        code: str,
        message: str,
        oid: ObjectId | None,
        pointer: str | None,
        *,
        expected: object = None,
        actual: object = None,
        affects: tuple[str, ...] = (),
    ) -> None:
        """Tell one finding; the arguments as for :meth:`FindingCollector.add`."""
        self._found.add(
            code,
            message,
            object=oid,
            pointer=pointer,
            expected=expected,
            actual=actual,
            affects=affects,
        )

    def compare(
        self,
        oid: ObjectId,
        expected: Any,
        actual: Any,
        codes: dict[str, str],
        name: str,
    ) -> None:
        """Compare the members that have a code.

        Args:
            oid: The document that is stored.
            expected: What the package yields in its place.
            actual: What is stored.
            codes: The code of a difference, by member.
            name: What messages call it.
        """
        for member, code in codes.items():
            wanted, there = getattr(expected, member), getattr(actual, member)
            if wanted == there:
                continue
            pointer, one, other = difference_of(to_value(wanted), to_value(there), f"/{member}")
            self.add(
                code,
                f"{name} differs from what the package yields",
                oid,
                pointer,
                expected=one,
                actual=other,
                affects=(name,),
            )


def stated_hypotheses(objects: ObjectCheck, step: Step, oid: ObjectId | None) -> Hypotheses | None:
    """The hypotheses that a generation, or its parent, names; None where there are none.

    One that can't be read is told as any object is.
    """
    if oid is None:
        return None
    return objects.lookup(oid, Hypotheses, step.oid, "/artifacts/hypotheses")
