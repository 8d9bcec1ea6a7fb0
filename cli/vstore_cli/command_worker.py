"""``vstore worker``: admit what is dropped into an inbox, and hand out what can go on."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vstore_cli.context import Session, json_option, pass_session
from vstore_cli.workspaces import open_workspace, workspace_option

if TYPE_CHECKING:
    from vstore.admission.worker import Handler, PassSummary

__all__ = ["command"]


@click.command("worker", short_help="Admit what is dropped into an inbox.")
@click.argument("inbox", type=click.Path(path_type=Path))
@workspace_option
@click.option("--watch", is_flag=True, help="Go on until SIGTERM or Ctrl-C.")
@click.option("--interval", type=click.FloatRange(min=0.01), default=2.0, show_default=True,
              metavar="SECONDS", help="Between two passes.")  # fmt: skip
@click.option("--run", "program", metavar="PROGRAM",
              help="Run it for each case that can go on, with the package's path.")  # fmt: skip
@json_option
@pass_session
def command(
    session: Session,
    inbox: Path,
    workspace: Path | None,
    watch: bool,
    interval: float,
    program: str | None,
    as_json: bool,
) -> None:
    """Admit the bundles in INBOX, one pass; with --watch, pass after pass.

    A bundle that is taken in goes to INBOX/admitted, a bad one to INBOX/rejected with a
    findings file beside it. Several workers may share an inbox. Cases that wait for test
    feedback are left alone; blocked ones are resumed at their instant only where that was
    allowed. Drop files under a name that begins with a dot, then rename them.

    \b
    Example:
      vstore worker inbox --workspace investigations --watch
    """
    from vstore.admission.worker import InboxWorker
    from vstore.errors import StorageError

    if not inbox.is_dir():
        raise StorageError("the inbox is no folder", kind="no_inbox", hint="make it first")
    worker = InboxWorker(
        open_workspace(session, workspace),
        inbox,
        handler=None if program is None else _handler(program),
        actor=session.actor,
    )

    def tell(done: PassSummary) -> None:
        if as_json:
            if done or not watch:
                session.terminal.json(_value(done))
        else:
            for line in _lines(done):
                session.terminal.print(line)
        session.terminal.flush()

    with _stopping() as stop:
        if watch:
            worker.watch(stop, interval=interval, after_pass=tell)
        else:
            tell(worker.run_once(stop))


@contextlib.contextmanager
def _stopping() -> Iterator[threading.Event]:
    """An event that SIGTERM and SIGINT set, as long as the block lasts."""
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before = {
        number: signal.signal(number, lambda *_: stop.set())
        for number in (signal.SIGTERM, signal.SIGINT)
    }
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _handler(program: str) -> Handler:
    """Runs a program with the path of the package; its failure is the case's."""
    import shlex
    import subprocess

    from vstore.errors import StateError
    from vstore.package.pinned import PinnedPackage
    from vstore.package.workspace import Workspace

    words = shlex.split(program)

    def run(workspace: Workspace, package: PinnedPackage) -> None:
        path = workspace.package_path(package.case_id)
        done = subprocess.run(  # noqa: S603 - the operator named it
            [*words, str(path)], check=False, stdin=subprocess.DEVNULL
        )
        if done.returncode != 0:
            raise StateError("the program failed", kind=f"exit_{done.returncode}")

    return run


def _value(done: PassSummary) -> dict[str, Any]:
    return {
        "schema": "vstore-worker/1",
        "admitted": done.admitted,
        "rejected": done.rejected,
        "left": done.left,
        "resumed": done.resumed,
        "handed": done.handed,
        "waiting": done.waiting,
        "failed": done.failed,
    }


def _lines(done: PassSummary) -> Iterator[str]:
    from vstore_cli.terminal import safe

    for name, outcome in done.admitted.items():
        yield f"{safe(name)}: {outcome.replace('_', '-')}"
    for name, kind in done.rejected.items():
        yield f"{safe(name)}: rejected ({kind})"
    for name, kind in done.left.items():
        yield f"{safe(name)}: waits ({kind})"
    for case_id in done.resumed:
        yield f"case {safe(case_id)}: resumed"
    for case_id in done.handed:
        yield f"case {safe(case_id)}: handed out"
    for case_id, kind in done.failed.items():
        yield f"case {safe(case_id)}: failed ({safe(kind)})"
