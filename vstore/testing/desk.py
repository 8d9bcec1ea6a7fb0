"""A testers' desk over a case that waits for its test, made with the real services."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from vstore.objects.durable import REAL, DurableIO
from vstore.testing.clock import FrozenClock
from vstore.testing.handoff import HandoffCase
from vstore.testing.investigation import CASE, PACKAGE
from vstore.web.accounts import Account
from vstore.web.board import RequestKey
from vstore.web.claims import Claim
from vstore.web.confirming import Preview
from vstore.web.desk import Desk
from vstore.web.draft_content import Answer, DraftContent
from vstore.web.draft_store import Draft
from vstore.web.journal import Receipt
from vstore.web.service_folder import ServiceFolder
from vstore.web.uploads import Upload

__all__ = ["KEY", "LOG", "DeskCase", "waiting_workspace"]

#: The test that :func:`waiting_workspace` hands out.
KEY: Final = RequestKey(CASE, PACKAGE, "test-1")
LOG: Final = b"ZeroDivisionError: division by zero\n"


def waiting_workspace(folder: Path) -> Path:
    """A workspace in a new folder, with a case that waits for its first test.

    Args:
        folder: Where; must exist.

    Returns:
        The workspace.
    """
    workspace, scratch = folder / "workspace", folder / "scratch"
    workspace.mkdir()
    scratch.mkdir()
    case = HandoffCase(workspace / CASE, scratch)
    case.begin()
    case.submit()
    case.close()
    return workspace


class DeskCase:
    """A desk over a copy of a workspace, with the testers pat and kim, and ada, who administers.

    Args:
        root: A folder for the copy and the service's data; must exist.
        waiting: The workspace that is copied; None where the copy is there already.
        io: Does the durable I/O of packages and uploads.
        options: Of :meth:`vstore.web.desk.Desk.open`.
    """

    def __init__(
        self, root: Path, waiting: Path | None = None, *, io: DurableIO = REAL, **options: Any
    ) -> None:
        self.root = root
        self.workspace = root / "workspace"
        self.clock = FrozenClock()
        self._options = options
        if waiting is not None:
            shutil.copytree(waiting, self.workspace)
        self.open(io=io)

    def open(self, *, io: DurableIO = REAL) -> Desk:
        """Open the desk, again after :meth:`close`."""
        folder = ServiceFolder.open(self.root / "state")
        self.desk = Desk.open(self.workspace, folder, clock=self.clock, io=io, **self._options)
        known = {one.name: one for one in self.desk.accounts.list()}
        self.pat = known.get("pat") or self.desk.accounts.add("pat", by="test")
        self.kim = known.get("kim") or self.desk.accounts.add("kim", by="test")
        self.ada = known.get("ada") or self.desk.accounts.add("ada", role="admin", by="test")
        return self.desk

    def close(self) -> None:
        """Close the desk."""
        self.desk.close()

    def claim(self, account: Account | None = None) -> Claim:
        """Claim the test, for pat by default."""
        return self.desk.claims.claim(KEY, account or self.pat)

    def upload(
        self,
        claim: Claim,
        name: str = "app.log",
        content: bytes = LOG,
        *,
        by: Account | None = None,
    ) -> Upload:
        """Upload a file in one piece."""
        writer = self.desk.uploads.begin(KEY, by or self.pat, claim.fence, name, len(content))
        writer.write(content)
        return writer.finish()

    def write(self, claim: Claim, *uploads: Upload, by: Account | None = None) -> Draft:
        """Save a draft that answers everything, the log with the first of the uploads."""
        account = by or self.pat
        before = self.desk.drafts.load(KEY, account)
        ids = tuple(one.upload_id for one in uploads)
        content = replace(
            before.content,
            answers={
                "fails": Answer(text="yes"),
                "log": Answer(text="It divides by zero.", uploads=ids[:1]),
                "seconds": Answer(text="0.5"),
            },
            additional=(Answer(text="With one order it works."),),
            uploads=ids[1:],
        )
        return self.save(claim, before.revision, content, by=account)

    def save(
        self, claim: Claim, base: int, content: DraftContent, *, by: Account | None = None
    ) -> Draft:
        """Save a draft."""
        return self.desk.drafts.save(KEY, by or self.pat, claim.fence, base, content)

    def ready(self) -> tuple[Claim, Draft, Preview]:
        """Pat claims, uploads and writes; all that is left is to confirm."""
        claim = self.claim()
        draft = self.write(claim, self.upload(claim))
        preview = self.desk.confirming.preview(KEY, self.pat, claim.fence, draft.revision)
        return claim, draft, preview

    def confirm(self, claim: Claim, draft: Draft, preview: Preview) -> Receipt:
        """Pat confirms."""
        assert preview.draft_digest is not None
        return self.desk.confirming.confirm(
            KEY, self.pat, claim.fence, draft.revision, preview.draft_digest
        )

    def outside(self) -> HandoffCase:
        """The same case as somebody at the command line has it; to be closed."""
        return self.outside_of(self.root)

    @staticmethod
    def outside_of(root: Path) -> HandoffCase:
        """The same of a desk case in a folder, which need not be open."""
        return HandoffCase(root / "workspace" / CASE, root)
