"""``vstore doctor``: health of a package, or of every package of a workspace."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vstore_cli.context import Session, json_option, package_option, pass_session
from vstore_cli.workspaces import workspace_option

if TYPE_CHECKING:
    from vstore.package.health import PackageHealth

__all__ = ["command"]

_STYLES = {"error": "bad", "warning": "warn", "note": "dim"}


@click.command("doctor", short_help="Look for what a crash left, stale refs, locks, space.")
@workspace_option
@json_option
@package_option
@pass_session
def command(session: Session, workspace: Path | None, as_json: bool) -> int:
    """Look at the package, or at every package of a workspace: its log's end, refs, caches,
    residue of crashes, locks and space; in a workspace also the quarantine.

    Nothing is changed, and every finding says what to do. Whether the content is right,
    verify says. Exit code: 1 where something needs looking after, else 0.

    \b
    Example:
      vstore doctor --workspace investigations
    """
    from vstore.package.health import examine

    quarantine: list[Path] = []
    if workspace is None:
        root = session.package_path()
        folders = [root]
    else:
        from vstore.admission.quarantine import Quarantine
        from vstore_cli.workspaces import open_workspace

        found = open_workspace(session, workspace)
        root = found.root
        folders = [found.package_path(name) for name in _folders(found.root)]
        quarantine = Quarantine(found).residue()
    if root.is_file():
        from vstore_cli.errors import Refused

        raise Refused(
            "a bundle has nothing to look after",
            kind="bundle",
            hint="vstore verify reads every byte of it",
        )
    healths = [examine(folder) for folder in folders]
    free = shutil.disk_usage(root).free
    if as_json:
        session.terminal.json(
            {
                "schema": "vstore-doctor/1",
                "packages": [_value(one) for one in healths],
                "quarantine": [str(path) for path in quarantine],
                "free_bytes": free,
            }
        )
    else:
        _print(session, healths, quarantine, free)
    return int(any(one.worst in ("error", "warning") for one in healths))


def _folders(root: Path) -> list[str]:
    from vstore.package.reader import is_package

    return sorted(one.name for one in root.iterdir() if is_package(one))


def _value(health: PackageHealth) -> dict[str, Any]:
    return {
        "path": str(health.root),
        "head": None if health.head is None else str(health.head),
        "generation": health.generation,
        "worst": health.worst,
        "findings": [
            {
                "kind": one.kind,
                "severity": one.severity,
                "message": one.message,
                "advice": one.advice,
            }
            for one in health.ailments
        ],
        "space": health.space,
        "residue": [path.name for path in health.residue],
        "locks": [
            {"lock": one.lock, "process": one.process, "since": one.since} for one in health.holders
        ],
    }


def _print(
    session: Session, healths: list[PackageHealth], quarantine: list[Path], free: int
) -> None:
    from vstore_cli.terminal import safe
    from vstore_cli.words import count

    terminal = session.terminal
    for health in healths:
        name = terminal.paint(safe(str(health.root)), "bold")
        parts = ", ".join(f"{part} {_bytes(size)}" for part, size in health.space.items() if size)
        terminal.print(f"{name}: generation {health.generation}; {parts or 'empty'}")
        for one in health.ailments:
            label = terminal.paint(one.severity, _STYLES[one.severity])
            terminal.print(f"  {label} {one.kind}: {safe(one.message)}")
            if one.advice:
                terminal.print(f"    {safe(one.advice)}")
        if health.worst is None:
            terminal.print("  nothing to look after")
    if quarantine:
        terminal.print(
            f"quarantine: {count(len(quarantine), 'file')} left by a crash; "
            "the next worker removes them"
        )
    terminal.print(f"{_bytes(free)} free")


def _bytes(size: int) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024 or unit == "GiB":
            return f"{size:,} {unit}"
        size //= 1024
    raise AssertionError
