"""Documents for people: what each type has to say, in the order in which it matters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vstore.budget.documents import BudgetPolicy, LedgerEntry
from vstore.evidence.documents import EvidenceContent, EvidenceRecord, TestObservation
from vstore.handoff.documents import AsyncTestFeedback, AsyncTestRequest
from vstore.objects.document import Document, schema_name
from vstore.objects.ids import ObjectId
from vstore.objects.text import text_to_bytes
from vstore.objects.tree import Tree
from vstore.package.documents import Generation, Hypotheses, Origin, SnapshotDescriptor
from vstore.tools.reply import Truncation
from vstore_cli.show_handoff import feedback_lines, request_lines
from vstore_cli.show_items import item_lines
from vstore_cli.terminal import Terminal, cut, safe
from vstore_cli.words import asked, count, short

if TYPE_CHECKING:
    from vstore.package.reader import PackageReader

__all__ = ["NOUNS", "document_lines", "found_text", "hypotheses_lines", "origin_text"]

NOUNS = {
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
    head = [terminal.paint(schema_name(type(document)), "bold"), terminal.paint(oid, "id")]
    if isinstance(document, EvidenceContent):
        pairs = _coverage_pairs(document)
        start = [*_pairs(pairs), ""] if pairs else [""]
        return head + start + _content(terminal, document, full=full)
    if isinstance(document, AsyncTestRequest):
        return request_lines(terminal, document, oid)
    if isinstance(document, AsyncTestFeedback):
        return feedback_lines(terminal, document, oid)
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
    from vstore_cli.show_brief import investigation_lines

    lines = investigation_lines(terminal, reader.pinned().objects, document)
    return head + (plain_lines(document) if lines is None else lines)


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
        ("object", terminal.paint(oid, "id")),
        ("question", seen.question),
        ("hypothesis", f"{record.hypothesis_id}, action {record.action_id}"),
        ("revision", str(record.analysis_revision)),
        ("novelty", novelty),
        ("content", short(record.content)),
        *_coverage_pairs(content),
    ]
    head = terminal.paint(f"record {record.id}", "bold")
    return [head, *_pairs(pairs), "", *_content(terminal, content, full=full)]


def _content(terminal: Terminal, content: EvidenceContent, *, full: bool) -> list[str]:
    from vstore.evidence.content import items

    lines: list[str] = []
    if content.sought is not None:
        lines.append(f"sought  {asked(content.sought)}")
    if content.observations is not None:
        if not content.observations:
            lines.append("nothing observed: unable to test")
        for one in content.observations:
            if lines:
                lines.append("")
            lines += _labelled("asked", one.asked or "nothing; seen in addition")
            lines += _labelled("observed", one.observed)
            lines += [f"attached  {terminal.paint(oid, 'id')}" for oid in one.attachments]
        return lines
    found = [one for one in items(content) if not isinstance(one, TestObservation)]
    noun = NOUNS.get(content.kind, "item")
    lines.append(found_text(len(found), noun, content.truncated))
    if found:
        lines += ["", *item_lines(terminal, found, full=full)]
    return lines


def _labelled(label: str, text: str) -> list[str]:
    """A text with its own lines kept, behind its label."""
    lines = text.splitlines() or [""]
    return [f"{label:<8}  {safe(lines[0])}", *(f"{'':<8}  {safe(one)}" for one in lines[1:])]


def origin_text(origin: Origin) -> str:
    """Where a snapshot was taken from, safe to print."""
    return safe(origin.kind + (f": {origin.label}" if origin.label else ""))


def _coverage_pairs(content: EvidenceContent) -> list[tuple[str, str]]:
    if content.tested is not None:
        facts = ", ".join(
            f"{safe(one.name)} = {safe(one.value)}" for one in content.tested.environment
        )
        return [("tested", f"by {content.tested.executor}" + (f", {facts}" if facts else ""))]
    if content.scope is None or content.coverage is None:
        return []
    scope = content.scope
    covers: str = content.coverage.kind
    if covers == "partial":
        covers += f": {cut(safe(content.coverage.statement), 400)}"
    where = f"{safe(scope.name)} ({origin_text(scope.origin)}), {short(scope.content)}"
    return [("snapshot", where), ("coverage", covers)]


def found_text(number: int, noun: str, truncated: Truncation | None) -> str:
    """How much was found, and what the query left out."""
    if truncated is None or truncated.limit is None:
        text = count(number, noun) if number else "nothing found"
    elif not number:
        text = _none_shown(noun, truncated)
    else:
        of = "" if truncated.total is None else f" of {truncated.total:,}"
        how = "from offset" if truncated.limit == "offset" else f"cut by {truncated.limit}"
        text = f"{number:,}{of} {noun}s, {how} {truncated.value:,}"
    if truncated is not None and truncated.skipped_files:
        # Only text is searched; a list leaves links out.
        left = ("link", "not listed") if noun == "file" else ("file", "skipped as no text")
        text += f"; {count(truncated.skipped_files, left[0])} {left[1]}"
    return text


def _none_shown(noun: str, truncated: Truncation) -> str:
    """No item, which needn't mean that there is none."""
    if truncated.limit != "offset":
        return f"nothing found, cut by {truncated.limit} {truncated.value:,}"
    whole = "" if truncated.total is None else f", {count(truncated.total, noun)} in all"
    return f"nothing past offset {truncated.value:,}{whole}"


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
        head = f"{one.id:<4} {one.confidence:<13} "
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
            ("origin", origin_text(origin)),
            ("digest", origin.digest or "none"),
            ("coverage", document.coverage.kind),
            ("statement", safe("; ".join(document.coverage.statement.splitlines()))),
        ]
    )
