"""Importing msgspec without ``typing_extensions``, which costs a short command too much.

msgspec asks ``typing_extensions``, where that happens to be installed, for three names that
``typing`` has as well since Python 3.11, and falls back to ``typing`` where it isn't. Loading
it, with ``inspect``, ``ast`` and ``tokenize``, takes about 10 ms, a third of what msgspec takes.
So while msgspec is imported, and then only, ``typing_extensions`` can't be found. Programs that
use the library import msgspec themselves, and nothing of this happens to them.
"""

from __future__ import annotations

import sys

__all__ = ["import_msgspec"]

_NAME = "typing_extensions"


def import_msgspec() -> None:
    """Import msgspec, without ``typing_extensions`` unless either has been imported before."""
    if _NAME in sys.modules or "msgspec" in sys.modules:
        return
    # As the import system's reference says: None makes an import find nothing.
    sys.modules[_NAME] = None  # type: ignore[assignment]
    try:
        import msgspec  # noqa: F401
    finally:
        del sys.modules[_NAME]
