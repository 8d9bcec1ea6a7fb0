"""Tokens of bots."""

from __future__ import annotations

import re

import pytest

from vstore.errors import InvalidError, NotFoundError
from vstore.testing.clock import FrozenClock
from vstore.web.accounts import Account, Accounts
from vstore.web.audit import Audit
from vstore.web.database import Database
from vstore.web.tokens import Tokens


@pytest.fixture(autouse=True)
def bot(accounts: Accounts) -> Account:
    return accounts.add("Bot", by="x")


def test_a_token_stands_for_its_account(tokens: Tokens, bot: Account, database: Database) -> None:
    secret = tokens.create("bot", "nightly", "ann")
    assert re.fullmatch(r"vst_[A-Za-z0-9_-]{43}", secret)
    assert tokens.find(secret) == bot
    for made_up in (
        "",
        "vst_",
        secret[:-1],
        secret + "x",
        secret.lower(),
        secret[4:],
        "vst_\ud800",
    ):
        assert tokens.find(made_up) is None
    written = b"".join(
        path.read_bytes() for path in sorted(database.path.parent.iterdir()) if path.is_file()
    )
    assert secret.encode() not in written
    assert secret[4:].encode() not in written


def test_list_and_revoke(tokens: Tokens, audit: Audit, clock: FrozenClock) -> None:
    first, second = (tokens.create("bot", label, "ann") for label in ("one", "two"))
    clock.tick(5)
    tokens.find(first)
    clock.tick(5)
    tokens.revoke(2, "ann")
    tokens.revoke(2, "ann")
    assert tokens.find(second) is None
    assert tokens.find(first) is not None
    assert [
        (one.token_id, one.label, one.created_at, one.last_used, one.revoked_at)
        for one in tokens.list("BOT")
    ] == [
        (1, "one", "2026-01-01T00:00:00Z", "2026-01-01T00:00:05Z", None),
        (2, "two", "2026-01-01T00:00:00Z", None, "2026-01-01T00:00:10Z"),
    ]
    assert [(entry.action, entry.facts) for entry in audit.recent(2)] == [
        ("token.revoked", {"name": "Bot", "token_id": 2, "label": "two"}),
        ("token.made", {"name": "Bot", "token_id": 2, "label": "two"}),
    ]


def test_use_is_written_at_most_once_a_minute(tokens: Tokens, clock: FrozenClock) -> None:
    secret = tokens.create("bot", "one", "ann")
    used = []
    for _ in range(4):
        tokens.find(secret)
        used.append(tokens.list("bot")[0].last_used)
        clock.tick(30)
    assert used == ["2026-01-01T00:00:00Z"] * 2 + ["2026-01-01T00:01:00Z"] * 2


def test_what_is_refused(tokens: Tokens) -> None:
    for label in ("", " x", "x" * 65, "a\nb", "\ud800"):
        with pytest.raises(InvalidError):
            tokens.create("bot", label, "x")
    for number in (0, 7, -1, 2**80):
        with pytest.raises(NotFoundError) as error:
            tokens.revoke(number, "x")
        assert error.value.kind == "unknown_token"
    with pytest.raises(NotFoundError):
        tokens.create("nobody", "x", "x")
    with pytest.raises(NotFoundError):
        tokens.list("nobody")


def test_a_token_counts_where_its_use_cannot_be_noted(
    accounts: Accounts, tokens: Tokens, database: Database
) -> None:
    accounts.add("night", by="x")
    secret = tokens.create("night", "nightly", by="x")
    with database.reading() as db:
        connection = db
    connection.execute("PRAGMA query_only = ON")  # as a disk that is full
    found = tokens.find(secret)
    assert found is not None
    assert found.name == "night"
    assert [one.last_used for one in tokens.list("night")] == [None]
