"""Trees and proofs against RFC 6962's own vectors and an independent library."""

from __future__ import annotations

import base64
import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pymerkle
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vstore.errors import IntegrityError, InvalidError
from vstore.objects import merkle

LEAVES = [bytes([at]) * (at % 5) for at in range(70)]
HASHES = [merkle.leaf_hash(leaf) for leaf in LEAVES]
SIZES = [*range(1, 18), 31, 32, 33, 63, 64, 65, 70]


def bytes_of(text: str | None) -> bytes:
    return base64.b64decode(text or "")


def vector_files(vectors: Path, kind: str) -> list[tuple[str, dict[str, Any]]]:
    folder = vectors / "rfc6962" / "testdata" / kind
    return [(str(file), json.loads(file.read_bytes())) for file in sorted(folder.rglob("*.json"))]


def other_library(size: int) -> pymerkle.InmemoryTree:
    tree = pymerkle.InmemoryTree(algorithm="sha256")
    for leaf in LEAVES[:size]:
        tree.append_entry(leaf)
    return tree


def other_bit(value: bytes, bit: int) -> bytes:
    at, shift = divmod(bit, 8)
    return value[:at] + bytes([value[at] ^ (1 << shift)]) + value[at + 1 :]


def test_inclusion_vectors(vectors: Path) -> None:
    wrong = []
    files = vector_files(vectors, "inclusion")
    for name, case in files:
        try:
            merkle.verify_inclusion(
                bytes_of(case["leafHash"]),
                case["leafIdx"],
                case["treeSize"],
                [bytes_of(one) for one in case["proof"] or []],
                bytes_of(case["root"]).hex(),
            )
            refused = False
        except (InvalidError, IntegrityError):
            refused = True
        if refused != case["wantErr"]:
            wrong.append(name)
    assert wrong == []
    assert {case["wantErr"] for _, case in files} == {True, False}
    assert len(files) == 98


def test_consistency_vectors(vectors: Path) -> None:
    wrong = []
    files = vector_files(vectors, "consistency")
    for name, case in files:
        try:
            merkle.verify_consistency(
                case["size1"],
                case["size2"],
                [bytes_of(one) for one in case["proof"] or []],
                bytes_of(case["root1"]).hex(),
                bytes_of(case["root2"]).hex(),
            )
            refused = False
        except (InvalidError, IntegrityError):
            refused = True
        if refused != case["wantErr"]:
            wrong.append(name)
    # This one calls twelve bytes a root and wants equal roots accepted. No root of SHA-256
    # has twelve bytes, so they are refused before they are compared.
    assert [Path(name).stem for name in wrong] == ["sizes-are-equal-one-and-proof-is-empty"]
    assert {case["wantErr"] for _, case in files} == {True, False}
    assert len(files) == 98


def test_hashes_are_the_ones_of_the_rfc() -> None:
    assert merkle.root([]) == merkle.EMPTY_ROOT == sha256(b"").hexdigest()
    assert merkle.leaf_hash(b"") == sha256(b"\0").digest()
    left, right = merkle.leaf_hash(b"x"), merkle.leaf_hash(b"y")
    assert merkle.node_hash(left, right) == sha256(b"\1" + left + right).digest()
    assert merkle.root([left, right]) == sha256(b"\1" + left + right).hexdigest()


@pytest.mark.parametrize("size", SIZES)
def test_trees_equal_those_of_another_library(size: int) -> None:
    tree = other_library(size)
    hashes = HASHES[:size]
    assert merkle.root(hashes) == tree.get_root().hex()
    for index in range(size):
        # The other library puts the leaf itself first.
        path = tree.prove_inclusion(index + 1).path
        assert merkle.inclusion_proof(hashes, index) == path[1:], index
    for first in range(1, size):
        # Its consistency proofs split more than the RFC's where the earlier tree is one whole
        # subtree; both make the same roots of the hashes, which are of its own making.
        proof = merkle.consistency_proof(hashes, first)
        assert proof == subproof(first, hashes, known=True)
        merkle.verify_consistency(
            first, size, proof, tree.get_root(first).hex(), tree.get_root().hex()
        )


def tree_hash(hashes: list[bytes]) -> bytes:
    """MTH of RFC 9162, 2.1.1, word for word."""
    if len(hashes) == 1:
        return hashes[0]
    k = max(2**power for power in range(8) if 2**power < len(hashes))
    return merkle.node_hash(tree_hash(hashes[:k]), tree_hash(hashes[k:]))


def subproof(m: int, hashes: list[bytes], *, known: bool) -> list[bytes]:
    """SUBPROOF of RFC 9162, 2.1.4.1, word for word."""
    if m == len(hashes):
        return [] if known else [tree_hash(hashes)]
    k = max(2**power for power in range(8) if 2**power < len(hashes))
    if m <= k:
        return [*subproof(m, hashes[:k], known=known), tree_hash(hashes[k:])]
    return [*subproof(m - k, hashes[k:], known=False), tree_hash(hashes[:k])]


@pytest.mark.parametrize("size", SIZES)
def test_proofs_hold_and_nothing_else_does(size: int) -> None:
    hashes = HASHES[:size]
    root = merkle.root(hashes)
    wrong_root = merkle.root([*hashes, hashes[0]])
    for index in range(size):
        proof = merkle.inclusion_proof(hashes, index)
        merkle.verify_inclusion(hashes[index], index, size, proof, root)
        bad: list[tuple[bytes, int, list[bytes], str]] = [
            (HASHES[-1] if size < len(HASHES) else bytes(32), index, proof, root),
            (hashes[index], index, proof, wrong_root),
            (hashes[index], index, [*proof, bytes(32)], root),
        ]
        bad += [(hashes[index], at, proof, root) for at in range(size) if at != index]
        bad += [
            (hashes[index], index, proof[:at] + proof[at + 1 :], root) for at in range(len(proof))
        ]
        for leaf, at, path, expected in bad:
            with pytest.raises(IntegrityError) as caught:
                merkle.verify_inclusion(leaf, at, size, path, expected)
            assert caught.value.kind == "inclusion_proof"
    for first in range(1, size + 1):
        proof = merkle.consistency_proof(hashes, first)
        first_root = merkle.root(hashes[:first])
        merkle.verify_consistency(first, size, proof, first_root, root)
        wrong: list[tuple[list[bytes], str, str]] = [
            ([*proof, bytes(32)], first_root, root),
            (proof, first_root, wrong_root),
            (proof, wrong_root, root),
        ]
        wrong += [(proof[:at] + proof[at + 1 :], first_root, root) for at in range(len(proof))]
        for path, earlier, later in wrong:
            with pytest.raises(IntegrityError) as caught:
                merkle.verify_consistency(first, size, path, earlier, later)
            assert caught.value.kind == "consistency_proof"


@given(st.data())
def test_a_flipped_bit_of_a_proof_is_found(data: st.DataObject) -> None:
    size = data.draw(st.integers(2, len(HASHES)))
    hashes = HASHES[:size]
    root = merkle.root(hashes)
    index = data.draw(st.integers(0, size - 1))
    proof = merkle.inclusion_proof(hashes, index)
    at = data.draw(st.integers(0, len(proof) - 1))
    proof[at] = other_bit(proof[at], data.draw(st.integers(0, 255)))
    with pytest.raises(IntegrityError):
        merkle.verify_inclusion(hashes[index], index, size, proof, root)

    first = data.draw(st.integers(1, size - 1))
    proof = merkle.consistency_proof(hashes, first)
    at = data.draw(st.integers(0, len(proof) - 1))
    proof[at] = other_bit(proof[at], data.draw(st.integers(0, 255)))
    with pytest.raises(IntegrityError):
        merkle.verify_consistency(first, size, proof, merkle.root(hashes[:first]), root)


@given(
    st.integers(1, 200),
    st.integers(1, 200),
    st.lists(st.binary(min_size=32, max_size=32), max_size=9),
)
def test_a_proof_that_was_never_made_does_not_hold(
    first: int, second: int, proof: list[bytes]
) -> None:
    """Random hashes never hold, and nothing but the two errors comes out."""
    with pytest.raises((IntegrityError, InvalidError)):
        merkle.verify_inclusion(bytes(32), first - 1, second, [*proof, bytes(32)], "11" * 32)
    with pytest.raises((IntegrityError, InvalidError)):
        merkle.verify_consistency(first, second, proof, "00" * 32, "11" * 32)


def test_a_frontier_follows_the_tree() -> None:
    frontier = merkle.Frontier()
    assert (frontier.size, frontier.hashes, frontier.root()) == (0, (), merkle.EMPTY_ROOT)
    for size, leaf in enumerate(LEAVES, start=1):
        before = frontier.copy()
        frontier.append(leaf)
        assert frontier.size == size
        assert frontier.root() == merkle.root(HASHES[:size])
        assert len(frontier.hashes) == size.bit_count()
        again = merkle.Frontier.from_hashes(size, frontier.hashes)
        assert again == frontier
        assert before.size == size - 1
        assert before != frontier
        before.append_hash(merkle.leaf_hash(leaf))
        assert before == frontier
    assert frontier.__eq__(None) is NotImplemented
    assert repr(frontier) == f"Frontier(size=70, root={merkle.root(HASHES)})"
    with pytest.raises(TypeError):
        hash(frontier)


def test_a_frontier_stays_small() -> None:
    frontier = merkle.Frontier()
    for _ in range(5_000):
        frontier.append(b"x")
    assert len(frontier.hashes) <= 13


@pytest.mark.parametrize(
    ("size", "hashes"), [(1, []), (0, [bytes(32)]), (3, [bytes(32)]), (1, [b"x"]), (-1, [])]
)
def test_a_frontier_refuses_what_describes_none(size: int, hashes: list[bytes]) -> None:
    with pytest.raises(InvalidError):
        merkle.Frontier.from_hashes(size, hashes)


def test_bad_arguments_are_told_from_bad_proofs() -> None:
    good = "00" * 32
    for call in (
        lambda: merkle.root([b"short"]),
        lambda: merkle.inclusion_proof(HASHES[:3], 3),
        lambda: merkle.inclusion_proof(HASHES[:3], -1),
        lambda: merkle.inclusion_proof([HASHES[0], b""], 0),
        lambda: merkle.inclusion_proof([], 0),
        lambda: merkle.consistency_proof(HASHES[:3], 0),
        lambda: merkle.consistency_proof(HASHES[:3], 4),
        lambda: merkle.consistency_proof([], 0),
        lambda: merkle.consistency_proof(HASHES[:3], 1.0),
        lambda: merkle.verify_inclusion(HASHES[0], 0, 0, [], good),
        lambda: merkle.verify_inclusion(HASHES[0], -1, 1, [], good),
        lambda: merkle.verify_inclusion(b"", 0, 1, [], good),
        lambda: merkle.verify_inclusion(HASHES[0], 0, 2, [b"x"], good),
        lambda: merkle.verify_inclusion(HASHES[0], 0, 1, [], "AB" * 32),
        lambda: merkle.verify_inclusion(HASHES[0], 0, 1, [], "zz" * 32),
        lambda: merkle.verify_inclusion(HASHES[0], 0, 1, [], " " * 64),
        lambda: merkle.verify_consistency(0, 1, [], good, good),
        lambda: merkle.verify_consistency(2, 1, [], good, good),
        lambda: merkle.verify_consistency(1, 2, [bytes(31)], good, good),
        lambda: merkle.verify_consistency(1, 1, [], "00", "00"),
    ):
        with pytest.raises(InvalidError):
            call()
