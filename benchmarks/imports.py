"""Which modules a command loads, found in a fresh interpreter."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

__all__ = ["imports_of"]

_ASK: Final = """
import sys
from vstore_cli.main import main
try:
    main()
except SystemExit:
    pass
print("\\n".join(sorted(sys.modules)), file=sys.stderr)
"""
_OTHERS: Final = frozenset(
    {
        "blake3",
        "click",
        "dataclasses",
        "filelock",
        "inspect",
        "json",
        "msgspec",
        "re2",
        "sqlite3",
        "tarfile",
        "typing_extensions",
        "zipfile",
        "zstandard",
    }
)


def imports_of(folder: Path, arguments: Sequence[str]) -> list[str]:
    """The library's own modules, and the heavy ones of others, that a command loads.

    Args:
        folder: Where to run it.
        arguments: Of ``vstore``.
    """
    # Measuring coverage loads modules of its own, and says so to children by these.
    unmeasured = {
        name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")
    }
    done = subprocess.run(
        [sys.executable, "-c", _ASK, *arguments],
        cwd=folder,
        env=unmeasured,
        capture_output=True,
        text=True,
        check=True,
    )
    found = done.stderr.splitlines()
    return [one for one in found if one.startswith("vstore") or one in _OTHERS]
