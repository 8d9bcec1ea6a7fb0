from __future__ import annotations

import pytest

from vstore.errors import InvalidError, LimitExceeded, UnsupportedError, VStoreError
from vstore.objects.canonical import decode_document, encode, references
from vstore.objects.document import registered
from vstore.objects.ids import object_id
from vstore.objects.plain_json import MAX_DOCUMENT_BYTES
from vstore.objects.tree import Tree, TreeEntry
from vstore.verify.decoding import DocumentDecoder

TREE = encode(
    Tree(
        entries=[
            TreeEntry(
                name=name, kind="file", object=object_id(name.encode()), size=1, executable=False
            )
            for name in ("a", "b")
        ]
    )
)


@pytest.fixture(scope="module")
def decoder() -> DocumentDecoder:
    return DocumentDecoder()


def test_gives_the_document_and_what_it_names(decoder: DocumentDecoder) -> None:
    document, found = decoder.decode(TREE)
    assert document == decode_document(TREE)
    assert list(found) == references(TREE, Tree) == [object_id(b"a"), object_id(b"b")]
    # What one call found is not found again by the next.
    assert decoder.decode(b'{"entries":[],"schema":"tree-v1"}').references == ()


def test_knows_every_document_type(decoder: DocumentDecoder) -> None:
    assert {
        "budget-ledger-v1", "budget-policy-v1", "database-content-v1", "database-rows-v1",
        "database-schema-v1", "evidence-content-v1", "evidence-index-v1", "evidence-record-v1",
        "hypotheses-v1", "package-generation-v1", "snapshot-descriptor-v1", "tool-reply-v1",
        "tool-request-v1", "tree-v1",
    } <= set(registered())  # fmt: skip


@pytest.mark.parametrize(
    ("data", "error", "kind"),
    [
        (b"", InvalidError, "invalid_json"),
        (b"[]", InvalidError, "invalid_document"),
        (b"[" * 100_000, InvalidError, "invalid_document"),
        (b'{"entries":[],"schema":"tree-v1"} ', InvalidError, "not_canonical"),
        (b'{"entries":[],"entries":[],"schema":"tree-v1"}', InvalidError, "not_canonical"),
        (b'{"schema":"tree-v1","entries":[]}', InvalidError, "not_canonical"),
        (b'\xef\xbb\xbf{"entries":[],"schema":"tree-v1"}', InvalidError, "invalid_json"),
        (b'{"entries":[],"extra":1,"schema":"tree-v1"}', InvalidError, "invalid_document"),
        (b'{"entries":1,"schema":"tree-v1"}', InvalidError, "invalid_document"),
        (TREE.replace(b"b3:", b"b4:"), InvalidError, "invalid_document"),
        (b'{"entries":[],"schema":"tree-v2"}', UnsupportedError, "unsupported_schema"),
    ],
)
def test_refuses_as_the_strict_reader_does(
    decoder: DocumentDecoder, data: bytes, error: type[VStoreError], kind: str
) -> None:
    with pytest.raises(error) as strict:
        decode_document(data)
    with pytest.raises(error) as caught:
        decoder.decode(data)
    assert caught.value.kind == strict.value.kind == kind


def test_refuses_what_is_too_large(decoder: DocumentDecoder) -> None:
    with pytest.raises(LimitExceeded):
        decoder.decode(bytes(MAX_DOCUMENT_BYTES + 1))
