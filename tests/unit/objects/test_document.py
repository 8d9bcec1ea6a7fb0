"""What holds for the document types of every layer."""

from __future__ import annotations

import types
import typing
from typing import Annotated, Any

import msgspec
import pytest

from vstore.errors import InvalidError
from vstore.objects.canonical import decode, encode_value
from vstore.objects.document import MAX_INTEGER, Document, Part, document, registered, schema_name
from vstore.objects.ids import ObjectId
from vstore_schemas.render import document_types

TYPES = sorted(document_types().items())
NAMES = [name for name, _ in TYPES]


def structs_of(kind: Any, found: dict[str, type[msgspec.Struct]]) -> None:
    """All Structs that a type is made of."""
    for part in [kind, *typing.get_args(kind)]:
        if isinstance(part, type) and issubclass(part, msgspec.Struct):
            if part.__qualname__ not in found:
                found[part.__qualname__] = part
                for member in typing.get_type_hints(part, include_extras=True).values():
                    structs_of(member, found)
        elif part is not kind:
            structs_of(part, found)


def all_structs() -> list[type[msgspec.Struct]]:
    found: dict[str, type[msgspec.Struct]] = {}
    for _, kind in TYPES:
        structs_of(kind, found)
    return list(found.values())


STRUCTS = sorted(all_structs(), key=lambda kind: kind.__qualname__)


def origins(member: Any) -> list[str]:
    """The marks that stand on a member itself."""
    if typing.get_origin(member) is not Annotated:
        return []
    return [
        mark.extra_json_schema["x-origin"]
        for mark in member.__metadata__
        if isinstance(mark, msgspec.Meta) and "x-origin" in (mark.extra_json_schema or {})
    ]


def is_container(member: Any) -> bool:
    """Made of Structs only, in lists, maps and with null where absent."""
    if isinstance(member, type) and issubclass(member, msgspec.Struct):
        return True
    origin, args = typing.get_origin(member), typing.get_args(member)
    if origin is Annotated:
        return is_container(args[0])
    if origin is list:
        return is_container(args[0])
    if origin in (types.UnionType, typing.Union):
        return all(one is type(None) or is_container(one) for one in args)
    return False


def test_the_documents_of_every_layer_are_here() -> None:
    assert {
        "tree-v1",
        "package-generation-v1",
        "snapshot-descriptor-v1",
        "hypotheses-v1",
        "tool-request-v1",
        "tool-reply-v1",
        "evidence-content-v1",
        "evidence-record-v1",
        "evidence-index-v1",
        "budget-policy-v1",
        "budget-ledger-v1",
    } <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_schema_name_names_one_type_and_its_version(name: str) -> None:
    kind = registered()[name]
    assert schema_name(kind) == name
    assert issubclass(kind, Document)
    stem, _, version = name.rpartition("-v")
    assert stem.replace("-", "").isalnum()
    assert stem == stem.lower()
    assert version.isdecimal()
    assert kind.__doc__


@pytest.mark.parametrize("kind", STRUCTS, ids=lambda kind: kind.__qualname__)
def test_every_member_says_where_its_value_comes_from(kind: type[msgspec.Struct]) -> None:
    if not issubclass(kind, Document | Part):
        # A value, such as a text or a number with a tag: the member that holds it is marked.
        return
    wrong = []
    for name, member in typing.get_type_hints(kind, include_extras=True).items():
        marks = origins(member)
        if len(marks) == 1 or (not marks and is_container(member)):
            continue
        wrong.append((name, marks))
    assert wrong == []


def test_the_marks_are_three() -> None:
    found = set()
    for kind in STRUCTS:
        for member in typing.get_type_hints(kind, include_extras=True).values():
            found.update(origins(member))
    assert found == {"derived", "pinned", "asserted"}


@pytest.mark.parametrize("kind", STRUCTS, ids=lambda kind: kind.__qualname__)
def test_structs_are_frozen_and_refuse_what_they_do_not_know(kind: type[msgspec.Struct]) -> None:
    config = kind.__struct_config__
    assert config.frozen
    assert config.forbid_unknown_fields
    assert not config.omit_defaults
    assert config.rename is None if hasattr(config, "rename") else True
    assert kind.__doc__


def values_of(info: Any, path: str, seen: set[type]) -> typing.Iterator[tuple[str, Any]]:
    """Every type of a value inside a type, with its path."""
    if isinstance(info, msgspec.inspect.Metadata):
        yield from values_of(info.type, path, seen)
        return
    yield path, info
    if isinstance(info, msgspec.inspect.StructType):
        if info.cls in seen:
            return
        seen.add(info.cls)
        for field in info.fields:
            yield from values_of(field.type, f"{path}.{field.encode_name}", seen)
    elif isinstance(info, msgspec.inspect.UnionType):
        for one in info.types:
            yield from values_of(one, path, seen)
    elif isinstance(info, msgspec.inspect.ListType):
        yield from values_of(info.item_type, f"{path}[]", seen)
    elif isinstance(info, msgspec.inspect.DictType):
        yield from values_of(info.key_type, f"{path}.key", seen)
        yield from values_of(info.value_type, f"{path}{{}}", seen)


@pytest.mark.parametrize("name", NAMES)
def test_every_value_is_within_canonical_json(name: str) -> None:
    """Integers are bounded, map keys have a pattern, nothing else than the subset's types."""
    inspect = msgspec.inspect
    wrong = []
    for path, info in values_of(inspect.type_info(registered()[name]), name, set()):
        match info:
            case inspect.IntType(ge=low, le=high, gt=None, lt=None):
                if low is None or high is None or not -MAX_INTEGER <= low <= high <= MAX_INTEGER:
                    wrong.append(f"{path}: unbounded")
            case inspect.StrType(pattern=pattern):
                if path.endswith(".key") and pattern is None:
                    wrong.append(f"{path}: any member name")
                if pattern is not None and not (
                    pattern.startswith("^") and pattern.endswith(("\\Z", "$"))
                ):
                    wrong.append(f"{path}: the pattern isn't anchored")
                if pattern is not None and pattern.endswith("$"):
                    wrong.append(f"{path}: $ also matches before a line feed")
            case inspect.CustomType(cls=cls):
                if cls is not ObjectId:
                    wrong.append(f"{path}: {cls}")
            case (
                inspect.BoolType()
                | inspect.NoneType()
                | inspect.LiteralType()
                | inspect.StructType()
                | inspect.UnionType()
                | inspect.ListType()
                | inspect.DictType()
            ):
                pass
            case _:
                wrong.append(f"{path}: {info}")
    assert wrong == []


@pytest.mark.parametrize("name", NAMES)
def test_reading_refuses_other_members_and_bare_schemas(name: str) -> None:
    kind = registered()[name]
    for value in ({"schema": name, "_other": 1}, {"schema": name}, {"schema": name, "a\x1b": {}}):
        with pytest.raises(InvalidError) as caught:
            decode(encode_value(value), kind)
        assert caught.value.kind == "invalid_document"
        assert str(caught.value) == f"{name} is not valid"


def test_a_schema_is_defined_once() -> None:
    class Again(Document, tag="tree-v1", frozen=True, kw_only=True):
        """A second one."""

    with pytest.raises(ValueError, match="tree-v1"):
        document(Again)
    registered()["tree-v1"] = Again  # a copy: nothing happens to the registry
    assert registered()["tree-v1"] is not Again
