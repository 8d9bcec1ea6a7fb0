"""Any folder that a file system can hold comes back from its tree exactly."""

from __future__ import annotations

import os
import tempfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vstore.errors import InvalidError
from vstore.objects.memory import MemoryObjects
from vstore.objects.tree import Tree, check_tree, walk
from vstore.package.folder import capture_folder
from vstore.package.tree_builder import TreeBuilder

names = (
    st.binary(min_size=1, max_size=12)
    | st.sampled_from([b"a", b"b", b"a.b", b"a-b", b"A", "é".encode(), "e\u0301".encode(), b"\xff"])
).filter(lambda name: name not in (b".", b"..") and b"/" not in name and b"\0" not in name)
paths = st.lists(names, min_size=1, max_size=4).map(b"/".join)
leaves = st.tuples(
    st.sampled_from(["file", "program", "link"]),
    st.binary(min_size=1, max_size=20).map(lambda content: content.replace(b"\0", b"\n")),
)


def prefixes(path: bytes) -> list[bytes]:
    parts = path.split(b"/")
    return [b"/".join(parts[:count]) for count in range(1, len(parts))]


@st.composite
def folders(draw: st.DrawFn) -> dict[bytes, tuple[str, bytes]]:
    """Paths to what stands there, none of which is in the way of another."""
    found: dict[bytes, tuple[str, bytes]] = {}
    taken: set[bytes] = set()
    for path, leaf in draw(st.lists(st.tuples(paths, leaves), max_size=12)):
        above = prefixes(path)
        if path in taken or path in found or any(one in found for one in above):
            continue
        found[path] = leaf
        taken.update(above)
    return found


@settings(max_examples=60, deadline=None)
@given(folders(), st.randoms(use_true_random=False))
def test_a_folder_comes_back(content: dict[bytes, tuple[str, bytes]], rng: object) -> None:
    order = list(content)
    rng.shuffle(order)  # type: ignore[attr-defined]
    with tempfile.TemporaryDirectory() as name:
        base = os.fsencode(name)
        for path in order:
            kind, raw = content[path]
            os.makedirs(os.path.dirname(base + b"/" + path), exist_ok=True)  # noqa: PTH103, PTH120
            where = base + b"/" + path
            if kind == "link":
                os.symlink(raw, where)  # noqa: PTH211
                continue
            with open(where, "wb") as stream:  # noqa: PTH123
                stream.write(raw)
            os.chmod(where, 0o755 if kind == "program" else 0o644)  # noqa: PTH101
        sink = MemoryObjects()
        from pathlib import Path

        captured = capture_folder(Path(name), sink)
    found = {}
    for one in walk(sink, captured.root):
        kind = one.entry.kind
        if one.entry.executable:
            kind = "program"  # type: ignore[assignment]
        found[one.path] = (kind, sink.get(one.entry.object))
    assert found == content
    assert list(found) == sorted(content)
    assert captured.files + captured.links == len(content)
    assert captured.size == sum(len(raw) for _, raw in content.values())
    assert captured.folders == len({one for path in content for one in prefixes(path)})


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(paths, st.binary(max_size=3)), max_size=15))
def test_a_builder_is_a_dict_of_paths_that_fit_together(
    additions: list[tuple[bytes, bytes]],
) -> None:
    model: dict[bytes, bytes] = {}
    sink = MemoryObjects()
    builder = TreeBuilder()
    for path, content in additions:
        collides = (
            path in model
            or any(one in model for one in prefixes(path))
            or any(path in prefixes(other) for other in model)
        )
        if collides:
            with pytest.raises(InvalidError):
                builder.add_file(path, sink.put(content), len(content))
        else:
            builder.add_file(path, sink.put(content), len(content))
            model[path] = content
    built = builder.build(sink)
    assert {one.path: sink.get(one.entry.object) for one in walk(sink, built.root)} == model
    assert TreeBuilder.from_tree(sink, built.root).build(sink) == built
    check_tree(sink.document(built.root, Tree))
