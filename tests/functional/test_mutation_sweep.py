"""Every member of every document of golden packages edited, by an editor with a hash function.

What is derived is found even when everything above it is hashed again; what is pinned or
asserted is found as long as it isn't; and what a person stated can be rewritten with all that
names it, which only somebody who remembers the head notices: ``--extends``.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from vstore.objects.plain_json import encode_value
from vstore.testing.calls import small_calls
from vstore.testing.editor import PackageEditor
from vstore.testing.handoff import handed_out
from vstore.testing.investigation import CASE, PACKAGE, Investigation, small_investigation
from vstore.testing.mutations import Mutation, mutations
from vstore.testing.reopened import reopened_investigation
from vstore.verify import Report, verify_package


def answered_test(root: Path, scratch: Path) -> Investigation:
    """A test handed out, answered, stored as evidence and settled."""
    case, answer = handed_out(root, scratch)
    confirmed = case.confirm(answer)
    saved = case.evidence.store_feedback(CASE, PACKAGE, "feedback-1", confirmed.feedback_ref)
    case.settle(saved, 0, "H1", "t1", 90)
    return case


GOLDEN: dict[str, Callable[[Path, Path], Investigation]] = {
    "investigation": small_investigation,
    "reopened": reopened_investigation,
    "handoff": answered_test,
    "calls": small_calls,
}
#: What says no more than that bytes or forms are wrong; every other code says what is wrong.
FORMAL = ("VS-CON-", "VS-OBJ-")
#: Stated by people or controllers, and nothing follows from it: consistent when rewritten.
FREE_TEXT = {
    ("package-generation-v1", "actor"),
    ("package-generation-v1", "at"),
}


@pytest.fixture(scope="session")
def golden(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Good packages, each with its own kinds of documents."""
    found = {}
    for name, make in GOLDEN.items():
        folder = tmp_path_factory.mktemp(name)
        make(folder / "package", folder).close()
        for left in ("locks", "cache"):
            shutil.rmtree(folder / "package" / left, ignore_errors=True)
        assert verify_package(folder / "package").exit_code == 0
        found[name] = folder / "package"
    return found


def edits(package: Path) -> Iterator[tuple[int, int, Mutation]]:
    for number, frame in enumerate(PackageEditor(package).frames):
        for place, one in enumerate(frame.objects):
            if one.schema is not None:
                for mutation in mutations(one.schema, one.value):
                    yield number, place, mutation


def verified(
    package: Path, target: Path, number: int, place: int, mutation: Mutation, *, rehash: bool
) -> tuple[Report, Path]:
    editor = PackageEditor(package)
    one = editor.frames[number].objects[place]
    one.content, one.edited = encode_value(mutation.value), True
    if rehash:
        editor.rechain()
    return verify_package(editor.save(target)), target


def judged(package: Path, head: str, target: Path, number: int, place: int, one: Mutation) -> str:
    """Try one edit both ways; what became of the re-hashed one, or what is wrong."""
    report, _ = verified(package, target / "plain", number, place, one, rehash=False)
    if report.exit_code not in (1, 3):
        return "wrong: not found though nothing was hashed again"
    report, where = verified(package, target / "rehashed", number, place, one, rehash=True)
    if "VS-VER-001" in report.codes():
        return "wrong: a check gave up"
    if report.exit_code == 0:
        if one.mark == "derived":
            return "wrong: derived, and yet consistent"
        if verify_package(where, extends=head).exit_code != 1:
            return "wrong: extends the original head"
        return "consistent"
    if one.mark == "derived" and one.edit in ("change", "swap"):
        formal = all(code.startswith(FORMAL) for code in report.codes())
        if formal and not _is_malformed(report):
            return f"wrong: found only by its form, {sorted(report.codes())}"
    if (one.schema, one.way[-1]) in FREE_TEXT and one.edit == "change":
        return f"wrong: free text is not free, {sorted(report.codes())}"
    return "found"


def _is_malformed(report: Report) -> bool:
    """Whether a form says all: the value can't stand there, or names what doesn't exist."""
    return bool({"VS-OBJ-002", "VS-OBJ-003", "VS-OBJ-005"} & set(report.codes()))


def sweep(golden: dict[str, Path], folder: Path, *, every: int) -> Counter[str]:
    tried: Counter[str] = Counter()
    wrong = []
    for name, package in golden.items():
        head = verify_package(package).head
        assert head is not None
        for position, (number, place, one) in enumerate(edits(package)):
            if position % every:
                continue
            target = folder / f"{name}-{position}"
            became = judged(package, head, target, number, place, one)
            tried[f"{one.mark}, {one.edit}, {became}"] += 1
            tried["not hashed again"] += 1
            tried["hashed again"] += 1
            if became.startswith("wrong"):
                wrong.append((name, one.schema, one.way, one.edit, became))
            shutil.rmtree(target)
    assert wrong == []
    return tried


def test_sampled_edits(golden: dict[str, Path], tmp_path: Path) -> None:
    tried = sweep(golden, tmp_path, every=331)
    assert tried["hashed again"] >= 20


@pytest.mark.deep
def test_all_edits(golden: dict[str, Path], tmp_path: Path) -> None:
    tried = sweep(golden, tmp_path, every=7)
    for what, count in sorted(tried.items()):
        print(f"{count:6d} {what}")
    assert tried["hashed again"] >= 1_000
    assert tried["not hashed again"] + tried["hashed again"] >= 2_000


def test_every_member_of_the_golden_documents_is_marked(golden: dict[str, Path]) -> None:
    """The marking is complete: each value that is no tag has a mark on the way to it.

    A group of members that is absent (null, or a list without any) has none itself.
    """
    schemas = set()
    for package in golden.values():
        for one in PackageEditor(package).objects():
            if one.schema is None:
                continue
            schemas.add(one.schema)
            marked = {mutation.way for mutation in mutations(one.schema, one.value)}
            for way in _leaves(one.value):
                assert way in marked or way[-1] in ("schema", "type", "kind", "command",
                                                    "operation"), (one.schema, way)  # fmt: skip
    assert len(schemas) >= 20


def _leaves(value: object, at: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if isinstance(value, dict) and value:
        for name, inner in value.items():
            yield from _leaves(inner, (*at, name))
    elif isinstance(value, list) and value:
        for place in range(min(2, len(value))):
            yield from _leaves(value[place], (*at, place))
    elif at and value not in (None, [], {}):
        yield at
