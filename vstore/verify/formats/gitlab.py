"""GitLab code quality: a JSON list of issues.

GitLab drops issues whose fingerprint it has seen in the file, and shows only those with a
relative path and a line.
"""

from __future__ import annotations

from typing import Any, Final

from vstore.objects.display import visible
from vstore.verify.formats.places import Located, located, message
from vstore.verify.formats.plain import document
from vstore.verify.formats.run import Run

__all__ = ["render"]

_SEVERITY: Final = {"error": "critical", "warning": "minor", "note": "info"}


def render(run: Run) -> bytes:
    """An issue a finding; an empty list where nothing was found."""
    return document([_issue(one) for one in located(run)])


def _issue(one: Located) -> dict[str, Any]:
    finding = one.finding
    severity = "major" if finding.rule.incomplete else _SEVERITY[finding.severity]
    return {
        "type": "issue",
        "check_name": finding.code,
        "description": f"{finding.code} {finding.rule.slug}: {message(finding)}",
        "content": {"body": finding.rule.hint.text()},
        "categories": ["Bug Risk"],
        "severity": severity,
        "fingerprint": one.fingerprint,
        "location": {"path": visible(one.path.lstrip("/")), "lines": {"begin": 1}},
    }
