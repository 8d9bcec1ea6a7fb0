"""What a tester has written so far, and the answer that it comes to.

A draft may be anything that a form can hold: half a sentence, a number that is none yet.
:meth:`DraftContent.faults` says what is missing, field by field; without a fault,
:meth:`DraftContent.to_feedback_value` is a draft that the coordinator takes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal, NamedTuple, Protocol, Self

import msgspec

from vstore.errors import IntegrityError, InvalidError, LimitExceeded
from vstore.handoff.documents import AsyncTestRequest, RequestedObservation
from vstore.handoff.matching import fits_kind
from vstore.objects.ids import ObjectId

__all__ = ["MAX_DRAFT_BYTES", "Answer", "DraftContent", "FieldFault", "UploadedFile"]

#: Bytes of a draft as it is stored.
MAX_DRAFT_BYTES: Final = 1 << 20
_MAX_PARTS: Final = 1_000
_MAX_PARAGRAPH: Final = 20_000
_MAX_LINE: Final = 200
_MAX_VALUE: Final = 2_000


class UploadedFile(Protocol):
    """What an answer needs to know of an upload."""

    @property
    def name(self) -> str:
        """What the file is called."""

    @property
    def size(self) -> int:
        """Bytes."""

    @property
    def object(self) -> ObjectId:
        """The id that its bytes will have in the package."""

    @property
    def media_type(self) -> str:
        """What its first bytes show."""


class FieldFault(NamedTuple):
    """Something that must be put right before a draft can be confirmed.

    Attributes:
        field: Where: ``remarks``, ``environment.0.name``, ``answers.ID.text``,
            ``answers.ID.uploads``, ``additional.0.text``, ``uploads`` ...
        kind: Stable: ``missing``, ``yes_no``, ``number``, ``attachment``, ``reason``,
            ``too_long``, ``repeated``, ``unknown_upload`` or ``unknown_observation``.
        limit: The most characters, for ``too_long``.
    """

    field: str
    kind: str
    limit: int | None = None


class Answer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One text with its files, by their upload ids."""

    text: str = ""
    uploads: tuple[str, ...] = ()


class DraftContent(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A draft.

    Attributes:
        outcome: Whether the test could be done.
        remarks: Anything else; the reason where it could not be done.
        environment: Names and values of where it was done.
        answers: By the id of the requested observation.
        additional: What was observed besides.
        uploads: Files of the answer as a whole, by their upload ids.
    """

    outcome: Literal["completed", "unable_to_test"] = "completed"
    remarks: str = ""
    environment: tuple[tuple[str, str], ...] = ()
    answers: dict[str, Answer] = {}
    additional: tuple[Answer, ...] = ()
    uploads: tuple[str, ...] = ()

    @classmethod
    def template(cls, request: AsyncTestRequest) -> Self:
        """The draft of somebody who has written nothing yet."""
        return cls(
            environment=tuple((one.name, one.value) for one in request.environment),
            answers={one.id: Answer() for one in request.observations},
        )

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """A stored draft.

        Raises:
            IntegrityError: It isn't one (``damaged_draft``).
        """
        try:
            return msgspec.json.decode(data, type=cls)
        except msgspec.MsgspecError as error:
            raise IntegrityError("a stored draft can't be read", kind="damaged_draft") from error

    def encode(self) -> bytes:
        """The draft as it is stored; equal drafts are equal bytes.

        Raises:
            InvalidError: A text that can't be stored (``invalid_draft``).
            LimitExceeded: More than :data:`MAX_DRAFT_BYTES`, or 1,000 parts.
        """
        for what, count in (
            ("max_draft_facts", len(self.environment)),
            ("max_draft_answers", len(self.answers)),
            ("max_draft_additional", len(self.additional)),
            ("max_draft_uploads", sum(1 for _ in self.named_uploads())),
        ):
            if count > _MAX_PARTS:
                raise _too_large(what, _MAX_PARTS, count)
        try:
            data = msgspec.json.encode(self.tidy(), order="sorted")
            data.decode()
        except UnicodeError as error:
            raise InvalidError("a text that can't be stored", kind="invalid_draft") from error
        if len(data) > MAX_DRAFT_BYTES:
            raise _too_large("max_draft_bytes", MAX_DRAFT_BYTES, len(data))
        return data

    def tidy(self) -> Self:
        """The same, with lines that end as they do everywhere else: forms end them otherwise."""
        return msgspec.structs.replace(
            self,
            remarks=_lines(self.remarks),
            environment=tuple((_lines(name), _lines(value)) for name, value in self.environment),
            answers={name: _tidy(one) for name, one in self.answers.items()},
            additional=tuple(_tidy(one) for one in self.additional),
        )

    def named_uploads(self) -> Iterator[str]:
        """The ids of all uploads that the draft names, some perhaps twice."""
        yield from self.uploads
        for one in (*self.answers.values(), *self.additional):
            yield from one.uploads

    def used_uploads(self, request: AsyncTestRequest) -> list[str]:
        """The ids of the uploads that the answer would list, each once, in its order."""
        return list(dict.fromkeys([*self.uploads, *self._placed(request)]))

    def _placed(self, request: AsyncTestRequest) -> Iterator[str]:
        if self.outcome == "completed":
            for requested in request.observations:
                yield from self.answers.get(requested.id, _NO_ANSWER).uploads
            for one in self.additional:
                yield from one.uploads

    # ---- what is missing

    def faults(
        self, request: AsyncTestRequest, uploads: Mapping[str, UploadedFile]
    ) -> list[FieldFault]:
        """What must be put right before this can be confirmed, in the order of the form.

        Args:
            request: What is answered.
            uploads: The tester's uploads for it, by id.
        """
        found = list(self._environment_faults())
        if self.outcome == "completed":
            for requested in request.observations:
                found += self._answer_faults(requested)
            known = {one.id for one in request.observations}
            found += (
                FieldFault(f"answers.{name}.text", "unknown_observation")
                for name, one in self.answers.items()
                if name not in known and not _is_blank(one)
            )
            for number, one in enumerate(self.additional):
                found += _text_faults(f"additional.{number}.text", one.text, _MAX_PARAGRAPH)
        found += _text_faults("remarks", self.remarks, _MAX_PARAGRAPH)
        if self.outcome == "unable_to_test" and not self.remarks.strip():
            found.append(FieldFault("remarks", "reason"))
        found += self._upload_faults(request, uploads)
        return found

    def _environment_faults(self) -> Iterator[FieldFault]:
        seen: set[str] = set()
        for number, (name, value) in enumerate(self.environment):
            where = f"environment.{number}"
            name, value = name.strip(), value.strip()
            if not name:
                if value:
                    yield FieldFault(f"{where}.name", "missing")
                continue
            if name in seen:
                yield FieldFault(f"{where}.name", "repeated")
            seen.add(name)
            yield from _text_faults(f"{where}.name", name, _MAX_LINE)
            yield from _text_faults(f"{where}.value", value, _MAX_VALUE)

    def _answer_faults(self, requested: RequestedObservation) -> Iterator[FieldFault]:
        answer, where = self.answers.get(requested.id, _NO_ANSWER), f"answers.{requested.id}"
        text = answer.text.strip()
        if requested.kind == "attachment" and not answer.uploads:
            yield FieldFault(f"{where}.uploads", "attachment")
        elif not fits_kind(requested.kind, text):
            yield FieldFault(f"{where}.text", requested.kind if text else "missing")
        elif requested.kind == "text" and not text and not answer.uploads:
            yield FieldFault(f"{where}.text", "missing")
        yield from _text_faults(f"{where}.text", answer.text, _MAX_PARAGRAPH)

    def _upload_faults(
        self, request: AsyncTestRequest, uploads: Mapping[str, UploadedFile]
    ) -> Iterator[FieldFault]:
        """Files that were removed since, or never were the tester's."""
        places = [("uploads", self.uploads)]
        if self.outcome == "completed":
            places += (
                (f"answers.{one.id}.uploads", self.answers.get(one.id, _NO_ANSWER).uploads)
                for one in request.observations
            )
            places += (
                (f"additional.{number}.uploads", one.uploads)
                for number, one in enumerate(self.additional)
            )
        for where, named in places:
            if any(one not in uploads for one in named):
                yield FieldFault(where, "unknown_upload")

    # ---- the answer

    def to_feedback_value(
        self,
        request: AsyncTestRequest,
        request_ref: ObjectId,
        uploads: Mapping[str, UploadedFile],
        tester_id: str,
    ) -> dict[str, Any]:
        """The draft that the coordinator confirms.

        An answer that is only a file gets the file's name as its text. Who was unable to
        test observed nothing, whatever else the draft holds.

        Args:
            request: What is answered.
            request_ref: The object id of the request that the tester saw.
            uploads: The tester's uploads for it, by id; others are left out.
            tester_id: Who tested.
        """
        used = [uploads[one] for one in self.used_uploads(request) if one in uploads]
        listed = {(one.object, one.name): one for one in used}
        observations: list[dict[str, Any]] = []
        if self.outcome == "completed":
            given = [(one.id, self.answers.get(one.id, _NO_ANSWER)) for one in request.observations]
            for name, one in [*given, *((None, one) for one in self.additional)]:
                files = [uploads[file] for file in one.uploads if file in uploads]
                names = ", ".join(dict.fromkeys(file.name for file in files))
                text = one.text.strip() or names[:_MAX_PARAGRAPH]
                if text:
                    observations.append(
                        {
                            "id": name,
                            "text": text,
                            "attachments": list(dict.fromkeys(str(file.object) for file in files)),
                        }
                    )
        return {
            "request": str(request_ref),
            "tester_id": tester_id,
            "outcome": self.outcome,
            "remarks": self.remarks.strip() or None,
            "environment": [
                {"name": name.strip(), "value": value.strip()}
                for name, value in self.environment
                if name.strip()
            ],
            "observations": observations,
            "attachments": [
                {
                    "name": one.name,
                    "media_type": one.media_type,
                    "size": one.size,
                    "object": str(one.object),
                }
                for one in listed.values()
            ],
        }


_NO_ANSWER: Final = Answer()


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _tidy(answer: Answer) -> Answer:
    return msgspec.structs.replace(answer, text=_lines(answer.text))


def _is_blank(answer: Answer) -> bool:
    return not answer.text.strip() and not answer.uploads


def _text_faults(field: str, text: str, most: int) -> Iterator[FieldFault]:
    if len(text.strip()) > most:
        yield FieldFault(field, "too_long", most)


def _too_large(limit: str, value: int, asked: int) -> LimitExceeded:
    return LimitExceeded(
        f"a draft has more than {limit} = {value}",
        kind="draft_too_large",
        hint="put long logs into a file and upload it",
        limit=limit,
        value=value,
        asked=asked,
    )
