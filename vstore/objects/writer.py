"""Writing the object store of one package: transactions and their publication.

The order of writes is that of the spec (storage, "Read and write ordering"): objects, large
files, one frame with one sync, which is the commit point, then the refs.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final, TypedDict, Unpack

from vstore.errors import (
    ConflictError,
    IntegrityError,
    StaleGeneration,
    StorageError,
    VStoreError,
)
from vstore.objects.durable import REAL, DurableIO
from vstore.objects.ids import ObjectId
from vstore.objects.index_cache import index_path
from vstore.objects.index_writer import save_index
from vstore.objects.layout import (
    CACHE,
    FORMAT_FILE,
    LARGE,
    LOCKS,
    LOG,
    REFS,
    TMP,
    encode_format,
)
from vstore.objects.locks import LOCK_TIMEOUT, PUBLICATION, PackageLock, now
from vstore.objects.log_writer import SEGMENT_BYTES, LogWriter, random_salt
from vstore.objects.reader import ObjectReader
from vstore.objects.refs import (
    GENERATION,
    check_ref_name,
    classify,
    encode_ref,
    read_refs,
    ref_path,
)
from vstore.objects.sorted_tables import DoubtfulCache
from vstore.objects.transaction import Transaction

__all__ = ["ObjectWriter", "Transaction", "WriterOptions"]

_FOLDERS: Final = (REFS, "objects", LOG, LARGE, TMP, CACHE, LOCKS)

#: Frames that a process at its end leaves uncovered by the cached index.
_INDEX_AT_END: Final = 8

Refs = Mapping[str, ObjectId]


class WriterOptions(TypedDict, total=False):
    """Keywords of :meth:`ObjectWriter.create` and :meth:`ObjectWriter.open`."""

    #: Durable I/O; tests give one that records or fails.
    io: DurableIO
    #: Size in bytes at which log segments roll, 1 or more; 32 MiB by default.
    segment_bytes: int
    #: Seconds to wait for the publication lock; 30 by default.
    lock_timeout: float
    #: What to tell others who wait for the lock.
    command: str
    #: Gives the time for those, RFC 3339 in UTC.
    clock: Callable[[], str]
    #: Gives 16 random bytes for a new log segment.
    salt: Callable[[], bytes]
    #: Frames after which the cached index of objects is written again; 512 by default.
    index_every: int


class ObjectWriter:
    """The one that adds to a package's store; use :meth:`create` or :meth:`open`."""

    def __init__(self, root: Path, **options: Unpack[WriterOptions]) -> None:
        io = options.get("io", REAL)
        self.root = root
        self.io = io
        self.reader = ObjectReader(root)
        self.log = LogWriter(
            root,
            self.reader.log,
            io=io,
            segment_bytes=options.get("segment_bytes", SEGMENT_BYTES),
            salt=options.get("salt", random_salt),
        )
        self.lock = PackageLock(
            root,
            PUBLICATION,
            timeout=options.get("lock_timeout", LOCK_TIMEOUT),
            command=options.get("command", "vstore"),
            clock=options.get("clock", now),
        )
        #: Refs as this process last saw or wrote them, None when it must look again.
        self._refs: dict[str, ObjectId] | None = None
        self._temporary = 0
        self._token = os.urandom(8).hex()
        self._index_every = options.get("index_every", 512)
        #: Frames that the index written last covers; -1 before the first publication.
        self._covered = -1
        self._index_given_up = False
        self._ref_paths: dict[str, Path] = {}
        #: A name in ``tmp/``, which was there, that is free unless a write of a ref failed.
        self._ref_temporary: Path | None = None

    @classmethod
    def create(cls, root: Path, **options: Unpack[WriterOptions]) -> ObjectWriter:
        """Make a new, empty package in a folder, which may exist.

        Args:
            root: The folder; its parent must exist.
            options: See :class:`WriterOptions`.

        Raises:
            ConflictError: The folder is a package already (``exists``), or has a log.
            StorageError: Something can't be written.
        """
        io = options.get("io", REAL)
        if (root / FORMAT_FILE).exists():
            raise ConflictError("the folder is a package already", kind="exists")
        if (root / LOG).is_dir() and any((root / LOG).iterdir()):
            raise ConflictError(
                "the folder has a log but no VSTORE file",
                kind="exists",
                hint="this may be a damaged package; choose another folder",
            )
        io.mkdir(root)
        for name in _FOLDERS:
            io.mkdir(root / name)
        for name in ("objects", ""):
            io.sync_folder(root / name)
        io.sync_folder(root.parent)
        temporary = root / TMP / f"format-{os.getpid()}"
        io.discard(temporary)
        # Empty until the first publication: its absence later is never a crash's doing.
        io.write_atomic(ref_path(root, GENERATION), b"", temporary=temporary, durable=True)
        io.write_atomic(root / FORMAT_FILE, encode_format(), temporary=temporary, durable=True)
        return cls(root, **options)

    @classmethod
    def open(cls, root: Path, **options: Unpack[WriterOptions]) -> ObjectWriter:
        """Open a package for writing; nothing is written yet.

        Args:
            root: The package's folder.
            options: See :class:`WriterOptions`.

        Raises:
            As :class:`ObjectReader`.
        """
        return cls(root, **options)

    def close(self) -> None:
        """Close all files; the index of objects is cached first when that is due."""
        if self._covered >= 0:
            self._save_index(min(self._index_every, _INDEX_AT_END))
        self.log.close()
        self.lock.close()
        self.reader.close()

    def transaction(self) -> Transaction:
        """A new transaction, which sees its own objects and those of the store."""
        return Transaction(self)

    def ensure_synced(self) -> None:
        """Make sure that the head is on the disk: before a repeat is answered, or an export.

        Raises:
            StorageError: The sync failed; this writer stops.
        """
        with self.lock:
            self.reader.refresh()
            self.log.check()
            self.log.ensure_synced()

    def temporary(self, what: str) -> Path:
        """A name in ``tmp/`` that no other writer uses, for residue a crash may leave."""
        self._temporary += 1
        return self.root / TMP / f"{what}-{self._token}-{self._temporary}"

    def ensure_folder(self, path: Path) -> None:
        """Make a folder of the package durably unless it exists.

        Raises:
            StorageError: It can't be made.
        """
        if not path.is_dir():
            self.ensure_folder(path.parent)
            self.io.mkdir(path)
            self.io.sync_folder(path.parent)

    # ---- refs

    def restore_refs(
        self, expected: Refs, earlier: Iterable[Refs], *, accept: bool = False
    ) -> list[str]:
        """Move lagging refs forward to what the head says; returns their names.

        Args:
            expected: All refs of the head, ``generation`` among them.
            earlier: All refs of each generation before it, newest first; taken lazily.
            accept: Replace missing and foreign refs too: an explicit decision of a person that
                the log is right.

        Raises:
            StaleGeneration: The head is another one.
            IntegrityError: A ref is missing or foreign and ``accept`` is false.
            StorageError: Something can't be written.
        """
        with self.lock:
            self.reader.refresh()
            self.log.check()
            self._check_head(expected.get(GENERATION))
            self.log.ensure_synced()
            return self._repair_refs(expected, earlier, accept=accept)

    def _check_head(self, expected: ObjectId | None) -> None:
        head = self.reader.generation
        if head != expected:
            raise StaleGeneration(
                f"the package is at generation {head or 'none'} by now, "
                f"not at {expected or 'none'}",
                hint="read the package again and repeat",
                head=head,
                expected=expected,
            )

    def _repair_refs(
        self, expected: Refs, earlier: Iterable[Refs], *, accept: bool = False
    ) -> list[str]:
        actual = read_refs(self.root)
        if actual == expected:
            self._refs = dict(expected)
            return []
        states = classify(actual, expected, earlier)
        wrong = {name: state for name, state in states.items() if state in ("missing", "foreign")}
        if wrong and not accept:
            raise IntegrityError(
                "refs contradict the log: "
                + ", ".join(f"{name} is {state}" for name, state in wrong.items()),
                kind="log_lost_head" if wrong.get(GENERATION) == "foreign" else "bad_refs",
                hint="vstore verify says more; vstore repair can accept what the log says",
                refs=wrong,
            )
        behind = [name for name, state in states.items() if state != "current"]
        # Rare, so every step is durable; the head's own ref goes last here too.
        for name in sorted(behind, key=lambda one: (one == GENERATION, one)):
            self._write_ref(name, expected.get(name), durable=True)
        self._refs = dict(expected)
        return behind

    def _write_ref(self, name: str, value: ObjectId | None, *, durable: bool) -> None:
        path = self._ref_paths.get(name)
        if path is None:
            path = self._ref_paths[name] = ref_path(self.root, name)
        if value is None:
            self.io.unlink(path)
            return
        if durable:
            self.ensure_folder(path.parent)
        content = encode_ref(value)
        try:
            self._replace_ref(path, content, durable=durable)
        except StorageError as error:
            if error.details.get("errno") != errno.ENOENT:
                raise
            # Anybody may remove the folder of temporary files, also while this process runs.
            self._replace_ref(path, content, durable=durable)

    def _replace_ref(self, path: Path, content: bytes, *, durable: bool) -> None:
        """Always by a new file: a power cut leaves one value, whole or cut (docs/adr/0014)."""
        temporary, self._ref_temporary = self._ref_temporary, None
        if temporary is None:
            # A package that came in a bundle has no such folder yet.
            self.ensure_folder(self.root / TMP)
            temporary = self.temporary("ref")
        self.io.write_atomic(path, content, temporary=temporary, durable=durable)
        # The name was renamed away; making another for each ref takes as long as some writes.
        self._ref_temporary = temporary

    def _project_refs(self, refs: Refs) -> None:
        """After the commit point: write what changed, ``generation`` last.

        Nothing here makes the publication fail: a ref that can't be written lags.
        """
        before = self._refs if self._refs is not None else {}
        self._refs = None
        try:
            changed = [name for name, value in refs.items() if before.get(name) != value]
            gone = [name for name in before if name not in refs]
            for name in sorted(changed, key=lambda one: (one == GENERATION, one)):
                if name == GENERATION:
                    for old in gone:
                        self._write_ref(old, None, durable=False)
                self._write_ref(name, refs[name], durable=name not in before)
        except StorageError:
            return
        self._refs = dict(refs)

    def _save_index(self, every: int) -> None:
        """Cache the index of objects when so many frames are not covered by the cached one."""
        sequence = self.reader.sequence
        covered = max(self._covered, self.reader.covered)
        if sequence - covered < every:
            return
        self._covered = sequence
        try:
            fresh = self.reader.uncovered()
            tail = self.reader.log.tail
            if tail.digest and not self.reader.damage and not self._index_given_up:
                files = self.reader.index_files
                self.reader.cover(save_index(self.root, tail, fresh, files, self.io))
        except DoubtfulCache:
            # The next process begins anew.
            self._index_given_up = True
            self.io.discard(index_path(self.root))
        except VStoreError:
            # It is derived, and the publication has happened.
            return

    def extend(
        self,
        parent: ObjectId,
        steps: Iterable[Callable[[Transaction], tuple[ObjectId, bytes]]],
        *,
        previous_refs: Refs,
        earlier: Iterable[Refs],
        refs: Refs,
    ) -> None:
        """Publish generations that were made elsewhere, one after the other, then the refs.

        They are synced together: nobody is told of one before all are on the disk. A crash
        leaves the first few of them, and refs that lag.

        Args:
            parent: The head that they continue.
            steps: Each puts what a generation adds into a transaction and gives the
                generation's id and bytes; taken lazily, under the publication lock.
            previous_refs: All refs of ``parent``, ``generation`` among them.
            earlier: As for :meth:`Transaction.publish`.
            refs: All refs of the last one, ``generation`` among them.

        Raises:
            StaleGeneration, IntegrityError, LockTimeout, StorageError: As
                :meth:`Transaction.publish`.
        """
        for name in refs:
            check_ref_name(name)
        with self.lock:
            self.reader.refresh()
            self.log.check()
            self._check_head(parent)
            self.log.ensure_synced()
            self._repair_refs(previous_refs, earlier)
            for step in steps:
                with self.transaction() as transaction:
                    transaction.append(step(transaction), sync=False)
            self.log.ensure_synced()
            self._project_refs(refs)
            self._save_index(self._index_every)

    def publish(
        self,
        transaction: Transaction,
        parent: ObjectId | None,
        generation: tuple[ObjectId, bytes],
        refs: Refs,
        previous_refs: Refs,
        earlier: Iterable[Refs],
    ) -> None:
        """See :meth:`Transaction.publish`."""
        before = dict(previous_refs)
        if parent is not None:
            before[GENERATION] = parent
        after = {**refs, GENERATION: generation[0]}
        for name in after:
            check_ref_name(name)
        with self.lock:
            self.reader.refresh()
            self.log.check()
            self._check_head(parent)
            if self._refs != before:
                # Refs must never say more than what is known to be on the disk.
                self.log.ensure_synced()
                self._repair_refs(before, earlier)
            transaction.append(generation)
            self._project_refs(after)
            self._covered = max(self._covered, 0)
            self._save_index(self._index_every)
