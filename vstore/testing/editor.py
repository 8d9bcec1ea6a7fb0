"""An editor of packages with a hash function: what a verifier must not be fooled by.

It rewrites documents of a package, gives every document that names a changed one the new
id, up to the head, and writes the log and the refs again. What a careful forger would set
right as well (Merkle roots, retained bytes) can be set right or left.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from vstore.objects.frame import NO_GENERATION, encode_frame, read_payload
from vstore.objects.ids import ObjectId, object_id
from vstore.objects.layout import LOG, REFS, segment_name
from vstore.objects.log import Damage, LogReader
from vstore.objects.merkle import Frontier
from vstore.objects.plain_json import encode_value
from vstore.objects.segment import SegmentHeader, encode_segment_header

__all__ = ["EditedFrame", "PackageEditor", "StoredObject"]

_SALT: Final = bytes(range(16))
_EVIDENCE: Final = (
    b'"schema":"tool-request-v1"',
    b'"schema":"tool-reply-v1"',
    b'"schema":"evidence-content-v1"',
    b'"schema":"evidence-record-v1"',
    b'"schema":"evidence-index-v1"',
    b'"schema":"async-test-feedback-v1"',
)
_INDEX: Final = b'"schema":"evidence-index-v1"'
_RECORD: Final = b'"schema":"evidence-record-v1"'
_TREE: Final = b'"schema":"tree-v1"'
_GENERATION: Final = b'"schema":"package-generation-v1"'


@dataclass(slots=True)
class StoredObject:
    """One object of a frame."""

    #: The id that the frame's table gives it.
    oid: ObjectId
    #: 0 for a blob, 1 for a document.
    kind: int
    content: bytes
    #: Whether it was edited by hand, so that nothing else of it is set right.
    edited: bool = False

    @property
    def value(self) -> Any:
        """A document's JSON value, None for what is none."""
        if not self.content.startswith(b'{"') or b'"schema":"' not in self.content:
            return None
        try:
            return json.loads(self.content)
        except ValueError:
            return None

    @property
    def schema(self) -> str | None:
        """A document's schema name, None for what is none."""
        value = self.value
        return value.get("schema") if isinstance(value, dict) else None


@dataclass(slots=True)
class EditedFrame:
    """One frame: what it publishes and holds. Large objects stay as they are."""

    generation: ObjectId | None
    objects: list[StoredObject]
    large: list[tuple[bytes, int, int, int, bytes]] = field(default_factory=list)


class PackageEditor:
    """The frames of one package in memory.

    Args:
        root: The package; it is only read.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.frames: list[EditedFrame] = []
        log = LogReader(root / LOG)
        try:
            for summary in log.scan():
                if isinstance(summary, Damage):
                    raise summary.error()
                found, stored = log.read(summary.segment, summary.offset)
                payload = read_payload(found, stored)
                self.frames.append(
                    EditedFrame(
                        found.generation,
                        [
                            StoredObject(
                                one.oid,
                                int(one.kind == "document"),
                                payload[one.offset : one.offset + one.length],
                            )
                            for one in found.objects()
                        ],
                        [
                            (
                                one.oid.to_bytes(),
                                int(one.kind == "document"),
                                one.length,
                                one.stored_length,
                                one.stored_digest,
                            )
                            for one in found.large()
                        ],
                    )
                )
        finally:
            log.close()

    def objects(self, schema: str | None = None) -> Iterator[StoredObject]:
        """All objects in the order of the log, or the documents of one schema."""
        for frame in self.frames:
            for one in frame.objects:
                if schema is None or one.schema == schema:
                    yield one

    def find(self, schema: str, position: int = 0) -> StoredObject:
        """A document by its schema and its place among those, negative from the end."""
        return list(self.objects(schema))[position]

    def edit(self, target: StoredObject, change: Callable[[Any], None]) -> None:
        """Change a document's JSON value in place; written in canonical form again."""
        value = target.value
        change(value)
        target.content = encode_value(value)
        target.edited = True

    def rechain(self, *, set_right: bool = True) -> None:
        """Give changed objects their new ids, and so everything that names them.

        Args:
            set_right: Also compute Merkle roots and retained bytes again, except in
                documents that were edited by hand.
        """
        renamed: dict[bytes, bytes] = {}
        history, records = Frontier(), Frontier()
        grown = 0
        for frame in self.frames:
            for one in _in_order(frame.objects):
                content = one.content
                for old, new in renamed.items():
                    if old in content:
                        content = content.replace(old, new)
                if content != one.content and _TREE in content:
                    content = _sorted_tree(content)
                before = len(content) if not one.edited else len(one.content)
                if set_right and not one.edited:
                    if _INDEX in content:
                        content = _right_index(content, records, grown)
                    elif _GENERATION in content:
                        content = _right_generation(content, history)
                if _RECORD in content:
                    records.append(content)
                if _GENERATION in content and one.oid == frame.generation:
                    history.append(content)
                oid = object_id(content)
                if any(mark in content for mark in _EVIDENCE):
                    grown += len(content) - self._sizes().get(one.oid, before)
                if oid != one.oid:
                    # Without its prefix: folders of attachments are named by plain digests.
                    renamed[one.oid[3:].encode()] = oid[3:].encode()
                    if frame.generation == one.oid:
                        frame.generation = oid
                    one.oid = oid
                one.content = content

    def _sizes(self) -> dict[ObjectId, int]:
        if not hasattr(self, "_original"):
            self._original = {
                one.oid: len(one.content) for one in PackageEditor(self.root).objects()
            }
        return self._original

    def save(self, target: Path) -> Path:
        """Write the package to a new folder, with refs that agree with its head."""
        shutil.copytree(self.root, target, ignore=shutil.ignore_patterns("locks", "cache", "tmp"))
        log = target / LOG
        for path in log.iterdir():
            path.unlink()
        header = SegmentHeader(1, _SALT, 1)
        parts = [encode_segment_header(header)]
        head = NO_GENERATION
        for sequence, frame in enumerate(self.frames, 1):
            generation = frame.generation.to_bytes() if frame.generation else NO_GENERATION
            parts.append(
                encode_frame(
                    salt=_SALT,
                    offset=sum(map(len, parts)),
                    sequence=sequence,
                    parent=head,
                    generation=generation,
                    objects=[(one.oid.to_bytes(), one.kind, one.content) for one in frame.objects],
                    large=frame.large,
                )
            )
            head = generation if frame.generation else head
        (log / segment_name(1)).write_bytes(b"".join(parts))
        for path in (target / REFS).iterdir():
            path.unlink()
        for name, text in self._refs().items():
            (target / REFS / name).write_text(text + "\n", "ascii", "replace")
        return target

    def _refs(self) -> dict[str, str]:
        """The refs that the head asks for, as far as it can be read."""
        for frame in reversed(self.frames):
            for one in frame.objects:
                if one.oid == frame.generation and isinstance(one.value, dict):
                    artifacts = one.value.get("artifacts")
                    named = artifacts if isinstance(artifacts, dict) else {}
                    return {
                        **{name: str(oid) for name, oid in named.items() if name.isidentifier()},
                        "generation": one.oid,
                    }
        return {}


def _in_order(objects: list[StoredObject]) -> list[StoredObject]:
    """Objects of a frame, each after those of the frame that it names."""
    left = {one.oid.encode(): one for one in objects}
    done: list[StoredObject] = []
    visited: set[bytes] = set()

    def visit(oid: bytes) -> None:
        if oid in visited:
            return
        visited.add(oid)
        one = left[oid]
        for other in left:
            if other != oid and other in one.content:
                visit(other)
        done.append(one)

    for oid in left:
        visit(oid)
    return done


def _sorted_tree(content: bytes) -> bytes:
    """A tree whose names may have changed, in order again."""
    value = json.loads(content)
    value["entries"].sort(key=_sort_key)
    return encode_value(value)


def _sort_key(entry: Any) -> bytes:
    name = entry["name"]
    raw: bytes = name.encode() if isinstance(name, str) else bytes.fromhex(name["hex"])
    return raw + b"/" if entry["kind"] == "tree" else raw


def _right_index(content: bytes, records: Frontier, grown: int) -> bytes:
    value = json.loads(content)
    value["tree"] = {"root": records.root(), "size": value["tree"]["size"]}
    value["retained_bytes"] += grown
    return encode_value(value)


def _right_generation(content: bytes, history: Frontier) -> bytes:
    value = json.loads(content)
    value["history"] = {"root": history.root(), "size": value["history"]["size"]}
    return encode_value(value)
