"""Hashes of passwords: the library's settings, any input, the same work for nobody."""

from __future__ import annotations

import re
import threading
from concurrent.futures import ThreadPoolExecutor

import argon2
import pytest

from vstore.errors import InvalidError
from vstore.web import passwords
from vstore.web.passwords import check_password, hash_password, is_outdated, verify_password


def test_argon2id_with_the_settings_of_the_library(full_hashes: None) -> None:
    stored = hash_password("correct horse battery")
    found = argon2.extract_parameters(stored)
    library = argon2.PasswordHasher()
    assert found.type is argon2.Type.ID
    assert (found.time_cost, found.memory_cost, found.parallelism) == (
        library.time_cost, library.memory_cost, library.parallelism,
    )  # fmt: skip
    assert argon2.PasswordHasher().verify(stored, "correct horse battery")
    assert not is_outdated(stored)
    nobody = passwords._nobody()
    assert argon2.extract_parameters(nobody) == found
    assert not verify_password(nobody, "correct horse battery")
    assert is_outdated(argon2.PasswordHasher(1, 8, 1).hash("correct horse battery"))


def test_what_verifies() -> None:
    stored = hash_password("correct horse battery")
    assert stored != hash_password("correct horse battery")
    assert verify_password(stored, "correct horse battery")
    for wrong in ("correct horse batterY", "", "x" * 5000, "\ud800" * 12):
        assert not verify_password(stored, wrong)
    assert not verify_password("no hash", "correct horse battery")
    # Composed and decomposed.
    assert verify_password(hash_password("Stra\u00dfe und B\u00e4ume"), "Straße und Ba\u0308ume")


@pytest.mark.parametrize("typed", ["", "correct horse battery", "x" * 5000, "\ud800" * 12])
def test_nobody_takes_the_same_work(typed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each call verifies exactly one hash, of the parameters that real ones have."""
    verified: list[str] = []

    class Counting(argon2.PasswordHasher):
        def verify(self, hash: str | bytes, password: str | bytes) -> bool:
            verified.append(str(hash))
            return super().verify(hash, password)

    monkeypatch.setattr(passwords, "_HASHER", Counting(1, 8, 1))
    passwords._nobody.cache_clear()
    real = hash_password("another password")
    assert not verify_password(None, typed)
    assert not verify_password(real, typed)
    assert len(verified) == 2
    assert {re.split(r"\$", one)[3] for one in verified} == {"m=8,t=1,p=1"}


@pytest.mark.parametrize("bad", ["", "x" * 11, "x" * 1025, "x" * 12 + "\udfff"])
def test_what_is_no_password(bad: str) -> None:
    for refuse in (check_password, hash_password):
        with pytest.raises(InvalidError) as error:
            refuse(bad)
        assert error.value.kind == "weak_password"
        assert "xxx" not in error.value.message


def test_bounds() -> None:
    check_password("x" * 12)
    check_password("x" * 1024)


def test_a_crowd_fills_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    at_once, most = 0, 0
    lock, four = threading.Lock(), threading.Barrier(4)

    class Slow(argon2.PasswordHasher):
        def verify(self, hash: str | bytes, password: str | bytes) -> bool:
            nonlocal at_once, most
            with lock:
                at_once += 1
                most = max(most, at_once)
            # Four meet here; a fifth that got in would be counted.
            four.wait(30)
            with lock:
                at_once -= 1
            raise argon2.exceptions.VerifyMismatchError

    monkeypatch.setattr(passwords, "_HASHER", Slow(1, 8, 1))
    with ThreadPoolExecutor(16) as pool:
        assert not any(pool.map(lambda _: verify_password(None, "x" * 12), range(16)))
    assert most == 4
