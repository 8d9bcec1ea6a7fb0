from __future__ import annotations

import pytest

from vstore.errors import InvalidError
from vstore.handoff.attachments import (
    StoredAttachment,
    attachment_path,
    check_attachment_name,
    stored_attachments,
)
from vstore.objects.ids import ObjectId, object_id
from vstore.objects.memory import MemoryObjects
from vstore.package.tree_builder import TreeBuilder

REQUEST = ObjectId.parse("b3:" + "a" * 64)
OTHER = ObjectId.parse("b3:" + "c" * 64)
LOG = ObjectId.parse("b3:" + "b" * 64)


def test_a_path_is_plain_hex_and_the_name() -> None:
    assert attachment_path(REQUEST, LOG, "ü.log") == (
        b"a" * 64 + b"/" + b"b" * 64 + b"/\xc3\xbc.log"
    )


@pytest.mark.parametrize("name", ["a", "app.log", "Grüße und mehr.txt", "日本.png", "x" * 200])
def test_names(name: str) -> None:
    assert check_attachment_name(name) == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        "a/b",
        "a\0b",
        "a\nb",
        "x" * 201,
        "日" * 86,
        "\x1b[31m",
        "a\u202egnp",
        "\ud800",
    ],
)
def test_names_that_can_not_be_shown_or_stored(name: str) -> None:
    with pytest.raises(InvalidError) as caught:
        check_attachment_name(name)
    assert caught.value.kind == "invalid_name"


def test_the_attachments_of_one_request() -> None:
    objects = MemoryObjects()
    first, second = objects.put(b"first"), objects.put(b"second")
    builder = TreeBuilder()
    builder.add_file(attachment_path(REQUEST, first, "same"), first, 5)
    builder.add_file(attachment_path(REQUEST, second, "same"), second, 6)
    builder.add_file(attachment_path(OTHER, second, "other"), second, 6)
    root = builder.build(objects).root
    found = list(stored_attachments(objects, root, REQUEST))
    assert sorted(found, key=lambda one: one.size) == [
        StoredAttachment(name="same", object=first, size=5),
        StoredAttachment(name="same", object=second, size=6),
    ]
    assert [one.name for one in stored_attachments(objects, root, OTHER)] == ["other"]
    assert list(stored_attachments(objects, root, LOG)) == []
    assert list(stored_attachments(objects, None, REQUEST)) == []


def test_what_is_no_attachment_is_passed_over() -> None:
    objects = MemoryObjects()
    content = objects.put(b"x")
    builder = TreeBuilder()
    builder.add_file(attachment_path(REQUEST, content, "good"), content, 1)
    folder = attachment_path(REQUEST, content, "x").rpartition(b"/")[0]
    builder.add_file(folder + b"/\xff", content, 1)
    builder.add_link(folder + b"/link", content, 1)
    builder.add_file(b"a" * 64 + b"/loose", content, 1)
    builder.add_file(attachment_path(REQUEST, object_id(b"y"), "foreign"), content, 1)
    root = builder.build(objects).root
    assert [one.name for one in stored_attachments(objects, root, REQUEST)] == ["good"]
