"""A package in memory, pinned for queries: no disk, no locks, no history."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from vstore.objects.canonical import encode
from vstore.objects.ids import ObjectId, object_id
from vstore.objects.memory import MemoryObjects
from vstore.package.documents import (
    Coverage,
    Event,
    Generation,
    History,
    Origin,
    SnapshotDescriptor,
)
from vstore.package.pinned import PinnedPackage
from vstore.package.tree_builder import TreeBuilder

__all__ = ["build_tree", "pin", "source_descriptor"]

#: The root of an RFC 9162 tree without leaves: SHA-256 of nothing.
_EMPTY_ROOT = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def build_tree(
    objects: MemoryObjects,
    files: Mapping[bytes, bytes],
    *,
    links: Mapping[bytes, bytes] | None = None,
    folders: Iterable[bytes] = (),
) -> ObjectId:
    """The tree with these files, links (path to target) and empty folders."""
    builder = TreeBuilder()
    for path, content in files.items():
        builder.add_file(path, objects.put(content), len(content))
    for path, target in (links or {}).items():
        builder.add_link(path, objects.put(target), len(target))
    for path in folders:
        builder.add_folder(path)
    return builder.build(objects).root


def source_descriptor(content: ObjectId, *, name: str = "code") -> SnapshotDescriptor:
    """A descriptor of a source with this tree, complete, from a folder named ``example``."""
    return SnapshotDescriptor(
        name=name,
        kind="source",
        content=content,
        origin=Origin(kind="directory", label="example", digest=None),
        coverage=Coverage(kind="complete", statement="Everything in the folder."),
    )


def pin(
    objects: MemoryObjects,
    snapshots: Iterable[SnapshotDescriptor] = (),
    *,
    inputs: ObjectId | None = None,
    case_id: str = "case-1",
    package_id: str = "package-1",
    revision: int = 1,
) -> PinnedPackage:
    """The first generation of a package with these snapshots, ready to be asked.

    Args:
        objects: Holds the snapshots' objects; takes those of the generation.
        snapshots: Descriptors of the pinned sources and databases.
        inputs: Tree of the raw input; an empty one where None.
        case_id: The case.
        package_id: The package.
        revision: The analysis revision, from 1.
    """
    generation = Generation(
        case_id=case_id,
        package_id=package_id,
        package_generation=1,
        analysis_revision=revision,
        state="INVESTIGATING_HYPOTHESES",
        blocked=None,
        parent=None,
        history=History(size=0, root=_EMPTY_ROOT),
        inputs=TreeBuilder().build(objects).root if inputs is None else inputs,
        snapshots={one.name: objects.put_document(one) for one in snapshots},
        attachments=None,
        artifacts={},
        declared={},
        events=[
            Event(
                kind="init",
                operation_id=None,
                actor="tester",
                at="2026-01-01T00:00:00Z",
                reason=None,
            )
        ],
    )
    return PinnedPackage(object_id(encode(generation)), generation, objects)
