"""vstore tester: accounts of the testers' page from the command line."""

from __future__ import annotations

import json
import re
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from vstore.web.accounts import Accounts
from vstore.web.audit import Audit
from vstore.web.database import Database
from vstore.web.enrolment import Enrolment
from vstore.web.sessions import Sessions
from vstore.web.tokens import Tokens

from .conftest import CommandLine

PASSWORD = "correct horse battery"
CODE = re.compile(r"([0-9A-Z]{5}-){3}[0-9A-Z]{5}")


@pytest.fixture
def page(vstore: CommandLine) -> CommandLine:
    """The command line in an empty workspace."""
    (vstore.folder / "cases").mkdir()
    one = vstore.at(vstore.folder / "cases")
    one.clock.tick(60)
    return one


def opened(page: CommandLine) -> Database:
    return Database(page.folder.with_name("cases.testers") / "testers.sqlite3", clock=page.clock)


def test_from_the_first_administrator_to_a_login(page: CommandLine) -> None:
    lines = page.ok("tester", "add", "Ada Admin", "--admin").lines
    assert lines[0] == "Ada Admin: added"
    found = CODE.search(lines[1])
    assert found is not None
    # The clock started at 2026-01-01T00:00:00Z, was at 00:01 and ticks with each look.
    assert re.fullmatch(r"  until  2026-01-04T00:01:0\dZ, once", lines[2])
    assert "/enrol" in lines[3]
    state = page.folder.with_name("cases.testers")
    assert stat.S_IMODE(state.stat().st_mode) == 0o700
    assert list(page.folder.iterdir()) == []
    with closing(opened(page)) as database:
        accounts = Accounts(database)
        assert Enrolment(database, accounts).redeem(found[0], PASSWORD).name == "Ada Admin"
        assert accounts.count_admins() == 1
        sessions = Sessions(database)
        assert sessions.find(sessions.log_in("ada admin", PASSWORD, address=None)) is not None
        (added,) = [one for one in Audit(database).recent() if one.action == "account.added"]
        assert (added.actor, added.facts) == (
            "operator:tester", {"name": "Ada Admin", "role": "admin"},
        )  # fmt: skip


def test_a_code_that_cannot_be_made_adds_nobody(page: CommandLine) -> None:
    page.ok("tester", "add", "pat")
    page.refused("name_taken", "tester", "add", "PAT")
    page.refused("invalid_account_name", "tester", "add", "a:b")
    assert [one["name"] for one in page.ok("tester", "list", "--json").json["testers"]] == ["pat"]


def test_list(page: CommandLine) -> None:
    page.ok("tester", "add", "Zed", "--admin")
    code = page.ok("tester", "add", "ann", "--json").json["code"]
    page.ok("tester", "add", "bob")
    page.ok("tester", "disable", "bob")
    page.ok("tester", "token", "ann", "--label", "bench")
    with closing(opened(page)) as database:
        Enrolment(database, Accounts(database)).redeem(code, PASSWORD)
        Sessions(database).log_in("ann", PASSWORD, address=None)
    rows = [line.split() for line in page.ok("tester", "list").lines]
    assert [row[:4] for row in rows[1:]] == [
        ["ann", "tester", "password", "1"],
        ["bob", "tester", "disabled", "0"],
        ["Zed", "admin", "code", "made"],
    ]
    ann, bob, zed = page.ok("tester", "list", "--json").json["testers"]
    assert (ann["has_password"], ann["code_until"], ann["tokens"]) == (True, None, 1)
    assert ann["last_seen"] is not None
    assert (bob["disabled"], bob["code_until"], bob["role"]) == (True, None, "tester")
    assert zed["code_until"].startswith("2026-01-04T")
    page.clock.tick(72 * 3600)
    assert page.ok("tester", "list").lines[-1].split()[:3] == ["Zed", "admin", "none"]


def test_disable_enable_and_reset(page: CommandLine) -> None:
    page.ok("tester", "add", "Ada", "--admin")
    code = page.ok("tester", "add", "pat", "--json").json["code"]
    with closing(opened(page)) as database:
        sessions = Sessions(database)
        Enrolment(database, Accounts(database)).redeem(code, PASSWORD)
        secret = sessions.log_in("pat", PASSWORD, address=None)
        # In another process's connection, as while the page is running.
        assert page.ok("tester", "disable", "PAT").lines == ["pat: disabled"]
        assert sessions.find(secret) is None
        assert page.ok("tester", "enable", "pat", "--json").json == {
            "schema": "vstore-tester-enable/1", "name": "pat",
        }  # fmt: skip
        secret = sessions.log_in("pat", PASSWORD, address=None)
        new = page.ok("tester", "reset", "pat", "--json").json
        assert (new["schema"], new["name"]) == ("vstore-tester-reset/1", "pat")
        assert CODE.fullmatch(new["code"])
        assert sessions.find(secret) is None
        Enrolment(database, Accounts(database)).redeem(new["code"], PASSWORD)
    assert page.ok("tester", "disable", "pat", "--json").json["name"] == "pat"
    page.refused("disabled_account", "tester", "reset", "pat")
    page.refused("last_admin", "tester", "disable", "ada")
    page.refused("unknown_account", "tester", "enable", "nobody")


def test_tokens(page: CommandLine) -> None:
    page.ok("tester", "add", "nightly")
    assert page.ok("tester", "tokens", "nightly").lines == ["no tokens yet"]
    secret, remark = page.ok("tester", "token", "nightly", "--label", "test bench 2").lines
    assert "shown once" in remark
    made = page.ok("tester", "token", "nightly", "--label", "other", "--json").json
    assert made["token_id"] == 2
    with closing(opened(page)) as database:
        tokens = Tokens(database)
        for one in (secret, made["token"]):
            account = tokens.find(one)
            assert account is not None
            assert account.name == "nightly"
        assert page.ok("tester", "revoke", "2").lines == ["token 2 revoked"]
        assert tokens.find(made["token"]) is None
        assert tokens.find(secret) is not None
    out = page.ok("tester", "tokens", "nightly").out
    assert secret not in out
    listed = page.ok("tester", "tokens", "nightly", "--json").json["tokens"]
    assert [(one["token_id"], one["label"], one["revoked_at"] is None) for one in listed] == [
        (1, "test bench 2", True), (2, "other", False),
    ]  # fmt: skip
    assert page.ok("tester", "revoke", "1", "--json").json["token_id"] == 1
    page.refused("unknown_token", "tester", "revoke", "9")
    page.refused("invalid_label", "tester", "token", "nightly", "--label", "")
    assert page("tester", "revoke", "-1").code == 2
    assert page("tester", "token", "nightly").code == 2


def test_where_the_state_is(page: CommandLine, tmp_path: Path) -> None:
    for words in (["list"], ["disable", "pat"], ["token", "pat", "--label", "x"]):
        page.refused("no_state", "tester", *words)
    assert not page.folder.with_name("cases.testers").exists()
    page.refused("state_in_workspace", "tester", "add", "pat", "--state", "state")
    page.ok("tester", "add", "pat", "--state", "../elsewhere")
    assert (tmp_path / "elsewhere" / "testers.sqlite3").is_file()
    elsewhere = page.at(tmp_path)
    out = elsewhere.ok("tester", "list", "-w", "cases", "--state", "elsewhere").lines
    assert out[1].startswith("pat ")
    environ = {"VSTORE_WORKSPACE": str(page.folder)}
    elsewhere.ok("tester", "list", "--state", "elsewhere", environ=environ)
    elsewhere.refused("no_workspace", "tester", "add", "pat", "-w", "absent")
    (tmp_path / "elsewhere").chmod(0o755)
    outcome = elsewhere.refused("state_not_private", "tester", "list", "-w", "cases",
                                "--state", "elsewhere")  # fmt: skip
    assert "chmod 700" in outcome.err


def test_databases_that_are_not_ours(page: CommandLine) -> None:
    page.ok("tester", "add", "pat")
    path = page.folder.with_name("cases.testers") / "testers.sqlite3"
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version = 4711")
    page.refused("newer_database", "tester", "list", code=3)
    path.write_text("x" * 5000)
    page.refused("damaged_database", "tester", "list")


def test_hostile_names_reach_no_terminal(page: CommandLine) -> None:
    """A database may hold what this release would refuse."""
    page.ok("tester", "add", "pat")
    page.ok("tester", "token", "pat", "--label", "x")
    evil = "p\x1b]0;x\x07\u202e\n"
    with closing(opened(page)) as database, database.transaction() as db:
        db.execute("UPDATE accounts SET name = ?", (evil,))
        db.execute("UPDATE tokens SET label = ?", (evil,))
    for words in (["list"], ["tokens", "pat"], ["enable", "pat"], ["reset", "pat"],
                  ["disable", "pat"]):  # fmt: skip
        for extra in ([], ["--json"]):
            outcome = page("tester", *words, *extra, tty=True)
            for text in (outcome.out, outcome.err):
                plain = re.sub("\x1b\\[[0-9;]*m", "", text)
                assert not {"\x1b", "\x07", "\u202e"} & set(plain)


@pytest.mark.parametrize("absent", ["argon2", "jinja2", "python_multipart", "starlette", "uvicorn"])
def test_without_the_extra(page: CommandLine, absent: str) -> None:
    script = (
        f"import sys; sys.modules[{absent!r}] = None\n"
        "from vstore_cli.main import run\n"
        "sys.exit(run(['tester', 'add', 'pat']))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=page.folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "[missing_extra]" in done.stderr
    assert absent in done.stderr
    assert 'pip install "vstore[web]"' in done.stderr
    assert not page.folder.with_name("cases.testers").exists()


def test_json_is_ascii(page: CommandLine) -> None:
    out = page.ok("tester", "add", "Zoë 李", "--json").out
    assert out.isascii()
    assert json.loads(out)["name"] == "Zoë 李"
    assert page.ok("tester", "list").lines[1].startswith("Zoë 李")
