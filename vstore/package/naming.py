"""Names of objects on a command line, as in git where the idea is git's.

=====================  ==============================================================
``HEAD``, ``@``        the head generation
``g12``                the generation with this number
``E000012``            an evidence record
``evidence_index``     what the head's artifact, or its snapshot, of this name is
``inputs``             the tree of the head's raw input
``b3:...``             an object id, with or without its prefix; at least four digits of
                       one that no other object of the package begins with
``NAME~3``, ``NAME^``  of a generation: its third ancestor, its parent
=====================  ==============================================================
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import msgspec

from vstore.errors import IntegrityError, InvalidError, NotFoundError
from vstore.objects.ids import PREFIX, ObjectId

if TYPE_CHECKING:
    from vstore.package.documents import Generation
    from vstore.package.reader import PackageReader

__all__ = ["MIN_ABBREVIATION", "abbreviate", "find_record", "resolve"]

#: Hex digits that an abbreviation has at least.
MIN_ABBREVIATION: Final = 4
_MAX_SHOWN: Final = 10
_NAME: Final = re.compile(r"(?P<base>[^~^]+)(?P<steps>(?:~[0-9]{0,9}|\^)*)")
_NUMBER: Final = re.compile(r"g([1-9][0-9]{0,15})")
_RECORD: Final = re.compile(r"E([0-9]{6}|[1-9][0-9]{6,14})")
_HEX: Final = re.compile(r"[0-9a-f]{1,64}")


class _IndexedRecord(msgspec.Struct):
    id: str
    object: str


class _Index(msgspec.Struct):
    """Of an evidence index, what finding a record takes; a layer above owns the rest."""

    parent: str | None
    records: list[_IndexedRecord]


def resolve(reader: PackageReader, name: str) -> ObjectId:
    """See :meth:`vstore.package.reader.PackageReader.resolve`."""
    match = _NAME.fullmatch(name)
    if match is None or len(name) > 200:
        raise InvalidError(
            "not a name of an object",
            kind="bad_name",
            hint="use HEAD, HEAD~3, g12, E000012, an artifact's name, or an object id",
        )
    oid = _base(reader, match["base"])
    steps = _steps(match["steps"])
    return oid if steps is None else _ancestor(reader, oid, steps)


def abbreviate(reader: PackageReader, oid: ObjectId, *, digits: int = 12) -> str:
    """The shortest unambiguous form of an id with at least so many digits, without prefix."""
    shared = 0
    for other in _ids(reader):
        if other != oid:
            shared = max(shared, _common(oid.hex, other.hex))
    return oid.hex[: max(digits, shared + 1, MIN_ABBREVIATION)]


def find_record(reader: PackageReader, record_id: str) -> ObjectId:
    """The object of an evidence record of the head's index.

    Raises:
        NotFoundError: No record of this id.
        IntegrityError: The chain of indices is damaged.
    """
    oid = reader.pinned().artifact("evidence_index")
    while oid is not None:
        try:
            index = msgspec.json.decode(reader.objects.get(oid), type=_Index)
            for record in index.records:
                if record.id == record_id:
                    return ObjectId.parse(record.object)
            first = index.records[0].id if index.records else ""
            # Ids only grow: past it, further back is nothing but smaller ones.
            if (len(first), first) < (len(record_id), record_id):
                break
            oid = None if index.parent is None else ObjectId.parse(index.parent)
        except (msgspec.DecodeError, UnicodeDecodeError, InvalidError) as error:
            raise IntegrityError(
                f"{oid} stands where an evidence index should", kind="not_an_index", object=oid
            ) from error
    raise NotFoundError(f"no record {record_id}", kind="unknown_record", record=record_id)


def _base(reader: PackageReader, name: str) -> ObjectId:
    if name in ("HEAD", "@"):
        return reader.pinned().generation_id
    head = reader.pinned().generation
    if name == "inputs":
        return head.inputs
    named = head.artifacts.get(name) or head.snapshots.get(name)
    if named is not None:
        return named
    if number := _NUMBER.fullmatch(name):
        return _numbered(reader, head, int(number[1]))
    if _RECORD.fullmatch(name):
        return find_record(reader, name)
    digits = name.removeprefix(PREFIX)
    if _HEX.fullmatch(digits) is None:
        raise NotFoundError(
            "nothing in this package has this name",
            kind="unknown_name",
            hint="use HEAD, HEAD~3, g12, E000012, an artifact's name, or an object id",
        )
    if len(digits) == 64:
        return ObjectId.parse(digits)
    return _abbreviated(reader, digits)


def _abbreviated(reader: PackageReader, digits: str) -> ObjectId:
    if len(digits) < MIN_ABBREVIATION:
        raise InvalidError(
            f"an abbreviated id has at least {MIN_ABBREVIATION} digits", kind="bad_name"
        )
    found = sorted({oid for oid in _ids(reader) if oid.hex.startswith(digits)})
    if not found:
        raise NotFoundError(f"no object's id begins with {digits}", kind="no_object")
    if len(found) > 1:
        shown = ", ".join(found[:_MAX_SHOWN])
        more = f" and {len(found) - _MAX_SHOWN} more" if len(found) > _MAX_SHOWN else ""
        raise InvalidError(
            f"{digits} is ambiguous: {len(found)} ids begin with it",
            kind="ambiguous_id",
            hint=f"give more digits of one of {shown}{more}",
            candidates=found[:_MAX_SHOWN],
        )
    return found[0]


def _ids(reader: PackageReader) -> Iterator[ObjectId]:
    for frame in reader.objects.frames_backwards():
        for raw in frame.raw_ids():
            yield ObjectId.from_bytes(raw)


def _numbered(reader: PackageReader, head: Generation, number: int) -> ObjectId:
    if number > head.package_generation:
        raise NotFoundError(
            f"no generation {number}; the head is generation {head.package_generation}",
            kind="no_generation",
        )
    return _ancestor(reader, reader.pinned().generation_id, head.package_generation - number)


def _ancestor(reader: PackageReader, oid: ObjectId, steps: int) -> ObjectId:
    start = reader.at(oid)
    if steps >= start.number:
        raise NotFoundError(
            f"generation {start.number} has no ancestor {steps} generations back",
            kind="no_generation",
        )
    for count, (found, _) in enumerate(reader.history(start=oid)):
        if count == steps:
            return found
    raise IntegrityError("the history ends early", kind="broken_history")  # pragma: no cover


def _steps(suffix: str) -> int | None:
    if not suffix:
        return None
    return sum(
        1 if one in ("^", "~") else int(one[1:]) for one in re.findall(r"\^|~[0-9]*", suffix)
    )


def _common(one: str, other: str) -> int:
    count = 0
    for left, right in zip(one, other, strict=True):
        if left != right:
            break
        count += 1
    return count
