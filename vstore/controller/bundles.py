"""Bundles of packages: the file in which one travels.

The package layer reads and writes them; this module brings the knowledge of every document
type, without which nobody can say what a generation leads to.
"""

from __future__ import annotations

from pathlib import Path

from vstore.objects.durable import REAL, DurableIO
from vstore.objects.ids import ObjectId
from vstore.objects.reference_decoder import ReferenceDecoder
from vstore.package.bundle_writer import BundleFacts, write_bundle
from vstore.package.reader import PackageReader

__all__ = ["BundleFacts", "create_bundle"]


def create_bundle(
    package: PackageReader | Path,
    target: Path,
    *,
    since: ObjectId | None = None,
    replace: bool = False,
    io: DurableIO = REAL,
) -> BundleFacts:
    """Write a bundle of a package's head; see :func:`vstore.package.bundle_writer.write_bundle`.

    Args:
        package: The package, or where it is: a folder or a bundle.
        target: The file to make.
        since: A generation that whoever gets the bundle has: leave out what it leads to.
        replace: Replace a file that is there.
        io: Durable I/O.

    Raises:
        As :func:`~vstore.package.bundle_writer.write_bundle`.
    """
    if isinstance(package, Path):
        with PackageReader.open(package) as reader:
            return create_bundle(reader, target, since=since, replace=replace, io=io)
    _know_documents()
    return write_bundle(
        package, target, decoder=ReferenceDecoder(), since=since, replace=replace, io=io
    )


def _know_documents() -> None:
    """Import the modules that define the document types of a package."""
    import vstore.budget.documents
    import vstore.evidence.documents
    import vstore.handoff.documents
    import vstore.investigation.documents
    import vstore.objects.tree
    import vstore.package.documents
    import vstore.tools.database_content
    import vstore.tools.reply
    import vstore.tools.request  # noqa: F401
