"""Writes the good and the bad packages to folders, to look at them.

``python -m vstore.testing.bad.make TARGET [GOOD]``: ``TARGET/good``, ``TARGET/warn`` and
``TARGET/bad``, the latter two from the good packages in ``GOOD``, or from new ones.
``python -m vstore.testing.bad.make --good tests/fixtures/good`` makes the good ones anew;
that is right before a release of the format, never after one.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from vstore.testing.bad import BAD_PACKAGES
from vstore.testing.golden import make_good

__all__ = ["write_all"]


def write_all(target: Path, good: Path | None = None) -> None:
    """Write all packages.

    Args:
        target: A folder; must not exist yet.
        good: The good packages; new ones by default.
    """
    if good is None:
        make_good(target / "good")
    else:
        shutil.copytree(good, target / "good", symlinks=True)
    for one in BAD_PACKAGES:
        (target / one.kind).mkdir(exist_ok=True)
        one.make(target / "good", target / one.kind / one.name)


if __name__ == "__main__":  # pragma: no cover
    if sys.argv[1] == "--good":
        make_good(Path(sys.argv[2]))
    else:
        write_all(Path(sys.argv[1]), *map(Path, sys.argv[2:3]))
