"""What a tester reads when the desk refuses something: why, what is kept, where to go on.

Whatever was typed is on the page, to be copied, because it may be nowhere else.
"""

from __future__ import annotations

import logging
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from vstore.errors import IntegrityError, InvalidError, LimitExceeded, VStoreError
from vstore.web.board import BoardEntry
from vstore.web.draft_content import DraftContent
from vstore.web.error_pages import status_of
from vstore.web.forms import Typed, typed_texts
from vstore.web.problems import TooMany
from vstore.web.rendering import render, wants_json, words_for
from vstore.web.request_views import desk_of, row_of
from vstore.web.upload_policy import UploadPolicy
from vstore.web.words import Words

__all__ = ["file_refusal", "refused"]

#: The page for a kind of error; others are answered as any page answers them.
_WHY: Final = {
    "superseded": "superseded",
    "not_claimed": "not_claimed",
    "claimed": "claimed",
    "confirming": "confirming",
    "wrong_executor": "wrong_executor",
    "answered": "answered",
    "operation_conflict": "answered",
    "lost": "answered",
    "not_outstanding": "moved_on",
    "state": "moved_on",
    "identity_mismatch": "moved_on",
    "missing_reservation": "moved_on",
    "ledger_moved": "damaged",
    "draft_too_large": "too_large",
    "limit_exceeded": "too_large",
    "too_many_conflicts": "conflicts",
}
_log = logging.getLogger("vstore.web")
_FILE_LIMITS: Final = {
    "max_file_bytes": "files.too_large",
    "max_request_bytes": "files.request_full",
    "max_request_files": "files.request_count",
    "max_tester_bytes": "files.tester_full",
}


def _why(error: VStoreError) -> str | None:
    known = _WHY.get(error.kind)
    if known is None and isinstance(error, IntegrityError):
        return "damaged"
    if known is None and isinstance(error, InvalidError):
        return "invalid"
    return known


def refused(
    request: Request,
    entry: BoardEntry,
    error: VStoreError,
    typed: DraftContent | None = None,
    *,
    saved: bool = False,
) -> Response:
    """The page for a refusal; a script gets it as any error.

    Args:
        request: What was refused.
        entry: The test.
        error: Why.
        typed: What was to be saved or confirmed, or None.
        saved: Whether that is in the draft too.

    Raises:
        VStoreError: The error itself, where a page for it is made elsewhere.
    """
    why = _why(error)
    if wants_json(request) or (why is None and typed is None):
        raise error
    if why is None:
        # A disk that fails, say. Whatever it is, the text must not go with it.
        _log.error("%s [%s]", error.message, error.kind)
        why = "failed"
    texts: list[Typed] = []
    if typed is not None:
        texts = typed_texts(typed, entry.request, words_for(request))
    # Where it stands by now, and not when the request came in.
    entry = desk_of(request).board.entry(entry.key)
    if entry.status == "answered":
        why = "answered"
    return render(
        request,
        "refused.html",
        status=status_of(error),
        row=row_of(request, entry),
        why=why,
        typed=texts,
        saved=saved,
    )


def file_refusal(error: VStoreError, policy: UploadPolicy, words: Words) -> str:
    """Why a file was not taken, in a few words.

    Args:
        error: What the desk said.
        policy: The limits.
        words: In this language.
    """
    limit = error.details.get("limit")
    if isinstance(error, TooMany):
        return words("files.too_many")
    if isinstance(error, LimitExceeded) and limit in _FILE_LIMITS:
        value: int = getattr(policy, str(limit))
        return words(_FILE_LIMITS[str(limit)], size=words.size(value), n=words.number(value))
    if error.kind == "upload_type":
        kind = f"type.{error.details.get('media_type')}"
        # A policy may refuse a type that has no name here.
        named = words(kind if words.has(kind) else "type.application/octet-stream")
        return words("files.wrong_type", type=named)
    if error.kind == "invalid_name":
        return words("files.bad_name")
    if error.kind in ("superseded", "not_claimed"):
        return words("script.superseded")
    return words("files.not_taken")
