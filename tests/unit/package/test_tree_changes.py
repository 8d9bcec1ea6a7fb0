"""What differs between two trees, held against a comparison of all their paths."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vstore.errors import InvalidError, LimitExceeded, NotFoundError
from vstore.objects.ids import ObjectId, object_id
from vstore.objects.memory import MemoryObjects
from vstore.objects.tree import MAX_TREE_DEPTH, Tree, TreeEntry, walk
from vstore.package.tree_builder import TreeBuilder
from vstore.package.tree_changes import tree_changes

Files = dict[bytes, tuple[bytes, bool]]
NAMES = st.sampled_from([b"a", b"b", b"a.b", b"a-b", b"\xff", b"d"])
PATHS = st.lists(NAMES, min_size=1, max_size=3).map(b"/".join)
FILES = st.dictionaries(PATHS, st.tuples(st.sampled_from([b"", b"1"]), st.booleans()), max_size=8)


def built(files: Files) -> tuple[MemoryObjects, ObjectId]:
    objects, builder = MemoryObjects(), TreeBuilder()
    for path, (content, executable) in files.items():
        builder.add_file(path, objects.put(content), len(content), executable=executable)
    return objects, builder.build(objects).root


def possible(files: Files) -> bool:
    return not any(other.startswith(path + b"/") for path in files for other in files)


@settings(deadline=None)
@given(before=FILES.filter(possible), after=FILES.filter(possible))
def test_every_path_that_differs_and_no_other(before: Files, after: Files) -> None:
    found = list(tree_changes(built(before), built(after)))
    kinds = {}
    for path in {*before, *after}:
        if before.get(path) != after.get(path):
            kinds[path] = (
                "added" if path not in before else "removed" if path not in after else "changed"
            )
    assert {one.path: one.kind for one in found} == kinds
    assert [one.path for one in found] == sorted(kinds)


def test_no_tree_and_a_folder_alone() -> None:
    objects, builder = MemoryObjects(), TreeBuilder()
    builder.add_folder(b"empty")
    root = builder.build(objects).root
    (one,) = tree_changes((objects, None), (objects, root))
    assert (one.path, one.kind) == (b"empty/", "added")
    (one,) = tree_changes((objects, root), (objects, None))
    assert (one.path, one.kind) == (b"empty/", "removed")
    assert list(tree_changes((objects, None), (objects, None))) == []


def test_equal_folders_are_never_read() -> None:
    before, root = built({b"same/a": (b"1", False), b"x": (b"", False)})
    after, other = built({b"same/a": (b"1", False), b"y": (b"", False)})
    (same,) = (one.object for one in before.document(root, Tree).entries if one.kind == "tree")

    class Lacking(MemoryObjects):
        def document(self, oid: ObjectId, kind: type) -> object:  # type: ignore[override]
            assert oid != same
            return super().document(oid, kind)

    for objects in (before, after):
        objects.__class__ = Lacking
    found = [(one.path, one.kind) for one in tree_changes((before, root), (after, other))]
    assert found == [(b"x", "removed"), (b"y", "added")]


def test_bounds() -> None:
    before, after = built({}), built({b"a": (b"", False), b"b": (b"", False)})
    with pytest.raises(LimitExceeded):
        list(tree_changes(before, after, max_entries=1))
    assert len(list(tree_changes(before, after, max_entries=2))) == 2
    objects = MemoryObjects()
    trees = [objects.put_document(Tree(entries=[])), object_id(b"absent")]
    for number, oid in enumerate(trees):
        for _ in range(MAX_TREE_DEPTH + 1):
            entry = TreeEntry(name="d", kind="tree", object=oid, size=number, executable=False)
            oid = objects.put_document(Tree(entries=[entry]))
        trees[number] = oid
    with pytest.raises(InvalidError):
        list(tree_changes((objects, trees[0]), (objects, trees[1])))
    with pytest.raises(NotFoundError):
        list(tree_changes((objects, object_id(b"absent")), (objects, None)))


def test_a_malformed_tree() -> None:
    objects = MemoryObjects()
    entry = TreeEntry(name="..", kind="file", object=object_id(b""), size=0, executable=False)
    bad = objects.put_document(Tree(entries=[entry]))
    with pytest.raises(InvalidError):
        list(tree_changes((objects, bad), (objects, None)))
    with pytest.raises(InvalidError):
        list(walk(objects, bad))
