"""Deleting or damaging any derived cache changes no result, only time.

A case is driven step by step, each step in a workspace that is opened anew, so that each
begins from what the one before left under ``cache/``. Between the steps caches are damaged.
With the clock standing still, everything published is a function of the steps alone: the
heads must be those of a run whose caches nobody touched.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vstore.controller import BudgetManager, EvidenceStore, projection
from vstore.controller.cached_tables import VALUES
from vstore.errors import VStoreError
from vstore.objects.ids import ObjectId
from vstore.objects.sorted_tables import SortedTables
from vstore.package.workspace import Workspace
from vstore.testing.investigation import CASE, INSTANT, PACKAGE, Investigation
from vstore.tools.request import Arguments, DatabaseRows, SourceRead, SourceSearch, operation_of
from vstore.tools.router import Router

STEPS: list[tuple[str, Arguments]] = [
    ("a1", SourceSearch(source="code", pattern="BUG")),
    ("a2", SourceSearch(source="code", pattern="orders")),
    ("a3", SourceRead(source="code", path="app/orders.py")),
    ("a4", SourceSearch(source="code", pattern="BUG")),
    ("a5", DatabaseRows(database="shop", table="orders")),
    ("a6", SourceRead(source="code", path="app/main.py", start=1, end=2)),
    ("a7", DatabaseRows(database="shop", table="orders", limit=2)),
]


@pytest.fixture(autouse=True)
def _save_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Caches at each step, so that there is something to damage."""
    monkeypatch.setattr(projection, "_SAVE_AT_END", 1)


@cache
def begun() -> TemporaryDirectory[str]:
    """A case that is ready for its first action; removed with the process."""
    scratch = TemporaryDirectory()
    one = Investigation(Path(scratch.name) / "package", Path(scratch.name))
    one.begin()
    one.close()
    return scratch


def step(root: Path, action: str, arguments: Arguments) -> list[object]:
    """One action from its reservation to its settlement, and what it came to."""
    with Workspace.of_package(root, actor="tester", clock=lambda: INSTANT) as workspace:
        budget, router = BudgetManager(workspace), Router.default()
        evidence = EvidenceStore(workspace, router=router)
        budget.reserve(CASE, PACKAGE, "H1", action, operation=operation_of(arguments))
        package = budget.snapshot(CASE, PACKAGE).package
        request = router.request(package, [("H1", action, arguments)])
        reply = router.query(package, request)
        saved = evidence.store_tool_results(CASE, PACKAGE, f"op-{action}", request, reply)
        again = evidence.store_tool_results(CASE, PACKAGE, f"op-{action}", request, reply)
        assert again.repeated
        assert again.record_ids == saved.record_ids
        budget.record_evidence(CASE, PACKAGE, "H1", action, saved.record_refs[0])
        settled = budget.settle(
            CASE, PACKAGE, "H1", action, semantic_score=70, reason="as the test says"
        )
        history = evidence.snapshot(CASE, PACKAGE)
        return [saved.record_ids, saved.index_ref, settled, history.records, head(workspace)]


def head(workspace: Workspace) -> ObjectId:
    return workspace.repository(CASE).pinned().generation_id


@cache
def undisturbed() -> list[list[object]]:
    with TemporaryDirectory() as folder:
        root = Path(folder) / "package"
        shutil.copytree(Path(begun().name) / "package", root)
        return [step(root, action, arguments) for action, arguments in STEPS]


def flip(path: Path, at: int) -> None:
    content = bytearray(path.read_bytes())
    if content:
        content[at % len(content)] ^= 1 << at % 8
    path.write_bytes(content)


def cut(path: Path, at: int) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: at % (len(content) + 1)])


def zero(path: Path, at: int) -> None:
    content = path.read_bytes()
    keep = at % (len(content) + 1)
    path.write_bytes(content[:keep] + bytes(len(content) - keep))


def remove(path: Path, _at: int) -> None:
    path.unlink()


def lengthen(path: Path, at: int) -> None:
    path.write_bytes(path.read_bytes() + bytes([at % 256]))


def block(path: Path, _at: int) -> None:
    """A folder where a file should be: nothing can be written there."""
    path.unlink()
    path.mkdir()


DAMAGES: list[Callable[[Path, int], None]] = [flip, cut, zero, remove, lengthen, block]
disturbances = st.lists(
    st.one_of(
        st.none(),
        st.just("all"),
        st.tuples(st.sampled_from(DAMAGES), st.integers(0, 99), st.integers(0, 10**6)),
        st.just("older"),
    ),
    min_size=len(STEPS),
    max_size=len(STEPS),
)


@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(disturbances)
def test_damaged_caches_change_no_result(happenings: list[object]) -> None:
    with TemporaryDirectory() as folder:
        root = Path(folder) / "package"
        shutil.copytree(Path(begun().name) / "package", root)
        kept = Path(folder) / "kept"
        for (action, arguments), happens, expected in zip(
            STEPS, happenings, undisturbed(), strict=True
        ):
            caches = root / "cache"
            files = sorted(one for one in caches.glob("*") if one.is_file())
            if happens == "all":
                shutil.rmtree(caches)
            elif happens == "older" and kept.is_dir():
                shutil.rmtree(caches)
                shutil.copytree(kept, caches)
            elif isinstance(happens, tuple) and files:
                damage, which, at = happens
                damage(files[which % len(files)], at)
            if caches.is_dir():
                shutil.rmtree(kept, ignore_errors=True)
                shutil.copytree(caches, kept)
            assert step(root, action, arguments) == expected


def test_every_byte_of_every_cache(tmp_path: Path) -> None:
    """Flip bytes all over each file; the next step must come to the same."""
    expected = undisturbed()
    root = tmp_path / "package"
    shutil.copytree(Path(begun().name) / "package", root)
    for action, arguments in STEPS[:5]:
        step(root, action, arguments)
    names = sorted(one.name for one in (root / "cache").iterdir())
    assert {"facts", "history"} <= set(names)
    assert any(name.startswith("facts-") for name in names)
    for name in names:
        size = (root / "cache" / name).stat().st_size
        for at in range(0, size, max(1, size // 4)):
            copy = tmp_path / "copy"
            shutil.copytree(root, copy)
            flip(copy / "cache" / name, at)
            assert step(copy, *STEPS[5]) == expected[5]
            shutil.rmtree(copy)


def test_every_page_of_every_table(tmp_path: Path) -> None:
    """A page that turns out to be damaged in the middle of an operation."""
    expected = undisturbed()
    root = tmp_path / "package"
    shutil.copytree(Path(begun().name) / "package", root)
    for action, arguments in STEPS[:5]:
        step(root, action, arguments)
    facts = root / "cache" / "facts"
    digests = [one["digest"] for one in json.loads(facts.read_bytes()[:-32])["files"]]
    pages = 0
    for digest in digests:
        name = f"facts-{digest[:16]}"
        tables = SortedTables(root / "cache" / name, bytes.fromhex(digest), VALUES)
        for number in range(len(VALUES)):
            if tables.count(number) == 0:
                continue
            at = tables._tables[number].offset
            copy = tmp_path / "copy"
            shutil.copytree(root, copy)
            flip(copy / "cache" / name, at)
            assert step(copy, *STEPS[5]) == expected[5]
            # What was folded anew is whole, and the next process finds it.
            assert step(copy, *STEPS[6]) == expected[6]
            shutil.rmtree(copy)
            pages += 1
    assert pages >= 6


def test_caches_of_another_case_are_not_used(tmp_path: Path) -> None:
    expected = undisturbed()
    mine, other = tmp_path / "mine", tmp_path / "other"
    for root in (mine, other):
        shutil.copytree(Path(begun().name) / "package", root)
    for action, arguments in STEPS[:3]:
        step(mine, action, arguments)
    for action, arguments in reversed(STEPS[3:]):
        step(other, action, arguments)
    shutil.rmtree(mine / "cache")
    shutil.copytree(other / "cache", mine / "cache")
    assert step(mine, *STEPS[3]) == expected[3]


def test_read_only_caches_are_no_obstacle(tmp_path: Path) -> None:
    expected = undisturbed()
    root = tmp_path / "package"
    shutil.copytree(Path(begun().name) / "package", root)
    shutil.rmtree(root / "cache")
    (root / "cache").write_bytes(b"a file where the folder should be")
    try:
        assert step(root, *STEPS[0]) == expected[0]
    except VStoreError as error:  # pragma: no cover - what the test is there to exclude
        pytest.fail(f"{error.kind}: a cache can't be written, and the work fails")
