"""How refs stand to the log: the table of the recovery rules, row by row."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from vstore.errors import InvalidError, StorageError
from vstore.objects.ids import ObjectId, object_id
from vstore.objects.refs import (
    GENERATION,
    BadRef,
    check_ref_name,
    classify,
    decode_ref,
    encode_ref,
    read_refs,
    ref_path,
    stray_refs,
)


def oid(name: str) -> ObjectId:
    return object_id(name.encode())


#: Three generations; ``new`` appears in the last, ``old`` goes away in the last.
G1 = {GENERATION: oid("g1"), "index": oid("i1"), "old": oid("o1")}
G2 = {GENERATION: oid("g2"), "index": oid("i2"), "old": oid("o1")}
G3 = {GENERATION: oid("g3"), "index": oid("i3"), "new": oid("n3")}
EARLIER = [G2, G1]

EMPTY, ZEROS, BAD = BadRef("empty"), BadRef("zeros"), BadRef("malformed")


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        (b"", EMPTY),
        (bytes(1), ZEROS),
        (bytes(68), ZEROS),
        (bytes(69), BAD),
        (encode_ref(oid("x")), oid("x")),
        (encode_ref(oid("x"))[:-1], BadRef("cut", str(oid("x")))),
        (encode_ref(oid("x"))[:9] + bytes(59), BadRef("cut", str(oid("x"))[:9])),
        (b"b", BadRef("cut", "b")),
        (b"c", BAD),
        (encode_ref(oid("x")).upper(), BAD),
        (encode_ref(oid("x")) + b"\n", BAD),
        (encode_ref(oid("x"))[3:], BAD),
        (b"b3:" + b"g" * 64 + b"\n", BAD),
        (b"b3:" + b"0" * 20 + b"\0" + b"0" * 43 + b"\n", BAD),
        ("b3:é".encode(), BAD),
    ],
)
def test_what_a_ref_file_says(raw: bytes, value: ObjectId | BadRef) -> None:
    assert decode_ref(raw) == value


def test_reading_the_folder(tmp_path: Path) -> None:
    assert read_refs(tmp_path) == {}
    assert stray_refs(tmp_path) == []
    folder = tmp_path / "refs"
    folder.mkdir()
    ref_path(tmp_path, "generation").write_bytes(encode_ref(oid("g")))
    (folder / "index").write_bytes(b"")
    (folder / "endless").write_bytes(b"b3:" + b"0" * 100_000)
    (folder / "UPPER").write_bytes(b"")
    assert read_refs(tmp_path) == {"generation": oid("g"), "index": EMPTY, "endless": BAD}
    assert stray_refs(tmp_path) == ["UPPER"]


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "refs").mkdir()
    (tmp_path / "secret").write_bytes(encode_ref(oid("g")))
    (tmp_path / "refs/generation").symlink_to(tmp_path / "secret")
    with pytest.raises(StorageError):
        read_refs(tmp_path)


def test_too_many_refs(tmp_path: Path) -> None:
    (tmp_path / "refs").mkdir()
    for number in range(1001):
        (tmp_path / f"refs/r{number}").touch()
    with pytest.raises(StorageError) as caught:
        read_refs(tmp_path)
    assert caught.value.kind == "too_many_refs"


@pytest.mark.parametrize("name", ["", "A", "a/b", "../a", "a b", "a\n", "1a", "a" * 65, "."])
def test_bad_names(name: str) -> None:
    with pytest.raises(InvalidError):
        check_ref_name(name)


def test_all_current() -> None:
    assert classify(G3, G3, EARLIER) == dict.fromkeys(G3, "current")
    assert classify({}, {}, []) == {}


@pytest.mark.parametrize(
    ("changes", "states"),
    [
        # The value of an earlier publication.
        ({"index": G2["index"]}, {"index": "lagging"}),
        ({"index": G1["index"]}, {"index": "lagging"}),
        ({GENERATION: G1[GENERATION]}, {GENERATION: "lagging"}),
        # Unsynced content.
        ({"index": EMPTY}, {"index": "lagging"}),
        ({"index": ZEROS}, {"index": "lagging"}),
        ({GENERATION: EMPTY}, {GENERATION: "lagging"}),
        ({"index": BadRef("cut", str(G3["index"])[:20])}, {"index": "lagging"}),
        ({"index": BadRef("cut", str(G1["index"])[:20])}, {"index": "lagging"}),
        # Absent from the generation that refs/generation names.
        ({"new": None, GENERATION: G2[GENERATION]}, {"new": "lagging", GENERATION: "lagging"}),
        ({"new": None, GENERATION: G1[GENERATION]}, {"new": "lagging", GENERATION: "lagging"}),
        ({"new": None, GENERATION: EMPTY}, {"new": "lagging", GENERATION: "lagging"}),
        ({"new": None, GENERATION: ZEROS}, {"new": "lagging", GENERATION: "lagging"}),
        # Not yet removed.
        ({"old": G2["old"]}, {"old": "lagging"}),
        ({"old": EMPTY}, {"old": "lagging"}),
        # Missing otherwise.
        ({"new": None}, {"new": "missing"}),
        ({"index": None}, {"index": "missing"}),
        ({GENERATION: None}, {GENERATION: "missing"}),
        ({"index": None, GENERATION: G2[GENERATION]}, {"index": "missing", GENERATION: "lagging"}),
        ({"index": None, GENERATION: EMPTY}, {"index": "missing", GENERATION: "lagging"}),
        ({"new": None, GENERATION: None}, {"new": "missing", GENERATION: "missing"}),
        ({"new": None, GENERATION: BAD}, {"new": "missing", GENERATION: "foreign"}),
        ({"new": None, GENERATION: oid("?")}, {"new": "missing", GENERATION: "foreign"}),
        # Foreign.
        ({"index": oid("?")}, {"index": "foreign"}),
        ({"index": G2["old"]}, {"index": "foreign"}),
        ({"index": BAD}, {"index": "foreign"}),
        ({"index": BadRef("cut", "b3:" + "0" * 20)}, {"index": "foreign"}),
        ({GENERATION: oid("g4")}, {GENERATION: "foreign"}),
        ({"extra": oid("?")}, {"extra": "foreign"}),
        ({"extra": EMPTY}, {"extra": "foreign"}),
        ({"old": oid("?")}, {"old": "foreign"}),
    ],
)
def test_one_ref_differs(
    changes: dict[str, ObjectId | BadRef | None], states: dict[str, str]
) -> None:
    actual = {name: value for name, value in {**G3, **changes}.items() if value is not None}
    wanted = {**dict.fromkeys(G3, "current"), **states}
    assert classify(actual, G3, EARLIER) == wanted


def test_the_first_publication_interrupted() -> None:
    # refs/generation is there, empty, from the creation of the package: its absence is a
    # deletion, in a package with one generation as in any other.
    assert classify({}, G1, []) == dict.fromkeys(G1, "missing")
    some = {"index": G1["index"]}
    assert classify(some, G1, []) == {GENERATION: "missing", "index": "current", "old": "missing"}
    assert classify({GENERATION: EMPTY, **some}, G1, []) == {
        GENERATION: "lagging",
        "index": "current",
        "old": "lagging",
    }
    # refs/generation is written last: the others were there before it had its value.
    assert classify({GENERATION: G1[GENERATION]}, G1, []) == {
        GENERATION: "current",
        "index": "missing",
        "old": "missing",
    }
    assert classify({GENERATION: EMPTY}, G1, []) == {
        GENERATION: "lagging",
        "index": "lagging",
        "old": "lagging",
    }


def test_refs_of_a_log_without_publications() -> None:
    assert classify({GENERATION: oid("g")}, {}, []) == {GENERATION: "foreign"}
    assert classify({GENERATION: EMPTY}, {}, []) == {GENERATION: "current"}
    assert classify({"index": EMPTY}, {}, []) == {"index": "foreign"}


def test_earlier_generations_are_read_only_as_far_as_needed() -> None:
    taken = []

    def earlier():
        for one in EARLIER:
            taken.append(one)
            yield one

    classify(G3, G3, earlier())
    assert taken == []
    classify({**G3, "index": G2["index"]}, G3, earlier())
    assert taken == [G2]


def test_whatever_a_power_cut_leaves_of_a_new_file_lags(tmp_path: Path) -> None:
    # One unsynced write to a new file: lost, whole or cut anywhere, with zeros behind or not.
    (tmp_path / "refs").mkdir()
    for value in (G1["index"], G2["index"], G3["index"]):
        whole = f"{value}\n".encode("ascii")
        for arrived in range(len(whole) + 1):
            for content in (whole[:arrived], whole[:arrived].ljust(len(whole), b"\0")):
                ref_path(tmp_path, "index").write_bytes(content)
                states = classify({**G3, **read_refs(tmp_path)}, G3, EARLIER)
                wanted = "current" if content == f"{G3['index']}\n".encode("ascii") else "lagging"
                assert states == {**dict.fromkeys(G3, "current"), "index": wanted}, content


def test_a_mixture_of_values_is_foreign(tmp_path: Path) -> None:
    # No file of a ref is written twice. If mixtures lagged, then of enough generations any digest.
    (tmp_path / "refs").mkdir()
    values = [f"{one['index']}\n".encode("ascii") for one in (G1, G2, G3)]
    seen = 0
    for begin, middle, end in itertools.product(values, repeat=3):
        for one, other in itertools.combinations_with_replacement(range(3, 69, 3), 2):
            for zeros in (0, 1, 20):
                mixture = begin[:one] + middle[one:other] + end[other:]
                mixture = mixture[: 68 - zeros].ljust(68, b"\0")
                # Where the values agree by chance a mixture may still be one of them, cut or whole.
                if any(whole.startswith(mixture.rstrip(b"\0")) for whole in values):
                    continue
                ref_path(tmp_path, "index").write_bytes(mixture)
                assert classify({**G3, **read_refs(tmp_path)}, G3, EARLIER)["index"] == "foreign"
                seen += 1
    assert seen > 5000
