import pytest

from vstore.errors import InvalidError, LimitExceeded
from vstore.evidence.index import plan_publication
from vstore.evidence.limits import EvidenceLimits, check_limits, excesses
from vstore.evidence.state import EvidenceState
from vstore.testing.evidence_samples import draft, lines_content, payload

CONTENT = lines_content(*((f"{at}.py", 1, "x" * 100) for at in range(10)))
SOURCES = {"request": 300, "reply": 400}


@pytest.fixture
def publication():
    return plan_publication(
        EvidenceState.empty("C", "P"),
        revision=1,
        operation_id="one",
        payload=payload("one"),
        drafts=[draft(CONTENT, "a1"), draft(CONTENT, "a2")],
        source_bytes=700,
    )


def test_defaults_are_those_of_the_specification():
    limits = EvidenceLimits()
    assert limits.max_json_bytes == 4 * 1024 * 1024
    assert limits.max_records == 10_000
    assert limits.max_retained_bytes == 64 * 1024 * 1024


@pytest.mark.parametrize("name", ["max_json_bytes", "max_records", "max_retained_bytes"])
@pytest.mark.parametrize("value", [0, -1, True, 1.0, None, 2**53])
def test_limits_are_integers_from_1(name, value):
    with pytest.raises(InvalidError):
        EvidenceLimits(**{name: value})


def test_a_publication_within_its_limits_passes(publication):
    check_limits(EvidenceLimits(), publication, SOURCES)


def test_limits_hold_at_their_very_value(publication):
    largest = max(CONTENT.size, publication.records[0].size, publication.index.size, 400)
    tight = EvidenceLimits(
        max_json_bytes=largest, max_records=2, max_retained_bytes=publication.retained_bytes
    )
    check_limits(tight, publication, SOURCES)


@pytest.mark.parametrize(
    ("what", "sources"),
    [
        ("request", {"request": 4 << 20 | 1}),
        ("feedback", {"feedback": 4 << 20 | 1}),
    ],
)
def test_each_source_is_a_json_artifact(publication, what, sources):
    with pytest.raises(LimitExceeded) as caught:
        check_limits(EvidenceLimits(), publication, sources)
    assert caught.value.details == {
        "limit": "max_json_bytes",
        "value": 4 << 20,
        "asked": (4 << 20) + 1,
        "what": what,
    }


def test_every_artifact_is_measured(publication):
    found = list(excesses(EvidenceLimits(max_json_bytes=1), publication, SOURCES))
    assert [(one.what, one.asked) for one in found] == [
        ("request", 300),
        ("reply", 400),
        ("content of E000001", CONTENT.size),
        ("content of E000002", CONTENT.size),
        ("record E000001", publication.records[0].size),
        ("record E000002", publication.records[1].size),
        ("index", publication.index.size),
    ]
    assert {one.limit for one in found} == {"max_json_bytes"}


def test_the_batch_counts_as_a_whole(publication):
    with pytest.raises(LimitExceeded) as caught:
        check_limits(EvidenceLimits(max_records=1), publication, SOURCES)
    assert caught.value.details["limit"] == "max_records"
    assert (caught.value.details["value"], caught.value.details["asked"]) == (1, 2)


def test_retained_bytes_are_limited(publication):
    limits = EvidenceLimits(max_retained_bytes=publication.retained_bytes - 1)
    with pytest.raises(LimitExceeded) as caught:
        check_limits(limits, publication, SOURCES)
    assert caught.value.details["limit"] == "max_retained_bytes"
    assert caught.value.details["asked"] == publication.retained_bytes
