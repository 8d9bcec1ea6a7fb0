"""Render the JSON Schemas from the Structs: ``python -m vstore_schemas.render [--check]``.

Each document type has one file, which holds everything it refers to. It is JSON Schema
2020-12; member descriptions are the ``#:`` comments above the members in the source.

A schema that is listed in ``v1/released.sha256`` (the format of ``sha256sum``) was released
with these very bytes and never changes: a change is a new version beside it.
"""

from __future__ import annotations

import importlib
import inspect
import json
import re
import sys
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import msgspec

import vstore
from vstore.investigation.contracts import published_schemas
from vstore.objects.document import Document, registered
from vstore.objects.ids import ObjectId

__all__ = ["FOLDER", "document_types", "drift", "main", "released", "render", "render_all"]

FOLDER: Final = Path(__file__).parent / "v1"
_SUFFIX: Final = ".schema.json"
_DECORATOR: Final = re.compile(r"^@document$", re.MULTILINE)
_ROLE: Final = re.compile(r"(?::[a-z]+:)?`+([^`]+)`+")
_MEMBER: Final = re.compile(r"    ([a-z_]+): ")
_COMMENT: Final = re.compile(r"    #: ?(.*)")


def document_types() -> dict[str, type[Document]]:
    """Every document type of the library by its schema name, wherever it is defined."""
    folder = Path(vstore.__file__).parent
    for file in sorted(folder.rglob("*.py")):
        if _DECORATOR.search(file.read_text(encoding="utf-8")):
            inner = file.relative_to(folder).with_suffix("").parts
            importlib.import_module(".".join(("vstore", *inner)))
    return {
        name: kind
        for name, kind in sorted(registered().items())
        if kind.__module__.startswith("vstore.")
    }


def render(name: str, kind: type[Document]) -> bytes:
    """The bytes of one schema file."""
    whole = msgspec.json.schema(kind, schema_hook=_custom)
    parts = whole["$defs"]
    structs = _structs(kind)
    for title, part in parts.items():
        _strict(part, structs[title])
    root = parts.pop(kind.__name__)
    del root["title"]
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:vstore:schema:{name}",
        "title": name,
        **root,
    }
    if parts:
        schema["$defs"] = parts
    text = json.dumps(_plain(schema), indent=2, ensure_ascii=False)
    return text.encode() + b"\n"


def render_all() -> dict[str, bytes]:
    """File name to bytes, of every document type and every reply contract."""
    found = {name + _SUFFIX: render(name, kind) for name, kind in document_types().items()}
    for name, schema in published_schemas().items():
        text = json.dumps(schema, indent=2, ensure_ascii=False)
        found[name.replace("_", "-") + _SUFFIX] = text.encode() + b"\n"
    return found


def released(folder: Path) -> dict[str, str]:
    """File name to SHA-256, of the schemas that were released."""
    lines = (folder / "released.sha256").read_text(encoding="utf-8").splitlines()
    pairs = (line.split("  ", 1) for line in lines if line and not line.startswith("#"))
    return {name: digest for digest, name in pairs}


def drift(folder: Path) -> list[str]:
    """What is wrong with the files in ``folder``, one sentence each; nothing: an empty list."""
    wrong = []
    expected = render_all()
    present = {file.name: file.read_bytes() for file in folder.glob("*" + _SUFFIX)}
    frozen = released(folder)
    for name in sorted(expected.keys() | present.keys() | frozen.keys()):
        if name not in present:
            wrong.append(f"{name} is missing")
        elif name in frozen and sha256(present[name]).hexdigest() != frozen[name]:
            wrong.append(f"{name} was released with other bytes")
        elif name not in expected and name not in frozen:
            wrong.append(f"{name} belongs to no document type")
        elif name in expected and present[name] != expected[name]:
            wrong.append(
                f"{name} was released: its document type must not change"
                if name in frozen
                else f"{name} differs from its document type"
            )
    return wrong


def main(arguments: list[str]) -> int:
    """Write the files, or with ``--check`` say what differs; 1 where something is wrong."""
    if arguments not in ([], ["--check"]):
        sys.stderr.write("usage: python -m vstore_schemas.render [--check]\n")
        return 2
    if not arguments:
        frozen = released(FOLDER)
        expected = render_all()
        for file in FOLDER.glob("*" + _SUFFIX):
            if file.name not in expected and file.name not in frozen:
                file.unlink()
        for name, content in expected.items():
            if name not in frozen:
                (FOLDER / name).write_bytes(content)
    wrong = drift(FOLDER)
    for line in wrong:
        sys.stderr.write(f"schemas: {line}\n")
    if wrong and arguments:
        sys.stderr.write("schemas: python -m vstore_schemas.render renders them anew\n")
    sys.stdout.write(f"{len(render_all())} schemas, {len(wrong)} wrong\n")
    return 1 if wrong else 0


def _custom(kind: type) -> dict[str, Any]:
    if kind is ObjectId:
        return {"type": "string", "pattern": "^b3:[0-9a-f]{64}$"}
    raise NotImplementedError(kind)


def _structs(kind: type[Document]) -> dict[str, type[msgspec.Struct]]:
    """Name to type, of the Structs that a document is made of."""
    found: dict[str, type[msgspec.Struct]] = {}

    def collect(info: Any) -> None:
        if isinstance(info, msgspec.inspect.StructType):
            if info.cls.__name__ in found:
                return
            found[info.cls.__name__] = info.cls
            for field in info.fields:
                collect(field.type)
        for member in ("type", "item_type", "key_type", "value_type"):
            if hasattr(info, member):
                collect(getattr(info, member))
        for one in getattr(info, "types", ()):
            collect(one)

    collect(msgspec.inspect.type_info(kind))
    return found


def _strict(part: dict[str, Any], struct: type[msgspec.Struct]) -> None:
    """Say what strict reading asks beyond the types, and add the members' descriptions."""
    part["description"] = _prose(part["description"])
    if part["type"] == "array":
        part["minItems"] = part["maxItems"] = len(part["prefixItems"])
        part.pop("items", None)
        members = dict(zip(struct.__struct_encode_fields__, part["prefixItems"], strict=True))
    else:
        # Canonical documents have all members, those with a default value too.
        part["required"] = list(part["properties"])
        members = part["properties"]
    for name, comment in _comments(struct).items():
        members[name]["description"] = comment


@cache
def _comments(struct: type[msgspec.Struct]) -> dict[str, str]:
    """Member name to the ``#:`` comment above it."""
    found: dict[str, str] = {}
    lines: list[str] = []
    for line in inspect.getsource(struct).splitlines():
        if comment := _COMMENT.fullmatch(line):
            lines.append(comment[1])
            continue
        if lines and (member := _MEMBER.match(line)):
            found[member[1]] = _prose(" ".join(lines))
        lines = []
    return found


def _prose(text: str) -> str:
    """One line a paragraph, without the marks of docstrings."""
    paragraphs = text.split("\n\n")
    return _ROLE.sub(r"\1", "\n\n".join(" ".join(one.split()) for one in paragraphs))


def _plain(value: Any, *, names: bool = False) -> Any:
    """Without what only Python or OpenAPI understands.

    Args:
        value: A schema, or a part of one.
        names: The keys of ``value`` are names of members or parts, and no keywords.
    """
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if not isinstance(value, dict):
        return value
    plain = {}
    for key, one in value.items():
        if not names and key in ("discriminator", "default"):
            continue
        if not names and key == "pattern":
            # In the expressions of JSON Schema, $ is the very end and \Z is unknown.
            one = one.replace("\\Z", "$")
        plain[key] = _plain(one, names=not names and key in ("properties", "$defs"))
    return plain


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
