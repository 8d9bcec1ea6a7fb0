from __future__ import annotations

import pytest

from vstore.controller import bundles
from vstore.objects.canonical import encode
from vstore.objects.decoding import DocumentDecoder
from vstore.objects.document import registered
from vstore.objects.ids import ObjectId, object_id
from vstore.objects.reader import ObjectReader
from vstore.objects.reference_decoder import ReferenceDecoder
from vstore.objects.tree import Tree, TreeEntry
from vstore.testing.investigation import small_investigation
from vstore.verify import decoding


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    """Every document of a small investigation."""
    folder = tmp_path_factory.mktemp("documents")
    small_investigation(folder / "package", folder).close()
    reader = ObjectReader(folder / "package")
    found = [
        content
        for frame in reader.frames()
        for entry, content in reader.frame_objects(frame)
        if entry.kind == "document" and content is not None
    ]
    reader.close()
    return found


def test_finds_what_the_full_decoder_finds(documents: list[bytes]) -> None:
    bundles._know_documents()
    full, fast = DocumentDecoder(), ReferenceDecoder()
    kinds = set()
    for content in documents:
        expected = full.read(content)
        found = fast.read(content)
        assert expected is not None
        assert found is not None
        assert sorted(found.objects + found.contents) == sorted(expected.references)
        kinds.add(type(expected.document))
    assert len(kinds) >= 14
    assert any(full.read(one).references for one in documents)  # type: ignore[union-attr]


def test_tells_content_from_folders() -> None:
    def entry(name: str, kind: str) -> TreeEntry:
        oid = object_id(name.encode())
        return TreeEntry(name=name, kind=kind, object=oid, size=0, executable=False)  # type: ignore[arg-type]

    tree = Tree(entries=[entry("a", "file"), entry("b", "tree"), entry("c", "link")])
    found = ReferenceDecoder().read(encode(tree))
    assert found is not None
    assert found.objects == [object_id(b"b")]
    assert found.contents == [object_id(b"a"), object_id(b"c")]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}",
        b"[]",
        b"\xff",
        b'{"schema":"later-v1"}',
        b'{"schema":"tree-v1","entries":1}',
        b'{"schema":"tree-v1","entries":[{"object":"b3:short"}]}',
        b'{"schema":"tree-v1","entries":[{"object":["x"]}]}',
        b"[" * 100_000,
    ],
)
def test_what_is_no_document(content: bytes) -> None:
    assert ReferenceDecoder().read(content) is None


def test_bundles_and_the_verifier_know_the_same_documents() -> None:
    import subprocess
    import sys

    script = (
        "from vstore.{0} import {1}; {1}.{2}()\n"
        "from vstore.objects.document import registered\n"
        "print(sorted(registered()))\n"
    )
    said = [
        subprocess.run(
            [sys.executable, "-c", script.format(*names)],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for names in (
            ("controller", "bundles", "_know_documents"),
            ("verify", "decoding", "_import_all"),
        )
    ]
    assert said[0] == said[1]
    assert decoding.DocumentDecoder().decode(encode(Tree(entries=[]))).references == ()
    assert ObjectId("0" * 64)
    assert "tree-v1" in registered()
