"""The command line over the whole life of a case: block, resume, reopen, new raw input."""

from __future__ import annotations

from .conftest import CommandLine


def test_block_and_resume(investigated: CommandLine) -> None:
    vstore = investigated
    value = vstore.ok("block", "provider_unavailable", "--until", "2099-01-02T03:04:05Z",
                      "--automatic", "-m", "no model", "--json").json  # fmt: skip
    assert value["schema"] == "vstore-block/1"
    assert (value["from"], value["state"]) == ("INVESTIGATING_HYPOTHESES", "BLOCKED")
    assert value["blocked"] == {
        "reason": "PROVIDER_UNAVAILABLE",
        "resume_state": "INVESTIGATING_HYPOTHESES",
        "retry_not_before": "2099-01-02T03:04:05Z",
        "automatic_retry": True,
    }
    out = vstore.ok("status").out
    assert (
        "BLOCKED (PROVIDER_UNAVAILABLE), from INVESTIGATING_HYPOTHESES, "
        "not before 2099-01-02T03:04:05Z, a worker may resume it"
    ) in out
    assert "vstore resume" in out
    outcome = vstore("advance")
    assert outcome.code == 1
    assert "legal are: resume" in outcome.err
    outcome = vstore("resume")
    assert outcome.code == 1
    assert "blocked until 2099-01-02T03:04:05Z" in outcome.err
    out = vstore.ok("resume", "--early").out
    assert out.startswith("BLOCKED (PROVIDER_UNAVAILABLE) to INVESTIGATING_HYPOTHESES, generation ")
    outcome = vstore("resume")
    assert (outcome.code, outcome.out) == (1, "")
    out = vstore.ok("block", "operator_hold").out
    assert "INVESTIGATING_HYPOTHESES to BLOCKED (OPERATOR_HOLD), generation" in out
    assert vstore.ok("resume", "--json").json["state"] == "INVESTIGATING_HYPOTHESES"
    assert "no model" in vstore.ok("log").out
    assert vstore("block", "AWAITING_TEST_FEEDBACK").code == 2
    assert vstore("block", "operator_hold", "--until", "soon").code == 1
    vstore.ok("verify")


def test_a_log_comes_in_late(investigated: CommandLine) -> None:
    vstore = investigated
    (vstore.folder / "late.log").write_bytes(b"late\n")
    out = vstore.ok("status").out
    assert "vstore reopen new_input takes them in, as a new analysis revision" in out
    assert "  late.log" in out
    assert vstore.ok("status", "--json").json["unclaimed"] == ["late.log"]
    outcome = vstore("input", "add", "late.log")
    assert outcome.code == 1
    assert "reopen" in outcome.err
    assert vstore("reopen", "new_input", "late.log").code == 2  # no reason
    assert vstore("reopen", "new_input", "-m", "x").code == 1  # no file
    assert vstore("reopen", "review", "-m", "x").code == 1  # nothing to review yet
    vstore.ok("budget", "reserve", "H1", "source.search", "--action", "open-1")
    before = vstore.ok("evidence", "--json").json["records"]
    value = vstore.ok("reopen", "new_input", "late.log", "-m", "it came late", "--json").json
    assert value["schema"] == "vstore-reopen/1"
    assert (value["state"], value["analysis_revision"]) == ("REOPENED", 2)
    assert value["added"] == ["late.log"]
    assert {"hypothesis_id": "H1", "action_id": "open-1", "outcome": "voided"} in value["actions"]
    assert vstore.ok("evidence", "--json").json["records"] == before
    status = vstore.ok("status", "--json").json
    assert (status["unclaimed"], status["hypotheses"], status["accounts"]) == ([], [], [])
    log = vstore.ok("log", "-n", "1").out
    assert "it came late" in log
    assert "voided open-1" in log
    assert "added late.log to the raw input" in log
    (vstore.folder / "late.log").write_bytes(b"later\n")
    out = vstore.ok("status").out
    assert "late.log  (changed)" in out
    assert "vstore input add takes them in" in out
    vstore.ok("input", "add", "late.log", "--replace")
    vstore.ok("advance")
    outcome = vstore("advance")
    assert "hypotheses and budget init first" in outcome.err
    vstore.ok("hypotheses", "add", "H1", "once more")
    assert "budget init" in vstore("advance").err
    vstore.ok("budget", "init")
    vstore.ok("advance")
    vstore.ok("verify")


def test_a_review_in_words(investigated: CommandLine) -> None:
    vstore = investigated
    vstore.ok("advance")
    assert "vstore reopen review" in vstore.ok("status").out
    vstore.ok("advance")
    assert "vstore reopen review" in vstore.ok("status").out
    for number in range(25):
        (vstore.folder / f"f{number:02}").write_bytes(b"%d" % number)
    files = [f"f{number:02}" for number in range(25)]
    vstore.ok("budget", "show")
    lines = vstore.ok("reopen", "patch_rejected", *files, "-m", "still fails").lines
    assert lines[0].startswith("CLOSED to REOPENED, revision 2, generation ")
    assert lines[1] == "added f00"
    assert "and 5 more" in lines
    vstore.ok("verify")
