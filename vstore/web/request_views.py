"""What the pages show of a test, worked out from the desk: no page asks it piece by piece."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote

from starlette.requests import Request

from vstore.errors import StateError
from vstore.handoff.documents import AsyncTestFeedback, AsyncTestRequest, Attachment
from vstore.web.accounts import Account
from vstore.web.board import BoardEntry, RequestKey
from vstore.web.claims import Claim
from vstore.web.forms import headline
from vstore.web.journal import Receipt
from vstore.web.raster import RASTER_TYPES

if TYPE_CHECKING:
    from vstore.web.desk import Desk

__all__ = [
    "Row",
    "ShownAnswer",
    "ShownFile",
    "ShownObservation",
    "answer_view",
    "attached_files",
    "desk_of",
    "entry_for_person",
    "key_of",
    "path_of",
    "receipt_of",
    "row_of",
    "rows_of",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One test as somebody sees it.

    Attributes:
        key: Which one.
        href: Where its page is.
        headline: The question's first line.
        rest: The rest of the question, or nothing; all of it where its first line is cut.
        deadline: Until when it should be answered.
        overdue: Whether that has passed.
        automated: Whether a bot does it.
        answered: Whether its answer is confirmed.
        confirmed_by: By whom, or None.
        confirmed_at: When, or None.
        mine: Whether the reader holds it, also after their lease ran out.
        expired: Whether the reader's lease ran out, so that others may take it.
        holder: Who else holds it now, or None.
        lapsed: Who else held it until their lease ran out, or None.
        lease_until: The end of the lease of whoever holds it, or None.
        fence: The reader's token; 0 where they don't hold it.
        drafted: Whether the reader has a draft.
    """

    key: RequestKey
    href: str
    headline: str
    rest: str
    deadline: str
    overdue: bool
    automated: bool
    answered: bool
    confirmed_by: str | None
    confirmed_at: str | None
    mine: bool
    expired: bool
    holder: str | None
    lapsed: str | None
    lease_until: str | None
    fence: int
    drafted: bool

    @property
    def case_id(self) -> str:
        """The case that waits for it."""
        return self.key.case_id


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownFile:
    """A file as a page shows it.

    Attributes:
        upload_id: The upload's id; empty for a file that is in the package.
        name: What it is called; untrusted.
        media_type: What its first bytes show.
        size: Bytes.
        object: The id of its bytes.
        href: Where it is downloaded.
        picture: Where it can be looked at, or None.
    """

    upload_id: str
    name: str
    media_type: str
    size: int
    object: str
    href: str
    picture: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownObservation:
    """One observation of an answer, beside what was asked; files by their names."""

    asked: str | None
    kind: str
    text: str
    files: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownAnswer:
    """An answer as a page shows it."""

    outcome: str
    tester_id: str
    remarks: str | None
    environment: list[tuple[str, str]]
    observations: list[ShownObservation]
    files: list[ShownFile]


def desk_of(request: Request) -> Desk:
    """The desk that the page stands on."""
    desk: Desk = request.app.state.desk
    return desk


def key_of(request: Request) -> RequestKey:
    """The test that an address names; it may be anything."""
    found = request.path_params
    return RequestKey(found["case"], found["package"], found["request"])


def entry_for_person(request: Request) -> BoardEntry:
    """The test that an address names, to be changed by whoever is logged in.

    Raises:
        NotFoundError: There is none.
        StateError: It is for a bot (``wrong_executor``), also where an account of the reader's
            own holds it with a token: what a program observed, no person confirms for it.
    """
    entry = desk_of(request).board.entry(key_of(request))
    if entry.request.executor != "human":
        raise StateError(
            "this test is for a bot", kind="wrong_executor", hint="a bot answers it by the API"
        )
    return entry


def path_of(key: RequestKey) -> str:
    """The address of a test's page."""
    return "/r/" + "/".join(quote(one, safe="") for one in key)


def receipt_of(request: Request, key: RequestKey) -> Receipt | None:
    """The reader's own receipt for a test, or None."""
    attempt = desk_of(request).confirming.last(key, request.state.account)
    return None if attempt is None else attempt.receipt


def row_of(request: Request, entry: BoardEntry) -> Row:
    """One test, as the reader sees it now."""
    desk = desk_of(request)
    account = request.state.account
    drafted = desk.drafts.load(entry.key, account).revision > 0
    return _row(entry, desk.claims.holder(entry.key), account, drafted=drafted)


def rows_of(request: Request, entries: Iterable[BoardEntry]) -> list[Row]:
    """Several tests, as the reader sees them now."""
    desk = desk_of(request)
    account = request.state.account
    holders = desk.claims.holders()
    drafted = desk.drafts.drafted(account)
    return [_row(one, holders.get(one.key), account, drafted=one.key in drafted) for one in entries]


def _row(entry: BoardEntry, claim: Claim | None, account: Account, *, drafted: bool) -> Row:
    question = entry.request.question
    first = headline(question)
    automated = entry.request.executor == "automated"
    # What a bot holds under the reader's own name is nothing that they can go on with here.
    mine = claim is not None and claim.account_id == account.account_id and not automated
    other = None if claim is None or mine else claim
    return Row(
        key=entry.key,
        href=path_of(entry.key),
        headline=first,
        rest=question.strip().removeprefix(first).strip(),
        deadline=entry.request.deadline,
        overdue=entry.overdue,
        automated=automated,
        answered=entry.status == "answered",
        confirmed_by=entry.confirmed_by,
        confirmed_at=entry.confirmed_at,
        mine=mine and entry.status == "open",
        expired=claim is not None and mine and not claim.live,
        holder=other.name if other is not None and other.live else None,
        lapsed=other.name if other is not None and not other.live else None,
        lease_until=None if claim is None else claim.lease_until,
        fence=claim.fence if claim is not None and mine else 0,
        drafted=drafted,
    )


def answer_view(
    feedback: AsyncTestFeedback, asked: AsyncTestRequest, files: list[ShownFile]
) -> ShownAnswer:
    """An answer beside the questions that it answers.

    Args:
        feedback: The answer.
        asked: What it answers.
        files: Its files.
    """
    names: dict[str, list[str]] = {}
    for file in feedback.attachments:
        names.setdefault(str(file.object), []).append(file.name)
    questions = {one.id: one for one in asked.observations}
    shown = []
    for one in feedback.observations:
        question = None if one.id is None else questions.get(one.id)
        shown.append(
            ShownObservation(
                asked=None if question is None else question.text,
                kind="text" if question is None else question.kind,
                text=one.text,
                files=[name for oid in one.attachments for name in names.get(str(oid), [])],
            )
        )
    return ShownAnswer(
        outcome=feedback.outcome,
        tester_id=feedback.tester_id,
        remarks=feedback.remarks,
        environment=[(one.name, one.value) for one in feedback.environment],
        observations=shown,
        files=files,
    )


def attached_files(key: RequestKey, attachments: Iterable[Attachment]) -> list[ShownFile]:
    """Files that are in the package, as a page shows them."""
    base = path_of(key)
    found = []
    for one in attachments:
        place = f"{quote(str(one.object), safe=':')}/{quote(one.name, safe='')}"
        found.append(
            ShownFile(
                upload_id="",
                name=one.name,
                media_type=one.media_type,
                size=one.size,
                object=str(one.object),
                href=f"{base}/files/{place}",
                picture=f"{base}/pictures/{place}" if one.media_type in RASTER_TYPES else None,
            )
        )
    return found
