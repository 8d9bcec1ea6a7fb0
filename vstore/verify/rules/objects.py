"""VS-OBJ: digests, canonical form, schemas, references."""

from __future__ import annotations

from typing import Final

from vstore.verify.findings import Hint, Rule

__all__ = ["RULES"]

_DISTRUST: Final = (
    "No vstore writes this: find out what did, and get the package from somebody who verified it."
)

RULES: Final = (
    Rule(
        code="VS-OBJ-001",
        slug="digest-mismatch",
        severity="error",
        summary="an object's bytes have another digest than its id says",
        hint=Hint(
            "The bytes are not the ones that were recorded under this id.",
            "Everything that doesn't refer to the object.",
            "Get another copy of the package; this object's true bytes are named by its id.",
        ),
    ),
    Rule(
        code="VS-OBJ-002",
        slug="not-canonical",
        severity="error",
        summary="a document is not in canonical form",
        hint=Hint(
            "The same facts have exactly one legal encoding, and this is another one, so equal "
            "documents would have different ids.",
            "Its members were not checked further; whatever builds on it is in doubt.",
            _DISTRUST,
        ),
    ),
    Rule(
        code="VS-OBJ-003",
        slug="invalid-document",
        severity="error",
        summary="a document is not what its schema says",
        hint=Hint(
            "A member is absent, unknown, of another type, or out of bounds.",
            "Whatever doesn't build on the document.",
            _DISTRUST,
        ),
    ),
    Rule(
        code="VS-OBJ-004",
        slug="unknown-schema",
        severity="warning",
        incomplete=True,
        summary="a document has a schema that this version doesn't know",
        hint=Hint(
            "A later version of vstore wrote it. Its bytes are kept, its meaning can't be judged.",
            "Everything that doesn't build on it.",
            "Verify the package with a newer vstore.",
        ),
    ),
    Rule(
        code="VS-OBJ-005",
        slug="dangling",
        severity="error",
        summary="a document refers to an object that is not in the package",
        hint=Hint(
            "Something that was recorded is missing.",
            "Whatever doesn't build on the missing object.",
            "Get another copy of the package; the missing object is named by its id.",
        ),
    ),
    Rule(
        code="VS-OBJ-006",
        slug="unreachable",
        severity="note",
        bundle="error",
        summary="an object belongs to no generation",
        hint=Hint(
            "An import was interrupted before its publication.",
            "Everything: no recorded fact refers to it.",
            "Nothing need be done; it never travels in a bundle.",
        ),
    ),
    Rule(
        code="VS-OBJ-007",
        slug="wrong-type",
        severity="error",
        summary="a reference leads to an object of another type",
        hint=Hint(
            "A member that must name, say, a tree or a record names something else.",
            "Whatever doesn't build on the document that refers.",
            _DISTRUST,
        ),
    ),
    Rule(
        code="VS-OBJ-008",
        slug="withheld",
        severity="warning",
        incomplete=True,
        summary="an object's bytes were withheld",
        hint=Hint(
            "Somebody removed the bytes on purpose and left id and size; this version can't tell "
            "whether that was allowed.",
            "Everything that doesn't need these bytes.",
            "Verify the package with a newer vstore, or get one with the object in it.",
        ),
    ),
    Rule(
        code="VS-OBJ-009",
        slug="over-limit",
        severity="warning",
        incomplete=True,
        summary="an object is larger than this verifier reads",
        hint=Hint(
            "A limit of the reader was reached; that says nothing about the package.",
            "What was read was checked.",
            "Verify with a wider limit if you trust where the package came from.",
        ),
    ),
    Rule(
        code="VS-OBJ-010",
        slug="repeated",
        severity="note",
        bundle="error",
        summary="an object is stored more than once",
        hint=Hint(
            "Two writers stored the same bytes, or a frame was copied.",
            "Everything: both copies have the digest that their id says.",
            "Nothing need be done.",
        ),
    ),
)
