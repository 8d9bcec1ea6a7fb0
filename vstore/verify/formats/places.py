"""Where a finding is, for formats that demand a file, and names that are unique in a run."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import Final, NamedTuple
from urllib.parse import quote

from vstore.objects.display import visible
from vstore.objects.ids import digest_of
from vstore.objects.layout import FORMAT_FILE
from vstore.verify.findings import Finding
from vstore.verify.formats.run import Run
from vstore.verify.report import Report

__all__ = ["Located", "located", "message", "package_path", "path_of", "uri"]

_SEPARATOR: Final = "\x1f"


class Located(NamedTuple):
    """A finding of one of the packages of a run."""

    report: Report
    finding: Finding
    #: Path of the file that it is about, below the run's root where that is possible.
    path: str
    #: 64 hex digits, unique in the run and the same in every run over the same packages.
    fingerprint: str


def located(run: Run) -> Iterator[Located]:
    """All listed findings of a run, in order.

    Equal findings of a package get different fingerprints by their order, and findings of
    two packages by the packages' paths: who merges equal ones must not merge these.
    """
    seen: dict[tuple[str, str], int] = {}
    for report in run.reports:
        path = package_path(report, run)
        for finding in report.findings:
            name = (path, finding.fingerprint)
            nth = seen[name] = seen.get(name, 0) + 1
            parts = (*name, str(nth))
            unique = digest_of(_SEPARATOR.join(parts).encode("utf-8", "backslashreplace"))
            yield Located(report, finding, path_of(report, finding, run), unique)


def package_path(report: Report, run: Run) -> str:
    """A package's path: relative to the root where it is below, ``.`` for the root itself."""
    path = posixpath.normpath(report.path or ".")
    if run.root is None:
        return path
    root = posixpath.normpath(run.root)
    full = posixpath.normpath(posixpath.join(root, path))
    if full == root:
        return "."
    below = root if root.endswith("/") else root + "/"
    return full.removeprefix(below)


def path_of(report: Report, finding: Finding, run: Run) -> str:
    """The file that a finding is about: always one, be it the one that marks a package."""
    path = package_path(report, run)
    if report.bundle:
        return path
    # A name in the package never leads out of it.
    parts = [one for one in (finding.file or "").split("/") if one not in ("", ".", "..")]
    inside = "/".join(parts) or FORMAT_FILE
    return inside if path == "." else posixpath.join(path, inside)


def uri(path: str) -> str:
    """A path as a URI reference (RFC 3986), absolute paths as ``file:`` URIs."""
    try:
        raw = path.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raw = path.encode("utf-8", "surrogatepass")
    quoted = quote(raw, safe="/")
    if quoted.startswith("/"):
        return "file:///" + quoted.lstrip("/")
    return quoted


def message(finding: Finding) -> str:
    """What is wrong, what was expected, and what falls with it, in one safe line."""
    text = visible(finding.message)
    if finding.object is not None:
        text += f"; at {finding.object} {visible(finding.pointer or '')}".rstrip()
    if finding.expected is not None:
        text += f"; expected {visible(finding.expected)}"
    if finding.actual is not None:
        text += f"; actual {visible(finding.actual)}"
    if finding.affects:
        text += "; affects " + ", ".join(visible(one) for one in finding.affects)
    return text
