"""A comparison for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from vstore.controller.comparison import AccountChange, Comparison, HypothesisChange, Relation
from vstore.package.pinned import PinnedPackage
from vstore_cli.happenings import observation
from vstore_cli.ledger_happenings import entry_happenings
from vstore_cli.terminal import Terminal, safe
from vstore_cli.words import count, short

if TYPE_CHECKING:
    from vstore.budget.documents import AccountFigures
    from vstore.objects.ids import ObjectId

__all__ = ["lines"]

_SIGNS: Final = {"added": "+", "removed": "-", "changed": "~"}
_STYLES: Final = {"+": "good", "-": "bad", "~": "warn"}
_MOST: Final = 200
_FIGURES: Final = ("granted", "balance", "reserved", "debited", "rewarded", "expired")


def lines(terminal: Terminal, found: Comparison) -> Iterator[str]:
    """The lines of a comparison."""

    def line(sign: str, text: str) -> str:
        return terminal.paint(f"  {sign} {text}", _STYLES[sign])

    for label, package in (("before", found.before), ("after", found.after)):
        yield f"{label:<7} {_side(terminal, package)}"
    yield _relation(found)
    sections = {
        "State": _moved(found),
        "Raw input": [(_SIGNS[one.kind], safe(one.path)) for one in found.inputs],
        "Attachments": [(_SIGNS[one.kind], safe(one.path)) for one in found.attachments],
        "Snapshots": _named(found.snapshots),
        "Hypotheses": [_hypothesis(one) for one in found.hypotheses],
        "Evidence": [*_records(found, "-"), *_records(found, "+")],
        "Ledger": [*_entries(found, "-"), *_entries(found, "+")],
        "Accounts": [_account(one) for one in found.accounts],
        "Artifacts": _named(found.artifacts),
    }
    for title, changes in sections.items():
        if not changes:
            continue
        yield ""
        yield terminal.paint(f"{title}:", "bold")
        for sign, text in changes[:_MOST]:
            yield line(sign, text)
        if len(changes) > _MOST:
            yield f"    and {len(changes) - _MOST} more; --json has them all"


def _side(terminal: Terminal, package: PinnedPackage) -> str:
    return (
        f"{package.case_id} generation {package.number}, "
        f"{terminal.paint(short(package.generation_id), 'id')}, revision {package.revision}, "
        f"{package.position}"
    )


def _relation(found: Comparison) -> str:
    before, after = found.before.number, found.after.number
    texts: dict[Relation, str] = {
        "same": "the same generation",
        "ahead": f"after is {count(after - before, 'generation')} ahead of before",
        "behind": f"after is {count(before - after, 'generation')} behind before",
        "unrelated": "the two have no generation in common",
        "diverged": "",
    }
    if found.relation == "diverged" and found.common is not None:
        oid, number = found.common
        return f"diverged after generation {number}, {short(oid)}, the last one that both have"
    return texts[found.relation]


def _moved(found: Comparison) -> list[tuple[str, str]]:
    changes = []
    if found.moved is not None:
        changes.append(("~", f"{found.moved[0]} to {found.moved[1]}"))
    one, other = found.before.revision, found.after.revision
    if one != other:
        changes.append(("~", f"revision {one} to {other}"))
    if found.policy is not None and None not in found.policy:
        changes.append(("~", "the budget's policy"))
    return changes


def _named(changes: dict[str, tuple[ObjectId | None, ObjectId | None]]) -> list[tuple[str, str]]:
    return [
        ("+" if before is None else "-" if after is None else "~", safe(name))
        for name, (before, after) in changes.items()
    ]


def _hypothesis(one: HypothesisChange) -> tuple[str, str]:
    name = one.hypothesis_id
    if one.before is None:
        assert one.after is not None
        return "+", f"{name} {one.after.confidence}: {safe(one.after.statement)}"
    if one.after is None:
        return "-", f"{name} {one.before.confidence}: {safe(one.before.statement)}"
    if one.before.confidence != one.after.confidence:
        return "~", f"{name} {one.before.confidence} to {one.after.confidence}"
    return "~", f"{name} reworded: {safe(one.after.statement)}"


def _records(found: Comparison, sign: str) -> list[tuple[str, str]]:
    removed = sign == "-"
    package = found.before if removed else found.after
    changes = []
    for indexed in found.records_removed if removed else found.records_added:
        seen = observation(package.objects, indexed.object)
        record = seen.record
        same = "" if record.duplicate_of is None else f", same as {record.duplicate_of}"
        novelty = f"(novelty {record.novelty_score}{same})"
        changes.append((sign, f"{record.id} {record.hypothesis_id} {seen.question} {novelty}"))
    return changes


def _entries(found: Comparison, sign: str) -> list[tuple[str, str]]:
    removed = sign == "-"
    package = found.before if removed else found.after
    changes = []
    for _, entry in found.entries_removed if removed else found.entries_added:
        for one in entry_happenings(package.objects, entry):
            whom = f" {one.hypothesis}" if one.hypothesis else ""
            changes.append((sign, f"#{entry.sequence}{whom} {one.what}"))
    return changes


def _account(one: AccountChange) -> tuple[str, str]:
    if one.before is None or one.before_revision != one.after_revision:
        if one.after is None:
            assert one.before is not None
            return "-", f"{one.hypothesis_id} of revision {one.before_revision}"
        return "+", (
            f"{one.hypothesis_id} of revision {one.after_revision}: "
            + ", ".join(_figures(None, one.after))
        )
    if one.after is None:
        return "-", f"{one.hypothesis_id} of revision {one.before_revision}"
    return "~", f"{one.hypothesis_id}: " + ", ".join(_figures(one.before, one.after))


def _figures(before: AccountFigures | None, after: AccountFigures) -> Sequence[str]:
    texts = []
    for name in _FIGURES:
        now = getattr(after, name)
        if before is None:
            if now:
                texts.append(f"{name} {now}")
        elif getattr(before, name) != now:
            texts.append(f"{name} {getattr(before, name)} to {now}")
    if before is not None and before.status != after.status:
        texts.append(f"{before.status} to {after.status}")
    return texts or ["streak of low information"]
