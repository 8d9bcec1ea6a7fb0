"""Packs taken apart and put together again, with every digest set right: what a forger does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import zstandard
from blake3 import blake3

from vstore.objects.pack import (
    PACK_MAGIC,
    TRAILER_BYTES,
    BlockPlace,
    PackedSegment,
    PackTrailer,
    encode_directory,
    encode_trailer,
    parse_directory,
    parse_trailer,
)

__all__ = ["PackParts", "read_parts", "rewrite_pack"]

Change = Callable[[bytes], bytes]


@dataclass(slots=True)
class PackParts:
    """A pack in its parts."""

    dictionary: bytes
    #: As they are stored.
    blocks: list[bytes]
    torn: bytes
    segments: list[PackedSegment]
    places: list[BlockPlace]
    index: bytes
    trailer: PackTrailer
    #: Members of the trailer that are not what follows from the rest.
    claims: dict[str, object] = field(default_factory=dict)

    def raw(self, number: int) -> bytes:
        """A block, uncompressed."""
        dictionary = zstandard.ZstdCompressionDict(self.dictionary) if self.dictionary else None
        return zstandard.ZstdDecompressor(dict_data=dictionary).decompress(self.blocks[number])

    def set_raw(self, number: int, raw: bytes) -> None:
        """Give a block another content; its place follows."""
        dictionary = zstandard.ZstdCompressionDict(self.dictionary) if self.dictionary else None
        self.set_stored(number, zstandard.ZstdCompressor(dict_data=dictionary).compress(raw))
        self.places[number] = self.places[number]._replace(raw=len(raw))

    def set_stored(self, number: int, stored: bytes) -> None:
        """Give a block other stored bytes; length and digest follow."""
        self.blocks[number] = stored
        self.places[number] = self.places[number]._replace(
            stored=len(stored), digest=blake3(stored).digest()
        )

    def join(self) -> bytes:
        """The pack; lengths and digests follow from its parts."""
        start = PACK_MAGIC + self.dictionary
        directory = encode_directory(self.segments, self.places)
        trailer = self.trailer._replace(
            dictionary_length=len(self.dictionary),
            segments=len(self.segments),
            blocks=len(self.places),
            torn_length=len(self.torn),
            directory_length=len(directory),
            index_length=len(self.index),
            start_digest=blake3(start).digest(),
            torn_digest=blake3(self.torn).digest(),
            directory_digest=blake3(directory).digest(),
            index_digest=blake3(self.index).digest(),
        )
        trailer = trailer._replace(**self.claims)  # type: ignore[arg-type]
        return b"".join(
            (start, *self.blocks, self.torn, directory, self.index, encode_trailer(trailer))
        )


def read_parts(path: Path) -> PackParts:
    """Take a sound pack apart."""
    raw = path.read_bytes()
    trailer = parse_trailer(raw[-TRAILER_BYTES:])
    assert trailer is not None
    end = len(raw) - TRAILER_BYTES
    index = raw[end - trailer.index_length : end]
    end -= trailer.index_length
    found = parse_directory(raw[end - trailer.directory_length : end], trailer)
    assert found is not None
    end -= trailer.directory_length
    torn = raw[end - trailer.torn_length : end]
    at = len(PACK_MAGIC) + trailer.dictionary_length
    blocks: list[bytes] = []
    for place in found[1]:
        blocks.append(raw[at : at + place.stored])
        at += place.stored
    dictionary = raw[len(PACK_MAGIC) : len(PACK_MAGIC) + trailer.dictionary_length]
    return PackParts(dictionary, blocks, torn, found[0], found[1], index, trailer)


def rewrite_pack(path: Path, *, index: Change | None = None) -> None:
    """Change a part of a pack and set right every digest over it."""
    parts = read_parts(path)
    if index is not None:
        parts.index = index(parts.index)
    path.write_bytes(parts.join())
