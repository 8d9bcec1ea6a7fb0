"""Evidence for the independent reader: replies, records, indices, novelty."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from blake3 import blake3
from reader_contents import KINDS, atoms, check_normal, item_count
from reader_documents import Unreadable, canonical
from reader_handoff import content_of
from reader_history import MerkleTree

Document = dict[str, Any]
Report = Callable[[str, str, str], None]

_TESTS: Final = {
    "human": "testing.request_human",
    "automated": "testing.request_automated",
}
_INPUTS: Final = {
    "origin": {"digest": None, "kind": "inputs", "label": ""},
    "coverage": {"kind": "complete", "statement": "raw input"},
}


class Draft(NamedTuple):
    """What becomes a record."""

    hypothesis: str
    action: str
    operation: str
    content: str
    origin: Document


class Source(NamedTuple):
    """What the records of a publication come from; ``drafts`` is None where nothing fits."""

    documents: list[str]
    payload: Document
    contents: dict[str, Document]
    drafts: list[Draft] | None


class Evidence:
    """Folds the evidence of a case.

    Args:
        lookup: Gives a document by object id and schema, None where it can't be had.
        encoded: Gives the bytes of a document that was looked up.
        reserved: Whether an action was reserved by a hypothesis for an operation, and has no
            record; None where that isn't known.
        answered: Gives the request of a confirmed answer to a test, by the answer's object id.
        report: Takes findings.
    """

    def __init__(
        self,
        lookup: Callable[[str, str], Document | None],
        encoded: Callable[[str], bytes],
        reserved: Callable[[int, str, str, str], bool | None],
        answered: Callable[[str], Document | None],
        report: Report,
    ) -> None:
        self._lookup = lookup
        self._encoded = encoded
        self._reserved = reserved
        self._answered = answered
        self._report = report
        self.head: str | None = None
        self.ended = False
        self._sequence = self.count = self._retained = self._head_bytes = 0
        self._seen: set[str] = set()
        self._first: dict[str, str] = {}
        self._operations: set[tuple[int, str]] = set()
        #: Revision and action id of every record.
        self.actions: set[tuple[int, str]] = set()
        self._tree = MerkleTree()
        #: What the ledger needs of each record, by object id.
        self.facts: dict[str, Document] = {}
        self._checked: set[str] = set()

    def _wrong(self, message: str) -> None:
        self._report("evidence", "error", message)

    def step(self, parent_id: str | None, parent: Document | None, child: Document) -> None:
        """Take in what a generation adds."""
        head = child["artifacts"].get("evidence_index")
        if self.ended or head == self.head:
            return
        if head is None:
            self._wrong("the evidence index disappeared")
            self.ended = True
            return
        self.ended = not self._publication(head, parent_id, parent, child)

    def _publication(
        self, head: str, parent_id: str | None, parent: Document | None, child: Document
    ) -> bool:
        index = self._lookup(head, "evidence-index-v1")
        if index is None:
            return False
        if index["rules"] != "evidence/1":
            self._report("verifier", "unsupported", f"{head}: unknown rules")
            return False
        records = []
        for one in index["records"]:
            record = self._lookup(one["object"], "evidence-record-v1")
            if record is None:
                return False
            records.append(record)
        identity = child if parent is None else parent
        origin = records[0]["origin"]
        source = (
            self._reply(origin, identity, parent_id, parent, child)
            if origin["kind"] == "tool"
            else self._feedback(origin, records[0], child)
        )
        if source is None:
            return False
        if source.drafts is None or len(source.drafts) != len(records):
            self._wrong(f"{head}: other records than its answer has results")
            return False
        try:
            found = [atoms(source.contents[draft.content]) for draft in source.drafts]
        except Unreadable as error:
            self._wrong(f"{head}: {error}")
            return False
        self._records(head, index, records, source.drafts, found, identity, child)
        self._index(head, index, source, identity, child)
        return True

    def _check_event(self, child: Document, expected: str) -> None:
        kinds = [event["kind"] for event in child["events"]]
        said = [kind for kind in kinds if kind.startswith("evidence.")]
        if said and said != [expected]:
            self._report("history", "error", f"says {said}, stores {expected}")

    def _reply(
        self,
        origin: Document,
        identity: Document,
        parent_id: str | None,
        parent: Document | None,
        child: Document,
    ) -> Source | None:
        request = self._lookup(origin["request"], "tool-request-v1")
        reply = self._lookup(origin["reply"], "tool-reply-v1")
        if request is None or reply is None:
            return None
        self._check_event(child, "evidence.tool_results")
        if (
            any(request[one] != identity[one] for one in ("case_id", "package_id"))
            or request["analysis_revision"] != child["analysis_revision"]
            or request["generation"] != parent_id
        ):
            self._wrong(f"{origin['request']}: bound to something else")
        contents = self._contents(reply)
        if contents is None:
            return None
        self._check_reply(origin, request, reply, contents, parent)
        drafts: list[Draft] | None = []
        for position, result in enumerate(reply["results"]):
            if result["content"] is None or drafts is None:
                continue
            if position >= len(request["queries"]):
                drafts = None
                continue
            query = request["queries"][position]
            drafts.append(
                Draft(
                    query["hypothesis_id"],
                    query["action_id"],
                    query["arguments"]["operation"],
                    result["content"],
                    {**origin, "position": position},
                )
            )
        payload = {
            "schema": "evidence-payload-v1",
            "case_id": request["case_id"],
            "package_id": request["package_id"],
            "analysis_revision": request["analysis_revision"],
            "queries": request["queries"],
            "results": reply["results"],
        }
        return Source([origin["request"], origin["reply"]], payload, contents, drafts)

    def _feedback(self, origin: Document, record: Document, child: Document) -> Source | None:
        oid = origin["feedback"]
        feedback = self._lookup(oid, "async-test-feedback-v1")
        if feedback is None:
            return None
        self._check_event(child, "evidence.feedback")
        content = self._lookup(record["content"], "evidence-content-v1")
        if content is None:
            return None
        self._check_normal(record["content"], content)
        request = self._answered(oid)
        if request is None:
            self._wrong(f"{oid}: an answer that no generation confirmed")
        else:
            if feedback["analysis_revision"] != child["analysis_revision"]:
                self._wrong(f"{oid}: an answer of another revision")
            if content_of(request, feedback) != content:
                self._wrong(f"{record['content']}: not what the answer yields")
        draft = Draft(
            feedback["hypothesis_id"],
            feedback["action_id"],
            _TESTS[feedback["executor"]],
            record["content"],
            {"kind": "feedback", "feedback": oid},
        )
        payload = {"schema": "evidence-payload-v1", "feedback": oid}
        return Source([oid], payload, {record["content"]: content}, [draft])

    def _check_normal(self, oid: str, content: Document) -> None:
        if oid not in self._checked:
            self._checked.add(oid)
            try:
                check_normal(content)
            except Unreadable as error:
                self._wrong(f"{oid}: {error}")

    def _contents(self, reply: Document) -> dict[str, Document] | None:
        contents: dict[str, Document] = {}
        for result in reply["results"]:
            oid = result["content"]
            if oid is None or oid in contents:
                continue
            content = self._lookup(oid, "evidence-content-v1")
            if content is None:
                return None
            contents[oid] = content
            self._check_normal(oid, content)
        return contents

    def _check_reply(
        self,
        origin: Document,
        request: Document,
        reply: Document,
        contents: dict[str, Document],
        parent: Document | None,
    ) -> None:
        wrong = []
        if reply["request"] != origin["request"] or reply["generation"] != request["generation"]:
            wrong.append("belongs to another request")
        if len(reply["results"]) != len(request["queries"]):
            wrong.append("has other results than the request has queries")
        else:
            for query, result in zip(request["queries"], reply["results"], strict=True):
                wrong += self._check_result(query, result, contents, parent)
        for message in wrong:
            self._wrong(f"{origin['reply']}: {message}")

    def _check_result(
        self,
        query: Document,
        result: Document,
        contents: dict[str, Document],
        parent: Document | None,
    ) -> Iterator[str]:
        operation = query["arguments"]["operation"]
        if (result["action_id"], result["operation"], result["provider"]) != (
            query["action_id"],
            operation,
            query["contract"],
        ):
            yield "a result of another query"
        successful = result["status"] == "ok"
        if successful == (result["content"] is None) or successful == (result["error"] is not None):
            yield "a result that is and is not an error"
        if result["content"] is None:
            if result["order"] is not None:
                yield "an order of nothing"
            return
        content = contents[result["content"]]
        if operation not in KINDS[content["kind"]][1]:
            yield "a content of another kind"
        if content["truncated"] != result["truncated"]:
            yield "another truncation than its content"
        count, order = item_count(content), result["order"]
        if order is not None and (set(order) != set(range(count)) or order == list(range(count))):
            yield "an order that is not its content's"
        returned = count if order is None else len(order)
        if result["page"] is not None and result["page"]["returned"] != returned:
            yield "a page that miscounts"
        asked = self._snapshot(query["arguments"], parent)
        if asked is None or content["scope"] is None or content["coverage"] is None:
            return
        scope = {"content": asked["content"], "name": asked["name"], "origin": asked["origin"]}
        if content["scope"] != scope or content["coverage"] != asked["coverage"]:
            yield "a content of another snapshot"

    def _snapshot(self, arguments: Document, parent: Document | None) -> Document | None:
        kind = "database" if arguments["operation"].startswith("database.") else "source"
        name = arguments[kind]
        if parent is None:
            return None
        if name == "inputs":
            found = {**_INPUTS, "name": name, "kind": "source", "content": parent["inputs"]}
        elif name in parent["snapshots"]:
            found = self._lookup(parent["snapshots"][name], "snapshot-descriptor-v1") or {
                "kind": ""
            }
        else:
            return None
        return found if found["kind"] == kind else None

    def _records(
        self,
        head: str,
        index: Document,
        records: list[Document],
        drafts: list[Draft],
        found: list[list[str]],
        identity: Document,
        child: Document,
    ) -> None:
        revision = child["analysis_revision"]
        expected_ids = []
        for one, record, draft, own in zip(index["records"], records, drafts, found, strict=True):
            self.count += 1
            number = f"E{self.count:06d}"
            expected_ids.append({"id": number, "object": one["object"]})
            novel = sorted(set(own) - self._seen)
            self._seen.update(novel)
            distinct = len(set(own))
            score = 100 * len(novel) // distinct if distinct else 0
            first = self._first.setdefault(draft.content, number)
            if first == number:
                self._retained += len(self._encoded(draft.content))
            self._retained += len(self._encoded(one["object"]))
            self._tree.append(self._encoded(one["object"]))
            expected = {
                "schema": "evidence-record-v1",
                "id": number,
                "case_id": identity["case_id"],
                "package_id": identity["package_id"],
                "analysis_revision": revision,
                "hypothesis_id": draft.hypothesis,
                "action_id": draft.action,
                "operation_id": index["operation_id"],
                "content": draft.content,
                "duplicate_of": None if first == number else first,
                "novel_atoms": novel,
                "novelty_score": score,
                "origin": draft.origin,
            }
            for member, value in expected.items():
                if record[member] != value:
                    self._wrong(f"record {number}: wrong {member}")
            action = (revision, draft.action)
            if action in self.actions:
                self._wrong(f"record {number}: not the first of its action")
            self.actions.add(action)
            reserved = self._reserved(revision, draft.hypothesis, draft.action, draft.operation)
            if reserved is False:
                self._wrong(f"record {number}: no reservation")
            self.facts[one["object"]] = {**expected, "operation": draft.operation}
        if index["records"] != expected_ids:
            self._wrong(f"{head}: wrong ids of records")

    def _index(
        self, head: str, index: Document, source: Source, identity: Document, child: Document
    ) -> None:
        revision = child["analysis_revision"]
        self._retained += self._head_bytes
        self._retained += sum(len(self._encoded(oid)) for oid in source.documents)
        expected = {
            "case_id": identity["case_id"],
            "package_id": identity["package_id"],
            "analysis_revision": revision,
            "parent": self.head,
            "sequence": self._sequence + 1,
            "payload": blake3(canonical(source.payload)).hexdigest(),
            "next_id": f"E{self.count + 1:06d}",
            "count": self.count,
            "distinct_atoms": len(self._seen),
            "retained_bytes": self._retained,
            "tree": {"root": self._tree.root(), "size": self.count},
        }
        for member, value in expected.items():
            if index[member] != value:
                self._wrong(f"{head}: wrong {member}")
        operation = (revision, index["operation_id"])
        if operation in self._operations:
            self._wrong(f"{head}: its operation id was used before")
        self._operations.add(operation)
        self.head, self._head_bytes = head, len(self._encoded(head))
        self._sequence += 1

    def finish(self) -> None:
        """Warn about more than services take by default."""
        if self.count > 10_000 or self._retained > 64 << 20:
            self._report("evidence", "warning", "more evidence than the default limits allow")
