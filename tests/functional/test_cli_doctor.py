"""``vstore doctor`` and ``vstore repair``."""

from __future__ import annotations

from pathlib import Path

from .conftest import CommandLine


def test_a_healthy_package(investigated: CommandLine) -> None:
    out = investigated.ok("doctor").out
    assert "nothing to look after" in out
    assert " free\n" in out
    value = investigated.ok("doctor", "--json").json
    assert value["schema"] == "vstore-doctor/1"
    (one,) = value["packages"]
    assert (one["findings"], one["worst"]) == ([], None)
    assert one["head"] == investigated.ok("status", "--json").json["head"]


def test_what_repair_does(investigated: CommandLine) -> None:
    vstore = investigated
    ref = vstore.folder / "refs" / "budget_ledger"
    good = ref.read_bytes()
    ref.write_bytes(b"")
    (vstore.folder / "tmp" / "left-over").write_bytes(b"x")
    outcome = vstore("doctor")
    assert outcome.code == 1
    assert "warning ref_lagging: refs/budget_ledger has an earlier value than the log" in (
        outcome.out
    )
    assert "note residue: 1 files in tmp/" in outcome.out
    wanted = ["move refs/budget_ledger (lagging) to " + good.decode().strip(),
              "remove tmp/left-over, which a crash left"]  # fmt: skip
    lines = vstore.ok("repair", "--dry-run", "--residue").lines
    assert lines == ["would " + line for line in wanted]
    assert ref.read_bytes() == b""
    assert vstore.ok("repair", "--residue").lines == wanted
    assert ref.read_bytes() == good
    assert vstore.ok("doctor").code == 0
    ref.write_bytes(b"b3:" + b"7" * 64 + b"\n")
    assert vstore("doctor").code == 1
    outcome = vstore("repair")
    assert outcome.code == 1
    assert "--accept-log-head" in outcome.err
    out = vstore.ok("repair", "--accept-log-head", "-n").out
    assert out.startswith("assuming that the log's last generation is the newest one")
    assert ref.read_bytes() != good
    vstore.ok("repair", "--accept-log-head")
    assert ref.read_bytes() == good


def test_a_workspace(investigated: CommandLine, tmp_path: Path) -> None:
    site = CommandLine(investigated.folder.parent)
    value = site.ok("doctor", "-w", ".", "--json").json
    assert [one["path"] for one in value["packages"]] == ["case-1"]
    assert value["quarantine"] == []
    folder = site.folder / ".admission" / "quarantine"
    folder.mkdir(parents=True)
    (folder / "1-2.zip").write_bytes(b"")
    assert "quarantine: 1 file left by a crash" in site.ok("doctor", "-w", ".").out
    assert site("doctor").code == 1  # not in a package
    bundle = tmp_path / "b.zip"
    investigated.ok("bundle", "create", bundle)
    outcome = site("doctor", "-p", bundle)
    assert outcome.code == 1
    assert "[bundle]" in outcome.err
