"""Merkle tree hashes and proofs of RFC 9162 (section 2.1; as in RFC 6962), with SHA-256.

Inside a tree a hash is 32 bytes. A *root* stands in documents and is compared with them, so
a root is always a digest of 64 hex digits. Everything here is pure.

The tree over n leaves splits at the largest power of two below n. So its left part never
changes again while the tree grows, which is what makes the proofs short and lets
:class:`Frontier` grow a tree while it remembers only O(log n) hashes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Final, TypeGuard

from vstore.errors import IntegrityError, InvalidError
from vstore.objects.ids import Digest

__all__ = [
    "EMPTY_ROOT",
    "HASH_BYTES",
    "Frontier",
    "consistency_proof",
    "inclusion_proof",
    "leaf_hash",
    "node_hash",
    "root",
    "verify_consistency",
    "verify_inclusion",
]

HASH_BYTES: Final = 32
#: The root of the tree without leaves: SHA-256 of nothing.
EMPTY_ROOT: Final[Digest] = sha256(b"").hexdigest()


def leaf_hash(data: bytes) -> bytes:
    """The hash of a leaf with this content."""
    return sha256(b"\x00" + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """The hash of the node above these two."""
    return sha256(b"\x01" + left + right).digest()


def root(leaf_hashes: Iterable[bytes]) -> Digest:
    """The root of the tree over leaves with these hashes.

    Raises:
        InvalidError: One of them isn't 32 bytes.
    """
    frontier = Frontier()
    for one in leaf_hashes:
        frontier.append_hash(one)
    return frontier.root()


class Frontier:
    """A growing tree, remembered by the roots of its complete subtrees only.

    Two frontiers are equal when their trees are.
    """

    __slots__ = ("_hashes", "_size")

    def __init__(self) -> None:
        self._size = 0
        # Roots of complete subtrees, largest (leftmost) first: one for each bit set in size.
        self._hashes: list[bytes] = []

    @classmethod
    def from_hashes(cls, size: int, hashes: Sequence[bytes]) -> Frontier:
        """The frontier that :attr:`size` and :attr:`hashes` of another one describe.

        Raises:
            InvalidError: Not as many hashes as ``size`` has bits set, or not hashes.
        """
        _check_count(size, "a tree's size")
        if len(hashes) != size.bit_count():
            raise InvalidError(
                f"a frontier of {size} leaves has {size.bit_count()} hashes, not {len(hashes)}",
                kind="invalid_frontier",
            )
        frontier = cls()
        frontier._size = size
        frontier._hashes = [_checked(one) for one in hashes]
        return frontier

    @property
    def size(self) -> int:
        """Leaves in the tree."""
        return self._size

    @property
    def hashes(self) -> tuple[bytes, ...]:
        """Roots of the complete subtrees, the largest first; for :meth:`from_hashes`."""
        return tuple(self._hashes)

    def append(self, leaf: bytes) -> None:
        """Add a leaf with this content."""
        self._push(leaf_hash(leaf))

    def append_hash(self, hash_: bytes) -> None:
        """Add a leaf with this leaf hash.

        Raises:
            InvalidError: It isn't 32 bytes.
        """
        self._push(_checked(hash_))

    def _push(self, hash_: bytes) -> None:
        hashes = self._hashes
        size = self._size
        while size & 1:  # a subtree of the same height stands to the left: join them
            hash_ = node_hash(hashes.pop(), hash_)
            size >>= 1
        hashes.append(hash_)
        self._size += 1

    def root(self) -> Digest:
        """The root of the tree so far."""
        if not self._hashes:
            return EMPTY_ROOT
        last = self._hashes[-1]
        # Written out: it happens for every publication, whatever reads or writes it.
        for left in self._hashes[-2::-1]:
            last = sha256(b"\x01" + left + last).digest()
        return last.hex()

    def copy(self) -> Frontier:
        """An independent frontier of the same tree."""
        other = Frontier()
        other._size = self._size
        other._hashes = list(self._hashes)
        return other

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Frontier):
            return NotImplemented
        return self._size == other._size and self._hashes == other._hashes

    __hash__ = None  # type: ignore[assignment]  # it changes

    def __repr__(self) -> str:
        return f"Frontier(size={self._size}, root={self.root()})"


def inclusion_proof(leaf_hashes: Sequence[bytes], index: int) -> list[bytes]:
    """The hashes that lead from one leaf to the root, lowest first (RFC 9162, 2.1.3.1).

    Args:
        leaf_hashes: Of all leaves of the tree.
        index: Which leaf, from 0.

    Raises:
        InvalidError: No such leaf, or a hash that isn't 32 bytes.
    """
    _check_count(index, "a leaf's index")
    if index >= len(leaf_hashes):
        raise InvalidError(
            f"no leaf {index} in a tree of {len(leaf_hashes)}", kind="invalid_proof_request"
        )
    proof: list[bytes] = []
    low, high = 0, len(leaf_hashes)
    while high - low > 1:
        middle = low + _split(high - low)
        if index < middle:
            proof.append(_subtree(leaf_hashes, middle, high))
            high = middle
        else:
            proof.append(_subtree(leaf_hashes, low, middle))
            low = middle
    proof.reverse()
    return proof


def consistency_proof(leaf_hashes: Sequence[bytes], first_size: int) -> list[bytes]:
    """The hashes that show that a tree extends an earlier one (RFC 9162, 2.1.4.1).

    Args:
        leaf_hashes: Of all leaves of the later tree.
        first_size: Leaves of the earlier tree, 1 to ``len(leaf_hashes)``; equal sizes have
            an empty proof.

    Raises:
        InvalidError: ``first_size`` out of range, or a hash that isn't 32 bytes.
    """
    _check_count(first_size, "a tree's size")
    if not 1 <= first_size <= len(leaf_hashes):
        raise InvalidError(
            f"a tree of {len(leaf_hashes)} leaves doesn't extend one of {first_size}"
            if first_size
            else "every tree extends the empty one: there is nothing to prove",
            kind="invalid_proof_request",
        )
    proof: list[bytes] = []
    low, high = 0, len(leaf_hashes)
    known = True  # the earlier tree is a whole subtree from 0: its root is known already
    while first_size != high:
        middle = low + _split(high - low)
        if first_size <= middle:
            proof.append(_subtree(leaf_hashes, middle, high))
            high = middle
        else:
            proof.append(_subtree(leaf_hashes, low, middle))
            low = middle
            known = False
    if not known:
        proof.append(_subtree(leaf_hashes, low, high))
    proof.reverse()
    return proof


def verify_inclusion(
    hash_: bytes, index: int, size: int, proof: Sequence[bytes], expected_root: Digest
) -> None:
    """Check that a leaf is in a tree (RFC 9162, 2.1.3.2).

    Args:
        hash_: The leaf hash.
        index: Where the leaf is said to be, from 0.
        size: Leaves of the tree.
        proof: As :func:`inclusion_proof` makes it.
        expected_root: The tree's root.

    Raises:
        InvalidError: Arguments that no proof could fit: an index outside the tree, a hash
            or root of another length.
        IntegrityError: The proof doesn't hold.
    """
    _check_count(index, "a leaf's index")
    _check_count(size, "a tree's size")
    if index >= size:
        raise InvalidError(f"no leaf {index} in a tree of {size}", kind="invalid_proof")
    _check_root(expected_root)
    path = _checked_proof(proof)
    current = _checked(hash_)
    position, last = index, size - 1
    for one in path:
        if last == 0:
            raise _broken("inclusion")
        if position & 1 or position == last:
            current = node_hash(one, current)
            while not position & 1 and position:  # the right edge skips levels
                position >>= 1
                last >>= 1
        else:
            current = node_hash(current, one)
        position >>= 1
        last >>= 1
    if last != 0 or current.hex() != expected_root:
        raise _broken("inclusion")


def verify_consistency(
    first_size: int,
    second_size: int,
    proof: Sequence[bytes],
    first_root: Digest,
    second_root: Digest,
) -> None:
    """Check that the second tree extends the first (RFC 9162, 2.1.4.2).

    Args:
        first_size: Leaves of the earlier tree, 1 or more.
        second_size: Leaves of the later tree, ``first_size`` or more.
        proof: As :func:`consistency_proof` makes it.
        first_root: The earlier tree's root.
        second_root: The later tree's root.

    Raises:
        InvalidError: Sizes that no proof could fit, or a hash or root of another length.
        IntegrityError: The proof doesn't hold.
    """
    _check_count(first_size, "a tree's size")
    _check_count(second_size, "a tree's size")
    if not 1 <= first_size <= second_size:
        raise InvalidError(
            f"no proof says that a tree of {second_size} leaves extends one of {first_size}",
            kind="invalid_proof",
        )
    _check_root(first_root)
    _check_root(second_root)
    path = _checked_proof(proof)
    if first_size == second_size:
        if path or first_root != second_root:
            raise _broken("consistency")
        return
    if first_size & (first_size - 1) == 0:
        path.insert(0, bytes.fromhex(first_root))  # a whole subtree: its root starts the path
    if not path:
        raise _broken("consistency")
    position, last = first_size - 1, second_size - 1
    while position & 1:
        position >>= 1
        last >>= 1
    first = second = path[0]
    for one in path[1:]:
        if last == 0:
            raise _broken("consistency")
        if position & 1 or position == last:
            first = node_hash(one, first)
            second = node_hash(one, second)
            while not position & 1 and position:
                position >>= 1
                last >>= 1
        else:
            second = node_hash(second, one)
        position >>= 1
        last >>= 1
    if last != 0 or first.hex() != first_root or second.hex() != second_root:
        raise _broken("consistency")


def _split(size: int) -> int:
    """The largest power of two below ``size``, which is 2 or more."""
    return 1 << ((size - 1).bit_length() - 1)


def _subtree(leaf_hashes: Sequence[bytes], low: int, high: int) -> bytes:
    return bytes.fromhex(root(leaf_hashes[at] for at in range(low, high)))


def _is_hash(value: object) -> TypeGuard[bytes]:
    return isinstance(value, bytes) and len(value) == HASH_BYTES


def _checked(value: bytes) -> bytes:
    if not _is_hash(value):
        raise InvalidError("a hash of a tree has 32 bytes", kind="invalid_hash")
    return value


def _checked_proof(proof: Sequence[bytes]) -> list[bytes]:
    return [_checked(one) for one in proof]


def _check_root(value: Digest) -> None:
    try:
        good = len(value) == 2 * HASH_BYTES and bytes.fromhex(value).hex() == value
    except ValueError:
        good = False
    if not good:
        raise InvalidError("a root has 64 lower-case hex digits", kind="invalid_hash")


def _check_count(value: int, what: str) -> None:
    if type(value) is not int or value < 0:
        raise InvalidError(f"{what} is an integer, 0 or more", kind="invalid_proof_request")


def _broken(what: str) -> IntegrityError:
    return IntegrityError(f"the {what} proof doesn't hold", kind=f"{what}_proof")
