from __future__ import annotations

import pytest

from vstore.errors import IntegrityError
from vstore.objects.canonical import encode
from vstore.objects.document import Document
from vstore.objects.ids import ObjectId, object_id
from vstore.objects.memory import MemoryObjects
from vstore.objects.reference_decoder import ReferenceDecoder
from vstore.objects.tree import Tree, TreeEntry
from vstore.package.documents import Coverage, Origin, SnapshotDescriptor
from vstore.package.reachable import References


class _Store:
    """Objects, and which of them were stored as documents."""

    def __init__(self) -> None:
        self.objects = MemoryObjects()
        self.documents: set[ObjectId] = set()

    def blob(self, content: bytes) -> ObjectId:
        return self.objects.put(content)

    def document(self, document: Document) -> ObjectId:
        oid = self.objects.put_document(document)
        self.documents.add(oid)
        return oid

    def tree(self, **entries: tuple[str, ObjectId]) -> Tree:
        return Tree(
            entries=[
                TreeEntry(
                    name=name,
                    kind=kind,  # type: ignore[arg-type]
                    object=oid,
                    size=0 if kind == "tree" else self.objects.size(oid),
                    executable=False,
                )
                for name, (kind, oid) in entries.items()
            ]
        )

    def reachable(self, *roots: ObjectId) -> set[ObjectId]:
        references = References(ReferenceDecoder(), self.objects.get)
        for oid in self.objects:
            references.note(oid, self.objects.get(oid), is_document=oid in self.documents)
        return references.reachable(roots)


def _descriptor(content: ObjectId) -> SnapshotDescriptor:
    return SnapshotDescriptor(
        name="code",
        kind="source",
        content=content,
        origin=Origin(kind="directory", label=str(object_id(b"lost")), digest=None),
        coverage=Coverage(kind="complete", statement="all"),
    )


def test_follows_members_that_are_ids_and_no_texts() -> None:
    store = _Store()
    store.blob(b"lost")
    file = store.blob(b"file")
    inner = store.document(store.tree(f=("file", file)))
    root = store.document(store.tree(d=("tree", inner), l=("link", store.blob(b"target"))))
    descriptor = store.document(_descriptor(root))
    assert store.reachable(descriptor) == {
        descriptor,
        root,
        inner,
        file,
        object_id(b"target"),
    }
    assert store.reachable(inner, file) == {inner, file}
    assert store.reachable() == set()


def test_a_file_leads_nowhere_even_when_it_looks_like_a_document() -> None:
    store = _Store()
    named = store.blob(b"named")
    looks = _descriptor(named)
    raw = store.blob(encode(looks))
    as_file = store.document(store.tree(f=("file", raw)))
    assert store.reachable(as_file) == {as_file, raw}
    # Used as a document it leads where it says, however it was stored; in either order.
    as_tree = store.document(store.tree(a=("file", raw), b=("tree", raw)))
    assert store.reachable(as_tree) == {as_tree, raw, named}
    assert store.reachable(as_file, as_tree) == {as_file, as_tree, raw, named}
    assert store.reachable(as_tree, as_file) == {as_file, as_tree, raw, named}


def test_a_document_of_an_unknown_schema_keeps_every_id_that_it_has() -> None:
    store = _Store()
    named, other = store.blob(b"named"), store.blob(b"other")
    text = f'{{"schema":"later-v9","a":["{named}","{object_id(b"absent")}"],"b":"x {other}"}}'
    later = store.blob(text.encode())
    store.documents.add(later)
    assert store.reachable(later) == {later, named}


def test_what_is_named_must_be_there() -> None:
    store = _Store()
    absent = object_id(b"absent")
    root = store.document(store.tree(f=("tree", absent)))
    with pytest.raises(IntegrityError) as caught:
        store.reachable(root)
    assert caught.value.kind == "missing_object"
    assert caught.value.details["object"] == absent
    with pytest.raises(IntegrityError):
        store.reachable(absent)


def test_an_id_that_is_none_is_not_shown() -> None:
    references = References(ReferenceDecoder(), MemoryObjects().get)
    evil = "\x1b[2J" + "x" * 63
    content = encode(_descriptor(object_id(b"x"))).replace(
        str(object_id(b"x")).encode(), evil.encode().replace(b"\x1b", b"\\u001b")
    )
    references.note(object_id(content), content, is_document=True)
    with pytest.raises(IntegrityError) as caught:
        references.reachable([object_id(content)])
    assert "\x1b" not in str(caught.value) + str(caught.value.details)


def test_withheld_and_large_objects() -> None:
    references = References(ReferenceDecoder(), MemoryObjects().get)
    withheld, large = object_id(b"w"), object_id(b"l")
    references.note_size(withheld, 5, withheld=True)
    references.note_size(large, 1 << 40)
    assert references.reachable([withheld, large]) == {withheld, large}
    assert (references.size(withheld), references.size(large)) == (0, 1 << 40)
