"""VS-OBJ: digests, form, references."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Final

from vstore.objects.ids import object_id
from vstore.testing.bad.change import BadPackage, files, forged, reseal, write_segments
from vstore.testing.editor import EditedFrame, PackageEditor, StoredObject

__all__ = ["PACKAGES"]

_HYPOTHESES: Final = "hypotheses-v1"


def _readme(editor: PackageEditor) -> StoredObject:
    (found,) = [one for one in editor.objects() if one.content.startswith(b"An application")]
    return found


def _change_a_file(editor: PackageEditor) -> None:
    one = _readme(editor)
    one.content = b"Another" + one.content[7:]


def _rewrite(editor: PackageEditor, old: bytes, new: bytes) -> None:
    one = editor.find(_HYPOTHESES)
    one.content = one.content.replace(old, new, 1)
    one.edited = True


def _lose_a_file(editor: PackageEditor) -> None:
    lost = _readme(editor)
    for frame in editor.frames:
        frame.objects = [one for one in frame.objects if one is not lost]


def _stray(editor: PackageEditor, *places: int) -> None:
    for place in places:
        editor.frames[place].objects.append(StoredObject(object_id(b"stray"), 0, b"stray"))


def _repeat(editor: PackageEditor) -> None:
    one = _readme(editor)
    editor.frames[-1].objects.append(StoredObject(one.oid, one.kind, one.content))


def _tree_for_hypotheses(editor: PackageEditor) -> None:
    one = editor.find(_HYPOTHESES)
    one.content, one.edited = b'{"entries":[],"schema":"tree-v1"}', True


def _claim_a_huge_file(editor: PackageEditor) -> None:
    (frame,) = [one for one in editor.frames if one.large]
    ((raw, kind, _, stored, digest),) = frame.large
    frame.large = [(raw, kind, 1 << 40, stored, digest)]


def _withhold(package: Path) -> None:
    """Store a file in a frame of its own, and leave its bytes out there."""
    editor = PackageEditor(package)
    (one,) = [one for one in editor.objects() if one.content == b"first.txt\n"]
    for frame in editor.frames:
        frame.objects = [other for other in frame.objects if other is not one]
    editor.frames.insert(1, EditedFrame(None, [one]))

    def withhold(header: bytearray) -> None:
        struct.pack_into("<B", header, 128 + 33, 1)
        struct.pack_into("<II", header, 120, 0, 0)

    write_segments(package, [editor.frames], change={2: reseal(withhold, lambda _: b"")})


PACKAGES: Final[tuple[BadPackage, ...]] = (
    BadPackage(
        code="VS-OBJ-001",
        change="a file of the source snapshot has other bytes under the same id",
        make=forged(_change_a_file, rechain=False),
    ),
    BadPackage(
        code="VS-OBJ-002",
        change="the hypotheses have a blank after a colon",
        make=forged(lambda editor: _rewrite(editor, b":", b": ")),
    ),
    BadPackage(
        code="VS-OBJ-003",
        change="the hypotheses have a member that their schema doesn't know",
        make=forged(lambda editor: _rewrite(editor, b'{"analysis', b'{"an":1,"analysis')),
    ),
    BadPackage(
        code="VS-OBJ-004",
        change="the hypotheses have a schema of a later version",
        make=forged(lambda editor: _rewrite(editor, b"hypotheses-v1", b"hypotheses-v9")),
    ),
    BadPackage(
        code="VS-OBJ-005",
        change="a file of the source snapshot is not in the log",
        make=forged(_lose_a_file, rechain=False),
    ),
    BadPackage(
        code="VS-OBJ-006",
        change="the log has an object that no generation leads to",
        make=forged(lambda editor: _stray(editor, 3), rechain=False),
    ),
    BadPackage(
        code="VS-OBJ-007",
        change="a tree stands where the hypotheses should be",
        make=forged(_tree_for_hypotheses),
    ),
    BadPackage(
        code="VS-OBJ-008",
        change="the bytes of a file of the source snapshot were withheld",
        make=files(_withhold),
    ),
    BadPackage(
        code="VS-OBJ-009",
        change="a frame says that a large object has a tebibyte",
        make=forged(_claim_a_huge_file, base="large", rechain=False),
    ),
    BadPackage(
        code="VS-OBJ-010",
        change="a file of the source snapshot is stored again in a later frame",
        make=forged(_repeat, rechain=False),
    ),
)
