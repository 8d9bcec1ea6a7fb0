"""Decoding a document of any type that a package may hold (the replay's fast path)."""

from __future__ import annotations

from vstore.objects import decoding
from vstore.objects.decoding import Decoded

__all__ = ["Decoded", "DocumentDecoder"]


class DocumentDecoder(decoding.DocumentDecoder):
    """Reads documents of all types."""

    def __init__(self) -> None:
        _import_all()
        super().__init__()


def _import_all() -> None:
    """Make every document type of a package known."""
    import vstore.budget.documents
    import vstore.evidence.documents
    import vstore.handoff.documents
    import vstore.investigation.documents
    import vstore.objects.tree
    import vstore.package.documents
    import vstore.tools.database_content
    import vstore.tools.reply
    import vstore.tools.request  # noqa: F401
