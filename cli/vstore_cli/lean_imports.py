"""Importing msgspec and pathlib without what they load and a short command never uses.

* msgspec asks ``typing_extensions``, where that happens to be installed, for three names that
  ``typing`` has as well since Python 3.11, and falls back to ``typing`` where it isn't. Loading
  it, with ``inspect``, ``ast`` and ``tokenize``, takes a third of what msgspec takes. So while
  msgspec is imported, and then only, it can't be found.
* ``textwrap`` is what msgspec takes a docstring's indent away with, where it renders a schema,
  and ``quote_from_bytes`` is what ``Path.as_uri`` needs of ``urllib.parse``. Stand-ins load them
  when they are called. (Since Python 3.13, pathlib does so itself.)

Programs that use the library import these modules themselves, and nothing of this happens to
them.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

__all__ = ["import_leanly"]


def import_leanly() -> None:
    """Import msgspec and pathlib, with stand-ins for what hasn't been imported before."""
    with _instead("typing_extensions", None), _instead("textwrap", _later("textwrap")):
        import msgspec  # noqa: F401
    parse = _later("urllib.parse")
    parse.quote_from_bytes = _quote_from_bytes  # type: ignore[attr-defined]
    with _instead("urllib.parse", parse):
        import pathlib  # noqa: F401


@contextmanager
def _instead(name: str, module: ModuleType | None) -> Iterator[None]:
    """Within this context, imports find this instead; None makes them find nothing."""
    if name in sys.modules:
        yield
        return
    # As the import system's reference says of None.
    sys.modules[name] = module  # type: ignore[assignment]
    try:
        yield
    finally:
        if sys.modules.get(name) is module:
            del sys.modules[name]


def _later(name: str) -> ModuleType:
    """A stand-in for a module, which is loaded when something of it is asked for."""
    module = ModuleType(name)

    def of_the_module(attribute: str) -> Any:
        if attribute.startswith("__"):
            raise AttributeError(attribute)  # what the import system asks of any module
        if sys.modules.get(name) is module:
            del sys.modules[name]
        return getattr(importlib.import_module(name), attribute)

    module.__getattr__ = of_the_module  # type: ignore[method-assign]
    return module


def _quote_from_bytes(raw: bytes, safe: str | bytes = "/") -> str:
    from urllib.parse import quote_from_bytes

    return quote_from_bytes(raw, safe)
