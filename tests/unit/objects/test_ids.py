"""Object ids against the vectors of BLAKE3's authors."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vstore.errors import InvalidError
from vstore.objects.ids import ObjectId, digest_of, object_id

EMPTY = "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"


def test_blake3_vectors(vectors: Path) -> None:
    cases = json.loads((vectors / "blake3/test_vectors/test_vectors.json").read_bytes())["cases"]
    assert len(cases) == 35
    pattern = bytes(at % 251 for at in range(max(case["input_len"] for case in cases)))
    for case in cases:
        data = pattern[: case["input_len"]]
        expected = case["hash"][:64]
        assert object_id(data) == f"b3:{expected}"
        assert digest_of(data) == expected
        assert object_id(memoryview(data)) == object_id(bytearray(data)) == object_id(data)


def test_an_id_is_read_with_and_without_its_prefix() -> None:
    for oid in (
        ObjectId.parse(f"b3:{EMPTY}"),
        ObjectId.parse(EMPTY),
        ObjectId(EMPTY),
        ObjectId.from_bytes(bytes.fromhex(EMPTY)),
        object_id(b""),
    ):
        assert type(oid) is ObjectId
        assert oid == f"b3:{EMPTY}"
        assert oid.hex == EMPTY
        assert oid.to_bytes() == bytes.fromhex(EMPTY)
        assert hash(oid) == hash(f"b3:{EMPTY}")


def test_copies_stay_ids() -> None:
    oid = object_id(b"x")
    for again in (copy.copy(oid), copy.deepcopy(oid), pickle.loads(pickle.dumps(oid))):
        assert type(again) is ObjectId
        assert again == oid


@pytest.mark.parametrize(
    "text",
    [
        "",
        "b3:",
        EMPTY[:-1],
        EMPTY + "0",
        EMPTY.upper(),
        f"B3:{EMPTY}",
        f"b3:b3:{EMPTY}",
        f"b3:{EMPTY}\n",
        f" b3:{EMPTY}",
        f"b3:{EMPTY[:-1]}g",
        "b3:" + "\u0660" * 64,
        "0x" + EMPTY[2:],
        EMPTY[:31] + "_" + EMPTY[32:],
    ],
)
def test_anything_else_is_no_id(text: str) -> None:
    for make in (ObjectId, ObjectId.parse):
        with pytest.raises(InvalidError) as caught:
            make(text)
        assert caught.value.kind == "invalid_object_id"


@given(st.binary(max_size=70))
def test_ids_and_their_bytes(raw: bytes) -> None:
    if len(raw) == 32:
        assert ObjectId.from_bytes(raw).to_bytes() == raw
    else:
        with pytest.raises(InvalidError):
            ObjectId.from_bytes(raw)
