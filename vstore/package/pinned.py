"""A generation pinned for reading: what a query, an assessment or a check is bound to."""

from __future__ import annotations

from typing import Final

import msgspec

from vstore.errors import NotFoundError
from vstore.objects.ids import ObjectId
from vstore.objects.memory import ObjectSource
from vstore.package.documents import (
    Coverage,
    Generation,
    Hypotheses,
    Origin,
    SnapshotDescriptor,
    State,
)
from vstore.package.lifecycle import Position

__all__ = ["INPUTS_SOURCE", "PinnedPackage"]

#: The name under which the raw input itself is a source.
INPUTS_SOURCE: Final = "inputs"


class PinnedPackage(msgspec.Struct, frozen=True, eq=False):
    """One generation of a package, and where its objects are; equal by the generation's id.

    Attributes:
        generation_id: The id of the generation document.
        generation: The document.
        objects: Where everything that it names is read.
    """

    generation_id: ObjectId
    generation: Generation
    objects: ObjectSource

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PinnedPackage):
            return NotImplemented
        return self.generation_id == other.generation_id

    def __hash__(self) -> int:
        return hash(self.generation_id)

    def __repr__(self) -> str:
        return f"PinnedPackage(generation_id={self.generation_id!r})"

    @property
    def case_id(self) -> str:
        """The case."""
        return self.generation.case_id

    @property
    def package_id(self) -> str:
        """The package."""
        return self.generation.package_id

    @property
    def number(self) -> int:
        """The generation's number, from 1."""
        return self.generation.package_generation

    @property
    def revision(self) -> int:
        """The analysis revision, from 1."""
        return self.generation.analysis_revision

    @property
    def state(self) -> State:
        """The state of the case."""
        return self.generation.state

    @property
    def position(self) -> Position:
        """Where the case stands in the lifecycle table."""
        return Position.of(self.generation)

    @property
    def raw_input(self) -> ObjectId:
        """The raw input identity: the id of the inputs tree."""
        return self.generation.inputs

    def artifact(self, name: str) -> ObjectId | None:
        """The object that this artifact name stands for, or None."""
        return self.generation.artifacts.get(name)

    def hypotheses(self) -> Hypotheses | None:
        """The hypotheses of the current analysis revision, or None while there are none.

        Raises:
            NotFoundError, IntegrityError, InvalidError: The document is absent or damaged.
        """
        oid = self.artifact("hypotheses")
        if oid is None:
            return None
        found = self.objects.document(oid, Hypotheses)
        return found if found.analysis_revision == self.revision else None

    def snapshot(self, name: str, *, kind: str | None = None) -> SnapshotDescriptor:
        """The descriptor of a snapshot; ``inputs`` is the raw input, seen as a source.

        Args:
            name: The name that the operator gave it.
            kind: ``source`` or ``database`` where only such a one will do.

        Raises:
            NotFoundError: No such snapshot, or not of this kind (kind ``unknown_source``,
                ``unknown_database`` or ``unknown_snapshot``).
            IntegrityError, InvalidError: The descriptor is damaged.
        """
        if name == INPUTS_SOURCE and kind != "database":
            return SnapshotDescriptor(
                name=INPUTS_SOURCE,
                kind="source",
                content=self.generation.inputs,
                origin=Origin(kind="inputs", label="", digest=None),
                coverage=Coverage(kind="complete", statement="raw input"),
            )
        oid = self.generation.snapshots.get(name)
        descriptor = None if oid is None else self.objects.document(oid, SnapshotDescriptor)
        if descriptor is None or (kind is not None and descriptor.kind != kind):
            what = kind or "snapshot"
            known = self.snapshot_names(kind=kind)
            raise NotFoundError(
                f"no {what} of this name is pinned in generation {self.number}",
                kind=f"unknown_{what}",
                hint=f"pinned are: {', '.join(known)}" if known else f"no {what} is pinned yet",
                name=name,
                known=known,
            )
        return descriptor

    def snapshot_names(self, *, kind: str | None = None) -> list[str]:
        """The names of the pinned snapshots, sorted; ``inputs`` counts as a source."""
        names = sorted(self.generation.snapshots)
        if kind is not None:
            names = [
                name
                for name in names
                if self.objects.document(self.generation.snapshots[name], SnapshotDescriptor).kind
                == kind
            ]
        return names if kind == "database" else sorted({*names, INPUTS_SOURCE})
