"""The published schemas: in step with the Structs, readable, and saying the same as they do."""

from __future__ import annotations

import json
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import vstore_schemas
from vstore.errors import InvalidError, NotFoundError, UnsupportedError
from vstore.investigation.contracts import published_schemas
from vstore.objects.canonical import decode, encode_value
from vstore.objects.ids import ObjectId, object_id
from vstore_schemas import render

KINDS = render.document_types()
inspect = msgspec.inspect


def schema(name: str) -> Any:
    return json.loads(vstore_schemas.text(name))


def test_the_files_are_what_the_structs_say() -> None:
    """``python -m vstore_schemas.render`` renders them anew."""
    assert render.drift(render.FOLDER) == []


def test_every_type_has_a_schema_that_is_package_data() -> None:
    replies = [name.replace("_", "-") for name in published_schemas()]
    assert vstore_schemas.names() == sorted([*KINDS, *replies])
    with pytest.raises(NotFoundError) as caught:
        vstore_schemas.text("../render")
    assert caught.value.kind == "unknown_schema"


def test_every_type_is_found_whether_it_was_imported_or_not() -> None:
    script = (
        "from vstore.objects.document import registered, type_named\n"
        "import sys\n"
        "assert not registered()\n"
        "for name in sys.argv[1:]:\n"
        "    print(name, type_named(name).__module__)\n"
        "assert set(registered()) == set(sys.argv[1:])\n"
        "assert type_named('tree-v2') is None\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *KINDS], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == [f"{name} {kind.__module__}" for name, kind in KINDS.items()]


@pytest.mark.parametrize("name", sorted(KINDS))
def test_a_schema_is_one_by_its_own_standard(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(schema(name))
    text = vstore_schemas.text(name)
    assert schema(name)["$id"] == f"urn:vstore:schema:{name}"
    assert schema(name)["properties"]["schema"] == {"enum": [name]}
    for only_python in ("\\Z", "``", "discriminator", ":data:"):
        assert only_python not in text


def parts_of(value: Any) -> list[dict[str, Any]]:
    if isinstance(value, list):
        return [part for one in value for part in parts_of(one)]
    if isinstance(value, dict):
        return [value, *(part for one in value.values() for part in parts_of(one))]
    return []


@pytest.mark.parametrize("name", sorted(KINDS))
def test_marks_and_closed_objects_survive(name: str) -> None:
    parts = parts_of(schema(name))
    for part in parts:
        if "properties" in part:
            assert part["additionalProperties"] is False
            assert part["required"] == list(part["properties"])
        if "prefixItems" in part:
            assert part["minItems"] == part["maxItems"] == len(part["prefixItems"])
    assert {part["x-origin"] for part in parts if isinstance(part.get("x-origin"), str)}


# --- the schema and the Struct say the same -------------------------------------------------

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)


def strategy(info: Any) -> st.SearchStrategy[Any]:
    """JSON values that a type accepts."""
    match info:
        case inspect.Metadata(type=inner):
            return strategy(inner)
        case inspect.CustomType(cls=cls):
            assert cls is ObjectId
            return st.binary(max_size=2).map(lambda data: str(object_id(data)))
        case inspect.BoolType():
            return st.booleans()
        case inspect.NoneType():
            return st.none()
        case inspect.LiteralType(values=values):
            return st.sampled_from(values)
        case inspect.IntType(ge=low, le=high):
            return st.integers(low, high)
        case inspect.StrType(pattern=pattern) if pattern is not None:
            return st.from_regex(pattern)
        case inspect.StrType(min_length=64, max_length=64):
            return st.text("0123456789abcdef", min_size=64, max_size=64)
        case inspect.StrType(min_length=low):
            return texts.map(lambda text, low=low: text + "x" * (low or 0))
        case inspect.ListType(item_type=item, min_length=low):
            return st.lists(strategy(item), min_size=low or 0, max_size=(low or 0) + 1)
        case inspect.DictType(key_type=key, value_type=value):
            return st.dictionaries(strategy(key), strategy(value), max_size=2)
        case inspect.UnionType(types=types):
            return st.one_of(*(strategy(one) for one in types))
        case inspect.StructType(fields=fields, tag=tag, tag_field=tag_field, array_like=array):
            members = {field.encode_name: strategy(field.type) for field in fields}
            if array:
                return st.tuples(*members.values()).map(list)
            if tag_field is not None:
                members[tag_field] = st.just(tag)
            return st.fixed_dictionaries(members)
        case _:
            raise NotImplementedError(info)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path]
    if isinstance(value, dict):
        for key, one in value.items():
            found += places(one, (*path, key))
    elif isinstance(value, list):
        for key, one in enumerate(value):
            found += places(one, (*path, key))
    return found


def change(value: Any, data: st.DataObject) -> None:
    """Change one place: another value, one member more, one less."""
    *path, last = data.draw(st.sampled_from(places(value)[1:]))
    for key in path:
        value = value[key]
    what = data.draw(st.sampled_from(["drop", "add", "replace"]))
    if what == "drop":
        del value[last]
    elif what == "add" and isinstance(value[last], dict):
        value[last]["Other"] = 1
    else:
        value[last] = data.draw(
            st.sampled_from([None, -1, 2**53, "", "A\n", "b3:", [], {}, True, [[]], "x" * 3000])
        )


@pytest.mark.parametrize("name", sorted(KINDS))
@settings(max_examples=20, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(data=st.data())
def test_the_schema_accepts_what_the_reader_accepts(name: str, data: st.DataObject) -> None:
    kind = KINDS[name]
    value = data.draw(strategy(inspect.type_info(kind)))
    validator = jsonschema.Draft202012Validator(schema(name))
    validator.validate(value)
    decode(encode_value(value), kind)
    change(value, data)
    try:
        decode(encode_value(value), kind)
        accepted = True
    except (InvalidError, UnsupportedError):
        accepted = False
    # In Python's expressions $ also matches before a line feed at the end, so that this
    # validator is laxer than those of the standard on values with one.
    if '\\n"' not in json.dumps(value):
        assert validator.is_valid(value) == accepted


# --- released schemas -----------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    copy = tmp_path / "v1"
    copy.mkdir()
    for name, content in render.render_all().items():
        (copy / name).write_bytes(content)
    (copy / "released.sha256").write_text("# nothing yet\n")
    monkeypatch.setattr(render, "FOLDER", copy)
    return copy


def release(folder: Path, name: str, content: bytes) -> None:
    (folder / name).write_bytes(content)
    with (folder / "released.sha256").open("a") as file:
        file.write(f"{sha256(content).hexdigest()}  {name}\n")


def test_a_changed_lost_or_foreign_file_is_found(folder: Path) -> None:
    first, second, *_ = sorted(render.render_all())
    (folder / first).write_bytes((folder / first).read_bytes() + b" ")
    (folder / second).unlink()
    (folder / "zzz-v1.schema.json").write_text("{}")
    assert render.drift(folder) == [
        f"{first} differs from its document type",
        f"{second} is missing",
        "zzz-v1.schema.json belongs to no document type",
    ]
    assert render.main(["--check"]) == 1
    assert render.main([]) == 0
    assert render.drift(folder) == []
    assert {file.name for file in folder.iterdir()} == {*render.render_all(), "released.sha256"}


def test_a_released_file_never_changes(folder: Path) -> None:
    name = "tree-v1.schema.json"
    now = (folder / name).read_bytes()
    release(folder, name, now)
    assert render.drift(folder) == []
    # Its file is edited.
    (folder / name).write_bytes(now + b" ")
    assert render.drift(folder) == [f"{name} was released with other bytes"]
    assert render.main([]) == 1
    assert (folder / name).read_bytes() == now + b" "


def test_the_type_of_a_released_file_must_not_change(folder: Path) -> None:
    name = "tree-v1.schema.json"
    release(folder, name, b"{}")
    assert render.drift(folder) == [f"{name} was released: its document type must not change"]
    assert render.main([]) == 1
    assert (folder / name).read_bytes() == b"{}"


def test_a_released_file_outlives_its_type(folder: Path) -> None:
    release(folder, "old-v1.schema.json", b"{}")
    assert render.main([]) == 0
    (folder / "old-v1.schema.json").unlink()
    assert render.drift(folder) == ["old-v1.schema.json is missing"]


def test_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert render.main(["--what"]) == 2
    assert "usage" in capsys.readouterr().err
