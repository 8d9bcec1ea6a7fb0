from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from vstore.investigation.contracts import contract_named
from vstore.investigation.judgement import Refusal, judge
from vstore.investigation.normalise import Normalised, Subject
from vstore.investigation.references import Past
from vstore.investigation.rejection import Hint
from vstore.testing.replies import encoded

SUBJECT = Subject(case_id="C", package_id="P", analysis_revision=1, hypothesis_id="H1")


class Bench:
    """Judges replies one after the other, as steps of one hypothesis."""

    def __init__(self, contract: str = "investigation_project_v14") -> None:
        self.contract = contract_named(contract)
        self.past = Past(known=200, result=None, brief=None, brief_id=None)

    def with_past(self, **members: Any) -> Bench:
        current = {
            name: getattr(self.past, name) for name in ("known", "result", "brief", "brief_id")
        }
        self.past = Past(**{**current, **members})
        return self

    def judge(self, reply: object, *, cut_off: bool = False) -> Normalised | Refusal:
        raw = reply if isinstance(reply, bytes) else encoded(reply)
        return judge(self.contract, raw, SUBJECT, self.past, cut_off=cut_off)

    def accept(self, reply: object) -> Normalised:
        """Demand that a reply is accepted; the next one is judged by its brief."""
        found = self.judge(reply)
        assert isinstance(found, Normalised), found
        self.with_past(brief=found.brief.document, brief_id=found.brief.id)
        return found

    def refuse(self, reply: object, **options: Any) -> Refusal:
        found = self.judge(reply, **options)
        assert isinstance(found, Refusal), found
        return found

    def hints(self, reply: object) -> list[tuple[str, str, str, tuple[str, ...]]]:
        return [told(one) for one in self.refuse(reply).hints]

    def hint(self, reply: object) -> tuple[str, str, str, tuple[str, ...]]:
        """Demand exactly one error."""
        found = self.hints(reply)
        assert len(found) == 1, found
        return found[0]


def told(hint: Hint) -> tuple[str, str, str, tuple[str, ...]]:
    details = hint.details
    return (hint.rejection, details.field, details.requirement, tuple(details.ids))


@pytest.fixture
def bench() -> Bench:
    """Under v14, with 200 evidence records, no result to assess and no brief."""
    return Bench()


@pytest.fixture
def bench13() -> Bench:
    """The same under v13."""
    return Bench("investigation_project_v13")


@pytest.fixture
def told_of() -> Callable[[Hint], tuple[str, str, str, tuple[str, ...]]]:
    return told
