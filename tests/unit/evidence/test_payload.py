"""A repeat is recognised by what was to be stored, whatever generation it was asked on."""

import json

import msgspec
import rfc8785
from blake3 import blake3

from vstore.evidence.content import envelope
from vstore.evidence.payload import feedback_payload, tool_payload
from vstore.objects.canonical import encode
from vstore.objects.ids import object_id
from vstore.testing.evidence_samples import line, ok_result, reply_of
from vstore.tools.request import (
    SOURCE_CONTRACT,
    QueryLimits,
    SourceSearch,
    ToolQuery,
    ToolRequest,
)

change = msgspec.structs.replace


def request(generation=b"g1", pattern="x"):
    return ToolRequest(
        case_id="C",
        package_id="P",
        analysis_revision=1,
        generation=object_id(generation),
        queries=[
            ToolQuery(
                hypothesis_id="H1",
                action_id="a1",
                contract=SOURCE_CONTRACT,
                limits=QueryLimits(),
                arguments=SourceSearch(source="app", pattern=pattern),
            )
        ],
    )


def digest(asked, text="x"):
    reply = change(
        reply_of(ok_result([line("a", 1, text)])),
        request=object_id(encode(asked)),
        generation=asked.generation,
    )
    return tool_payload(asked, envelope(reply.request, reply)[0])


def test_the_generation_binding_is_left_out():
    assert digest(request(b"g1")) == digest(request(b"g2"))


def test_everything_else_is_in():
    one = request()
    others = [
        digest(request(pattern="y")),
        digest(change(one, case_id="D")),
        digest(change(one, package_id="Q")),
        digest(change(one, analysis_revision=2)),
        digest(one, text="y"),
        digest(change(one, queries=one.queries * 2)),
    ]
    assert len({digest(one), *others}) == 7


def test_it_is_the_digest_of_this_document():
    asked = request()
    stored, _ = envelope(object_id(b"any"), reply_of(ok_result([line("a", 1, "x")])))
    value = {
        "schema": "evidence-payload-v1",
        **{
            name: member
            for name, member in json.loads(encode(asked)).items()
            if name in ("case_id", "package_id", "analysis_revision", "queries")
        },
        "results": json.loads(encode(stored))["results"],
    }
    assert tool_payload(asked, stored) == blake3(rfc8785.dumps(value)).hexdigest()


def test_a_feedback_is_its_own_payload():
    feedback = object_id(b"feedback")
    value = {"schema": "evidence-payload-v1", "feedback": str(feedback)}
    assert feedback_payload(feedback) == blake3(rfc8785.dumps(value)).hexdigest()
