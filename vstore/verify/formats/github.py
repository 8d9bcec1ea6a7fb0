"""GitHub workflow commands: an annotation a finding, and a notice a package.

A runner acts on every line that begins with ``::`` or holds ``##[``. Here each line is one
command made from escaped parts, so nothing of a package can become another one.
"""

from __future__ import annotations

from typing import Final

from vstore.objects.display import visible
from vstore.verify.findings import Finding
from vstore.verify.formats.places import message, package_path, path_of
from vstore.verify.formats.run import Run
from vstore.verify.report import EXIT_UNVERIFIED, EXIT_VERIFIED, Report

__all__ = ["command", "render_end", "render_package"]

_COMMANDS: Final = {"error": "error", "warning": "warning", "note": "notice"}
#: Beyond this a runner's log is of no use to anybody; the counts are always given.
_MAX_LINES: Final = 200


def render_package(report: Report, run: Run) -> bytes:
    """A line a finding, gravest first, then one for the package."""
    order = {"error": 0, "warning": 1, "note": 2}
    findings = sorted(report.findings, key=lambda one: order[one.severity])
    lines = [_annotation(report, one, run) for one in findings[:_MAX_LINES]]
    lines.append(_verdict(report, run))
    return b"".join(lines)


def render_end(run: Run) -> bytes:
    """A line for packages that were not begun."""
    if not run.skipped:
        return b""
    return command(
        "warning", "not begun: " + ", ".join(visible(one) for one in run.skipped[:20]),
        title="vstore verify",
    )  # fmt: skip


def command(name: str, text: str, **properties: str | int) -> bytes:
    """One workflow command as a line.

    Args:
        name: ``error``, ``warning`` or ``notice``.
        text: The message; anything.
        properties: ``file``, ``line``, ``title``; anything.
    """
    shown = ",".join(f"{key}={_property(str(value))}" for key, value in properties.items())
    head = f"{name} {shown}" if shown else name
    return f"::{head}::{_data(text)}\n".encode("utf-8", "backslashreplace")


def _annotation(report: Report, finding: Finding, run: Run) -> bytes:
    hint = finding.rule.hint
    return command(
        _COMMANDS[finding.severity],
        f"{message(finding)}\n{hint.means}\nWhat still holds: {hint.holds}\nWhat to do: {hint.do}",
        file=visible(path_of(report, finding, run)),
        line=1,
        title=f"{finding.code} {finding.rule.slug}",
    )


def _verdict(report: Report, run: Run) -> bytes:
    counts = ", ".join(
        f"{count} {name}{'' if count == 1 else 's'}" for name, count in report.by_severity.items()
    )
    text = f"{visible(package_path(report, run))}: {report.verdict} ({counts})"
    if report.head is not None:
        text += f", head {report.head}"
    left = max(0, len(report.findings) - _MAX_LINES) + report.unlisted
    if left:
        text += f"\n{left} more findings are not shown here"
    for one in report.not_checked:
        text += f"\nnot checked: {visible(one)}"
    name = {EXIT_VERIFIED: "notice", EXIT_UNVERIFIED: "warning"}.get(report.exit_code, "error")
    return command(name, text, title="vstore verify")


def _data(text: str) -> str:
    text = "".join(one if one == "\n" else visible(one) for one in text)
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
