"""The measurement on the shipped corpus, against figures computed here by other code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from vstore.investigation.measure import Measured, measure, total
from vstore.investigation.rejection import CODES
from vstore.package.reader import PackageReader
from vstore.testing.measurement_corpus import build_packages, corpus, main
from vstore.verify import verify_package


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return build_packages(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="module")
def measured(packages: list[Path]) -> dict[str, Measured]:
    found = {}
    for path in packages:
        with PackageReader.open(path) as reader:
            found[path.name] = measure(reader.pinned())
    return found


def canonical(value: Any) -> bytes:
    """Canonical JSON by the standard library; no name in the corpus is past ASCII."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def replies(name: str) -> list[dict[str, Any]]:
    """The replies of a case that were kept: all but those that failed JSON or schema."""
    unreadable = {"INVESTIGATION_REPLY_SCHEMA", "INVESTIGATION_REPLY_JSON",
                  "INVESTIGATION_REPLY_TRUNCATED"}  # fmt: skip
    return [one["reply"] for one in corpus()[name]["calls"] if one["v13"] not in unreadable]


def without_repetitions(reply: dict[str, Any]) -> dict[str, Any]:
    """The v14 form, cut out of the v13 form member by member."""
    value = json.loads(json.dumps(reply))
    if value["assessment"]:
        value["assessment"].pop("evidence_refs")
    for name in ("evidence_refs", "causal_review", "note"):
        value["update"].pop(name)
    brief = value["update"]["working_brief"]
    log = brief.pop("changes")
    brief["format_version"] = 2
    brief["retired"] = [
        {"id": one["id"], "reason": one["reason"]} for one in log if one["change"] == "removed"
    ]
    reasons = {one["id"]: one["reason"] for one in log if one["change"] == "changed"}
    for one in brief["findings"]:
        if one["id"] in reasons:
            one["revision_reason"] = reasons[one["id"]]
    return value


def test_the_corpus_is_labelled_and_large_enough() -> None:
    cases = corpus()
    assert {one["language"] for one in cases.values()} == {"de", "en"}
    for one in cases.values():
        assert one["label"].startswith("Synthetic:")
    calls = [call for one in cases.values() for call in one["calls"]]
    assert len(calls) == 26
    assert sum(len(replies(name)) for name in cases) == 23
    assert {call["v13"] for call in calls} | {call["v14"] for call in calls} - {None} == {
        *CODES,
        None,
    }
    # A tool decision of every kind.
    kinds = {call["reply"]["next"]["kind"] for call in calls if "reply" in call}
    assert kinds == {"query", "test", "finish"}


def test_the_packages_verify_and_every_call_came_out_as_written_down(
    packages: list[Path], measured: dict[str, Measured]
) -> None:
    for path in packages:
        assert verify_package(path).exit_code == 0
        calls = corpus()[path.name]["calls"]
        found = measured[path.name]
        unreadable = found.lost_codes
        refused = [one["v13"] for one in calls if one["v13"]]
        assert sorted((found.v13.codes + unreadable).elements()) == sorted(refused)
        assert sorted(found.v14.codes.elements()) == sorted(
            one["v14"] for one in calls if one["v14"]
        )


def test_reply_bytes_are_those_computed_independently(measured: dict[str, Measured]) -> None:
    for name, found in measured.items():
        kept = replies(name)
        assert found.replies == len(kept)
        assert found.v13.reply_bytes == sum(len(canonical(one)) for one in kept)
        assert found.v14.reply_bytes == sum(
            len(canonical(without_repetitions(one))) for one in kept
        )


def test_the_result_that_the_documentation_states(measured: dict[str, Measured]) -> None:
    value = total(list(measured.values())).value()
    assert (value["calls"], value["replies"], value["not_reconstructable"]) == (26, 23, 3)
    assert (value["v13"]["reply_bytes"], value["v14"]["reply_bytes"]) == (31_626, 22_658)
    assert value["reply_bytes_saved_per_10000"] == 2835
    assert (value["v13"]["rejections"], value["v14"]["rejections"]) == (10, 7)
    page = Path(__file__).parents[3] / "docs/explanation/measuring-contracts.md"
    text = page.read_text(encoding="utf-8")
    for number in (
        value["v13"]["reply_bytes"],
        value["v14"]["reply_bytes"],
        value["v13"]["message_bytes"],
        value["v14"]["message_bytes"],
        value["v13"]["request_bytes"],
        value["v14"]["request_bytes"],
    ):
        assert f"{number:,}" in text
    assert "28.35 %" in text


def test_lost_replies_are_counted_as_such(measured: dict[str, Measured]) -> None:
    whole = total(list(measured.values()))
    assert whole.lost == 3
    assert set(whole.lost_codes) == {
        "INVESTIGATION_REPLY_SCHEMA",
        "INVESTIGATION_REPLY_JSON",
        "INVESTIGATION_REPLY_TRUNCATED",
    }
    # They are in neither side's rejections nor bytes; their requests are counted.
    assert whole.v13.rejections + whole.lost == sum(
        1 for one in corpus().values() for call in one["calls"] if call["v13"]
    )


def test_the_unexplained_change_of_direction_stays_refused(measured: dict[str, Measured]) -> None:
    assert measured["sqlite-utils-592"].v14.codes["INVESTIGATION_BRIEF_REVISION"] == 1


def test_measuring_twice_gives_the_same(packages: list[Path], tmp_path: Path) -> None:
    assert main([str(tmp_path / "again")]) == 0
    assert main([]) == 2
    for path in packages:
        with (
            PackageReader.open(path) as one,
            PackageReader.open(tmp_path / "again" / path.name) as other,
        ):
            assert one.pinned().generation_id == other.pinned().generation_id
            assert measure(one.pinned()) == measure(other.pinned())


def test_v14_calls_are_not_measured(tmp_path: Path) -> None:
    from vstore.testing.calls import small_calls

    small_calls(tmp_path / "package", tmp_path).close()
    with PackageReader.open(tmp_path / "package") as reader:
        found = measure(reader.pinned())
    assert (found.calls, found.replies, found.v13.rejections, found.v14.rejections) == (2, 2, 1, 0)


def test_a_package_without_calls(tmp_path: Path) -> None:
    from vstore.testing.investigation import Investigation

    one = Investigation(tmp_path / "package", tmp_path)
    one.begin()
    one.close()
    with PackageReader.open(tmp_path / "package") as reader:
        value = measure(reader.pinned()).value()
    assert (value["calls"], value["reply_bytes_saved_per_10000"]) == (0, 0)
