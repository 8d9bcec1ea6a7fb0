"""Normal form is a function of what was found alone, and nothing is lost on the way."""

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from vstore.evidence.atoms import atoms
from vstore.evidence.content import envelope, item_count, items, normalise, restore
from vstore.evidence.content_check import check_content
from vstore.evidence.documents import EvidenceContent
from vstore.objects.canonical import decode, encode
from vstore.objects.ids import object_id
from vstore.testing.evidence_samples import file_item, line, ok_result, reply_of, row, table
from vstore.tools.items import DatabaseRow, SourceFile, SourceLine, TableSchema

names = st.sampled_from(
    [b"a", b"a/b", b"a.b", b"B", "\ufffd".encode(), "\U0001f600".encode(), b"\xff"]
)
texts = st.one_of(st.binary(max_size=6), st.text(max_size=6).map(str.encode)).map(
    lambda raw: raw.replace(b"\n", b"\r")
)
columns = st.lists(
    st.tuples(st.sampled_from(["id", "name", "Ω"]), st.one_of(st.none(), st.integers(-5, 5))),
    max_size=3,
)


def unique(strategy, place):
    return st.lists(strategy, max_size=12, unique_by=place)


line_lists = unique(
    st.builds(line, names, st.integers(1, 20), texts), lambda one: (one.path, one.line)
)
file_lists = unique(st.builds(file_item, names, st.integers(0, 9)), lambda one: one.path)
row_lists = unique(
    st.builds(row, st.sampled_from(["t", "T"]), st.integers(0, 20), columns),
    lambda one: (one.table, tuple(c.name for c in one.columns), one.location.pointer),
)
table_lists = unique(st.builds(table, st.sampled_from(["a", "b", "C"])), lambda one: one.name)
found = st.one_of(
    st.tuples(st.just(SourceLine), line_lists),
    st.tuples(st.just(SourceFile), file_lists),
    st.tuples(st.just(DatabaseRow), row_lists),
    st.tuples(st.just(TableSchema), table_lists),
)


def some(rng: random.Random, given_items: list[object]) -> list[object]:
    return rng.choices(given_items, k=min(3, len(given_items))) if given_items else []


@given(found, st.randoms(use_true_random=False))
@settings(max_examples=200, deadline=None)
def test_order_and_repeats_of_a_reply_do_not_change_its_content(kind_and_items, rng: random.Random):
    kind, given_items = kind_and_items
    shuffled = given_items + some(rng, given_items)
    rng.shuffle(shuffled)
    one, _ = normalise(ok_result(given_items, kind=kind))
    other, order = normalise(ok_result(shuffled, kind=kind))
    encoded = encode(one)
    assert encode(other) == encoded
    assert item_count(one) == len(given_items)
    ungrouped = list(items(one))
    assert sorted(map(repr, ungrouped)) == sorted(map(repr, given_items))
    assert len(set(atoms(one))) == len(given_items)
    check_content(decode(encoded, EvidenceContent))
    if order is None:
        assert ungrouped == shuffled
    else:
        assert [ungrouped[at] for at in order] == shuffled
        assert ungrouped != shuffled


@given(st.lists(found, min_size=1, max_size=4), st.randoms(use_true_random=False))
@settings(max_examples=100, deadline=None)
def test_envelope_and_contents_give_the_reply_back(parts, rng: random.Random):
    results = []
    for kind, given_items in parts:
        shuffled = given_items + some(rng, given_items)
        rng.shuffle(shuffled)
        results.append(ok_result(shuffled, kind=kind))
    reply = reply_of(*results)
    stored, contents = envelope(object_id(b"request"), reply)
    by_id = {one.id: decode(one.encoded, EvidenceContent) for one in contents}
    assert restore(decode(encode(stored), type(stored)), by_id.__getitem__) == reply
