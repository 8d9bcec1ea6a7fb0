"""The change audit: what it logs, and that it logs all of it."""

from __future__ import annotations

from typing import Any

from vstore.testing.replies import finding, reply_v14


def test_everything_that_changed_is_logged(bench: Any) -> None:
    first = bench.accept(
        reply_v14(
            [
                finding("B0001", references=["E000001", "E000002"]),
                finding("B0002"),
                finding("B0003"),
                finding("B0004", references=["E000004"]),
            ]
        )
    )
    base = first.brief
    assert first.audit.document.added == ["B0001", "B0002", "B0003", "B0004"]
    assert (first.audit.document.base, first.audit.document.reordered) == (None, False)
    second = bench.accept(
        reply_v14(
            [
                finding("B0003"),
                finding(
                    "B0001",
                    "against",
                    ["E000002", "E000003"],
                    text="turned",
                    revision_reason="E000003 says otherwise",
                ),
                finding("B0002", scope="narrower"),
                finding("B0005"),
            ],
            retired=[("B0004", "about another table")],
        )
    )
    audit = second.audit.document
    assert audit.base == base.id
    assert audit.added == ["B0005"]
    assert [(one.id, one.evidence_refs, one.reason) for one in audit.removed] == [
        ("B0004", ["E000004"], "about another table")
    ]
    assert [
        (one.id, one.fields, one.references_added, one.references_removed, one.reason)
        for one in audit.changed
    ] == [
        (
            "B0001",
            ["direction", "evidence_refs", "text"],
            ["E000003"],
            ["E000001"],
            "E000003 says otherwise",
        ),
        ("B0002", ["scope"], [], [], None),
    ]
    assert audit.reordered


def test_nothing_changed(bench: Any) -> None:
    bench.accept(reply_v14([finding()]))
    audit = bench.accept(reply_v14([finding()], next_question="another?")).audit.document
    assert (audit.added, audit.removed, audit.changed, audit.reordered) == ([], [], [], False)


def test_an_added_or_removed_finding_is_no_other_order(bench: Any) -> None:
    bench.accept(reply_v14([finding("B0001"), finding("B0002"), finding("B0003")]))
    reply = reply_v14(
        [finding("B0009"), finding("B0001"), finding("B0003")], retired=[("B0002", "moot")]
    )
    assert not bench.accept(reply).audit.document.reordered


def test_a_brief_is_canonical_version_1_with_the_audit_beside(bench: Any) -> None:
    bench.accept(reply_v14([finding(), finding("B0002")]))
    before = bench.past.brief_id
    found = bench.accept(
        reply_v14([finding(text="better"), finding("B0003")], retired=[("B0002", "seen elsewhere")])
    )
    brief = found.brief.document
    assert brief.format_version == 1
    assert brief.parent == before
    assert brief.change_audit == found.audit.id
    assert [(one.id, one.change, one.reason) for one in brief.changes] == [
        ("B0003", "added", None),
        ("B0001", "changed", None),
        ("B0002", "removed", "seen elsewhere"),
    ]
    assert not hasattr(brief.findings[0], "revision_reason")


def test_the_history_is_append_only(bench: Any) -> None:
    """Each brief names the one before, whatever it says itself."""
    briefs = []
    for number in range(4):
        found = bench.accept(reply_v14([finding(text=f"version {number}")]))
        assert found.brief.document.parent == (briefs[-1] if briefs else None)
        briefs.append(found.brief.id)
    assert len(set(briefs)) == 4


def test_logging_is_no_approval(bench: Any) -> None:
    """A reworded finding of the same direction is logged in full, not judged."""
    bench.accept(reply_v14([finding(text="the callback is registered")], confidence="confirmed"))
    found = bench.accept(reply_v14([finding(text="the callback is not registered")]))
    assert found.audit.document.changed[0].fields == ["text"]
    assert found.update.document.confidence == "unchanged"
