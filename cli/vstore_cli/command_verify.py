"""``vstore verify``: recompute everything, report every fault."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from vstore_cli.context import Session, json_option, pass_session
from vstore_cli.terminal import safe

if TYPE_CHECKING:
    from vstore.objects.ids import ObjectId
    from vstore.package.checkpoint import Checkpoint
    from vstore.verify.formats import Run
    from vstore.verify.report import Report
    from vstore_cli.terminal import Terminal

__all__ = ["command", "print_report"]

_FORMATS: Final = ("text", "json", "jsonl", "junit", "sarif", "github", "gitlab")
_STYLES: Final = {
    "verdict-verified": ("good", "bold"),
    "verdict-faulty": ("bad", "bold"),
    "verdict-not-verified": ("warn", "bold"),
    "error": ("bad",),
    "warning": ("warn",),
    "note": ("name",),
    "hint": ("dim",),
}


@click.command("verify", short_help="Recompute everything; report every fault.")
# What can't be read is for the report to say, beside what is said of other packages.
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path, readable=False))
@click.option("--no-recompute", is_flag=True, help="Don't ask the snapshots again.")
@click.option("--expect", metavar="HEAD", help="Refuse another head than this generation.")
@click.option("--extends", metavar="HEAD-OR-CHECKPOINT",
              help="Refuse a history that doesn't go on from this generation, or from the "
                   "checkpoint in this file.")  # fmt: skip
@click.option("--base", type=click.Path(path_type=Path, readable=False), metavar="PACKAGE",
              help="What an incremental bundle continues: a package or a bundle.")  # fmt: skip
@click.option("--jobs", "-j", type=click.IntRange(1, 256), default=1, metavar="N",
              help="Verify N packages at a time.")  # fmt: skip
@click.option("--fail-fast", is_flag=True, help="Stop at the first error.")
@click.option("--fail-on-warnings", is_flag=True, help="Exit 1 for a warning, too.")
@click.option("--quiet", "-q", is_flag=True, help="Only the verdict of each package.")
@click.option("--format", "form", type=click.Choice(_FORMATS), default="text",
              help="How to report; --json is short for --format json.")  # fmt: skip
@click.option("--output", "-o", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
              help="Write the report there; show the verdicts.")  # fmt: skip
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
    base: Path | None,
    jobs: int,
    fail_fast: bool,
    fail_on_warnings: bool,
    quiet: bool,
    form: str,
    output: Path | None,
    as_json: bool,
) -> int:
    """Read every byte of the packages at PATHS, recompute every derived fact, and report
    all faults at once. A package is a folder or a bundle file. Without PATHS, the package
    around the current folder.

    Exit code: 0 verified, 1 an error was found, 2 wrong usage, 3 could not verify,
    4 a fault of vstore; of several packages the gravest, in the order 4, 1, 3, 0.

    \b
    Example:
      vstore verify case-592 --extends case-592.checkpoint
      vstore verify case-592.vstore.zip
      vstore verify cases/* --jobs 2 --format junit --output report.xml
    """
    from vstore.errors import NotFoundError
    from vstore.verify.formats.run import Run
    from vstore.verify.many import Options, verify_many
    from vstore_cli.errors import STORAGE, error_lines
    from vstore_cli.progress import Progress

    options = Options(
        recompute=not no_recompute,
        expect=_head(expect, "--expect"),
        extends=_extended(extends),
        fail_fast=fail_fast,
        base=None if base is None else str(_package_at(base)),
    )
    form = "json" if as_json else form
    given = [*paths, *(Path(one) for one in package)]
    try:
        places = [str(_package_at(one)) for one in given] or [str(session.package_path())]
        # A package that is named by several of its files is verified once.
        places = list({os.path.realpath(one): one for one in reversed(places)}.values())[::-1]
    except NotFoundError as error:
        # Nothing to verify is never a verdict.
        session.terminal.error(*error_lines(error))
        return STORAGE
    progress = Progress(session.terminal)

    def told(path: str, objects: int, size: int) -> None:
        count = f" {len(reports) + 1} of {len(places)}" if len(places) > 1 else ""
        read = f": {objects} objects, {size >> 20} MiB" if objects else ""
        progress.show(f"verifying{count} {path}{read}")

    reports: list[Report] = []
    found = verify_many(
        places,
        options,
        jobs=jobs,
        progress=told if progress.wanted else None,
        on_fault=lambda error: _show_fault(session, error),
    )
    writer = _Writer(session.terminal, form, output, quiet)

    def so_far() -> Run:
        return Run(
            tuple(reports),
            skipped=tuple(places[len(reports) :]),
            fail_on_warnings=fail_on_warnings,
            root=_current_folder(),
            at=session.clock(),
        )

    with contextlib.closing(found):
        for report in found:
            reports.append(report)
            progress.clear()
            writer.package(report, so_far)
    progress.clear()
    run = so_far()
    writer.end(run)
    return run.exit_code


class _Writer:
    """Prints a run in one format, or writes it to a file and prints verdicts."""

    def __init__(self, terminal: Terminal, form: str, output: Path | None, quiet: bool) -> None:
        self._terminal = terminal
        self._form = form
        self._output = output
        self._quiet = quiet or output is not None
        self._as_text = form == "text" or output is not None

    def package(self, report: Report, run: Callable[[], Run]) -> None:
        """One package is done."""
        if self._as_text:
            print_report(self._terminal, report, quiet=self._quiet)
        elif self._form in ("jsonl", "github"):
            from vstore.verify.formats import render_package

            self._print(render_package(self._form, report, run()))

    def end(self, run: Run) -> None:
        """All packages are done."""
        from vstore.verify import formats

        if self._output is not None:
            self._output.write_bytes(formats.render(self._form, run))
        if self._as_text:
            from vstore.verify.formats.text import end_lines

            for line in end_lines(run):
                self._terminal.print(line)
        elif self._form in formats.STREAMED:
            self._print(formats.render_end(self._form, run))
        else:
            self._print(formats.render(self._form, run))

    def _print(self, rendered: bytes) -> None:
        for line in rendered.decode("utf-8").splitlines():
            self._terminal.print(line)
        self._terminal.flush()


def _package_at(place: Path) -> Path:
    """The package that a path is, or is part of; the path itself where there is none."""
    from vstore.errors import NotFoundError
    from vstore.package.reader import discover, is_package

    try:
        if is_package(place):
            return place
        if place.is_dir():
            return _shown_as(place, discover(place))
        if place.is_file():
            package = discover(place.parent)
            # Part of it are only files that make it up: a broken bundle that lies in a
            # package must not be verified because that one is sound.
            inside = place.resolve().relative_to(package.resolve()).parts
            if inside == ("VSTORE",) or (len(inside) > 1 and inside[0] in ("refs", "objects")):
                return _shown_as(place, package)
    except (NotFoundError, OSError, ValueError):
        # What can't be looked into is verified as it was named, and the report says why not.
        pass
    return place


def _shown_as(given: Path, package: Path) -> Path:
    """A package's path, relative where the path that led to it was."""
    return package if given.is_absolute() else Path(os.path.relpath(package))


def _head(text: str | None, option: str) -> ObjectId | None:
    from vstore.errors import InvalidError
    from vstore.objects.ids import ObjectId

    try:
        return None if text is None else ObjectId.parse(text)
    except InvalidError as error:
        raise click.BadParameter(f"{text}: {error.hint}", param_hint=option) from error


def _extended(text: str | None) -> ObjectId | Checkpoint | None:
    """A head, a checkpoint, or a file that holds one of them; ``-`` is standard input."""
    from vstore.errors import InvalidError, VStoreError
    from vstore.objects.ids import ObjectId
    from vstore.package.checkpoint import MAX_CHECKPOINT_BYTES, parse_checkpoint
    from vstore_cli.files import read_file

    if text is None:
        return None
    with contextlib.suppress(InvalidError):
        return ObjectId.parse(text)
    if "\n" not in text and text != "-" and not os.path.exists(text):  # noqa: PTH110
        raise click.BadParameter(
            f"{safe(text)}: neither the whole id of a generation nor a file",
            param_hint="--extends",
        )
    try:
        # A shell takes the end of the last line away.
        raw = (
            text.rstrip("\n").encode("utf-8", "surrogateescape") + b"\n"
            if "\n" in text
            else read_file(Path(text), MAX_CHECKPOINT_BYTES)
        )
        with contextlib.suppress(InvalidError, UnicodeDecodeError):
            return ObjectId.parse(raw.decode("ascii").removesuffix("\n"))
        return parse_checkpoint(raw)
    except VStoreError as error:
        hint = "" if error.hint is None else f" ({error.hint})"
        raise click.BadParameter(f"{error.message}{hint}", param_hint="--extends") from error


def _show_fault(session: Session, error: BaseException) -> None:
    """Tell of a fault of vstore, whatever the format of the report is."""
    from vstore_cli.errors import fault_lines

    session.terminal.error(*fault_lines(error))
    if session.environ.get("VSTORE_DEBUG"):
        import traceback

        for line in "".join(traceback.format_exception(error)).splitlines():
            session.terminal.note(safe(line))


def _current_folder() -> str | None:
    try:
        return os.fspath(Path.cwd())
    except OSError:
        return None  # somebody removed it; paths are shown as they were given


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


def _wrap(text: str, width: int) -> Iterator[str]:
    import textwrap

    yield from textwrap.wrap(text, width, subsequent_indent="  ", break_long_words=False)
