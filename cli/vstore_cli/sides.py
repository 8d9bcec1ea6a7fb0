"""Words of a command line that name a generation: of this package, or of another one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from vstore_cli.session import Session

if TYPE_CHECKING:
    from vstore.package.pinned import PinnedPackage
    from vstore.package.reader import PackageReader

__all__ = ["generation_named"]


def generation_named(session: Session, word: str) -> PinnedPackage:
    """The generation that a word names.

    Args:
        session: This run.
        word: ``HEAD~3`` or ``g12`` of this package; the path of a package or bundle, for its
            head; or both, as ``bundle.zip@HEAD~3``.

    Raises:
        NotFoundError: Neither a generation nor a package.
        InvalidError: What it names is no generation (``not_a_generation``).
    """
    path, _, name = word.rpartition("@")
    if path and _holds_package(Path(path)):
        return _named(_opened(session, Path(path)), name or "HEAD")
    if _holds_package(Path(word)):
        return _opened(session, Path(word)).pinned()
    return _named(session.reader(), word)


def _holds_package(path: Path) -> bool:
    from vstore.package.bundle_file import is_bundle
    from vstore.package.reader import is_package

    return is_package(path) or is_bundle(path)


def _opened(session: Session, path: Path) -> PackageReader:
    from vstore.package.reader import PackageReader

    return session.closing.enter_context(PackageReader.open(path))


def _named(reader: PackageReader, name: str) -> PinnedPackage:
    from vstore.errors import InvalidError, NotFoundError

    oid = reader.resolve(name)
    try:
        return reader.at(oid)
    except NotFoundError as error:
        raise InvalidError(
            "what this names is no generation",
            kind="not_a_generation",
            hint="HEAD, HEAD~3 and g12 name generations; log lists them",
        ) from error
