"""A workspace: one service's view of its cases, a folder of packages named by case.

A case has exactly one package in it. A second ``init``, or another package id for a known
case, is refused: it would reset ids, novelty and budget (spec: lifecycle, "Words").
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self, Unpack

from vstore.errors import ConflictError, InvalidError, NotFoundError, StorageError
from vstore.package.options import WriterOptions, WriterSettings
from vstore.package.pinned import PinnedPackage
from vstore.package.reader import is_package
from vstore.package.repository import Repository

if TYPE_CHECKING:
    from vstore.package.case import Case
    from vstore.package.inputs import InputFile

__all__ = ["Workspace", "check_name"]

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def check_name(name: str, what: str) -> str:
    """Refuse what is no id of a case, package, hypothesis, action or operation.

    Args:
        name: The id.
        what: What it should be, for the message.

    Raises:
        InvalidError: It has other characters, or not 1 to 100 of them (``invalid_name``).
    """
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        raise InvalidError(
            f"not a valid {what} id",
            kind="invalid_name",
            hint="1 to 100 of A-Z a-z 0-9 . _ -, beginning with a letter or digit",
        )
    return name


class Workspace:
    """A folder of packages; make one with :meth:`create`, :meth:`open` or :meth:`of_package`.

    Args:
        root: The folder.
        single: The folder is one package, not a folder of packages.
        options: See :class:`~vstore.package.options.WriterOptions`.
    """

    def __init__(
        self, root: Path, *, single: bool = False, **options: Unpack[WriterOptions]
    ) -> None:
        settings = WriterSettings(**options)
        self.root = root
        self.actor = settings.actor
        self.clock = settings.clock
        self.limits = settings.limits
        self.io = settings.io
        self.lock_timeout = settings.lock_timeout
        self._options = options
        self._single = single
        self._mutex = threading.RLock()
        self._repositories: dict[str, Repository] = {}
        self._process = os.getpid()

    @classmethod
    def create(cls, path: str | Path, **options: Unpack[WriterOptions]) -> Workspace:
        """Make a workspace, or open the one that is there.

        Args:
            path: The folder.
            options: See :class:`~vstore.package.options.WriterOptions`.

        Raises:
            StorageError: The folder can't be made.
        """
        root = Path(path)
        io = WriterSettings(**options).io
        for folder in reversed([root, *root.parents]):
            if not folder.is_dir():
                io.mkdir(folder)
        return cls.open(root, **options)

    @classmethod
    def open(cls, path: str | Path, **options: Unpack[WriterOptions]) -> Workspace:
        """Open a workspace; a folder that is a package is a workspace of this one.

        Args:
            path: The folder.
            options: See :class:`~vstore.package.options.WriterOptions`.

        Raises:
            NotFoundError: No such folder (``no_workspace``).
        """
        root = Path(path)
        if not root.is_dir():
            raise NotFoundError(
                "the workspace is no folder",
                kind="no_workspace",
                hint="make it with Workspace.create, or name another folder",
            )
        return cls(root, single=is_package(root), **options)

    @classmethod
    def of_package(cls, path: str | Path, **options: Unpack[WriterOptions]) -> Workspace:
        """Treat the folder of one package as a workspace of one, also before it is created.

        Args:
            path: The package's folder.
            options: See :class:`~vstore.package.options.WriterOptions`.
        """
        return cls(Path(path), single=True, **options)

    @property
    def is_single(self) -> bool:
        """Whether the folder is one package, not a folder of packages."""
        return self._single

    def cases(self) -> list[str]:
        """The ids of the cases that have a package here, sorted.

        Raises:
            StorageError: The folder can't be listed.
        """
        if self._single:
            return [self._only_case()] if is_package(self.root) else []
        try:
            names = sorted(os.listdir(self.root))  # noqa: PTH208
        except OSError as error:
            raise StorageError("can't list the workspace", kind="read_failed") from error
        return [name for name in names if _NAME.fullmatch(name) and is_package(self.root / name)]

    def package_path(self, case_id: str) -> Path:
        """Where the package of a case is, or will be.

        Raises:
            InvalidError: Not a case id.
        """
        check_name(case_id, "case")
        return self.root if self._single else self.root / case_id

    def init(
        self,
        case_id: str,
        package_id: str | None = None,
        files: Iterable[InputFile] = (),
        *,
        exclude: Sequence[str] = (),
        actor: str | None = None,
    ) -> PinnedPackage:
        """Make the package of a new case, in ADMITTED.

        Going on with a creation that was cut short is fine; a second one is refused.

        Args:
            case_id: The case.
            package_id: The package; the case's id by default.
            files: The bug report and other files; may be none.
            exclude: Patterns of what to leave out.
            actor: Who does it; the workspace's actor by default.

        Raises:
            ConflictError: The case has a package here already (``package_exists``).
            InvalidError, NotFoundError, LimitExceeded: A file can't be taken in.
            StorageError: The disk failed.
        """
        from vstore.package.case import Case
        from vstore.package.inputs import check_present

        check_name(case_id, "case")
        package_id = check_name(case_id if package_id is None else package_id, "package")
        path = self.package_path(case_id)
        taken = list(files)
        check_present(taken)
        with self._mutex:
            repository = Repository.create(path, **self._options)
            try:
                package = Case(repository).init(
                    case_id, package_id, taken, exclude=exclude, actor=actor
                )
            except BaseException:
                repository.close()
                raise
            self._remember(case_id, repository)
            return package

    def repository(self, case_id: str, package_id: str | None = None) -> Repository:
        """The package of a case, for writing; the same object for the life of the process.

        Args:
            case_id: The case.
            package_id: The package that the caller means; not compared where None.

        Raises:
            NotFoundError: No package of this case here (``unknown_case``).
            ConflictError: The case has another package (``other_package``).
            StorageError, IntegrityError, UnsupportedError: It can't be read.
        """
        path = self.package_path(case_id)
        with self._mutex:
            if self._process != os.getpid():
                # A forked child must not share file positions and locks with its parent.
                self._repositories = {}
                self._process = os.getpid()
            repository = self._repositories.get(case_id)
            if repository is None:
                if not is_package(path):
                    raise _unknown_case(case_id)
                repository = Repository.open(path, **self._options)
                self._remember(case_id, repository)
            package = repository.reader.pinned()
        if package.case_id != case_id:
            raise _unknown_case(case_id)
        if package_id is not None and package.package_id != package_id:
            raise ConflictError(
                f"the package of case {case_id} is {package.package_id}, not the one asked for",
                kind="other_package",
                hint="a case has one package in a workspace",
                package_id=package.package_id,
            )
        return repository

    def forget(self, case_id: str) -> None:
        """Close the package of a case where it is open; the next use opens what is there then.

        For whoever found that its folder is gone: files that nobody can name any more must
        not be read or written.
        """
        with self._mutex:
            repository = self._repositories.pop(case_id, None)
            if repository is not None:
                repository.close()

    def case(self, case_id: str, package_id: str | None = None) -> Case:
        """The operations on a case.

        Raises:
            As :meth:`repository`.
        """
        from vstore.package.case import Case

        return Case(self.repository(case_id, package_id))

    def only_case(self) -> str:
        """The id of the case, in a workspace that has exactly one.

        Raises:
            NotFoundError: There is none, or several (``unknown_case``).
        """
        cases = self.cases()
        if len(cases) != 1:
            raise NotFoundError(
                f"the workspace has {len(cases)} cases; say which one", kind="unknown_case"
            )
        return cases[0]

    def close(self) -> None:
        """Close the packages that are open."""
        with self._mutex:
            for repository in self._repositories.values():
                repository.close()
            self._repositories = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _remember(self, case_id: str, repository: Repository) -> None:
        old = self._repositories.pop(case_id, None)
        if old is not None:
            old.close()
        self._repositories[case_id] = repository

    def _only_case(self) -> str:
        with self._mutex:
            for case_id in self._repositories:
                return case_id
            repository = Repository.open(self.root, **self._options)
            try:
                case_id = repository.pinned().case_id
            except BaseException:
                repository.close()
                raise
            self._remember(case_id, repository)
            return case_id


def _unknown_case(case_id: str) -> NotFoundError:
    return NotFoundError(
        f"no package of case {case_id} here",
        kind="unknown_case",
        hint="make one with init",
        case_id=case_id,
    )
