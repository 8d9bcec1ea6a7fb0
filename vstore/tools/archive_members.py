"""Members of an archive, whatever its format, and where they go in a tree.

The names of an archive are bytes and stay what they are, apart from ``./`` before them and
``/`` behind them. Absolute names, ``..`` and names that no tree can have are refused, and
so are two members at one path. Links, whose targets may point anywhere, are kept as links.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NoReturn

from vstore.errors import InvalidError, LimitExceeded
from vstore.package.exclude import ExcludePatterns
from vstore.package.limits import PackageLimits
from vstore.package.tree_builder import path_text

__all__ = ["ArchiveLimits", "Member", "Plan", "clean_path", "plan", "refuse"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveLimits:
    """How much an archive may unfold to.

    Attributes:
        package: Bounds on the files together, their number, and each one.
        max_ratio: Unpacked bytes for each packed byte of the whole archive, 1 or more.
        ratio_from_bytes: The ratio counts once this much is unpacked, 0 or more.
    """

    package: PackageLimits = field(default_factory=PackageLimits)
    max_ratio: int = 250
    ratio_from_bytes: int = 32 << 20

    def check_ratio(self, packed: int, unpacked: int) -> None:
        """Refuse what unfolds too far.

        Raises:
            LimitExceeded: ``max_ratio`` is passed.
        """
        if unpacked > self.ratio_from_bytes and unpacked > packed * self.max_ratio:
            raise LimitExceeded(
                f"the archive unfolds to more than {self.max_ratio} times its size",
                hint="unpack it yourself and pin the folder, if you trust it",
                limit="max_ratio",
                value=self.max_ratio,
                asked=unpacked // max(packed, 1),
            )


@dataclass(frozen=True, slots=True)
class Member:
    """One member, in the order of the archive.

    Attributes:
        path: Its cleaned name; of what a hard link repeats, see ``target``.
        kind: ``hardlink`` is one more name of an earlier file or link.
        size: Bytes of a file, 0 otherwise.
        executable: Whether its owner may run the file.
        target: Of a hard link the cleaned name that it repeats, else empty.
    """

    path: bytes
    kind: Literal["file", "folder", "link", "hardlink"]
    size: int = 0
    executable: bool = False
    target: bytes = b""


@dataclass(frozen=True, slots=True)
class Plan:
    """Where members go.

    Attributes:
        targets: For each member its path in the tree, or None if it is left out.
        stripped: Whether the one top folder was taken off.
        excluded: Files, links and empty folders left out by a pattern.
    """

    targets: list[bytes | None]
    stripped: bool
    excluded: int


def refuse(kind: str, message: str, name: bytes | None = None) -> NoReturn:
    """Refuse an archive, naming the member where there is one.

    Raises:
        InvalidError: Always.
    """
    if name is None:
        raise InvalidError(message, kind=kind)
    text = path_text(name)
    raise InvalidError(f"{message}: {text}", kind=kind, path=text)


def clean_path(name: bytes) -> bytes:
    """A member's name as a path; empty for the archive's own root (``.`` or ``./``).

    Raises:
        InvalidError: Absolute (``absolute_path``), with ``..`` (``path_traversal``), with an
            empty or ``.`` component within, or empty (``invalid_path``).
    """
    path = name
    while path.startswith(b"./"):
        path = path[2:].lstrip(b"/") if path != b"./" else b"."
    if path == b".":
        return b""
    if path.startswith(b"/"):
        refuse("absolute_path", "a member with an absolute name", name)
    if path.endswith(b"/"):
        path = path[:-1]
    names = path.split(b"/")
    if b".." in names:
        refuse("path_traversal", "a member whose name leaves the archive", name)
    if b"" in names or b"." in names or b"\0" in path:
        refuse("invalid_path", "a member whose name is no path", name)
    return path


def plan(members: Sequence[Member], exclude: ExcludePatterns, *, strip_top: bool) -> Plan:
    """Decide where every member goes, before anything is written.

    Args:
        members: All members, in the order of the archive.
        exclude: Patterns, tried on paths inside the tree.
        strip_top: Take the one top folder off, if all members are below one.

    Raises:
        InvalidError: Two members at one path (``path_taken``), a hard link to nothing
            (``broken_hardlink``).
    """
    _check_hardlinks(members)
    top = _top_folder(members) if strip_top else None
    targets: list[bytes | None] = []
    excluded = 0
    for member in members:
        path = member.path if top is None else member.path[len(top) + 1 :]
        if not path:
            targets.append(None)
        elif exclude.covers(path) or (
            member.kind == "folder" and exclude.matches(path, is_folder=True)
        ):
            targets.append(None)
            excluded += 1
        else:
            targets.append(path)
    return Plan(targets, top is not None, excluded)


def _top_folder(members: Sequence[Member]) -> bytes | None:
    tops = {member.path.partition(b"/")[0] for member in members if member.path}
    if len(tops) != 1:
        return None
    top = tops.pop()
    if any(member.path == top and member.kind != "folder" for member in members):
        return None
    return top if any(b"/" in member.path for member in members) else None


def _check_hardlinks(members: Sequence[Member]) -> None:
    seen: set[bytes] = set()
    for member in members:
        if member.kind == "hardlink" and member.target not in seen:
            refuse("broken_hardlink", "a hard link to nothing before it", member.path)
        if member.kind != "folder":
            seen.add(member.path)
