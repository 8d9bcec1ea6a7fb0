"""Reading the files that a command line names."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import BinaryIO

from vstore.errors import InvalidError, LimitExceeded, NotFoundError

__all__ = ["open_file", "read_file"]


def read_file(path: Path, most: int) -> bytes:
    """The bytes of a file; ``-`` is standard input.

    Args:
        path: The file.
        most: Refuse more bytes than this.

    Raises:
        LimitExceeded: It has more.
        NotFoundError, InvalidError: It isn't there, or can't be read.
    """
    if str(path) == "-":
        raw = sys.stdin.buffer.read(most + 1)
    else:
        try:
            with path.open("rb") as stream:
                raw = stream.read(most + 1)
        except FileNotFoundError:
            raise NotFoundError(f"no such file: {path}", kind="no_file") from None
        except (IsADirectoryError, PermissionError) as error:
            raise InvalidError(f"can't read {path}: {error.strerror}", kind="unreadable") from error
    if len(raw) > most:
        raise LimitExceeded(
            f"the file has more than {most:,} bytes",
            limit="max_bytes",
            value=most,
            asked=len(raw),
        )
    return raw


def open_file(path: Path) -> BinaryIO:
    """A file, to be read as a stream.

    Raises:
        NotFoundError, InvalidError: It isn't there, is no file, or can't be read.
    """
    try:
        # A device or a pipe might never end.
        if path.exists() and not path.is_file():
            raise InvalidError(f"no file: {path}", kind="unreadable")
        return path.open("rb")
    except FileNotFoundError:
        raise NotFoundError(f"no such file: {path}", kind="no_file") from None
    except PermissionError as error:
        raise InvalidError(f"can't read {path}: {error.strerror}", kind="unreadable") from error
