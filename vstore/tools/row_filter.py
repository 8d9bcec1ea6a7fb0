"""Conditions on rows, compiled into tests of one cell each.

Comparison is that of :mod:`vstore.tools.cell_order`: a total order, so that ``lt 5`` holds
for null too, and ``eq`` null holds for null. ``contains`` and ``prefix`` look for text in text
and for bytes in blobs; a cell of another class doesn't hold them.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Final

from vstore.errors import InvalidError, NotFoundError
from vstore.objects.ids import ObjectId
from vstore.tools.adapter import QueryRefused
from vstore.tools.cell_order import BLOB, NUMBER, TEXT, OrderKey, order_key, rank
from vstore.tools.request import Condition
from vstore.tools.values import LargeBlob, LargeText, Value, check_value

__all__ = ["CellTest", "compile_condition"]

CellTest = Callable[[Value], bool]
Load = Callable[[ObjectId], bytes]

_ORDERINGS: Final[dict[str, Callable[[OrderKey, OrderKey], bool]]] = {
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}


def compile_condition(condition: Condition, load: Load) -> CellTest:
    """The test of one condition.

    Args:
        condition: What must hold for the cell of its column.
        load: Reads large values.

    Raises:
        QueryRefused: The value is not in its canonical form, names an object that is absent, or
            is neither text nor blob where one is looked for (``bad_condition``).
    """
    value = condition.value
    try:
        check_value(value)
    except InvalidError as error:
        raise QueryRefused("bad_condition", "a value is not in canonical form") from error
    if condition.op in ("eq", "ne"):
        return _equality(value, equal=condition.op == "eq")
    try:
        key = order_key(value, load)
    except ValueError as error:
        raise QueryRefused("bad_condition", "a value is not in canonical form") from error
    except NotFoundError as error:
        raise QueryRefused("bad_condition", "a value's object is not in the package") from error
    if condition.op in _ORDERINGS:
        return _ordering(_ORDERINGS[condition.op], key, load)
    return _search(condition.op == "prefix", key, load)


def _equality(value: Value, *, equal: bool) -> CellTest:
    if rank(value) != NUMBER:
        # One encoding per value: equal values are equal objects, and never loaded.
        if equal:
            return lambda cell: cell == value
        return lambda cell: cell != value
    wanted = order_key(value, _never)[1]

    def test(cell: Value) -> bool:
        if type(cell) is int:
            return (cell == wanted) is equal
        same = rank(cell) == NUMBER and order_key(cell, _never)[1] == wanted
        return same is equal

    return test


def _ordering(
    compare: Callable[[OrderKey, OrderKey], bool], wanted: OrderKey, load: Load
) -> CellTest:
    kind = wanted[0]

    def test(cell: Value) -> bool:
        if isinstance(cell, LargeText | LargeBlob) and rank(cell) != kind:
            return compare((rank(cell), b""), wanted)
        return compare(order_key(cell, load), wanted)

    return test


def _search(prefix: bool, wanted: OrderKey, load: Load) -> CellTest:
    kind, needle = wanted
    if kind not in (TEXT, BLOB) or not isinstance(needle, bytes):
        raise QueryRefused("bad_condition", "contains and prefix look for text or a blob")

    def test(cell: Value) -> bool:
        if rank(cell) != kind:
            return False
        hay = order_key(cell, load)[1]
        assert isinstance(hay, bytes)
        return hay.startswith(needle) if prefix else needle in hay

    return test


def _never(oid: ObjectId) -> bytes:
    raise AssertionError(oid)
