"""Records and indices: numbers, novelty, duplicates, figures, the chain and its tree."""

import copy

import msgspec
import pytest
from pymerkle import InmemoryTree

from vstore.errors import IntegrityError, InvalidError, MissingReservation, OperationConflict
from vstore.evidence.documents import EvidenceIndex, EvidenceRecord, FeedbackOrigin
from vstore.evidence.index import Draft, check_actions, plan_publication
from vstore.evidence.state import EvidenceState
from vstore.objects.canonical import decode
from vstore.objects.ids import object_id
from vstore.objects.merkle import Frontier
from vstore.objects.sealed import seal
from vstore.testing.evidence_samples import (
    draft,
    lines_content,
    ok_result,
    payload,
    scope,
    sealed,
)
from vstore.tools.request import SourceSearch

change = msgspec.structs.replace
TWO_LINES = lines_content(("a.py", 1, "x"), ("a.py", 2, "y"))
ONE_LINE = lines_content(("a.py", 1, "x"))


@pytest.fixture
def state():
    return EvidenceState.empty("C1", "P1")


def publish(state, *drafts, revision=1, operation_id=None, source_bytes=100):
    operation_id = operation_id or f"op-{state.sequence + 1}"
    publication = plan_publication(
        state,
        revision=revision,
        operation_id=operation_id,
        payload=payload(operation_id),
        drafts=drafts,
        source_bytes=source_bytes,
    )
    state.apply(publication)
    return publication


def scores(publication):
    return [record.document.novelty_score for record in publication.records]


def dump(state):
    return copy.deepcopy(
        (
            state.head,
            state.head_bytes,
            state.sequence,
            state.count,
            state.distinct_atoms,
            state.retained_bytes,
            state.frontier.hashes,
            state.seen,
            state.contents,
            state.operations,
            state.actions,
        )
    )


def test_one_new_line_in_a_two_line_excerpt_is_50_and_the_same_two_lines_again_are_0(state):
    assert scores(publish(state, draft(ONE_LINE, "a1"))) == [100]
    assert scores(publish(state, draft(TWO_LINES, "a2"))) == [50]
    assert scores(publish(state, draft(TWO_LINES, "a3"))) == [0]


def test_regrouped_items_are_not_new(state):
    publish(state, draft(TWO_LINES, "a1"), draft(lines_content(("b.py", 1, "z")), "a2"))
    regrouped = lines_content(("a.py", 2, "y"), ("b.py", 1, "z"))
    assert scores(publish(state, draft(regrouped, "a3"))) == [0]


def test_another_hypothesis_other_ids_and_another_revision_make_nothing_new(state):
    publish(state, draft(TWO_LINES, "a1", "H1"))
    again = publish(state, draft(TWO_LINES, "zz", "H2"), revision=2, operation_id="op-1")
    assert scores(again) == [0]
    assert again.records[0].document.duplicate_of == "E000001"


def test_the_same_snapshot_under_another_name_is_not_new_but_another_content(state):
    publish(state, draft(TWO_LINES, "a1"))
    renamed = lines_content(("a.py", 1, "x"), ("a.py", 2, "y"), of=scope(name="copy"))
    record = publish(state, draft(renamed, "a2")).records[0].document
    assert record.novelty_score == 0
    assert record.duplicate_of is None


def test_empty_findings_score_0_and_different_ones_are_no_duplicates(state):
    empty = [
        sealed(ok_result([], sought=SourceSearch(source="app", pattern=pattern)))
        for pattern in ("x", "y", "x")
    ]
    done = publish(state, *(draft(one, f"a{at}") for at, one in enumerate(empty)))
    assert scores(done) == [0, 0, 0]
    assert [one.document.duplicate_of for one in done.records] == [None, None, "E000001"]


def test_records_of_a_batch_count_in_reply_order(state):
    done = publish(state, draft(ONE_LINE, "a1"), draft(TWO_LINES, "a2"), draft(ONE_LINE, "a3"))
    assert scores(done) == [100, 50, 0]
    assert [one.document.duplicate_of for one in done.records] == [None, None, "E000001"]
    novel = [one.document.novel_atoms for one in done.records]
    assert [len(one) for one in novel] == [1, 1, 0]
    assert not set(novel[0]) & set(novel[1])
    assert novel[1] == sorted(novel[1])


def test_ids_are_case_wide_and_never_reset_by_a_revision(state):
    publish(state, draft(ONE_LINE, "a1"), draft(TWO_LINES, "a2"))
    done = publish(state, draft(ONE_LINE, "a1"), revision=2)
    assert done.records[0].document.id == "E000003"
    assert done.index.document.next_id == "E000004"


def test_ids_have_more_digits_past_999999(state):
    state.count = 999_998
    done = publish(state, draft(ONE_LINE, "a1"), draft(TWO_LINES, "a2"))
    assert [one.document.id for one in done.records] == ["E999999", "E1000000"]
    assert done.index.document.next_id == "E1000001"
    decode(done.index.encoded, EvidenceIndex)


def test_a_record_says_where_it_comes_from(state):
    feedback = FeedbackOrigin(feedback=object_id(b"feedback"))
    done = publish(
        state,
        draft(ONE_LINE, "a1", "H7", position=3),
        Draft(hypothesis_id="H8", action_id="a2", content=TWO_LINES, origin=feedback),
        revision=4,
        operation_id="iteration-0001",
    )
    first, second = (one.document for one in done.records)
    assert (first.case_id, first.package_id, first.analysis_revision) == ("C1", "P1", 4)
    assert (first.hypothesis_id, first.action_id, first.operation_id) == (
        "H7",
        "a1",
        "iteration-0001",
    )
    assert (first.content, first.origin.position) == (ONE_LINE.id, 3)
    assert second.origin == feedback
    for record in done.records:
        assert decode(record.encoded, EvidenceRecord) == record.document


def test_the_index_is_a_chain_with_figures_over_all_records(state):
    first = publish(state, draft(ONE_LINE, "a1"), operation_id="one").index
    second = publish(
        state, draft(TWO_LINES, "a2"), draft(ONE_LINE, "a3"), operation_id="two"
    ).index.document
    assert first.document.parent is None
    assert second.parent == first.id == object_id(first.encoded)
    assert (first.document.sequence, second.sequence) == (1, 2)
    assert (first.document.count, second.count) == (1, 3)
    assert (first.document.distinct_atoms, second.distinct_atoms) == (1, 2)
    assert (second.operation_id, second.payload) == ("two", payload("two"))
    assert second.rules == "evidence/1"
    assert [one.id for one in second.records] == ["E000002", "E000003"]


def test_the_tree_is_rfc_9162_over_canonical_records(state):
    reference = InmemoryTree(algorithm="sha256")
    for at in range(9):
        contents = [lines_content((f"{at}-{n}.py", 1, "x")) for n in range(at % 3 + 1)]
        done = publish(state, *(draft(one, f"a{at}-{n}") for n, one in enumerate(contents)))
        for record in done.records:
            reference.append_entry(record.encoded)
        tree = done.index.document.tree
        assert tree.size == reference.get_size()
        assert tree.root == reference.get_root().hex()


def test_retained_bytes_count_each_object_once_and_indices_before_this_one(state):
    first = publish(state, draft(ONE_LINE, "a1"), draft(ONE_LINE, "a2"), source_bytes=1000)
    expected = 1000 + ONE_LINE.size + sum(one.size for one in first.records)
    assert first.index.document.retained_bytes == expected
    second = publish(state, draft(ONE_LINE, "a3"), draft(TWO_LINES, "a4"), source_bytes=7)
    expected += first.index.size + 7 + TWO_LINES.size + sum(one.size for one in second.records)
    assert second.index.document.retained_bytes == expected


def test_an_index_costs_the_same_late_as_early(state):
    sizes = []
    for at in range(60):
        content = lines_content((f"{at:04d}.py", 1, "x"))
        sizes.append(publish(state, draft(content, f"a{at:04d}")).index.size)
    # Only numbers grow; the parent appears once.
    assert max(sizes[1:]) - min(sizes[1:]) < 12


def test_planning_leaves_the_state_alone_and_is_repeatable(state):
    publish(state, draft(ONE_LINE, "a1"))
    before = dump(state)
    arguments = {
        "revision": 1,
        "operation_id": "two",
        "payload": payload("two"),
        "drafts": [draft(TWO_LINES, "a2"), draft(TWO_LINES, "a3")],
        "source_bytes": 5,
    }
    assert plan_publication(state, **arguments) == plan_publication(state, **arguments)
    assert dump(state) == before


def test_a_batch_of_nothing_is_no_publication(state):
    with pytest.raises(InvalidError) as caught:
        publish(state)
    assert caught.value.kind == "empty_batch"


def test_applying_a_plan_of_another_state_is_refused_and_changes_nothing(state):
    plan = plan_publication(
        state,
        revision=1,
        operation_id="one",
        payload=payload("one"),
        drafts=[draft(ONE_LINE, "a1")],
        source_bytes=5,
    )
    state.apply(plan)
    before = dump(state)
    with pytest.raises(InvalidError) as caught:
        state.apply(plan)
    assert caught.value.kind == "stale_plan"
    other = EvidenceState.empty("C1", "P1")
    with pytest.raises(InvalidError):
        other.apply(plan, records=[])
    assert dump(other) == dump(EvidenceState.empty("C1", "P1"))
    # As many publications, but others: the length of a chain is not its identity.
    second = plan_publication(
        state,
        revision=1,
        operation_id="two",
        payload=payload("two"),
        drafts=[draft(TWO_LINES, "a2")],
        source_bytes=5,
    )
    publish(other, draft(TWO_LINES, "a1"))
    with pytest.raises(InvalidError):
        other.apply(second)
    assert dump(state) == before


def test_an_action_has_one_record_in_its_life_and_one_place_in_a_batch(state):
    check_actions(state, 1, [draft(ONE_LINE, "a1"), draft(ONE_LINE, "a2")])
    with pytest.raises(MissingReservation):
        check_actions(state, 1, [draft(ONE_LINE, "a1"), draft(TWO_LINES, "a1")])
    publish(state, draft(ONE_LINE, "a1"))
    assert state.recorded(1, "a1")
    assert not state.recorded(2, "a1")
    with pytest.raises(MissingReservation) as caught:
        check_actions(state, 1, [draft(TWO_LINES, "a1")])
    assert caught.value.kind == "action_recorded"
    check_actions(state, 2, [draft(TWO_LINES, "a1")])


def test_a_repeat_is_recognised_and_a_conflict_refused(state):
    done = publish(state, draft(ONE_LINE, "a1"), draft(TWO_LINES, "a2"), operation_id="one")
    known = state.recognise(1, "one", payload("one"))
    assert known.index == done.index.id
    assert [one.object for one in known.records] == [one.id for one in done.records]
    assert [one.id for one in known.records] == ["E000001", "E000002"]
    with pytest.raises(OperationConflict):
        state.recognise(1, "one", payload("two"))
    assert state.recognise(2, "one", payload("two")) is None
    assert state.recognise(1, "two", payload("one")) is None


def test_a_verifier_goes_on_with_the_documents_as_stored(state):
    """A record with a forged score is found once; what commits to it is judged by it."""
    plan = plan_publication(
        state,
        revision=1,
        operation_id="one",
        payload=payload("one"),
        drafts=[draft(ONE_LINE, "a1")],
        source_bytes=5,
    )
    forged = seal(change(plan.records[0].document, novelty_score=7))
    judged = plan_publication(
        state,
        revision=1,
        operation_id="one",
        payload=payload("one"),
        drafts=[draft(ONE_LINE, "a1")],
        source_bytes=5,
        stored_records=[forged],
    )
    assert judged.records == plan.records
    assert judged.index.document.records[0].object == forged.id
    reference = InmemoryTree(algorithm="sha256")
    reference.append_entry(forged.encoded)
    assert judged.index.document.tree.root == reference.get_root().hex()
    state.apply(judged, records=[forged])
    assert state.frontier.root() == reference.get_root().hex()
    assert state.operations.get((1, "one")).records[0].object == forged.id
    assert state.distinct_atoms == 1
    with pytest.raises(InvalidError):
        plan_publication(
            state,
            revision=1,
            operation_id="two",
            payload=payload("two"),
            drafts=[draft(ONE_LINE, "a1")],
            source_bytes=5,
            stored_records=[],
        )


def test_hostile_repeats_do_not_replace_what_was_first(state):
    publish(state, draft(ONE_LINE, "a1"), operation_id="one")
    first = state.operations.get((1, "one"))
    publish(state, draft(TWO_LINES, "a1"), operation_id="one")
    assert state.operations.get((1, "one")) == first
    assert state.actions.get((1, "a1")) == "E000001"


def test_a_state_resumed_from_caches_continues_alike(state):
    publish(state, draft(ONE_LINE, "a1"))
    index = publish(state, draft(TWO_LINES, "a2")).index
    resumed = EvidenceState.resume(
        index,
        Frontier.from_hashes(state.frontier.size, state.frontier.hashes),
        seen=set(state.seen),
        contents=dict(state.contents),
        operations=dict(state.operations),
        actions=dict(state.actions),
    )
    assert dump(resumed) == dump(state)
    assert publish(resumed, draft(ONE_LINE, "a3")) == publish(state, draft(ONE_LINE, "a3"))


def test_a_frontier_of_another_history_is_refused(state):
    index = publish(state, draft(ONE_LINE, "a1")).index
    other = Frontier()
    for frontier in (other.copy(), other):
        with pytest.raises(IntegrityError) as caught:
            EvidenceState.resume(
                index, frontier, seen=set(), contents={}, operations={}, actions={}
            )
        assert caught.value.kind == "stale_cache"
        other.append(b"something else")


# ---------------------------------------------------------------- a writer that continues


@pytest.fixture
def history(state):
    return [
        publish(state, draft(ONE_LINE, "a1"), draft(TWO_LINES, "a2")),
        publish(state, draft(TWO_LINES, "a3"), draft(ONE_LINE, "a4")),
        publish(state, draft(lines_content(("b.py", 1, "z")), "a1"), revision=2),
    ]


def test_adopting_what_is_stored_gives_the_very_state(state, history):
    continued = EvidenceState.empty("C1", "P1")
    for one in history:
        continued.adopt(one.index, one.records)
    assert dump(continued) == dump(state)


@pytest.mark.parametrize("at", range(3))
def test_an_index_that_does_not_continue_the_state_is_refused(history, at):
    continued = EvidenceState.empty("C1", "P1")
    for one in history[:at]:
        continued.adopt(one.index, one.records)
    before = dump(continued)
    index, records = history[at].index, history[at].records
    document = index.document
    entry = document.records[0]
    bad = [
        {"case_id": "C2"},
        {"package_id": "P2"},
        {"parent": object_id(b"another")},
        {"sequence": document.sequence + 1},
        {"records": []},
        {"records": document.records[::-1] if at < 2 else document.records * 2},
        {"records": [change(entry, id="E000099"), *document.records[1:]]},
        {"records": [change(entry, object=index.id), *document.records[1:]]},
        {"count": document.count + 1},
        {"distinct_atoms": document.distinct_atoms + 1},
        {"tree": change(document.tree, size=document.tree.size + 1)},
        {"tree": change(document.tree, root="0" * 64)},
    ]
    for members in bad:
        with pytest.raises(IntegrityError) as caught:
            continued.adopt(seal(change(document, **members)), records)
        assert caught.value.kind == "bad_index"
    renumbered = seal(change(records[0].document, id="E000099"))
    swapped = change(entry, object=renumbered.id)
    with pytest.raises(IntegrityError):
        continued.adopt(
            seal(change(document, records=[swapped, *document.records[1:]])),
            [renumbered, *records[1:]],
        )
    assert dump(continued) == before
    continued.adopt(index, records)


def test_adopting_keeps_what_was_first(history):
    continued = EvidenceState.empty("C1", "P1")
    for one in history:
        continued.adopt(one.index, one.records)
    assert continued.actions == {
        (1, "a1"): "E000001",
        (1, "a2"): "E000002",
        (1, "a3"): "E000003",
        (1, "a4"): "E000004",
        (2, "a1"): "E000005",
    }
    assert continued.contents[ONE_LINE.id] == "E000001"
    assert continued.contents[TWO_LINES.id] == "E000002"
