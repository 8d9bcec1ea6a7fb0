"""Looking at what is in one frame: digests, sizes, and what its documents name."""

from __future__ import annotations

from blake3 import blake3

from vstore.errors import IntegrityError, LimitExceeded
from vstore.objects.frame import FrameSummary, LargeEntry
from vstore.objects.ids import PREFIX, ObjectId
from vstore.objects.plain_json import MAX_DOCUMENT_BYTES
from vstore.objects.reader import ObjectReader
from vstore.package.reachable import References

__all__ = ["survey_frame"]


def survey_frame(
    objects: ObjectReader,
    frame: FrameSummary,
    payload: bytes,
    references: References,
    large: dict[ObjectId, LargeEntry],
) -> None:
    """Check the objects of a frame against their ids and take note of what they name.

    Args:
        objects: The package's objects.
        frame: The frame; its header and its whole were checked.
        payload: Its uncompressed objects.
        references: Takes note.
        large: Gets its large objects, unless it has them from a frame before.

    Raises:
        IntegrityError: An object has another digest (``bad_object``), or the table is malformed.
        LimitExceeded: A document is larger than any that is read.
    """
    check = not frame.derived
    for raw, kind, state, offset, length in frame.raw_entries():
        oid = PREFIX + raw.hex()
        if state:
            references.note_size(oid, length, withheld=True)
            continue
        content = payload[offset : offset + length]
        if check and blake3(content).digest() != raw:
            raise IntegrityError(
                f"the stored bytes of {oid} have another digest", kind="bad_object", object=oid
            )
        references.note(oid, content, is_document=kind == 1)
    for entry in frame.large() if frame.counts[1] else ():
        large.setdefault(entry.oid, entry)
        if entry.state == "present" and entry.kind == "document":
            if entry.length > MAX_DOCUMENT_BYTES:
                raise LimitExceeded(
                    f"{entry.oid} is larger than any document that is read",
                    limit="max_document_bytes",
                    value=MAX_DOCUMENT_BYTES,
                    asked=entry.length,
                )
            references.note(entry.oid, objects.get(entry.oid), is_document=True)
        else:
            references.note_size(entry.oid, entry.length, withheld=entry.state != "present")
