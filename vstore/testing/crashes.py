"""Every state in which a power cut may leave a folder, from a trace of operations.

The model is what POSIX allows and no more: a name in a folder lasts from the folder's sync
on, bytes in a file from the file's sync on. Before that, each operation may be lost or
applied on its own, and each write may be lost, whole, cut, or zero-filled. Renames are
atomic. There may be far too many states, so each point of the trace yields a bounded
number of them: all extremes, each operation alone lost and alone applied, then a
deterministic sample.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

from blake3 import blake3

from vstore.testing.faults import Operation

__all__ = ["DEEP", "SMALL", "CrashState", "Profile", "crash_states"]


T = TypeVar("T")


class Profile(NamedTuple):
    """How many states to look at.

    ``recent``: how many of the newest pending operations are varied one by one;
    ``samples``: random states for each point; ``cuts``: where writes are cut, in per mille.
    """

    recent: int
    samples: int
    cuts: tuple[int, ...]


SMALL: Final = Profile(recent=6, samples=6, cuts=(1, 500, 999))
DEEP: Final = Profile(recent=12, samples=120, cuts=(1, 100, 250, 500, 750, 900, 999))


@dataclass(frozen=True, kw_only=True)
class CrashState:
    """What is on the disk after a power cut."""

    #: How many operations of the trace had been issued.
    point: int
    #: Labels of the marks before that point.
    marks: tuple[str, ...]
    folders: frozenset[str]
    #: Path below the root to content.
    files: dict[str, bytes] = field(hash=False)

    def materialise(self, root: Path) -> None:
        """Write the state into an empty folder."""
        for name in sorted(self.folders):
            (root / name).mkdir(parents=True, exist_ok=True)
        for name, content in self.files.items():
            (root / name).write_bytes(content)


class _Write(NamedTuple):
    inode: int
    offset: int
    content: bytes


class _Name(NamedTuple):
    """A change of names: ``create``, ``mkdir``, ``replace`` or ``unlink``."""

    kind: str
    path: str
    source: str
    inode: int


class _Disk:
    """What has been issued, split into what lasts and what is pending."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.names: dict[str, int] = {}
        self.folders: set[str] = {""}
        self.current: dict[str, int] = {}
        self.content: dict[int, bytes] = {}
        self.pending_names: list[_Name] = []
        self.pending_writes: list[_Write] = []
        self.next_inode = 0

    def load(self) -> None:
        """Take what is in the folder as lasting."""
        for path in sorted(self.root.rglob("*")):
            name = self.relative(path)
            if path.is_dir():
                self.folders.add(name)
            else:
                self.names[name] = self.current[name] = self.next_inode
                self.content[self.next_inode] = path.read_bytes()
                self.next_inode += 1

    def relative(self, path: Path) -> str:
        name = path.relative_to(self.root).as_posix()
        return "" if name == "." else name

    def issue(self, operation: Operation) -> None:
        if operation.name in ("mark", "open"):
            return
        if operation.path != self.root and self.root not in operation.path.parents:
            return  # the parent of the root, which is not part of the model
        name = self.relative(operation.path)
        if operation.name == "mkdir":
            if name not in self.folders and all(one.path != name for one in self.pending_names):
                self.pending_names.append(_Name("mkdir", name, "", -1))
        elif operation.name == "create":
            inode = self.next_inode
            self.next_inode += 1
            self.content[inode] = b""
            self.current[name] = inode
            self.pending_names.append(_Name("create", name, "", inode))
        elif operation.name == "write":
            self.pending_writes.append(
                _Write(self.current[name], operation.offset, operation.content)
            )
        elif operation.name == "sync":
            self._sync_file(self.current[name])
        elif operation.name == "replace":
            assert operation.target is not None
            target = self.relative(operation.target)
            inode = self.current.pop(name)
            self.current[target] = inode
            self.pending_names.append(_Name("replace", target, name, inode))
        elif operation.name == "unlink":
            if self.current.pop(name, None) is not None:
                self.pending_names.append(_Name("unlink", name, "", -1))
        else:
            self._sync_folder(name)

    def _sync_file(self, inode: int) -> None:
        rest = []
        for write in self.pending_writes:
            if write.inode == inode:
                self.content[inode] = _put(self.content[inode], write.offset, write.content)
            else:
                rest.append(write)
        self.pending_writes = rest

    def _sync_folder(self, folder: str) -> None:
        rest = []
        for change in self.pending_names:
            if change.path.rpartition("/")[0] == folder:
                _apply(change, self.names, self.folders)
            else:
                rest.append(change)
        self.pending_names = rest


def _put(content: bytes, offset: int, chunk: bytes) -> bytes:
    return content[:offset].ljust(offset, b"\0") + chunk + content[offset + len(chunk) :]


def _apply(change: _Name, names: dict[str, int], folders: set[str]) -> None:
    if change.kind == "mkdir":
        folders.add(change.path)
    elif change.kind == "unlink":
        names.pop(change.path, None)
    else:
        if change.kind == "replace":
            names.pop(change.source, None)
        names[change.path] = change.inode


def crash_states(
    root: Path,
    operations: Sequence[Operation],
    profile: Profile = SMALL,
    *,
    initial: Path | None = None,
    first: int = 0,
) -> Iterator[CrashState]:
    """The states that a power cut at each point of a trace may leave, without repeats.

    Args:
        root: The folder that the trace is about.
        operations: The trace.
        profile: How many states.
        initial: A folder with what was there before, all of it lasting; None for nothing.
        first: The first point to look at; earlier operations are only played.
    """
    disk = _Disk(root)
    if initial is not None:
        before = _Disk(initial)
        before.load()
        disk.names, disk.folders, disk.current = before.names, before.folders, before.current
        disk.content, disk.next_inode = before.content, before.next_inode
    marks: list[str] = []
    seen: set[bytes] = set()
    for point in range(len(operations) + 1):
        if point >= first:
            # What lasts of a state depends on the marks too: more must be there.
            for state in _states_at(disk, point, tuple(marks), profile):
                key = _fingerprint(state)
                if key not in seen:
                    seen.add(key)
                    yield state
        if point < len(operations):
            if operations[point].name == "mark":
                marks.append(operations[point].label)
            disk.issue(operations[point])


def _fingerprint(state: CrashState) -> bytes:
    hasher = blake3(repr((state.marks, sorted(state.folders))).encode())
    for name in sorted(state.files):
        hasher.update(f"\0{name}\0{len(state.files[name])}\0".encode())
        hasher.update(state.files[name])
    return hasher.digest()


#: How a write ended: the per mille that arrived (cut there), with zeros behind or not.
_WHOLE: Final = (1000, False)
_LOST: Final = (0, False)


def _states_at(
    disk: _Disk, point: int, marks: tuple[str, ...], profile: Profile
) -> Iterator[CrashState]:
    names, writes = disk.pending_names, disk.pending_writes
    ends = [_LOST, (0, True)]
    for cut in profile.cuts:
        ends += [(cut, False), (cut, True)]
    recent_names = range(max(0, len(names) - profile.recent), len(names))
    recent_writes = range(max(0, len(writes) - profile.recent), len(writes))
    all_names, no_names = [True] * len(names), [False] * len(names)
    whole, lost = [_WHOLE] * len(writes), [_LOST] * len(writes)
    for applied in (all_names, no_names):
        for ended in (whole, lost, [(0, True)] * len(writes)):
            yield _build(disk, point, marks, applied, ended)
        for index in recent_writes:
            for end in ends:
                yield _build(disk, point, marks, applied, _with(whole, index, end))
                yield _build(disk, point, marks, applied, _with(lost, index, end))
    for index in recent_names:
        for applied in (
            _with(all_names, index, False),  # noqa: FBT003
            _with(no_names, index, True),  # noqa: FBT003
            [one < index for one in range(len(names))],
        ):
            for ended in (whole, lost, [(0, True)] * len(writes)):
                yield _build(disk, point, marks, applied, ended)
    # A fixed seed: the same trace has the same states on every machine.
    chance = random.Random(point)  # noqa: S311
    for _ in range(profile.samples if names or writes else 0):
        share = chance.random()
        yield _build(
            disk,
            point,
            marks,
            [chance.random() < share for _ in names],
            [_WHOLE if chance.random() < share else chance.choice(ends) for _ in writes],
        )


def _with(values: list[T], index: int, value: T) -> list[T]:
    changed = list(values)
    changed[index] = value
    return changed


def _build(
    disk: _Disk,
    point: int,
    marks: tuple[str, ...],
    applied: Sequence[bool],
    ended: Sequence[tuple[int, bool]],
) -> CrashState:
    names, folders = dict(disk.names), set(disk.folders)
    for change, was_applied in zip(disk.pending_names, applied, strict=True):
        if was_applied:
            _apply(change, names, folders)
    content: dict[int, bytes] = {}
    for write, (arrived, zeros) in zip(disk.pending_writes, ended, strict=True):
        whole = write.content
        part = whole if arrived == 1000 else whole[: max(1, len(whole) * arrived // 1000)]
        if arrived == 0:
            part = b""
        if zeros:
            part = part.ljust(len(whole), b"\0")
        if part:
            base = content.get(write.inode, disk.content[write.inode])
            content[write.inode] = _put(base, write.offset, part)
    reachable = {one for one in folders if _reachable(one, folders)}
    files = {
        name: content.get(inode, disk.content[inode])
        for name, inode in names.items()
        if name.rpartition("/")[0] in reachable
    }
    return CrashState(point=point, marks=marks, folders=frozenset(reachable), files=files)


def _reachable(folder: str, folders: set[str]) -> bool:
    while folder:
        if folder not in folders:
            return False
        folder = folder.rpartition("/")[0]
    return True
