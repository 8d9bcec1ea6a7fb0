"""Codes that work once, and passwords."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from vstore.errors import InvalidError, NotFoundError, VStoreError
from vstore.testing.clock import FrozenClock
from vstore.web import enrolment as module
from vstore.web import passwords
from vstore.web.accounts import Accounts
from vstore.web.audit import Audit
from vstore.web.database import Database
from vstore.web.enrolment import Enrolment
from vstore.web.problems import NotLoggedIn, TooMany
from vstore.web.sessions import Sessions

PASSWORD = "correct horse battery"
OTHER = "a wholly different one"


@pytest.fixture
def code(accounts: Accounts, enrolment: Enrolment) -> str:
    accounts.add("pat", by="x")
    return enrolment.new_code("pat", "x")


def refused(call: Callable[[], object]) -> str:
    with pytest.raises(VStoreError) as error:
        call()
    return error.value.kind


def test_a_code_works_once(enrolment: Enrolment, sessions: Sessions, code: str) -> None:
    assert enrolment.redeem(code.lower().replace("-", " "), PASSWORD).name == "pat"
    assert sessions.log_in("pat", PASSWORD, address=None)
    assert refused(lambda: enrolment.redeem(code, OTHER)) == "unknown_code"
    assert sessions.log_in("pat", PASSWORD, address=None)


def test_of_two_at_once_one_wins(
    enrolment: Enrolment, sessions: Sessions, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All pass the look at the code, then hash, then meet at the transaction."""
    together = threading.Barrier(8)

    def hash_and_wait(password: str) -> str:
        hashed = real(password)
        together.wait(30)
        return hashed

    real = module.hash_password
    monkeypatch.setattr(module, "hash_password", hash_and_wait)

    def redeem(number: int) -> str:
        try:
            enrolment.redeem(code, f"password number {number}")
        except InvalidError as error:
            return error.kind
        return f"password number {number}"

    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(redeem, range(8)))
    (won,) = [outcome for outcome in outcomes if outcome != "unknown_code"]
    assert sessions.log_in("pat", won, address=None)
    for number in range(8):
        if (password := f"password number {number}") != won:
            with pytest.raises(NotLoggedIn):
                sessions.log_in("pat", password, address=f"192.0.2.{number}")


def test_a_code_ends_after_72_hours(enrolment: Enrolment, code: str, clock: FrozenClock) -> None:
    clock.tick(72 * 3600 - 1)
    newer = enrolment.new_code("pat", "x")
    assert refused(lambda: enrolment.redeem(code, PASSWORD)) == "unknown_code"  # void by now
    clock.tick(72 * 3600)
    assert refused(lambda: enrolment.redeem(newer, PASSWORD)) == "expired_code"
    last = enrolment.new_code("pat", "x")
    clock.tick(72 * 3600 - 1)
    assert enrolment.redeem(last, PASSWORD)


def test_a_code_that_ends_while_the_password_is_hashed(
    enrolment: Enrolment, code: str, clock: FrozenClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = module.hash_password

    def slow(password: str) -> str:
        clock.tick(72 * 3600)
        return real(password)

    monkeypatch.setattr(module, "hash_password", slow)
    assert refused(lambda: enrolment.redeem(code, PASSWORD)) == "expired_code"


def test_a_weak_password_leaves_the_code_usable(enrolment: Enrolment, code: str) -> None:
    assert refused(lambda: enrolment.redeem(code, "short")) == "weak_password"
    assert enrolment.redeem(code, PASSWORD)


@pytest.mark.parametrize("made_up", ["", "x" * 10**5, "\ud800", "00000-00000-00000-00000"])
def test_made_up_codes_cost_no_hash(
    enrolment: Enrolment, made_up: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "hash_password", lambda _: pytest.fail("hashed"))
    assert refused(lambda: enrolment.redeem(made_up, PASSWORD)) == "unknown_code"


def test_unknown_names(enrolment: Enrolment) -> None:
    for call in (enrolment.new_code, enrolment.reset):
        with pytest.raises(NotFoundError):
            call("nobody", "x")


def test_reset_shuts_out_until_the_code_is_used(
    enrolment: Enrolment, sessions: Sessions, code: str
) -> None:
    enrolment.redeem(code, PASSWORD)
    secret = sessions.log_in("pat", PASSWORD, address=None)
    new = enrolment.reset("pat", "ann")
    assert sessions.find(secret) is None
    assert refused(lambda: sessions.log_in("pat", PASSWORD, address=None)) == "wrong_login"
    enrolment.redeem(new, OTHER)
    assert sessions.log_in("pat", OTHER, address=None)


def test_redeeming_ends_older_sessions(enrolment: Enrolment, sessions: Sessions, code: str) -> None:
    enrolment.redeem(code, PASSWORD)
    secret = sessions.log_in("pat", PASSWORD, address=None)
    enrolment.redeem(enrolment.new_code("pat", "x"), OTHER)
    assert sessions.find(secret) is None


def test_changing_the_password(
    enrolment: Enrolment, sessions: Sessions, accounts: Accounts, code: str
) -> None:
    enrolment.redeem(code, PASSWORD)
    here, there = (sessions.log_in("pat", PASSWORD, address=None) for _ in range(2))
    pat = accounts.get("pat").account_id
    session = sessions.find(here)
    assert session is not None
    assert refused(lambda: enrolment.change_password(pat, OTHER, "x" * 12)) == "wrong_password"
    assert refused(lambda: enrolment.change_password(pat, PASSWORD, "short")) == "weak_password"
    enrolment.change_password(pat, PASSWORD, OTHER, keep=session.session_id)
    assert sessions.find(here) is not None
    assert sessions.find(there) is None
    assert sessions.log_in("pat", OTHER, address=None)
    enrolment.change_password(pat, OTHER, PASSWORD)
    assert sessions.find(here) is None


def test_guessing_the_current_password(
    enrolment: Enrolment, accounts: Accounts, code: str, clock: FrozenClock
) -> None:
    enrolment.redeem(code, PASSWORD)
    pat = accounts.get("pat").account_id
    for _ in range(10):
        with pytest.raises(NotLoggedIn):
            enrolment.change_password(pat, OTHER, OTHER)
    with pytest.raises(TooMany):
        enrolment.change_password(pat, PASSWORD, OTHER)
    clock.tick(900)
    enrolment.change_password(pat, PASSWORD, OTHER)


@pytest.mark.parametrize("change", ["disable", "reset"])
def test_shut_out_while_the_current_password_is_looked_at(
    enrolment: Enrolment,
    sessions: Sessions,
    accounts: Accounts,
    code: str,
    change: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    enrolment.redeem(code, PASSWORD)
    changes: dict[str, Callable[[], object]] = {
        "disable": lambda: accounts.disable("pat", "x"),
        "reset": lambda: enrolment.reset("pat", "x"),
    }

    def verify(stored: str | None, password: str) -> bool:
        matches = passwords.verify_password(stored, password)
        changes[change]()
        return matches

    monkeypatch.setattr(module, "verify_password", verify)
    pat = accounts.get("pat").account_id
    assert refused(lambda: enrolment.change_password(pat, PASSWORD, OTHER)) == "wrong_password"
    monkeypatch.undo()
    accounts.enable("pat", "x")
    for password in {"disable": [OTHER], "reset": [OTHER, PASSWORD]}[change]:
        assert refused(lambda p=password: sessions.log_in("pat", p, address=None)) == "wrong_login"


def test_no_secret_is_kept(
    enrolment: Enrolment,
    sessions: Sessions,
    accounts: Accounts,
    audit: Audit,
    database: Database,
    code: str,
) -> None:
    """Neither in the files nor in the audit trail."""
    plain = code.replace("-", "")
    enrolment.redeem(code, PASSWORD)
    pending = enrolment.new_code("pat", "x")
    secret = sessions.log_in("pat", PASSWORD, address=None)
    for name, typed in (("pat", "secret typed wrong"), ("secret typed as name", "x" * 12)):
        with pytest.raises(NotLoggedIn):
            sessions.log_in(name, typed, address=None)
    written = b"".join(
        path.read_bytes() for path in sorted(database.path.parent.iterdir()) if path.is_file()
    )
    for hidden in (PASSWORD, code, plain, pending, pending.replace("-", ""), secret):
        assert hidden.encode() not in written
    assert b"secret typed" not in written
    assert b"enrolment.redeemed" in written
    assert [entry.actor for entry in audit.recent(2)] == ["nobody", "pat"]
