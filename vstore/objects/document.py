"""The base of every document type, the marks of their members, and the registry.

A *document* is an object whose bytes are canonical JSON and whose ``schema`` member names
its type. The msgspec Struct is the one definition; JSON Schemas are rendered from it
(spec: storage, "Objects").

Every member says where its value comes from, so that a reader knows what a verifier can
find out about it:

* ``Derived``: the verifier recomputes it.
* ``Pinned``: bound by a digest, or equal to something else in the package.
* ``Asserted``: a statement of a person, a model or a controller.

The modules of documents that short commands read don't postpone their annotations: msgspec
evaluates each postponed one as a text of its own, which takes several times as long.
"""

import importlib
from typing import Annotated, Final, TypeVar

import msgspec

from vstore.objects.ids import ObjectId

__all__ = [
    "MAX_INTEGER",
    "Asserted",
    "Content",
    "ContentId",
    "Count",
    "Derived",
    "Document",
    "MapKey",
    "Name",
    "Part",
    "Percent",
    "Pinned",
    "Positive",
    "RecordId",
    "document",
    "registered",
    "schema_name",
    "type_named",
]

MAX_INTEGER: Final = 2**53 - 1

Derived: Final = msgspec.Meta(extra_json_schema={"x-origin": "derived"})
Pinned: Final = msgspec.Meta(extra_json_schema={"x-origin": "pinned"})
Asserted: Final = msgspec.Meta(extra_json_schema={"x-origin": "asserted"})
#: Marks an object id that names mere bytes, whatever they look like: they lead nowhere.
Content: Final = msgspec.Meta(extra_json_schema={"x-content": True})

#: The id of a file, of an attachment, of a large value.
ContentId = Annotated[ObjectId, Content]

Count = Annotated[int, msgspec.Meta(ge=0, le=MAX_INTEGER)]
Positive = Annotated[int, msgspec.Meta(ge=1, le=MAX_INTEGER)]
Percent = Annotated[int, msgspec.Meta(ge=0, le=100)]

# Ids that people and controllers choose: cases, packages, hypotheses, actions, operations.
Name = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}\Z")]
# Ids that the store assigns to evidence records, never reset within a case.
RecordId = Annotated[str, msgspec.Meta(pattern=r"^E([0-9]{6}|[1-9][0-9]{6,14})\Z")]
# Member names that a schema doesn't fix: artifacts, snapshots, costs, roles.
MapKey = Annotated[str, msgspec.Meta(pattern=r"^[a-z][a-z0-9_.]{0,63}\Z")]


class Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A group of members inside a document."""


class Document(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="schema"
):
    """Base of document types; a subclass gives its schema name as ``tag``."""


D = TypeVar("D", bound=Document)

_REGISTRY: dict[str, type[Document]] = {}
#: Where the library defines its types: a process imports those that it reads, and says of a
#: document in the wrong place what it is even so.
_HOMES: Final = {
    "async-test-feedback-v1": "vstore.handoff.documents",
    "async-test-request-v1": "vstore.handoff.documents",
    "budget-ledger-v1": "vstore.budget.documents",
    "budget-policy-v1": "vstore.budget.documents",
    "change-audit-v1": "vstore.investigation.documents",
    "database-content-v1": "vstore.tools.database_content",
    "database-rows-v1": "vstore.tools.database_content",
    "database-schema-v1": "vstore.tools.database_content",
    "evidence-content-v1": "vstore.evidence.documents",
    "evidence-index-v1": "vstore.evidence.index_documents",
    "evidence-record-v1": "vstore.evidence.index_documents",
    "hypotheses-v1": "vstore.package.documents",
    "investigation-attempt-v1": "vstore.investigation.documents",
    "investigation-log-v1": "vstore.investigation.documents",
    "investigation-request-v1": "vstore.investigation.documents",
    "investigation-step-v1": "vstore.investigation.documents",
    "investigation-update-v1": "vstore.investigation.documents",
    "package-generation-v1": "vstore.package.documents",
    "snapshot-descriptor-v1": "vstore.package.documents",
    "tool-reply-v1": "vstore.tools.reply",
    "tool-request-v1": "vstore.tools.request",
    "tree-v1": "vstore.objects.tree",
    "working-brief-v1": "vstore.investigation.documents",
    "working-briefs-v1": "vstore.investigation.documents",
}


def schema_name(kind: type[Document]) -> str:
    """The schema name of a document type, such as ``tree-v1``."""
    tag = kind.__struct_config__.tag
    assert isinstance(tag, str), kind
    return tag


def document(kind: type[D]) -> type[D]:
    """Class decorator: make a document type known to readers of any document."""
    name = schema_name(kind)
    if name in _REGISTRY:
        raise ValueError(f"schema {name} is defined twice")
    _REGISTRY[name] = kind
    return kind


def type_named(name: str) -> type[Document] | None:
    """The document type of a schema name, imported now if it wasn't yet; None if unknown."""
    found = _REGISTRY.get(name)
    if found is None and name in _HOMES:
        importlib.import_module(_HOMES[name])
        found = _REGISTRY[name]
    return found


def registered() -> dict[str, type[Document]]:
    """Schema name to type, of every document type imported so far."""
    return dict(_REGISTRY)


# Kept for annotations: a member that names another object of the package.
Ref = Annotated[ObjectId, Pinned]
