"""The style sheet, scripts and icons: the package's own files, by name, from memory."""

from __future__ import annotations

import functools
import hashlib
from importlib import resources
from typing import Final, NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from vstore.errors import NotFoundError

__all__ = ["serve", "static_names", "static_url"]

_TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
}
_FOR_EVER: Final = "public, max-age=31536000, immutable"


class _File(NamedTuple):
    content: bytes
    media_type: str
    version: str


@functools.cache
def _files() -> dict[str, _File]:
    files = {}
    for file in resources.files("vstore.web").joinpath("static").iterdir():
        media_type = _TYPES.get("." + file.name.rpartition(".")[2])
        if media_type is not None:
            content = file.read_bytes()
            version = hashlib.sha256(content).hexdigest()[:16]
            files[file.name] = _File(content, media_type, version)
    return files


def static_names() -> list[str]:
    """The names of all files, sorted."""
    return sorted(_files())


def static_url(name: str) -> str:
    """Where a file is; the address changes with its content, so that a browser may keep it."""
    return f"/static/{name}?v={_files()[name].version}"


def serve(request: Request) -> Response:
    """One file by its name."""
    file = _files().get(request.path_params["name"])
    if file is None:
        raise NotFoundError("there is no such file", kind="no_page")
    kept = request.query_params.get("v") == file.version
    return Response(
        file.content,
        media_type=file.media_type,
        headers={"cache-control": _FOR_EVER if kept else "no-cache"},
    )
