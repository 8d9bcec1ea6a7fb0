"""The ``BUNDLE`` file: what an incremental bundle continues.

A full bundle has none: it is a package, and everything about it follows from its members.
"""

from __future__ import annotations

from typing import Annotated, Final

from vstore.errors import IntegrityError, InvalidError, UnsupportedError, VStoreError
from vstore.objects.canonical import decode, decode_value, encode
from vstore.objects.document import Name, Part, Pinned, Positive
from vstore.objects.ids import ObjectId

__all__ = ["MAX_NEEDS_BYTES", "BundleNeeds", "encode_needs", "parse_needs"]

#: Bytes of the file at the most.
MAX_NEEDS_BYTES: Final = 4096
VERSION: Final = 1


class BundleNeeds(Part, frozen=True, kw_only=True):
    """What an incremental bundle says of itself."""

    #: Version of this file.
    bundle: Annotated[Positive, Pinned]
    case_id: Annotated[Name, Pinned]
    package_id: Annotated[Name, Pinned]
    #: The generation that whoever reads it must have, with everything that it names.
    since: Annotated[ObjectId, Pinned]
    #: Its number.
    since_generation: Annotated[Positive, Pinned]
    #: The generation that it leads to.
    head: Annotated[ObjectId, Pinned]
    head_generation: Annotated[Positive, Pinned]


def encode_needs(needs: BundleNeeds) -> bytes:
    """The bytes of the file: canonical JSON and a line end."""
    return encode(needs) + b"\n"


def parse_needs(raw: bytes) -> BundleNeeds:
    """Read the file strictly.

    Raises:
        UnsupportedError: Another version of it.
        IntegrityError: It is damaged.
    """
    try:
        claimed = decode_value(raw, max_bytes=MAX_NEEDS_BYTES, canonical=False)
        version = claimed.get("bundle") if isinstance(claimed, dict) else None
        if type(version) is int and version != VERSION:
            raise UnsupportedError(
                "an incremental bundle of a version that this vstore doesn't know",
                kind="unsupported_bundle",
                hint="a newer vstore may be able to read it",
            )
        if not raw.endswith(b"\n"):
            raise InvalidError("no line end", kind="invalid_document")
        return decode(raw[:-1], BundleNeeds, max_bytes=MAX_NEEDS_BYTES)
    except UnsupportedError:
        raise
    except VStoreError as error:
        raise IntegrityError(
            "the file that says what the bundle continues is damaged",
            kind="bad_bundle",
            file="BUNDLE",
        ) from error
