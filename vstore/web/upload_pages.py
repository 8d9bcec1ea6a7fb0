"""Taking files: streamed to the disk as they come, from a form without script or from the script.

The page says what may be sent before anything is. A refusal leaves everything else as it was.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Final

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from vstore.errors import VStoreError
from vstore.web.board import BoardEntry, RequestKey
from vstore.web.draft_content import Answer, DraftContent
from vstore.web.draft_pages import uploaded_files
from vstore.web.error_pages import status_of
from vstore.web.forms import headline, number_of
from vstore.web.rates import UPLOAD_RATE, upload_key
from vstore.web.refusals import file_refusal, refused
from vstore.web.rendering import redirect, render, words_for
from vstore.web.request_views import ShownFile, desk_of, entry_for_person, key_of, path_of, row_of
from vstore.web.upload_stream import FileSink, MultipartFiles, RefusedFile, boundary_of
from vstore.web.uploads import Upload

__all__ = ["show", "take"]

#: Bytes that are gathered before a thread is asked to write them.
_PIECE: Final = 1 << 18
_MORE: Final = "more."


def show(request: Request) -> Response:
    """The page that files are sent from without script."""
    entry = desk_of(request).board.entry(key_of(request))
    return _page(request, entry, request.query_params.get("for", ""))


def _page(
    request: Request,
    entry: BoardEntry,
    place: str,
    *,
    status: int = 200,
    taken: int = 0,
    refused_files: list[RefusedFile] | None = None,
) -> Response:
    desk, key, account = desk_of(request), entry.key, request.state.account
    row = row_of(request, entry)
    if not row.mine:
        return redirect(request, row.href)
    words = words_for(request)
    asked = next((one.text for one in entry.request.observations if one.id == place), None)
    return render(
        request,
        "uploads.html",
        status=status,
        row=row,
        place=place,
        place_text=None if asked is None else headline(asked),
        rules=desk.uploads.policy,
        files=uploaded_files(row.href, desk.uploads.list(key, account)),
        taken=taken,
        refused=[
            {"name": one.name, "text": file_refusal(one.error, desk.uploads.policy, words)}
            for one in refused_files or []
        ],
    )


async def take(request: Request) -> Response:
    """Take one file as the body, named in the address, or a form with files."""
    if request.headers.get("content-type", "").startswith("multipart/form-data"):
        return await _take_form(request)
    return await _take_body(request)


def _count(request: Request) -> None:
    """Count an upload against what one tester may send in a while."""
    desk_of(request).rates.hit(upload_key(request.state.account.account_id), *UPLOAD_RATE)


async def _pieces(request: Request) -> AsyncIterator[bytes]:
    """The body in pieces that are worth a thread's while."""
    held = bytearray()
    async for part in request.stream():
        held += part
        if len(held) >= _PIECE:
            yield bytes(held)
            held.clear()
    if held:
        yield bytes(held)


async def _feed(request: Request, write: Callable[[bytes], Awaitable[None]]) -> None:
    """Pass the body on; where it is refused, read the rest, so that the answer gets through."""
    refusal: VStoreError | None = None
    left = desk_of(request).uploads.policy.max_file_bytes
    async for piece in _pieces(request):
        if refusal is None:
            try:
                await write(piece)
            except VStoreError as error:
                refusal = error
        else:
            # A browser shows no answer while its upload still runs; a bot may run for ever.
            left -= len(piece)
            if left < 0:
                break
    if refusal is not None:
        raise refusal


# ---- the script: one file, raw


async def _take_body(request: Request) -> Response:
    desk, key, account = desk_of(request), key_of(request), request.state.account
    entry = await run_in_threadpool(entry_for_person, request)
    name = request.query_params.get("name", "")
    fence = number_of(request.query_params.get("fence", ""))
    declared = number_of(request.headers.get("content-length", ""))
    sink: FileSink | None = None

    async def write(piece: bytes) -> None:
        nonlocal sink
        if sink is None:
            sink = await begin()
        await run_in_threadpool(sink.write, piece)

    async def begin() -> FileSink:
        await run_in_threadpool(_count, request)
        size = declared if declared >= 0 else None
        return await run_in_threadpool(desk.uploads.begin, key, account, fence, name, size)

    try:
        try:
            await _feed(request, write)
            if sink is None:
                sink = await begin()
            upload = await run_in_threadpool(sink.finish)
        except BaseException:
            if sink is not None:
                await run_in_threadpool(sink.abort)
            raise
    except ClientDisconnect:
        return Response(status_code=499)
    except VStoreError as error:
        return await run_in_threadpool(_refused_body, request, error)
    return await run_in_threadpool(_taken_body, request, entry, upload)


def _refused_body(request: Request, error: VStoreError) -> Response:
    text = file_refusal(error, desk_of(request).uploads.policy, words_for(request))
    value: dict[str, object] = {"kind": error.kind, "message": text, "hint": error.hint}
    return JSONResponse({"error": {**value, "details": {}}}, status_code=status_of(error))


def _taken_body(request: Request, entry: BoardEntry, upload: Upload) -> Response:
    """What the script puts into the page: the same pieces that the page itself is made of."""
    desk, account = desk_of(request), request.state.account
    (file,) = uploaded_files(path_of(entry.key), [upload])
    draft = desk.drafts.load(entry.key, account)
    places = [one.id for one in entry.request.observations]
    places += (f"{_MORE}{number}" for number in range(len(draft.content.additional)))
    pieces = {"card": _piece(request, "_file_card.html", file)}
    for place in places:
        pieces[f"choice:{place}"] = _piece(request, "_file_choice.html", file, place)
    return JSONResponse(
        {
            "upload_id": upload.upload_id,
            "name": upload.name,
            "size": upload.size,
            "object": str(upload.object),
            "media_type": upload.media_type,
            "markup": pieces,
        },
        status_code=201,
    )


def _piece(request: Request, template: str, file: ShownFile, place: str = "") -> str:
    return bytes(render(request, template, file=file, place=place).body).decode()


# ---- without script: a form with files


async def _take_form(request: Request) -> Response:
    desk, key, account = desk_of(request), key_of(request), request.state.account
    entry = await run_in_threadpool(entry_for_person, request)

    def begin(fields: dict[str, str], name: str) -> FileSink:
        _count(request)
        return desk.uploads.begin(key, account, number_of(fields.get("fence", "")), name)

    form = MultipartFiles(boundary_of(request.headers["content-type"]), begin)

    async def write(piece: bytes) -> None:
        await run_in_threadpool(form.feed, piece)

    try:
        await _feed(request, write)
        await run_in_threadpool(form.close)
    except ClientDisconnect:
        return Response(status_code=499)
    except VStoreError as error:
        return await run_in_threadpool(refused, request, entry, error)
    finally:
        await run_in_threadpool(form.abort)
    return await run_in_threadpool(_after_form, request, entry, form)


def _after_form(request: Request, entry: BoardEntry, form: MultipartFiles) -> Response:
    place = form.fields.get("field", "")
    number = number_of(form.fields.get("fence", ""))
    if form.taken:
        _put_into_draft(request, entry.key, number, place, form.taken)
    if form.refused or not form.taken:
        worst = max((status_of(one.error) for one in form.refused), default=400)
        return _page(
            request, entry, place, status=worst, taken=len(form.taken), refused_files=form.refused
        )
    return redirect(request, f"{path_of(entry.key)}/draft#{'files' if not place else f'f-{place}'}")


def _put_into_draft(
    request: Request, key: RequestKey, fence: int, place: str, taken: list[Upload]
) -> None:
    """Let the draft name new files, where they were sent for; the form can still change that."""
    desk, account = desk_of(request), request.state.account
    draft = desk.drafts.load(key, account)
    content = with_files(draft.content, place, [one.upload_id for one in taken])
    # Where another window saved at this moment, both texts are kept, and the draft says so.
    with suppress(VStoreError):
        desk.drafts.save(key, account, fence, draft.revision, content)


def with_files(content: DraftContent, place: str, ids: list[str]) -> DraftContent:
    """A draft that names more files.

    Args:
        content: The draft.
        place: The observation that they are for, ``more.N``, or anything else for the whole.
        ids: Their upload ids.
    """

    def added(answer: Answer) -> Answer:
        return msgspec.structs.replace(answer, uploads=(*answer.uploads, *ids))

    content = msgspec.structs.replace(
        content, uploads=tuple(dict.fromkeys((*content.uploads, *ids)))
    )
    if place in content.answers:
        answers = {**content.answers, place: added(content.answers[place])}
        return msgspec.structs.replace(content, answers=answers)
    number = number_of(place.removeprefix(_MORE)) if place.startswith(_MORE) else -1
    if 0 <= number < len(content.additional):
        additional = list(content.additional)
        additional[number] = added(additional[number])
        return msgspec.structs.replace(content, additional=tuple(additional))
    return content
