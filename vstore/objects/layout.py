"""Names of files and folders of a package on disk, and the ``VSTORE`` file.

``VSTORE`` is written last when a package is created, so a folder without one is no
package (spec: storage, "On disk").
"""

from __future__ import annotations

import errno
import os
import re
import stat
from pathlib import Path
from typing import Annotated, Any, Final

from vstore.errors import (
    IntegrityError,
    InvalidError,
    NotFoundError,
    StorageError,
    UnsupportedError,
    VStoreError,
)
from vstore.objects.canonical import decode, decode_value, encode
from vstore.objects.document import MapKey, Part, Pinned, Positive
from vstore.objects.ids import ObjectId

__all__ = [
    "CACHE",
    "FORMAT",
    "FORMAT_FILE",
    "KNOWN_FEATURES",
    "LARGE",
    "LOCKS",
    "LOG",
    "MAX_FORMAT_BYTES",
    "MAX_PACK_SEGMENTS",
    "MAX_SEGMENTS",
    "PACKS",
    "PACKS_FEATURE",
    "REFS",
    "TMP",
    "StoreFormat",
    "encode_format",
    "large_name",
    "large_path",
    "pack_name",
    "pack_range",
    "parse_format",
    "read_file",
    "read_format",
    "segment_name",
    "segment_number",
]

FORMAT_FILE: Final = "VSTORE"
REFS: Final = "refs"
LOG: Final = "objects/log"
PACKS: Final = "objects/pack"
LARGE: Final = "objects/large"
TMP: Final = "tmp"
CACHE: Final = "cache"
LOCKS: Final = "locks"

FORMAT: Final = 1
DIGEST: Final = "blake3"
#: The feature that a package with packs requires of its readers.
PACKS_FEATURE: Final = "packs"
#: Features of the store that this version knows.
KNOWN_FEATURES: Final = frozenset((PACKS_FEATURE,))
MAX_SEGMENTS: Final = 99_999_999

#: Bytes of a ``VSTORE`` file at the most.
MAX_FORMAT_BYTES: Final = 4096
#: Segments of one pack at the most.
MAX_PACK_SEGMENTS: Final = 1 << 16
_PACK_NAME: Final = re.compile(r"([0-9]{8})-([0-9]{8})\.vpack")
_SEGMENT_NAME: Final = re.compile(r"[0-9]{8}\.vlog")


class StoreFormat(Part, frozen=True, kw_only=True):
    """What the ``VSTORE`` file says."""

    #: Name of the digest of object ids and frames.
    digest: Annotated[str, Pinned]
    #: Version of everything in the folder.
    format: Annotated[Positive, Pinned]
    #: Features that a reader or writer which doesn't know them may ignore.
    optional: Annotated[list[MapKey], Pinned]
    #: Features without which the package can't be understood.
    required: Annotated[list[MapKey], Pinned]


def encode_format() -> bytes:
    """The bytes of the ``VSTORE`` file of a new package: canonical JSON and a line end."""
    return encode(StoreFormat(digest=DIGEST, format=FORMAT, optional=[], required=[])) + b"\n"


def read_format(root: Path) -> StoreFormat:
    """Read and check the ``VSTORE`` file of a package.

    Raises:
        NotFoundError: The folder has none (``not_a_package``).
        UnsupportedError: Another format, digest, or a required feature that is not known.
        IntegrityError: The file is damaged.
        StorageError: It can't be read.
    """
    raw = read_file(root / FORMAT_FILE, MAX_FORMAT_BYTES)
    if raw is None:
        raise NotFoundError(
            "not an evidence package: the folder has no VSTORE file",
            kind="not_a_package",
            hint="name the folder of a package, or create one with vstore init",
        )
    return parse_format(raw)


def parse_format(raw: bytes) -> StoreFormat:
    """Check the bytes of a ``VSTORE`` file.

    Raises:
        UnsupportedError: Another format, digest, or a required feature that is not known.
        IntegrityError: The file is damaged.
    """
    try:
        # The number first: another format may have other members.
        claimed = _claimed(raw)
        version = claimed.get("format") if isinstance(claimed, dict) else None
        if type(version) is int and version != FORMAT:
            raise UnsupportedError(
                f"the package has format {version}; this version reads format {FORMAT}",
                kind="unsupported_format",
                hint="a newer vstore may be able to read it",
            )
        if not raw.endswith(b"\n"):
            raise InvalidError("no line end", kind="invalid_document")
        found = decode(raw[:-1], StoreFormat, max_bytes=MAX_FORMAT_BYTES)
    except UnsupportedError:
        raise
    except VStoreError as error:
        raise IntegrityError(
            "the VSTORE file is damaged", kind="bad_format_file", file=FORMAT_FILE
        ) from error
    unknown = sorted(set(found.required) - KNOWN_FEATURES)
    if found.digest != DIGEST or unknown:
        raise UnsupportedError(
            "the package needs features that this version doesn't know",
            kind="unsupported_feature",
            hint="a newer vstore may be able to read it",
            features=unknown,
        )
    return found


def _claimed(raw: bytes) -> Any:
    if raw.endswith(b"\n") and len(raw) <= MAX_FORMAT_BYTES:
        try:
            return decode_value(raw[:-1])
        except InvalidError:
            pass  # not as this version writes it; reading that loads more of Python
    return decode_value(raw, max_bytes=MAX_FORMAT_BYTES, canonical=False)


def segment_name(number: int) -> str:
    """The file name of a log segment, numbered from 1."""
    return f"{number:08d}.vlog"


def segment_number(name: str) -> int | None:
    """The number of a segment, or None when the name is not that of one."""
    if _SEGMENT_NAME.fullmatch(name) is None:
        return None
    return int(name[:8]) or None


def pack_name(first: int, last: int) -> str:
    """The file name of a pack of these segments."""
    return f"{first:08d}-{last:08d}.vpack"


def pack_range(name: str) -> tuple[int, int] | None:
    """The first and last segment of a pack by its name, None for no pack's name."""
    found = _PACK_NAME.fullmatch(name)
    if found is None:
        return None
    first, last = int(found[1]), int(found[2])
    return (first, last) if 1 <= first <= last < first + MAX_PACK_SEGMENTS else None


def large_name(oid: ObjectId) -> str:
    """Where in a package an object with a file of its own is kept."""
    digits = oid.hex
    return f"{LARGE}/{digits[:2]}/{digits[2:]}"


def large_path(root: Path, oid: ObjectId) -> Path:
    """Where on disk an object with a file of its own is kept."""
    return root / large_name(oid)


def read_file(path: Path, max_bytes: int) -> bytes | None:
    """The bytes of a small file, None when it doesn't exist.

    At most ``max_bytes + 1`` are read: a longer answer says that the file is too long.

    Raises:
        StorageError: It exists and can't be read, or is no regular file.
    """
    try:
        # Never wait at a FIFO that somebody put here, never follow a link out of the package.
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StorageError(
            f"can't read {path.name}: {os.strerror(error.errno or errno.EIO)}", kind="unreadable"
        ) from error
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise StorageError(f"can't read {path.name}: no regular file", kind="unreadable")
        chunks: list[bytes] = []
        left = max_bytes + 1
        step = status.st_size + 1
        while left > 0:
            # A step at a time: what is asked for is reserved, whatever the file has.
            chunk = os.read(fd, min(left, step))
            if not chunk:
                break
            chunks.append(chunk)
            left -= len(chunk)
        return b"".join(chunks)
    except OSError as error:
        raise StorageError(
            f"can't read {path.name}: {os.strerror(error.errno or errno.EIO)}", kind="unreadable"
        ) from error
    finally:
        os.close(fd)
