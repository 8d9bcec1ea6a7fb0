"""``vstore verify``: recompute everything, report every fault."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vstore_cli.context import Session, json_option, pass_session

if TYPE_CHECKING:
    from vstore.objects.ids import ObjectId
    from vstore.verify.report import Report
    from vstore_cli.terminal import Terminal

__all__ = ["command", "print_report"]

_STYLES = {
    "verdict-verified": ("good", "bold"),
    "verdict-faulty": ("bad", "bold"),
    "verdict-not-verified": ("warn", "bold"),
    "error": ("bad",),
    "warning": ("warn",),
    "note": ("name",),
    "hint": ("dim",),
}


@click.command("verify", short_help="Recompute everything; report every fault.")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option("--no-recompute", is_flag=True, help="Don't ask the snapshots again.")
@click.option("--expect", metavar="HEAD", help="Refuse another head than this generation.")
@click.option("--extends", metavar="HEAD", help="Refuse a history without this generation.")
@click.option("--quiet", "-q", is_flag=True, help="Only the verdict of each package.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text",
              help="How to report; --json is short for --format json.")  # fmt: skip
@json_option
@click.option("--package", "-p", metavar="PATH", multiple=True, hidden=True)
@pass_session
def command(
    session: Session,
    paths: tuple[Path, ...],
    package: tuple[str, ...],
    no_recompute: bool,
    expect: str | None,
    extends: str | None,
    quiet: bool,
    form: str,
    as_json: bool,
) -> int:
    """Read every byte of the packages at PATHS, recompute every derived fact, and report
    all faults at once. Without PATHS, the package around the current folder.

    Exit code: 0 verified, 1 an error was found, 2 wrong usage, 3 could not verify,
    4 a fault of vstore.

    \b
    Example:
      vstore verify case-592 --expect b3:4f2a...
    """
    from vstore.errors import VStoreError
    from vstore.verify import verify_package
    from vstore.verify.render import json_bytes
    from vstore_cli.errors import STORAGE, error_lines

    options: dict[str, Any] = {
        "recompute": not no_recompute,
        "expect": _head(expect, "--expect"),
        "extends": _head(extends, "--extends"),
    }
    places = [*paths, *(Path(one) for one in package)]
    reports: list[Report] = []
    codes: list[int] = []
    wanted: list[Path | None] = [*places] or [None]
    for place in wanted:
        try:
            found = session.package_path() if place is None else _package_at(place)
            report = verify_package(found, **options)
        except VStoreError as error:
            # Nothing to check, or nothing that can be read: that is never a verdict.
            session.terminal.error(*error_lines(error))
            codes.append(STORAGE)
            continue
        reports.append(report)
        codes.append(report.exit_code)
        if not as_json and form == "text":
            print_report(session.terminal, report, quiet=quiet)
    if (as_json or form == "json") and reports:
        session.terminal.print(json_bytes(reports).decode("ascii", "backslashreplace").rstrip())
    return 1 if 1 in codes else max(codes)


def _package_at(place: Path) -> Path:
    """The package that a path is, or is inside of; the path itself where there is none."""
    from vstore.errors import NotFoundError
    from vstore.package.reader import discover, is_package

    if is_package(place) or not place.exists():
        return place
    try:
        return discover(place)
    except NotFoundError:
        return place


def _head(text: str | None, option: str) -> ObjectId | None:
    from vstore.errors import InvalidError
    from vstore.objects.ids import ObjectId

    try:
        return None if text is None else ObjectId.parse(text)
    except InvalidError as error:
        raise click.BadParameter(f"{text}: {error.hint}", param_hint=option) from error


def print_report(terminal: Terminal, report: Report, *, quiet: bool = False) -> None:
    """Print a report; ``quiet`` leaves only the verdict."""
    from vstore.verify.render import text_lines

    width = min(terminal.width, 100)
    lines = text_lines(report, width=width)
    for line in lines[-1:] if quiet else lines:
        styles = _STYLES.get(line.style, ())
        # The verdict stays on one line whatever the path is, so that it can be searched for.
        whole = len(line.text) <= width or line.style.startswith("verdict")
        for text in [line.text] if whole else _wrap(line.text, width):
            terminal.print(terminal.paint(text, *styles) if styles else text)


def _wrap(text: str, width: int) -> list[str]:
    import textwrap

    return textwrap.wrap(text, width, subsequent_indent="  ", break_long_words=False)
