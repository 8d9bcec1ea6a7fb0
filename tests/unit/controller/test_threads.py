"""Threads of one process that read and publish at once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from vstore.package.pinned import PinnedPackage
from vstore.package.repository import Repository
from vstore.testing.investigation import CASE, PACKAGE, Investigation
from vstore.verify import verify_package


def test_snapshots_while_others_publish(tmp_path: Path) -> None:
    case = Investigation(tmp_path / "package", tmp_path)
    case.begin()

    def publish(name: str) -> None:
        for number in range(9):
            case.budget.reserve(CASE, PACKAGE, "H1", f"{name}-{number}", operation="source.search")

    def read() -> int:
        seen = 0
        for _ in range(60):
            snapshot = case.budget.snapshot(CASE, PACKAGE)
            # What is told belongs to the generation that it is told of.
            assert snapshot.ledger_ref == snapshot.package.artifact("budget_ledger")
            number = snapshot.package.number
            assert number >= seen
            seen = number
            assert case.evidence.snapshot(CASE, PACKAGE).records == ()
        return seen

    with ThreadPoolExecutor(6) as pool:
        readers = [pool.submit(read) for _ in range(4)]
        writers = [pool.submit(publish, name) for name in ("a", "b")]
        for one in (*writers, *readers):
            one.result()
    assert case.budget.snapshot(CASE, PACKAGE).account("H1").reserved == 180
    case.close()
    assert verify_package(case.root).exit_code == 0


@pytest.mark.parametrize("reading", ["budget", "evidence"])
def test_somebody_publishes_just_after_the_head_was_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reading: str
) -> None:
    case = Investigation(tmp_path / "package", tmp_path)
    case.begin()
    snapshot: Callable[[str, str], Any] = getattr(case, reading).snapshot
    snapshot(CASE, PACKAGE)
    pinned = Repository.pinned
    others: list[threading.Thread] = []

    def publish() -> None:
        case.budget.reserve(CASE, PACKAGE, "H1", "q1", operation="source.search")

    def pinned_then_overtaken(self: Repository) -> PinnedPackage:
        package = pinned(self)
        if not others:
            others.append(threading.Thread(target=publish))
            others[0].start()
            # Either it publishes now, or it waits until this thread is done.
            others[0].join(0.5)
        return package

    monkeypatch.setattr(Repository, "pinned", pinned_then_overtaken)
    before = snapshot(CASE, PACKAGE)
    others[0].join()
    after = snapshot(CASE, PACKAGE)
    assert after.package.number == before.package.number + 1
    case.close()
