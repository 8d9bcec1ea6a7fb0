"""Novelty, duplicates and figures against brute force over the plain histories."""

import json

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pymerkle import InmemoryTree

from vstore.evidence.content import items
from vstore.evidence.index import plan_publication
from vstore.evidence.state import EvidenceState
from vstore.objects.ids import object_id
from vstore.testing.evidence_samples import draft, lines_content, payload, scope

places = st.tuples(st.sampled_from(["a.py", "b.py"]), st.integers(1, 6), st.just("x"))
scopes = st.sampled_from(
    [scope(), scope(name="again"), scope(object_id(b"other snapshot"), name="app")]
)
contents = st.tuples(
    st.lists(places, min_size=1, max_size=5),
    scopes,
    st.sampled_from(["complete", "complete", "partial"]),
)
batches = st.lists(contents, min_size=1, max_size=4)
histories = st.lists(batches, max_size=8)


def plain(content):
    """Every item with all that makes it an atom, as plain JSON text."""
    return {
        json.dumps(
            [
                content.kind,
                content.scope.content,
                content.coverage.kind,
                json.loads(msgspec.json.encode(item, enc_hook=str)),
            ],
            sort_keys=True,
        )
        for item in items(content)
    }


def check(history):
    state = EvidenceState.empty("C", "P")
    tree = InmemoryTree(algorithm="sha256")
    seen = set()
    first_of = {}
    sizes = {}
    unseen_in_all = 0
    records = 0
    parent = None
    retained = 0
    parent_bytes = 0
    for number, batch in enumerate(history):
        made = [lines_content(*lines, of=of, coverage=kind) for lines, of, kind in batch]
        drafts = [draft(one, f"a{number}-{at}", position=at) for at, one in enumerate(made)]
        publication = plan_publication(
            state,
            revision=number // 3 + 1,
            operation_id=f"op{number}",
            payload=payload(str(number)),
            drafts=drafts,
            source_bytes=number,
        )
        retained += parent_bytes + number
        for content, record in zip(made, publication.records, strict=True):
            records += 1
            returned = plain(content.document)
            unseen = returned - seen
            seen |= returned
            unseen_in_all += len(unseen)
            document = record.document
            assert document.id == f"E{records:06d}"
            assert document.novelty_score == (len(unseen) * 100) // len(returned)
            assert len(document.novel_atoms) == len(set(document.novel_atoms)) == len(unseen)
            assert document.novel_atoms == sorted(document.novel_atoms)
            assert document.duplicate_of == first_of.get(content.encoded)
            first_of.setdefault(content.encoded, document.id)
            tree.append_entry(record.encoded)
            if content.encoded not in sizes:
                sizes[content.encoded] = len(content.encoded)
                retained += len(content.encoded)
            retained += len(record.encoded)
        index = publication.index.document
        assert index.parent == parent
        assert index.sequence == number + 1
        assert index.count == index.tree.size == records
        assert index.next_id == f"E{records + 1:06d}"
        # Invariant 7: summed over all records, unseen items equal distinct_atoms of the index.
        assert index.distinct_atoms == unseen_in_all == len(seen)
        assert index.retained_bytes == retained
        assert index.tree.root == tree.get_root().hex()
        state.apply(publication)
        parent = publication.index.id
        parent_bytes = publication.index.size
    assert state.head == parent


@given(histories)
@settings(max_examples=100, deadline=None)
def test_novelty_agrees_with_brute_force(history):
    check(history)


@pytest.mark.deep
@given(st.lists(batches, max_size=30))
@settings(max_examples=2000, deadline=None)
def test_novelty_agrees_with_brute_force_at_length(history):
    check(history)
