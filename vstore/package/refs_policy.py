"""What the refs of a package should be, and how they stand to that.

Which files a ref may lag behind in is the objects layer's knowledge; which value a ref should
have, and had, is that of the generations (spec: storage, "Recovery").
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from vstore.errors import IntegrityError, VStoreError
from vstore.objects.ids import ObjectId
from vstore.objects.refs import BadRef, RefState, classify
from vstore.package.succession import expected_refs

if TYPE_CHECKING:
    from vstore.package.reader import PackageReader

__all__ = ["RefStatus", "earlier_refs", "head_refs", "in_words", "refuse_damaged", "report"]


class RefStatus(NamedTuple):
    """One ref.

    Attributes:
        name: Its name, without ``refs/``.
        state: ``current``; ``lagging``, as a crash leaves it; ``missing`` or ``foreign``.
        expected: What the head says; None where the head has no such ref.
        actual: What the file says; None where there is none.
    """

    name: str
    state: RefState
    expected: ObjectId | None
    actual: ObjectId | BadRef | None


def head_refs(reader: PackageReader) -> dict[str, ObjectId]:
    """Every ref that goes with the head; none before the first generation.

    Raises:
        NotFoundError, IntegrityError, InvalidError, UnsupportedError: The head can't be read.
    """
    head = reader.head_id()
    return {} if head is None else expected_refs(head, reader.generation(head))


def earlier_refs(reader: PackageReader) -> Iterator[dict[str, ObjectId]]:
    """Every ref of each generation before the head, newest first; read as it is asked for.

    A history that can't be followed ends there: what a ref had before is not known then.
    """
    head = reader.head_id()
    try:
        parent = None if head is None else reader.generation(head).parent
        if parent is not None:
            for oid, generation in reader.history(start=parent):
                yield expected_refs(oid, generation)
    except VStoreError:
        return


def report(reader: PackageReader) -> list[RefStatus]:
    """See :meth:`vstore.package.reader.PackageReader.ref_report`."""
    expected = head_refs(reader)
    actual = reader.objects.refs()
    states = classify(actual, expected, earlier_refs(reader))
    return [
        RefStatus(name, state, expected.get(name), actual.get(name))
        for name, state in states.items()
    ]


def refuse_damaged(statuses: Sequence[RefStatus]) -> None:
    """Refuse to go on where a ref is missing or foreign.

    Raises:
        IntegrityError: One is; ``log_lost_head`` where the log may lack its end.
    """
    damaged = {one.name: one.state for one in statuses if one.state in ("missing", "foreign")}
    if damaged:
        raise IntegrityError(
            "refs contradict the log: "
            + ", ".join(f"{name} is {state}" for name, state in damaged.items()),
            kind="log_lost_head" if damaged.get("generation") == "foreign" else "bad_refs",
            hint="verify says more; repair --accept-log-head accepts what the log says",
            refs=damaged,
        )


def in_words(status: RefStatus) -> str:
    """What repairing this ref does."""
    if status.expected is None:
        return f"remove refs/{status.name} ({status.state}), which the head doesn't have"
    verb = "move" if status.state == "lagging" else "set"
    return f"{verb} refs/{status.name} ({status.state}) to {status.expected}"
