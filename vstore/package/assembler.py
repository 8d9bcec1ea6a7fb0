"""The raw input identity of a case, and what in its folder would change it.

The identity is the id of the tree of the raw input alone. Evidence, ledger, tests and their
attachments are declared in other members of a generation, so storing them never changes it
(spec: evidence, "Raw input identity"). Files that lie in the package's folder without being
declared are new raw input: noticed here, never taken in by themselves.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import BinaryIO, Final

from vstore.errors import LimitExceeded, VStoreError
from vstore.objects.canonical import encode
from vstore.objects.document import Document
from vstore.objects.ids import ObjectId, object_id
from vstore.objects.tree import walk
from vstore.package.inputs import InputFile, add_inputs
from vstore.package.limits import PackageLimits
from vstore.package.reader import PackageReader

__all__ = ["Assembly", "CaseAssembler", "Undeclared"]

_CHUNK: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Undeclared:
    """Files in a package's folder that the accepted raw input doesn't have as they are.

    Attributes:
        new: Paths that the raw input lacks, in byte order; an empty folder ends with ``/``.
        changed: Paths that it has with other bytes, another kind or another executable bit.
    """

    new: tuple[bytes, ...]
    changed: tuple[bytes, ...]

    def __bool__(self) -> bool:
        return bool(self.new or self.changed)

    @property
    def paths(self) -> list[bytes]:
        """All of them, in byte order."""
        return sorted((*self.new, *self.changed))


@dataclass(frozen=True, slots=True)
class Assembly:
    """What the raw input would be with some files.

    Attributes:
        accepted: The raw input identity of the head.
        identity: What it would be.
        paths: Paths that would be new or have new bytes, in byte order.
    """

    accepted: ObjectId
    identity: ObjectId
    paths: tuple[bytes, ...]

    @property
    def is_new_input(self) -> bool:
        """Whether the files would make another raw input of it."""
        return self.identity != self.accepted


class CaseAssembler:
    """Computes and compares the raw input identity of a case; writes nothing.

    Args:
        reader: The package.
        limits: Bounds on the whole raw input.
    """

    def __init__(self, reader: PackageReader, *, limits: PackageLimits | None = None) -> None:
        self._reader = reader
        self._limits = limits

    def identity(self) -> ObjectId:
        """The accepted raw input identity: that of the head.

        Raises:
            NotFoundError, IntegrityError, InvalidError, UnsupportedError: Not readable.
        """
        return self._reader.pinned().raw_input

    def undeclared(self) -> Undeclared:
        """Files in the package's folder that are new raw input, or changed.

        Raises:
            StorageError: The folder can't be read.
        """
        paths = [os.fsencode(path) for path in self._reader.unclaimed(taken_in=False)]
        known = self._known() if paths else set()
        return Undeclared(
            tuple(path for path in paths if path not in known),
            tuple(path for path in paths if path in known),
        )

    def files(self) -> list[InputFile]:
        """The undeclared files, each to be taken in at the path where it lies.

        Raises:
            StorageError: The folder can't be read.
        """
        root = self._reader.root
        return [
            InputFile(root / os.fsdecode(path).rstrip("/"), path.rstrip(b"/"))
            for path in self.undeclared().paths
        ]

    def assemble(
        self,
        files: Iterable[InputFile] | None = None,
        *,
        exclude: Sequence[str] = (),
        replace: bool = True,
    ) -> Assembly:
        """What the raw input would be with these files.

        Args:
            files: To take in; those of :meth:`files` by default.
            exclude: Patterns of what to leave out.
            replace: Take new bytes for paths that exist; else they are refused.

        Raises:
            InvalidError, NotFoundError, LimitExceeded: A file can't be taken in.
            IntegrityError, StorageError: Not readable.
        """
        package = self._reader.pinned()
        added = add_inputs(
            package.objects,
            package.raw_input,
            _Ids(),
            self.files() if files is None else files,
            exclude=exclude,
            limits=self._limits,
            replace=replace,
        )
        return Assembly(package.raw_input, added.root, added.added)

    def _known(self) -> set[bytes]:
        try:
            package = self._reader.pinned()
            return {one.path for one in walk(package.objects, package.raw_input)}
        except VStoreError:
            # A damaged raw input claims nothing; verify says what is wrong with it.
            return set()


class _Ids:
    """An object sink that computes ids and keeps nothing."""

    def put(self, data: bytes) -> ObjectId:
        return object_id(data)

    def put_document(self, document: Document) -> ObjectId:
        return object_id(encode(document))

    def put_stream(self, stream: BinaryIO, *, max_bytes: int) -> tuple[ObjectId, int]:
        from blake3 import blake3

        hasher, size = blake3(), 0
        while chunk := stream.read(_CHUNK):
            size += len(chunk)
            if size > max_bytes:
                raise LimitExceeded(
                    f"more than {max_bytes} bytes",
                    limit="max_bytes",
                    value=max_bytes,
                    asked=size,
                )
            hasher.update(chunk)
        return ObjectId.from_bytes(hasher.digest()), size
