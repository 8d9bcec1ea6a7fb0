from __future__ import annotations

import json
import unicodedata
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from vstore.objects.ids import ObjectId
from vstore.testing.report_formats import (
    GITLAB_SCHEMA,
    SARIF_SCHEMA,
    junit_faults,
    sarif_faults,
    workflow_command,
)
from vstore.verify.formats import FORMATS, STREAMED, Run, render
from vstore.verify.formats.areas import AREAS, area_of, by_area
from vstore.verify.formats.places import uri
from vstore.verify.formats.run import overall
from vstore.verify.report import MAX_LISTED, Counts, FindingCollector, Report
from vstore.verify.rules import RULES

HEAD = ObjectId.parse("ab" * 32)
SARIF = Draft202012Validator(SARIF_SCHEMA)
GITLAB = Draft202012Validator(GITLAB_SCHEMA)


def report(
    found: FindingCollector, path: str = "cases/one", *, bundle: bool = False, generations: int = 3
) -> Report:
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
        counts=Counts(generations=generations, objects=generations * 2),
        seconds=1.5,
        bundle=bundle,
    )


def found(*codes: str) -> FindingCollector:
    one = FindingCollector()
    for code in codes:
        one.add(code, "a message", object=HEAD, pointer="/x", expected=1, actual=2)
    return one


def run(*reports: Report, **options: object) -> Run:
    return Run(tuple(reports), at="2026-01-02T03:04:05Z", **options)  # type: ignore[arg-type]


def rendered(form: str, one: Run) -> str:
    return render(form, one).decode("utf-8")


def check(form: str, text: str, *, rules: bool = True) -> None:
    """Demand what readers of the format demand; ``rules``: of the rules in SARIF, too."""
    if form == "sarif":
        log = json.loads(text)
        assert sarif_faults(log) == []
        if not rules:
            # They are the same in every log, and checking them takes most of the time.
            del log["runs"][0]["tool"]["driver"]["rules"][1:]
        assert [error.message for error in SARIF.iter_errors(log)] == []
    elif form == "junit":
        assert junit_faults(text.encode()) == []
    elif form == "gitlab":
        issues = json.loads(text)
        assert [error.message for error in GITLAB.iter_errors(issues)] == []
        prints = [one["fingerprint"] for one in issues]
        assert len(set(prints)) == len(prints)
    elif form == "github":
        for line in text.splitlines():
            command = workflow_command(line)
            assert command is not None
            assert command[0] in ("error", "warning", "notice")
            assert set(command[1]) <= {"file", "line", "title"}
    elif form == "json":
        assert json.loads(text)["format"] == "vstore-verify"
    elif form == "jsonl":
        for line in text.splitlines():
            assert json.loads(line)["type"] in ("finding", "package", "run")


def typical() -> Run:
    gaps = found("VS-EVD-019", "VS-EVD-019", "VS-OBJ-006", "VS-CON-015", "VS-EVD-022")
    gaps.skip("replies were not recomputed from the pinned snapshots, as asked")
    return run(
        report(found()),
        report(gaps, "cases/two"),
        report(found("VS-HIS-012"), "cases/three"),
        report(gaps, "b.vstore", bundle=True),
        skipped=("cases/four",),
    )


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_is_what_its_readers_demand(form: str) -> None:
    for one in (typical(), run(report(found())), run(report(found(*RULES))), run()):
        text = rendered(form, one)
        check(form, text)
        assert text == rendered(form, one)
    assert typical().exit_code == 1


@pytest.mark.parametrize("form", FORMATS)
@settings(max_examples=40)
@given(text=st.text(st.characters()), path=st.text(st.characters()), nth=st.integers(0, 5))
def test_nothing_untrusted_reaches_a_reader_raw(form: str, text: str, path: str, nth: int) -> None:
    one = FindingCollector(bundle=bool(nth % 2))
    for code in ("VS-CON-003", "VS-EVD-022"):
        one.add(code, text, file=text, pointer=text, object=HEAD, expected=text, actual=text,
                affects=(text,))  # fmt: skip
    one.skip(text)
    nasty = run(report(one, path), report(one, path), skipped=(path,), root=("/a", None)[nth % 2])
    shown = rendered(form, nasty)
    check(form, shown, rules=False)
    categories = {unicodedata.category(char) for char in shown.replace("\n", "")}
    assert not categories & {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


INJECTIONS = [
    "x\n::set-output name=a::b",
    "x\r::add-mask::b",
    "::stop-commands::token",
    "a,title=forged::error::",
    "%0A::error::x",
    "]]><failure/>",
    "&bogus;<!DOCTYPE x>",
    "\x00\x1b[2J\ufffe\u202e",
    "##[error]x",
]


@pytest.mark.parametrize("text", INJECTIONS)
def test_a_workflow_command_stays_one_command(text: str) -> None:
    one = FindingCollector()
    one.add("VS-CON-003", text, file=text)
    lines = rendered("github", run(report(one, text))).splitlines()
    assert len(lines) == 2
    name, properties, message = workflow_command(lines[0]) or ("", {}, "")
    assert name == "warning"
    assert properties["line"] == "1"
    assert properties["title"] == "VS-CON-003 unknown-file"
    # What a runner shows is what was meant, escapes undone, control characters visible.
    visible = text.translate({0: r"\x00", 10: r"\n", 13: r"\r", 27: r"\x1b", 0xFFFE: r"\ufffe",
                              0x202E: r"\u202e"})  # fmt: skip
    assert message.startswith(visible + "\n")
    assert workflow_command(lines[1]) is not None


@pytest.mark.parametrize("text", INJECTIONS)
def test_xml_stays_xml(text: str) -> None:
    one = FindingCollector()
    one.add("VS-EVD-022", text, file=text)
    one.add("VS-CON-003", text, file=text)
    root = ET.fromstring(rendered("junit", run(report(one, text))))
    failures = [case for case in root.iter("testcase") if case.find("failure") is not None]
    assert [case.get("name") for case in failures] == ["replies"]
    assert len(list(root.iter("failure"))) == 1
    assert "VS-CON-003" in (root.findtext(".//system-out") or "")


def test_junit_shows_each_area() -> None:
    root = ET.fromstring(rendered("junit", typical()))
    suites = {suite.get("name"): suite for suite in root}
    assert list(suites) == ["cases/one", "cases/two", "cases/three", "b.vstore", "cases/four"]
    assert all(len(case) == 0 for case in suites["cases/one"].iter("testcase"))
    two = {case.get("name"): case for case in suites["cases/two"].iter("testcase")}
    assert {name for name, case in two.items() if case.find("failure") is not None} == {
        "evidence", "replies"
    }  # fmt: skip
    failure = two["evidence"].find("failure")
    assert failure is not None
    assert failure.get("type") == "VS-EVD-019"
    assert (failure.get("message") or "").endswith("(and 1 more)")
    assert "What to do:" in (failure.text or "")
    error = two["container"].find("error")
    assert error is not None
    assert error.get("type") == "VS-CON-015"
    assert suites["cases/four"].get("skipped") == "1"
    # A warning is no failure; it is in the output.
    assert suites["cases/three"].get("failures") == "0"
    assert "VS-HIS-012" in (suites["cases/three"].findtext("system-out") or "")


def test_what_was_not_checked_is_no_pass() -> None:
    one = FindingCollector()
    one.skip("objects, history, inputs, evidence and ledger: the log can't be opened")
    gaps = {area.name for area in by_area(report(one)) if area.gaps}
    assert gaps == {"objects", "history", "inputs", "evidence", "ledger"}
    one = FindingCollector()
    one.skip("something that nobody can place")
    assert all(area.gaps for area in by_area(report(one)))
    nothing = by_area(report(found("VS-VER-002"), generations=0))
    assert all(area.gaps for area in nothing if area.name != "verifier")
    root = ET.fromstring(rendered("junit", run(report(found("VS-VER-002"), generations=0))))
    (suite,) = root
    assert (suite.get("errors"), int(suite.get("skipped", "")) + 1) == ("1", len(nothing))


def test_every_code_has_an_area() -> None:
    for code in RULES:
        assert area_of(code) in AREAS
        assert code.startswith("VS-VER") == (area_of(code) == "verifier"), code


def test_sarif_says_where_and_what_helps() -> None:
    log = json.loads(rendered("sarif", typical()))
    (one,) = log["runs"]
    rules = {rule["id"]: rule for rule in one["tool"]["driver"]["rules"]}
    assert set(rules) == set(RULES)
    assert "What to do" in rules["VS-EVD-019"]["help"]["text"]
    assert "**What to do:**" in rules["VS-EVD-019"]["help"]["markdown"]
    assert rules["VS-EVD-019"]["name"] == "WrongNoveltyScore"
    uris = [
        place["physicalLocation"]["artifactLocation"]["uri"]
        for result in one["results"]
        for place in result["locations"]
    ]
    assert set(uris) == {"cases/two/VSTORE", "cases/three/VSTORE", "b.vstore"}
    assert one["invocations"][0]["executionSuccessful"] is True
    assert one["invocations"][0]["exitCode"] == 1
    notes = one["invocations"][0]["toolExecutionNotifications"]
    assert any("replies were not recomputed" in note["message"]["text"] for note in notes)
    assert notes[-1]["message"]["text"] == "cases/four: not begun"
    failed = json.loads(rendered("sarif", run(report(found("VS-VER-002")))))
    assert failed["runs"][0]["invocations"][0]["executionSuccessful"] is False


@pytest.mark.parametrize(
    ("path", "root", "file", "expected"),
    [
        ("cases/one", None, None, "cases/one/VSTORE"),
        ("./cases/one/", None, "refs/generation", "cases/one/refs/generation"),
        ("/home/ci/repo/cases/one", "/home/ci/repo", None, "cases/one/VSTORE"),
        ("/home/ci/repo", "/home/ci/repo", "a b", "a%20b"),
        (".", "/home/ci/repo", "refs/x", "refs/x"),
        ("/elsewhere/one", "/home/ci/repo", None, "file:///elsewhere/one/VSTORE"),
        ("/home/ci/repository", "/home/ci/repo", None, "file:///home/ci/repository/VSTORE"),
        ("../one", "/home/ci/repo", None, "file:///home/ci/one/VSTORE"),
        ("a", "/", None, "a/VSTORE"),
        ("c:x", None, None, "c%3Ax/VSTORE"),
        ("one", None, "../../x", "one/x"),
        ("one", None, "/etc/passwd", "one/etc/passwd"),
        ("one", None, "/", "one/VSTORE"),
        ("/", None, "..", "file:///VSTORE"),
        ("", None, "//", "VSTORE"),
        ("bad\udcff", None, None, "bad%FF/VSTORE"),
        ("bad\ud800", None, None, "bad%ED%A0%80/VSTORE"),
    ],
)
def test_paths_are_relative_to_the_checkout(
    path: str, root: str | None, file: str | None, expected: str
) -> None:
    one = FindingCollector()
    one.add("VS-CON-003", "m", file=file)
    log = json.loads(rendered("sarif", run(report(one, path), root=root)))
    (result,) = log["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == expected


def test_a_uri_quotes_all_that_a_uri_has_a_meaning_for() -> None:
    assert uri("a?b#c%d[é]") == "a%3Fb%23c%25d%5B%C3%A9%5D"


def test_gitlab_never_sees_two_equal_fingerprints() -> None:
    twice = found("VS-VER-001", "VS-VER-001")
    assert twice.findings[0].fingerprint == twice.findings[1].fingerprint
    issues = json.loads(rendered("gitlab", run(report(twice), report(twice, "other"))))
    prints = [one["fingerprint"] for one in issues]
    assert len(set(prints)) == 4
    again = json.loads(rendered("gitlab", run(report(twice, "other"), report(twice))))
    assert sorted(prints) == sorted(one["fingerprint"] for one in again)
    graded = json.loads(rendered("gitlab", run(report(found(
        "VS-EVD-022", "VS-HIS-012", "VS-OBJ-006", "VS-OBJ-004")))))  # fmt: skip
    assert [one["severity"] for one in graded] == ["critical", "minor", "info", "major"]


def test_github_puts_errors_first_and_counts_the_rest() -> None:
    many = found(*["VS-OBJ-006"] * 250, "VS-EVD-022")
    lines = rendered("github", run(report(many))).splitlines()
    assert lines[0].startswith("::error file=cases/one/VSTORE,line=1,title=VS-EVD-022 ")
    assert len(lines) == 201
    assert lines[-1].startswith("::error title=vstore verify::cases/one: faulty (1 error, 0 ")
    assert "%0A51 more findings are not shown here" in lines[-1]
    verdicts = [
        rendered("github", run(report(found(*codes)))).splitlines()[-1].split(" ")[0]
        for codes in ((), ("VS-VER-002",), ("VS-OBJ-001",))
    ]
    assert verdicts == ["::notice", "::warning", "::error"]


def test_unlisted_errors_are_told_in_every_format() -> None:
    many = found(*["VS-OBJ-006"] * MAX_LISTED, "VS-EVD-022", "VS-OBJ-006")
    one = run(report(many))
    assert "2 more findings" in rendered("text", one)
    assert "2 more findings" in rendered("sarif", one)
    assert json.loads(rendered("json", one))["packages"][0]["unlisted_findings"] == 2
    assert json.loads(rendered("jsonl", one).splitlines()[-2])["unlisted_findings"] == 2
    root = ET.fromstring(rendered("junit", one))
    assert root[0].get("failures") == "1"


def test_json_members() -> None:
    value = json.loads(rendered("json", typical()))
    assert {"format", "version", "vstore", "verdict", "exit_code", "by_severity", "skipped",
            "packages"} <= set(value)  # fmt: skip
    assert (value["version"], value["verdict"], value["exit_code"]) == (1, "faulty", 1)
    assert value["by_severity"] == {"error": 6, "warning": 3, "note": 2}
    assert value["packages"][0]["path"] == "cases/one"


def test_jsonl_ends_every_package_and_the_run_with_a_line() -> None:
    lines = [json.loads(line) for line in rendered("jsonl", typical()).splitlines()]
    kinds = [line["type"] for line in lines]
    assert kinds == ["package", *["finding"] * 5, "package", "finding", "package",
                     *["finding"] * 5, "package", "run"]  # fmt: skip
    assert {line["version"] for line in lines} == {1}
    assert lines[1]["path"] == "cases/two"
    assert lines[-1]["packages"] == 4
    assert lines[6]["listed_findings"] == 5


@pytest.mark.parametrize(
    ("given_codes", "expected"),
    [([], 3), ([0], 0), ([0, 0], 0), ([0, 3], 3), ([3, 1, 0], 1), ([1, 4, 3], 4)],
)
def test_the_gravest_package_decides(given_codes: list[int], expected: int) -> None:
    assert overall(given_codes) == expected


def test_warnings_count_where_that_is_asked() -> None:
    warned, noted = report(found("VS-HIS-012")), report(found("VS-OBJ-006"))
    assert run(warned).exit_code == 0
    assert run(warned, fail_on_warnings=True).exit_code == 1
    assert run(noted, fail_on_warnings=True).exit_code == 0
    assert run(noted, skipped=("x",)).exit_code == 3
    assert run(report(found("VS-VER-002")), fail_on_warnings=True).exit_code == 3


def test_which_formats_are_streamed() -> None:
    assert set(FORMATS) > STREAMED
    text = rendered("text", typical())
    assert text.endswith("cases/four: not begun\n2 of 5 packages verified\n")
    assert "packages verified" not in rendered("text", run(report(found())))
