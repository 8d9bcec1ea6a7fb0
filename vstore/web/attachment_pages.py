"""Giving files back. Every byte of them is a stranger's.

A file is always a download of unnamed bytes: never a page of ours, never run, whatever it is. Only
a picture whose own header says that it is a harmless size is given its type, so that an ``img``
shows it; opened on its own it is a download too. (OWASP File Upload; RFC 6266; RFC 8187.)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO, Final
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from vstore.errors import NotFoundError
from vstore.web.raster import HEADER_BYTES, shown_inline
from vstore.web.request_views import desk_of, key_of

__all__ = ["answer_file", "answer_picture", "content_disposition", "upload_file", "upload_picture"]

_PIECE: Final = 1 << 18
_SANDBOX: Final = "default-src 'none'; sandbox; frame-ancestors 'none'"
#: Larger pictures are downloaded to be looked at.
_MAX_PICTURE_BYTES: Final = 32 << 20


def upload_file(request: Request) -> Response:
    """A file that somebody has uploaded, for themselves and for administrators."""
    return _download(*_upload(request))


def upload_picture(request: Request) -> Response:
    """The same as a picture in a page."""
    return _picture(*_upload(request))


def answer_file(request: Request) -> Response:
    """A file of a confirmed answer, for every tester."""
    return _download(*_attachment(request))


def answer_picture(request: Request) -> Response:
    """The same as a picture in a page."""
    return _picture(*_attachment(request))


def _upload(request: Request) -> tuple[str, str, int, BinaryIO]:
    desk = desk_of(request)
    upload, stream = desk.uploads.open(request.path_params["upload"], request.state.account)
    if upload.key != key_of(request):
        stream.close()
        raise NotFoundError("this test has no such file", kind="unknown_upload")
    return upload.name, upload.media_type, upload.size, stream


def _attachment(request: Request) -> tuple[str, str, int, BinaryIO]:
    desk, key = desk_of(request), key_of(request)
    oid, name = request.path_params["object"], request.path_params["name"]
    confirmed = desk.board.feedback(key).attachments
    if not any(str(one.object) == oid and one.name == name for one in confirmed):
        raise NotFoundError("the answer has no such file", kind="no_attachment")
    found, stream = desk.board.open_attachment(key, oid, name)
    return found.name, found.media_type, found.size, stream


def _download(name: str, media_type: str, size: int, stream: BinaryIO) -> Response:  # noqa: ARG001
    return _answer(name, "application/octet-stream", size, stream)


def _picture(name: str, media_type: str, size: int, stream: BinaryIO) -> Response:
    head = stream.read(HEADER_BYTES)
    if size > _MAX_PICTURE_BYTES or not shown_inline(media_type, head):
        stream.close()
        raise NotFoundError("this file is not shown as a picture", kind="no_picture")
    stream.seek(0)
    return _answer(name, media_type, size, stream)


def _answer(name: str, media_type: str, size: int, stream: BinaryIO) -> Response:
    response = StreamingResponse(_pieces(stream), media_type=media_type)
    response.headers["content-length"] = str(size)
    response.headers["content-disposition"] = content_disposition(name)
    response.headers["content-security-policy"] = _SANDBOX
    response.headers["x-content-type-options"] = "nosniff"
    return response


def _pieces(stream: BinaryIO) -> Iterator[bytes]:
    with stream:
        while piece := stream.read(_PIECE):
            yield piece


def content_disposition(name: str) -> str:
    """The header that makes a browser keep a file under its name.

    Args:
        name: Any text.
    """
    plain = "".join(
        one if one.isascii() and one.isprintable() and one not in '"\\%;' else "_" for one in name
    )
    exact = quote(name.encode("utf-8", "replace"), safe="")
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{exact}"
