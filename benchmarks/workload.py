"""Deterministic benchmark history for a content-addressed evidence store.

A *publication* is one investigation query whose result becomes one evidence
record.  Each publication brings six JSON documents into being:

    request     what was asked                                        0.3 KB
    reply       what the tool answered, with a raw preview            1.1 KB
    content     the normalised answer: located items ("atoms")        1.7 - 4.5 KB
    record      the evidence record, listing the *novel* atom hashes  0.3 - 1.6 KB
    index       the index update (a delta that points at its parent)  0.2 KB
    generation  the commit document that seals the publication        0.4 KB

(the middle 90 %).  A history of 10,000 is 55 MiB of distinct JSON in 58,000
documents, with 149,000 items of which 94,000 are distinct.

The text is real: source lines of the Python standard library of the running
interpreter, with their real paths, line numbers and file hashes.  Roughly
15 % of the contents are byte-for-byte repeats of an earlier content and 25 %
share about half of their items with an earlier one.

The history is a pure function of (n, seed, digest, standard library): two runs
on one machine give the same bytes.  A history of n publications is a prefix of
every longer one with the same seed.  Only the standard library is needed.

    >>> from workload import publications
    >>> for p in publications(1000):
    ...     p.number, p.content_hash, p.documents["content"]

Run it as a program for the size of a history:  python workload.py 10000
"""

from __future__ import annotations

import hashlib
import json
import random
import re
import sys
import sysconfig
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

Digest = Callable[[bytes], bytes]

#: Document names in the order in which a publication brings them into being.
DOCUMENT_NAMES = ("request", "reply", "content", "record", "index", "generation")

DUPLICATE_SHARE = 0.15  # contents that repeat an earlier one exactly
OVERLAP_SHARE = 0.25  # contents that share about half their items with an earlier one
ROWS_SHARE = 0.30  # of the fresh contents: rows of a table; the rest are source lines
MIN_ITEMS, MAX_ITEMS = 5, 20
GENESIS = "0" * 64

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{3,}")
_DEFINITION = re.compile(r"^(\s*)(async def|def|class)\s+(\w+)\s*(\(.*)?$")


def sha256(data: bytes) -> bytes:
    """The default digest; pass another 32-byte one (say, blake3) to publications()."""
    return hashlib.sha256(data).digest()


def canonical(value: Any) -> bytes:
    """Canonical JSON: sorted keys, no insignificant space, UTF-8."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


@dataclass(frozen=True, slots=True)
class Publication:
    """One publication: its documents as canonical bytes and as plain values."""

    number: int  # 1, 2, 3 ...
    values: dict[str, Any]  # document name -> plain Python value
    documents: dict[str, bytes]  # document name -> canonical JSON bytes
    hashes: dict[str, str]  # document name -> hex digest of those bytes
    is_new_content: bool  # False when the content repeats an earlier one
    novel_atoms: tuple[bytes, ...]  # digests of the items never seen before

    @property
    def content_hash(self) -> str:
        return self.hashes["content"]

    def distinct_documents(self) -> dict[str, bytes]:
        """The documents without a content that an earlier publication has brought."""
        if self.is_new_content:
            return self.documents
        return {name: data for name, data in self.documents.items() if name != "content"}


# --------------------------------------------------------------------------- corpus


@dataclass(frozen=True, slots=True)
class _Corpus:
    files: list[tuple[str, str, list[str]]]  # (path, sha256 of the file, lines)
    symbols: list[list[str]]  # per file: the definition that encloses each line
    terms: list[str]  # identifiers to search for, sorted
    places: dict[str, list[tuple[int, int]]]  # identifier -> (file index, line number)
    definitions: list[tuple[int, int, str, str, str, int]]  # rows of the symbol table


@lru_cache(maxsize=1)
def _corpus() -> _Corpus:
    """Read the standard library's source once; everything in it is in sorted order."""
    root = Path(sysconfig.get_paths()["stdlib"])
    skip = {"site-packages", "lib2to3", "__pycache__"}
    files: list[tuple[str, str, list[str]]] = []
    symbols: list[list[str]] = []
    places: dict[str, list[tuple[int, int]]] = {}
    definitions: list[tuple[int, int, str, str, str, int]] = []
    for path in sorted(root.rglob("*.py")):
        relative = path.relative_to(root)
        if skip.intersection(relative.parts):
            continue
        data = path.read_bytes()
        try:
            lines = data.decode("utf-8").splitlines()
        except UnicodeDecodeError:
            continue
        index = len(files)
        files.append((f"lib/python/{relative.as_posix()}", hashlib.sha256(data).hexdigest(), lines))
        enclosing = "<module>"
        symbols.append([])
        for number, line in enumerate(lines, 1):
            found = _DEFINITION.match(line) if "def" in line or "class" in line else None
            if found:
                indent, kind, enclosing, signature = found.groups()
                definitions.append(
                    (index, number, kind, enclosing, (signature or "")[:80], len(indent))
                )
            symbols[-1].append(enclosing)
            if len(line) <= 160:
                for term in set(_IDENTIFIER.findall(line)):
                    places.setdefault(term, []).append((index, number))
    places = {term: where for term, where in places.items() if MIN_ITEMS <= len(where) <= 2000}
    return _Corpus(files, symbols, sorted(places), places, definitions)


def _occurrence(corpus: _Corpus, place: tuple[int, int]) -> dict[str, Any]:
    path, file_hash, lines = corpus.files[place[0]]
    return {
        "path": path,
        "line": place[1],
        "file_hash": file_hash,
        "text": lines[place[1] - 1],
        "symbol": corpus.symbols[place[0]][place[1] - 1],
    }


def _row(corpus: _Corpus, definition: tuple[int, int, str, str, str, int]) -> dict[str, Any]:
    index, number, kind, name, signature, indent = definition
    path, file_hash, _ = corpus.files[index]
    return {
        "table": "symbols",
        "key": f"{path}#{number}",
        "file_hash": file_hash,
        "cells": [name, kind, signature, number, indent // 4],
    }


def _raw_line(item: dict[str, Any]) -> str:
    """An item as the tool printed it before it was normalised."""
    if "path" in item:
        return f"{item['path']}:{item['line']}:{item['text']}"
    return f"{item['key']} | " + " | ".join(map(str, item["cells"]))


# --------------------------------------------------------------------------- history


def publications(n: int, seed: int = 20240117, digest: Digest = sha256) -> Iterator[Publication]:
    """Yield the first n publications of the history that the seed stands for."""
    corpus = _corpus()
    rng = random.Random(seed)
    earlier: list[dict[str, Any]] = []  # every distinct content, in order of birth
    contents_seen: set[bytes] = set()
    atoms_seen: set[bytes] = set()
    previous_index = previous_generation = GENESIS
    total_atoms = 0

    for number in range(1, n + 1):
        content, term = _next_content(corpus, rng, earlier)
        items = content["items"]
        day = f"2024-{1 + number // 28 % 12:02d}-{1 + number % 28:02d}"
        clock = [rng.randrange(24), rng.randrange(60), rng.randrange(60)]
        stamp = f"{day}T{clock[0]:02d}:{clock[1]:02d}:{clock[2]:02d}Z"

        request = {
            "schema": "vstore/request/1",
            "question": f"Q{1 + number // 9:05d}",
            "tool": "source.search" if content["kind"] == "occurrences" else "table.select",
            "arguments": {
                "term": term,
                "limit": MAX_ITEMS,
                "scope": "lib/python",
                "case": "exact",
                "order": "path,line",
                "context": 0,
            },
            "reason": f"Where is {term} defined, read or changed?",
            "asked_at": stamp,
            "nonce": f"{rng.getrandbits(96):024x}",
        }
        preview = [_raw_line(item)[:110] for item in items[:9]]
        reply = {
            "schema": "vstore/reply/1",
            "status": "complete",
            "truncated": len(items) >= MAX_ITEMS,
            "elapsed_us": rng.randrange(900, 250_000),
            "matches": len(items),
            "files": sorted({item["file_hash"][:16] for item in items}),
            "preview": preview,
            "engine": {"name": "scan", "version": "1.4.2", "shards": rng.randrange(1, 9)},
            "trace": f"{rng.getrandbits(256):064x}",
        }
        content_bytes = canonical(content)
        content_digest = digest(content_bytes)
        is_new = content_digest not in contents_seen
        if is_new:
            contents_seen.add(content_digest)
            earlier.append(content)
        novel: list[bytes] = []
        for item in items:
            atom = digest(canonical(item))
            if atom not in atoms_seen:
                atoms_seen.add(atom)
                novel.append(atom)
        total_atoms += len(novel)

        request_bytes, reply_bytes = canonical(request), canonical(reply)
        request_hash, reply_hash = digest(request_bytes).hex(), digest(reply_bytes).hex()
        content_hash = content_digest.hex()
        record = {
            "schema": "vstore/record/1",
            "id": f"E{number:06d}",
            "request": request_hash,
            "reply": reply_hash,
            "content": content_hash,
            "items": len(items),
            "novel": [atom.hex() for atom in novel],
        }
        record_bytes = canonical(record)
        record_hash = digest(record_bytes).hex()
        index = {
            "schema": "vstore/index/1",
            "previous": previous_index,
            "count": number,
            "atoms": total_atoms,
            "add": {"id": record["id"], "record": record_hash},
        }
        index_bytes = canonical(index)
        previous_index = digest(index_bytes).hex()
        generation = {
            "schema": "vstore/generation/1",
            "number": number,
            "previous": previous_generation,
            "index": previous_index,
            "record": record_hash,
            "published_at": stamp,
            "author": "investigator@example.org",
            "message": f"{record['id']}: {request['tool']} for {term!r}",
            "policy": "append-only/novel-or-duplicate",
        }
        generation_bytes = canonical(generation)
        previous_generation = digest(generation_bytes).hex()

        yield Publication(
            number=number,
            values={
                "request": request,
                "reply": reply,
                "content": content,
                "record": record,
                "index": index,
                "generation": generation,
            },
            documents={
                "request": request_bytes,
                "reply": reply_bytes,
                "content": content_bytes,
                "record": record_bytes,
                "index": index_bytes,
                "generation": generation_bytes,
            },
            hashes={
                "request": request_hash,
                "reply": reply_hash,
                "content": content_hash,
                "record": record_hash,
                "index": previous_index,
                "generation": previous_generation,
            },
            is_new_content=is_new,
            novel_atoms=tuple(novel),
        )


def _next_content(
    corpus: _Corpus, rng: random.Random, earlier: list[dict[str, Any]]
) -> tuple[dict[str, Any], str]:
    """A content and the term that it answers: a repeat, an overlap or a fresh one."""
    choice = rng.random()
    size = max(rng.randint(MIN_ITEMS, MAX_ITEMS), rng.randint(MIN_ITEMS, MAX_ITEMS))
    if earlier and choice < DUPLICATE_SHARE:
        content = rng.choice(earlier)
        return content, content["subject"]
    base: dict[str, Any] | None = None
    if earlier and choice < DUPLICATE_SHARE + OVERLAP_SHARE:
        base = rng.choice(earlier)
        kind = base["kind"]
    else:
        kind = "rows" if rng.random() < ROWS_SHARE else "occurrences"

    kept: list[dict[str, Any]] = []
    if base is not None:
        kept = rng.sample(base["items"], max(1, min(len(base["items"]), size) // 2))
    if kind == "rows":
        start = rng.randrange(len(corpus.definitions) - MAX_ITEMS)
        term = corpus.definitions[start][3]
        fresh = [_row(corpus, one) for one in corpus.definitions[start : start + size - len(kept)]]
    else:
        term = corpus.terms[rng.randrange(len(corpus.terms))]
        places = corpus.places[term]
        wanted = min(size - len(kept), len(places))
        start = rng.randrange(len(places) - wanted + 1)
        fresh = [_occurrence(corpus, place) for place in places[start : start + wanted]]
        # A term with few hits is widened by the lines around its first one.
        index, line = places[start]
        lines = corpus.files[index][2]
        for extra in range(line + 1, min(line + 1 + size - len(kept) - wanted, len(lines))):
            fresh.append(_occurrence(corpus, (index, extra)))
    unique = {canonical(item): item for item in kept + fresh}
    items = [unique[key] for key in sorted(unique)]
    return {"schema": "vstore/content/1", "kind": kind, "subject": term, "items": items}, term


def cumulative_index(history: list[tuple[str, str, str]], previous: str) -> bytes:
    """The naive design's index: one immutable document that lists every record so far.

    ``history`` holds (record id, record hash, content hash) of every publication up to now.
    """
    return canonical(
        {
            "schema": "naive/index/1",
            "previous": previous,
            "count": len(history),
            "records": [{"id": i, "record": r, "content": c} for i, r, c in history],
        }
    )


def git_layout(p: Publication) -> dict[str, bytes]:
    """The files that a git user would commit for this publication: path -> bytes.

    git's own commit stands for the generation document, so that is left out.
    """
    folder = f"analysis/evidence/{1 + p.number // 9:04d}/{p.hashes['request'][:40]}"
    files = {
        f"{folder}/request.json": p.documents["request"],
        f"{folder}/result.json": p.documents["reply"],
        f"{folder}/E{p.number:06d}.json": p.documents["record"],
        f"{folder}/index.json": p.documents["index"],
    }
    if p.is_new_content:
        files[f"content/{p.content_hash}.json"] = p.documents["content"]
    return files


def main(argv: list[str]) -> None:
    n = int(argv[1]) if len(argv) > 1 else 1000
    sizes = dict.fromkeys(DOCUMENT_NAMES, 0)
    distinct = items = novel = repeats = 0
    chain = hashlib.sha256()
    for p in publications(n):
        for name, data in p.documents.items():
            sizes[name] += len(data)
        distinct += sum(map(len, p.distinct_documents().values()))
        items += len(p.values["content"]["items"])
        novel += len(p.novel_atoms)
        repeats += not p.is_new_content
        chain.update(p.hashes["generation"].encode())
    for name, size in sizes.items():
        print(f"{name:11s} {size / n:8.0f} B each")
    print(
        f"distinct JSON {distinct / 2**20:.2f} MiB, items {items}, distinct atoms {novel}, "
        f"repeated contents {repeats / n:.1%}\nfingerprint {chain.hexdigest()}"
    )


if __name__ == "__main__":
    main(sys.argv)
