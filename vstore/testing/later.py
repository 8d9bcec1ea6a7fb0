"""Packages as a later version of vstore might write them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from blake3 import blake3

from vstore.objects.ids import ObjectId, object_id
from vstore.objects.layout import LOG
from vstore.objects.log import Damage, LogReader
from vstore.objects.plain_json import encode_value
from vstore.testing.editor import PackageEditor, StoredObject

__all__ = ["LATER_ARTIFACT", "LATER_EVENT", "later_objects", "later_package", "set_features"]

#: An artifact and an event that no released version knows.
LATER_ARTIFACT: Final = "later_thing"
LATER_EVENT: Final = "later.thing"


def later_objects() -> dict[ObjectId, bytes]:
    """What the artifact leads to: a document of an unknown type, which names a blob."""
    blob = b"\x00what a later version keeps\xff"
    document = encode_value(
        {
            "blob": str(object_id(blob)),
            "numbers": [1, -5, 2**53 - 1],
            "schema": "later-thing-v1",
            "text": "ﬁ\u202e",
        }
    )
    return {object_id(document): document, object_id(blob): blob}


def later_package(original: Path, target: Path) -> Path:
    """A package whose head is a generation with an event and an artifact of a later version.

    Args:
        original: A package; it is only read. Its head becomes that generation.
        target: Where to write the other one.
    """
    editor = PackageEditor(original)
    frame = next(one for one in reversed(editor.frames) if one.generation is not None)
    head = next(one for one in frame.objects if one.oid == frame.generation)
    found = later_objects()
    artifact = next(iter(found))

    def change(value: Any) -> None:
        value["events"].append({**value["events"][0], "kind": LATER_EVENT})
        value["artifacts"][LATER_ARTIFACT] = str(artifact)
        value["declared"][LATER_ARTIFACT] = [str(artifact)]

    editor.edit(head, change)
    head.edited = False
    frame.objects[:0] = [
        StoredObject(oid, int(content.startswith(b"{")), content) for oid, content in found.items()
    ]
    editor.rechain()
    return editor.save(target)


def set_features(package: Path, bits: int) -> None:
    """Give the last frame of a package these feature bits, all digests set right.

    Args:
        package: The package; its log is changed in place.
        bits: Feature bits, 32 of them.
    """
    log = LogReader(package / LOG)
    (*_, frame) = log.scan()
    assert not isinstance(frame, Damage)
    log.close()
    path = package / LOG / f"{frame.segment:08d}.vlog"
    content = bytearray(path.read_bytes())
    start, end = frame.offset, frame.offset + frame.length
    header = start + frame.header_length
    # Behind the magic and the header's length; the header ends with its digest, the frame
    # with its own, its length and a magic.
    content[start + 12 : start + 16] = bits.to_bytes(4, "little")
    content[header - 32 : header] = blake3(content[start : header - 32]).digest()
    content[end - 40 : end - 8] = blake3(content[start : end - 40]).digest()
    path.write_bytes(content)
