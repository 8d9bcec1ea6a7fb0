"""The score in integers; the golden values are those that floats get wrong."""

import pytest

from vstore.errors import InvalidError
from vstore.evidence.novelty import assess, novelty_score


@pytest.mark.parametrize(
    ("unseen", "returned", "score"),
    [
        (0, 0, 0),
        (0, 5, 0),
        (5, 5, 100),
        (1, 2, 50),
        (29, 100, 29),
        (57, 100, 57),
        (58, 100, 58),
        (1, 101, 0),
        (199, 200, 99),
        (1, 3, 33),
        (2, 3, 66),
        (10**15 - 1, 10**15, 99),
    ],
)
def test_novelty_score_is_floored_in_integers(unseen, returned, score):
    assert novelty_score(unseen, returned) == score


def test_a_float_would_give_one_less_for_29_57_and_58_of_100():
    for unseen in (29, 57, 58):
        assert int(unseen / 100 * 100) == unseen - 1
        assert novelty_score(unseen, 100) == unseen


@pytest.mark.parametrize(
    ("unseen", "returned"), [(2, 1), (-1, 1), (True, 1), (0, False), (1.0, 2), (0, -1)]
)
def test_impossible_counts_are_refused(unseen, returned):
    with pytest.raises(InvalidError):
        novelty_score(unseen, returned)


def test_novel_atoms_are_sorted_and_both_kinds_of_seen_count():
    assert assess(["c", "b", "a", "d"], {"b"}, {"d"}) == (["a", "c"], 50)


def test_a_repeated_atom_counts_once():
    assert assess(["a", "a", "b"], {"b"}) == (["a"], 50)


def test_nothing_returned_scores_nothing():
    assert assess([], set()) == ([], 0)
