"""What the verifier needs of a package: frames and files, wherever they are.

A directory is one implementation; a bundle, verified in place, is another.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO, Final, Literal, NamedTuple, Protocol

from vstore.objects.frame import FrameSummary, LargeEntry
from vstore.objects.ids import ObjectId
from vstore.objects.log import Damage
from vstore.objects.refs import BadRef
from vstore.package.documents import Generation
from vstore.verify.report import FindingCollector

__all__ = ["BASE_SEGMENTS", "LogSource", "PackageFile", "PackageSource", "Torn"]


#: Added to the numbers of the segments of what an incremental bundle continues.
BASE_SEGMENTS: Final = 1 << 32


class PackageFile(NamedTuple):
    """One name in a package.

    ``path`` is relative, with ``/``; names that are not UTF-8 hold surrogates as
    ``os.fsdecode`` makes them. ``size`` is in bytes and only means something for files.
    """

    path: str
    kind: Literal["file", "folder", "special"]
    size: int


class Torn(NamedTuple):
    """Bytes at the end of the log that are no frame."""

    segment: int
    offset: int
    length: int


class LogSource(Protocol):
    """The frames of a package."""

    #: Bytes behind the last frame, or None.
    torn: Torn | None
    #: The number of a segment that was begun and has no valid header yet, or None.
    residue: int | None
    #: Files that a pack has replaced, by path.
    superseded: list[str]

    def frames(self, *, lightly: bool = False) -> Iterator[FrameSummary | Damage]:
        """All frames in order, each checked against its digests, and all damage between.

        Args:
            lightly: Don't look at digests of frames, and at nothing that lies between: for
                who reads ahead of somebody that does.

        Raises:
            StorageError: A file can't be read.
            UnsupportedError: A segment with features that this version doesn't know.
        """
        ...

    def foreign(self, frame: FrameSummary) -> bool:
        """Whether a frame is of the package that an incremental bundle continues."""
        ...

    def payload(self, frame: FrameSummary) -> bytes:
        """The uncompressed objects of the frame that :meth:`frames` gave last.

        Raises:
            IntegrityError: Table or compressed bytes contradict the header.
            UnsupportedError: Features that this version doesn't know.
            StorageError: The file can't be read.
        """
        ...

    def payload_at(self, segment: int, offset: int) -> bytes:
        """The uncompressed objects of an earlier frame, its digests checked anew.

        Raises:
            As :meth:`payload`.
        """
        ...

    def close(self) -> None:
        """Close all files."""
        ...


class PackageSource(Protocol):
    """One package, for reading."""

    #: Whether this is a closed world: a bundle rather than a directory somebody works in.
    bundle: bool
    #: Why its history can't be followed however sound it is, or None.
    partial: str | None

    def check_container(self, found: FindingCollector) -> bool:
        """Check the bytes of the one file that the package is in, where there is one.

        Returns:
            Whether anything in it can be read.
        """
        ...

    def check_claims(
        self, head: ObjectId | None, document: Generation | None, found: FindingCollector
    ) -> None:
        """Compare what an incremental bundle says of itself with what is in it.

        Args:
            head: The last generation of the log.
            document: That generation, where it can be read.
            found: Takes the findings.
        """
        ...

    def entries(self) -> Iterator[PackageFile]:
        """Everything in the package, folders before what is in them; links aren't followed.

        Raises:
            StorageError: A folder can't be read.
            LimitExceeded: There is more than this reader looks at.
        """
        ...

    def open(self, path: str) -> BinaryIO:
        """A stream over a file; the caller closes it.

        Raises:
            StorageError: No such file (``no_file``), no regular file, or it can't be read.
        """
        ...

    def refs(self) -> dict[str, ObjectId | BadRef]:
        """What the ref files say, by name.

        Raises:
            StorageError: A file can't be read, or there are too many.
        """
        ...

    def large_chunks(self, entry: LargeEntry) -> Iterator[bytes]:
        """The uncompressed bytes of a large object, piece by piece, sizes checked.

        Raises:
            IntegrityError: No file (``missing_large_object``), or not one zstd frame of the
                sizes that the entry says.
            StorageError: The file can't be read.
        """
        ...

    def open_large(self, entry: LargeEntry) -> BinaryIO:
        """A stream over a large object's uncompressed bytes; the caller closes it.

        Raises:
            IntegrityError, StorageError: While reading, as :meth:`large_chunks`.
        """
        ...

    def check_format(self) -> None:
        """Check the file that says which format the package has.

        Raises:
            NotFoundError: There is none: not a package.
            UnsupportedError: Another format, or features that this version doesn't know.
            IntegrityError: It is damaged.
            StorageError: It can't be read.
        """
        ...

    def log(self) -> LogSource:
        """The frames.

        Raises:
            IntegrityError: No end of the log can be found.
            UnsupportedError: A segment with features that this version doesn't know.
            StorageError: A file can't be read.
        """
        ...
