"""Verifying one package: one pass over its log, in order, with every check on the way.

Memory grows with the number of objects and of observations, not with their size: a document
is decoded once, when its frame comes, and forgotten with the frame (spec: verify).
"""

from __future__ import annotations

import contextlib
import time
from array import array
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeVar

from vstore.errors import IntegrityError, LimitExceeded, StorageError, UnsupportedError, VStoreError
from vstore.evidence.limits import EvidenceLimits
from vstore.objects.frame import NO_GENERATION, FrameSummary, LargeEntry
from vstore.objects.ids import ObjectId
from vstore.objects.layout import LOG, REFS
from vstore.objects.log import Damage
from vstore.objects.refs import BadRef
from vstore.package.checkpoint import Checkpoint
from vstore.package.documents import Generation
from vstore.verify.ahead import ReadAhead, can_read_ahead
from vstore.verify.bundle import open_source
from vstore.verify.checks.container import (
    check_end,
    check_files,
    check_format,
    large_path,
    open_log,
    report_damage,
    segment_path,
)
from vstore.verify.checks.evidence import EvidenceCheck
from vstore.verify.checks.handoff import HandoffCheck
from vstore.verify.checks.history import HistoryCheck, Step, check_hypotheses
from vstore.verify.checks.inputs import InputCheck
from vstore.verify.checks.investigation import InvestigationCheck
from vstore.verify.checks.large import check_large
from vstore.verify.checks.ledger import LedgerCheck
from vstore.verify.checks.objects import ObjectCheck
from vstore.verify.checks.origins import SourceReader
from vstore.verify.checks.replies import ReplyCheck
from vstore.verify.checks.taken_in import TakenIn
from vstore.verify.folder import MAX_FILES
from vstore.verify.objects import ObjectTable
from vstore.verify.report import Counts, FindingCollector, FirstError, Report, unread
from vstore.verify.source import LogSource, PackageSource
from vstore.verify.swift import SwiftPass
from vstore.verify.swift_ledger import read_reserved
from vstore.verify.swift_read import PublicationReader

if TYPE_CHECKING:
    from vstore.tools.router import Router

T = TypeVar("T")
AreaCheck = InputCheck | EvidenceCheck | LedgerCheck | HandoffCheck | InvestigationCheck

#: Damage of the log that loses no frame.
_HARMLESS = ("torn_bytes_changed", "bundle_layout", "pack_index", "pack_overlap")

__all__ = ["Replay", "verify_package", "verify_source"]


def verify_package(
    path: Path | str,
    *,
    base: Path | str | None = None,
    recompute: bool = True,
    router: Router | None = None,
    expect: ObjectId | None = None,
    extends: ObjectId | Checkpoint | None = None,
    limits: EvidenceLimits | None = None,
    max_files: int = MAX_FILES,
    fail_fast: bool = False,
    shortcuts: bool = True,
    processes: int = 1,
    progress: Callable[[int, int], None] | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Report:
    """Verify the package in a folder or a bundle; reads only, and takes no lock.

    Args:
        path: The package's folder, or the bundle.
        base: A package or bundle that has what an incremental bundle continues, or None.
        recompute: Ask every stored request again and compare the answers. Without it the
            report says that replies were not recomputed.
        router: Answers them; one for source and database snapshots by default.
        expect: What the head must be, or None.
        extends: A generation that must be the head or before it, a checkpoint that the history
            must go on from, or None.
        limits: Of the evidence of a service that is to go on with the package; the default
            ones by default. More evidence is a warning.
        max_files: Files and folders that are looked at where the package is a folder, 1 or more.
        fail_fast: Stop at the first error; the report then says that the rest was not read.
        shortcuts: Prove sound frames as a whole where that can be done
            (:mod:`vstore.verify.swift`). Without, every member of all is looked at, which
            takes longer and finds the same.
        processes: 2 to fork a process that reads ahead in a large package, where the system and
            the threads of this process let it; 1 for none. The report is the same.
        progress: Told after every frame how many objects and bytes were read so far.
        clock: Seconds, for the report only; nothing rests on it.

    Returns:
        The report. A package's faults are findings, never exceptions.

    """
    try:
        source = open_source(Path(path), None if base is None else Path(base), max_files=max_files)
    except StorageError as error:
        return unread(str(path), "VS-CON-015", error.message)
    try:
        return verify_source(
            source,
            str(path),
            recompute=recompute,
            router=router,
            expect=expect,
            extends=extends,
            limits=limits,
            fail_fast=fail_fast,
            shortcuts=shortcuts,
            processes=processes,
            progress=progress,
            clock=clock,
        )
    finally:
        source.close()


def verify_source(
    source: PackageSource,
    name: str,
    *,
    recompute: bool = True,
    router: Router | None = None,
    expect: ObjectId | None = None,
    extends: ObjectId | Checkpoint | None = None,
    limits: EvidenceLimits | None = None,
    fail_fast: bool = False,
    shortcuts: bool = True,
    processes: int = 1,
    progress: Callable[[int, int], None] | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Report:
    """As :func:`verify_package`, wherever the package is.

    Args:
        source: The package.
        name: What the report calls it.
        recompute, router, expect, extends, limits, fail_fast, shortcuts, processes: As there.
        progress, clock: As there.
    """
    began = clock()
    if recompute and router is None:
        from vstore.tools.router import Router

        router = Router.default()
    replay = Replay(
        source,
        router if recompute else None,
        expect=expect,
        extends=extends,
        limits=limits,
        shortcuts=shortcuts,
        processes=processes,
    )
    replay.found.stop_at_error = fail_fast
    replay.progress = progress
    try:
        replay.run()
    except FirstError:
        replay.found.skip("everything after the first error, as asked")
    head = replay.history.head
    found = replay.found
    return Report(
        path=name,
        head=replay.last_generation,
        case_id=None if head is None else head.generation.case_id,
        package_id=None if head is None else head.generation.package_id,
        findings=tuple(found.findings),
        unlisted=found.unlisted,
        by_severity={one: found.by_severity[one] for one in ("error", "warning", "note")},
        incomplete=found.incomplete,
        not_checked=tuple(found.not_checked),
        counts=replay.counts(),
        seconds=max(0.0, clock() - began),
        bundle=source.bundle,
    )


class Replay:
    """One pass over one package.

    Args:
        source: The package.
        router: Answers stored requests again; None to leave that out.
        expect: What the head must be, or None.
        extends: A generation that must be part of the history, a checkpoint that it must go on
            from, or None.
        limits: Of the evidence of a service that is to go on with it; the default ones by
            default.
        shortcuts, processes: As for :func:`verify_package`.
    """

    def __init__(
        self,
        source: PackageSource,
        router: Router | None,
        *,
        expect: ObjectId | None,
        extends: ObjectId | Checkpoint | None,
        limits: EvidenceLimits | None = None,
        shortcuts: bool = True,
        processes: int = 1,
    ) -> None:
        self._source = source
        self._expect = expect
        self._recompute = router is not None
        self._processes = processes
        self._log: LogSource | None = None
        #: Segment and offset of each frame, to find it again.
        self._segments = array("L")
        self._offsets = array("Q")
        self._large: dict[str, LargeEntry] = {}
        self._large_by_id: dict[ObjectId, LargeEntry] = {}
        #: Why what builds on earlier frames is not checked any more, or None.
        self._lost: str | None = None
        #: Told of what was read, frame by frame.
        self.progress: Callable[[int, int], None] | None = None
        #: What the last readable publication says the head is.
        self.last_generation: ObjectId | None = None
        self.found = FindingCollector(bundle=source.bundle)
        self.table = ObjectTable(self._payload_of, self._open_large)
        self.objects = ObjectCheck(self.table, self.found)
        self.history = HistoryCheck(
            self.objects, self.found, extends=extends, waits=lambda: self.handoffs.guards_the_ledger
        )
        self.inputs = InputCheck(self.objects, self.found)
        self.replies = ReplyCheck(self.objects, self.found, router)
        self.ledger = LedgerCheck(self.objects, self.found)
        self.handoffs = HandoffCheck(self.objects, self.found, self.ledger)
        sources = SourceReader(self.objects, self.found, self.replies, self.handoffs)
        self.evidence = EvidenceCheck(self.objects, self.found, self.ledger, sources, limits)
        self.ledger.attach(self.evidence, self.handoffs)
        self.investigation = InvestigationCheck(self.objects, self.found, self.evidence)
        self._areas: tuple[AreaCheck, ...] = (
            self.inputs,
            self.evidence,
            self.ledger,
            self.handoffs,
            self.investigation,
        )
        self.shortcuts = shortcuts
        #: Whether every check goes on and no test is out; None where a frame was judged by the
        #: checks since that was found out. One that is proved changes nothing of it.
        self._goes_on: bool | None = None
        self._reader = PublicationReader()
        self._ahead: ReadAhead | None = None
        #: Frames that were proved from what another process read of them.
        self.read_ahead = 0
        self.swift = SwiftPass(self.objects, self.history, self.ledger, self.evidence, router)

    def counts(self) -> Counts:
        """What was read."""
        state = self.evidence.state
        return Counts(
            generations=self.history.count,
            records=0 if state is None else state.count,
            entries=self.ledger.count,
            objects=len(self.table),
            bytes=self.objects.bytes,
            recomputed=self.replies.recomputed + self.swift.recomputed,
        )

    def run(self) -> None:
        """Check everything; faults become findings."""
        if not self._recompute:
            self.found.skip("replies were not recomputed from the pinned snapshots, as asked")
        if not self._guard("the archive", lambda: self._source.check_container(self.found)):
            self.found.skip("what is in it: the archive can't be read")
            return
        if self._source.partial is not None:
            self._lose(self._source.partial)
        readable = self._guard("the format file", lambda: check_format(self._source, self.found))
        if not readable:
            return
        refs = self._guard("refs", self._refs)
        self._log = self._guard("the log", lambda: open_log(self._source, self.found))
        if self._log is None:
            self._guard("files", lambda: check_files(self._source, self.found, None))
            return
        try:
            if self._processes > 1 and self.shortcuts and can_read_ahead(self._source):
                self._ahead = ReadAhead.start(self._source)
            if not self._guard("frames", self._pass):
                self._lose("a check was given up")
            self._guard("the end", lambda: self._finish(refs))
        finally:
            if self._ahead is not None:
                self._ahead.close()
            self._log.close()

    def _refs(self) -> dict[str, ObjectId | BadRef] | None:
        """What the ref files say; None, with a finding, where they can't be read."""
        try:
            return self._source.refs()
        except StorageError as error:
            code = "VS-CON-023" if error.kind == "too_many_refs" else "VS-CON-015"
            self.found.add(code, error.message, file=REFS)
            return None

    def _guard(self, what: str, check: Callable[[], T]) -> T | None:
        """Run a check; whatever it doesn't expect becomes a finding, and others go on."""
        try:
            return check()
        except VStoreError as error:
            reason = f"{error.kind}: {error.message}"
        except Exception as error:  # noqa: BLE001 - hostile bytes must never end a run
            reason = type(error).__name__
        self.found.add("VS-VER-001", f"the check of {what} was given up ({reason})")
        return None

    # ---- the pass

    def _pass(self) -> bool:
        log = self._log
        assert log is not None
        for one in self._within_limits(log):
            if isinstance(one, Damage):
                report_damage(one, self.found)
                if one.kind not in _HARMLESS and not (one.pack and one.frames_lost == 0):
                    self._lose(f"the log is damaged in {one.where}")
                continue
            self._take(log, one)
            if self.progress is not None:
                self.progress(len(self.table), self.objects.bytes)
        check_end(log, self.found)
        return True

    def _within_limits(self, log: LogSource) -> Iterator[FrameSummary | Damage]:
        try:
            yield from log.frames()
        except LimitExceeded as error:
            self.found.add("VS-CON-019", error.message, file=LOG)
            self._lose("a limit of the reader was met")
        except (StorageError, UnsupportedError) as error:
            code = "VS-CON-015" if isinstance(error, StorageError) else "VS-CON-002"
            self.found.add(code, error.message, file=LOG)
            self._lose("the rest of the log can't be read")

    def _take(self, log: LogSource, frame: FrameSummary) -> None:
        number = len(self._segments)
        self._segments.append(frame.segment)
        self._offsets.append(frame.offset)
        if log.foreign(frame):
            self.objects.foreign_frames = number + 1
        publishes = frame.raw_generation != NO_GENERATION
        if publishes and self._take_ahead(frame, number):
            return
        try:
            payload = log.payload(frame)
            large = list(frame.large())
        except (IntegrityError, UnsupportedError, StorageError) as error:
            codes = {IntegrityError: "VS-CON-010", UnsupportedError: "VS-CON-002"}
            self.found.add(
                codes.get(type(error), "VS-CON-015"),
                error.message,
                file=segment_path(frame.segment),
                offset=frame.offset,
            )
            self._lose(f"frame {frame.sequence} can't be read")
            return
        if publishes and self._is_spotless():
            publication = self._reader.read(frame, payload)
            reserved = None if publication is not None else read_reserved(frame, payload)
            if (publication is not None and self.swift.take(frame, number, publication)) or (
                reserved is not None and self.swift.take_reserved(frame, number, reserved)
            ):
                self.last_generation = frame.generation
                return
        self._goes_on = None
        self.objects.begin_frame()
        self.table.keep(number, payload)
        self.objects.take_frame(frame, number, payload)
        for entry in large:
            path = large_path(entry)
            self._large[path] = entry
            self._large_by_id[entry.oid] = entry
            sound = entry.state == "present" and check_large(self._source, entry, self.found)
            self.objects.take_large(entry, number, sound=sound)
        if frame.generation is not None:
            self.last_generation = frame.generation
            if self._lost is None:
                self._step(frame)

    def _take_ahead(self, frame: FrameSummary, number: int) -> bool:
        """Take in a frame that another process read, where there is one and it can be proved."""
        if self._ahead is None or not self._is_spotless():
            return False
        publication = self._ahead.publication(number, frame)
        if publication is None or not self.swift.take(frame, number, publication):
            return False
        self.read_ahead += 1
        self.last_generation = publication.ids[-1]
        return True

    def _is_spotless(self) -> bool:
        """Whether nothing was found and all is followed: only then may a short cut be taken."""
        if self._goes_on is None:
            self._goes_on = not self.handoffs.waits and self._follows_all()
        return (
            self.shortcuts and self._goes_on and self._lost is None and not self.found.by_severity
        )

    def _follows_all(self) -> bool:
        """Whether no check was given up."""
        return all(check.suspended is None for check in self._areas)

    def _step(self, frame: FrameSummary) -> None:
        step = self._guard("history", lambda: self.history.step(frame))
        if step is None:
            self._lose(f"the generation of frame {frame.sequence} can't be read")
            return
        before, now = step.parent, step.generation
        # Most generations change one thing: what didn't change needs no look.
        if (
            before is None
            or before.inputs != now.inputs
            or before.snapshots != now.snapshots
            or before.attachments != now.attachments
        ):
            self._area("inputs", step, self.inputs)
        if (
            before is None
            or before.artifacts != now.artifacts
            or before.analysis_revision != now.analysis_revision
            or before.blocked != now.blocked
            or before.attachments != now.attachments
        ):
            # Tests are handed out and answered on what was there before.
            self._area("tests", step, self.handoffs)
            self._area("evidence", step, self.evidence)
            self._area("the ledger", step, self.ledger)
            self._area("the investigation", step, self.investigation)
            if step.changed("hypotheses") is not None:
                self._guard("hypotheses", lambda: self._check_hypotheses(step))

    def _check_hypotheses(self, step: Step) -> None:
        state = self.ledger.state
        revision = step.generation.analysis_revision
        accounts = {} if state is None or not state.is_initialised(revision) else state.accounts
        check_hypotheses(step, self.objects, self.found, accounts)

    def _area(self, name: str, step: Step, check: AreaCheck) -> None:
        def run() -> bool:
            check.step(step)
            return True

        if not self._guard(f"{name} of {step.name}", run):
            check.suspend(f"a check was given up at {step.name}")

    def _lose(self, why: str) -> None:
        """Go on with objects alone: what builds on lost frames can't be judged."""
        if self._lost is None:
            self._lost = why
            self.found.skip(
                "history, inputs, evidence, ledger, handoff and investigation after "
                f"{self.history.head.name if self.history.head else 'the beginning'}: {why}"
            )

    def _finish(self, refs: Mapping[str, ObjectId | BadRef] | None) -> None:
        complete = self._lost is None
        whole = complete and self._follows_all()
        self._guard("references", lambda: self.objects.finish(complete=complete, whole=whole))
        self._guard("what the bundle says of itself", self._check_claims)
        self._guard("evidence", self.evidence.finish)
        self._guard("replies", self.replies.finish)
        self._guard(
            "refs",
            lambda: self.history.finish(refs, self._refs, complete=complete, expect=self._expect),
        )
        head = self.history.head
        known = head.generation.inputs if complete and head is not None else None
        taken_in = TakenIn(self._source, self.table, known)
        self._guard("files", lambda: check_files(self._source, self.found, self._large, taken_in))
        if self.history.count == 0 and complete:
            self.found.add("VS-VER-002", "the package has no generation")
        if not whole and not self.found.faulty and not self.found.incomplete:
            # Whatever kept a check from going on should have been reported; never pass it.
            self.found.add("VS-VER-001", "not everything could be followed")
        self.found.extend_affected(self.ledger.dependents)

    def _check_claims(self) -> None:
        head = self.last_generation
        document: Generation | None = None
        if head is not None and head in self.table:
            with contextlib.suppress(VStoreError):
                document = self.table.document(head, Generation)
        self._source.check_claims(head, document, self.found)

    # ---- reading again

    def _payload_of(self, number: int) -> bytes:
        assert self._log is not None
        return self._log.payload_at(self._segments[number], self._offsets[number])

    def _open_large(self, oid: ObjectId) -> BinaryIO:
        return self._source.open_large(self._large_by_id[oid])
