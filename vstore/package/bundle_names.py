"""Names in a bundle: which there are, in which order, and what is wrong with others.

No name of a bundle ever becomes a path on disk unless this module knows it: known names are
lower-case ASCII of a fixed form, ``VSTORE`` and ``BUNDLE`` apart.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from vstore.objects.layout import FORMAT_FILE, LARGE, LOG, MAX_SEGMENTS, REFS, segment_number

__all__ = ["NEEDS_FILE", "NameFault", "is_known", "name_faults", "order_key", "shown_name"]

#: Says what an incremental bundle continues; a full bundle has none.
NEEDS_FILE: Final = "BUNDLE"

_REF: Final = re.compile(rf"{REFS}/[a-z][a-z0-9_.]{{0,63}}")
_LARGE: Final = re.compile(rf"{LARGE}/[0-9a-f]{{2}}/[0-9a-f]{{62}}")
_MAX_SHOWN: Final = 200


class NameFault(NamedTuple):
    """A name that a bundle can't have, or can't have there."""

    #: The member's place in the archive, from 0.
    position: int
    #: What is wrong, in words.
    reason: str


def is_known(name: str) -> bool:
    """Whether a member of this name belongs to a bundle."""
    return _rank(name) is not None


def order_key(name: str) -> tuple[int, str]:
    """By what members are sorted: the format file, what is needed, refs, log, large objects.

    Args:
        name: A known name.
    """
    rank = _rank(name)
    return (9 if rank is None else rank, name)


def shown_name(raw: bytes) -> str:
    """A member's name as text, cut to what can be shown; other bytes become surrogates."""
    return raw[:_MAX_SHOWN].decode("ascii", "surrogateescape")


def name_faults(names: Iterable[bytes]) -> Iterator[NameFault]:
    """What is wrong with the names of an archive, in their order."""
    seen: set[bytes] = set()
    folded: dict[str, bytes] = {}
    last = (-1, "")
    for position, raw in enumerate(names):
        name = shown_name(raw)
        alike = _folded(raw)
        key = order_key(name)
        if raw in seen:
            yield NameFault(position, "a second member of the same name")
        elif alike in folded:
            yield NameFault(
                position, "its name equals another one but for case or Unicode normalisation"
            )
        elif not is_known(name):
            yield NameFault(position, _reason(raw))
        elif key < last:
            yield NameFault(position, "it is not where the order of members puts it")
        else:
            last = key
        seen.add(raw)
        folded.setdefault(alike, raw)


def _rank(name: str) -> int | None:
    if name == FORMAT_FILE:
        return 0
    if name == NEEDS_FILE:
        return 1
    if _REF.fullmatch(name):
        return 2
    folder, _, file = name.rpartition("/")
    if folder == LOG:
        number = segment_number(file)
        return 3 if number is not None and number <= MAX_SEGMENTS else None
    return 4 if _LARGE.fullmatch(name) else None


def _folded(raw: bytes) -> str:
    # Longer names are foreign anyway.
    text = raw[:_MAX_SHOWN].decode("utf-8", "surrogateescape")
    return unicodedata.normalize("NFKC", text).casefold()


def _reason(raw: bytes) -> str:
    if raw.startswith((b"/", b"\\")) or raw[1:2] == b":":
        return "its name is an absolute path"
    if b"\\" in raw:
        return "its name has a backslash"
    if b".." in raw.split(b"/"):
        return "its name leads out of the package"
    if raw.endswith(b"/"):
        return "it is a folder"
    return "no bundle has a member of this name"
