"""Operational limits of evidence. They bound what is written, never what can be verified."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields

from vstore.errors import InvalidError, LimitExceeded
from vstore.evidence.index import Publication
from vstore.objects.document import MAX_INTEGER

__all__ = ["EvidenceLimits", "Excess", "check_limits", "excesses"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceLimits:
    """Limits of a case's evidence; each 1 or more.

    Attributes:
        max_json_bytes: Bytes of any one JSON artifact.
        max_records: Records of the case.
        max_retained_bytes: Retained bytes of the case, see ``retained_bytes`` of the index.

    Raises:
        InvalidError: A limit is no integer of that range.
    """

    max_json_bytes: int = 4 << 20
    max_records: int = 10_000
    max_retained_bytes: int = 64 << 20

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            if type(value) is not int or not 1 <= value <= MAX_INTEGER:
                raise InvalidError(f"{one.name} is an integer from 1", kind="invalid_limit")


@dataclass(frozen=True, slots=True)
class Excess:
    """A limit that a publication passes."""

    limit: str
    value: int
    asked: int
    #: The artifact that is too large, or what is too much of.
    what: str


def excesses(
    limits: EvidenceLimits, publication: Publication, sources: Mapping[str, int]
) -> Iterator[Excess]:
    """Every limit that a publication as a whole passes.

    Args:
        limits: In force.
        publication: As planned.
        sources: What to call the documents that it comes from (request, reply, feedback) and
            their sizes in bytes.
    """
    sizes = [
        *sources.items(),
        *((f"content of {one.record_id}", one.draft.content.size) for one in publication.assessed),
        *(
            (f"record {one.record_id}", record.size)
            for one, record in zip(publication.assessed, publication.records, strict=True)
        ),
        ("index", publication.index.size),
    ]
    for what, size in sizes:
        if size > limits.max_json_bytes:
            yield Excess("max_json_bytes", limits.max_json_bytes, size, what)
    count = publication.index.document.count
    if count > limits.max_records:
        yield Excess("max_records", limits.max_records, count, "records")
    if publication.retained_bytes > limits.max_retained_bytes:
        yield Excess(
            "max_retained_bytes",
            limits.max_retained_bytes,
            publication.retained_bytes,
            "retained bytes",
        )


def check_limits(
    limits: EvidenceLimits, publication: Publication, sources: Mapping[str, int]
) -> None:
    """Refuse a publication that passes a limit.

    Args:
        limits, publication, sources: As for :func:`excesses`.

    Raises:
        LimitExceeded: Naming the first limit, its value and what was asked.
    """
    for one in excesses(limits, publication, sources):
        raise LimitExceeded(
            f"{one.what}: {one.asked} is more than {one.limit} = {one.value}",
            limit=one.limit,
            value=one.value,
            asked=one.asked,
            what=one.what,
        )
