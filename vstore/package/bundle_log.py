"""The log inside of a bundle: where its segments lie, and how it is laid out.

A bundle's log is written anew from the frames of the package's. Whatever a writer could
choose is fixed here, so that equal packages make equal bundles.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Final

from blake3 import blake3

from vstore.objects.damage import missing_segment
from vstore.objects.frame_table import NO_GENERATION
from vstore.objects.layout import LOG, segment_name, segment_number
from vstore.objects.segment_files import SegmentFiles, Window
from vstore.package.bundle_file import BundleFile

__all__ = ["SEGMENT_BYTES", "BundleSegments", "max_raw_bytes", "segment_salt"]

#: A segment of a bundle's log ends with the frame that brings it to this many bytes.
SEGMENT_BYTES: Final = 8 * 1024 * 1024

#: Uncompressed bytes that a bundle of any size may have, and how many times its own size more.
_RAW_ALLOWED: Final = 1 << 28
_RAW_RATIO: Final = 1000

_SALT_CONTEXT: Final = b"vstore-bundle-salt-v1\0"


def segment_salt(number: int, head: bytes, since: bytes = NO_GENERATION) -> bytes:
    """The salt of a segment of a bundle, 16 bytes.

    Args:
        number: The segment, from 1.
        head: The generation that the bundle leads to, 32 bytes.
        since: The generation that it continues, 32 bytes, zeros for a full bundle.
    """
    return blake3(_SALT_CONTEXT + head + since + struct.pack("<Q", number)).digest()[:16]


def max_raw_bytes(size: int) -> int:
    """How many uncompressed bytes the objects of a bundle have in all at the most.

    Args:
        size: The bundle, in bytes.
    """
    return _RAW_ALLOWED + _RAW_RATIO * size


class BundleSegments(SegmentFiles):
    """The segments of a bundle's log, as windows of the one file.

    Args:
        bundle: The open bundle, which is closed by whoever opened it.
    """

    def __init__(self, bundle: BundleFile) -> None:
        super().__init__(Path(bundle.path) / LOG)
        self._bundle = bundle

    def fd(self, number: int) -> Window:
        """See :meth:`SegmentFiles.fd`."""
        window = self._bundle.window(f"{LOG}/{segment_name(number)}")
        if window is None:
            raise missing_segment(number).error()
        return window

    def numbers(self) -> list[int]:
        """See :meth:`SegmentFiles.numbers`."""
        return sorted(
            number
            for name in self._bundle.names
            if name.startswith(LOG + "/")
            and (number := segment_number(name[len(LOG) + 1 :])) is not None
        )
