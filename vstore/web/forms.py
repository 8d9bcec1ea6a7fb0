"""The form of a draft: from its fields to what a tester has written, and back to places on a page.

Fields: ``outcome``, ``remarks``, ``env.name`` and ``env.value`` in pairs, ``answer.ID`` and
``files.ID`` for each requested observation, ``more.N`` and ``files.more.N`` for further ones,
``upload`` for each file that the page listed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

import msgspec

from vstore.handoff.documents import AsyncTestRequest
from vstore.web.draft_content import Answer, DraftContent, FieldFault
from vstore.web.handlers import Form
from vstore.web.words import Words

__all__ = [
    "ShownFault",
    "Typed",
    "content_of",
    "headline",
    "number_of",
    "shown_faults",
    "typed_texts",
    "without_upload",
]

_HEADLINE: Final = 160
_MORE: Final = "more."
_MAX_DIGITS: Final = 4


class ShownFault(NamedTuple):
    """A fault of a draft in words.

    Attributes:
        anchor: The ``id`` of its place in the form.
        text: What is to be done, and where.
        short: What is wrong, said at the place itself.
        observation: The requested observation that it is about, or None.
    """

    anchor: str
    text: str
    short: str
    observation: str | None


class Typed(NamedTuple):
    """A text that somebody typed, under the name of its place."""

    label: str
    text: str


def headline(text: str) -> str:
    """The first line of a text, cut at a word where it is long."""
    first = text.strip().partition("\n")[0].strip()
    if len(first) <= _HEADLINE:
        return first
    return first[: _HEADLINE + 1].rsplit(None, 1)[0][:_HEADLINE] + "…"


def number_of(text: str) -> int:
    """A number that a page put into a field of its own; -1 for whatever else came."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 15 else -1


def content_of(form: Form, request: AsyncTestRequest) -> DraftContent:
    """What was written; nothing is judged, so that half an answer is kept too.

    Args:
        form: As it was sent; fields that no such form has are left out.
        request: The test.
    """
    pairs = zip(form.all("env.name"), form.all("env.value"), strict=False)
    return DraftContent(
        outcome="unable_to_test" if form.get("outcome") == "unable_to_test" else "completed",
        remarks=form.get("remarks"),
        environment=tuple(pair for pair in pairs if any(one.strip() for one in pair)),
        answers={
            one.id: _answer(form, f"answer.{one.id}", f"files.{one.id}")
            for one in request.observations
        },
        additional=tuple(_additional(form)),
        uploads=_once(form.all("upload")),
    )


def _answer(form: Form, text: str, files: str) -> Answer:
    return Answer(text=form.get(text), uploads=_once(form.all(files)))


def _additional(form: Form) -> Iterator[Answer]:
    found = {name.removeprefix(_MORE) for name, _ in form if name.startswith(_MORE)}
    numbers = [one for one in found if len(one) <= _MAX_DIGITS and one.isascii() and one.isdigit()]
    for number in sorted(numbers, key=int):
        answer = _answer(form, f"more.{number}", f"files.more.{number}")
        if answer.text.strip() or answer.uploads:
            yield answer


def _once(ids: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(ids))


def without_upload(content: DraftContent, upload_id: str) -> DraftContent:
    """The same draft without one file."""

    def less(ids: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(one for one in ids if one != upload_id)

    def bare(answer: Answer) -> Answer:
        return msgspec.structs.replace(answer, uploads=less(answer.uploads))

    return msgspec.structs.replace(
        content,
        answers={name: bare(one) for name, one in content.answers.items()},
        additional=tuple(bare(one) for one in content.additional),
        uploads=less(content.uploads),
    )


def shown_faults(
    faults: Iterable[FieldFault], request: AsyncTestRequest, words: Words
) -> list[ShownFault]:
    """Faults as the page says them, each with the place in the form where it is put right."""
    asked = {one.id: headline(one.text) for one in request.observations}
    found = []
    for one in faults:
        anchor, label, observation = "outcome-completed", words("fault.whole"), None
        part, _, rest = one.field.partition(".")
        if part == "remarks":
            anchor, label = "remarks", words("draft.remarks")
        elif part == "environment":
            anchor, label = f"env-name-{rest.partition('.')[0]}", words("draft.environment")
        elif part == "uploads":
            anchor, label = "files", words("files.title")
        elif part == "additional":
            anchor, label = f"more-{rest.partition('.')[0]}", words("draft.additional")
        elif part == "answers":
            # An observation's id may have dots itself.
            observation = rest.rpartition(".")[0]
            anchor, label = f"a-{observation}", asked.get(observation, observation)
        kind = "environment" if one.kind == "repeated" else one.kind
        text = words(
            f"fault.{kind}" if words.has(f"fault.{kind}") else "fault.unclear", label=label
        )
        short = words(f"wrong.{kind}" if words.has(f"wrong.{kind}") else "wrong.unclear")
        found.append(ShownFault(anchor, text, short, observation))
    return found


def typed_texts(content: DraftContent, request: AsyncTestRequest, words: Words) -> list[Typed]:
    """Every text of a draft that isn't empty, to be shown where it can't be saved."""
    texts = [
        Typed(headline(one.text), content.answers.get(one.id, Answer()).text)
        for one in request.observations
    ]
    texts += (
        Typed(words("draft.additional_n", n=number), one.text)
        for number, one in enumerate(content.additional, start=1)
    )
    texts.append(Typed(words("draft.remarks"), content.remarks))
    # What the request itself says of the environment, nobody typed.
    known = {(one.name, one.value) for one in request.environment}
    texts += (
        Typed(name or words("draft.env_name"), value)
        for name, value in content.environment
        if (name, value) not in known
    )
    return [one for one in texts if one.text.strip()]
