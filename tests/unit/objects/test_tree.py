"""Trees: what is a legal one, and walking them."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vstore.errors import InvalidError, LimitExceeded, NotFoundError
from vstore.objects.ids import ObjectId, object_id
from vstore.objects.memory import MemoryObjects
from vstore.objects.text import RawText, Text, text_from_bytes
from vstore.objects.tree import Tree, TreeEntry, check_name, check_tree, sort_key, walk

OID = object_id(b"")
Kind = Literal["file", "tree", "link"]


def entry(
    name: bytes | Text, kind: Kind = "file", oid: ObjectId = OID, *, executable: bool = False
) -> TreeEntry:
    text = text_from_bytes(name) if isinstance(name, bytes) else name
    return TreeEntry(name=text, kind=kind, object=oid, size=0, executable=executable)


def tree_of(*entries: TreeEntry) -> Tree:
    return Tree(entries=list(entries))


def put_files(objects: MemoryObjects, files: dict[bytes, bytes]) -> ObjectId:
    """A nested tree of these paths, built by brute force."""
    here: dict[bytes, TreeEntry] = {}
    below: dict[bytes, dict[bytes, bytes]] = {}
    for path, content in files.items():
        name, slash, rest = path.partition(b"/")
        if slash:
            below.setdefault(name, {})[rest] = content
        else:
            here[name] = entry(name, oid=objects.put(content))
    for name, inner in below.items():
        here[name] = entry(name, "tree", put_files(objects, inner))
    return objects.put_document(tree_of(*sorted(here.values(), key=sort_key)))


def paths(files: set[bytes]) -> set[bytes]:
    """Without those that are also a folder of another."""
    return {one for one in files if not any(other.startswith(one + b"/") for other in files)}


names = st.sampled_from([b"a", b"b", b"a.b", b"a-b", b"a0", b"\xff", "é".encode(), b"a b", b"A"])


@given(st.sets(st.lists(names, min_size=1, max_size=4).map(b"/".join), max_size=12).map(paths))
def test_a_walk_is_in_byte_order_of_whole_paths(all_paths: set[bytes]) -> None:
    objects = MemoryObjects()
    root = put_files(objects, {path: path for path in all_paths})
    walked = list(walk(objects, root))
    assert [one.path for one in walked] == sorted(all_paths)
    assert [objects.get(one.entry.object) for one in walked] == sorted(all_paths)
    under = list(walk(objects, root, under=b"x/y"))
    assert [one.path for one in under] == [b"x/y/" + path for path in sorted(all_paths)]


@pytest.mark.parametrize(
    "entries",
    [
        [],
        [entry(b"a"), entry(b"b")],
        [entry(b"a"), entry(b"a.b"), entry(b"a0")],
        [entry(b"a-b"), entry(b"a", "tree"), entry(b"a0")],
        [entry(b"a", "link"), entry(b"\xff"), entry(b"\xff\xff")],
        [entry(b"..."), entry(b".a", executable=True), entry(b"a" * 255)],
        [entry(b" "), entry(b"a\\b\n\x1b"), entry("\u202e".encode())],
    ],
)
def test_legal_trees(entries: list[TreeEntry]) -> None:
    expected = [
        one.name.encode() if isinstance(one.name, str) else bytes.fromhex(one.name.hex)
        for one in entries
    ]
    assert check_tree(tree_of(*entries)) == expected


@pytest.mark.parametrize(
    ("entries", "kind"),
    [
        ([entry(b"b"), entry(b"a")], "invalid_tree"),
        ([entry(b"a"), entry(b"a")], "invalid_tree"),
        ([entry(b"a"), entry(b"a", "tree")], "invalid_tree"),
        ([entry(b"a"), entry(b"a.b"), entry(b"a", "tree")], "invalid_tree"),
        ([entry(b"a", "tree"), entry(b"a-b")], "invalid_tree"),
        ([entry(b"a", "tree", executable=True)], "invalid_tree"),
        ([entry(b"a", "link", executable=True)], "invalid_tree"),
        ([entry(b"")], "invalid_tree_name"),
        ([entry(b".")], "invalid_tree_name"),
        ([entry(b"..")], "invalid_tree_name"),
        ([entry(b"a/b")], "invalid_tree_name"),
        ([entry(b"a\0")], "invalid_tree_name"),
        ([entry(b"a" * 256)], "invalid_tree_name"),
        ([entry(("é" * 128).encode())], "invalid_tree_name"),
        ([entry(RawText("61"))], "not_canonical"),
    ],
)
def test_illegal_trees(entries: list[TreeEntry], kind: str) -> None:
    objects = MemoryObjects()
    root = objects.put_document(tree_of(*entries))
    calls: list[Any] = [lambda: check_tree(tree_of(*entries)), lambda: list(walk(objects, root))]
    for call in calls:
        with pytest.raises(InvalidError) as caught:
            call()
        assert caught.value.kind == kind


def test_names() -> None:
    check_name(b"a" * 255)
    check_name(b"...")
    for name in (b"", b".", b"..", b"/", b"a/", b"\0", b"a" * 256):
        with pytest.raises(InvalidError):
            check_name(name)


def nested(objects: MemoryObjects, depth: int) -> ObjectId:
    root = objects.put_document(tree_of(entry(b"f")))
    for _ in range(depth - 1):
        root = objects.put_document(tree_of(entry(b"d", "tree", root)))
    return root


def test_depth() -> None:
    objects = MemoryObjects()
    for most in (1, 2, 5):
        (only,) = walk(objects, nested(objects, most), max_depth=most)
        assert only.path == b"d/" * (most - 1) + b"f"
        with pytest.raises(InvalidError):
            list(walk(objects, nested(objects, most + 1), max_depth=most))
    assert len(list(walk(objects, nested(objects, 64)))) == 1
    with pytest.raises(InvalidError):
        list(walk(objects, nested(objects, 65)))


def test_a_tree_that_explodes_is_left() -> None:
    """Sixty trees describe 2^60 empty folders; no file would ever be yielded."""
    objects = MemoryObjects()
    root = objects.put_document(tree_of())
    for _ in range(60):
        root = objects.put_document(tree_of(entry(b"a", "tree", root), entry(b"b", "tree", root)))
    with pytest.raises(LimitExceeded) as caught:
        list(walk(objects, root, max_entries=1_000))
    assert caught.value.details == {"limit": "max_entries", "value": 1_000, "asked": 1_001}


def test_the_number_of_entries_may_be_the_limit() -> None:
    objects = MemoryObjects()
    root = put_files(objects, {b"a/b": b"", b"c": b""})
    assert len(list(walk(objects, root, max_entries=3))) == 2
    with pytest.raises(LimitExceeded):
        list(walk(objects, root, max_entries=2))


def test_an_absent_tree() -> None:
    objects = MemoryObjects()
    root = objects.put_document(tree_of(entry(b"a"), entry(b"b", "tree")))
    visited = walk(objects, root)
    assert next(visited).path == b"a"
    with pytest.raises(NotFoundError):
        next(visited)
