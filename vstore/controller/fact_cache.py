"""What a projection holds, kept under ``cache/`` for the next process.

``cache/facts`` says up to which frame of the log the facts reach and names files of sorted
tables, and one of the open actions; a process looks its questions up in them and folds only
what was published since.
A cache is used only when the log has that very frame at that very place, the documents it
continues from are those of the frame's generation, and every checksum holds. Otherwise it
is as if there were none (spec: storage, "Recovery" and "Cost"; docs/adr/0004).
"""

from __future__ import annotations

from functools import partial
from typing import Final

import msgspec
from blake3 import blake3

from vstore.budget.documents import AccountFigures, BudgetPolicy, LedgerEntry
from vstore.budget.state import LedgerState, OpenAction
from vstore.budget.tables import LazyMap
from vstore.controller.cached_tables import VALUES, CaseTables
from vstore.controller.folding import empty_states, fold_evidence, fold_ledger
from vstore.errors import VStoreError
from vstore.evidence.index_documents import EvidenceIndex
from vstore.evidence.state import EvidenceState
from vstore.objects.canonical import decode, encode, encode_part
from vstore.objects.durable import DurableIO
from vstore.objects.ids import ObjectId
from vstore.objects.layout import CACHE, read_file
from vstore.objects.log_place import LogPlace, holds, place_of
from vstore.objects.merkle import Frontier
from vstore.objects.reader import ObjectReader
from vstore.objects.sealed import load
from vstore.objects.sorted_tables import DoubtfulCache
from vstore.objects.table_stack import TableFile, open_files, table_path
from vstore.objects.table_writer import write_cache, write_files
from vstore.package.documents import Generation

__all__ = ["FACTS", "CachedFacts", "FactCache"]

FACTS: Final = "facts"
ACTIONS: Final = "actions"
_MAX_BYTES: Final = 64 * 1024 * 1024
_DIGEST_BYTES: Final = 32


class _Ledger(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    head: ObjectId | None
    sequence: int
    revision: int
    closed: bool
    policy: ObjectId | None
    case_credit_cap: int
    max_revisions: int
    granted: int
    accounts: list[AccountFigures]
    #: Digest of the file of open actions, which is read when somebody asks for one.
    actions: str


class _Facts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    version: int
    case_id: str
    package_id: str
    generation: ObjectId
    place: LogPlace
    index: ObjectId | None
    frontier_size: int
    frontier: list[str]
    ledger: _Ledger
    #: Oldest first.
    files: list[TableFile]


_VERSION: Final = 2


class CachedFacts(msgspec.Struct, frozen=True):
    """What a cache held."""

    evidence: EvidenceState
    ledger: LedgerState
    tables: CaseTables


class FactCache:
    """The cache of one package.

    Args:
        reader: The package's objects and log.
        io: Writes; failures are of no consequence.
    """

    def __init__(self, reader: ObjectReader, io: DurableIO) -> None:
        self._reader = reader
        self._io = io
        self._folder = reader.root / CACHE
        self._files: list[TableFile] = []
        #: Digest of the file of open actions; empty for none.
        self._actions = ""
        #: Sequence number of the last frame that the cache reaches; 0 for none.
        self.reaches = 0
        self._blocked = False

    def load(self, case_id: str, package_id: str) -> CachedFacts | None:
        """What the cache holds, None where it holds nothing that can be relied on."""
        try:
            return self._load(case_id, package_id)
        except VStoreError:
            self.discard()
            return None

    def discard(self) -> None:
        """Forget what is there; the next :meth:`save` writes everything."""
        self._files = []
        self._actions = ""
        self.reaches = 0
        self._blocked = False

    def _load(self, case_id: str, package_id: str) -> CachedFacts | None:
        raw = read_file(self._folder / FACTS, _MAX_BYTES)
        if raw is None:
            return None
        body, digest = raw[:-_DIGEST_BYTES], raw[-_DIGEST_BYTES:]
        if len(raw) > _MAX_BYTES or blake3(body).digest() != digest:
            raise DoubtfulCache("the cached facts are damaged")
        facts = decode(body, _Facts, max_bytes=_MAX_BYTES, what="cache")
        reader = self._reader
        if (facts.version, facts.case_id, facts.package_id) != (_VERSION, case_id, package_id):
            raise DoubtfulCache("the cached facts are of another package")
        if not holds(reader.log, facts.place):
            raise DoubtfulCache("the cached facts are of another log")
        artifacts = reader.document(facts.generation, Generation).artifacts
        if (artifacts.get("evidence_index"), artifacts.get("budget_ledger")) != (
            facts.index,
            facts.ledger.head,
        ):
            raise DoubtfulCache("the cached facts are of another generation")
        files = open_files(self._folder, FACTS, facts.files, VALUES)
        tables = CaseTables(files, reader, lambda: self._fold(facts))
        evidence = self._evidence(facts, tables)
        ledger = self._ledger(facts, tables)
        self._files = list(facts.files)
        self._actions = facts.ledger.actions
        self.reaches = facts.place.sequence
        return CachedFacts(evidence, ledger, tables)

    def _evidence(self, facts: _Facts, tables: CaseTables) -> EvidenceState:
        frontier = Frontier.from_hashes(
            facts.frontier_size, [bytes.fromhex(one) for one in facts.frontier]
        )
        if tables.count != frontier.size:
            raise DoubtfulCache("the cached facts have another number of records")
        if facts.index is None:
            if frontier.size:
                raise DoubtfulCache("the cached facts have records without an index")
            return empty_states(facts.case_id, facts.package_id, tables)[0]
        return EvidenceState.resume(
            load(self._reader, facts.index, EvidenceIndex),
            frontier,
            seen=tables.seen,
            contents=tables.contents,
            operations=tables.operations,
            actions=tables.actions,
        )

    def _ledger(self, facts: _Facts, tables: CaseTables) -> LedgerState:
        stored, objects = facts.ledger, self._reader
        if stored.head is not None:
            entry = objects.document(stored.head, LedgerEntry)
            if entry.sequence != stored.sequence:
                raise DoubtfulCache("the cached ledger is of another length")
        policy = None if stored.policy is None else objects.document(stored.policy, BudgetPolicy)
        return LedgerState(
            case_id=facts.case_id,
            package_id=facts.package_id,
            head=stored.head,
            sequence=stored.sequence,
            revision=stored.revision,
            closed=stored.closed,
            policy=policy,
            policy_id=stored.policy,
            case_credit_cap=stored.case_credit_cap,
            max_revisions=stored.max_revisions,
            granted=stored.granted,
            accounts={one.hypothesis_id: one for one in stored.accounts},
            actions=LazyMap(partial(self._open_actions, facts)),
            outcomes=tables.outcomes,
            seen_refs=tables.refs,
        )

    def _open_actions(self, facts: _Facts) -> dict[str, OpenAction]:
        digest = facts.ledger.actions
        try:
            raw = read_file(table_path(self._folder, ACTIONS, digest), _MAX_BYTES)
            if raw is None or blake3(raw).hexdigest() != digest:
                raise DoubtfulCache("the cached actions are damaged")
            stored = decode(raw, list[OpenAction], max_bytes=_MAX_BYTES, what="cache")
            return {one.action_id: one for one in stored}
        except VStoreError:
            self._actions = ""
            _, ledger = empty_states(facts.case_id, facts.package_id, CaseTables([], self._reader))
            fold_ledger(ledger, self._reader, facts.ledger.head)
            return dict(ledger.actions)

    def _fold(self, facts: _Facts) -> CaseTables:
        """What the files cover, from the log itself."""
        tables = CaseTables([], self._reader)
        evidence, ledger = empty_states(facts.case_id, facts.package_id, tables)
        fold_evidence(evidence, tables, self._reader, facts.index)
        fold_ledger(ledger, self._reader, facts.ledger.head)
        return tables

    # ---- writing

    def save(
        self,
        generation: ObjectId,
        evidence: EvidenceState,
        ledger: LedgerState,
        tables: CaseTables,
    ) -> None:
        """Keep the facts as of the head; what goes wrong is of no consequence.

        Args:
            generation: The generation that the facts are of; nothing happens when the log
                goes on behind it.
            evidence: The fold of the evidence.
            ledger: The fold of the ledger.
            tables: What both rest on.
        """
        place = place_of(self._reader.log)
        if place is None or self._reader.generation != generation:
            return
        if tables.healed:
            self.discard()
        if self._blocked:
            return
        try:
            actions = encode_part(list(ledger.actions.values()))
            open_actions = blake3(actions).hexdigest()
            if open_actions != self._actions:
                write_cache(table_path(self._folder, ACTIONS, open_actions), actions, self._io)
            files, gone = write_files(
                self._folder, FACTS, self._files, tables.fresh_entries(), VALUES, self._io
            )
            facts = _Facts(
                version=_VERSION,
                case_id=evidence.case_id,
                package_id=evidence.package_id,
                generation=generation,
                place=place,
                index=evidence.head,
                frontier_size=evidence.frontier.size,
                frontier=[one.hex() for one in evidence.frontier.hashes],
                ledger=_Ledger(
                    head=ledger.head,
                    sequence=ledger.sequence,
                    revision=ledger.revision,
                    closed=ledger.closed,
                    policy=ledger.policy_id,
                    case_credit_cap=ledger.case_credit_cap,
                    max_revisions=ledger.max_revisions,
                    granted=ledger.granted,
                    accounts=list(ledger.accounts.values()),
                    actions=open_actions,
                ),
                files=files,
            )
            body = encode(facts)
            write_cache(self._folder / FACTS, body + blake3(body).digest(), self._io)
        except DoubtfulCache:
            # Whoever looks up what that file covers finds out, and all becomes fresh.
            self._blocked = True
            self._io.discard(self._folder / FACTS)
            return
        except VStoreError:
            # Files of an unfinished save are residue; the tables keep what is fresh.
            return
        if self._actions not in ("", open_actions):
            self._io.discard(table_path(self._folder, ACTIONS, self._actions))
        self._actions = open_actions
        self._files = files
        self.reaches = place.sequence
        tables.saved()
        for one in gone:
            self._io.discard(table_path(self._folder, FACTS, one.digest))
