"""The refs of a package as plain facts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vstore.objects.ids import ObjectId

if TYPE_CHECKING:
    from vstore.package.reader import PackageReader

__all__ = ["ref_facts"]


def ref_facts(reader: PackageReader) -> list[dict[str, Any]]:
    """Name, object, expected object and status of each ref, by name.

    A ref whose file holds no object id has the object None.
    """
    return [
        {
            "name": one.name,
            "object": str(one.actual) if isinstance(one.actual, ObjectId) else None,
            "expected": None if one.expected is None else str(one.expected),
            "status": one.state,
        }
        for one in sorted(reader.ref_report(), key=lambda one: one.name)
    ]
