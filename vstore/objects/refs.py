"""Refs: small text files that name objects, a checked projection of the last publication.

A ref never decides anything: readers use the last frame of the log. What refs are for is to
notice that a log has lost its end. This module reads them and says how they stand to what
the log says (spec: storage, "Recovery"); what a generation's refs should be is the caller's
knowledge.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Final, Literal, NamedTuple

from vstore.errors import InvalidError, StorageError
from vstore.objects.ids import PREFIX, ObjectId
from vstore.objects.layout import REFS, read_file

__all__ = [
    "GENERATION",
    "MAX_REFS",
    "MAX_REF_BYTES",
    "BadRef",
    "RefState",
    "check_ref_name",
    "classify",
    "decode_ref",
    "encode_ref",
    "is_ref_name",
    "read_refs",
    "ref_path",
    "stray_refs",
]

#: The ref of the head; always written last.
GENERATION: Final = "generation"
MAX_REFS: Final = 1000

_NAME: Final = re.compile(r"[a-z][a-z0-9_.]{0,63}")
#: Bytes of a ref file at the most.
MAX_REF_BYTES: Final = len(PREFIX) + 64 + 1
_VALID: Final = re.compile(rb"b3:[0-9a-f]{64}\n")
_START: Final = re.compile(rb"b|b3|b3:[0-9a-f]{0,64}")

Refs = Mapping[str, ObjectId]

#: ``lagging`` is what a crash leaves; ``missing`` and ``foreign`` are damage.
RefState = Literal["current", "lagging", "missing", "foreign"]


class BadRef(NamedTuple):
    """A ref file that names no object."""

    #: ``empty``, ``zeros`` and ``cut`` are what a power cut leaves; ``malformed`` is not.
    reason: Literal["empty", "zeros", "cut", "malformed"]
    #: What is left of a cut one.
    start: str = ""


def is_ref_name(name: str) -> bool:
    """Whether a ref may have this name."""
    return _NAME.fullmatch(name) is not None


def check_ref_name(name: str) -> None:
    """Refuse a name that can't be a ref's.

    Raises:
        InvalidError: Not ``[a-z][a-z0-9_.]{0,63}``.
    """
    if not is_ref_name(name):
        raise InvalidError(
            "a ref name has lower-case letters, digits, _ and .", kind="invalid_ref_name"
        )


def ref_path(root: Path, name: str) -> Path:
    """Where a ref is kept; the name is checked."""
    check_ref_name(name)
    return root / REFS / name


def encode_ref(oid: ObjectId) -> bytes:
    """The bytes of a ref file."""
    return str(oid).encode("ascii") + b"\n"


def decode_ref(raw: bytes) -> ObjectId | BadRef:
    """What the bytes of a ref file say."""
    if _VALID.fullmatch(raw) is not None:
        return ObjectId.parse(raw[:-1].decode("ascii"))
    if not raw:
        return BadRef("empty")
    if len(raw) > MAX_REF_BYTES:
        return BadRef("malformed")
    start = raw.rstrip(b"\0")
    if not start:
        return BadRef("zeros")
    if len(start) < MAX_REF_BYTES and _START.fullmatch(start) is not None:
        return BadRef("cut", start.decode("ascii"))
    return BadRef("malformed")


def read_refs(root: Path) -> dict[str, ObjectId | BadRef]:
    """All refs of a package as their files say, by name; other files there are left out.

    Raises:
        StorageError: A file can't be read, or there are more than ``MAX_REFS``.
    """
    names: list[str] = []
    for name in _names(root):
        if _NAME.fullmatch(name) is not None:
            names.append(name)
        # Whoever fills the folder doesn't fill the memory.
        if len(names) > MAX_REFS:
            raise StorageError(f"more than {MAX_REFS} refs", kind="too_many_refs")
    found: dict[str, ObjectId | BadRef] = {}
    for name in sorted(names):
        raw = read_file(root / REFS / name, MAX_REF_BYTES)
        if raw is not None:
            found[name] = decode_ref(raw)
    return found


def stray_refs(root: Path) -> list[str]:
    """Names in the folder of refs that can't be a ref's, sorted."""
    return sorted(name for name in _names(root) if _NAME.fullmatch(name) is None)


def _names(root: Path) -> Iterator[str]:
    try:
        with os.scandir(root / REFS) as found:
            for one in found:
                yield one.name
    except FileNotFoundError:
        return
    except OSError as error:
        raise StorageError(
            f"can't read refs: {os.strerror(error.errno or errno.EIO)}", kind="unreadable"
        ) from error


def classify(
    actual: Mapping[str, ObjectId | BadRef],
    expected: Refs,
    earlier: Iterable[Refs],
) -> dict[str, RefState]:
    """How each ref stands to the head of the log.

    Args:
        actual: What :func:`read_refs` found.
        expected: All refs of the head, ``generation`` among them; empty before the first.
        earlier: All refs of each generation before the head, newest first; consumed only as
            far as needed.

    Returns:
        A state for each name in ``actual`` and ``expected``. ``lagging``: the value of an
        earlier publication (also of a ref that the head no longer has), a file that is empty
        or zeros or ends too early, or a ref that the generation named by ``refs/generation``
        didn't have yet. ``refs/generation`` itself is there from the package's creation,
        empty until the first publication, so its absence is never a lag.
    """
    past = _Past(earlier)
    states: dict[str, RefState] = {}
    for name in sorted(set(actual) | set(expected)):
        value = actual.get(name)
        if value is None:
            states[name] = "lagging" if _may_be_missing(name, actual, expected, past) else "missing"
        elif value == expected.get(name) or (name == GENERATION and not expected and _empty(value)):
            states[name] = "current"
        elif isinstance(value, BadRef):
            left = _may_be_left(name, value, expected, past)
            states[name] = "lagging" if left else "foreign"
        elif past.first(partial(_has_value, name, value)) is not None:
            states[name] = "lagging"
        else:
            states[name] = "foreign"
    return states


def _may_be_left(name: str, value: BadRef, expected: Refs, past: _Past) -> bool:
    """Whether a power cut may have left a file like this."""
    if value.reason == "malformed":
        return False
    begins = partial(_begins_with, name, value.start)
    return begins(expected) or past.first(begins) is not None


def _may_be_missing(
    name: str,
    actual: Mapping[str, ObjectId | BadRef],
    expected: Refs,
    past: _Past,
) -> bool:
    parent = past.first(_any)
    named = actual.get(GENERATION)
    if name == GENERATION or named is None:
        return False
    if isinstance(named, BadRef):
        # It was being replaced by the last publication, so it named the one before.
        return named.reason != "malformed" and (parent is None or name not in parent)
    if named == expected.get(GENERATION):
        return False
    at = past.first(partial(_has_value, GENERATION, named))
    return at is not None and name not in at


def _empty(value: ObjectId | BadRef) -> bool:
    return isinstance(value, BadRef) and value.reason == "empty"


def _any(_: Refs) -> bool:
    return True


def _begins_with(name: str, start: str, one: Refs) -> bool:
    return name in one and one[name].startswith(start)


def _has_value(name: str, value: ObjectId, one: Refs) -> bool:
    return one.get(name) == value


class _Past:
    """Earlier generations' refs, taken from an iterator as far as questions need them."""

    def __init__(self, source: Iterable[Refs]) -> None:
        self._source: Iterator[Refs] = iter(source)
        self._seen: list[Refs] = []

    def first(self, wanted: Callable[[Refs], bool]) -> Refs | None:
        for one in self._seen:
            if wanted(one):
                return one
        for one in self._source:
            self._seen.append(one)
            if wanted(one):
                return one
        return None
