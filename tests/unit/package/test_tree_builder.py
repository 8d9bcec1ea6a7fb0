from __future__ import annotations

import random

import pytest

from vstore.errors import InvalidError
from vstore.objects.ids import object_id
from vstore.objects.memory import MemoryObjects
from vstore.objects.tree import MAX_TREE_DEPTH, Tree, check_tree, walk
from vstore.package.tree_builder import TreeBuilder, path_text

EMPTY_TREE = object_id(b'{"entries":[],"schema":"tree-v1"}')


def put(builder: TreeBuilder, sink: MemoryObjects, path: bytes, content: bytes = b"x") -> None:
    builder.add_file(path, sink.put(content), len(content))


def test_no_files_make_the_empty_tree() -> None:
    built = TreeBuilder().build(MemoryObjects())
    assert built.root == EMPTY_TREE
    assert (built.size, built.files, built.links, built.folders) == (0, 0, 0, 0)


def test_the_bytes_of_a_small_tree() -> None:
    sink = MemoryObjects()
    builder = TreeBuilder()
    builder.add_file(b"a-b", sink.put(b"1"), 1, executable=True)
    builder.add_file(b"a/b", sink.put(b"22"), 2)
    builder.add_link(b"l\xff", sink.put(b"../x"), 4)
    built = builder.build(sink)
    inner = (
        f'{{"entries":[{{"executable":false,"kind":"file","name":"b","object":"{object_id(b"22")}"'
        ',"size":2}],"schema":"tree-v1"}'
    ).encode()
    # "a-b" before "a/": folders count as if they ended in a slash.
    outer = (
        f'{{"entries":[{{"executable":true,"kind":"file","name":"a-b","object":"{object_id(b"1")}"'
        f',"size":1}},{{"executable":false,"kind":"tree","name":"a","object":"{object_id(inner)}"'
        ',"size":2},{"executable":false,"kind":"link","name":{"hex":"6cff","type":"bytes"}'
        f',"object":"{object_id(b"../x")}","size":4}}],"schema":"tree-v1"}}'
    ).encode()
    assert sink.get(built.root) == outer
    assert (built.size, built.files, built.links, built.folders) == (7, 2, 1, 1)


def test_order_of_adding_does_not_matter() -> None:
    paths = [b"a", b"a.b/c", b"a-b/d/e", b"z/z", b"z/a", b"a b", "ü".encode(), b"\xff/\xfe"]
    roots = set()
    rng = random.Random(7)
    for _ in range(20):
        rng.shuffle(paths)
        sink = MemoryObjects()
        builder = TreeBuilder()
        for path in paths:
            put(builder, sink, path, path)
        root = builder.build(sink).root
        roots.add(root)
        assert [one.path for one in walk(sink, root)] == sorted(paths)
    assert len(roots) == 1


@pytest.mark.parametrize(
    ("first", "second"),
    [(b"a", b"a"), (b"a", b"a/b"), (b"a/b", b"a"), (b"a/b/c", b"a/b"), (b"a/b", b"a/b/c/d")],
)
def test_two_things_at_one_path_are_refused(first: bytes, second: bytes) -> None:
    sink = MemoryObjects()
    builder = TreeBuilder()
    put(builder, sink, first)
    with pytest.raises(InvalidError) as caught:
        put(builder, sink, second)
    assert caught.value.kind == "path_taken"
    assert caught.value.details["path"] == second.decode()


def test_a_link_takes_its_path_too() -> None:
    sink = MemoryObjects()
    builder = TreeBuilder()
    builder.add_link(b"l", sink.put(b"t"), 1)
    for add in (
        lambda: put(builder, sink, b"l"),
        lambda: put(builder, sink, b"l/x"),
        lambda: builder.add_folder(b"l"),
    ):
        with pytest.raises(InvalidError, match="a file or a link is already"):
            add()


@pytest.mark.parametrize(
    "path", [b"", b"/", b"/a", b"a/", b"a//b", b".", b"..", b"a/../b", b"./a", b"a\0b", b"x" * 256]
)
def test_what_is_no_path_is_refused(path: bytes) -> None:
    sink = MemoryObjects()
    with pytest.raises(InvalidError) as caught:
        put(TreeBuilder(), sink, path)
    assert caught.value.kind == "invalid_path"
    with pytest.raises(InvalidError):
        TreeBuilder().add_folder(path)


def test_the_deepest_tree_can_be_walked_and_no_deeper_one_is_built() -> None:
    sink = MemoryObjects()
    builder = TreeBuilder()
    deepest = b"/".join([b"d"] * (MAX_TREE_DEPTH - 1))
    put(builder, sink, deepest)
    assert [one.path for one in walk(sink, builder.build(sink).root)] == [deepest]
    with pytest.raises(InvalidError) as caught:
        put(builder, sink, deepest + b"/d")
    assert caught.value.kind == "invalid_path"


def test_empty_folders_stay() -> None:
    sink = MemoryObjects()
    builder = TreeBuilder()
    builder.add_folder(b"a/b")
    builder.add_folder(b"a/b")
    built = builder.build(sink)
    assert built.folders == 2
    (entry,) = sink.document(built.root, Tree).entries
    (inner,) = sink.document(entry.object, Tree).entries
    assert (inner.name, inner.object, inner.size) == ("b", EMPTY_TREE, 0)


def test_a_stored_tree_comes_back_the_same() -> None:
    sink = MemoryObjects()
    builder = TreeBuilder()
    put(builder, sink, b"a/b/c", b"1")
    builder.add_file(b"run", sink.put(b"#!"), 2, executable=True)
    builder.add_link(b"\xfflink", sink.put(b"a"), 1)
    builder.add_folder(b"empty/inner")
    root = builder.build(sink).root
    again = TreeBuilder.from_tree(sink, root)
    assert again.build(sink).root == root
    for oid in sink:
        if sink.get(oid).startswith(b'{"entries"'):
            check_tree(sink.document(oid, Tree))


def test_finding_and_removing() -> None:
    sink = MemoryObjects()
    builder = TreeBuilder()
    put(builder, sink, b"a/b", b"1")
    found = builder.find(b"a/b")
    assert found is not None
    assert (found.name, found.object, found.size) == ("b", object_id(b"1"), 1)
    assert builder.find(b"a") is None
    assert builder.find(b"a/b/c") is None
    assert builder.find(b"x") is None
    assert builder.is_folder(b"a")
    assert not builder.is_folder(b"a/b")
    assert not builder.is_folder(b"a/b/c")
    for path in (b"a", b"x/y", b"a/b/c", b"a/x"):
        builder.remove(path)
    assert builder.find(b"a/b") is not None
    builder.remove(b"a/b")
    assert builder.find(b"a/b") is None
    assert builder.is_folder(b"a")


def test_walk_visits_paths_in_byte_order_with_folders() -> None:
    sink = MemoryObjects()
    builder = TreeBuilder()
    for path in (b"b", b"a/x", b"a.txt", b"a/b/c"):
        put(builder, sink, path)
    assert [(path, entry is None) for path, entry in builder.walk()] == [
        (b"a.txt", False),
        (b"a", True),
        (b"a/b", True),
        (b"a/b/c", False),
        (b"a/x", False),
        (b"b", False),
    ]


def test_a_stored_tree_that_is_too_deep_is_refused() -> None:
    sink = MemoryObjects()
    oid = TreeBuilder().build(sink).root
    from vstore.objects.tree import TreeEntry

    for _ in range(MAX_TREE_DEPTH):
        oid = sink.put_document(
            Tree(entries=[TreeEntry(name="d", kind="tree", object=oid, size=0, executable=False)])
        )
    with pytest.raises(InvalidError, match="deep"):
        TreeBuilder.from_tree(sink, oid)


def test_paths_in_messages_are_plain_and_short() -> None:
    assert path_text(b"a/b") == "a/b"
    assert "\x1b" not in path_text(b"\x1b[31mred")
    assert path_text(b"\xff") == r"\xff"
    assert len(path_text(b"x" * 5000)) < 600
