"""The published JSON Schemas of vstore's documents, as package data (``v1/*.schema.json``).

The Structs of the library are the definition; the files are rendered from them
(``python -m vstore_schemas.render``) for readers that don't run Python. A schema says what
one document looks like. That a document is canonical, agrees with others and was derived
rightly is more than any schema says: ``vstore verify`` checks it.
"""

from __future__ import annotations

from importlib.resources import files

from vstore.errors import NotFoundError

__all__ = ["names", "text"]

_SUFFIX = ".schema.json"


def names() -> list[str]:
    """The names of all published schemas, such as ``tree-v1``, sorted."""
    found = files(__name__).joinpath("v1").iterdir()
    return sorted(one.name.removesuffix(_SUFFIX) for one in found if one.name.endswith(_SUFFIX))


def text(name: str) -> str:
    """The JSON text of one schema.

    Raises:
        NotFoundError: No schema is published under this name.
    """
    if name not in names():
        raise NotFoundError(
            "no schema of this name is published",
            kind="unknown_schema",
            hint="vstore schema lists the names",
        )
    return files(__name__).joinpath("v1", name + _SUFFIX).read_text(encoding="utf-8")
