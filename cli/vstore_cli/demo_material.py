"""What the demo investigates: the installed release, and the database that it broke."""

from __future__ import annotations

import importlib.metadata
import shutil
import subprocess
import sys
from importlib.resources import as_file, files
from pathlib import Path
from typing import Final

from vstore_cli.demo_script import REPORT
from vstore_cli.errors import Refused

__all__ = ["RELEASE", "copy_release", "find_release", "rebuild_database", "write_report"]

RELEASE: Final = "3.35"
_PROJECT: Final = "sqlite-utils"
_SECONDS: Final = 120


def find_release() -> list[tuple[str, Path]]:
    """The modules of the installed release: their paths in it, and where they are.

    Raises:
        Refused: It isn't installed, or another release is.
    """
    hint = "pip install 'vstore[demo]' installs it"
    try:
        distribution = importlib.metadata.distribution(_PROJECT)
    except importlib.metadata.PackageNotFoundError:
        raise Refused(
            f"the demo investigates {_PROJECT} {RELEASE}, which isn't installed",
            kind="demo_not_installed",
            hint=hint,
        ) from None
    if distribution.version != RELEASE:
        raise Refused(
            f"the demo investigates {_PROJECT} {RELEASE}; installed is {distribution.version}",
            kind="demo_wrong_release",
            hint=f"in an environment of its own: {hint}",
        )
    found = [
        (str(one), Path(str(distribution.locate_file(one))))
        for one in distribution.files or ()
        if one.parts[0] == "sqlite_utils" and one.suffix != ".pyc"
    ]
    if not any(name == "sqlite_utils/db.py" for name, _ in found):
        raise Refused(
            f"the installed {_PROJECT} {RELEASE} doesn't list its modules",
            kind="demo_not_installed",
            hint=hint,
        )
    return found


def copy_release(release: list[tuple[str, Path]], folder: Path) -> None:
    """Copy the modules into a folder, byte for byte."""
    for name, path in release:
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)


def write_report(path: Path) -> None:
    """Write the bug report."""
    path.write_text(REPORT, encoding="utf-8")


def rebuild_database(path: Path) -> list[str]:
    """Let the release break a database again; what its search finds then.

    Raises:
        Refused: The reproduction failed.
    """
    script = files("vstore_cli").joinpath("demo_case", "reproduce.py")
    with as_file(script) as where:
        done = subprocess.run(  # noqa: S603 - our own script in our own interpreter
            [sys.executable, "-B", str(where), str(path)],
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=_SECONDS,
            check=False,
        )
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise Refused(
            f"the reproduction failed: {reason}",
            kind="demo_reproduction",
            hint="it needs an SQLite library with FTS5",
        )
    return done.stdout.splitlines()
