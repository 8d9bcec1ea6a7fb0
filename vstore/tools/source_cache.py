"""What a source adapter keeps between queries: lists of files, files, an index of words.

Everything here is derived from objects by their ids, so it changes no answer, only its
cost: an adapter that answers many queries on one snapshot reads, checks and unpacks each
file once, and looks into few files for each query.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from vstore.objects.ids import ObjectId
from vstore.objects.memory import ObjectSource
from vstore.objects.text import Text
from vstore.objects.tree import PathEntry
from vstore.tools.source_index import Stretch, WordIndex
from vstore.tools.source_matcher import is_searchable
from vstore.tools.source_tree import BLOCK_BYTES, Selection, blocks, select

__all__ = ["SourceCache", "TextFiles"]

#: Files of which it is remembered whether they are text.
_MAX_VERDICTS: Final = 500_000


class TextFiles:
    """The searchable files of a selection, and how many others it has.

    Args:
        files: In byte order of their paths.
        skipped: How many files of the selection are not searchable.
    """

    def __init__(self, files: Sequence[PathEntry], skipped: int) -> None:
        self.files = files
        self.skipped = skipped
        self.size = sum(file.entry.size for file in files)
        self._places: dict[ObjectId, list[int]] = {}
        for place, file in enumerate(files):
            self._places.setdefault(file.entry.object, []).append(place)

    def whole(self) -> Iterator[tuple[PathEntry, None]]:
        """All of them, with nothing said about where to look."""
        for file in self.files:
            yield file, None

    def with_stretches(
        self, wanted: Mapping[ObjectId, Sequence[Stretch]]
    ) -> Iterator[tuple[PathEntry, Sequence[Stretch]]]:
        """Those of the files whose bytes are one of these objects, in the same order."""
        for place in sorted([place for oid in wanted for place in self._places.get(oid, ())]):
            file = self.files[place]
            yield file, wanted[file.entry.object]


class SourceCache:
    """Derived facts about snapshots, within bounds.

    Args:
        max_bytes: Bytes of files kept at the most, 0 or more.
        max_selections: Lists of files kept at the most, 1 or more.
        max_indexed_bytes: Snapshots with more bytes get no index of words.
        index_after: The index is built once this many times a snapshot's bytes were searched.
    """

    def __init__(
        self,
        *,
        max_bytes: int = 64 << 20,
        max_selections: int = 16,
        max_indexed_bytes: int = 128 << 20,
        index_after: int = 3,
    ) -> None:
        self._max_bytes = max_bytes
        self._max_selections = max_selections
        self._max_indexed_bytes = max_indexed_bytes
        self._index_after = index_after
        self._bytes = 0
        self._files: OrderedDict[ObjectId, bytes] = OrderedDict()
        self._text: dict[ObjectId, bool] = {}
        self._selections: OrderedDict[tuple[ObjectId, Text | None], Selection] = OrderedDict()
        self._texts: OrderedDict[tuple[ObjectId, Text | None], TextFiles] = OrderedDict()
        self._searched: dict[ObjectId, int] = {}
        self._index: tuple[ObjectId, WordIndex] | None = None

    def select(self, objects: ObjectSource, root: ObjectId, under: Text | None) -> Selection:
        """As :func:`~vstore.tools.source_tree.select`."""
        key = (root, under)
        found = self._selections.get(key)
        if found is None:
            found = self._selections[key] = select(objects, root, under)
            if len(self._selections) > self._max_selections:
                self._selections.popitem(last=False)
        return found

    def blocks(self, objects: ObjectSource, oid: ObjectId, size: int) -> Iterator[bytes]:
        """As :func:`~vstore.tools.source_tree.blocks`."""
        if size > BLOCK_BYTES or size > self._max_bytes:
            yield from blocks(objects, oid, size)
            return
        found = self._files.get(oid)
        if found is None:
            found = self._files[oid] = objects.get(oid)
            self._bytes += len(found)
            while self._bytes > self._max_bytes:
                self._bytes -= len(self._files.popitem(last=False)[1])
        else:
            self._files.move_to_end(oid)
        yield found

    def is_text(self, objects: ObjectSource, file: PathEntry) -> bool:
        """Whether a file has neither NUL nor invalid UTF-8."""
        oid, size = file.entry.object, file.entry.size
        known = self._text.get(oid)
        if known is None:
            known = all(is_searchable(block) for block in self.blocks(objects, oid, size))
            if len(self._text) >= _MAX_VERDICTS:
                self._text.clear()
            self._text[oid] = known
            if not known and (dropped := self._files.pop(oid, None)) is not None:
                self._bytes -= len(dropped)
        return known

    def texts(
        self, objects: ObjectSource, root: ObjectId, under: Text | None, selection: Selection
    ) -> TextFiles:
        """The searchable files of a whole selection."""
        key = (root, under)
        found = self._texts.get(key)
        if found is None:
            files = [file for file in selection.files if self.is_text(objects, file)]
            found = self._texts[key] = TextFiles(files, len(selection.files) - len(files))
            if len(self._texts) > self._max_selections:
                self._texts.popitem(last=False)
        return found

    def narrow(
        self,
        objects: ObjectSource,
        root: ObjectId,
        texts: TextFiles,
        required: Sequence[bytes],
    ) -> Iterator[tuple[PathEntry, Sequence[Stretch] | None]]:
        """The files among ``texts`` that can hold all of these literals, in either case.

        Args:
            objects: Where the snapshot is.
            root: The snapshot's tree.
            texts: Searchable files of a selection of it.
            required: Literals that a matching line must hold.

        Yields:
            A file and the stretches of it where such lines can be, or None for anywhere.
        """
        index = self._word_index(objects, root, texts.size) if required else None
        possible = None if index is None else index.stretches_with(required)
        yield from texts.whole() if possible is None else texts.with_stretches(possible)

    def _word_index(
        self, objects: ObjectSource, root: ObjectId, about_to_search: int
    ) -> WordIndex | None:
        if self._index is not None and self._index[0] == root:
            return self._index[1]
        searched = self._searched.get(root, 0)
        whole = self.select(objects, root, None)
        if whole.size > self._max_indexed_bytes or searched < self._index_after * whole.size:
            self._searched[root] = searched + about_to_search
            return None
        index = WordIndex()
        sizes = {
            one.entry.object: one.entry.size for one in self.texts(objects, root, None, whole).files
        }
        for oid, size in sizes.items():
            index.add(oid, self.blocks(objects, oid, size))
        index.seal()
        # One index at a time: it may be about as large as the text it is about.
        self._index = (root, index)
        return index
