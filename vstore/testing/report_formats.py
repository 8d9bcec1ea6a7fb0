"""What CI systems demand of reports, restated from the published schemas as far as we use them.

SARIF 2.1.0 (OASIS) as a compact JSON Schema that knows only the members that we write, so
that anything else is an error; GitHub's demands on top; JUnit as the stricter of the two
schemas in use (Ant's and Jenkins' xUnit plug-in); GitLab's code quality.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from typing import Any, Final

__all__ = ["GITLAB_SCHEMA", "SARIF_SCHEMA", "junit_faults", "sarif_faults", "workflow_command"]


def _closed(required: dict[str, Any], optional: dict[str, Any] | None = None) -> dict[str, Any]:
    """An object with these members and no others."""
    return {
        "type": "object",
        "required": list(required),
        "properties": {**required, **(optional or {})},
        "additionalProperties": False,
    }


def _list(of: dict[str, Any], least: int = 0) -> dict[str, Any]:
    return {"type": "array", "items": of, "minItems": least}


_TEXT: Final = {"type": "string", "minLength": 1}
_COUNT: Final = {"type": "integer", "minimum": 0}
_MESSAGE: Final = _closed({"text": _TEXT}, {"markdown": _TEXT})
_LEVEL: Final = {"enum": ["none", "note", "warning", "error"]}
#: A relative reference or a file URI, nothing that must be quoted left unquoted (RFC 3986).
_URI: Final = {
    "type": "string",
    "pattern": r"^(file:///)?([A-Za-z0-9._~!$&'()*+,;=@/-]|%[0-9A-F]{2})+$",
}
_LOCATION: Final = _closed(
    {
        "physicalLocation": _closed(
            {
                "artifactLocation": _closed({"uri": _URI}),
                "region": _closed({"startLine": {"type": "integer", "minimum": 1}}),
            }
        )
    }
)
_BAG: Final = {"type": "object"}
_RULE: Final = _closed(
    {
        "id": _TEXT,
        "name": {"type": "string", "pattern": "^[A-Z][A-Za-z]*$"},
        "shortDescription": _MESSAGE,
        "fullDescription": _MESSAGE,
        "help": _closed({"text": _TEXT, "markdown": _TEXT}),
        "defaultConfiguration": _closed({"level": _LEVEL}),
        "properties": {**_BAG, "properties": {"tags": {**_list(_TEXT), "uniqueItems": True}}},
    }
)
_RESULT: Final = _closed(
    {
        "ruleId": _TEXT,
        "ruleIndex": _COUNT,
        "level": _LEVEL,
        "message": _MESSAGE,
        # GitHub refuses a result without a location.
        "locations": _list(_LOCATION, 1),
        "partialFingerprints": {
            "type": "object",
            "required": ["primaryLocationLineHash"],
            "additionalProperties": _TEXT,
        },
        "properties": _BAG,
    }
)
_NOTIFICATION: Final = _closed({"level": _LEVEL, "message": _MESSAGE})
_INVOCATION: Final = _closed(
    {"executionSuccessful": {"type": "boolean"}, "exitCode": _COUNT},
    {"toolExecutionNotifications": _list(_NOTIFICATION)},
)
_DRIVER: Final = _closed(
    {
        "name": _TEXT,
        "version": _TEXT,
        "semanticVersion": {"type": "string", "pattern": r"^[0-9]+\.[0-9]+\.[0-9]+"},
        "rules": {**_list(_RULE, 1), "uniqueItems": True},
    }
)
SARIF_SCHEMA: Final = _closed(
    {
        "$schema": _TEXT,
        "version": {"const": "2.1.0"},
        "runs": _list(
            _closed(
                {
                    "tool": _closed({"driver": _DRIVER}),
                    "invocations": _list(_INVOCATION),
                    "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                    "results": _list(_RESULT),
                    "properties": _BAG,
                }
            ),
            1,
        ),
    }
)
GITLAB_SCHEMA: Final = _list(
    _closed(
        {
            "type": {"const": "issue"},
            "check_name": _TEXT,
            "description": _TEXT,
            "content": _closed({"body": _TEXT}),
            "categories": _list(_TEXT, 1),
            "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
            "fingerprint": _TEXT,
            "location": _closed(
                {
                    # Relative to the repository, without ./ in front.
                    "path": {"type": "string", "pattern": r"^(?!\./|/).+"},
                    "lines": _closed({"begin": {"type": "integer", "minimum": 1}}),
                }
            ),
        }
    )
)


def sarif_faults(log: Any) -> list[str]:
    """What the schema can't say: that indices and ids agree, that fingerprints are unique."""
    faults: list[str] = []
    for run in log["runs"]:
        rules = run["tool"]["driver"]["rules"]
        names = [rule["id"] for rule in rules]
        if len(set(names)) != len(names):
            faults.append("a rule is repeated")
        prints = [one["partialFingerprints"]["vstoreFinding/v1"] for one in run["results"]]
        if len(set(prints)) != len(prints):
            faults.append("a fingerprint is repeated")
        faults += [
            f"result {place} names another rule than its index"
            for place, one in enumerate(run["results"])
            if not (one["ruleIndex"] < len(names) and names[one["ruleIndex"]] == one["ruleId"])
        ]
    return faults


_CHILDREN: Final = {
    "testsuites": (),
    "testsuite": ("properties", "testcase", "system-out", "system-err"),
    "properties": ("property",),
    "testcase": ("skipped", "error", "failure"),
}
#: Required attributes, then others that both schemas know.
_ATTRIBUTES: Final[dict[str, tuple[frozenset[str], frozenset[str]]]] = {
    "testsuites": (frozenset(), frozenset()),
    "testsuite": (
        frozenset(
            "name timestamp hostname tests failures errors time id package".split()  # noqa: SIM905
        ),
        frozenset({"skipped"}),
    ),
    "properties": (frozenset(), frozenset()),
    "property": (frozenset({"name", "value"}), frozenset()),
    "testcase": (frozenset({"name", "classname", "time"}), frozenset()),
    "failure": (frozenset({"type"}), frozenset({"message"})),
    "error": (frozenset({"type"}), frozenset({"message"})),
    "skipped": (frozenset(), frozenset({"message"})),
    "system-out": (frozenset(), frozenset()),
    "system-err": (frozenset(), frozenset()),
}
_PATTERNS: Final = {
    "timestamp": r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}",
    "time": r"\d+(\.\d+)?",
    "tests": r"\d+",
    "failures": r"\d+",
    "errors": r"\d+",
    "skipped": r"\d+",
    "id": r"\d+",
}


def junit_faults(document: bytes) -> list[str]:
    """What is wrong with a JUnit document; empty where both schemas accept it."""
    root = ET.fromstring(document)  # noqa: S314 - made by us, and this is the check
    faults: list[str] = [] if root.tag == "testsuites" else [f"the root is {root.tag}"]
    for element in root.iter():
        if element.tag not in _ATTRIBUTES:
            faults.append(f"an element {element.tag}")
            continue
        required, allowed = _ATTRIBUTES[element.tag]
        names = set(element.attrib)
        faults += [f"{element.tag} lacks {name}" for name in required - names]
        faults += [f"{element.tag} has {name}" for name in names - required - allowed]
        faults += [
            f"{element.tag} has {name}={value}"
            for name, value in element.attrib.items()
            if name in _PATTERNS and not re.fullmatch(_PATTERNS[name], value)
        ]
        faults += [
            f"{element.tag} has an empty {name}"
            for name in ("name", "hostname", "package")
            if not element.get(name, "x").strip()
        ]
    for suite in root:
        faults += _suite_faults(suite)
    return faults


def _suite_faults(suite: ET.Element) -> list[str]:
    faults: list[str] = []
    tags = [child.tag for child in suite]
    ordered = [tag for tag in _CHILDREN["testsuite"] for _ in range(tags.count(tag))]
    if tags != ordered or any(
        tags.count(tag) != 1 for tag in ("properties", "system-out", "system-err")
    ):
        faults.append(f"a testsuite holds {tags}")
    cases = suite.findall("testcase")
    for case in cases:
        outcomes = [child.tag for child in case]
        if len(outcomes) > 1 or not set(outcomes) <= set(_CHILDREN["testcase"]):
            faults.append(f"a testcase holds {outcomes}")
    for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        if int(suite.get(name, "0")) != sum(case.find(tag) is not None for case in cases):
            faults.append(f"{name} is not what is there")
    if int(suite.get("tests", "-1")) != len(cases):
        faults.append("tests is not what is there")
    names = [(case.get("classname"), case.get("name")) for case in cases]
    if len(set(names)) != len(names):
        faults.append("a testcase is repeated")
    return faults


def workflow_command(line: str) -> tuple[str, dict[str, str], str] | None:
    """A line as GitHub's runner reads it: command, properties, message; None for plain text.

    The runner's rules: leading blanks don't matter, the head ends at the next ``::``,
    properties are split at commas and at the first equals sign, and escapes are undone.
    """
    line = line.lstrip()
    if not line.startswith("::") or "::" not in line[2:]:
        return None
    head, _, text = line[2:].partition("::")
    name, _, rest = head.partition(" ")
    properties: dict[str, str] = {}
    for one in rest.split(",") if rest else []:
        key, _, value = one.partition("=")
        for escape, char in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ",")):
            value = value.replace(escape, char)
        properties[key] = value.replace("%25", "%")
    for escape, char in (("%0D", "\r"), ("%0A", "\n")):
        text = text.replace(escape, char)
    return name, properties, text.replace("%25", "%")
