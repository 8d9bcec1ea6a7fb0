"""Two texts of one draft beside each other, and what the tester makes of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from vstore.errors import VStoreError
from vstore.handoff.documents import AsyncTestRequest
from vstore.web.draft_content import Answer, DraftContent
from vstore.web.draft_store import ConflictCopy, StaleDraft
from vstore.web.forms import headline, number_of
from vstore.web.handlers import Form
from vstore.web.refusals import refused
from vstore.web.rendering import redirect, render, words_for
from vstore.web.request_views import desk_of, entry_for_person, key_of, path_of, row_of
from vstore.web.words import Words

__all__ = ["Difference", "chosen", "differences", "resolve", "show"]

_BETWEEN: Final = "\n\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A part of a draft that two texts have differently.

    Attributes:
        field: Names the part: ``outcome``, ``remarks``, ``answer.ID``, ``additional``,
            ``environment`` or ``uploads``.
        label: What it is called.
        saved: What the saved text has there, to be read.
        refused: What the refused one has.
        joinable: Whether both can stand one after the other.
    """

    field: str
    label: str
    saved: str
    refused: str
    joinable: bool


def differences(
    saved: DraftContent,
    refused: DraftContent,
    asked: AsyncTestRequest,
    names: dict[str, str],
    words: Words,
) -> list[Difference]:
    """What differs between two texts, in the order of the form.

    Args:
        saved: The one that is saved.
        refused: The one that came too late.
        asked: The test.
        names: Of the tester's files, by upload id.
        words: In this language.
    """
    return list(_differences(saved.tidy(), refused.tidy(), asked, names, words))


def _differences(
    saved: DraftContent,
    refused: DraftContent,
    asked: AsyncTestRequest,
    names: dict[str, str],
    words: Words,
) -> Iterator[Difference]:
    def files(ids: tuple[str, ...]) -> str:
        return "\n".join(names[one] for one in ids if one in names)

    def full(answer: Answer) -> str:
        return "\n".join(part for part in (answer.text, files(answer.uploads)) if part)

    if saved.outcome != refused.outcome:
        yield Difference(
            field="outcome",
            label=words("draft.outcome"),
            saved=words(f"answer.{saved.outcome}"),
            refused=words(f"answer.{refused.outcome}"),
            joinable=False,
        )
    for one in asked.observations:
        left = saved.answers.get(one.id, Answer())
        right = refused.answers.get(one.id, Answer())
        if left != right:
            yield Difference(
                field=f"answer.{one.id}",
                label=headline(one.text),
                saved=_said(left, full(left), one.kind, words),
                refused=_said(right, full(right), one.kind, words),
                joinable=one.kind in ("text", "attachment"),
            )
    if saved.additional != refused.additional:
        yield Difference(
            field="additional",
            label=words("draft.additional"),
            saved=_BETWEEN.join(full(one) for one in saved.additional),
            refused=_BETWEEN.join(full(one) for one in refused.additional),
            joinable=True,
        )
    if saved.remarks != refused.remarks:
        yield Difference(
            field="remarks",
            label=words("draft.remarks"),
            saved=saved.remarks,
            refused=refused.remarks,
            joinable=True,
        )
    if saved.environment != refused.environment:
        yield Difference(
            field="environment",
            label=words("draft.environment"),
            saved=_facts(saved),
            refused=_facts(refused),
            joinable=False,
        )
    if saved.uploads != refused.uploads:
        yield Difference(
            field="uploads",
            label=words("files.title"),
            saved=files(saved.uploads),
            refused=files(refused.uploads),
            joinable=True,
        )


def _facts(content: DraftContent) -> str:
    return "\n".join(f"{name}: {value}" for name, value in content.environment)


def _said(answer: Answer, full: str, kind: str, words: Words) -> str:
    if kind == "yes_no" and answer.text in ("yes", "no"):
        return words(f"draft.{answer.text}") + full.removeprefix(answer.text)
    return full


def chosen(saved: DraftContent, refused: DraftContent, form: Form) -> DraftContent:
    """The text that comes of what was chosen, part by part; what isn't named stays as saved.

    Args:
        saved: The one that is saved.
        refused: The other one.
        form: ``take.FIELD`` is ``saved``, ``refused`` or ``both``; ``then`` may be ``refused``
            or ``saved`` for all of it.
    """
    then = form.get("then")
    if then in ("saved", "refused"):
        return saved if then == "saved" else refused

    def take(field: str) -> str:
        return form.get(f"take.{field}", "saved")

    def pick(field: str, left: str, right: str) -> str:
        choice = take(field)
        return _joined(left, right) if choice == "both" else right if choice == "refused" else left

    answers = dict(saved.answers)
    for name in {**saved.answers, **refused.answers}:
        left, right = saved.answers.get(name, Answer()), refused.answers.get(name, Answer())
        choice = take(f"answer.{name}")
        if choice == "both":
            answers[name] = Answer(
                text=_joined(left.text, right.text), uploads=_union(left.uploads, right.uploads)
            )
        elif choice == "refused":
            answers[name] = right
    additional = take("additional")
    uploads = take("uploads")
    return msgspec.structs.replace(
        saved,
        outcome=refused.outcome if take("outcome") == "refused" else saved.outcome,
        remarks=pick("remarks", saved.remarks, refused.remarks),
        environment=refused.environment if take("environment") == "refused" else saved.environment,
        answers=answers,
        additional=(
            tuple(dict.fromkeys((*saved.additional, *refused.additional)))
            if additional == "both"
            else refused.additional
            if additional == "refused"
            else saved.additional
        ),
        uploads=(
            _union(saved.uploads, refused.uploads)
            if uploads == "both"
            else refused.uploads
            if uploads == "refused"
            else saved.uploads
        ),
    )


def _joined(left: str, right: str) -> str:
    if left.strip() == right.strip():
        return left
    return _BETWEEN.join(one.strip("\n") for one in (left, right) if one.strip())


def _union(left: tuple[str, ...], right: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*left, *right)))


def show(request: Request) -> Response:
    """The saved text and the oldest refused one; the form again where there is none."""
    return _page(request, status=200)


def _page(request: Request, *, status: int, moved: bool = False) -> Response:
    desk, key, account = desk_of(request), key_of(request), request.state.account
    entry = desk.board.entry(key)
    draft = desk.drafts.load(key, account)
    row = row_of(request, entry)
    if not draft.conflicts or not row.mine:
        return redirect(request, f"{row.href}/draft")
    words = words_for(request)
    copy = draft.conflicts[0]
    names = {one.upload_id: one.name for one in desk.uploads.list(key, account)}
    return render(
        request,
        "draft_conflict.html",
        status=status,
        row=row,
        revision=draft.revision,
        saved_at=draft.saved_at,
        conflict_id=copy.conflict_id,
        refused_at=copy.refused_at,
        others=len(draft.conflicts) - 1,
        moved=moved,
        differences=differences(draft.content, copy.content, entry.request, names, words),
    )


def resolve(request: Request, form: Form) -> Response:
    """Save what was chosen; the refused text stays on record all the same."""
    desk, key, account = desk_of(request), key_of(request), request.state.account
    entry = entry_for_person(request)
    draft = desk.drafts.load(key, account)
    number = number_of(form.get("conflict"))
    copies = [one for one in draft.conflicts if one.conflict_id == number]
    if not copies:  # dealt with already, in another window or by a second click
        return redirect(request, f"{path_of(key)}/draft")
    if number_of(form.get("revision")) != draft.revision:
        return _page(request, status=409, moved=True)
    try:
        _resolve(request, form, draft.content, copies[0], draft.revision)
    except StaleDraft:
        return _page(request, status=409, moved=True)
    except VStoreError as error:
        return refused(request, entry, error, copies[0].content, saved=True)
    more = len(draft.conflicts) > 1
    return redirect(
        request, f"{path_of(key)}/{'conflict' if more else 'draft'}", notice="conflict_resolved"
    )


def _resolve(
    request: Request, form: Form, saved: DraftContent, copy: ConflictCopy, revision: int
) -> None:
    desk_of(request).drafts.resolve_conflict(
        key_of(request),
        request.state.account,
        number_of(form.get("fence")),
        revision,
        chosen(saved, copy.content, form),
        conflict_ids=[copy.conflict_id],
    )
