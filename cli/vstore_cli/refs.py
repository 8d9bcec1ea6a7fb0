"""The refs of a package as plain facts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vstore.package.reader import PackageReader

__all__ = ["ref_facts"]


def ref_facts(reader: PackageReader) -> list[dict[str, Any]]:
    """Name, object and status of each ref."""
    raise NotImplementedError
