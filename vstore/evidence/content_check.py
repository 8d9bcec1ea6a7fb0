"""Checking that a stored content is in its normal form, whatever its origin says.

A content that was made by :func:`vstore.evidence.content.normalise` passes; anything that
would have another normal form is refused, so that one observation has one object id.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any, Final

from vstore.errors import InvalidError
from vstore.evidence.documents import EvidenceContent, SoughtTest, member_of
from vstore.evidence.ordering import (
    check_line,
    check_location,
    check_schema,
    observation_key,
    position_of,
    table_key,
)
from vstore.objects.text import text_to_bytes
from vstore.tools.request import Arguments, operation_of
from vstore.tools.values import INLINE_BYTES, check_value

__all__ = ["check_content"]

#: A text of so many characters has at most as many bytes as any text in place may have.
_SHORT: Final = INLINE_BYTES // 4
_MEMBERS: Final = ("lines", "files", "rows", "tables", "observations")
_TESTING: Final = "testing.request"
_OPERATIONS: Final[dict[str, tuple[str, ...]]] = {
    "source_lines": ("source.search", "source.read"),
    "source_files": ("source.list",),
    "database_rows": ("database.rows",),
    "database_schema": ("database.schema",),
    "test_observations": (_TESTING,),
}


def check_content(content: EvidenceContent) -> None:
    """Check that a content is normal: the right member, sorted, no repeats, legal values.

    Raises:
        InvalidError: It is not (``invalid_content``), or a value in it has another legal
            encoding (``not_canonical``), or a row's location is none (``invalid_location``).
    """
    member = member_of(content.kind)
    present = [name for name in _MEMBERS if getattr(content, name) is not None]
    if present != [member]:
        raise _abnormal("exactly the member of a content's kind holds items")
    snapshot = content.kind != "test_observations"
    if (content.scope is not None) != snapshot or (content.coverage is not None) != snapshot:
        raise _abnormal("contents of snapshots, and only they, have scope and coverage")
    if (content.tested is None) != snapshot:
        raise _abnormal("observations of a test, and only they, say what was tested")
    if (content.sought is None) == (not getattr(content, member)):
        raise _abnormal("the normalised question stands where, and only where, nothing is found")
    if content.sought is not None and _operation(content.sought) not in _OPERATIONS[content.kind]:
        raise _abnormal("the normalised question is of another kind")
    _check_lines(content)
    _check_files(content)
    _check_rows(content)
    for table in content.tables or ():
        check_schema(table)
    _check_sorted(map(table_key, content.tables or ()))
    _check_observations(content)


def _check_lines(content: EvidenceContent) -> None:
    groups = content.lines or ()
    _check_sorted((text_to_bytes(group.path), group.file) for group in groups)
    for group in groups:
        if not group.lines:
            raise _abnormal("a file without lines")
        _check_sorted(numbered.line for numbered in group.lines)
        for numbered in group.lines:
            check_line(numbered.text)


def _check_files(content: EvidenceContent) -> None:
    _check_sorted((text_to_bytes(entry.path), entry.file) for entry in content.files or ())


def _check_rows(content: EvidenceContent) -> None:
    groups = content.rows or ()
    _check_sorted(
        (text_to_bytes(group.table), tuple(map(text_to_bytes, group.columns))) for group in groups
    )
    for group in groups:
        if not group.rows:
            raise _abnormal("a table without rows")
        _check_sorted(position_of(row.location) for row in group.rows)
        for row in group.rows:
            if len(row.values) != len(group.columns):
                raise _abnormal("a row whose values don't match the columns")
            check_location(row.location)
            for value in row.values:
                if value is None or type(value) is int:
                    continue
                if type(value) is not str or len(value) > _SHORT:
                    check_value(value)


def _check_observations(content: EvidenceContent) -> None:
    if content.truncated is not None and content.tested is not None:
        raise _abnormal("nothing is left out of what a tester observed")
    _check_sorted(map(observation_key, content.observations or ()))
    for observation in content.observations or ():
        _check_sorted(observation.attachments)
    if content.tested is not None:
        _check_sorted(fact.name for fact in content.tested.environment)
    if isinstance(content.sought, SoughtTest):
        _check_sorted(content.sought.observations)


def _operation(sought: Arguments | SoughtTest) -> str:
    return _TESTING if isinstance(sought, SoughtTest) else operation_of(sought)


def _check_sorted(keys: Iterable[Any]) -> None:
    for before, after in pairwise(keys):
        if not before < after:
            raise _abnormal("items that are not sorted, or repeated")


def _abnormal(what: str) -> InvalidError:
    return InvalidError(what, kind="invalid_content")
