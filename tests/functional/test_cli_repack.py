"""``vstore repack``: nothing that anybody reads changes but the space that it takes."""

from __future__ import annotations

import pytest

from vstore.objects.locks import REPACK, PackageLock

from .conftest import CommandLine

READING = [
    ["status"],
    ["log"],
    ["log", "--json"],
    ["show", "E000001"],
    ["show", "HEAD~1", "--json"],
    ["show", "app:main.py"],
    ["evidence", "--json"],
    ["hypotheses"],
    ["ls-refs"],
    ["ls-tree", "-r", "app"],
    ["cat-object", "HEAD"],
    ["rev-parse", "HEAD", "E000002", "g3"],
    ["verify"],
]


def test_repack(investigated: CommandLine) -> None:
    vstore = investigated
    before = {tuple(words): vstore.ok(*words).out for words in READING}
    abbreviated = vstore.ok("rev-parse", "--short", "E000001").out.strip()
    vstore.ok("bundle", "create", "../before.zip")
    size = (vstore.folder / "objects/log/00000001.vlog").stat().st_size
    (planned,) = vstore.ok("repack", "--dry-run").lines
    assert planned.startswith("1 segment would be sealed in 1 pack: ")
    assert f" objects, {size:,} bytes before, " in planned
    assert not (vstore.folder / "objects/pack").exists()
    done = vstore.ok("repack", "--json").json
    assert (done["schema"], done["segments"], done["packs"]) == ("vstore-repack/1", 1, 1)
    assert (done["before"], done["replaced"], done["dry_run"]) == (size, 0, False)
    (pack,) = (vstore.folder / "objects/pack").iterdir()
    assert pack.stat().st_size == done["after"]
    assert planned.endswith(f" {done['after']:,} after")
    for words, out in before.items():
        if words != ("verify",):
            assert vstore.ok(*words).out == out
    assert "verified" in vstore.ok("verify").lines[-1]
    assert vstore.ok("rev-parse", abbreviated).out == vstore.ok("rev-parse", "E000001").out
    vstore.ok("bundle", "create", "../after.zip")
    bundles = [(vstore.folder.parent / name).read_bytes() for name in ("before.zip", "after.zip")]
    assert bundles[0] == bundles[1]
    assert vstore.ok("repack").out == "nothing to repack\n"
    value = vstore.ok("status", "--json").json["space"]
    assert value == {"log": 160, "packs": done["after"]}
    assert vstore.ok("doctor", "--json").json["packages"][0]["space"]["pack"] == done["after"]


def test_going_on_behind_a_pack(investigated: CommandLine) -> None:
    vstore = investigated
    parent = vstore.ok("rev-parse", "HEAD").out.strip()
    vstore.ok("repack")
    assert vstore.ok("verify", "--extends", parent).lines[-1].endswith("verified")
    vstore.ok("budget", "reserve", "H1", "source.search", "--action", "a9")
    vstore.ok("bundle", "create", "--since", parent, "../more.zip")
    assert vstore.ok("verify", "../more.zip", "--base", ".").lines[-1].endswith("verified")
    vstore.ok("bundle", "create", "../all.zip")
    outside = vstore.at(vstore.folder.parent)
    outside.ok("clone", "all.zip", "copy")
    copy = vstore.at(vstore.folder.parent / "copy")
    assert copy.ok("log", "--json").json == vstore.ok("log", "--json").json
    vstore.ok("repack", "--all", "--level", "19")
    assert len(list((vstore.folder / "objects/pack").iterdir())) == 1
    assert vstore.ok("verify").lines[-1].endswith("verified")
    assert vstore.ok("diff", "../all.zip", "HEAD").code == 0


def test_a_replaced_file_is_a_note(investigated: CommandLine) -> None:
    vstore = investigated
    segment = vstore.folder / "objects/log/00000001.vlog"
    content = segment.read_bytes()
    vstore.ok("repack")
    segment.write_bytes(content)
    assert "note replaced_files: 1 files" in vstore.ok("doctor").out
    assert "VS-CON-027" in vstore.ok("verify").out
    assert vstore.ok("repack", "-n").out == "1 replaced file would be removed\n"
    assert vstore.ok("repack").out == "1 replaced file removed\n"
    assert "VS-CON-027" not in vstore.ok("verify").out


def test_refusals(investigated: CommandLine) -> None:
    vstore = investigated
    vstore.ok("bundle", "create", "../b.zip")
    outcome = vstore("repack", "-p", "../b.zip")
    assert outcome.code == 1
    assert "vstore clone makes a package of it" in outcome.err
    assert vstore("repack", "--level", "23").code == 2
    with PackageLock(vstore.folder, REPACK):
        outcome = vstore("repack")
    assert outcome.code == 1
    assert "the repack lock is held by process" in outcome.err
    raw = bytearray((vstore.folder / "objects/log/00000001.vlog").read_bytes())
    raw[len(raw) // 2] ^= 1
    (vstore.folder / "objects/log/00000001.vlog").write_bytes(raw)
    outcome = vstore("repack")
    assert outcome.code == 1
    assert "damaged" in outcome.err
    assert not (vstore.folder / "objects/pack").exists()


@pytest.mark.parametrize("what", ["pack", "cache"])
def test_bad_files(investigated: CommandLine, what: str) -> None:
    """A damaged pack is found; reading what is elsewhere, and telling, still work."""
    vstore = investigated
    vstore.ok("repack")
    vstore.ok("budget", "reserve", "H1", "source.search", "--action", "a9")
    if what == "cache":
        for path in (vstore.folder / "cache").iterdir():
            path.write_bytes(b"x" * 100)
        assert vstore.ok("verify").lines[-1].endswith("verified")
        vstore.ok("budget", "reserve", "H1", "source.search", "--action", "a8")
        return
    (pack,) = (vstore.folder / "objects/pack").iterdir()
    pack.write_bytes(pack.read_bytes()[:-1])
    assert "VS-CON-025" in vstore("verify").out
    assert vstore("verify").code == 1
    assert vstore("doctor").code == 1
    assert vstore("log").code == 1
    outcome = vstore("budget", "reserve", "H1", "source.search", "--action", "a8")
    assert outcome.code == 1
    assert "Traceback" not in outcome.err
