"""Novelty: how much of a content the case has never seen, in integers.

    novelty_score = floor(100 * unseen_items / returned_items)      # 0 when nothing returned

It detects exact reuse of located items, never equivalence, relevance or truth
(spec: evidence, "Novelty").
"""

from __future__ import annotations

from collections.abc import Sequence

from vstore.errors import InvalidError
from vstore.evidence.membership import Membership
from vstore.objects.ids import Digest

__all__ = ["assess", "novelty_score"]


def novelty_score(unseen: int, returned: int) -> int:
    """The score of a content.

    Args:
        unseen: Items never seen in the case, 0 to ``returned``.
        returned: Distinct items of the content, 0 or more.

    Returns:
        0 to 100, rounded down; 0 when nothing was returned.

    Raises:
        InvalidError: The numbers can't be.
    """
    if type(unseen) is not int or type(returned) is not int or not 0 <= unseen <= returned:
        raise InvalidError("unseen items are a part of the returned ones", kind="invalid_count")
    return 100 * unseen // returned if returned else 0


def assess(
    atoms: Sequence[Digest], seen: Membership, also_seen: Membership = frozenset()
) -> tuple[list[Digest], int]:
    """Which atoms are new, and the score that follows.

    Args:
        atoms: Of one content. A content in normal form repeats none; repeats count once.
        seen: Atoms of all records of the case so far.
        also_seen: Atoms of earlier positions of the same batch.

    Returns:
        The new atoms, sorted, and the novelty score.
    """
    distinct = dict.fromkeys(atoms)
    novel = sorted([atom for atom in distinct if atom not in seen and atom not in also_seen])
    return novel, novelty_score(len(novel), len(distinct))
