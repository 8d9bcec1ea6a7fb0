"""Operational limits of a package: settings of whoever writes, never caps of the format."""

from __future__ import annotations

from typing import NoReturn

import msgspec

from vstore.errors import LimitExceeded

__all__ = ["PackageLimits"]


class PackageLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How much raw input, or how large a snapshot, a writer takes.

    Attributes:
        max_input_bytes: Bytes of all files together, 1 or more.
        max_input_files: Files and links together, 1 or more.
        max_file_bytes: Bytes of one file, 1 or more.
    """

    max_input_bytes: int = 4 * 1024**3
    max_input_files: int = 200_000
    max_file_bytes: int = 2 * 1024**3

    def check_file(self, asked: int, path: str) -> None:
        """Refuse a file of more than :attr:`max_file_bytes`.

        Args:
            asked: Its bytes.
            path: What messages call it.

        Raises:
            LimitExceeded: It has more; ``details["path"]`` names it.
        """
        if asked > self.max_file_bytes:
            raise LimitExceeded(
                f"{asked} bytes; the limit max_file_bytes is {self.max_file_bytes}: {path}",
                hint="raise max_file_bytes, or leave the file out",
                limit="max_file_bytes",
                value=self.max_file_bytes,
                asked=asked,
                path=path,
            )

    def check_bytes(self, asked: int) -> None:
        """Refuse more bytes than :attr:`max_input_bytes` in all.

        Raises:
            LimitExceeded: There are more.
        """
        if asked > self.max_input_bytes:
            _refuse("max_input_bytes", self.max_input_bytes, asked, "bytes of input")

    def check_files(self, asked: int) -> None:
        """Refuse more files than :attr:`max_input_files` in all.

        Raises:
            LimitExceeded: There are more.
        """
        if asked > self.max_input_files:
            _refuse("max_input_files", self.max_input_files, asked, "files of input")


def _refuse(name: str, value: int, asked: int, what: str) -> NoReturn:
    raise LimitExceeded(
        f"at least {asked} {what}; the limit {name} is {value}",
        hint=f"raise {name}, or leave files out",
        limit=name,
        value=value,
        asked=asked,
    )
