"""What a test request and an answer must be, alone and to each other (spec: handoff).

Pure: the coordinator asks before it publishes anything, the verifier asks of what is
stored. Each rule that is broken is a :class:`Fault` with a stable kind and a place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from vstore.errors import InvalidError
from vstore.handoff.documents import (
    AsyncTestFeedback,
    AsyncTestRequest,
    Attachment,
    EnvironmentFact,
    Observation,
    RequestedObservation,
)
from vstore.objects.ids import ObjectId
from vstore.package.documents import Instant

__all__ = [
    "IDENTITIES",
    "Fault",
    "feedback_faults",
    "fits_kind",
    "is_instant",
    "match_faults",
    "missing_attachments",
    "refuse",
    "request_faults",
]

#: The members that an answer and its request have in common.
IDENTITIES: Final = (
    "request_id",
    "case_id",
    "package_id",
    "analysis_revision",
    "hypothesis_id",
    "action_id",
    "executor",
)
_DIGITS: Final = re.compile("[0-9]+")
_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,100}(\.[0-9]{1,100})?([eE][+-]?[0-9]{1,5})?")


class Fault(NamedTuple):
    """One way in which a document breaks a rule.

    Attributes:
        kind: Stable: ``bad_instant``, ``repeated``, ``identity_mismatch``,
            ``other_request``, ``answers``, ``answer_kind``, ``attachments`` or ``reason``.
        pointer: The member, as a JSON pointer.
        message: What is wrong; no text of the document itself.
    """

    kind: str
    pointer: str
    message: str


def refuse(faults: Iterable[Fault]) -> None:
    """Refuse a document that breaks a rule.

    Raises:
        InvalidError: For the first one, with its kind and ``details["pointer"]``.
    """
    for one in faults:
        raise InvalidError(one.message, kind=one.kind, pointer=one.pointer)


def request_faults(request: AsyncTestRequest) -> Iterator[Fault]:
    """What the schema of a request can't say."""
    if not is_instant(request.deadline):
        yield Fault("bad_instant", "/deadline", "the deadline is on no day of the calendar")
    yield from _repeated("/observations", [one.id for one in request.observations])
    yield from _environment(request.environment)


def feedback_faults(feedback: AsyncTestFeedback) -> Iterator[Fault]:
    """What the schema of an answer can't say, apart from the request that it answers."""
    if not is_instant(feedback.confirmed_at):
        yield Fault("bad_instant", "/confirmed_at", "confirmed on no day of the calendar")
    yield from _environment(feedback.environment)
    yield from _repeated("/attachments", [(one.object, one.name) for one in feedback.attachments])
    named = {one.object for one in feedback.attachments}
    for position, one in enumerate(feedback.observations):
        pointer = f"/observations/{position}/attachments"
        yield from _repeated(pointer, one.attachments)
        if not named.issuperset(one.attachments):
            yield Fault("attachments", pointer, "an attachment that the answer doesn't list")
    if feedback.outcome == "unable_to_test":
        if feedback.observations:
            yield Fault("answers", "/observations", "who was unable to test observed nothing")
        if not (feedback.remarks or "").strip():
            yield Fault("reason", "/remarks", "unable_to_test needs a reason in the remarks")


def match_faults(
    feedback: AsyncTestFeedback, request: AsyncTestRequest, request_ref: ObjectId
) -> Iterator[Fault]:
    """How an answer doesn't go with a request.

    Args:
        feedback: The answer.
        request: What it should answer.
        request_ref: The object id of the request.
    """
    for name in IDENTITIES:
        if getattr(feedback, name) != getattr(request, name):
            yield Fault(
                "identity_mismatch", f"/{name}", f"the answer's {name} is not the request's"
            )
    if feedback.request != request_ref:
        yield Fault("other_request", "/request", "the tester saw another request than this one")
    if feedback.outcome == "completed":
        yield from _answers(feedback, request)


def _answers(feedback: AsyncTestFeedback, request: AsyncTestRequest) -> Iterator[Fault]:
    """Every requested observation is answered once; further ones have no id."""
    requested = {one.id: one for one in request.observations}
    answered: set[str] = set()
    for position, one in enumerate(feedback.observations):
        if one.id is None:
            continue
        pointer = f"/observations/{position}"
        if one.id in answered or one.id not in requested:
            what = "answered twice" if one.id in answered else "not requested"
            yield Fault("answers", f"{pointer}/id", f"observation {one.id} is {what}")
            continue
        answered.add(one.id)
        yield from _answer_kind(pointer, one, requested[one.id])
    for missing in requested:
        if missing not in answered:
            yield Fault("answers", "/observations", f"observation {missing} is not answered")


def _answer_kind(
    pointer: str, answer: Observation, requested: RequestedObservation
) -> Iterator[Fault]:
    kind = requested.kind
    if not fits_kind(kind, answer.text):
        asked = "yes or no" if kind == "yes_no" else "a number"
        yield Fault("answer_kind", f"{pointer}/text", f"{requested.id}: {asked} is asked for")
    elif kind == "attachment" and not answer.attachments:
        yield Fault(
            "answer_kind", f"{pointer}/attachments", f"{requested.id}: an attachment is asked for"
        )


def fits_kind(kind: str, text: str) -> bool:
    """Whether a text is what an observation of this kind asks for: yes or no, or a number.

    Args:
        kind: As the request says; any text will do for ``text`` and ``attachment``.
        text: The answer's, white space around it aside.
    """
    if kind == "yes_no":
        return text.strip() in ("yes", "no")
    return kind != "number" or _NUMBER.fullmatch(text.strip()) is not None


def is_instant(text: Instant) -> bool:
    """Whether an instant of the right form is on a day that exists."""
    from datetime import UTC, datetime

    parts = [int(one) for one in _DIGITS.findall(text)]
    try:
        datetime(*parts, tzinfo=UTC)  # type: ignore[misc, arg-type]
    except (TypeError, ValueError):
        return False
    return True


def _environment(facts: list[EnvironmentFact]) -> Iterator[Fault]:
    return _repeated("/environment", [one.name for one in facts])


def _repeated(pointer: str, names: Iterable[object]) -> Iterator[Fault]:
    seen: set[object] = set()
    for position, name in enumerate(names):
        if name in seen:
            yield Fault("repeated", f"{pointer}/{position}", "the same is named twice")
        seen.add(name)


def missing_attachments(
    feedback: AsyncTestFeedback, stored: Iterable[tuple[ObjectId, str, int]]
) -> Iterator[tuple[int, Attachment]]:
    """Attachments of an answer that its request's folder doesn't have as they are listed.

    Args:
        feedback: The answer.
        stored: Object id, name and size of each attachment of its request.
    """
    known = set(stored)
    for position, one in enumerate(feedback.attachments):
        if (one.object, one.name, one.size) not in known:
            yield position, one
