"""The canonical forms that the swift pass writes out are those of the document types."""

from __future__ import annotations

import msgspec
import pytest

from vstore.evidence.documents import (
    RULES,
    EvidenceIndex,
    EvidenceRecord,
    IndexedRecord,
    RecordTree,
    ToolOrigin,
)
from vstore.evidence.state import EvidenceState
from vstore.objects.canonical import encode, encode_part
from vstore.objects.ids import ObjectId, object_id
from vstore.package.documents import Event, Generation, History
from vstore.verify.swift_documents import (
    Figures,
    GenerationForm,
    Member,
    between,
    index_bytes,
    read_events,
    record_bytes,
)


def test_the_forms_are_those_of_the_types() -> None:
    state = EvidenceState.empty("CASE-1", "PACKAGE-1")
    ids = [object_id(b"%d" % number) for number in range(5)]
    for head, duplicate_of, novel in ((None, None, []), (ids[3], "E000001", ["a" * 64, "b" * 64])):
        state.head = head
        member = Member("E000002", "H1", "t1", ids[2], duplicate_of, novel, 7, 3)
        record = EvidenceRecord(
            id="E000002",
            case_id="CASE-1",
            package_id="PACKAGE-1",
            analysis_revision=2,
            hypothesis_id="H1",
            action_id="t1",
            operation_id="op",
            content=ids[2],
            duplicate_of=duplicate_of,
            novel_atoms=novel,
            novelty_score=7,
            origin=ToolOrigin(request=ids[0], reply=ids[1], position=3),
        )
        assert record_bytes(state, 2, "op", ids, member) == encode(record)
        index = EvidenceIndex(
            case_id="CASE-1",
            package_id="PACKAGE-1",
            analysis_revision=2,
            parent=head,
            sequence=1,
            rules=RULES,
            operation_id="op",
            payload="c" * 64,
            records=[
                IndexedRecord(id="E000001", object=ids[3]),
                IndexedRecord(id="E000002", object=ids[4]),
            ],
            next_id="E000003",
            count=2,
            distinct_atoms=5,
            retained_bytes=6,
            tree=RecordTree(size=2, root="d" * 64),
        )
        pairs = [("E000001", ids[3]), ("E000002", ids[4])]
        figures = Figures("E000003", 2, 5, 6, "d" * 64)
        assert index_bytes(state, 2, "op", "c" * 64, pairs, figures) == encode(index)


@pytest.mark.parametrize("names", [[], ["budget_ledger"], ["a", "evidence_index", "zz"]])
@pytest.mark.parametrize("attachments", [None, object_id(b"attachments")])
def test_the_form_of_a_generation_is_that_of_its_type(
    names: list[str], attachments: ObjectId | None
) -> None:
    oid = object_id(b"anything")
    event = Event(
        kind="evidence.tool_results",
        operation_id="op",
        actor='"\u00e9\\',
        at="2026-01-02T03:04:05Z",
        reason=None,
    )
    parent = Generation(
        case_id="CASE-1",
        package_id="PACKAGE-1",
        package_generation=7,
        analysis_revision=2,
        state="INVESTIGATING_HYPOTHESES",
        blocked=None,
        parent=oid,
        history=History(size=6, root="e" * 64),
        inputs=oid,
        snapshots={"library": oid, "another": oid},
        attachments=attachments,
        artifacts=dict.fromkeys(names, oid),
        declared={},
        events=[event],
    )
    index, parent_id = object_id(b"index"), object_id(b"parent")
    child = msgspec.structs.replace(
        parent,
        package_generation=8,
        parent=parent_id,
        history=History(size=7, root="f" * 64),
        artifacts={**parent.artifacts, "evidence_index": index},
        declared={"evidence_index": [index]},
    )
    around = GenerationForm(parent).around_events(parent_id, 7, "f" * 64, index)
    assert around[0] + encode_part([event]) + around[1] == encode(child)
    assert read_events(between(encode(child), around)) == [event]
    for bad in (b"", encode(child)[:-1], encode(child)[1:], around[0][:-1] + around[1]):
        with pytest.raises(ValueError, match="another form"):
            between(bad, around)
