"""Where the attachments of a test are: ``<request digest>/<digest>/<name>``, plain hex.

So an attachment belongs to the request that it was uploaded for, two may bear one name, and
none replaces another (spec: handoff, lifecycle).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec
from blake3 import blake3

from vstore.errors import IntegrityError, InvalidError
from vstore.handoff.documents import Attachment
from vstore.objects.ids import ObjectId
from vstore.objects.memory import ObjectSource
from vstore.objects.tree import MAX_NAME_BYTES, Tree, TreeEntry, check_tree
from vstore.package.pinned import PinnedPackage

__all__ = [
    "StoredAttachment",
    "attachment_path",
    "attachments_of",
    "check_attachment_name",
    "check_digest",
    "stored_attachments",
]

_PREFIX: Final = "b3:"
_MAX_NAME: Final = 200
_PIECE: Final = 1 << 20


class StoredAttachment(msgspec.Struct, frozen=True, kw_only=True):
    """An attachment as the package has it."""

    name: str
    object: ObjectId
    #: Bytes.
    size: int


def attachment_path(request_ref: ObjectId, oid: ObjectId, name: str) -> bytes:
    """The path of an attachment in the tree of attachments."""
    return "/".join((request_ref.removeprefix(_PREFIX), oid.removeprefix(_PREFIX), name)).encode()


def check_attachment_name(name: str) -> str:
    """Refuse a name that can't be shown or can't stand in a folder; returns it.

    Raises:
        InvalidError: Empty, over 200 characters or 255 bytes, with ``/`` or a character
            that doesn't print (control characters, marks that change the direction of
            text), or ``.`` or ``..`` (``invalid_name``).
    """
    if (
        not 1 <= len(name) <= _MAX_NAME
        or not name.isprintable()
        or "/" in name
        or name in (".", "..")
        or len(name.encode("utf-8", "surrogatepass")) > MAX_NAME_BYTES
    ):
        raise InvalidError(
            "an attachment's name has 1 to 200 printable characters, 255 bytes at the most, "
            "and no slash",
            kind="invalid_name",
            hint="give it another name",
        )
    return name


def stored_attachments(
    objects: ObjectSource, root: ObjectId | None, request_ref: ObjectId
) -> Iterator[StoredAttachment]:
    """The attachments of one request, by digest and name.

    Args:
        objects: Where the trees are.
        root: The tree of attachments; None for none.
        request_ref: The object id of the request.

    Raises:
        NotFoundError, IntegrityError, InvalidError: A tree is absent, damaged or malformed.
    """
    if root is None:
        return
    folder = _child(objects, root, request_ref.removeprefix(_PREFIX))
    if folder is None:
        return
    for digest, below in _entries(objects, folder):
        if below.kind != "tree":
            continue
        for name, entry in _entries(objects, below.object):
            if entry.kind == "file" and entry.object == _PREFIX + digest:
                yield StoredAttachment(name=name, object=entry.object, size=entry.size)


def _child(objects: ObjectSource, tree: ObjectId, name: str) -> ObjectId | None:
    for found, entry in _entries(objects, tree):
        if found == name and entry.kind == "tree":
            return entry.object
    return None


def _entries(objects: ObjectSource, oid: ObjectId) -> Iterator[tuple[str, TreeEntry]]:
    tree = objects.document(oid, Tree)
    for name, entry in zip(check_tree(tree), tree.entries, strict=True):
        try:
            yield name.decode(), entry
        except UnicodeDecodeError:
            continue  # no attachment of ours has such a name


def attachments_of(package: PinnedPackage, request_ref: ObjectId) -> list[Attachment]:
    """The attachments of a request, as an answer lists them.

    Raises:
        NotFoundError, IntegrityError, InvalidError: One is absent or damaged.
    """
    from vstore.handoff.media import SNIFFED_BYTES, media_type

    found = []
    for one in stored_attachments(package.objects, package.generation.attachments, request_ref):
        with package.objects.open(one.object) as stream:
            head = stream.read(SNIFFED_BYTES)
        kind = media_type(head, complete=one.size <= SNIFFED_BYTES)
        found.append(Attachment(name=one.name, media_type=kind, size=one.size, object=one.object))
    return found


def check_digest(objects: ObjectSource, attachments: Iterable[Attachment]) -> None:
    """Read attachments through and compare their digests and sizes.

    Raises:
        IntegrityError: One has other bytes than its id says (``bad_attachment``).
        NotFoundError: One is absent.
    """
    for one in attachments:
        hasher, size = blake3(), 0
        with objects.open(one.object) as stream:
            while piece := stream.read(_PIECE):
                hasher.update(piece)
                size += len(piece)
        if ObjectId.from_bytes(hasher.digest()) != one.object or size != one.size:
            raise IntegrityError(
                "an attachment's bytes are not those that its id names",
                kind="bad_attachment",
                hint="vstore verify says what is wrong",
                object=one.object,
            )
