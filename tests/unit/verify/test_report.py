from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vstore.objects.ids import ObjectId
from vstore.verify.render import finding_value, report_value, text_lines
from vstore.verify.report import MAX_LISTED, Counts, FindingCollector, Report

HEAD = ObjectId.parse("ab" * 32)


def report(found: FindingCollector, path: str = "package") -> Report:
    return Report(
        path=path,
        head=HEAD,
        case_id="CASE-1",
        package_id="PACKAGE-1",
        findings=tuple(found.findings),
        unlisted=found.unlisted,
        by_severity={name: found.by_severity[name] for name in ("error", "warning", "note")},
        incomplete=found.incomplete,
        not_checked=tuple(found.not_checked),
        counts=Counts(generations=3, records=2, entries=5, objects=7, bytes=11, recomputed=1),
        seconds=1.5,
    )


@pytest.mark.parametrize(
    ("codes", "exit_code", "verdict"),
    [
        ([], 0, "verified"),
        (["VS-OBJ-006"], 0, "verified"),  # a note
        (["VS-HIS-012"], 0, "verified"),  # a warning
        (["VS-OBJ-004"], 3, "not verified"),  # a schema of a later version
        (["VS-OBJ-001"], 1, "faulty"),
        (["VS-OBJ-004", "VS-OBJ-001"], 1, "faulty"),
    ],
)
def test_exit_codes(codes: list[str], exit_code: int, verdict: str) -> None:
    found = FindingCollector()
    for code in codes:
        found.add(code, "a message")
    assert (report(found).exit_code, report(found).verdict) == (exit_code, verdict)


def test_a_bundle_is_judged_by_its_own_severities() -> None:
    directory, bundle = FindingCollector(), FindingCollector(bundle=True)
    for found in (directory, bundle):
        found.add("VS-OBJ-006", "unreachable")
    assert (report(directory).exit_code, report(bundle).exit_code) == (0, 1)


def test_only_so_many_findings_are_listed_and_all_count() -> None:
    found = FindingCollector()
    for _ in range(MAX_LISTED):
        found.add("VS-OBJ-006", "a note")
    found.add("VS-OBJ-001", "an error that isn't listed")
    one = report(found)
    assert (len(one.findings), one.unlisted, one.exit_code) == (MAX_LISTED, 1, 1)
    assert any("1 more findings" in line.text for line in text_lines(one))
    assert report_value(one)["unlisted_findings"] == 1


def test_what_was_not_checked_is_said_once() -> None:
    found = FindingCollector()
    found.skip("replies")
    found.skip("replies")
    assert report(found).not_checked == ("replies",)


def test_what_falls_with_a_record_is_listed() -> None:
    found = FindingCollector()
    found.add("VS-EVD-019", "m", affects=("record E000002",))
    found.add("VS-EVD-019", "m", affects=("record E000003",))
    found.extend_affected({"E000002": [4, 7]})
    assert found.findings[0].affects == ("record E000002", "ledger entry 4", "ledger entry 7")
    assert found.findings[1].affects == ("record E000003",)


def test_text() -> None:
    found = FindingCollector()
    found.add(
        "VS-EVD-019",
        "record E000002 differs",
        object=HEAD,
        pointer="/novelty_score",
        expected=50,
        actual=60,
        affects=("record E000002", "ledger entry 7"),
    )
    found.add("VS-CON-003", "no vstore makes it", file="a.txt", offset=4)
    found.skip("replies")
    lines = text_lines(report(found), hints=False)
    assert [line.text for line in lines] == [
        "error VS-EVD-019 wrong-novelty-score: record E000002 differs",
        f"    at {HEAD} /novelty_score",
        "    expected 50",
        "    actual   60",
        "    affects  record E000002, ledger entry 7",
        "",
        "warning VS-CON-003 unknown-file: no vstore makes it",
        "    at a.txt offset 4",
        "",
        "Not checked:",
        "  - replies",
        "3 generations, 2 records, 5 ledger entries, 7 objects, 11 bytes, 1 reply",
        "recomputed, 1.50 s",
        f"head {HEAD}",
        "package: faulty (1 error, 1 warning)",
    ]
    assert lines[0].style == "error"
    assert lines[-1].style == "verdict-faulty"


def test_each_kind_is_explained_once_within_the_width() -> None:
    found = FindingCollector()
    for _ in range(2):
        found.add("VS-OBJ-001", "a message")
    lines = text_lines(report(found), width=60)
    hints = [line.text for line in lines if line.style == "hint"]
    assert len([text for text in hints if "What to do:" in text]) == 1
    assert all(len(line.text) <= 60 for line in lines if line.style in ("hint", "error"))


def test_json() -> None:
    found = FindingCollector()
    found.add("VS-OBJ-001", "a message", object=HEAD)
    one = json.loads(json.dumps(report_value(report(found))))
    assert one["format"] == "vstore-verify-report"
    assert (one["version"], one["exit_code"], one["verdict"]) == (1, 1, "faulty")
    assert one["counts"] == {
        "bytes": 11,
        "generations": 3,
        "ledger_entries": 5,
        "objects": 7,
        "recomputed_replies": 1,
        "records": 2,
    }
    assert one["milliseconds"] == 1500
    (finding,) = one["findings"]
    assert set(finding) == {
        "actual", "affects", "code", "expected", "file", "fingerprint", "hint", "message",
        "object", "offset", "pointer", "severity", "slug",
    }  # fmt: skip


@given(st.text(st.characters()), st.text(st.characters()))
def test_nothing_a_terminal_acts_on_is_ever_shown(text: str, path: str) -> None:
    found = FindingCollector()
    found.add(
        "VS-CON-003", text, file=text, pointer=text, expected=text, actual=text, affects=(text,)
    )
    found.skip(text)
    one = report(found, path)
    shown = "".join(line.text for line in text_lines(one))
    shown += json.dumps(report_value(one), ensure_ascii=False)
    assert not {unicodedata.category(char) for char in shown} & {"Cc", "Cf", "Cs", "Co", "Cn", "Zl"}
    assert finding_value(one.findings[0])["file"].isprintable() or text
