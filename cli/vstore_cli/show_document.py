"""Documents for people: what each type has to say, in the order in which it matters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vstore.budget.documents import BudgetPolicy, LedgerEntry
from vstore.evidence.documents import EvidenceContent, EvidenceRecord, TestObservation
from vstore.objects.document import Document, schema_name
from vstore.objects.ids import ObjectId
from vstore.objects.text import text_to_bytes
from vstore.objects.tree import Tree
from vstore.package.documents import Generation, Hypotheses, SnapshotDescriptor
from vstore.tools.reply import Truncation
from vstore_cli.show_items import item_lines
from vstore_cli.terminal import Terminal, cut, safe
from vstore_cli.words import asked, count, short

if TYPE_CHECKING:
    from vstore.package.reader import PackageReader

__all__ = ["coverage_lines", "document_lines", "truncation_text"]

_NOUNS = {
    "source_lines": "line",
    "source_files": "file",
    "database_rows": "row",
    "database_schema": "object",
    "test_observations": "observation",
}


def document_lines(
    terminal: Terminal, reader: PackageReader, oid: ObjectId, document: Document, *, full: bool
) -> list[str]:
    """The lines that show a document.

    Args:
        terminal: Gives colours and width.
        reader: Where it comes from.
        oid: Its id.
        document: What it is.
        full: Cut nothing.
    """
    if isinstance(document, EvidenceRecord):
        return _record(terminal, reader, oid, full=full)
    head = [f"{terminal.paint(schema_name(type(document)), 'bold')}  {terminal.paint(oid, 'id')}"]
    if isinstance(document, EvidenceContent):
        return head + _content(terminal, document, full=full)
    if isinstance(document, Generation):
        return _generation(terminal, reader, oid, document)
    if isinstance(document, LedgerEntry):
        return head + _ledger_entry(terminal, document)
    if isinstance(document, Hypotheses):
        return head + hypotheses_lines(terminal, document)
    if isinstance(document, BudgetPolicy):
        from vstore_cli.show_accounts import policy_lines

        return head + policy_lines(document)
    if isinstance(document, SnapshotDescriptor):
        return head + _descriptor(document)
    if isinstance(document, Tree):
        from vstore_cli.command_ls_tree import tree_lines

        return tree_lines(terminal, [(text_to_bytes(one.name), one) for one in document.entries])
    return head + plain_lines(document)


def plain_lines(document: Document) -> list[str]:
    """Any document as indented JSON, safe to print."""
    import json

    from vstore.objects.canonical import to_value

    text = json.dumps(to_value(document), ensure_ascii=False, indent=2)
    return [safe(line) for line in text.split("\n")]


def _pairs(pairs: list[tuple[str, str]]) -> list[str]:
    width = max(len(name) for name, _ in pairs)
    return [f"{name:<{width}}  {text}" for name, text in pairs]


def _record(terminal: Terminal, reader: PackageReader, oid: ObjectId, *, full: bool) -> list[str]:
    from vstore_cli.happenings import observation

    objects = reader.pinned().objects
    seen = observation(objects, oid)
    record = seen.record
    content = objects.document(record.content, EvidenceContent)
    new = len(record.novel_atoms)
    novelty = f"{record.novelty_score}%"
    if seen.returned:
        novelty += f" ({new} of {seen.returned} new)"
    if record.duplicate_of is not None:
        novelty += f", the same content as {record.duplicate_of}"
    pairs = [
        ("question", seen.question),
        ("hypothesis", f"{record.hypothesis_id}, action {record.action_id}"),
        ("revision", str(record.analysis_revision)),
        ("novelty", novelty),
        ("content", short(record.content)),
    ]
    head = f"{terminal.paint('record ' + record.id, 'bold')}  {terminal.paint(oid, 'id')}"
    return [head, *_pairs(pairs), *_content(terminal, content, full=full)]


def _content(terminal: Terminal, content: EvidenceContent, *, full: bool) -> list[str]:
    from vstore.evidence.content import items

    lines = coverage_lines(content)
    if content.sought is not None:
        lines.append(f"sought  {asked(content.sought)}")
    if content.observations is not None:
        lines.append("")
        for one in content.observations:
            lines += [f"asked     {safe(one.asked)}", f"observed  {safe(one.observed)}"]
        return lines
    found = [one for one in items(content) if not isinstance(one, TestObservation)]
    noun = _NOUNS.get(content.kind, "item")
    left_out = truncation_text(content.truncated, noun)
    lines += ["", count(len(found), noun) + (f"; {left_out}" if left_out else ""), ""]
    return lines + item_lines(terminal, found, full=full)


def coverage_lines(content: Any) -> list[str]:
    """Which snapshot a content or a result comes from, and what that claims to hold."""
    if content.scope is None or content.coverage is None:
        return []
    origin = content.scope.origin
    text = f"{content.scope.name} ({origin.kind} {origin.label}".rstrip() + ")"
    lines = _pairs(
        [
            ("snapshot", f"{safe(text)}, {short(content.scope.content)}"),
            ("coverage", content.coverage.kind),
        ]
    )
    if content.coverage.kind == "partial":
        lines[-1] += f": {cut(safe(content.coverage.statement), 400)}"
    return lines


def truncation_text(truncated: Truncation | None, noun: str) -> str:
    """What a query left out, in words; empty for nothing."""
    if truncated is None:
        return ""
    parts = []
    if truncated.limit is not None:
        of = "" if truncated.total is None else f"of {count(truncated.total, noun)} in all, "
        parts.append(f"{of}cut by {truncated.limit} {truncated.value:,}")
    if truncated.skipped_files:
        parts.append(f"{count(truncated.skipped_files, 'file')} skipped as no text")
    return "; ".join(parts)


def _generation(
    terminal: Terminal, reader: PackageReader, oid: ObjectId, generation: Generation
) -> list[str]:
    from vstore_cli.happenings import entry_of
    from vstore_cli.log_lines import paragraph

    parent = None if generation.parent is None else reader.generation(generation.parent)
    lines = paragraph(terminal, entry_of(reader.pinned().objects, oid, generation, parent))
    pairs = [
        ("id", terminal.paint(oid, "id")),
        ("parent", "none" if generation.parent is None else short(generation.parent)),
        ("history", f"{generation.history.size} generations before"),
        ("raw input", short(generation.inputs)),
        *((f"snapshot {name}", short(one)) for name, one in generation.snapshots.items()),
        *((f"artifact {name}", short(one)) for name, one in generation.artifacts.items()),
        *(
            (f"adds {role}", ", ".join(short(one) for one in roots[:6]) + ("" if len(roots) < 7
             else f" and {len(roots) - 6} more"))
            for role, roots in generation.declared.items()
        ),
    ]  # fmt: skip
    return lines + _pairs(pairs)


def _ledger_entry(terminal: Terminal, entry: LedgerEntry) -> list[str]:
    from vstore.objects.canonical import to_value
    from vstore_cli.show_accounts import account_lines

    event = to_value(entry.event)
    pairs = [
        ("sequence", f"{entry.sequence}, revision {entry.analysis_revision}"),
        *((name, safe(str(value))) for name, value in event.items()),
    ]
    return [*_pairs(pairs), "", *account_lines(terminal, entry.accounts)]


def hypotheses_lines(terminal: Terminal, document: Hypotheses) -> list[str]:
    """Hypotheses with their confidence and open questions."""
    import textwrap

    width = terminal.line_width or 80
    lines = []
    for one in document.hypotheses:
        head = f"{one.id:<4} {one.confidence:<12} "
        wrapped = textwrap.wrap(safe(one.statement), max(30, width - len(head))) or [""]
        lines.append(head.replace(one.id, terminal.paint(one.id, "bold"), 1) + wrapped[0])
        lines += [" " * len(head) + text for text in wrapped[1:]]
        lines += [" " * len(head) + f"? {safe(question)}" for question in one.open_questions]
    return lines


def _descriptor(document: SnapshotDescriptor) -> list[str]:
    origin = document.origin
    return _pairs(
        [
            ("name", document.name),
            ("kind", document.kind),
            ("content", document.content),
            ("origin", safe(f"{origin.kind} {origin.label}".strip())),
            ("digest", origin.digest or "none"),
            ("coverage", document.coverage.kind),
            ("statement", safe(document.coverage.statement)),
        ]
    )
