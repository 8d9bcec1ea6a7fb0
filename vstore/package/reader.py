"""Reading a package: its generations, names for them, its refs, what else lies in the folder.

Needs no lock and writes nothing, so it works on read-only media, and the verifier may use it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from vstore.errors import IntegrityError, NotFoundError
from vstore.objects.canonical import decode_document
from vstore.objects.ids import ObjectId
from vstore.objects.layout import FORMAT_FILE
from vstore.objects.reader import ObjectReader
from vstore.package.documents import Generation
from vstore.package.pinned import PinnedPackage

if TYPE_CHECKING:
    from vstore.package.refs_policy import RefStatus

__all__ = ["PackageReader", "discover", "is_package"]

_KEEP: Final = 64


def is_package(path: Path) -> bool:
    """Whether a folder looks like a package: it has a ``VSTORE`` file."""
    return (path / FORMAT_FILE).is_file()


def discover(start: Path) -> Path:
    """The package that a path is in: a bundle, the folder itself or the nearest one above it.

    Args:
        start: A file or folder, which need not exist.

    Raises:
        NotFoundError: Neither it nor any folder above it is a package.
    """
    where = start.absolute()
    if is_package(where):
        return where
    if where.is_file():
        from vstore.package.bundle_file import is_bundle

        if is_bundle(where):
            return where
    # Upwards in what the path really leads to: the parent of "package/../other" is not
    # the package, although its name stands in the path.
    real = Path(os.path.realpath(where))
    for folder in (real, *real.parents):
        if is_package(folder):
            return folder
    raise NotFoundError(
        "not in an evidence package: no VSTORE file here or in any folder above",
        kind="not_a_package",
        hint="go into a package, name one, or make one with init",
    )


class PackageReader:
    """Reads one package.

    Args:
        objects: Its object store.
    """

    def __init__(self, objects: ObjectReader) -> None:
        self.objects = objects
        self._generations: dict[ObjectId, Generation] = {}

    @classmethod
    def open(cls, path: Path) -> PackageReader:
        """Open the package in a bundle, in a folder, or in the nearest one above it.

        Raises:
            NotFoundError: No package there.
            StorageError, IntegrityError, UnsupportedError: It can't be read.
        """
        if path.is_file():
            from vstore.package.bundle_reader import open_bundle

            return cls(open_bundle(path))
        return cls(ObjectReader(discover(path)))

    @property
    def root(self) -> Path:
        """The package's folder, or the bundle that it is in."""
        return self.objects.root

    @property
    def sealed(self) -> bool:
        """Whether the package is in a bundle, which nobody writes to."""
        return self.objects.files.sealed

    def head_id(self) -> ObjectId | None:
        """The id of the head generation: the last one in the log; None before the first."""
        return self.objects.generation

    def pinned(self) -> PinnedPackage:
        """The head generation.

        Raises:
            NotFoundError: The package has no generation yet (``no_generation``).
            IntegrityError, InvalidError, UnsupportedError: It can't be read.
        """
        head = self.head_id()
        if head is None:
            raise NotFoundError(
                "the package has no generation yet: its creation was cut short",
                kind="no_generation",
                hint="run init again; it goes on where it stopped",
            )
        return self._pin(head)

    def at(self, oid: ObjectId) -> PinnedPackage:
        """A generation of this package by its full id.

        Raises:
            NotFoundError: Not a generation of this package (``no_generation``).
            IntegrityError, InvalidError, UnsupportedError: It can't be read.
        """
        if not self.objects.published(oid):
            raise NotFoundError(
                f"{oid} is not a generation of this package",
                kind="no_generation",
                hint="log lists the generations",
            )
        return self._pin(oid)

    def generation(self, oid: ObjectId) -> Generation:
        """The generation document with this id.

        Raises:
            IntegrityError: It is missing (``missing_generation``), damaged, or no generation.
            InvalidError, UnsupportedError: It can't be read.
        """
        found = self._generations.get(oid)
        if found is None:
            try:
                read = decode_document(self.objects.get(oid))
            except NotFoundError as error:
                raise IntegrityError(
                    f"the package lacks its generation {oid}",
                    kind="missing_generation",
                    hint="verify says what else is lost; restore the package from another copy",
                    object=oid,
                ) from error
            if not isinstance(read, Generation):
                raise IntegrityError(
                    f"{oid} stands where a generation should", kind="not_a_generation", object=oid
                )
            found = read
            self.remember(oid, found)
        return found

    def remember(self, oid: ObjectId, generation: Generation) -> None:
        """Keep a generation that was read, or that this process published."""
        if len(self._generations) >= _KEEP:
            self._generations.clear()
        self._generations[oid] = generation

    def history(
        self, *, newest_first: bool = True, start: ObjectId | None = None
    ) -> Iterator[tuple[ObjectId, Generation]]:
        """Generations and their ids, along the parents.

        Args:
            newest_first: From the head back; else from the first one on.
            start: Where to begin going back; the head by default.

        Raises:
            IntegrityError: The chain doesn't fit (``broken_history``), or a generation is
                missing (``missing_generation``) or damaged.
            InvalidError, UnsupportedError: A generation can't be read.
        """
        if newest_first:
            yield from self._back(start)
            return
        # Ids only: a long history of documents needn't be in memory.
        for oid in reversed([oid for oid, _ in self._back(start)]):
            yield oid, self.generation(oid)

    def _back(self, start: ObjectId | None) -> Iterator[tuple[ObjectId, Generation]]:
        oid = start or self.head_id()
        number: int | None = None
        while oid is not None:
            generation = self.generation(oid)
            if number is not None and generation.package_generation != number - 1:
                raise IntegrityError(
                    f"generation {number} follows generation {generation.package_generation}",
                    kind="broken_history",
                    object=oid,
                )
            number = generation.package_generation
            # Numbers fall with every step, so a forged chain ends too.
            if (number == 1) != (generation.parent is None):
                raise IntegrityError(
                    f"generation {number} is not where the history begins",
                    kind="broken_history",
                    object=oid,
                )
            yield oid, generation
            oid = generation.parent

    def resolve(self, name: str) -> ObjectId:
        """The object that a name stands for; see :mod:`vstore.package.naming`.

        Raises:
            NotFoundError: Nothing of this name.
            InvalidError: Not a name (``bad_name``), or an abbreviation that several ids share
                (``ambiguous_id``; ``details["candidates"]`` lists them).
        """
        if name == "HEAD":
            return self.pinned().generation_id
        from vstore.package import naming

        return naming.resolve(self, name)

    def ref_report(self) -> list[RefStatus]:
        """What every ref says, and how that fits the head (spec: storage, "Recovery")."""
        from vstore.package.refs_policy import report

        return report(self)

    def unclaimed(self, *, taken_in: bool = True) -> list[str]:
        """Files in the folder that are no part of the package, by path, in byte order.

        Args:
            taken_in: List files too that the raw input has at the same path with the same
                bytes; without them, what is listed is new raw input.

        Raises:
            StorageError: The folder can't be read.
        """
        from vstore.package import unclaimed

        return [] if self.sealed else unclaimed.find(self, taken_in=taken_in)

    def refresh(self) -> bool:
        """Look for publications of others since; returns whether there were any."""
        return self.objects.refresh()

    def close(self) -> None:
        """Close the files that are open."""
        self.objects.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _pin(self, oid: ObjectId) -> PinnedPackage:
        return PinnedPackage(oid, self.generation(oid), self.objects)
