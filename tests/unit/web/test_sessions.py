"""Logins, how long they last, and how often one may try."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import argon2
import pytest

from vstore.testing.clock import FrozenClock
from vstore.web import passwords
from vstore.web import sessions as module
from vstore.web.accounts import Accounts
from vstore.web.audit import Audit
from vstore.web.database import Database
from vstore.web.enrolment import Enrolment
from vstore.web.problems import NotLoggedIn, TooMany
from vstore.web.sessions import Sessions

PASSWORD = "correct horse battery"
HOUR = 3600


@pytest.fixture(autouse=True)
def pat(accounts: Accounts, enrolment: Enrolment) -> int:
    account = accounts.add("Pat", by="x")
    enrolment.redeem(enrolment.new_code("Pat", "x"), PASSWORD)
    return account.account_id


def test_a_login(sessions: Sessions, pat: int, clock: FrozenClock) -> None:
    secret = sessions.log_in("PAT", PASSWORD, address="192.0.2.1")
    clock.tick(5)
    session = sessions.find(secret)
    assert session is not None
    assert session.account.account_id == pat
    assert (session.created_at, session.last_seen) == (
        "2026-01-01T00:00:00Z", "2026-01-01T00:00:05Z",
    )  # fmt: skip
    assert secret.encode() not in session.session_id
    sessions.log_out(secret)
    assert sessions.find(secret) is None
    sessions.log_out(secret)


def test_each_login_has_a_secret_of_its_own(sessions: Sessions) -> None:
    first = sessions.log_in("pat", PASSWORD, address=None)
    second = sessions.log_in("pat", PASSWORD, address=None)
    third = sessions.log_in("pat", PASSWORD, address=None, replacing=first)
    assert len({first, second, third}) == 3
    assert [sessions.find(one) is not None for one in (first, second, third)] == [
        False, True, True,
    ]  # fmt: skip


@pytest.mark.parametrize("made_up", ["", "x", "x" * 10**5, "\ud800", "' OR 1=1"])
def test_made_up_secrets(sessions: Sessions, made_up: str) -> None:
    sessions.log_in("pat", PASSWORD, address=None)
    assert sessions.find(made_up) is None
    sessions.log_out(made_up)


def test_idle_end(sessions: Sessions, clock: FrozenClock) -> None:
    secret = sessions.log_in("pat", PASSWORD, address=None)
    for _ in range(3):
        clock.tick(12 * HOUR - 1)
        assert sessions.find(secret) is not None
    clock.tick(12 * HOUR)
    assert sessions.find(secret) is None
    # It stays over, also when the clock is moved back a little.
    sessions.log_in("pat", PASSWORD, address=None)
    clock.tick(-60)
    assert sessions.find(secret) is None


def test_absolute_end(sessions: Sessions, clock: FrozenClock) -> None:
    secret = sessions.log_in("pat", PASSWORD, address=None)
    for _ in range(7 * 24 // 6 - 1):
        clock.tick(6 * HOUR)
        assert sessions.find(secret) is not None
    clock.tick(6 * HOUR)
    assert sessions.find(secret) is None


def test_use_is_written_at_most_once_a_minute(
    sessions: Sessions, clock: FrozenClock, database: Database
) -> None:
    secret = sessions.log_in("pat", PASSWORD, address=None)

    def written() -> int:
        with database.reading() as db:
            return db.execute("SELECT last_seen FROM sessions").fetchone()[0]

    began = written()
    clock.tick(59)
    sessions.find(secret)
    assert written() == began
    clock.tick(1)
    sessions.find(secret)
    assert written() == began + 60


def test_one_answer_to_all_that_is_wrong(
    sessions: Sessions, accounts: Accounts, enrolment: Enrolment, monkeypatch: pytest.MonkeyPatch
) -> None:
    accounts.add("new", by="x")
    accounts.add("gone", by="x")
    enrolment.redeem(enrolment.new_code("gone", "x"), PASSWORD)
    accounts.disable("gone", "x")
    work: list[str] = []

    class Counting(argon2.PasswordHasher):
        def verify(self, hash: str | bytes, password: str | bytes) -> bool:
            work.append(str(hash).rsplit("$", 2)[0])
            return super().verify(hash, password)

    monkeypatch.setattr(passwords, "_HASHER", Counting(1, 8, 1))
    told = set()
    cases = [
        ("pat", "wrong password"),
        ("nobody", PASSWORD),
        ("", ""),
        ("\ud800" * 9, "\ud800" * 12),
        ("x" * 10**5, "x" * 10**5),
        ("new", PASSWORD),
        ("gone", PASSWORD),
    ]
    for name, password in cases:
        with pytest.raises(NotLoggedIn) as error:
            sessions.log_in(name, password, address=None)
        told.add((error.value.kind, error.value.message, error.value.hint))
    assert len(told) == 1
    assert len(work) == len(cases)
    assert len(set(work)) == 1


def test_one_name_from_one_place(sessions: Sessions, clock: FrozenClock) -> None:
    for number in range(10):
        clock.tick(1)
        with pytest.raises(NotLoggedIn):
            sessions.log_in(["pat", "PAT"][number % 2], "wrong password", address="192.0.2.1")
    with pytest.raises(TooMany) as error:
        sessions.log_in("pat", PASSWORD, address="192.0.2.1")
    assert error.value.kind == "too_many"
    assert error.value.details["retry_after"] == 900 - 9
    # Elsewhere, and with another name, it is still possible.
    assert sessions.log_in("pat", PASSWORD, address="192.0.2.2")
    with pytest.raises(NotLoggedIn):
        sessions.log_in("sam", "wrong password", address="192.0.2.1")
    clock.tick(900 - 9)
    assert sessions.log_in("pat", PASSWORD, address="192.0.2.1")


def test_many_names_from_one_place(sessions: Sessions) -> None:
    for number in range(60):
        with pytest.raises(NotLoggedIn):
            # Addresses of one /64.
            sessions.log_in(f"name {number}", "wrong", address=f"2001:db8::{number:x}")
    with pytest.raises(TooMany):
        sessions.log_in("pat", PASSWORD, address="2001:db8::ffff")
    assert sessions.log_in("pat", PASSWORD, address="2001:db8:0:1::1")


def test_logins_that_succeed_are_not_counted(sessions: Sessions) -> None:
    for _ in range(70):
        sessions.log_in("pat", PASSWORD, address="192.0.2.1")


def test_many_tries_at_once_do_not_get_by(sessions: Sessions) -> None:
    def attempt(_: int) -> str:
        try:
            sessions.log_in("pat", "wrong password", address="192.0.2.1")
        except (NotLoggedIn, TooMany) as error:
            return error.kind
        return "in"

    with ThreadPoolExecutor(16) as pool:
        outcomes = list(pool.map(attempt, range(40)))
    assert (outcomes.count("wrong_login"), outcomes.count("too_many")) == (10, 30)


def test_a_restart_forgives_nobody(sessions: Sessions, database: Database) -> None:
    for _ in range(10):
        with pytest.raises(NotLoggedIn):
            sessions.log_in("pat", "wrong password", address="192.0.2.1")
    again = Database(database.path, clock=database.clock)
    with pytest.raises(TooMany):
        Sessions(again).log_in("pat", PASSWORD, address="192.0.2.1")
    again.close()


@pytest.mark.parametrize("change", ["disable", "reset"])
def test_shut_out_while_the_password_is_looked_at(
    sessions: Sessions,
    accounts: Accounts,
    enrolment: Enrolment,
    database: Database,
    change: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    changes: dict[str, Callable[[], object]] = {
        "disable": lambda: accounts.disable("pat", "x"),
        "reset": lambda: enrolment.reset("pat", "x"),
    }

    def verify(stored: str | None, password: str) -> bool:
        matches = passwords.verify_password(stored, password)
        changes[change]()
        return matches

    monkeypatch.setattr(module, "verify_password", verify)
    with pytest.raises(NotLoggedIn):
        sessions.log_in("pat", PASSWORD, address=None)
    with database.reading() as db:
        assert db.execute("SELECT count(*) FROM sessions").fetchone()[0] == 0


def test_an_outdated_hash_is_renewed(
    sessions: Sessions, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passwords, "_HASHER", argon2.PasswordHasher(2, 16, 1))
    sessions.log_in("pat", PASSWORD, address=None)
    with database.reading() as db:
        (stored,) = db.execute("SELECT password_hash FROM credentials").fetchone()
    assert argon2.extract_parameters(stored).time_cost == 2
    assert sessions.log_in("pat", PASSWORD, address=None)


def test_ending_all(sessions: Sessions, pat: int) -> None:
    secrets = [sessions.log_in("pat", PASSWORD, address=None) for _ in range(3)]
    assert sessions.end_all(pat) == 3
    assert [sessions.find(secret) for secret in secrets] == [None] * 3
    assert sessions.end_all(pat) == 0


def test_the_trail_of_a_login(sessions: Sessions, audit: Audit) -> None:
    secret = sessions.log_in("pat", PASSWORD, address="::ffff:192.0.2.7")
    sessions.log_out(secret)
    with pytest.raises(NotLoggedIn):
        sessions.log_in("pat", "wrong password", address="2001:db8::1%eth0")
    assert [(entry.actor, entry.action, entry.facts) for entry in audit.recent(3)] == [
        ("Pat", "session.refused", {"address": "2001:db8::/64"}),
        ("Pat", "session.ended", {}),
        ("Pat", "session.began", {"address": "192.0.2.7"}),
    ]


def test_a_session_goes_on_where_its_use_cannot_be_noted(
    sessions: Sessions, database: Database, clock: FrozenClock
) -> None:
    secret = sessions.log_in("Pat", PASSWORD, address=None)
    clock.tick(HOUR)
    with database.reading() as db:
        connection = db
    connection.execute("PRAGMA query_only = ON")  # as a disk that is full
    assert sessions.find(secret) is not None
    # It ends all the same when it wasn't used for long enough.
    clock.tick(11 * HOUR)
    assert sessions.find(secret) is None
    connection.execute("PRAGMA query_only = OFF")
