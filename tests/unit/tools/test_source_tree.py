"""Blocks of large files: cut behind LFs, and no answer depends on where."""

from __future__ import annotations

import pytest

from vstore.objects.memory import MemoryObjects
from vstore.objects.tree import Tree
from vstore.testing.pinned import build_tree, pin, source_descriptor
from vstore.tools import source_cache, source_tree
from vstore.tools.reply import ToolResult
from vstore.tools.request import Arguments, QueryLimits, SourceRead, SourceSearch
from vstore.tools.router import Router
from vstore.tools.source_adapter import SourceAdapter

CONTENT = b"one needle\n\ntwo\n" + b"long " * 20 + b"needle\nneedle \xc3\xa9\n\nlast needle"


@pytest.fixture(params=[1, 2, 3, 7, 16, 40])
def block_bytes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(source_tree, "BLOCK_BYTES", request.param)
    monkeypatch.setattr(source_cache, "BLOCK_BYTES", request.param)
    return request.param


def answer(files: dict[bytes, bytes], *questions: Arguments, **limits: int) -> list[ToolResult]:
    objects = MemoryObjects()
    package = pin(objects, [source_descriptor(build_tree(objects, files))])
    router = Router([SourceAdapter()])
    asked = [("H1", f"Q{number}", one) for number, one in enumerate(questions)]
    request = router.request(package, asked, limits=QueryLimits(**limits))
    return router.query(package, request).results


QUESTIONS: list[Arguments] = [
    SourceSearch(source="code", pattern="needle"),
    SourceSearch(source="code", pattern="^$", syntax="re2"),
    SourceSearch(source="code", pattern="needle", limit=2, offset=1),
    SourceRead(source="code", path="f"),
    SourceRead(source="code", path="f", start=3, end=5),
    SourceRead(source="code", path="f", start=6, end=99),
    SourceRead(source="code", path="f", start=8),
]
WHOLE = answer({b"f": CONTENT}, *QUESTIONS)


def test_blocks_hold_whole_lines(block_bytes: int) -> None:
    objects = MemoryObjects()
    tree = objects.document(build_tree(objects, {b"f": CONTENT}), Tree)
    entry = tree.entries[0]
    found = list(source_tree.blocks(objects, entry.object, entry.size))
    assert b"".join(found) == CONTENT
    assert all(block.endswith(b"\n") for block in found[:-1])


def test_answers_do_not_depend_on_blocks(block_bytes: int) -> None:
    assert answer({b"f": CONTENT}, *QUESTIONS) == WHOLE
    assert WHOLE[-1].error is not None


@pytest.mark.parametrize("tail", [b"\0", b"caf\xe9"])
def test_a_file_that_turns_out_not_to_be_text_at_its_end(block_bytes: int, tail: bytes) -> None:
    result = answer({b"f": b"needle\n" * 20 + tail, b"g": b"needle"}, QUESTIONS[0])[0]
    assert result.lines is not None
    assert [one.path for one in result.lines] == ["g"]
    assert result.truncated is not None
    assert result.truncated.skipped_files == 1


def test_limits_hold_across_blocks(block_bytes: int) -> None:
    result = answer({b"f": b"x\n" * 50}, SourceRead(source="code", path="f"), max_matches=4)[0]
    assert result.page is not None
    assert (result.page.returned, result.page.total) == (4, 50)
