"""Tests and calls for the independent reader, as far as other areas rest on them.

Handed-out tests and the investigation's calls have rules of their own, which this reader
doesn't judge, but that the ledger stays while a test is outstanding; it follows their chains,
because evidence, budget and references rest on them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

Document = dict[str, Any]
Report = Callable[[str, str, str], None]
Lookup = Callable[[str, str], Document | None]

_CALLS: Final = {
    "opened": "investigation.open",
    "answered": "investigation.reply",
    "rejected": "investigation.rejected",
}


class Tests:
    """Which tests were handed out, and which answers were confirmed.

    Args:
        lookup: Gives a document by object id and schema, None where it can't be had.
    """

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup
        self.ended = False
        self._open: Document | None = None
        #: The request of each confirmed answer, by the answer's object id.
        self.answered: dict[str, Document] = {}
        #: Revision and action id of every test.
        self.actions: set[tuple[int, str]] = set()

    def waits(self) -> bool:
        """Whether a test is outstanding."""
        return self._open is not None and not self.ended

    def step(self, parent: Document | None, child: Document) -> None:
        """Take in what a generation does."""
        if self.ended:
            return
        feedback = _changed(parent, child, "async_test_feedback")
        if feedback is not None:
            if self._lookup(feedback, "async-test-feedback-v1") is None:
                self.ended = True
            elif self._open is not None:
                self.answered[feedback] = self._open
                self._open = None
        request = _changed(parent, child, "async_test_request")
        if request is not None and not self.ended:
            self._open = self._lookup(request, "async-test-request-v1")
            if self._open is None:
                self.ended = True
            else:
                self.actions.add((self._open["analysis_revision"], self._open["action_id"]))


def content_of(request: Document, feedback: Document) -> Document:
    """The content that a confirmed answer yields."""
    asked = {one["id"]: one["text"] for one in request["observations"]}
    completed = feedback["outcome"] == "completed"
    items = {
        (asked.get(one["id"], ""), one["text"], tuple(sorted(set(one["attachments"]))))
        for one in (feedback["observations"] if completed else ())
    }
    return {
        "schema": "evidence-content-v1",
        "kind": "test_observations",
        "scope": None,
        "coverage": None,
        "tested": {
            "executor": feedback["executor"],
            "environment": sorted(feedback["environment"], key=lambda fact: fact["name"]),
        },
        "truncated": None,
        "sought": None
        if items
        else {
            "operation": "testing.request",
            "question": request["question"],
            "steps": request["steps"],
            "observations": sorted({one["text"] for one in request["observations"]}),
        },
        "lines": None,
        "files": None,
        "rows": None,
        "tables": None,
        "observations": [
            {"asked": words, "observed": seen, "attachments": list(attachments)}
            for words, seen, attachments in sorted(items)
        ],
    }


class Calls:
    """The chain of the investigation's calls.

    Args:
        lookup: Gives a document by object id and schema, None where it can't be had.
        report: Takes findings.
    """

    def __init__(self, lookup: Lookup, report: Report) -> None:
        self._lookup = lookup
        self._report = report
        self.ended = False
        self._head: str | None = None
        self._sequence = 0
        #: Of the revision: open and ended calls, and the last one on each hypothesis.
        self._revision = 1
        self._open: dict[str, Document] = {}
        self._ended: set[str] = set()
        self._last: dict[str, str] = {}

    def step(self, child: Document, kinds: list[str]) -> None:
        """Take in the entries that a generation adds."""
        if child["analysis_revision"] != self._revision:
            self._revision, self._open = child["analysis_revision"], {}
            self._ended, self._last = set(), {}
        head = child["artifacts"].get("investigation_log")
        if self.ended or head == self._head:
            return
        chain: list[Document] = []
        oid = head
        while oid is not None and oid != self._head:
            entry = self._lookup(oid, "investigation-log-v1")
            if entry is None:
                self.ended = True
                return
            chain.insert(0, entry)
            if entry["sequence"] <= self._sequence:
                break
            oid = entry["parent"]
        if oid != self._head:
            self._report("investigation", "error", "calls that don't continue those before")
            self.ended = True
            return
        said = {kind for kind in kinds if kind.startswith("investigation.")}
        done = {
            "investigation.import" if one["imported"] else _CALLS[one["event"]["kind"]]
            for one in chain
        }
        if said != done:
            self._report("history", "error", "events say something else than the calls")
        self._head = head
        for entry in chain:
            self._sequence += 1
            if not self._take(entry):
                self.ended = True
                return
        briefs = child["artifacts"].get("working_brief")
        if briefs is not None:
            self._lookup(briefs, "working-briefs-v1")

    def _take(self, entry: Document) -> bool:
        event = entry["event"]
        call = event["call_id"]
        if entry["rules"] != "investigation/1":
            self._report("verifier", "unsupported", "unknown rules of the investigation")
            return False
        if event["kind"] == "opened":
            request = self._lookup(event["request"], "investigation-request-v1")
            if request is None or call in self._open or call in self._ended:
                return False
            self._open[call] = request
            self._last[event["hypothesis_id"]] = call
            return True
        waiting = self._open.pop(call, None)
        self._ended.add(call)
        schema = "step" if event["kind"] == "answered" else "attempt"
        found = self._lookup(event.get(schema, ""), f"investigation-{schema}-v1")
        if waiting is None or found is None:
            return False
        if self._last.pop(waiting["hypothesis_id"], None) != call:
            return False
        if found["rules"] != "investigation/1":
            self._report("verifier", "unsupported", "unknown rules of the investigation")
            return False
        followed = [(waiting["brief"], "working-brief-v1")]
        if schema == "step":
            followed += [
                (found["update"], "investigation-update-v1"),
                (found["brief"], "working-brief-v1"),
                (found["change_audit"], "change-audit-v1"),
            ]
        for oid, kind in followed:
            if oid is not None:
                self._lookup(oid, kind)
        return True


def _changed(parent: Document | None, child: Document, name: str) -> str | None:
    oid: str | None = child["artifacts"].get(name)
    return None if parent is not None and parent["artifacts"].get(name) == oid else oid
