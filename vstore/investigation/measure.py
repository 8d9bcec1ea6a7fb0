"""How many bytes and rejections v14 saves on stored v13 replies; no network, no model.

Every reply is projected onto v14 and judged against the brief that was really there. It is
no new run of a model: what a model would write under v14 nobody can tell from it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import msgspec

from vstore.investigation.context import context_of, messages_of, past_of, transport_of
from vstore.investigation.contracts import contract_named
from vstore.investigation.documents import (
    Answered,
    InvestigationAttempt,
    InvestigationLog,
    InvestigationRequest,
    InvestigationStep,
    Opened,
)
from vstore.investigation.entries import subject_of
from vstore.investigation.judgement import Refusal, judge
from vstore.investigation.projection import project
from vstore.investigation.reading import read_reply
from vstore.investigation.reply_v13 import ReplyV13
from vstore.investigation.vocabulary import V13, V14
from vstore.objects.ids import ObjectId
from vstore.objects.memory import ObjectSource
from vstore.objects.plain_json import encode_value
from vstore.package.pinned import PinnedPackage

__all__ = ["Measured", "Side", "measure", "total"]


@dataclass(slots=True)
class Side:
    """One contract's figures.

    Attributes:
        reply_bytes: Canonical UTF-8 bytes of the replies that can be reconstructed.
        message_bytes: UTF-8 bytes of the message contents of all calls.
        request_bytes: Canonical UTF-8 bytes of the transported requests of all calls.
        rejections: Refused replies among those that can be reconstructed.
        codes: How many of them by the code of the first error.
    """

    reply_bytes: int = 0
    message_bytes: int = 0
    request_bytes: int = 0
    rejections: int = 0
    codes: Counter[str] = field(default_factory=Counter)

    def refuse(self, code: str) -> None:
        """Count a refused reply."""
        self.rejections += 1
        self.codes[code] += 1

    def value(self) -> dict[str, Any]:
        """As a plain JSON value."""
        return {
            "codes": {name: self.codes[name] for name in sorted(self.codes)},
            "message_bytes": self.message_bytes,
            "rejections": self.rejections,
            "reply_bytes": self.reply_bytes,
            "request_bytes": self.request_bytes,
        }


@dataclass(slots=True)
class Measured:
    """The figures of one package, or of several together.

    Attributes:
        calls: Calls under v13 that ended.
        replies: Those whose reply can be reconstructed.
        lost: Those whose reply can't; counted as such, never as repaired.
        lost_codes: Their codes.
        v13: As it was.
        v14: As it would have been.
    """

    calls: int = 0
    replies: int = 0
    lost: int = 0
    lost_codes: Counter[str] = field(default_factory=Counter)
    v13: Side = field(default_factory=Side)
    v14: Side = field(default_factory=Side)

    def value(self) -> dict[str, Any]:
        """As a plain JSON value of integers; the saving in hundredths of a percent."""
        saved = self.v13.reply_bytes - self.v14.reply_bytes
        basis = self.v13.reply_bytes
        return {
            "calls": self.calls,
            "not_reconstructable": self.lost,
            "not_reconstructable_codes": {
                name: self.lost_codes[name] for name in sorted(self.lost_codes)
            },
            "replies": self.replies,
            "reply_bytes_saved": saved,
            "reply_bytes_saved_per_10000": saved * 10_000 // basis if basis else 0,
            "v13": self.v13.value(),
            "v14": self.v14.value(),
        }


def measure(package: PinnedPackage) -> Measured:
    """Measure one package's calls under v13.

    Args:
        package: The package; only its log of calls counts.

    Raises:
        NotFoundError, IntegrityError, InvalidError: A document can't be read.
    """
    objects = package.objects
    found = Measured()
    for request, outcome in _calls(objects, package.artifact("investigation_log")):
        if request.contract == V13:
            _measure_call(objects, request, outcome, found)
    return found


def total(parts: list[Measured]) -> Measured:
    """The sum of several packages."""
    whole = Measured()
    for one in parts:
        whole.calls += one.calls
        whole.replies += one.replies
        whole.lost += one.lost
        whole.lost_codes += one.lost_codes
        for mine, its in ((whole.v13, one.v13), (whole.v14, one.v14)):
            mine.reply_bytes += its.reply_bytes
            mine.message_bytes += its.message_bytes
            mine.request_bytes += its.request_bytes
            mine.rejections += its.rejections
            mine.codes += its.codes
    return whole


def _calls(
    objects: ObjectSource, head: ObjectId | None
) -> list[tuple[InvestigationRequest, InvestigationStep | InvestigationAttempt]]:
    """The calls that ended, oldest first."""
    log: list[InvestigationLog] = []
    while head is not None:
        entry = objects.document(head, InvestigationLog)
        log.append(entry)
        head = entry.parent
    requests: dict[tuple[int, str], InvestigationRequest] = {}
    ended: list[tuple[InvestigationRequest, InvestigationStep | InvestigationAttempt]] = []
    for entry in reversed(log):
        event = entry.event
        key = (entry.analysis_revision, event.call_id)
        if isinstance(event, Opened):
            requests[key] = objects.document(event.request, InvestigationRequest)
        elif isinstance(event, Answered):
            ended.append((requests[key], objects.document(event.step, InvestigationStep)))
        else:
            ended.append((requests[key], objects.document(event.attempt, InvestigationAttempt)))
    return ended


def _measure_call(
    objects: ObjectSource,
    request: InvestigationRequest,
    outcome: InvestigationStep | InvestigationAttempt,
    found: Measured,
) -> None:
    found.calls += 1
    for name, side in ((V13, found.v13), (V14, found.v14)):
        messages = messages_of(name, context_of(objects, request, name))
        side.message_bytes += sum(len(one["content"].encode()) for one in messages)
        side.request_bytes += len(transport_of(name, messages))
    if isinstance(outcome, InvestigationAttempt) and outcome.reply is None:
        found.lost += 1
        found.lost_codes[outcome.code] += 1
        return
    found.replies += 1
    assert outcome.reply is not None
    value, _ = read_reply(objects.get(outcome.reply), cut_off=False)
    found.v13.reply_bytes += len(encode_value(value))
    if isinstance(outcome, InvestigationAttempt):
        found.v13.refuse(outcome.code)
    projected = encode_value(project(msgspec.convert(value, ReplyV13)))
    found.v14.reply_bytes += len(projected)
    verdict = judge(contract_named(V14), projected, subject_of(request), past_of(objects, request))
    if isinstance(verdict, Refusal):
        found.v14.refuse(verdict.code)
