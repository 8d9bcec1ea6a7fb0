"""One bundle into a workspace: verified in quarantine, then installed or fast-forwarded."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from vstore.admission.claims import claimed
from vstore.admission.quarantine import MAX_BUNDLE_BYTES, Quarantine
from vstore.controller.bundles import create_bundle
from vstore.errors import (
    ConflictError,
    IntegrityError,
    InvalidError,
    NotFoundError,
    UnsupportedError,
    VStoreError,
)
from vstore.objects.ids import ObjectId
from vstore.package.bundle_file import BundleFile
from vstore.package.bundle_needs import BundleNeeds
from vstore.package.bundle_reader import BundleFiles
from vstore.package.bundle_unpack import unpack_bundle
from vstore.package.pinned import PinnedPackage
from vstore.package.reader import is_package
from vstore.package.repository import Repository
from vstore.package.transfer import IncomingHistory
from vstore.package.workspace import Workspace
from vstore.tools.router import Router
from vstore.verify.bundle import open_source
from vstore.verify.replay import verify_package, verify_source
from vstore.verify.report import EXIT_FAULTY, EXIT_VERIFIED, Report

__all__ = [
    "IN_THE_WAY",
    "LOCAL_PACKAGE",
    "MISSING_BASE",
    "Admission",
    "NotVerified",
    "Outcome",
    "Unverifiable",
    "admit",
]

#: The kind of errors that are about the package that is here, not the one that came.
LOCAL_PACKAGE: Final = "local_package"
#: The kind of the refusal of an incremental bundle that continues what isn't here.
MISSING_BASE: Final = "missing_base"
#: The kind of the refusal where something else is in the case's place.
IN_THE_WAY: Final = "exists"
_NO_BASE: Final = "VS-CON-021"

Outcome = Literal["installed", "fast_forwarded", "unchanged"]


class NotVerified(IntegrityError):
    """The bundle has faults; ``report`` has all of them. Nothing was taken in."""

    kind = "not_verified"

    def __init__(self, message: str, *, report: Report, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.report = report


class Unverifiable(UnsupportedError):
    """The bundle can't be judged here; ``report`` says why. Nothing was taken in.

    Its kind is ``missing_base`` for an incremental bundle that continues what isn't here;
    ``details`` has its ``case_id`` then.
    """

    kind = "unverifiable"

    def __init__(
        self,
        message: str,
        *,
        report: Report,
        hint: str | None = None,
        kind: str | None = None,
        **details: object,
    ) -> None:
        super().__init__(message, hint=hint, kind=kind, **details)
        self.report = report


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """What an admission came to.

    Attributes:
        outcome: ``installed`` where the case was new here; ``fast_forwarded`` where the
            package that was here went on; ``unchanged`` where it had all of it already.
        package: The head that is here now.
        generations: How many generations came in, 0 or more.
        report: Of the verification.
    """

    outcome: Outcome
    package: PinnedPackage
    generations: int
    report: Report


def admit(
    workspace: Workspace,
    bundle: Path | str,
    *,
    router: Router | None = None,
    max_bytes: int = MAX_BUNDLE_BYTES,
    progress: Callable[[int, int], None] | None = None,
) -> Admission:
    """Take a transported package in.

    The bundle is copied into quarantine and verified there completely; only then the package
    is installed, or the one that is here is moved forward to the head that came in. Doing it
    again changes nothing.

    Args:
        workspace: Where to.
        bundle: A bundle file, full or incremental, or the folder of a package.
        router: Recomputes replies; one for source and database snapshots by default, which
            takes whatever limits a request records. With one that has limits of its own, a
            bundle whose requests ask for more is refused as ``unverifiable``.
        max_bytes: Bytes of the bundle at the most, 1 or more.
        progress: Told now and then how many objects and bytes were verified.

    Raises:
        NotVerified: It has faults.
        Unverifiable: It can't be judged: an unknown format, or an incremental bundle whose
            base is not here.
        ConflictError: The histories diverged (``diverged``; ``details`` has ``common`` and
            ``common_generation``, None where they have nothing in common), the case has
            another package here (``other_package``), or something else is in its place
            (``exists``; ``details`` has ``case_id`` and ``path``).
        LockTimeout: Somebody else worked on the case for too long.
        NotFoundError, InvalidError, LimitExceeded: No such file, or not one to read.
        IntegrityError, UnsupportedError: The package that is here is damaged, or not for this
            version to write (``local_package``).
        StorageError: The disk failed.
    """
    source = Path(bundle)
    if workspace.is_single and not is_package(workspace.root):
        raise InvalidError(
            "packages are admitted to a workspace, or to a package that is there",
            kind="no_workspace",
        )
    quarantine = Quarantine(workspace, max_bytes=max_bytes)
    with quarantine.place() as held:
        if source.is_dir():
            create_bundle(source, held)
        else:
            quarantine.copy(source, held)
        report = _verify(workspace, held, str(bundle), router, progress)
        case_id, package_id = report.case_id, report.package_id
        assert case_id is not None, "a package that verifies has a case"
        assert package_id is not None
        with claimed(workspace, case_id, "admission", timeout=workspace.lock_timeout):
            return _take(workspace, held, case_id, package_id, report)


def _needs(held: Path) -> BundleNeeds | None:
    """What an incremental bundle claims to continue; what is wrong with it, verifying says."""
    with closing(BundleFile(held)) as file:
        if file.readable:
            with suppress(VStoreError):
                return BundleFiles(file).needs()
    return None


def _verify(
    workspace: Workspace,
    held: Path,
    name: str,
    router: Router | None,
    progress: Callable[[int, int], None] | None,
) -> Report:
    needs = _needs(held)
    base = None
    if needs is not None:
        path = workspace.package_path(needs.case_id)
        base = path if is_package(path) else None
    source = open_source(held, base)
    try:
        report = verify_source(source, name, router=router, progress=progress)
    finally:
        source.close()
    if report.exit_code == EXIT_VERIFIED:
        return report
    first = next((one for one in report.findings if one.severity != "note"), None)
    why = "" if first is None else f": {first.code}"
    if base is not None and report.exit_code == EXIT_FAULTY:
        _refuse_faulty_base(base)
    if report.exit_code == EXIT_FAULTY:
        raise NotVerified(
            f"the package doesn't verify{why}",
            report=report,
            hint="vstore verify says more; get it again from where it came from",
        )
    if needs is not None and (base is None or any(f.code == _NO_BASE for f in report.findings)):
        raise Unverifiable(
            f"an incremental bundle whose base is not here: it continues generation "
            f"{needs.since_generation}",
            report=report,
            kind=MISSING_BASE,
            hint=f"admit a bundle that has generation {needs.since} first",
            case_id=needs.case_id,
        )
    raise Unverifiable(
        f"the package can't be verified here{why}",
        report=report,
        hint="vstore verify says what is missing",
    )


def _refuse_faulty_base(base: Path) -> None:
    """What an incremental bundle continues is not the bundle's fault."""
    report = verify_package(base, recompute=False)
    if report.exit_code == EXIT_FAULTY:
        first = next(one for one in report.findings if one.severity == "error")
        raise IntegrityError(
            f"the package that is here doesn't verify: {first.code}",
            kind=LOCAL_PACKAGE,
            hint="vstore verify says more of it",
            case_id=report.case_id,
        )


def _take(
    workspace: Workspace, held: Path, case_id: str, package_id: str, report: Report
) -> Admission:
    path = workspace.package_path(case_id)
    if not is_package(path):
        # A package that somebody moved away may still be open here.
        workspace.forget(case_id)
        _clear(path)
        try:
            with closing(BundleFile(held)) as file:
                unpack_bundle(file, path, io=workspace.io)
        except ConflictError as error:
            raise ConflictError(
                "something that is no package lies in the place of this case",
                kind=IN_THE_WAY,
                hint="move it away, then admit the bundle again",
                case_id=case_id,
                path=str(path),
            ) from error
        head = workspace.repository(case_id, package_id).pinned()
        return Admission(
            outcome="installed",
            package=head,
            generations=report.counts.generations,
            report=report,
        )
    needs = _needs(held)
    incoming = IncomingHistory(
        BundleFiles(BundleFile(held)), None if needs is None else needs.since
    )
    with closing(incoming):
        try:
            repository = workspace.repository(case_id, package_id)
            with repository.evidence_lock(), repository.locked() as head:
                return _fast_forward(repository, head, incoming, report)
        except NotFoundError as error:
            if error.kind != "no_generation":
                raise
            raise IntegrityError(
                "the package that is here was begun and has no generation yet",
                kind=LOCAL_PACKAGE,
                hint="finish its init, or move the folder away",
                case_id=case_id,
            ) from error
        except (IntegrityError, UnsupportedError) as error:
            # What came in was verified, so it is the package that is here.
            raise type(error)(
                f"the package that is here can't be continued: {error.message}",
                kind=LOCAL_PACKAGE,
                hint="vstore verify says more of it",
                case_id=case_id,
            ) from error


def _clear(path: Path) -> None:
    """Remove what earlier admissions of this case left that a crash ended.

    The caller has the claim of the case, so nobody is unpacking there now.
    """
    leftover = re.compile(re.escape(f".{path.name}.") + r"[0-9]+\.tmp").fullmatch
    with suppress(OSError), os.scandir(path.parent) as entries:
        for entry in entries:
            if leftover(entry.name) and entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path, ignore_errors=True)


def _fast_forward(
    repository: Repository, head: PinnedPackage, incoming: IncomingHistory, report: Report
) -> Admission:
    known = repository.reader.objects
    if incoming.has(head.generation_id) and incoming.head != head.generation_id:
        moved = repository.extend(head, incoming)
        return Admission(
            outcome="fast_forwarded",
            package=moved,
            generations=moved.number - head.number,
            report=report,
        )
    if known.published(incoming.head):
        # Whoever stored it may not have come as far as syncing it.
        return Admission(
            outcome="unchanged", package=repository.confirm(), generations=0, report=report
        )
    raise _diverged(repository, head, incoming)


def _diverged(
    repository: Repository, head: PinnedPackage, incoming: IncomingHistory
) -> ConflictError:
    common: tuple[ObjectId, int] | None = None
    for oid, generation in repository.reader.history():
        if incoming.has(oid):
            common = oid, generation.package_generation
            break
    theirs = incoming.generation(incoming.head).package_generation
    last = (
        "they have no generation in common"
        if common is None
        else f"the last common generation is {common[1]}, {common[0]}"
    )
    return ConflictError(
        f"the histories diverged: generation {head.number} is here and {theirs} came in; {last}",
        kind="diverged",
        hint="vstore diff shows what each side did since; one of them must be given up by hand",
        common=None if common is None else common[0],
        common_generation=None if common is None else common[1],
        here=head.generation_id,
        incoming=incoming.head,
    )
