#!/usr/bin/env python3
"""An independent reader of evidence packages, written from the pages beside it alone.

    python docs/spec/reader.py PACKAGE-OR-BUNDLE...

It needs Python 3.11, blake3 and zstandard, and nothing of vstore. It reads everything into
memory, judges what the pages say, prints findings by area, and exits with 0, 1 or 3 as
``format.md`` says under "Verdicts". What it doesn't judge: what queries yield when they are
asked again, the inner form of database snapshots, the rules of tests and calls, and an
incremental bundle together with what it continues.

The tables of documents and events are read from the pages. ``reader_log`` reads segments and
frames, ``reader_pack`` those in packs, ``reader_files`` and ``reader_bundle`` the files that they
are in, ``reader_documents`` canonical JSON; the other modules judge what their names say.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

HERE: Final = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from blake3 import blake3  # noqa: E402
from reader_bundle import Bundle  # noqa: E402
from reader_documents import (  # noqa: E402
    Schemas,
    Unreadable,
    parse,
    parse_loosely,
    text_bytes,
)
from reader_evidence import Evidence  # noqa: E402
from reader_files import Folder, check_names, large_path, read_large  # noqa: E402
from reader_handoff import Calls, Tests  # noqa: E402
from reader_history import (  # noqa: E402
    KNOWN,
    RESERVED,
    Lifecycle,
    MerkleTree,
    check_generation,
    check_refs,
    check_removed,
)
from reader_ledger import Ledger  # noqa: E402
from reader_log import (  # noqa: E402
    ZEROS,
    Frame,
    Log,
    Stored,
    Unopenable,
    Unsupported,
    check_layout,
    frame_objects,
    oid_of,
)
from reader_pack import Packs  # noqa: E402
from reader_trees import Trees  # noqa: E402

AREAS: Final = (
    "container", "objects", "history", "inputs", "evidence", "ledger", "handoff",
    "investigation", "verifier",
)  # fmt: skip
#: What counts otherwise in a bundle: as what in a folder, as what in a bundle.
_IN_BUNDLES: Final = {
    "torn": ("warning", "error"),
    "unknown": ("warning", "error"),
    "lag": ("warning", "error"),
    "leftover": ("note", "error"),
}
Document = dict[str, Any]


@cache
def schemas() -> Schemas:
    """The tables of the page, read once."""
    return Schemas(HERE / "documents.md")


class Object:
    """An object that was met. ``content`` is None where its bytes can't be had."""

    __slots__ = ("bad", "content", "document", "length", "reached", "references", "value")

    def __init__(self, content: bytes | None, length: int) -> None:
        self.content = content
        self.length = length
        self.bad = content is None
        self.document = False
        self.reached = False
        self.references: list[str] = []
        self.value: Document | None = None


class Package:
    """One package, read from its first frame to its last.

    Args:
        files: Its files.
    """

    def __init__(self, files: Any) -> None:
        self._files = files
        self.findings: list[tuple[str, str, str]] = []
        self._schemas = schemas()
        self._lifecycle = Lifecycle(HERE / "history.md")
        self.objects: dict[str, Object] = {}
        self._large: set[str] = set()
        #: Object ids that were referred to and aren't there.
        self._absent: set[str] = set()
        #: What documents of unknown schemas seem to refer to.
        self._guessed: dict[str, list[str]] = {}
        self._over = False
        self._history = MerkleTree()
        self._heads: list[str] = []
        self._refs: list[dict[str, str]] = []
        self._before: Document | None = None
        self._identity: tuple[str, str] | None = None
        self._tests = Tests(self._lookup)
        self._calls = Calls(self._lookup, self.report)
        self._evidence: Evidence
        self._ledger = Ledger(
            self._lookup,
            self._recorded,
            lambda *key: key in self._tests.actions,
            self._fact,
            lambda: self._evidence.ended,
            self.report,
        )
        self._evidence = Evidence(
            self._lookup,
            self._encoded,
            self._ledger.reserved,
            self._tests.answered.get,
            self.report,
        )
        self._trees = Trees(lambda oid: self._lookup(oid, "tree-v1"), self._size, self.report)

    def report(self, area: str, severity: str, message: str) -> None:
        """Take a finding."""
        severity = _IN_BUNDLES.get(severity, (severity, severity))[self._files.bundle]
        if (area, severity, message) not in self.findings:
            self.findings.append((area, severity, message))

    def worst(self, area: str) -> str:
        """The gravest severity of an area, ``ok`` where nothing was found."""
        found = {severity for where, severity, _ in self.findings if where == area}
        order = ("error", "unsupported", "warning", "note")
        return next((one for one in order if one in found), "ok")

    @property
    def outcome(self) -> int:
        """0, 1 or 3."""
        worst = {self.worst(area) for area in AREAS}
        return 1 if "error" in worst else 3 if "unsupported" in worst else 0

    # ---- the pass

    def read(self) -> None:
        """Judge everything."""
        files = self._files
        if files.bundle:
            if not files.check(self.report, self._schemas):
                return
            self._over = files.needs is not None
        if not self._check_format():
            return
        refs = files.refs(self.report)
        start = files.since if files.bundle else ZEROS
        try:
            packs = None if files.bundle else Packs(files, self.report)
            log = Log(files.segment, files.segments(), self.report, start, packs)
            self._read_frames(log)
        except Unsupported as error:
            self.report("container", "unsupported", str(error))
            self._over = True
            if not self.objects:
                check_names(files, None, self.report, lambda _: None)
                return
        except Unopenable as error:
            self.report("container", "error", str(error))
            check_names(files, None, self.report, lambda _: None)
            return
        self._finish(refs)

    def _read_frames(self, log: Log) -> None:
        left = self._files.limit if self._files.bundle else 0
        frames: list[Frame] = []
        for frame in log.frames():
            left -= frame.raw + frame.large_bytes()
            if self._files.bundle and left < 0:
                raise Unsupported("objects out of proportion to the bundle's size")
            self._over |= log.damaged
            self._take(frame)
            frames.append(frame._replace(table=b"", stored=b""))
        self._over |= log.damaged
        if self._files.bundle:
            check_layout(log, self._files, frames, self.report)
            self._check_claims(
                [oid_of(one.generation) for one in frames if one.generation != ZEROS]
            )

    def _check_claims(self, published: list[str]) -> None:
        """What an incremental bundle says of itself is what it holds."""
        claims, head = self._files.needs, self.objects.get(published[-1] if published else "")
        if claims is None or head is None or head.value is None:
            return
        number = head.value.get("package_generation", 0)
        wanted = {
            "head": published[-1],
            "head_generation": number,
            "since_generation": number - len(published),
            "case_id": head.value.get("case_id"),
            "package_id": head.value.get("package_id"),
        }
        if any(claims[member] != value for member, value in wanted.items()):
            self.report("container", "error", "BUNDLE differs from what the bundle holds")

    def _check_format(self) -> bool:
        raw = self._files.read("VSTORE", 4097)
        if raw is None:
            self.report("verifier", "unsupported", "no package: VSTORE is missing")
            return False
        try:
            if len(raw) > 4096:
                raise Unreadable("too long")
            loose = parse_loosely(raw)
            version = loose.get("format") if isinstance(loose, dict) else None
            if type(version) is int and version != 1:
                self.report("container", "unsupported", f"format {version}")
                return False
            found = parse(raw.removesuffix(b"\n"))
            array = self._schemas.checker("[map key]")
            if (
                not raw.endswith(b"\n")
                or not isinstance(found, dict)
                or found.keys() != {"digest", "format", "optional", "required"}
                or type(found["digest"]) is not str
                or version != 1
                or not array(found["optional"], [])
                or not array(found["required"], [])
            ):
                raise Unreadable("other members")
        except Unreadable as error:
            self.report("container", "error", f"VSTORE is damaged: {error}")
            return True
        if found["digest"] != "blake3" or set(found["required"]) - {"packs"}:
            self.report("container", "unsupported", "features that aren't known")
            return False
        return True

    def _take(self, frame: Frame) -> None:
        try:
            stored = list(frame_objects(frame))
        except Unsupported as error:
            self.report("container", "unsupported", str(error))
            self._over = True
            return
        except ValueError as error:
            self.report("container", "error", f"frame {frame.sequence}: {error}")
            self._over = True
            return
        for one in stored:
            self._take_object(one)
        if frame.generation != ZEROS and not self._over:
            self._over = not self._generation(frame)

    def _take_object(self, one: Stored) -> None:
        content = one.content
        if one.large is not None:
            self._large.add(large_path(one.oid))
        if one.withheld:
            self.report("objects", "unsupported", f"{one.oid}: withheld")
        elif one.large is not None:
            content = read_large(self._files, one, self.report)
        elif blake3(content or b"").hexdigest() != one.oid[3:]:
            self.report("objects", "error", f"{one.oid}: its bytes have another digest")
            content = None
        if one.oid in self.objects:
            if content is not None and one.large is None:
                self.report("objects", "leftover", f"{one.oid}: stored again")
            return
        found = self.objects[one.oid] = Object(content, one.length)
        if one.document and content is not None:
            self._take_document(one.oid, found)
        if one.oid in self._absent:
            self.report("objects", "error", f"{one.oid}: referred to before it was stored")
            self._absent.discard(one.oid)
            self._reach(one.oid)

    def _take_document(self, oid: str, found: Object) -> None:
        found.document = True
        try:
            found.value, found.references = self._schemas.read(found.content or b"")
        except Unreadable as error:
            found.bad = True
            severity = "unsupported" if error.unsupported else "error"
            self.report("objects", severity, f"{oid}: {error}")
            if error.unsupported:
                ids = re.findall(rb'"(b3:[0-9a-f]{64})"', found.content or b"")
                self._guessed[oid] = [one.decode() for one in ids]

    # ---- objects

    def _reach(self, root: str) -> None:
        stack = [root]
        while stack:
            oid = stack.pop()
            found = self.objects.get(oid)
            if found is None:
                self._absent.add(oid)
            elif not found.reached:
                found.reached = True
                stack += found.references

    def _follow_guesses(self) -> None:
        """Reach what reached documents of unknown schemas seem to refer to, where it is there."""
        again = True
        while again:
            again = False
            for oid in [one for one in self._guessed if self.objects[one].reached]:
                again = True
                for guess in self._guessed.pop(oid):
                    if guess in self.objects:
                        self._reach(guess)

    def _lookup(self, oid: str, schema: str) -> Document | None:
        """The document of this type that another one refers to."""
        found = self.objects.get(oid)
        if found is None or found.bad:
            return None
        if not found.document and (found.content or b"").startswith(b'{"'):
            self._take_document(oid, found)
            if found.bad:
                return None
            if found.reached:
                found.reached = False
                self._reach(oid)
        value = found.value
        if value is not None and value["schema"] == schema:
            return value
        self.report("objects", "error", f"{oid}: no {schema}")
        return None

    def _encoded(self, oid: str) -> bytes:
        return self.objects[oid].content or b""

    def _size(self, oid: str) -> int | None:
        found = self.objects.get(oid)
        return None if found is None or found.bad else found.length

    # ---- generations

    def _recorded(self, revision: int, action: str) -> bool:
        return (revision, action) in self._evidence.actions

    def _fact(self, record: str) -> Document | None:
        return self._evidence.facts.get(record)

    def _generation(self, frame: Frame) -> bool:
        oid = oid_of(frame.generation)
        if oid not in self.objects:
            self.report("history", "error", f"{oid}: published and not there")
            self._reach(oid)
            return False
        self._reach(oid)
        child = self._lookup(oid, "package-generation-v1")
        if child is None:
            return False
        parent_id, parent = (self._heads[-1] if self._heads else None), self._before
        number = len(self._heads) + 1
        kinds = [event["kind"] for event in child["events"]]
        waits = self._tests.waits()
        moved = waits and parent is not None and _ledger(parent) != _ledger(child)
        if moved:
            self.report("handoff", "error", f"generation {number}: the ledger moved meanwhile")
        if all(map(self._lifecycle.known, kinds)):
            check_generation(self._lifecycle, number, parent_id, parent, child, waits, self.report)
        else:
            self.report("verifier", "unsupported", f"generation {number}: an unknown event")
        before = None if frame.before == ZEROS else oid_of(frame.before)
        if child["parent"] != before and child["parent"] == parent_id:
            self.report("history", "error", f"generation {number}: its frame continues another")
        if child["history"]["root"] != self._history.root():
            self.report("history", "error", f"generation {number}: wrong root of the history")
        check_removed(number, parent, child, self.report)
        for name, artifact in child["artifacts"].items():
            known = parent is not None and parent["artifacts"].get(name) == artifact
            if name not in KNOWN | RESERVED and not known:
                self.report("history", "unsupported", f"generation {number}: artifact {name}")
        self._history.append(self._encoded(oid))
        self._heads.append(oid)
        self._refs.insert(0, {**child["artifacts"], "generation": oid})
        self._identity = self._identity or (child["case_id"], child["package_id"])
        self._before = {
            **child,
            "package_generation": number,
            "case_id": self._identity[0],
            "package_id": self._identity[1],
        }
        self._check_inputs(number, parent, child, kinds)
        self._tests.step(parent, child)
        self._evidence.step(parent_id, parent, child)
        self._ledger.step(child, kinds, moved)
        self._calls.step(child, kinds)
        self._check_hypotheses(number, parent, child)
        return True

    def _check_inputs(
        self, number: int, parent: Document | None, child: Document, kinds: list[str]
    ) -> None:
        before = parent or {"inputs": None, "attachments": None, "snapshots": {}}
        for member in ("inputs", "attachments"):
            if child[member] not in (None, before[member]):
                self._trees.check(child[member])
        added = []
        for name, oid in sorted(child["snapshots"].items()):
            if before["snapshots"].get(name) == oid:
                continue
            descriptor = self._lookup(oid, "snapshot-descriptor-v1")
            if descriptor is None:
                return
            if descriptor["name"] != name or name == "inputs":
                self.report("inputs", "error", f"snapshot {name}: another name in its descriptor")
            added.append(descriptor["kind"] + ".add")
            if descriptor["kind"] == "source":
                self._trees.check(descriptor["content"])
            else:
                self._lookup(descriptor["content"], "database-content-v1")
        said = [kind for kind in kinds if kind in ("source.add", "database.add")]
        if added and sorted(said) != sorted(added):
            self.report("history", "error", f"generation {number}: other snapshots than its events")

    def _check_hypotheses(self, number: int, parent: Document | None, child: Document) -> None:
        oid = child["artifacts"].get("hypotheses")
        if oid is None or (parent is not None and parent["artifacts"].get("hypotheses") == oid):
            return
        document = self._lookup(oid, "hypotheses-v1")
        if document is None:
            return
        ids = [one["id"] for one in document["hypotheses"]]
        accounts = self._ledger.accounts if self._ledger.open else {}
        if self._ledger.revision != child["analysis_revision"]:
            accounts = {}
        if (
            any(
                document[one] != child[one]
                for one in ("case_id", "package_id", "analysis_revision")
            )
            or len(set(ids)) != len(ids)
            or not accounts.keys() <= set(ids)
        ):
            self.report("history", "error", f"generation {number}: hypotheses that don't fit")

    # ---- the end

    def _finish(self, refs: dict[str, bytes] | None) -> None:
        self._evidence.finish()
        if not self._over:
            self._follow_guesses()
            for oid in self._absent:
                self.report("objects", "error", f"{oid}: referred to and not there")
            chains = (self._evidence, self._ledger, self._tests, self._calls)
            if not any(chain.ended for chain in chains):
                for oid, found in self.objects.items():
                    if not found.reached:
                        self.report("objects", "leftover", f"{oid}: unreachable")
            if refs is not None:
                check_refs(refs, self._refs, self.report)
            if not self._heads:
                self.report("verifier", "unsupported", "no generation")
        check_names(self._files, self._large, self.report, self._raw_input)

    def _raw_input(self, path: bytes) -> Document | None:
        """The entry of a path in the head's raw input, None where there is none."""
        if self._over or self._before is None or self._files.bundle:
            return None
        entry: Document = {"kind": "tree", "object": self._before["inputs"]}
        for name in path.split(b"/"):
            tree = self._lookup(entry["object"], "tree-v1") if entry["kind"] == "tree" else None
            entries = [] if tree is None else tree["entries"]
            found = [one for one in entries if text_bytes(one["name"]) == name]
            if not found:
                return None
            entry = found[-1]
        return entry


def _ledger(generation: Document) -> Any:
    return generation["artifacts"].get("budget_ledger")


def lines(package: Package) -> Iterator[str]:
    """What is printed of a package: a verdict per area, then the findings."""
    for area in AREAS:
        count = Counter(one for where, one, _ in package.findings if where == area)
        numbers = ", ".join(f"{number} {severity}" for severity, number in sorted(count.items()))
        yield f"{area}: {package.worst(area)}{f' ({numbers})' if numbers else ''}"
    for area, severity, message in package.findings:
        yield f"  {severity} {area}: {message}"


def main(paths: list[str]) -> int:
    """Read packages; the gravest outcome."""
    if not paths:
        sys.stderr.write("usage: reader.py PACKAGE...\n")
        return 2
    outcomes = set()
    for path in paths:
        files = Bundle(Path(path)) if Path(path).is_file() else Folder(Path(path))
        package = Package(files)
        package.read()
        for line in (path, *lines(package)):
            sys.stdout.write(line.encode("ascii", "backslashreplace").decode() + "\n")
        outcomes.add(package.outcome)
    return next(one for one in (1, 3, 0) if one in outcomes)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
