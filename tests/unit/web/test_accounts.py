"""Accounts: names, roles, preferences, and an end that is one at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from vstore.errors import ConflictError, InvalidError, NotFoundError, StateError
from vstore.web.accounts import Accounts
from vstore.web.audit import Audit
from vstore.web.enrolment import Enrolment
from vstore.web.problems import NotLoggedIn
from vstore.web.sessions import Sessions
from vstore.web.tokens import Tokens

PASSWORD = "correct horse battery"


def test_add_and_find(accounts: Accounts) -> None:
    pat = accounts.add("Pat Example", by="operator:root")
    assert (pat.name, pat.role, pat.disabled, pat.created_at, pat.zone, pat.language) == (
        "Pat Example", "tester", False, "2026-01-01T00:00:00Z", None, None,
    )  # fmt: skip
    assert not pat.is_admin
    assert accounts.get("pat EXAMPLE") == accounts.by_id(pat.account_id) == pat
    ann = accounts.add("ann", role="admin", by="operator:root")
    assert accounts.list() == [ann, pat]
    assert accounts.count_admins() == 1


@pytest.mark.parametrize("again", ["pat", "PAT", "ｐａｔ"])
def test_a_name_is_given_once(accounts: Accounts, again: str) -> None:
    accounts.add("Pat", by="x")
    with pytest.raises(ConflictError) as error:
        accounts.add(again, by="x")
    assert error.value.kind == "name_taken"
    assert len(accounts.list()) == 1


@pytest.mark.parametrize(
    "name",
    ["", " ", " pat", "pat ", "p  t", "p\tt", "p\nt", "p\0t", "p\u202et", "a:b", "a：b", "\ud800",
     "x" * 65, "p\u00a0t"],
)  # fmt: skip
def test_what_is_no_name(accounts: Accounts, name: str) -> None:
    with pytest.raises(InvalidError) as error:
        accounts.add(name, by="x")
    assert error.value.kind == "invalid_account_name"


def test_names_of_all_scripts(accounts: Accounts) -> None:
    for name in ("Zoë", "Łukasz 2", "李雷", "x" * 64, "o'neil; DROP TABLE accounts", "<b>"):
        assert accounts.add(name, by="x").name == name
        assert accounts.get(name).name == name


def test_decomposed_letters_are_composed(accounts: Accounts) -> None:
    assert accounts.add("Zoe\u0308", by="x").name == "Zo\u00eb"


@pytest.mark.parametrize("name", ["nobody", "", "\ud800", "x" * 10**6, "' OR 1=1"])
def test_unknown_names(accounts: Accounts, name: str) -> None:
    with pytest.raises(NotFoundError) as error:
        accounts.get(name)
    assert error.value.kind == "unknown_account"
    for number in (0, -1, 99, 2**80):
        with pytest.raises(NotFoundError):
            accounts.by_id(number)


def test_disabling_ends_everything_at_once(
    accounts: Accounts, enrolment: Enrolment, sessions: Sessions, tokens: Tokens, audit: Audit
) -> None:
    for name in ("pat", "sam"):
        accounts.add(name, by="x")
        enrolment.redeem(enrolment.new_code(name, "x"), PASSWORD)
    mine = [sessions.log_in("pat", PASSWORD, address="192.0.2.1") for _ in range(2)]
    other = sessions.log_in("sam", PASSWORD, address="192.0.2.1")
    token, other_token = (tokens.create(name, "bot", "x") for name in ("pat", "sam"))
    code = enrolment.new_code("pat", "x")
    assert accounts.disable("PAT", "ann").disabled
    assert [sessions.find(secret) for secret in mine] == [None, None]
    assert tokens.find(token) is None
    assert sessions.find(other) is not None
    assert tokens.find(other_token) is not None
    for refused in (
        lambda: sessions.log_in("pat", PASSWORD, address=None),
        lambda: enrolment.redeem(code, PASSWORD),
        lambda: enrolment.new_code("pat", "x"),
        lambda: enrolment.reset("pat", "x"),
        lambda: tokens.create("pat", "bot", "x"),
    ):
        with pytest.raises((NotLoggedIn, InvalidError, StateError)):
            refused()
    told = next(entry for entry in audit.recent() if entry.action == "account.disabled")
    assert (told.actor, told.facts) == (
        "ann", {"name": "pat", "sessions_ended": 2, "tokens_revoked": 1},
    )  # fmt: skip
    assert not accounts.enable("pat", "ann").disabled
    # The password is what it was; what had ended stays ended.
    assert sessions.find(sessions.log_in("pat", PASSWORD, address=None)) is not None
    assert tokens.find(token) is None
    assert [sessions.find(secret) for secret in mine] == [None, None]


def test_disabling_and_enabling_again_say_nothing_new(accounts: Accounts, audit: Audit) -> None:
    accounts.add("pat", by="x")
    for _ in range(2):
        accounts.disable("pat", "x")
    for _ in range(2):
        accounts.enable("pat", "x")
    assert [entry.action for entry in audit.recent()] == [
        "account.enabled", "account.disabled", "account.added",
    ]  # fmt: skip


def test_the_last_administrator_stays(accounts: Accounts) -> None:
    for name in ("ann", "bob", "cat"):
        accounts.add(name, role="admin", by="x")
    accounts.add("pat", by="x")

    def disable(name: str) -> str:
        try:
            return accounts.disable(name, "x").name
        except StateError as error:
            return error.kind

    with ThreadPoolExecutor(3) as pool:
        outcomes = list(pool.map(disable, ["ann", "bob", "cat"]))
    assert outcomes.count("last_admin") == 1
    assert accounts.count_admins() == 1
    assert accounts.disable("pat", "x").disabled


def test_preferences(accounts: Accounts) -> None:
    pat = accounts.add("pat", by="x")
    pat = accounts.set_preferences(pat.account_id, zone="Europe/Berlin")
    pat = accounts.set_preferences(pat.account_id, language="de")
    assert (pat.zone, pat.language) == ("Europe/Berlin", "de")
    assert accounts.get("pat") == pat
    assert accounts.set_preferences(pat.account_id, zone=None).zone is None
    for zone in ("../../etc/passwd", "Europe", "Mars/Base", ""):
        with pytest.raises(InvalidError):
            accounts.set_preferences(pat.account_id, zone=zone)
    for language in ("", "d", "DE", "deutsch", "d\u00e9"):
        with pytest.raises(InvalidError):
            accounts.set_preferences(pat.account_id, language=language)
    with pytest.raises(NotFoundError):
        accounts.set_preferences(99, language="de")
