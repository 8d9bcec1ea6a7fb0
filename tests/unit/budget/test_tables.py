"""Maps over maps behave as a dict that was copied, and are loaded no sooner than needed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vstore.budget.tables import LazyMap, OverlayMap

KEYS = st.sampled_from("abcde")
CHANGES = st.lists(st.tuples(st.sampled_from(["set", "delete", "get"]), KEYS, st.integers(0, 9)))


@given(st.dictionaries(KEYS, st.integers(0, 9)), CHANGES)
def test_they_do_what_a_copy_of_a_dict_does(
    below: dict[str, int], changes: list[tuple[str, str, int]]
) -> None:
    before = dict(below)
    for one in (OverlayMap(below), LazyMap(lambda: dict(below))):
        copy = dict(below)
        for what, key, value in changes:
            if what == "set":
                one[key] = value
                copy[key] = value
            elif what == "get":
                assert one.get(key) == copy.get(key)
            elif key in copy:
                del one[key]
                del copy[key]
            else:
                with pytest.raises(KeyError):
                    del one[key]
        assert dict(one) == copy
        assert len(one) == len(copy)
        assert one == copy
        assert below == before


def test_keys_keep_their_order_and_new_ones_come_last() -> None:
    below = {"b": 1, "a": 2, "d": 3}
    for one in (OverlayMap(below), LazyMap(lambda: dict(below))):
        one["c"] = 4
        one["a"] = 5
        del one["b"]
        assert list(one.items()) == [("a", 5), ("d", 3), ("c", 4)]
        with pytest.raises(KeyError):
            one["b"]


def test_a_lazy_map_takes_additions_without_being_loaded() -> None:
    loads = []

    def load() -> dict[str, int]:
        loads.append(1)
        return {"a": 1}

    one = LazyMap(load)
    one["b"] = 2
    assert not loads
    assert "a" in one
    assert list(one) == ["a", "b"]
    assert loads == [1]
