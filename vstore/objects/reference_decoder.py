"""What a document names, and nothing else of it: for going through a package fast.

From each document type a smaller one is made that has only the members which lead to object
ids. Everything else is skipped while JSON is parsed, so no value is made of it. A document
that isn't valid may be read all the same: whoever judges documents decodes them in full.
"""

from __future__ import annotations

import types
import typing
from typing import Annotated, Any, Final, NamedTuple, Union

import msgspec

from vstore.objects.document import Content, registered
from vstore.objects.ids import ObjectId
from vstore.objects.tree import Tree

__all__ = ["Named", "ReferenceDecoder"]

_ID_LENGTH: Final = 67
#: Stands for every id that was read: the text was noted, and nobody looks at the document.
_SOME_ID: Final = ObjectId("0" * 64)


class _Contained(ObjectId):
    """An id that names mere bytes."""


_SOME_CONTENT: Final = _Contained("0" * 64)


class Named(NamedTuple):
    """What one document names: ids as text, of the right length and not looked at further."""

    #: Objects whose kind its use decides.
    objects: list[str]
    #: Files and links of a tree, and ids that are marked as content: whatever they name
    #: leads nowhere.
    contents: list[str]


class ReferenceDecoder:
    """Reads the references of documents of all types that were imported before."""

    def __init__(self) -> None:
        self._found: list[str] = []
        self._contents: list[str] = []
        smaller = _Smaller()
        kinds = [kind if kind is Tree else smaller.of(kind) for kind in registered().values()]
        self._decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(
            Union[tuple(kinds)],  # noqa: UP007 - made at run time
            dec_hook=self._collect,
        )

    def _collect(self, kind: type, value: object) -> ObjectId:
        if type(value) is not str or len(value) != _ID_LENGTH:
            raise ValueError("not an object id")
        if kind is _Contained:
            self._contents.append(value)
            return _SOME_CONTENT
        self._found.append(value)
        return _SOME_ID

    def read(self, content: bytes) -> Named | None:
        """The references of a document, in the order of its bytes; None when it is none."""
        found: list[str] = []
        marked: list[str] = []
        self._found, self._contents = found, marked
        try:
            document = self._decoder.decode(content)
        except (TypeError, ValueError, OverflowError, RecursionError):
            return None
        if type(document) is not Tree:
            return Named(found, marked)
        objects: list[str] = []
        contents: list[str] = []
        for entry, oid in zip(document.entries, found, strict=True):
            (objects if entry.kind == "tree" else contents).append(oid)
        return Named(objects, contents)


class _Smaller:
    """Makes types that have only what leads to object ids."""

    def __init__(self) -> None:
        self._made: dict[type, type] = {}
        self._open: set[type] = set()

    def of(self, kind: type) -> type:
        """The smaller type of a Struct; empty when nothing in it leads to an id."""
        known = self._made.get(kind)
        if known is not None:
            return known
        self._open.add(kind)
        members: list[Any] = []
        for one in msgspec.structs.fields(kind):
            smaller = self._part(one.type)
            if smaller is None:
                continue
            if one.required:
                members.append((one.encode_name, smaller))
            else:
                members.append((one.encode_name, smaller | None, None))
        self._open.discard(kind)
        config = kind.__struct_config__  # type: ignore[attr-defined]
        made = msgspec.defstruct(
            kind.__name__,
            members,
            tag=config.tag,
            tag_field=config.tag_field,
            kw_only=True,
            gc=False,
        )
        self._made[kind] = made
        return made

    def _part(self, kind: Any) -> Any:
        """The smaller form of any type, None when nothing in it leads to an id."""
        if kind is ObjectId:
            return ObjectId
        origin, arguments = typing.get_origin(kind), typing.get_args(kind)
        if origin is Annotated:
            inner = self._part(arguments[0])
            return _Contained if inner is ObjectId and Content in arguments[1:] else inner
        if origin in (Union, types.UnionType):
            return self._union(arguments)
        if origin is list:
            inner = self._part(arguments[0])
            return None if inner is None else types.GenericAlias(list, (inner,))
        if origin is tuple:
            # Positions count, so all of them stay as they are.
            return kind if any(self._part(one) is not None for one in arguments) else None
        if origin is dict:
            inner = self._part(arguments[1])
            return None if inner is None else types.GenericAlias(dict, (str, inner))
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
            if kind in self._open:
                # It contains itself: taken as it is.
                return kind
            if kind.__struct_config__.array_like:
                # Positions count here as well.
                parts = (self._part(one.type) for one in msgspec.structs.fields(kind))
                return kind if any(one is not None for one in parts) else None
            made = self.of(kind)
            return made if made.__struct_fields__ else None  # type: ignore[attr-defined]
        return None

    def _union(self, arguments: tuple[Any, ...]) -> Any:
        if not any(self._part(one) is not None for one in arguments):
            return None
        # Of what may stand there every form stays, so that the parser can tell them apart.
        parts = []
        for one in arguments:
            plain = typing.get_args(one)[0] if typing.get_origin(one) is Annotated else one
            is_struct = isinstance(plain, type) and issubclass(plain, msgspec.Struct)
            parts.append(self.of(plain) if is_struct else self._part(one) or plain)
        return Union[tuple(parts)]  # noqa: UP007 - made at run time
