"""The folder of a package for the independent reader: its names, refs, large objects."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import zstandard
from blake3 import blake3
from reader_log import Stored, Unsupported
from reader_pack import is_pack_name

Report = Callable[[str, str, str], None]

_MAX_READ: Final = 4 << 30
_MAX_REFS: Final = 1000
_MAX_FILES: Final = 100_000
_REF: Final = re.compile(r"[a-z][a-z0-9_.]{0,63}")


class Folder:
    """The files of a package's folder; the only thing that touches them.

    Args:
        root: The folder.
    """

    bundle = False

    def __init__(self, root: Path) -> None:
        self.root = root

    def names(self) -> Iterator[tuple[str, str]]:
        """Every file (``file``), folder (``folder``) and other thing (``special``), by path.

        A folder that can't be looked into comes once more, as ``unreadable``, and so does the
        package itself where it has too many.
        """
        for number, found in enumerate(self._below("")):
            if number >= _MAX_FILES:
                yield "", "unreadable"
                return
            yield found

    def _below(self, prefix: str) -> Iterator[tuple[str, str]]:
        try:
            found = sorted(os.scandir(self.root / prefix), key=lambda one: os.fsencode(one.name))
        except OSError:
            yield prefix, "unreadable"
            return
        for one in found:
            path = prefix + one.name
            if one.is_symlink() or not (one.is_file() or one.is_dir()):
                yield path, "special"
            elif one.is_dir():
                yield path, "folder"
                yield from self._below(path + "/")
            else:
                yield path, "file"

    def read(self, path: str, limit: int = -1) -> bytes | None:
        """The first bytes of an ordinary file, None when there is none."""
        whole = self.root / path
        if whole.is_symlink() or not whole.is_file():
            return None
        with whole.open("rb") as file:
            return file.read() if limit < 0 else file.read(limit)

    def segment(self, number: int) -> bytes:
        """The bytes of a segment.

        Raises:
            Unsupported: It can't be read.
        """
        raw = self.read(f"objects/log/{number:08d}.vlog")
        if raw is None:
            raise Unsupported(f"segment {number} can't be read")
        return raw

    def segments(self) -> list[int]:
        """The numbers of all segments."""
        folder = self.root / "objects" / "log"
        names = [one.name for one in folder.iterdir()] if folder.is_dir() else []
        return [
            int(one[:8]) for one in names if re.fullmatch(r"[0-9]{8}\.vlog", one) and int(one[:8])
        ]

    def packs(self) -> list[str]:
        """The names in the folder of packs."""
        folder = self.root / "objects" / "pack"
        return [one.name for one in folder.iterdir()] if folder.is_dir() else []

    def refs(self, report: Report) -> dict[str, bytes] | None:
        """The bytes of each ref, a few more than it may have; None where they can't be had."""
        folder = self.root / "refs"
        if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
            report("container", "unsupported", "refs can't be read")
            return None
        names = sorted(one.name for one in folder.iterdir()) if folder.is_dir() else []
        names = [name for name in names if _REF.fullmatch(name)]
        if len(names) > _MAX_REFS:
            report("container", "error", "more refs than a package has")
            return None
        found: dict[str, bytes] = {}
        for name in names:
            raw = self.read(f"refs/{name}", 80)
            if raw is None:
                report("container", "unsupported", f"refs/{name} can't be read")
                return None
            found[name] = raw
        return found


def large_path(oid: str) -> str:
    """Where a large object is kept."""
    return f"objects/large/{oid[3:5]}/{oid[5:]}"


def read_large(files: Any, one: Stored, report: Report) -> bytes | None:
    """The bytes of a large object, None with a finding where they aren't there."""
    assert one.large is not None
    path = large_path(one.oid)
    if max(one.length, one.large[0]) > _MAX_READ:
        report("objects", "unsupported", f"{path}: larger than this reader reads")
        return None
    stored = files.read(path, one.large[0] + 1)
    if stored is None:
        report("container", "error", f"{path}: missing")
        return None
    if len(stored) != one.large[0] or blake3(stored).digest() != one.large[1]:
        report("container", "error", f"{path}: not what the log records")
        return None
    try:
        unpacker = zstandard.ZstdDecompressor(max_window_size=8 << 20).decompressobj()
        parts, length = [], 0
        for at in range(0, len(stored), 2048):
            if unpacker.eof:
                raise ValueError("something behind the zstd frame")
            parts.append(unpacker.decompress(stored[at : at + 2048]))
            length += len(parts[-1])
            if length > one.length:
                raise ValueError("longer than recorded")
        if not unpacker.eof or unpacker.unused_data or length != one.length:
            raise ValueError("not one zstd frame of the recorded length")
    except (zstandard.ZstdError, ValueError):
        report("container", "error", f"{path}: can't be unpacked as recorded")
        return None
    content = b"".join(parts)
    if blake3(content).hexdigest() != one.oid[3:]:
        report("objects", "error", f"{one.oid}: its bytes have another digest")
        return None
    return content


def check_names(
    files: Any,
    large: set[str] | None,
    report: Report,
    raw_input: Callable[[bytes], dict[str, Any] | None],
) -> None:
    """Check that every file belongs to something.

    Args:
        files: The files.
        large: The paths of all large objects, None where they aren't known.
        report: Takes findings.
        raw_input: Gives the tree entry of a path in the raw input, None where it has none.
    """
    own = ("VSTORE", "refs", "objects", "tmp", "cache", "locks")
    for path, kind in files.names():
        top, _, rest = path.partition("/")
        if kind == "unreadable":
            report("container", "unsupported", f"{path!r}: can't be listed")
        elif kind == "special":
            report("container", "error", f"{path!r}: not an ordinary file or folder")
        elif kind == "folder":
            known = ("refs", "objects", "objects/log", "objects/large", "objects/pack", "tmp")
            shard = re.fullmatch(r"objects/large/[0-9a-f]{2}", path)
            entry = None if top in own else raw_input(os.fsencode(path))
            if entry is not None and entry["kind"] == "tree":
                continue
            if path not in known and not shard and top not in ("cache", "locks", "tmp"):
                report("container", "unknown", f"{path!r}: a folder of no use")
        elif top in ("cache", "locks") and rest and not files.bundle:
            continue
        elif top == "tmp" and rest:
            report("container", "leftover", f"{path!r}: left behind")
        elif re.fullmatch(r"objects/large/[0-9a-f]{2}/[0-9a-f]{62}", path):
            if large is not None and path not in large:
                report("container", "leftover", f"{path!r}: named by no frame")
        elif not (
            path == "VSTORE"
            or (top == "refs" and _REF.fullmatch(rest))
            or (re.fullmatch(r"objects/log/[0-9]{8}\.vlog", path) and path[12:20] != "00000000")
            or (path[:13] == "objects/pack/" and not files.bundle and is_pack_name(path[13:]))
        ):
            entry = None if top in own or files.bundle else raw_input(os.fsencode(path))
            same = entry is not None and entry["kind"] == "file"
            if not same or entry["object"][3:] != blake3(files.read(path)).hexdigest():
                report("container", "unknown", f"{path!r}: a file of no use")
