"""``vstore diff`` on generations, packages and copies."""

from __future__ import annotations

import shutil

from .conftest import CommandLine


def test_generations_of_one_package(investigated: CommandLine) -> None:
    vstore = investigated
    out = vstore.ok("diff", "g1", "HEAD").out
    assert "generations ahead of before" in out
    for section in ("State:", "Snapshots:", "Hypotheses:", "Evidence:", "Ledger:", "Accounts:"):
        assert f"\n{section}\n" in out
    value = vstore.ok("diff", "g1", "HEAD", "--json").json
    assert value["schema"] == "vstore-diff/1"
    assert (value["relation"], value["common"]["generation"]) == ("ahead", 1)
    assert value["before"]["state"] == "ADMITTED"
    evidence = vstore.ok("evidence", "--json").json["records"]
    assert {one["id"] for one in value["records_added"]} == {one["id"] for one in evidence}
    assert value["records_removed"] == []
    back = vstore.ok("diff", "HEAD", "g1", "--json").json
    assert back["relation"] == "behind"
    assert back["records_removed"] == value["records_added"]
    assert "generations behind before" in vstore.ok("diff", "HEAD", "g1").out
    assert vstore.ok("diff", "HEAD", "HEAD").lines[2:] == ["the same generation"]
    assert "1 generation ahead of before" in vstore.ok("diff").out


def test_names_that_are_none(investigated: CommandLine) -> None:
    assert investigated("diff", "nothing").code == 1
    outcome = investigated("diff", "E000001")
    assert outcome.code == 1
    assert "[not_a_generation]" in outcome.err


def test_two_copies(investigated: CommandLine) -> None:
    vstore = investigated
    copy = vstore.folder.parent / "copy"
    shutil.copytree(vstore.folder, copy)
    assert vstore.ok("diff", copy, "HEAD").lines[2:] == ["the same generation"]
    number = vstore.ok("status", "--json").json["generation"]
    vstore.ok("block", "operator_hold")
    assert "1 generation ahead" in vstore.ok("diff", copy, "HEAD").out
    CommandLine(copy).ok("budget", "reserve", "H1", "source.search")
    out = vstore.ok("diff", "HEAD", copy).out
    assert f"diverged after generation {number}, " in out
    assert f"\nafter   case-1 generation {number + 1}, " in "\n" + out
    assert "~ BLOCKED (OPERATOR_HOLD) to INVESTIGATING_HYPOTHESES" in out
    assert vstore.ok("diff", f"{copy}@g3", "g3").lines[2:] == ["the same generation"]
    value = vstore.ok("diff", "HEAD", copy, "--json").json
    assert value["common"]["generation"] == number
    bundle = copy.with_name("copy.zip")
    CommandLine(copy).ok("bundle", "create", bundle)
    assert vstore.ok("diff", bundle, copy).lines[2:] == ["the same generation"]
    assert vstore.ok("diff", f"{bundle}@HEAD~1", f"g{number}").lines[2:] == ["the same generation"]


def test_over_revisions(investigated: CommandLine) -> None:
    vstore = investigated
    (vstore.folder / "late.log").write_bytes(b"late\n")
    vstore.ok("reopen", "new_input", "late.log", "-m", "x")
    vstore.ok("advance")
    vstore.ok("hypotheses", "add", "H7", "another")
    vstore.ok("budget", "init")
    out = vstore.ok("diff", "HEAD~4", "HEAD").out
    assert "~ revision 1 to 2" in out
    assert "+ late.log" in out
    assert "+ H7 open: another" in out
    assert "+ H7 of revision 2: granted 100, balance 100" in out
    assert "- H1 of revision 1" in out
    vstore.ok("hypotheses", "update", "H7", "-c", "strengthened")
    assert "~ H7 open to strengthened" in vstore.ok("diff").out
