"""A history like the workload's that needs no corpus: for counting and for small things."""

from __future__ import annotations

from workload import Publication
from workload_adapter import WorkloadAdapter

__all__ = ["small_adapter"]


def small_adapter(count: int) -> WorkloadAdapter:
    """Publications of ten source lines each, all of them new."""
    return WorkloadAdapter(map(_publication, range(1, count + 1)))


def _publication(number: int) -> Publication:
    items = [
        {
            "path": f"lib/module_{number % 7}.py",
            "line": 100 * number + offset,
            "file_hash": f"{number % 7:064x}",
            "text": f"value_{number}_{offset} = {offset}",
        }
        for offset in range(10)
    ]
    content = {"kind": "occurrences", "subject": f"value_{number}", "items": items}
    return Publication(number, {"content": content}, {}, {}, is_new_content=True, novel_atoms=())
