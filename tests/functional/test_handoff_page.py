"""The examples of docs/reference/handoff.md work as they stand there."""

from __future__ import annotations

import re
from pathlib import Path

from .conftest import CommandLine

PAGE = (Path(__file__).parents[2] / "docs/reference/handoff.md").read_text(encoding="utf-8")


def test_the_documents_of_the_page(vstore: CommandLine, tmp_path: Path) -> None:
    asked, answered = re.findall(r"^```json\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    vstore.ok("init", "CASE-1")
    case = vstore.at(vstore.folder / "CASE-1")
    for words in (["advance"], ["advance"], ["hypotheses", "add", "H1", "x"], ["budget", "init"],
                  ["advance"]):  # fmt: skip
        case.ok(*words)
    request, answer = tmp_path / "request.json", tmp_path / "answer.json"
    request.write_text(asked)
    ref = case.ok("test", "request", request, "--json").json["request"]
    answer.write_text(answered.replace("b3:...", ref))
    case.ok("test", "confirm", answer, "--as", "bench-3")
    assert case.ok("test", "record", "--json").json["record_id"] == "E000001"
    case.ok("verify")


def test_every_kind_of_refusal_is_one(vstore: CommandLine) -> None:
    """The table names kinds that the code has."""
    root = Path(__file__).parents[2]
    code = "".join(
        path.read_text(encoding="utf-8")
        for folder in ("handoff", "controller", "package", "budget")
        for path in (root / "vstore" / folder).glob("*.py")
    ) + (root / "vstore/errors.py").read_text(encoding="utf-8")
    table = PAGE.split("| kind | when |")[1].split("\n\n")[0]
    cells = [row.split("|")[1] for row in table.splitlines() if row.count("|") > 2]
    kinds = {kind for cell in cells for kind in re.findall(r"`([a-z_]+)`", cell)}
    assert len(kinds) >= 15
    for kind in kinds:
        assert f'"{kind}"' in code, kind


def test_the_command_lines_of_the_page_have_their_options(vstore: CommandLine) -> None:
    block = PAGE.split("## By hand\n\n```\n")[1].split("```")[0].replace("\\\n", "")
    for line in block.splitlines():
        words = line.split("#")[0].split()
        command = [word for word in words[1:3] if re.fullmatch("[a-z]+", word)]
        shown = vstore.ok(*command, "--help").out
        for option in re.findall(r"(--[a-z-]+|-[A-Z])\b", line):
            assert option in shown, (line, option)
