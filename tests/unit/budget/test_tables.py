from vstore.budget.tables import OverlaySet, OverlayTable


def test_an_overlay_table_leaves_what_lies_below():
    below = {1: "a"}
    over = OverlayTable(below)
    over[2] = "b"
    assert (over.get(1), over.get(2), over.get(3)) == ("a", "b", None)
    assert below == {1: "a"}


def test_an_overlay_set_leaves_what_lies_below():
    below = {"a"}
    over = OverlaySet(below)
    over.update(["b", "a"])
    assert ["a" in over, "b" in over, "c" in over] == [True, True, False]
    assert below == {"a"}
