"""What makes a repeated operation recognisable: a digest of what was to be stored.

The generation binding is left out, so that the same answer asked again on a later
generation is the same payload (spec: evidence, "Idempotence"). It is computed from what a
package stores, the request and the envelope, so a verifier needs no content for it.
"""

from __future__ import annotations

from vstore.objects.canonical import encode
from vstore.objects.document import Part
from vstore.objects.ids import Digest, ObjectId, digest_of
from vstore.tools.reply import EnvelopeResult, ReplyEnvelope
from vstore.tools.request import ToolQuery, ToolRequest

__all__ = ["feedback_payload", "tool_payload"]


class _ToolPayload(Part, tag="evidence-payload-v1", tag_field="schema", frozen=True, kw_only=True):
    case_id: str
    package_id: str
    analysis_revision: int
    queries: list[ToolQuery]
    results: list[EnvelopeResult]


class _FeedbackPayload(
    Part, tag="evidence-payload-v1", tag_field="schema", frozen=True, kw_only=True
):
    feedback: ObjectId


def tool_payload(request: ToolRequest, envelope: ReplyEnvelope) -> Digest:
    """The payload digest of a batch of tool results.

    The BLAKE3 digest of canonical ``{schema: "evidence-payload-v1", case_id, package_id,
    analysis_revision, queries, results}``: queries of the request, results of the envelope
    (which commit to the contents by id).
    """
    return digest_of(
        encode(
            _ToolPayload(
                case_id=request.case_id,
                package_id=request.package_id,
                analysis_revision=request.analysis_revision,
                queries=request.queries,
                results=envelope.results,
            )
        )
    )


def feedback_payload(feedback: ObjectId) -> Digest:
    """The payload digest of one confirmed test feedback.

    The BLAKE3 digest of canonical ``{schema: "evidence-payload-v1", feedback}``.
    """
    return digest_of(encode(_FeedbackPayload(feedback=feedback)))
