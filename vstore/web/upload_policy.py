"""What a tester may upload: how much, and which types; shown before anybody uploads."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Final

from vstore.errors import InvalidError, LimitExceeded
from vstore.objects.document import MAX_INTEGER

__all__ = ["DEFAULT_TYPES", "UploadPolicy"]

#: What :func:`vstore.handoff.media.media_type` can tell apart, without programs and files
#: that it doesn't know. HTML and SVG are plain text to it.
DEFAULT_TYPES: Final = (
    "text/plain",
    "image/png",
    "image/jpeg",
    "image/gif",
    "image/webp",
    "application/pdf",
    "application/zip",
    "application/gzip",
    "application/zstd",
    "application/x-xz",
    "application/x-bzip2",
    "application/vnd.sqlite3",
    "video/mp4",
    "video/webm",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadPolicy:
    """Limits on uploads; each number 1 or more.

    Attributes:
        max_file_bytes: Bytes of one file.
        max_request_bytes: Bytes of what one tester uploads for one test.
        max_request_files: Files of one tester for one test.
        max_tester_bytes: Bytes of everything that a tester has uploaded and not confirmed.
        max_receiving: Files that one tester uploads at the same time.
        types: Media types that are taken, as the first bytes of a file show them.

    Raises:
        InvalidError: A limit is no integer of that range, or there are no types
            (``invalid_limit``).
    """

    max_file_bytes: int = 250_000_000
    max_request_bytes: int = 1_000_000_000
    max_request_files: int = 100
    max_tester_bytes: int = 4_000_000_000
    max_receiving: int = 4
    types: tuple[str, ...] = DEFAULT_TYPES

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            if one.name != "types" and (type(value) is not int or not 1 <= value <= MAX_INTEGER):
                raise InvalidError(f"{one.name} is an integer from 1", kind="invalid_limit")
        if not self.types:
            raise InvalidError("no type of file would be taken", kind="invalid_limit")

    def describe(self) -> dict[str, int | list[str]]:
        """The policy for whoever uploads: the limits by name, and the types."""
        return {
            "max_file_bytes": self.max_file_bytes,
            "max_request_bytes": self.max_request_bytes,
            "max_request_files": self.max_request_files,
            "max_tester_bytes": self.max_tester_bytes,
            "types": list(self.types),
        }

    def check(self, limit: str, asked: int) -> None:
        """Refuse what passes a limit.

        Args:
            limit: The limit's name.
            asked: What it would come to, 0 or more.

        Raises:
            LimitExceeded: It is more (``upload_limit``).
        """
        value: int = getattr(self, limit)
        if asked > value:
            raise LimitExceeded(
                f"more than {limit} = {value}",
                kind="upload_limit",
                hint=_HINTS[limit],
                limit=limit,
                value=value,
                asked=asked,
            )

    def check_type(self, media_type: str) -> str:
        """Refuse a type that isn't taken; returns it.

        Raises:
            InvalidError: It isn't (``upload_type``; ``details`` has ``media_type`` and
                ``types``).
        """
        if media_type not in self.types:
            raise InvalidError(
                f"files of the type {media_type} are not taken here",
                kind="upload_type",
                hint="put it into a zip archive, or ask who runs the service",
                media_type=media_type,
                types=list(self.types),
            )
        return media_type


_HINTS: Final = {
    "max_file_bytes": "compress the file, or cut out the part that matters",
    "max_request_bytes": "remove uploads that the answer doesn't need",
    "max_request_files": "put several files into one archive",
    "max_tester_bytes": "remove uploads of other tests that you gave back",
    "max_receiving": "wait until the others have arrived",
}
