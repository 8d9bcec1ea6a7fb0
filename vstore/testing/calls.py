"""A small investigation with calls of a model: accepted, refused, imported, open."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from vstore.controller.investigation_steps import InvestigationSteps, OpenCall, Outcome
from vstore.testing.investigation import CASE, PACKAGE, Investigation
from vstore.testing.replies import encoded, finding, reply_v13, reply_v14
from vstore.tools.request import Arguments, DatabaseRows, SourceRead, SourceSearch

__all__ = ["Calls", "small_calls"]

_READ = {
    "kind": "query",
    "operation": "source.read",
    "arguments": {"source": "code", "path": "app/orders.py"},
    "reason": "the whole function",
}


class Calls(Investigation):
    """An investigation whose steps are calls.

    Args:
        root: A folder for the package; must not exist yet.
        scratch: A folder for the files that are pinned.
    """

    def __init__(self, root: Path, scratch: Path) -> None:
        super().__init__(root, scratch)
        self.steps = InvestigationSteps(self.workspace)

    def open(self, call_id: str, hypothesis: str = "H1", **options: Any) -> OpenCall:
        """Open a call."""
        return self.steps.open_step(CASE, PACKAGE, hypothesis, call_id, **options)

    def submit(self, call_id: str, reply: object, **options: Any) -> Outcome:
        """Submit a reply, as JSON with blanks where it isn't bytes."""
        raw = reply if isinstance(reply, bytes) else encoded(reply)
        return self.steps.submit_reply(CASE, PACKAGE, call_id, raw, **options)

    def answer(self, call_id: str, reply: object, hypothesis: str = "H1") -> Outcome:
        """Open a call and submit its reply."""
        self.open(call_id, hypothesis)
        return self.submit(call_id, reply)

    def bring(self, call_id: str, reply: object, hypothesis: str = "H1", **options: Any) -> Outcome:
        """Import a call, under v13 by default."""
        raw = reply if isinstance(reply, bytes) else encoded(reply)
        return self.steps.import_step(CASE, PACKAGE, hypothesis, call_id, raw, **options)

    def look(self, number: int, hypothesis: str = "H1") -> None:
        """Store one more record, under the action ``look-NUMBER``."""
        choices: list[Arguments] = [
            SourceSearch(source="code", pattern="BUG"),
            SourceRead(source="code", path="app/orders.py"),
            DatabaseRows(database="shop", table="orders"),
        ]
        arguments = choices[number % 3]
        self.ask(f"look-{number}", [(hypothesis, f"look-{number}", arguments)])


def small_calls(root: Path, scratch: Path) -> Calls:
    """A package with two accepted v14 steps, three refusals, two imports and an open call.

    Args:
        root: A folder for the package; must not exist yet.
        scratch: A folder for the files that are pinned.

    Returns:
        The investigation, still open.
    """
    one = Calls(root, scratch)
    one.begin()
    one.look(0)
    one.answer(
        "call-1",
        reply_v14(
            [finding("B0001"), finding("B0002", "against")],
            score=60,
            confidence="strengthened",
            add_questions=["why?"],
            next=_READ,
        ),
    )
    one.look(1)
    # Refused by rule, then for its schema, then for its end.
    one.answer("call-2", reply_v14([finding("B0001", references=["E000077"])], score=50))
    one.answer("call-3", {"assessment": None})
    one.open("call-4")
    one.submit("call-4", b'{"assessment": nu', cut_off=True)
    one.answer(
        "call-5",
        reply_v14(
            [
                finding("B0001", "against", ["E000002"], revision_reason="the code says so"),
                finding("B0003", references=["E000001", "E000002"]),
            ],
            score=90,
            confidence="weakened",
            resolve_questions=["why?"],
            retired=[("B0002", "about another release")],
            next=_READ,
        ),
    )
    one.look(2, "H2")
    one.bring(
        "old-1",
        reply_v13(
            [finding(references=["E000003"])],
            score=30,
            assessed=["E000003"],
            confidence="confirmed",
            changes=[("B0001", "added")],
        ),
        "H2",
    )
    one.bring("old-2", reply_v13([finding(text="said anew", references=["E000003"])]), "H2")
    one.open("call-6", "H2")
    return one
