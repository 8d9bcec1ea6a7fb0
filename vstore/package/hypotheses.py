"""Reading the hypotheses that a person or a controller states."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from vstore.errors import InvalidError
from vstore.objects.canonical import decode_value
from vstore.package.documents import Hypothesis

__all__ = ["MAX_HYPOTHESES", "read_hypotheses"]

MAX_HYPOTHESES = 100
_MEMBER = re.compile(r"`\$\.([a-z_]+)")
_MAX_BYTES = 4 * 1024 * 1024
_DEFAULTS: dict[str, Any] = {"confidence": "open", "open_questions": []}


def read_hypotheses(
    stated: bytes | Sequence[Hypothesis | Mapping[str, object]],
) -> list[Hypothesis]:
    """Hypotheses from JSON or from values, checked.

    Args:
        stated: JSON of a list of hypotheses or of an object with the member ``hypotheses``
            (further members, as a stored document has them, are passed over), or the list.
            ``confidence`` is ``open`` and ``open_questions`` are none where left out.

    Raises:
        LimitExceeded: More than 4 MiB of JSON.
        InvalidError: Not JSON (``invalid_json``), not hypotheses (``invalid_hypotheses``, the
            message says which one), none or more than 100, or two with one id.
    """
    values: object = stated
    if isinstance(stated, bytes):
        values = decode_value(stated, max_bytes=_MAX_BYTES, canonical=False)
        if isinstance(values, dict):
            values = values.get("hypotheses")
    if not isinstance(values, Sequence) or isinstance(values, str | bytes):
        raise _invalid("hypotheses are a list, or an object with the member hypotheses")
    if not 1 <= len(values) <= MAX_HYPOTHESES:
        raise _invalid(f"{len(values)} hypotheses; 1 to {MAX_HYPOTHESES} are taken")
    found = [_one(number, value) for number, value in enumerate(values, start=1)]
    known: set[str] = set()
    for number, one in enumerate(found, start=1):
        if one.id in known:
            raise _invalid(f"hypothesis {number} has the id {one.id} of an earlier one")
        known.add(one.id)
    return found


def _one(number: int, value: object) -> Hypothesis:
    if isinstance(value, Hypothesis):
        value = msgspec.to_builtins(value)
    if not isinstance(value, Mapping):
        raise _invalid(f"hypothesis {number} is no object")
    missing = [name for name in ("id", "statement") if name not in value]
    if missing:
        raise _invalid(f"hypothesis {number} lacks {' and '.join(missing)}")
    if value.keys() - set(Hypothesis.__struct_fields__):
        raise _invalid(
            f"hypothesis {number} has a member that is none of "
            f"{', '.join(Hypothesis.__struct_fields__)}"
        )
    try:
        return msgspec.convert({**_DEFAULTS, **value}, Hypothesis)
    except (msgspec.ValidationError, TypeError, ValueError) as error:
        # Only the names of known members are quoted, never what was stated.
        at = _MEMBER.search(str(error))
        where = f" at {at[1]}" if at and at[1] in Hypothesis.__struct_fields__ else ""
        raise _invalid(f"hypothesis {number} is not valid{where}") from error


def _invalid(message: str) -> InvalidError:
    return InvalidError(
        message,
        kind="invalid_hypotheses",
        hint='each has an id such as "H1", a statement, confidence and open_questions',
    )
