"""Checkpoints: a few lines that commit to a package's whole history up to a generation.

The text has the shape of a C2SP *tlog-checkpoint* (https://c2sp.org/tlog-checkpoint), which is
the text of a *signed note* (https://c2sp.org/signed-note): an origin, the number of
generations, the root of the tree over them, lines of others if any. Behind an empty line
signatures may follow; they are read here, and checked by nobody yet.
"""

from __future__ import annotations

import binascii
import re
from base64 import b64decode, b64encode
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from vstore.errors import IntegrityError, InvalidError
from vstore.objects.document import MAX_INTEGER
from vstore.objects.ids import Digest, ObjectId
from vstore.objects.merkle import HASH_BYTES, Frontier

if TYPE_CHECKING:
    from vstore.package.reader import PackageReader

__all__ = [
    "MAX_CHECKPOINT_BYTES",
    "Checkpoint",
    "checkpoint_of",
    "encode_checkpoint",
    "origin_of",
    "parse_checkpoint",
    "root_text",
]

#: Bytes of a checkpoint at the most, its signatures included.
MAX_CHECKPOINT_BYTES: Final = 64 << 10
_ORIGIN: Final = "vstore/package/"
_SIZE: Final = re.compile(r"[1-9][0-9]{0,15}")
_CONTROL: Final = re.compile(r"[\x00-\x09\x0b-\x1f\x7f]")
#: A key's name has no white space and no plus sign.
_SIGNATURE: Final = re.compile(r"— [^\s+]+ (?P<bytes>[A-Za-z0-9+/]+={0,2})")
#: The first bytes of a signature say which key made it.
_KEY_ID_BYTES: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """What a checkpoint says.

    Args:
        origin: Whose history it is; of a package what :func:`origin_of` gives.
        size: How many generations, 1 or more.
        root: The root of the tree over them (RFC 9162), 64 hex digits.
        extensions: Lines that mean something to others.
        signatures: Lines of signatures. **Nothing here or elsewhere has checked them.**
    """

    origin: str
    size: int
    root: Digest
    extensions: tuple[str, ...] = ()
    signatures: tuple[str, ...] = ()

    @property
    def root_text(self) -> str:
        """The root as it stands there: Base64."""
        return root_text(self.root)


def root_text(root: Digest) -> str:
    """A root as checkpoints write it: Base64 of its 32 bytes."""
    return b64encode(bytes.fromhex(root)).decode("ascii")


def origin_of(package_id: str) -> str:
    """The origin line of a package's checkpoints."""
    return _ORIGIN + package_id


def encode_checkpoint(checkpoint: Checkpoint) -> bytes:
    """The bytes of a checkpoint; signature lines may be appended to them as they are."""
    text = [
        checkpoint.origin,
        str(checkpoint.size),
        checkpoint.root_text,
        *checkpoint.extensions,
    ]
    return "".join(f"{line}\n" for line in (*text, "", *checkpoint.signatures)).encode("utf-8")


def parse_checkpoint(raw: bytes) -> Checkpoint:
    """What the bytes of a checkpoint say, signed or not.

    Args:
        raw: All of them. The empty line may be missing where no signature follows.

    Raises:
        InvalidError: Not a checkpoint (``invalid_checkpoint``).
    """
    if len(raw) > MAX_CHECKPOINT_BYTES:
        raise _malformed(f"it has more than {MAX_CHECKPOINT_BYTES} bytes")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _malformed("it isn't UTF-8") from error
    if _CONTROL.search(text):
        raise _malformed("it has control characters; its lines end in a line feed alone")
    if not text.endswith("\n"):
        raise _malformed("its last line has no end")
    # A note's text may have empty lines: its signatures are behind the last one.
    body, empty, rest = text.rpartition("\n\n")
    lines = (body if empty else rest[:-1]).split("\n")
    signatures = tuple(rest[:-1].split("\n")) if empty and rest else ()
    if len(lines) < 3 or not all(lines):
        raise _malformed("it has no three lines of origin, size and root, or an empty line")
    if not all(map(_is_signature, signatures)):
        raise _malformed("a line behind the empty one is no signature")
    size = int(lines[1]) if _SIZE.fullmatch(lines[1]) else 0
    if not 1 <= size <= MAX_INTEGER:
        raise _malformed("its second line is no number of generations, 1 or more")
    return Checkpoint(
        origin=lines[0],
        size=size,
        root=_root(lines[2]),
        extensions=tuple(lines[3:]),
        signatures=signatures,
    )


def checkpoint_of(reader: PackageReader, generation: ObjectId | None = None) -> Checkpoint:
    """The checkpoint of a package.

    Args:
        reader: The package; every generation of it is read.
        generation: The last one that counts; the head by default.

    Raises:
        NotFoundError: The package has no generation yet, or not this one (``no_generation``).
        IntegrityError: The history doesn't fit together (``broken_history``), or a generation
            is missing or damaged. Only ``vstore verify`` says whether all of it is sound.
        InvalidError, UnsupportedError: A generation can't be read.
    """
    last = reader.pinned() if generation is None else reader.at(generation)
    tree, before = Frontier(), ""
    for oid, _ in reader.history(newest_first=False, start=last.generation_id):
        before = tree.root()
        tree.append(reader.objects.get(oid))
    history = last.generation.history
    if (history.size, history.root) != (tree.size - 1, before):
        raise IntegrityError(
            f"generation {last.number} commits to another history than the package has",
            kind="broken_history",
            hint="vstore verify says what is wrong",
            object=last.generation_id,
        )
    return Checkpoint(origin=origin_of(last.package_id), size=tree.size, root=tree.root())


def _root(line: str) -> Digest:
    decoded = _decoded(line)
    if decoded is None or len(decoded) != HASH_BYTES:
        raise _malformed(f"its third line is not {HASH_BYTES} bytes in Base64")
    return decoded.hex()


def _is_signature(line: str) -> bool:
    found = _SIGNATURE.fullmatch(line)
    decoded = None if found is None else _decoded(found["bytes"])
    return decoded is not None and len(decoded) > _KEY_ID_BYTES


def _decoded(text: str) -> bytes | None:
    """Standard Base64 with its padding, in the one form that encoding gives, or None."""
    try:
        decoded = b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return decoded if b64encode(decoded).decode("ascii") == text else None


def _malformed(why: str) -> InvalidError:
    return InvalidError(
        f"no checkpoint: {why}",
        kind="invalid_checkpoint",
        hint="vstore checkpoint prints one: origin, number of generations, root, an empty line",
    )
