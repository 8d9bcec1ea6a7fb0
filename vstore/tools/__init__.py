"""What an investigation may ask: snapshots, their capture, and deterministic queries.

===================  ================================================================
``values``           typed values of database cells
``items``            what a query returns: lines, files, rows, schema descriptors
``request``          what was asked: queries with contracts and limits
``reply``            what was answered: envelope and results
``database_content`` documents of a database snapshot
``adapter``          the protocol of an adapter
``router``           dispatch of a request to adapters
``source_adapter``   ``source-snapshot/1``: source.list, source.search, source.read
``database_adapter`` ``database-snapshot/1``: database.schema, database.rows
``source_*``         patterns, matching, paths, the index of words behind it
``archive_*``        reading hostile zips and tars
``capture_*``        pinning sources and databases into a package
===================  ================================================================
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vstore.tools.reply import ToolReply
    from vstore.tools.request import (
        DatabaseRows,
        DatabaseSchema,
        QueryLimits,
        SourceList,
        SourceRead,
        SourceSearch,
        ToolQuery,
        ToolRequest,
    )
    from vstore.tools.router import Router

__all__ = [
    "DatabaseRows",
    "DatabaseSchema",
    "QueryLimits",
    "Router",
    "SourceList",
    "SourceRead",
    "SourceSearch",
    "ToolQuery",
    "ToolReply",
    "ToolRequest",
]


def __getattr__(name: str) -> object:
    # Late, so that one module of the package doesn't bring all others with it.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    module = {"Router": "router", "ToolReply": "reply"}.get(name, "request")
    return getattr(import_module(f"{__name__}.{module}"), name)
