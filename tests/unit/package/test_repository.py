"""One package on disk: publishing, who is first, refs that lag or lie, what survives."""

from __future__ import annotations

import errno
import hashlib
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from vstore.errors import (
    ConflictError,
    IntegrityError,
    InvalidError,
    NotFoundError,
    StaleGeneration,
    StateError,
    StorageError,
)
from vstore.objects.durable import REAL, DurableIO
from vstore.objects.ids import object_id
from vstore.objects.locks import LockTimeout
from vstore.package.case import Case
from vstore.package.documents import Blocked
from vstore.package.pinned import PinnedPackage
from vstore.package.reader import PackageReader
from vstore.package.repository import Repository
from vstore.testing.clock import FrozenClock
from vstore.testing.faults import FaultyIO, KillingIO, RecordingIO, SimulatedDeath


def make(path: Path, io: DurableIO = REAL) -> Repository:
    repository = Repository.create(path, actor="tester", clock=FrozenClock(), io=io)
    Case(repository).init("c", "p")
    return repository


@pytest.fixture
def repository(tmp_path: Path) -> Iterator[Repository]:
    with make(tmp_path / "package") as made:
        yield made


def source_add(repository: Repository, name: str) -> PinnedPackage:
    """A publication that is legal in every open state and as small as can be."""
    with repository.begin() as transaction:
        return repository.publish(
            transaction,
            repository.pinned(),
            events=[repository.event("source.add")],
            snapshots={name: transaction.put(name.encode())},
        )


def with_hypotheses(repository: Repository) -> Case:
    case = Case(repository)
    case.advance()
    case.advance()
    case.set_hypotheses([{"id": "H1", "statement": "first"}])
    return case


def merkle(leaves: list[bytes]) -> str:
    """RFC 6962, section 2.1, as it stands there."""

    def node(part: list[bytes]) -> bytes:
        if len(part) == 1:
            return hashlib.sha256(b"\x00" + part[0]).digest()
        split = 1
        while split * 2 < len(part):
            split *= 2
        return hashlib.sha256(b"\x01" + node(part[:split]) + node(part[split:])).digest()

    return node(leaves).hex() if leaves else hashlib.sha256(b"").hexdigest()


def check_history(reader: PackageReader) -> int:
    leaves: list[bytes] = []
    for oid, generation in reader.history(newest_first=False):
        assert generation.package_generation == len(leaves) + 1
        assert (generation.history.size, generation.history.root) == (len(leaves), merkle(leaves))
        leaves.append(reader.objects.get(oid))
    return len(leaves)


def test_a_generation_after_another(repository: Repository) -> None:
    first = repository.pinned()
    second = source_add(repository, "a")
    assert second.generation.parent == first.generation_id
    assert repository.pinned() == second
    assert second.objects.get(second.generation.snapshots["a"]) == b"a"
    event = second.generation.events[0]
    assert (event.kind, event.actor, event.at) == ("source.add", "tester", "2026-01-01T00:00:00Z")


def test_the_history_tree_is_that_of_rfc_6962(repository: Repository) -> None:
    for number in range(20):
        source_add(repository, f"s{number}")
    assert check_history(repository.reader) == 21


@pytest.mark.parametrize("cache", ["kept", "absent", "garbage", "zeros", "foreign", "old", "wrong"])
def test_the_history_goes_on_in_a_fresh_process_whatever_is_cached(
    tmp_path: Path, cache: str
) -> None:
    path = tmp_path / "package"
    file = path / "cache" / "history"
    with make(path) as one:
        for number in range(40):
            source_add(one, f"s{number}")
            if number == 20:
                one._history.save()
                old = file.read_bytes()
    saved = file.read_bytes()
    assert saved.startswith(b"40\n")
    if cache == "absent":
        file.unlink()
    elif cache == "garbage":
        file.write_bytes(b"\xff\x00 rubbish")
    elif cache == "zeros":
        file.write_bytes(bytes(len(saved)))
    elif cache == "old":
        file.write_bytes(old)
    elif cache == "wrong":
        digit = b"0" if saved[-2:-1] != b"0" else b"1"
        file.write_bytes(saved[:-2] + digit + b"\n")
    elif cache == "foreign":
        with make(tmp_path / "other") as other:
            for number in range(40):
                source_add(other, f"t{number}")
        file.write_bytes((tmp_path / "other" / "cache" / "history").read_bytes())
    with Repository.open(path) as again:
        source_add(again, "later")
        assert check_history(again.reader) == 42


def test_a_cache_that_cannot_be_written_is_of_no_consequence(tmp_path: Path) -> None:
    with make(tmp_path / "package") as one:
        (tmp_path / "package" / "cache").rmdir()
        (tmp_path / "package" / "cache").write_text("in the way")
        for number in range(20):
            source_add(one, f"s{number}")
    with Repository.open(tmp_path / "package") as again:
        source_add(again, "later")
        assert check_history(again.reader) == 22


def test_creating_twice_is_refused(tmp_path: Path) -> None:
    make(tmp_path / "package").close()
    with pytest.raises(ConflictError) as caught:
        Repository.create(tmp_path / "package")
    assert caught.value.kind == "package_exists"


def test_opening_what_is_no_package(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        Repository.open(tmp_path)


def test_a_package_without_a_generation(tmp_path: Path) -> None:
    Repository.create(tmp_path / "package").close()
    with Repository.open(tmp_path / "package") as one, pytest.raises(NotFoundError) as caught:
        one.pinned()
    assert caught.value.kind == "no_generation"
    with Repository.create(tmp_path / "package") as one:
        assert Case(one).init("c", "p").number == 1


def test_a_stale_base_publishes_nothing(tmp_path: Path, repository: Repository) -> None:
    with Repository.open(repository.root) as other:
        base = repository.pinned()
        head = source_add(other, "theirs")
        with repository.begin() as transaction:
            with pytest.raises(StaleGeneration):
                repository.publish(
                    transaction,
                    base,
                    events=[repository.event("source.add")],
                    snapshots={"ours": transaction.put(b"ours")},
                )
            assert repository.pinned() == head
            # The same transaction may be published on the new head.
            mine = repository.publish(
                transaction,
                head,
                events=[repository.event("source.add")],
                snapshots={"ours": object_id(b"ours")},
            )
        assert set(other.pinned().generation.snapshots) == {"theirs", "ours"}
        assert mine.objects.get(object_id(b"ours")) == b"ours"
        assert check_history(other.reader) == 3


def test_whoever_holds_the_publication_lock_is_never_stale(repository: Repository) -> None:
    """Eight threads over two writers of one package: no publication is lost."""
    with Repository.open(repository.root) as other:
        errors: list[Exception] = []

        def work(which: Repository, number: int) -> None:
            try:
                for count in range(5):
                    with which.locked() as head, which.begin() as transaction:
                        name = f"t{number}.{count}"
                        which.publish(
                            transaction,
                            head,
                            events=[which.event("source.add")],
                            snapshots={name: transaction.put(name.encode())},
                        )
            except Exception as error:  # noqa: BLE001 - threads must not swallow anything
                errors.append(error)

        threads = [
            threading.Thread(target=work, args=(repository if n % 2 else other, n))
            for n in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []
        assert len(other.pinned().generation.snapshots) == 40
        assert check_history(other.reader) == 41


def test_threads_read_while_one_writes(tmp_path: Path) -> None:
    with make(tmp_path / "package") as one:
        for number in range(60):
            source_add(one, f"s{number}")
    with Repository.open(tmp_path / "package") as one:
        package = one.pinned()
        wanted = [object_id(b"s%d" % number) for number in range(60)]
        errors: list[Exception] = []

        def read(step: int) -> None:
            try:
                for position in range(300):
                    number = position * step % 60
                    assert package.objects.get(wanted[number]) == b"s%d" % number
            except Exception as error:  # noqa: BLE001 - threads must not swallow anything
                errors.append(error)

        threads = [threading.Thread(target=read, args=(step,)) for step in (1, 7, 11, 59)]
        interval = sys.getswitchinterval()
        sys.setswitchinterval(1e-5)
        try:
            for thread in threads:
                thread.start()
            for number in range(20):
                source_add(one, f"t{number}")
            for thread in threads:
                thread.join()
        finally:
            sys.setswitchinterval(interval)
        assert errors == []


def test_the_evidence_lock_says_who_holds_it(repository: Repository) -> None:
    with Repository.open(repository.root, lock_timeout=0.0) as other:
        with repository.evidence_lock(), repository.evidence_lock():
            with pytest.raises(LockTimeout) as caught, other.evidence_lock():
                pass
            assert str(os.getpid()) in str(caught.value)
            source_add(other, "meanwhile")  # the publication lock is another one
        with other.evidence_lock():
            pass


def test_members_that_do_not_go_with_the_events_are_refused(repository: Repository) -> None:
    base = repository.pinned()
    with repository.begin() as transaction, pytest.raises(InvalidError) as caught:
        repository.publish(
            transaction,
            base,
            events=[repository.event("advance")],
            artifacts={"evidence_index": transaction.put(b"x")},
        )
    assert caught.value.kind == "bad_generation"
    with repository.begin() as transaction, pytest.raises(StateError):
        repository.publish(transaction, base, events=[repository.event("hypotheses")])
    assert repository.pinned() == base


def test_a_blocked_case_keeps_its_reason(repository: Repository) -> None:
    Case(repository).advance()
    wait = Blocked(
        reason="OPERATOR_HOLD",
        resume_state="ADMITTED",
        retry_not_before=None,
        automatic_retry=False,
    )
    with repository.begin() as transaction:
        held = repository.publish(
            transaction, repository.pinned(), events=[repository.event("block")], blocked=wait
        )
    assert held.generation.blocked is not None
    assert held.generation.blocked.resume_state == "INTERPRETING"
    with repository.begin() as transaction:
        back = repository.publish(transaction, held, events=[repository.event("resume")])
    assert (back.state, back.generation.blocked) == ("INTERPRETING", None)


@pytest.mark.parametrize(
    "members",
    [
        {"actor": "x" * 201},
        {"actor": "\udc80"},
        {"reason": "x" * 2001},
        {"operation_id": "a/b"},
        {"kind": "Not A Kind"},
    ],
)
def test_what_an_event_cannot_hold(repository: Repository, members: dict[str, str]) -> None:
    with pytest.raises(InvalidError) as caught:
        repository.event(**{"kind": "advance", **members})  # type: ignore[arg-type]
    assert caught.value.kind == "invalid_event"


# ---- refs


def ref(repository: Repository, name: str) -> Path:
    return repository.root / "refs" / name


def states(reader: PackageReader) -> dict[str, str]:
    return {status.name: status.state for status in reader.ref_report()}


def test_refs_mirror_the_head(repository: Repository) -> None:
    head = with_hypotheses(repository).package
    assert ref(repository, "generation").read_text() == f"{head.generation_id}\n"
    assert ref(repository, "hypotheses").read_text() == f"{head.artifact('hypotheses')}\n"
    assert states(repository.reader) == {"generation": "current", "hypotheses": "current"}
    assert repository.repair() == []


@pytest.mark.parametrize("name", ["generation", "hypotheses"])
@pytest.mark.parametrize("value", ["rewound", "empty", "zeros"])
def test_a_ref_that_lags_resets_nothing_and_is_moved_forward(
    tmp_path: Path, name: str, value: str
) -> None:
    with make(tmp_path / "package") as first:
        case = with_hypotheses(first)
        before = ref(first, name).read_bytes()
        head = case.set_hypotheses([{"id": "H1", "statement": "second"}])
        good = ref(first, name).read_bytes()
    bad = {"rewound": before, "empty": b"", "zeros": bytes(len(good))}[value]
    ref(first, name).write_bytes(bad)
    with PackageReader.open(tmp_path / "package") as reader:
        assert reader.pinned().generation_id == head.generation_id
        assert states(reader)[name] == "lagging"
    with Repository.open(tmp_path / "package") as again:
        (todo,) = again.repair(dry_run=True)
        assert todo.startswith(f"move refs/{name} (lagging) to b3:")
        assert ref(first, name).read_bytes() == bad
        assert again.repair() == [todo]
        assert ref(first, name).read_bytes() == good
    ref(first, name).write_bytes(bad)
    with Repository.open(tmp_path / "package") as again:
        assert again.confirm().generation_id == head.generation_id
        assert ref(first, name).read_bytes() == good
        assert again.confirm().generation_id == head.generation_id
    ref(first, name).write_bytes(bad)
    with Repository.open(tmp_path / "package") as again:
        after = Case(again).set_hypotheses([{"id": "H1", "statement": "third"}])
        assert set(states(again.reader).values()) == {"current"}
        assert after.number == head.number + 1


@pytest.mark.parametrize("name", ["generation", "hypotheses"])
@pytest.mark.parametrize("value", ["deleted", "foreign", "malformed"])
def test_a_ref_that_is_missing_or_foreign_stops_writing_until_told(
    tmp_path: Path, name: str, value: str
) -> None:
    with make(tmp_path / "package") as first:
        head = with_hypotheses(first).package
        good = ref(first, name).read_bytes()
    path = ref(first, name)
    if value == "deleted":
        path.unlink()
    elif value == "foreign":
        path.write_text(f"{object_id(b'elsewhere')}\n")
    else:
        path.write_text("HEAD\n")
    log = {one: one.read_bytes() for one in (tmp_path / "package" / "objects").rglob("*.vlog")}
    with Repository.open(tmp_path / "package") as again:
        assert again.pinned().generation_id == head.generation_id
        for action in (
            lambda: Case(again).set_hypotheses([{"id": "H1", "statement": "x"}]),
            again.repair,
            lambda: again.repair(dry_run=True),
            again.confirm,
        ):
            with pytest.raises(IntegrityError) as caught:
                action()
            lost = name == "generation" and value == "foreign"
            assert caught.value.kind in (
                ("log_lost_head",) if lost else ("bad_refs", "log_lost_head")
            )
        assert {one: one.read_bytes() for one in log} == log
        (todo,) = again.repair(accept_log_head=True, dry_run=True)
        assert f"refs/{name}" in todo
        assert again.repair(accept_log_head=True) == [todo]
        assert path.read_bytes() == good
        after = Case(again).set_hypotheses([{"id": "H1", "statement": "x"}])
        assert after.number == head.number + 1


def test_a_ref_that_the_head_does_not_have(repository: Repository) -> None:
    head = repository.pinned()
    ref(repository, "evidence_index").write_text(f"{object_id(b'x')}\n")
    assert states(repository.reader)["evidence_index"] == "foreign"
    with Repository.open(repository.root) as again:
        with pytest.raises(IntegrityError):
            source_add(again, "a")
        (todo,) = again.repair(accept_log_head=True)
        assert todo.startswith("remove refs/evidence_index")
        assert not ref(repository, "evidence_index").exists()
        assert source_add(again, "a").number == head.number + 1


# ---- faults


def publications(path: Path) -> int:
    with PackageReader.open(path) as reader:
        return sum(1 for _ in reader.history())


def test_a_creation_that_fails_anywhere_can_be_repeated(tmp_path: Path) -> None:
    recorder = RecordingIO()
    make(tmp_path / "whole", recorder).close()
    count = len(recorder.operations)
    assert count > 10
    for number in range(count):
        path = tmp_path / f"killed{number}"
        with pytest.raises(SimulatedDeath):
            make(path, KillingIO(number, simulate=True))
        # Where it died behind the commit point, the package is there.
        with suppress(ConflictError), make(path) as again:
            assert again.pinned().number == 1
        with Repository.open(path) as opened:
            assert opened.confirm().number == 1
            assert source_add(opened, "a").number == 2
            assert check_history(opened.reader) == 2
            assert set(states(opened.reader).values()) == {"current"}


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO])
def test_a_publication_that_fails_leaves_the_package_usable(tmp_path: Path, error: int) -> None:
    path = tmp_path / "package"
    make(path).close()
    recorder = RecordingIO()
    with Repository.open(path, io=recorder) as one:
        source_add(one, "recorded")
    done = 2
    for number in range(len(recorder.operations)):
        with Repository.open(path, io=FaultyIO(number, error, lasting=True)) as one:
            try:
                source_add(one, f"f{number}")
                outcomes = {done + 1}
            except StorageError as failed:
                unknown = failed.details["outcome"] == "unknown"
                outcomes = {done, done + 1} if unknown else {done}
        assert publications(path) in outcomes
        done = publications(path)
        with Repository.open(path) as one:
            source_add(one, f"g{number}")
            done += 1
            assert check_history(one.reader) == done
            assert set(states(one.reader).values()) == {"current"}


def test_damage_further_back_is_an_integrity_error_where_it_is_met(tmp_path: Path) -> None:
    with make(tmp_path / "package") as one:
        source_add(one, "a")
        source_add(one, "b")
    (segment,) = (tmp_path / "package" / "objects" / "log").iterdir()
    raw = bytearray(segment.read_bytes())
    raw[200] ^= 1
    segment.write_bytes(raw)
    with Repository.open(tmp_path / "package") as again:
        assert again.pinned().number == 3
        with pytest.raises(IntegrityError) as caught:
            list(again.reader.history())
        assert caught.value.kind == "missing_generation"


def test_reading_works_without_write_access(tmp_path: Path) -> None:
    with make(tmp_path / "package") as one:
        source_add(one, "a")
    before = {
        str(file): file.read_bytes() for file in (tmp_path / "package").rglob("*") if file.is_file()
    }
    with PackageReader.open(tmp_path / "package") as reader:
        assert reader.pinned().number == 2
        assert states(reader) == {"generation": "current"}
        assert reader.unclaimed() == []
    after = {
        str(file): file.read_bytes() for file in (tmp_path / "package").rglob("*") if file.is_file()
    }
    assert before == after
