"""Filling one page of an answer, by limits that are the same everywhere and always.

Matches are offered in the tool's own order. Each is counted; those within the page are
kept, up to the query's limits. What was left out, and the one limit that explains it,
goes into :class:`~vstore.tools.reply.Truncation`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

import msgspec

from vstore.objects.canonical import encode
from vstore.tools.reply import Page, Truncation
from vstore.tools.request import QueryLimits

__all__ = ["PageFiller"]

T = TypeVar("T", bound=msgspec.Struct)


class PageFiller(Generic[T]):
    """Collects the items of one page and counts all matches.

    Args:
        limits: The query's effective limits.
        offset: Matches before the page, 0 or more.
        limit: Items that the page may hold, 1 or more; None: no page limit.
    """

    def __init__(self, limits: QueryLimits, *, offset: int, limit: int | None) -> None:
        self.items: list[T] = []
        self.count = 0
        self._limits = limits
        self._offset = offset
        self._limit = limit
        self._room = limits.max_matches if limit is None else min(limit, limits.max_matches)
        self._bytes_left = limits.max_result_bytes
        self._full = False

    @property
    def wanted(self) -> int:
        """How many of the next matches may matter to the page; further ones only count."""
        return 0 if self._full else max(0, self._offset + self._room - self.count)

    def offer(self, make: Callable[[], T]) -> None:
        """Count one match, and keep it if it belongs to the page.

        Args:
            make: Makes the item; only called for a match within the page.
        """
        position = self.count
        self.count += 1
        if self._full or position < self._offset:
            return
        if len(self.items) == self._room:
            return
        item = make()
        self._bytes_left -= len(encode(item))
        if self._bytes_left < 0:
            self._full = True
            return
        self.items.append(item)

    def count_only(self, matches: int) -> None:
        """Count further matches without offering them: those past :attr:`wanted`."""
        self.count += matches

    def page(self, *, stopped: bool = False, total: int | None = None) -> Page:
        """Which part of all matches this is.

        Args:
            stopped: A limit ended the scan, so that the total is not known.
            total: The total where it is not the number of matches offered.
        """
        known = self.count if total is None else total
        return Page(
            offset=self._offset,
            limit=self._limit,
            returned=len(self.items),
            total=None if stopped else known,
        )

    def truncation(
        self,
        *,
        stopped_by: str | None = None,
        skipped_files: int = 0,
        total: int | None = None,
    ) -> Truncation | None:
        """What was left out, or None if nothing was.

        One limit is named, the first that applies of: the one that stopped the scan,
        ``max_result_bytes``, ``max_matches`` or ``limit`` (the lower; ``limit`` where they are
        equal), ``offset``.

        Args:
            stopped_by: Name of the limit that ended the scan.
            skipped_files: Files that were not looked into.
            total: As for :meth:`page`.
        """
        name, value = self._cause(stopped_by)
        if name is None and not skipped_files:
            return None
        known = self.count if total is None else total
        return Truncation(
            limit=name,
            value=value,
            total=None if stopped_by else known,
            skipped_files=skipped_files,
        )

    def _cause(self, stopped_by: str | None) -> tuple[str | None, int | None]:
        if stopped_by is not None:
            return stopped_by, int(getattr(self._limits, stopped_by))
        if self._bytes_left < 0:
            return "max_result_bytes", self._limits.max_result_bytes
        if self._offset + len(self.items) < self.count:
            if self._limit is None or self._limits.max_matches < self._limit:
                return "max_matches", self._limits.max_matches
            return "limit", self._limit
        if self._offset and self.count:
            return "offset", self._offset
        return None, None
