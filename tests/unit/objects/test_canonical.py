"""Canonical JSON of documents and plain values: against vectors, a library, and hostile bytes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import msgspec
import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from vstore.errors import InvalidError, LimitExceeded, UnsupportedError
from vstore.objects import canonical, plain_json
from vstore.objects.canonical import (
    decode,
    decode_document,
    decode_value,
    encode,
    encode_value,
    references,
    to_value,
)
from vstore.objects.document import Count, Document, Part
from vstore.objects.ids import ObjectId, object_id
from vstore.objects.text import Text
from vstore.objects.tree import Tree, TreeEntry

OID = object_id(b"")
LIMIT = 2**53 - 1


class Inner(Part, frozen=True, kw_only=True):
    name: Text
    refs: list[ObjectId]


class Sample(Document, tag="test-sample-v1", frozen=True, kw_only=True):
    b: Count
    a: str
    inner: Inner | None
    by_name: dict[Annotated[str, msgspec.Meta(pattern=r"^[a-z]+\Z")], ObjectId]


SAMPLE = Sample(b=1, a="é\u2028\x7f\x01", inner=Inner(name="n", refs=[OID]), by_name={"z": OID})
SAMPLE_BYTES = encode(SAMPLE)


def kind_of(call: Callable[[], object]) -> str:
    with pytest.raises(InvalidError) as caught:
        call()
    return caught.value.kind


# --- RFC 8785 -------------------------------------------------------------------------------


def test_rfc8785_vectors(vectors: Path) -> None:
    folder = vectors / "rfc8785" / "testdata"
    with_fractions = {"values"}
    with_floats = {"values", "structures"}  # one of which is the integer 56.0
    names = set()
    for file in sorted((folder / "input").iterdir()):
        names.add(file.stem)
        loose = file.read_bytes()
        expected = bytes.fromhex((folder / "outhex" / f"{file.stem}.txt").read_text())
        if file.stem in with_floats:
            assert outcome(loose, is_canonical=False) == "invalid_json"
        else:
            assert encode_value(decode_value(loose, canonical=False)) == expected
        if file.stem in with_fractions:
            assert outcome(expected, is_canonical=True) == "not_representable"
        else:
            assert decode_value(expected) == json.loads(loose)
        assert outcome(loose, is_canonical=True) != "read"
    assert names == {"arrays", "french", "structures", "unicode", "values", "weird"}


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-LIMIT, LIMIT)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=5)
    ),
    max_leaves=20,
)


@given(values)
def test_plain_values_equal_those_of_another_library(value: Any) -> None:
    data = encode_value(value)
    assert data == rfc8785.dumps(value)
    assert decode_value(data) == value
    spaced = json.dumps(value, indent=1).encode()
    assert decode_value(spaced, canonical=False) == value
    if spaced != data:
        assert kind_of(lambda: decode_value(spaced)) == "not_canonical"


@given(
    st.permutations(["\ud7ff", "\ue000", "\ufb33", "\uffff", "\U00010000", "\U0010ffff", "a", ""])
)
def test_members_are_sorted_by_utf16_units(names: list[str]) -> None:
    value = {name: dict.fromkeys(names, 1) for name in names}
    assert encode_value([value]) == rfc8785.dumps([value])
    assert decode_value(rfc8785.dumps(value)) == value
    by_code_point = json.dumps(
        dict.fromkeys(sorted(names), 0), ensure_ascii=False, separators=(",", ":")
    )
    assert kind_of(lambda: decode_value(by_code_point.encode())) == "not_canonical"


@given(st.text(st.characters(exclude_categories=["Cs"])), st.integers(0, LIMIT))
def test_documents_equal_those_of_another_library(text: str, number: int) -> None:
    sample = Sample(b=number, a=text, inner=Inner(name=text, refs=[OID, OID]), by_name={"z": OID})
    data = encode(sample)
    assert data == rfc8785.dumps(to_value(sample))
    assert decode(data, Sample) == sample
    assert type(decode(data, Sample).by_name["z"]) is ObjectId


# --- JSON parsing ---------------------------------------------------------------------------


def outcome(data: bytes, *, is_canonical: bool) -> str:
    """``read`` or the kind of the refusal; any other exception fails the test."""
    try:
        value = decode_value(data, canonical=is_canonical)
    except InvalidError as error:
        return error.kind
    # Whatever is read is within the subset: another library can write it.
    assert encode_value(value) == rfc8785.dumps(value)
    return "read"


@pytest.mark.parametrize("is_canonical", [False, True])
def test_json_parsing_vectors(vectors: Path, is_canonical: bool) -> None:
    files = sorted((vectors / "json-test-suite" / "test_parsing").iterdir())
    outcomes = {file.name: outcome(file.read_bytes(), is_canonical=is_canonical) for file in files}
    assert len(outcomes) == 318
    wrongly_read = [n for n, what in outcomes.items() if n.startswith("n_") and what == "read"]
    assert wrongly_read == []
    refused = {n for n, what in outcomes.items() if n.startswith("y_") and what != "read"}
    if is_canonical:
        # Some of the good ones happen to be canonical, and these are read.
        assert 95 - len(refused) == sum(
            _is_canonical(file.read_bytes()) for file in files if file.name.startswith("y_")
        )
        assert 95 - len(refused) > 10
    else:
        for name in refused:
            file = vectors / "json-test-suite" / "test_parsing" / name
            assert _outside_subset(file.read_bytes()), name
        assert len(refused) == 19


def _is_canonical(data: bytes) -> bool:
    try:
        return rfc8785.dumps(json.loads(data)) == data and not _outside_subset(data)
    except (ValueError, rfc8785.CanonicalizationError):
        return False


def _outside_subset(data: bytes) -> bool:
    """Has a number that is no plain integer, a duplicate member or half a surrogate pair."""
    found = []

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found.extend(pairs[1:] if len(dict(pairs)) < len(pairs) else [])
        return dict(pairs)

    value = json.loads(
        data,
        object_pairs_hook=members,
        parse_float=found.append,
        parse_int=lambda text: found.append(text) if text == "-0" else int(text),
    )
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return bool(found)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b" ",
        b"\xef\xbb\xbf{}",
        '{"a":1}'.encode("utf-16"),
        '{"a":1}'.encode("utf-16-le"),
        '{"a":1}'.encode("utf-32"),
        b"NaN",
        b"Infinity",
        b"-Infinity",
        b"[1,]",
        b"{}{}",
        b"{}\0",
        b"1.0",
        b"1e2",
        b"-0",
        b"0.1",
        b"1e999999999",
        b"9" * 5_000,
        b"-" + b"9" * 17,
        b'"\xed\xa0\x80"',
        b'"\xc0\x80"',
        b'"\xff"',
        b'"\\ud800"',
        b'"\\udc00\\ud800"',
        b'["\\ud83d"]',
        b'{"\\ud800":1}',
        b'"\x1f"',
        b'"\n"',
        b'{"a":1,"a":1}',
        b'{"a":1,"\\u0061":2}',
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b"]" * 100_000,
        b"'a'",
        b"01",
        b"+1",
        b"/* */1",
    ],
)
def test_hostile_values(data: bytes) -> None:
    for is_canonical in (True, False):
        assert outcome(data, is_canonical=is_canonical) != "read"
    for kind in (Sample, Inner, Tree):
        kind_of(lambda kind=kind: decode(data, kind))
        kind_of(lambda kind=kind: decode(b'{"a":' + data, kind))
    kind_of(lambda: decode_document(data))
    kind_of(lambda: decode_document(b'{"schema":' + data))
    kind_of(lambda: references(data, Sample))


@given(st.binary(max_size=40) | st.text('[]{}":,\\0-9aeu dT.', max_size=40).map(str.encode))
def test_no_other_exception_comes_out(data: bytes) -> None:
    """And what the loose reader takes, a plain parser reads alike."""
    if outcome(data, is_canonical=False) == "read":
        assert decode_value(data, canonical=False) == json.loads(data)
    if outcome(data, is_canonical=True) == "read":
        assert rfc8785.dumps(json.loads(data)) == data
    for call in (
        lambda: decode(data, Sample),
        lambda: decode_document(data),
        lambda: references(data, Sample),
    ):
        with pytest.raises((InvalidError, UnsupportedError)):
            call()


@pytest.mark.parametrize("is_canonical", [False, True])
@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"a":', b"}")])
def test_depth(opening: bytes, closing: bytes, is_canonical: bool) -> None:
    def nested(depth: int) -> bytes:
        core = b"0"
        return opening * depth + core + closing * depth

    assert outcome(nested(64), is_canonical=is_canonical) == "read"
    for depth in (65, 66, 1_000, 100_000):
        assert outcome(nested(depth), is_canonical=is_canonical) == "too_deep"
    # Brackets that are side by side, or in strings, nest nothing.
    assert outcome(b"[" + b"[]," * 99 + b"[]]", is_canonical=is_canonical) == "read"
    for text in ("[" * 99, '"' * 9 + "[" * 99, "\\" * 7 + "{" * 99, '\\"[' * 99, "\\\\" + "[" * 99):
        data = encode_value([[[]] * 70, text, [[]] * 70, text])
        assert outcome(data, is_canonical=is_canonical) == "read"
    # A quote after a pair of backslashes closes its string.
    for text in ("\\", "\\\\", 'a"\\', "\\[\\"):
        data = encode_value([[[]] * 70, text, "[" * 99])
        assert outcome(data, is_canonical=is_canonical) == "read"
    # And a string doesn't hide those behind it.
    for text in ("", "\\", '\\"', '"', "[[", "]]]]"):
        data = b'["' + json.dumps(text).encode()[1:] + b"," + nested(64) + b"]"
        assert outcome(data, is_canonical=is_canonical) == "too_deep"


def test_depth_is_refused_before_anything_is_parsed() -> None:
    plain_json._check_depth(b"[" * 64)
    plain_json._check_depth(b"[" * 64 + b"]{" * 99)
    for data in (b"[" * 65, b"[" * 64 + b"]{{", b'["\\\\"' + b"{" * 64):
        with pytest.raises(InvalidError) as caught:
            plain_json._check_depth(data)
        assert caught.value.kind == "too_deep"


def test_depth_of_values() -> None:
    value: Any = 0
    for _ in range(64):
        value = [value]
    assert encode_value(value) == b"[" * 64 + b"0" + b"]" * 64
    assert kind_of(lambda: encode_value([value])) == "too_deep"
    assert kind_of(lambda: encode_value({"a": value})) == "too_deep"
    endless: list[Any] = []
    endless.append(endless)
    assert kind_of(lambda: encode_value(endless)) == "too_deep"


@pytest.mark.parametrize(
    "value",
    [
        1.0,
        float("nan"),
        float("inf"),
        LIMIT + 1,
        -LIMIT - 1,
        10**400,
        "\ud800",
        {"\udfff": 1},
        {1: 1},
        {None: 1},
        {b"a": 1},
        b"bytes",
        {1, 2},
        object(),
        type("Text", (str,), {})("a"),
        Path("a"),
    ],
)
def test_values_outside_the_subset(value: object) -> None:
    for whole in (value, [value], {"a": [value]}):
        assert kind_of(lambda whole=whole: encode_value(whole)) == "not_representable"


def test_edges_of_the_subset() -> None:
    for value in (LIMIT, -LIMIT, 0, True, False, None, "", "\x00\x1f\x7f\u2028/", [], {}):
        data = encode_value(value)
        assert data == rfc8785.dumps(value)
        assert decode_value(data) == value
        assert decode_value(b" " + data + b"\n", canonical=False) == value
    assert encode_value((1, (2,))) == b"[1,[2]]"
    assert encode_value({"id": OID, OID: 1}) == rfc8785.dumps({"id": str(OID), str(OID): 1})
    for data in (b"9007199254740992", b"-9007199254740992"):
        assert outcome(data, is_canonical=True) == "not_representable"
        assert outcome(data, is_canonical=False) in ("not_representable", "invalid_json")


def test_size_limits_come_first() -> None:
    calls: list[Callable[[int], object]] = [
        lambda limit: decode_value(b"[{}]", max_bytes=limit),
        lambda limit: decode_value(b"[{}]", max_bytes=limit, canonical=False),
        lambda limit: decode(b"[{}]", list[dict[str, int]], max_bytes=limit),
    ]
    for call in calls:
        assert call(4) == [{}]
        with pytest.raises(LimitExceeded) as caught:
            call(3)
        assert caught.value.details == {"limit": "max_bytes", "value": 3, "asked": 4}
    with pytest.raises(LimitExceeded):
        decode_document(b"not even JSON", max_bytes=3)
    tree = encode(Tree(entries=[]))
    assert decode_document(tree, max_bytes=len(tree)) == Tree(entries=[])


# --- documents ------------------------------------------------------------------------------


def test_one_byte_form_per_document() -> None:
    assert decode(SAMPLE_BYTES, Sample) == SAMPLE
    value = json.loads(SAMPLE_BYTES)
    spaced = json.dumps(value, sort_keys=True).encode()
    unsorted = json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
    twice = SAMPLE_BYTES.replace(b'"b":1', b'"b":1,"b":1')
    first_wins = SAMPLE_BYTES.replace(b'"b":1', b'"b":2,"b":1')
    escaped = SAMPLE_BYTES.replace("é".encode(), b"\\u00e9")
    no_schema = SAMPLE_BYTES.replace(b',"schema":"test-sample-v1"', b"")
    reversed_members = json.dumps(
        dict(reversed(value.items())), separators=(",", ":"), ensure_ascii=False
    ).encode()
    for data in (
        spaced,
        twice,
        first_wins,
        escaped,
        no_schema,
        reversed_members,
        SAMPLE_BYTES + b"\n",
        b" " + SAMPLE_BYTES,
    ):
        assert data != SAMPLE_BYTES
        assert kind_of(lambda data=data: decode(data, Sample)) == "not_canonical", data
    assert unsorted == SAMPLE_BYTES
    assert kind_of(lambda: decode(SAMPLE_BYTES.replace(b":1", b":1.0"), Sample)) in (
        "not_canonical",
        "invalid_document",
    )


@pytest.mark.parametrize(
    ("old", "new", "pointer"),
    [
        (b'"b":1', b'"b":-1', "$.b"),
        (b'"b":1', b'"b":9007199254740992', "$.b"),
        (b'"b":1', b'"b":1e400', "$.b"),
        (b'"b":1', b'"b":"1"', "$.b"),
        (b'"b":1', b'"b":1,"c":2', "$"),
        (b'"b":1', b'"b":1,"$.evil - at `$.x":2', "$.x"),
        (b'"b":1', b'"b":1,"\\u001b[31m":2', "$"),
        (b'"b":1,', b"", "$"),
        (b"b3:", b"B3:", "$.by_name[...]"),
        (str(OID).encode() + b'"]', b'b3:zz"]', "$.inner.refs[0]"),
        (b'"' + str(OID).encode() + b'"]', b"{}]", "$.inner.refs[0]"),
        (b'"z"', b'"Z"', "$.by_name"),
        (b'"name":"n"', b'"name":{"hex":"61","type":"other"}', "$.inner.name.type"),
        (b'"n"', b'{"hex":"6","type":"bytes"}', "$.inner.name.hex"),
        (b"test-sample-v1", b"tree-v1", "$.schema"),
        (b"test-sample-v1", b"not a schema", "$.schema"),
    ],
)
def test_invalid_documents_are_named_without_their_text(
    old: bytes, new: bytes, pointer: str
) -> None:
    data = SAMPLE_BYTES.replace(old, new, 1)
    assert data != SAMPLE_BYTES
    with pytest.raises(InvalidError) as caught:
        decode(data, Sample)
    error = caught.value
    assert error.kind == "invalid_document"
    assert str(error) == "test-sample-v1 is not valid"
    assert error.details == {"pointer": pointer}


def test_documents_of_unknown_schemas_are_unsupported() -> None:
    newer = SAMPLE_BYTES.replace(b"test-sample-v1", b"test-sample-v2")
    for data in (newer, newer.replace(b'"a":', b'"A":1,"a":')):
        for call in (lambda d=data: decode(d, Sample), lambda d=data: decode_document(d)):
            with pytest.raises(UnsupportedError) as caught:
                call()
            assert caught.value.kind == "unsupported_schema"
            assert caught.value.details == {"schema": "test-sample-v2"}
    for name in ('"x"', '"\\u001b[0m-v1"', '""', "5", "null", '"' + "a" * 99 + '-v1"'):
        data = b'{"schema":' + name.encode() + b"}"
        assert kind_of(lambda d=data: decode_document(d)) == "invalid_document"
    assert kind_of(lambda: decode_document(b"[]")) == "invalid_document"
    assert kind_of(lambda: decode_document(b"{")) == "invalid_json"


def test_a_document_is_read_by_its_schema() -> None:
    tree = Tree(entries=[TreeEntry(name="a", kind="file", object=OID, size=0, executable=False)])
    assert decode_document(encode(tree)) == tree
    assert kind_of(lambda: decode_document(encode(tree) + b" ")) == "not_canonical"


def test_what_has_no_json_form_is_refused_in_writing() -> None:
    for bad in (
        Sample(b=1, a="\ud800", inner=None, by_name={}),
        Sample(b=1, a="", inner=None, by_name={"\udfff": OID}),
        Sample(b=object(), a="", inner=None, by_name={}),  # type: ignore[arg-type]
        Sample(b=10**30, a=Path("x"), inner=None, by_name={}),  # type: ignore[arg-type]
    ):
        assert kind_of(lambda bad=bad: encode(bad)) == "not_representable"


def test_references_in_the_order_of_members() -> None:
    first, second = object_id(b"1"), object_id(b"2")
    sample = Sample(b=0, a=str(OID), inner=Inner(name="", refs=[second]), by_name={"a": first})
    assert references(encode(sample), Sample) == [first, second]
    assert {type(one) for one in references(encode(sample), Sample)} == {ObjectId}
    assert kind_of(lambda: references(b'{"by_name":{"a":"b3:"}}', Sample)) == "invalid_document"


def test_plain_values_of_documents() -> None:
    value = to_value(SAMPLE)
    assert value == json.loads(SAMPLE_BYTES)
    assert type(value["by_name"]["z"]) is str


def test_a_type_without_a_hook_is_a_mistake_of_ours() -> None:
    class Wrong(Part, frozen=True, kw_only=True):
        value: complex

    with pytest.raises(NotImplementedError):
        decode(b'{"value":"1"}', Wrong)


def test_the_module_keeps_its_names() -> None:
    for name in canonical.__all__:
        assert hasattr(canonical, name)


@pytest.mark.parametrize(
    ("text", "pointer", "hint"),
    [
        ('{"schema":"test-sample-v1"}', "$", "the member b is missing"),
        (
            '{"a":"","b":1,"by_name":{},"inner":{"name":"n"},"schema":"test-sample-v1"}',
            "$.inner",
            "the member refs is missing",
        ),
        # What a document says stays out of it.
        (
            '{"a":"Object missing required field `evil`","b":"x","schema":"test-sample-v1"}',
            "$.b",
            None,
        ),
    ],
    ids=["whole", "part", "quoted"],
)
def test_a_missing_member_is_named(text: str, pointer: str, hint: str | None) -> None:
    with pytest.raises(InvalidError) as caught:
        canonical.decode(text.encode(), Sample)
    assert caught.value.kind == "invalid_document"
    assert caught.value.details["pointer"] == pointer
    assert caught.value.hint == hint
