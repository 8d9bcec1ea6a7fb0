"""``vstore admit``: take a transported package in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from vstore_cli.context import Session, json_option, pass_session
from vstore_cli.workspaces import open_workspace, workspace_option

__all__ = ["command"]


@click.command("admit", short_help="Take a transported package in.")
@click.argument("bundle", type=click.Path(path_type=Path))
@workspace_option
@json_option
@pass_session
def command(session: Session, bundle: Path, workspace: Path | None, as_json: bool) -> int:
    """Verify BUNDLE, a file or a package's folder, in quarantine; then install the package
    in the workspace, or move the one that is there forward.

    Histories that diverged are refused with the last generation that both have; nothing is
    overwritten. Admitting again changes nothing. Exit code: as vstore verify where it
    doesn't verify, 1 where it is refused.

    \b
    Example:
      vstore admit case-592.vstore.zip --workspace investigations
    """
    from vstore.admission.admit import NotVerified, Unverifiable, admit
    from vstore_cli.command_verify import print_report
    from vstore_cli.progress import Progress
    from vstore_cli.terminal import safe

    try:
        with Progress(session.terminal).verifying(str(bundle)) as told:
            done = admit(open_workspace(session, workspace), bundle, progress=told)
    except (NotVerified, Unverifiable) as error:
        if not as_json:
            print_report(session.terminal, error.report)
        session.terminal.error(error.message + f" [{error.kind}]", error.hint)
        return error.report.exit_code
    package = done.package
    if as_json:
        value: dict[str, Any] = {
            "schema": "vstore-admit/1",
            "outcome": done.outcome,
            "case_id": package.case_id,
            "package_id": package.package_id,
            "head": str(package.generation_id),
            "generation": package.number,
            "state": package.state,
            "generations": done.generations,
        }
        session.terminal.json(value)
        return 0
    came = {
        "installed": f"installed, {done.generations} generations",
        "fast_forwarded": f"{done.generations} generations more",
        "unchanged": "nothing new",
    }
    session.terminal.print(
        f"{safe(package.case_id)}: {came[done.outcome]}; generation {package.number}, "
        f"{package.position}"
    )
    return 0
