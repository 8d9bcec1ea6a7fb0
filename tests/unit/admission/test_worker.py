"""The inbox worker: bundles in, runnable cases out; nothing bad stops it."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from vstore.admission import InboxWorker, admit
from vstore.controller import CaseLifecycle
from vstore.controller.bundles import create_bundle
from vstore.package.pinned import PinnedPackage
from vstore.package.workspace import Workspace
from vstore.testing.investigation import (
    CASE,
    INSTANT,
    PACKAGE,
    Investigation,
    small_investigation,
)
from vstore.tools.request import QueryLimits
from vstore.tools.router import Router

LATER = "2026-01-02T03:04:06Z"


class Post:
    """An inbox, a workspace, and somebody who sends bundles."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.now = INSTANT
        self.inbox = folder / "inbox"
        self.inbox.mkdir()
        self.workspace = self.open()
        self.sent = 0
        self.handled: list[tuple[str, int]] = []

    def open(self) -> Workspace:
        return Workspace.create(self.folder / "workspace", clock=lambda: self.now, lock_timeout=0.2)

    def handle(self, workspace: Workspace, package: PinnedPackage) -> None:
        self.handled.append((package.case_id, package.number))

    def worker(self, **options: Any) -> InboxWorker:
        return InboxWorker(self.workspace, self.inbox, **{"handler": self.handle, **options})

    def send(self, package: Path, name: str | None = None) -> str:
        self.sent += 1
        name = name or f"{self.sent:02}.zip"
        create_bundle(package, self.inbox / f".{name}")
        (self.inbox / f".{name}").rename(self.inbox / name)
        return name

    def case(self, name: str, *, advanced: int = 0) -> Path:
        """A package of another case, made elsewhere."""
        path = self.folder / "elsewhere" / name
        path.parent.mkdir(exist_ok=True)
        with Workspace.of_package(path, clock=lambda: INSTANT) as workspace:
            workspace.init(name)
            for _ in range(advanced):
                workspace.case(name).advance()
        return path

    @property
    def waiting(self) -> list[str]:
        return sorted(path.name for path in self.inbox.iterdir() if path.is_file())


@pytest.fixture
def post(tmp_path: Path) -> Iterator[Post]:
    found = Post(tmp_path)
    yield found
    found.workspace.close()


def test_one_pass(post: Post) -> None:
    worker = post.worker()
    assert not worker.run_once()
    post.send(post.case("A"))
    post.send(post.case("B", advanced=1))
    done = worker.run_once()
    assert done
    assert done.admitted == {"01.zip": "installed", "02.zip": "installed"}
    assert (done.rejected, done.left, done.failed) == ({}, {}, {})
    assert post.handled == [("A", 1), ("B", 2)]
    assert post.waiting == []
    assert sorted(one.name for one in (post.inbox / "admitted").iterdir()) == ["01.zip", "02.zip"]
    # A case is handed out again when it has moved, not before.
    assert not worker.run_once()
    post.workspace.case("A").advance()
    assert worker.run_once().handed == ["A"]
    assert post.handled[2:] == [("A", 2)]


def test_a_bad_bundle_never_stops_the_rest(post: Post) -> None:
    good = post.send(post.case("Z"), "z.zip")
    (post.inbox / "a.zip").write_bytes(b"nothing")
    shutil.copy(post.inbox / good, post.inbox / "b.zip")
    content = bytearray((post.inbox / "b.zip").read_bytes())
    content[len(content) // 2] ^= 1
    (post.inbox / "b.zip").write_bytes(content)
    post.workspace.init("Y", "ANOTHER")
    post.send(post.case("Y"), "y.zip")
    done = post.worker(handler=None).run_once()
    assert done.admitted == {"z.zip": "installed"}
    assert done.rejected == {
        "a.zip": "unverifiable",
        "b.zip": "not_verified",
        "y.zip": "other_package",
    }
    rejected = post.inbox / "rejected"
    for name, kind in done.rejected.items():
        assert (rejected / name).exists()
        value = json.loads((rejected / f"{name}.findings.json").read_text("ascii"))
        assert (value["schema"], value["kind"]) == ("vstore-rejection/1", kind)
        assert value["message"]
        assert (value["report"] is None) == (kind == "other_package")
    value = json.loads((rejected / "b.zip.findings.json").read_text("ascii"))
    assert value["report"]["findings"]


class Meddler(threading.Event):
    """Somebody who does something to the inbox when the worker first looks up."""

    def __init__(self, meddle: Callable[[], object]) -> None:
        super().__init__()
        self._meddle: Callable[[], object] | None = meddle

    def is_set(self) -> bool:
        meddle, self._meddle = self._meddle, None
        if meddle is not None:
            meddle()
        return super().is_set()


def test_a_file_that_cannot_be_claimed_stops_nobody(post: Post) -> None:
    path = post.inbox / "a.zip"
    path.write_bytes(b"")
    post.send(post.case("B"), "b.zip")

    def meddle() -> None:
        path.unlink()
        path.symlink_to("b.zip")

    done = post.worker().run_once(Meddler(meddle))
    assert done.admitted == {"b.zip": "installed"}
    assert done.left == {"a.zip": "inbox"}


def test_a_bundle_that_came_while_its_namesake_was_admitted_is_not_lost(post: Post) -> None:
    path = post.case("A")
    name = post.send(path, "a.zip")
    with Workspace.of_package(path, clock=lambda: INSTANT) as elsewhere:
        elsewhere.case("A").advance()

    def clock() -> str:
        # Asked for when the case is locked: the first bundle is in quarantine by then.
        if not (post.workspace.root / "A").exists():
            post.send(path, name)
        return INSTANT

    post.workspace.close()
    post.workspace = Workspace.open(post.workspace.root, clock=clock)
    done = post.worker(handler=None).run_once()
    assert (done.admitted, done.left) == ({}, {name: "replaced"})
    assert post.workspace.case("A").package.number == 1
    assert post.worker(handler=None).run_once().admitted == {name: "fast_forwarded"}
    assert post.workspace.case("A").package.number == 2


def test_what_nobody_expected_stops_nobody(post: Post, monkeypatch: Any) -> None:
    post.send(post.case("A"), "a.zip")
    post.send(post.case("B"), "b.zip")
    post.workspace.init("C")

    def broken(workspace: Workspace, bundle: Path, **options: Any) -> Any:
        if bundle.name == "a.zip":
            raise RecursionError
        return admit(workspace, bundle, **options)

    monkeypatch.setattr("vstore.admission.worker.admit", broken)
    done = post.worker().run_once()
    assert done.left == {"a.zip": "RecursionError"}
    assert done.admitted == {"b.zip": "installed"}
    assert done.handed == ["B", "C"]


def test_what_is_not_the_bundles_fault_waits(post: Post) -> None:
    path = post.case("A")
    post.send(path)
    worker = post.worker(handler=None)
    worker.run_once()
    with Workspace.of_package(path, clock=lambda: INSTANT) as elsewhere:
        elsewhere.case("A").advance()
    name = post.send(path)
    with post.open() as other, other.repository("A").locked():
        assert worker.run_once().left == {name: "locked"}
    assert post.waiting == [name]
    ref = post.workspace.root / "A" / "refs" / "generation"
    good = ref.read_bytes()
    ref.write_bytes(b"b3:" + b"7" * 64 + b"\n")
    post.workspace.close()
    assert worker.run_once().left == {name: "local_package"}
    ref.write_bytes(good)
    (post.inbox / "admitted").rename(post.inbox / ".away")
    (post.inbox / "admitted").write_bytes(b"in the way")
    assert worker.run_once().left == {name: "inbox"}
    (post.inbox / "admitted").unlink()
    # It was taken in before; now it is put away too.
    assert worker.run_once().admitted == {name: "unchanged"}


def test_an_incremental_bundle_waits_for_its_base(post: Post) -> None:
    path = post.case("A")
    with Workspace.of_package(path, clock=lambda: INSTANT) as elsewhere:
        post.send(path, "z-full.zip")
        for name in ("y-second.zip", "x-third.zip"):
            since = elsewhere.case("A").package.generation_id
            elsewhere.case("A").advance()
            create_bundle(path, post.inbox / name, since=since)
    (post.inbox / "z-full.zip").rename(post.inbox / ".later")
    done = post.worker().run_once()
    assert done.left == {"x-third.zip": "missing_base", "y-second.zip": "missing_base"}
    assert post.waiting == [".later", "x-third.zip", "y-second.zip"]
    (post.inbox / ".later").rename(post.inbox / "z-full.zip")
    done = post.worker().run_once()
    assert (done.left, done.rejected) == ({}, {})
    assert list(done.admitted) == ["z-full.zip", "y-second.zip", "x-third.zip"]
    assert post.workspace.case("A").package.number == 3


def test_a_folder_in_the_way_lets_a_bundle_wait(post: Post) -> None:
    """It isn't the bundle's fault, so it isn't rejected for good."""
    name = post.send(post.case("A"))
    place = post.workspace.root / "A"
    place.mkdir()
    (place / "notes.txt").write_bytes(b"mine")
    worker = post.worker()
    done = worker.run_once()
    assert (done.left, done.rejected, done.admitted) == ({name: "exists"}, {}, {})
    assert post.waiting == [name]
    assert (place / "notes.txt").read_bytes() == b"mine"
    place.rename(post.folder / "notes")
    assert worker.run_once().admitted == {name: "installed"}
    assert post.waiting == []


def test_what_waits_for_its_case_is_not_read_again_before_that_changes(
    post: Post, monkeypatch: Any
) -> None:
    tried: list[str] = []

    def counted(workspace: Workspace, bundle: Path, **options: Any) -> Any:
        tried.append(bundle.name)
        return admit(workspace, bundle, **options)

    monkeypatch.setattr("vstore.admission.worker.admit", counted)
    path = post.case("A")
    with Workspace.of_package(path, clock=lambda: INSTANT) as elsewhere:
        full = post.send(path, "full.zip")
        (post.inbox / full).rename(post.inbox / ".full.zip")
        since = elsewhere.case("A").package.generation_id
        elsewhere.case("A").advance()
        create_bundle(path, post.inbox / "rest.zip", since=since)
    post.send(post.case("B"), "b.zip")
    (post.workspace.root / "B").mkdir()
    (post.workspace.root / "B" / "notes.txt").touch()
    worker = post.worker(handler=None)
    waiting = {"b.zip": "exists", "rest.zip": "missing_base"}
    for _ in range(3):
        assert worker.run_once().left == waiting
    assert tried == ["b.zip", "rest.zip"]
    # Another worker knows nothing of it.
    assert post.worker(handler=None).run_once().left == waiting
    tried.clear()
    # Another file of the name is another bundle.
    shutil.copy(post.inbox / "rest.zip", post.inbox / ".copy")
    (post.inbox / ".copy").rename(post.inbox / "rest.zip")
    assert worker.run_once().left == waiting
    assert tried == ["rest.zip"]
    tried.clear()
    # The case came, and what was in the way went.
    (post.inbox / ".full.zip").rename(post.inbox / full)
    (post.workspace.root / "B").rename(post.folder / "notes")
    done = worker.run_once()
    assert done.left == {}
    assert done.admitted == {
        "b.zip": "installed",
        "full.zip": "installed",
        "rest.zip": "fast_forwarded",
    }
    assert tried == ["b.zip", "full.zip", "rest.zip"]


def test_a_router_with_limits_of_its_own(post: Post, tmp_path: Path) -> None:
    """What asks for more than the service allows is not judged, and so not taken in."""
    one = small_investigation(tmp_path / "package", tmp_path)
    name = post.send(one.root)
    one.close()
    narrow = Router.default(limits=QueryLimits(max_rows_scanned=10))
    assert post.worker(router=narrow).run_once().rejected == {name: "unverifiable"}
    findings = json.loads((post.inbox / "rejected" / f"{name}.findings.json").read_text())
    assert "VS-EVD-027" in findings["message"]
    (post.inbox / "rejected" / name).rename(post.inbox / name)
    wide = Router.default(limits=QueryLimits())
    assert post.worker(router=wide).run_once().admitted == {name: "installed"}


def test_blocked_cases(post: Post) -> None:
    life = CaseLifecycle(post.workspace)
    for name in ("HOLD", "RETRY", "LATER", "BUDGET"):
        post.workspace.init(name)
        post.workspace.case(name).advance()
        post.workspace.case(name).advance()
    life.block("HOLD", "HOLD", "OPERATOR_HOLD", retry_not_before=INSTANT)
    life.block("RETRY", "RETRY", "PROVIDER_UNAVAILABLE", automatic_retry=True)
    life.block("LATER", "LATER", "OPERATOR_HOLD", retry_not_before=LATER, automatic_retry=True)
    life.block("BUDGET", "BUDGET", "BUDGET_EXHAUSTED")
    done = post.worker().run_once()
    assert done.resumed == ["RETRY"]
    assert done.handed == ["RETRY"]
    assert done.waiting == ["BUDGET", "HOLD", "LATER"]
    head = post.workspace.case("RETRY").package
    assert head.generation.events[0].actor == "vstore worker"
    post.now = LATER
    done = post.worker().run_once()
    assert done.resumed == ["LATER"]
    assert done.waiting == ["BUDGET", "HOLD"]


def test_a_case_that_waits_for_a_test_stays_so(post: Post, monkeypatch: Any) -> None:
    from vstore.package.documents import Blocked

    post.workspace.init("T")
    post.workspace.case("T").advance()
    post.workspace.case("T").advance()
    CaseLifecycle(post.workspace).block("T", "T", "OPERATOR_HOLD")
    package = post.workspace.case("T").package
    # Whatever it claims of retries, feedback alone resumes it.
    import msgspec

    waiting = msgspec.structs.replace(
        package.generation,
        blocked=Blocked(
            reason="AWAITING_TEST_FEEDBACK",
            resume_state="INVESTIGATING_HYPOTHESES",
            retry_not_before="2000-01-01T00:00:00Z",
            automatic_retry=True,
        ),
    )
    repository = post.workspace.repository("T")
    monkeypatch.setattr(
        repository,
        "pinned",
        lambda: PinnedPackage(package.generation_id, waiting, package.objects),
    )
    done = post.worker().run_once()
    assert (done.waiting, done.resumed, done.handed) == (["T"], [], [])


def test_states_with_nothing_to_do(post: Post, tmp_path: Path) -> None:
    one = Investigation(tmp_path / "workspace" / CASE, tmp_path)
    one.begin()
    one.workspace.case(CASE).advance()
    one.close()
    assert post.worker().run_once().handed == []
    CaseLifecycle(post.workspace).reopen(CASE, PACKAGE, "review", reason="x")
    assert post.worker().run_once().handed == [CASE]


def test_a_handler_that_fails_stops_nobody(post: Post) -> None:
    for name in ("A", "B", "C"):
        post.workspace.init(name)

    def handler(workspace: Workspace, package: PinnedPackage) -> None:
        if package.case_id == "A":
            raise RuntimeError("of the handler")
        if package.case_id == "B":
            workspace.case("B").input_add([])
            workspace.case("B").add_snapshot("inputs", "source", lambda sink: 1 / 0)

    done = post.worker(handler=handler).run_once()
    assert done.failed == {"A": "RuntimeError", "B": "snapshot_exists"}
    assert done.handed == ["C"]


def test_a_case_that_cannot_be_read_stops_nobody(post: Post) -> None:
    for name in ("A", "B"):
        post.workspace.init(name)
    post.workspace.close()
    for path in (post.workspace.root / "A" / "objects" / "log").iterdir():
        path.write_bytes(b"damaged" * 100)
    done = post.worker().run_once()
    assert list(done.failed) == ["A"]
    assert done.handed == ["B"]


def test_a_case_is_handed_to_one_worker_at_a_time(post: Post) -> None:
    post.workspace.init("A")
    inner: list[list[str]] = []

    def handler(workspace: Workspace, package: PinnedPackage) -> None:
        with post.open() as other:
            worker = InboxWorker(other, post.inbox, handler=post.handle)
            inner.append(worker.run_once().handed)

    assert post.worker(handler=handler).run_once().handed == ["A"]
    assert inner == [[]]
    assert post.handled == []


def test_no_lock_of_the_package_is_held_while_a_handler_works(post: Post) -> None:
    post.workspace.init("A")

    def handler(workspace: Workspace, package: PinnedPackage) -> None:
        def work() -> None:
            with post.open() as other:
                other.case("A").advance()

        thread = threading.Thread(target=work)
        thread.start()
        thread.join(10)
        assert not thread.is_alive()

    assert post.worker(handler=handler).run_once().handed == ["A"]
    assert post.workspace.case("A").package.state == "INTERPRETING"


def test_stopping(post: Post) -> None:
    for name in ("A", "B"):
        post.send(post.case(name))
    stop = threading.Event()
    stop.set()
    assert not post.worker().run_once(stop)
    assert len(post.waiting) == 2
    stop.clear()

    def handler(workspace: Workspace, package: PinnedPackage) -> None:
        post.handle(workspace, package)
        stop.set()

    done = post.worker(handler=handler).run_once(stop)
    assert len(done.admitted) == 2
    assert done.handed == ["A"]


def test_watching_until_told_to_stop(post: Post) -> None:
    stop = threading.Event()
    passes: list[dict[str, str]] = []

    def after(done: Any) -> None:
        passes.append(done.admitted)
        if len(passes) == 1:
            post.send(post.case("A"))
        if done.admitted:
            stop.set()

    post.worker().watch(stop, interval=0.01, after_pass=after)
    assert passes[0] == {}
    assert passes[-1] == {"01.zip": "installed"}
    post.worker().watch(stop)  # stopped before it begins
