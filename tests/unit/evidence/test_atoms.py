"""Atoms equal their definition, computed here by other libraries from the plain items."""

import json

import msgspec
import pytest
import rfc8785
from blake3 import blake3

from vstore.errors import InvalidError
from vstore.evidence.atoms import atoms
from vstore.evidence.content import items, normalise
from vstore.evidence.documents import TestFact, TestObservation, TestScope
from vstore.objects.ids import ObjectId, object_id
from vstore.objects.text import RawText
from vstore.testing.evidence_samples import (
    file_item,
    line,
    lines_content,
    ok_result,
    row,
    scope,
    table,
)
from vstore.tools.request import SourceSearch
from vstore.tools.values import BigInteger, Blob, LargeText, Real

change = msgspec.structs.replace


def plain(item):
    return json.loads(msgspec.json.encode(item, enc_hook=str))


def by_definition(content):
    return [
        blake3(
            rfc8785.dumps(
                {
                    "schema": "atom-v1",
                    "kind": content.kind,
                    "scope": str(content.scope.content),
                    "coverage": content.coverage.kind,
                    "item": plain(item),
                }
            )
        ).hexdigest()
        for item in items(content)
    ]


CONTENTS = [
    ok_result(
        [
            line('we"ird\\ %d %b\x01 é.py', 1, 'a "quoted" \\ %s\ttext\r'),
            line(b"\xff/%", 7, b"\xfe%"),
            line("long.py", 2**40, "\U0001f600" * 2000),
        ]
    ),
    ok_result([file_item("a%d"), file_item(b"\xff", 2**53 - 1)]),
    ok_result(
        [
            row("t", 3, [("id", 1), ("name", None), (RawText("ff"), Real("-0.0"))]),
            row("t", 4, [("id", BigInteger("9007199254740993")), ("b", Blob("00"))]),
            row("u", 0, [("x", LargeText(ObjectId.parse("0" * 64), 5000)), ("x", "twice")]),
            row("v", 1, []),
        ]
    ),
    ok_result([table("a", ["x", "y"]), table("b")], coverage="partial"),
    ok_result([]),
]


@pytest.mark.parametrize("result", CONTENTS)
def test_atoms_equal_their_definition(result):
    content = normalise(result)[0]
    assert atoms(content) == by_definition(content)
    assert len(set(atoms(content))) == len(atoms(content))


def test_the_atom_of_a_line_is_this_very_value():
    content = lines_content(("a.py", 1, "x = 1"), of=scope(ObjectId.parse("0" * 64))).document
    file = object_id(b"a.py")
    expected = (
        '{"coverage":"complete","item":{"file":"' + file + '","line":1,"path":"a.py",'
        '"text":"x = 1"},"kind":"source_lines","schema":"atom-v1","scope":"b3:' + "0" * 64 + '"}'
    )
    assert atoms(content) == [blake3(expected.encode()).hexdigest()]


def test_equal_content_pinned_under_another_name_origin_or_statement_mints_nothing():
    one = lines_content(("a", 1, "x"), of=scope(name="app", label="1.0")).document
    other = lines_content(("a", 1, "x"), of=scope(name="copy", label="2.0")).document
    other = change(other, coverage=change(other.coverage, statement="as dumped on Monday"))
    assert one != other
    assert atoms(one) == atoms(other)


def test_another_snapshot_or_coverage_makes_other_atoms():
    one = lines_content(("a", 1, "x")).document
    other = lines_content(("a", 1, "x"), of=scope(object_id(b"other"))).document
    partial = lines_content(("a", 1, "x"), coverage="partial").document
    assert len({*atoms(one), *atoms(other), *atoms(partial)}) == 3


def test_a_search_hit_and_a_line_of_an_excerpt_are_one_item():
    hit = ok_result([line("a", 2, "needle")])
    excerpt = change(
        ok_result([line("a", at, text) for at, text in ((1, "x"), (2, "needle"), (3, "y"))]),
        operation="source.read",
    )
    assert atoms(normalise(hit)[0])[0] in atoms(normalise(excerpt)[0])


def test_grouping_and_the_question_are_outside_an_atom():
    both = atoms(lines_content(("a", 1, "x"), ("b", 1, "x")).document)
    apart = atoms(lines_content(("a", 1, "x")).document) + atoms(
        lines_content(("b", 1, "x")).document
    )
    assert both == apart


def test_another_projection_of_a_row_is_another_atom():
    wide = normalise(ok_result([row("t", 0, [("id", 1), ("n", 2)])]))[0]
    narrow = normalise(ok_result([row("t", 0, [("id", 1)])]))[0]
    assert atoms(wide) != atoms(narrow)


def test_an_empty_content_has_no_atoms():
    assert atoms(normalise(ok_result([], sought=SourceSearch(source="a", pattern="x")))[0]) == []


@pytest.mark.parametrize("missing", ["scope", "coverage"])
def test_a_content_without_scope_or_coverage_has_no_atoms(missing):
    with pytest.raises(InvalidError):
        atoms(change(lines_content(("a", 1, "x")).document, **{missing: None}))


def observed(*observations, environment=(("os", "Debian"),), executor="human"):
    return change(
        lines_content(("a", 1, "x")).document,
        kind="test_observations",
        scope=None,
        coverage=None,
        lines=None,
        tested=TestScope(
            executor=executor,
            environment=[TestFact(name=name, value=value) for name, value in environment],
        ),
        observations=[
            TestObservation(asked=asked, observed=text, attachments=list(attachments))
            for asked, text, attachments in observations
        ],
    )


def test_the_atom_of_an_observation_is_this_very_value():
    log = object_id(b"log")
    expected = (
        '{"coverage":"complete","item":{"asked":"Which?","attachments":["' + log + '"],'
        '"observed":"none"},"kind":"test_observations","schema":"atom-v1","scope":'
        '{"environment":[{"name":"os","value":"Debian"}],"executor":"human"}}'
    )
    assert atoms(observed(("Which?", "none", [log]))) == [blake3(expected.encode()).hexdigest()]


def test_another_executor_or_environment_makes_other_atoms():
    one = ("Which?", "none", [])
    found = [
        *atoms(observed(one)),
        *atoms(observed(one, executor="automated")),
        *atoms(observed(one, environment=[("os", "Fedora")])),
        *atoms(observed(one, environment=[])),
    ]
    assert len(set(found)) == 4
    assert atoms(observed()) == []


def test_observations_without_a_test_have_no_atoms():
    with pytest.raises(InvalidError):
        atoms(change(observed(), tested=None))


def test_a_row_without_as_many_values_as_columns_is_refused():
    content = normalise(ok_result([row("t", 0, [("id", 1)])]))[0]
    bad = change(content, rows=[change(content.rows[0], columns=[])])
    with pytest.raises(InvalidError) as caught:
        atoms(bad)
    assert caught.value.kind == "invalid_content"
