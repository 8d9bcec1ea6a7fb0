"""log, show, evidence, verify: reading and checking."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import CommandLine

Files = Callable[[Path], dict[str, bytes]]


def test_log_in_paragraphs(investigated: CommandLine) -> None:
    out = investigated.ok("log", "-n", "5").lines
    assert out[0].startswith("generation 19  ")
    assert out[0].endswith("  revision 1, INVESTIGATING_HYPOTHESES")
    assert out[1].startswith("  2026-01-01 01:00:")
    assert out[1].endswith(" UTC  tester")
    assert out[2] == "  H2  recorded E000003 for query-0003"
    assert out[6] == ('  H2  E000003 source.search app "answer" (same as E000001)  novelty 0%')
    assert out[10] == "  H2  reserved query-0003 for source.search  cost 10"


def test_log_in_lines(investigated: CommandLine) -> None:
    out = investigated.ok("log", "--oneline").lines
    assert out[0] == "gen id       rev hyp cost  new earn what"
    # One line for each generation, and one more for the second account that was opened.
    assert [line[:3].strip() for line in out[1:] if line[:3].strip()] == [
        str(number) for number in range(19, 0, -1)
    ]
    assert len(out) == 1 + 19 + 1
    assert out[1] == f" 19 {out[1][4:12]}  r1 H2                 recorded E000003 for query-0003"
    assert investigated.ok("rev-parse", out[1][4:12], "HEAD").lines[0] == (
        investigated.ok("rev-parse", "HEAD").out.strip()
    )
    texts = [line[17:] for line in out[1:]]
    assert 'H2         0%      E000003 search "answer"' in texts
    assert "H2  (10)           reserved query-0002 for database.rows" in texts
    assert "H2       100%      E000002 rows orders order -amount" in texts
    assert "H1    10        +3 settled query-0001, score 60" in texts
    assert 'H1       100%      E000001 search "answer"' in texts
    assert texts[-1].strip() == "created the package of case case-1 with report.txt"
    assert texts[-2].strip() == "pinned source app (directory: tree)"


def test_log_reads_from_where_it_is_told(investigated: CommandLine) -> None:
    value = investigated.ok("log", "--json").json
    assert value["schema"] == "vstore-log/1"
    every = value["generations"]
    assert [one["generation"] for one in every] == list(range(19, 0, -1))
    assert every[-1]["parent"] is None
    assert [one["parent"] for one in every[:-1]] == [one["object"] for one in every[1:]]
    some = investigated.ok("log", "HEAD~3", "-n", "2", "--json").json["generations"]
    assert some == every[3:5]
    assert investigated.ok("log", "g2", "--json").json["generations"] == every[-2:]
    assert investigated.ok("log", "-n", "0", "--json").json["generations"] == []
    settled = next(one for one in every if one["events"][0]["kind"] == "budget.settle")
    assert settled["changes"] == [
        {
            "kind": "budget.settle",
            "what": "settled query-0001, score 60",
            "hypothesis_id": "H1",
            "action_id": "query-0001",
            "cost": 10,
            "reward": 3,
            "reason": "three places",
        }
    ]
    investigated.refused("unknown_name", "log", "nosuch")
    investigated.refused("no_generation", "log", "E000001")
    investigated.refused("no_generation", "log", "HEAD~19")


def test_log_n_reads_little(prepared: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    """A log of the newest entries looks at few objects, however long the history is."""
    from vstore.objects.reader import ObjectReader

    for number in range(40):
        prepared.ok("hypotheses", "update", "H1", "--statement", f"wording {number}")
    read: list[str] = []
    get = ObjectReader.get

    def counted(self: ObjectReader, oid: object) -> bytes:
        read.append(str(oid))
        return get(self, oid)  # type: ignore[arg-type]

    monkeypatch.setattr(ObjectReader, "get", counted)
    prepared.ok("log", "-n", "3")
    few = len(set(read))
    read.clear()
    prepared.ok("log")
    assert few < 15 < 40 < len(set(read))


def test_log_on_a_terminal(investigated: CommandLine) -> None:
    out = investigated.ok("log", "--oneline", tty=True, environ={"COLUMNS": "60"}).out
    assert "\x1b[33m" in out
    from vstore_cli.terminal import cells

    assert all(cells(line) <= 60 for line in out.splitlines())
    assert "…" in out
    plain = investigated.ok("log", "--oneline", tty=True, environ={"NO_COLOR": "1"}).out
    assert "\x1b" not in plain
    assert "\x1b" not in investigated.ok("log", tty=True, environ={"TERM": "dumb"}).out
    assert "\x1b" not in investigated.ok("--color", "never", "log", tty=True).out
    assert "\x1b[" in investigated.ok("--color", "always", "log").out


def test_show_a_record(investigated: CommandLine) -> None:
    out = investigated.ok("show", "E000002").lines
    assert out[0] == "record E000002"
    assert out[2] == "question    database.rows db orders order -amount"
    assert out[5] == "novelty     100% (3 of 3 new)"
    assert "snapshot    db (sqlite: bug.sqlite3), " in out[7]
    # A content is sorted by place, whatever the order of the answer was.
    assert out[-3:] == [
        "    1  a-1   1.5     first  x'00ff'",
        "    2  a-2   2.0     null   null",
        "    3  b-1   -3.25   it's   x''",
    ]
    repeat = investigated.ok("show", "E000003").out
    assert "novelty     0% (0 of 3 new), the same content as E000001" in repeat
    value = investigated.ok("show", "E000003", "--json").json
    assert value["schema"] == "vstore-show/1"
    assert value["type"] == "evidence-record-v1"
    assert value["question"]["pattern"] == "answer"
    assert value["content"]["kind"] == "source_lines"
    assert value["document"]["duplicate_of"] == "E000001"


def test_show_every_kind_of_object(investigated: CommandLine) -> None:
    for name, expected in {
        "HEAD": "recorded E000003",
        "HEAD~2": "reserved query-0003",
        "g1": "created the package",
        "budget_ledger": "record_evidence",
        "budget_policy": "each hypothesis starts with 100 credits",
        "evidence_index": '"next_id": "E000004"',
        "hypotheses": "H2   open",
        "app": "Everything in the folder",
        "db": "SQLite file",
        "inputs": "report.txt",
        "HEAD:report.txt": "Since Tuesday.",
        "app:pkg": "__init__.py",
        "app:pkg/__init__.py": "answer = 41",
    }.items():
        assert expected in investigated.ok("show", name).out, name
        value = investigated.ok("show", name, "--json").json
        assert investigated.ok("rev-parse", name).out.strip() == value["object"]
    record = investigated.ok("show", "E000001", "--json").json["document"]
    assert "3 lines" in investigated.ok("show", record["content"]).out
    for part in ("request", "reply"):
        assert "schema" in investigated.ok("show", record["origin"][part]).out
    investigated.refused("not_shown", "show", "app:data.bin")
    investigated.refused("unknown_path", "show", "app:pkg/absent")
    investigated.refused("unknown_path", "show", "app:main.py/x")
    investigated.refused("not_a_tree", "show", "db:x")
    investigated.refused("bad_name", "show", "abc")
    investigated.refused("unknown_record", "show", "E000009")


def test_evidence(investigated: CommandLine) -> None:
    out = investigated.ok("evidence").lines
    assert out == [
        "record   hyp  action      new/all  novelty  question",
        'E000001  H1   query-0001      3/3     100%  source.search app "answer"',
        "E000002  H2   query-0002      3/3     100%  database.rows db orders order -amount",
        'E000003  H2   query-0003      0/3       0%  source.search app "answer" (same as E000001)',
    ]
    value = investigated.ok("evidence", "-H", "H2", "-n", "1", "--json").json
    assert value["schema"] == "vstore-evidence/1"
    assert [one["id"] for one in value["records"]] == ["E000003"]


def test_nothing_yet(vstore: CommandLine) -> None:
    vstore.ok("init", "case-1")
    inside = vstore.at(vstore.folder / "case-1")
    assert inside.ok("evidence").out == "no evidence yet\n"
    assert inside.ok("hypotheses").out == "no hypothesis yet\n"
    assert inside.ok("ls-tree").out == ""
    inside.ok("verify")


def test_verify(investigated: CommandLine, vstore: CommandLine) -> None:
    out = investigated.ok("verify").lines
    assert out[-1].endswith("case-1: verified")
    (report,) = investigated.ok("verify", "--json").json["packages"]
    assert report["verdict"] == "verified"
    assert report["counts"]["recomputed_replies"] == 3
    head = report["head"]
    investigated.ok("verify", ".", "--expect", head, "--quiet")
    earlier = investigated.ok("rev-parse", "HEAD~4").out.strip()
    investigated.ok("verify", "--extends", earlier)
    assert investigated("verify", "--expect", earlier).code == 1
    assert investigated("verify", "--extends", "b3:" + "0" * 64).code == 1
    skipped = investigated.ok("verify", "--no-recompute").out
    assert "Not checked:" in skipped
    inner = investigated.folder / "notes"
    inner.mkdir()
    assert investigated.ok("verify", inner, "--quiet").lines[0].startswith(str(investigated.folder))
    several = investigated("verify", ".", "..", "absent")
    assert several.code == 3
    assert investigated("verify", "absent").code == 3


def test_verify_finds_what_was_changed(investigated: CommandLine) -> None:
    ref = investigated.folder / "refs" / "generation"
    ref.write_text("b3:" + "0" * 64 + "\n")
    outcome = investigated("verify")
    assert outcome.code == 1
    assert "error VS-" in outcome.out
    assert outcome.out.rstrip().splitlines()[-1].startswith(str(investigated.folder))
    (report,) = investigated("verify", "--format", "json").json["packages"]
    assert report["exit_code"] == 1
    assert report["findings"][0]["severity"] == "error"
    (log,) = (investigated.folder / "objects" / "log").iterdir()
    raw = bytearray(log.read_bytes())
    raw[len(raw) // 2] ^= 1
    log.write_bytes(raw)
    assert investigated("verify").code in (1, 3)


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_reading_needs_no_write_access(investigated: CommandLine) -> None:
    folders = [investigated.folder, *(p for p in investigated.folder.rglob("*") if p.is_dir())]
    for folder in folders:
        folder.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        _read_everything(investigated)
    finally:
        for folder in folders:
            folder.chmod(stat.S_IRWXU)


def test_reading_writes_nothing(investigated: CommandLine, files_of: Files) -> None:
    def everything() -> dict[str, tuple[bytes, int]]:
        return {
            str(path): (path.read_bytes(), path.stat().st_mtime_ns)
            for path in investigated.folder.rglob("*")
            if path.is_file()
        }

    before = everything()
    _read_everything(investigated)
    assert everything() == before


def _read_everything(vstore: CommandLine) -> None:
    for words in (
        ["status"],
        ["log"],
        ["show", "E000001"],
        ["evidence"],
        ["hypotheses"],
        ["budget", "show", "--policy"],
        ["verify"],
        ["cat-object", "HEAD"],
        ["ls-tree", "-r", "app"],
        ["ls-refs"],
        ["rev-parse", "--short", "HEAD"],
        ["checkpoint"],
    ):
        vstore.ok(*words)
