"""``source.search`` and ``source.read``: located lines of a source snapshot.

A line ends at an LF and nowhere else; a CR before it belongs to the line. Files are
visited in byte order of their paths. A file with NUL or invalid UTF-8 is not searched but
counted; it can be read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

from vstore.objects.ids import ObjectId
from vstore.objects.memory import ObjectSource
from vstore.objects.text import text_from_bytes
from vstore.objects.tree import PathEntry
from vstore.tools.adapter import QueryRefused
from vstore.tools.items import SourceLine, line_text
from vstore.tools.paging import PageFiller
from vstore.tools.reply import Page, Truncation
from vstore.tools.request import QueryLimits, SourceRead, SourceSearch
from vstore.tools.source_cache import SourceCache, TextFiles
from vstore.tools.source_index import Stretch
from vstore.tools.source_matcher import Matcher, compile_matcher, count_lines, matching_lines
from vstore.tools.source_pattern import PatternError
from vstore.tools.source_tree import find_file

__all__ = ["LinesFound", "read_lines", "search_lines"]


class LinesFound:
    """Lines found, with what the page shows of them and what was left out."""

    def __init__(self, lines: list[SourceLine], page: Page, truncated: Truncation | None) -> None:
        self.lines = lines
        self.page = page
        self.truncated = truncated


def search_lines(
    objects: ObjectSource,
    root: ObjectId,
    question: SourceSearch,
    limits: QueryLimits,
    cache: SourceCache,
) -> LinesFound:
    """Lines that match, one hit for each; all of them are counted.

    A file is looked at whole or not at all: the scan stops before the file that would take
    it past ``max_bytes_scanned``, and then the total is not known.

    Raises:
        QueryRefused: ``bad_pattern``, ``unknown_path``, ``not_a_file``, ``bad_path``.
    """
    try:
        matcher = compile_matcher(question)
    except PatternError as error:
        raise QueryRefused("bad_pattern", f"the pattern is refused: {error}") from error
    selection = cache.select(objects, root, question.under)
    filler: PageFiller[SourceLine] = PageFiller(
        limits, offset=question.offset, limit=question.limit
    )
    stopped_by = None
    if selection.size <= limits.max_bytes_scanned:
        texts = cache.texts(objects, root, question.under, selection)
    else:
        stopped_by = "max_bytes_scanned"
        texts = _texts_within(objects, selection.files, limits.max_bytes_scanned, cache)
    for file, stretches in cache.narrow(objects, root, texts, matcher.required):
        content = cache.blocks(objects, file.entry.object, file.entry.size)
        if stretches is None:
            _search_file(file, content, matcher, filler)
        else:
            _search_stretches(file, content, stretches, matcher, filler)
    return LinesFound(
        filler.items,
        filler.page(stopped=stopped_by is not None),
        filler.truncation(stopped_by=stopped_by, skipped_files=texts.skipped),
    )


def _texts_within(
    objects: ObjectSource, files: Iterable[PathEntry], max_bytes: int, cache: SourceCache
) -> TextFiles:
    """The searchable ones of the first files that have at most so many bytes together."""
    found: list[PathEntry] = []
    scanned = skipped = 0
    for file in files:
        scanned += file.entry.size
        if scanned > max_bytes:
            break
        if cache.is_text(objects, file):
            found.append(file)
        else:
            skipped += 1
    return TextFiles(found, skipped)


def _search_file(
    file: PathEntry, content: Iterable[bytes], matcher: Matcher, filler: PageFiller[SourceLine]
) -> None:
    """Offer the matching lines of one file, and only count those past the page."""
    before = 0
    for block in content:
        _search_lines(file, block, before, matcher, filler)
        if filler.wanted:
            before += block.count(b"\n")


def _search_stretches(
    file: PathEntry,
    content: Iterable[bytes],
    stretches: Sequence[Stretch],
    matcher: Matcher,
    filler: PageFiller[SourceLine],
) -> None:
    """As :func:`_search_file`, where only some stretches can have matching lines."""
    base = at = 0
    for block in content:
        end = base + len(block)
        while at < len(stretches) and stretches[at].start < end:
            one = stretches[at]
            lines = block[one.start - base : one.end - base]
            _search_lines(file, lines, one.before, matcher, filler)
            at += 1
        base = end


def _search_lines(
    file: PathEntry, lines: bytes, before: int, matcher: Matcher, filler: PageFiller[SourceLine]
) -> None:
    """Offer those of some whole lines that match; ``before`` counts the file's lines before."""
    if not filler.wanted:
        filler.count_only(count_lines(lines, matcher))
        return
    spans = matching_lines(lines, matcher)
    counted = 0
    for start, stop in spans:
        if not filler.wanted:
            filler.count_only(1 + sum(1 for _ in spans))
            return
        before += lines.count(b"\n", counted, start)
        counted = start
        filler.offer(partial(_line, file, before + 1, lines[start:stop]))


def read_lines(
    objects: ObjectSource,
    root: ObjectId,
    question: SourceRead,
    limits: QueryLimits,
    cache: SourceCache,
) -> tuple[LinesFound, SourceRead]:
    """The lines of a range that exist, and the question as it is normalised.

    ``page.total`` counts the lines of the whole file. A file of more than
    ``max_bytes_scanned`` is not looked at.

    Raises:
        QueryRefused: ``bad_range`` (it ends before it begins, or begins past the file's last
            line; line 1 of an empty file is no error), ``unknown_path``, ``not_a_file``,
            ``bad_path``.
    """
    if question.end is not None and question.end < question.start:
        raise QueryRefused("bad_range", "the range ends before it begins")
    file = find_file(objects, root, question.path)
    filler: PageFiller[SourceLine] = PageFiller(limits, offset=0, limit=None)
    asked = None if question.end is None else question.end - question.start + 1
    if file.entry.size > limits.max_bytes_scanned:
        page = Page(offset=question.start - 1, limit=asked, returned=0, total=None)
        cut = filler.truncation(stopped_by="max_bytes_scanned")
        return LinesFound([], page, cut), question
    total = 0
    for block in cache.blocks(objects, file.entry.object, file.entry.size):
        total += _read_block(file, block, total, question, filler)
    if question.start > max(total, 1):
        raise QueryRefused("bad_range", f"the range begins past line {total}, the last one")
    page = Page(offset=question.start - 1, limit=asked, returned=len(filler.items), total=total)
    if question.end is not None and question.end >= total:
        question = SourceRead(source=question.source, path=question.path, start=question.start)
    return LinesFound(filler.items, page, filler.truncation(total=total)), question


def _read_block(
    file: PathEntry,
    block: bytes,
    before: int,
    question: SourceRead,
    filler: PageFiller[SourceLine],
) -> int:
    """Offer the block's lines within the range; returns how many lines it has."""
    lines = block.count(b"\n") + (0 if not block or block.endswith(b"\n") else 1)
    last = before + lines if question.end is None else min(question.end, before + lines)
    position = 0
    for number in range(before + 1, last + 1):
        stop = block.find(b"\n", position)
        stop = len(block) if stop < 0 else stop
        if number >= question.start:
            if not filler.wanted:
                filler.count_only(last - number + 1)
                break
            filler.offer(partial(_line, file, number, block[position:stop]))
        position = stop + 1
    return lines


def _line(file: PathEntry, number: int, raw: bytes) -> SourceLine:
    return SourceLine(
        path=text_from_bytes(file.path),
        file=file.entry.object,
        line=number,
        text=line_text(raw),
    )
