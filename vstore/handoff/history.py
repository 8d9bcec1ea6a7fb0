"""Finding the tests of a case in its generations.

Only a case that ever handed one out is gone through, from its head back to the generation
that was taken last.
"""

from __future__ import annotations

from vstore.errors import IntegrityError
from vstore.handoff.documents import AsyncTestRequest
from vstore.handoff.state import REQUEST, HandoffState
from vstore.objects.ids import ObjectId
from vstore.package.documents import Generation
from vstore.package.pinned import PinnedPackage

__all__ = ["follow_handoffs"]


def follow_handoffs(state: HandoffState, package: PinnedPackage) -> None:
    """Fold in the tests of the generations since the one that was taken last.

    Args:
        state: The fold; changed in place.
        package: The head.

    Raises:
        IntegrityError: The package doesn't lead to the generation that was taken last, or a
            test was handed out or answered out of step.
        NotFoundError, InvalidError, UnsupportedError: A document can't be read.
    """
    objects = package.objects
    pending: list[tuple[ObjectId, Generation]] = []
    oid, generation = package.generation_id, package.generation
    while oid != state.head and REQUEST in generation.artifacts:
        pending.append((oid, generation))
        if generation.parent is None:
            break
        oid = generation.parent
        generation = objects.document(oid, Generation)
    if state.head is not None and oid != state.head:
        raise IntegrityError(
            "the package's history no longer leads to what it held before",
            kind="history_replaced",
            hint="the package was replaced under a running process; start again and verify it",
        )
    for oid, generation in reversed(pending):
        state.take(oid, generation, lambda ref: objects.document(ref, AsyncTestRequest))
