"""The bytes of every file of a package, to show that something changed nothing."""

from __future__ import annotations

from pathlib import Path

__all__ = ["package_bytes"]

#: Locks say who held them last, caches are derived: neither is content.
_DISPOSABLE = ("locks", "cache")


def package_bytes(root: Path) -> dict[str, bytes]:
    """Path to content of every file, locks and caches apart."""
    found: dict[str, bytes] = {}
    for path in sorted(root.rglob("*")):
        relative = path.relative_to(root)
        if relative.parts[0] not in _DISPOSABLE and path.is_file():
            found[relative.as_posix()] = path.read_bytes()
    return found
