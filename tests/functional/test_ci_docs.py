"""What the documentation says of CI is what there is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from vstore.verify.formats import FORMATS
from vstore.verify.formats.areas import AREAS
from vstore_cli.command_verify import command

ROOT = Path(__file__).parents[2]
CI = (ROOT / "docs" / "how-to" / "ci.md").read_text(encoding="utf-8")
REFERENCE = (ROOT / "docs" / "reference" / "verify.md").read_text(encoding="utf-8")
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
(HOOK,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
OPTIONS = {name for one in command.params for name in one.opts if name.startswith("--")}


def examples() -> list[Any]:
    return [yaml.safe_load(text) for text in re.findall(r"```yaml\n(.*?)```", CI, re.DOTALL)]


def test_examples_use_inputs_that_there_are() -> None:
    used = [
        step["with"]
        for example in examples()
        for job in example.get("jobs", {}).values()
        for step in job["steps"]
        if step["uses"].startswith("OWNER/vstore@")
    ]
    assert len(used) == 2
    for one in used:
        assert set(one) <= set(ACTION["inputs"])
        assert set(one) >= {"paths"}
        assert one.get("format", "github") in FORMATS
    (hooks,) = [example["repos"][0]["hooks"] for example in examples() if "repos" in example]
    assert [one["id"] for one in hooks] == [HOOK["id"]]


def test_tables_name_every_input_option_and_format() -> None:
    table = CI[CI.index("| input |") : CI.index("The output")]
    assert set(re.findall(r"`([a-z-]+)`", table)) >= set(ACTION["inputs"])
    for one in OPTIONS - {"--package", "--json", "--format"}:
        assert f"`{one}" in REFERENCE, one
    for one in FORMATS:
        assert f"| `{one}` |" in REFERENCE
    for one in AREAS:
        assert one == "trust" or f"`{one}`" in REFERENCE


def test_commands_use_options_that_there_are() -> None:
    for text in (CI, REFERENCE):
        for line in re.findall(r"vstore verify .*", text):
            for option in re.findall(r"--[a-z-]+", line):
                assert option in OPTIONS, line


def test_links_lead_somewhere() -> None:
    for name, text in (("how-to/ci.md", CI), ("reference/verify.md", REFERENCE)):
        for target in re.findall(r"\]\(([^)#]+)\)", text):
            assert (ROOT / "docs" / name).parent.joinpath(target).is_file(), target
