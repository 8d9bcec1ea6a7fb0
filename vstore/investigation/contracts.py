"""Both reply contracts by name, each with the schema that is frozen with a step.

A released contract never changes: its schema's id is pinned by a test, and what it would
have to change is a new contract beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import msgspec

from vstore.errors import UnsupportedError
from vstore.investigation.reply_schema import provider_safe, schema_bytes, schema_of
from vstore.investigation.reply_v13 import ReplyV13
from vstore.investigation.reply_v14 import ReplyV14
from vstore.investigation.vocabulary import CONTRACTS, V13, V14, ContractName
from vstore.objects.ids import ObjectId, object_id

__all__ = ["Contract", "contract_named", "known_members", "published_schemas"]


@dataclass(frozen=True, slots=True)
class Contract:
    """One contract.

    Attributes:
        name: As steps record it.
        reply: The Struct of a reply.
        schema: The JSON Schema of a reply.
        encoded: Its canonical bytes, as they are frozen.
        schema_id: Their object id.
    """

    name: ContractName
    reply: type[msgspec.Struct]
    schema: dict[str, Any]
    encoded: bytes
    schema_id: ObjectId

    @property
    def provider_schema(self) -> dict[str, Any]:
        """The schema without bounds, to be sent to a provider that refuses them."""
        safe: dict[str, Any] = provider_safe(self.schema)
        return safe


@cache
def contract_named(name: str) -> Contract:
    """The contract of this name.

    Raises:
        UnsupportedError: This version doesn't know it (``unsupported_contract``).
    """
    replies: dict[str, type[msgspec.Struct]] = {V13: ReplyV13, V14: ReplyV14}
    for known in CONTRACTS:
        if known == name:
            schema = schema_of(replies[known], known)
            encoded = schema_bytes(schema)
            return Contract(known, replies[known], schema, encoded, object_id(encoded))
    raise UnsupportedError(
        "a reply contract that this version doesn't know", kind="unsupported_contract"
    )


@cache
def known_members() -> frozenset[str]:
    """Every member name that any contract has: the only ones that a hint may repeat."""
    found: set[str] = set()

    def collect(schema: Any) -> None:
        if isinstance(schema, dict):
            members = schema.get("properties")
            if isinstance(members, dict):
                found.update(members)
            for one in schema.values():
                collect(one)
        elif isinstance(schema, list):
            for one in schema:
                collect(one)

    for name in CONTRACTS:
        collect(contract_named(name).schema)
    return frozenset(found)


def published_schemas() -> dict[str, dict[str, Any]]:
    """The schemas that are published for readers, by name: replies, and for providers."""
    found: dict[str, dict[str, Any]] = {}
    for name in CONTRACTS:
        contract = contract_named(name)
        found[name] = contract.schema
        found[f"{name}_provider"] = contract.provider_schema
    return found
