"""Source queries of a real bug, compared with what an independent implementation found.

The folder of a real bug has ``queries.json`` and ``queries.expected.json``; the source is
an archive of the release, fetched elsewhere.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from vstore.objects.memory import MemoryObjects
from vstore.objects.text import text_to_bytes
from vstore.testing.pinned import pin
from vstore.tools.capture_source import capture_source
from vstore.tools.reply import ToolResult
from vstore.tools.request import Arguments, SourceRead, SourceSearch
from vstore.tools.router import Router
from vstore.tools.source_adapter import SourceAdapter

__all__ = ["source_arguments", "source_differences"]

_SHOWN_FIRST = 3


def source_arguments(query: dict[str, Any], *, source: str) -> Arguments:
    """Our arguments for one source query of ``queries.json``.

    Args:
        query: ``source.search`` with text, under, limit, or ``source.read`` with path, lines.
        source: Name of the snapshot to ask.
    """
    if query["tool"] == "source.read":
        start, end = query["lines"]
        return SourceRead(source=source, path=query["path"], start=start, end=end)
    return SourceSearch(
        source=source,
        pattern=query["text"],
        under=query.get("under"),
        limit=query.get("limit", 1000),
    )


def source_differences(archive: Path, bug: Path) -> list[str]:
    """Ask the source queries of a real bug, and say where the answers differ.

    Args:
        archive: The release, as an sdist or wheel.
        bug: The folder with ``queries.json`` and ``queries.expected.json``.

    Returns:
        One text for each difference; none where all agree.
    """
    objects = MemoryObjects()
    package = pin(objects, [capture_source(archive, objects, name="release")])
    router = Router([SourceAdapter()])
    expectations = json.loads((bug / "queries.expected.json").read_bytes())
    wanted = [one for one in expectations if one["query"]["tool"].startswith("source.")]
    questions = [
        ("H1", one["id"], source_arguments(one["query"], source="release")) for one in wanted
    ]
    reply = router.query(package, router.request(package, questions))
    differences = []
    seen: set[tuple[bytes, int]] = set()
    for expected, result in zip(wanted, reply.results, strict=True):
        found = _facts(result, seen)
        differences += [
            f"{expected['id']} {fact}: expected {expected[fact]}, found {value}"
            for fact, value in found.items()
            if fact in expected and expected[fact] != value
        ]
    return differences


def _facts(result: ToolResult, seen: set[tuple[bytes, int]]) -> dict[str, Any]:
    lines = result.lines or []
    assert result.page is not None, result.error
    places = [(text_to_bytes(one.path), one.line) for one in lines]
    new = len(set(places) - seen)
    seen.update(places)
    truncated = result.truncated
    left_out = truncated is not None and truncated.limit is not None
    return {
        "returned": result.page.returned,
        "total": result.page.total,
        "skipped_files": 0 if truncated is None else truncated.skipped_files,
        "new": new,
        # Their novelty is rounded, ours is rounded down: what both are made of is compared.
        "coverage": "partial" if left_out else ("complete" if places else "empty"),
        "first": [f"{path.decode()}:{line}" for path, line in places[:_SHOWN_FIRST]],
    }
