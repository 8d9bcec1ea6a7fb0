"""``vstore tester``: who may use the testers' page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from vstore_cli.context import Session, actor_option, json_option, pass_session
from vstore_cli.testers import open_testers, state_option
from vstore_cli.workspaces import workspace_option

if TYPE_CHECKING:
    from vstore.web.database import Database
    from vstore.web.standings import Standing

__all__ = ["command"]

F = TypeVar("F", bound=Callable[..., Any])


@click.group("tester", short_help="Say who may use the testers' page.")
def command() -> None:
    """Say who may use the testers' page: people by name, and bots with a token.

    Nobody sees a password but the one who chooses it, with a code that works once. The
    page may be running meanwhile. "vstore serve" is the page.

    \b
    Example:
      vstore tester add "Ada Admin" --admin --workspace investigations
      vstore tester add "Pat Doe" -w investigations
      vstore tester token nightly --label "test bench 2" -w investigations
    """


def _options(function: F) -> F:
    """The session, and the options that all subcommands have."""
    return workspace_option(
        state_option(json_option(actor_option(cast("F", pass_session(function)))))
    )


@command.command("add", short_help="Add a tester; prints a code for the first login.")
@click.argument("name")
@click.option("--admin", is_flag=True, help="May also look after the others.")
@_options
def add(
    session: Session,
    name: str,
    admin: bool,
    workspace: Path | None,
    state: Path | None,
    as_json: bool,
) -> None:
    """Add a tester under NAME, which will stand in what they confirm.

    Prints a code: with it, the tester chooses a password on the page, once and within 72
    hours. A bot needs no password, but a token.

    \b
    Example:
      vstore tester add "Pat Doe"
    """
    database = open_testers(session, workspace, state, create=True)
    from vstore.web.accounts import Accounts
    from vstore.web.enrolment import Enrolment

    accounts = Accounts(database)
    with database.transaction():
        account = accounts.add(name, role="admin" if admin else "tester", by=_actor(session))
        code = Enrolment(database, accounts).new_code(account.name, _actor(session))
    _print_code(session, database, account.name, code, as_json, did="added")


@command.command("list", short_help="List the testers.")
@_options
def list_testers(
    session: Session, workspace: Path | None, state: Path | None, as_json: bool
) -> None:
    """List the testers, by name.

    \b
    Example:
      vstore tester list --json
    """
    from vstore.web.standings import standings
    from vstore_cli.table import Column, table
    from vstore_cli.terminal import safe

    found = standings(open_testers(session, workspace, state))
    if as_json:
        session.terminal.json(
            {"schema": "vstore-tester-list/1", "testers": [_value(one) for one in found]}
        )
        return
    if not found:
        session.terminal.print("no testers yet")
        return
    columns = [
        Column(title="name", style="bold", shrink=True),
        Column(title="role"),
        Column(title="access"),
        Column(title="tokens", right=True),
        Column(title="last seen"),
    ]
    rows = [
        [
            safe(one.account.name),
            one.account.role,
            _access(one),
            str(one.tokens),
            one.last_seen or "",
        ]
        for one in found
    ]
    for line in table(session.terminal, columns, rows):
        session.terminal.print(line)


@command.command("disable", short_help="Shut a tester out at once.")
@click.argument("name")
@_options
def disable(
    session: Session, name: str, workspace: Path | None, state: Path | None, as_json: bool
) -> None:
    """Shut NAME out: sessions, tokens and codes end at once.

    What they confirmed stays. The last administrator can't be disabled.

    \b
    Example:
      vstore tester disable "Pat Doe"
    """
    from vstore.web.accounts import Accounts

    database = open_testers(session, workspace, state)
    account = Accounts(database).disable(name, _actor(session))
    _print_done(session, account.name, as_json, did="disabled")


@command.command("enable", short_help="Let a disabled tester in again.")
@click.argument("name")
@_options
def enable(
    session: Session, name: str, workspace: Path | None, state: Path | None, as_json: bool
) -> None:
    """Let NAME in again, with the old password; tokens stay revoked.

    \b
    Example:
      vstore tester enable "Pat Doe"
    """
    from vstore.web.accounts import Accounts

    database = open_testers(session, workspace, state)
    account = Accounts(database).enable(name, _actor(session))
    _print_done(session, account.name, as_json, did="enabled")


@command.command("reset", short_help="Void a password; prints a code for a new one.")
@click.argument("name")
@_options
def reset(
    session: Session, name: str, workspace: Path | None, state: Path | None, as_json: bool
) -> None:
    """Void the password of NAME and end all sessions; prints a code for a new password.

    Drafts stay. So do tokens; see revoke.

    \b
    Example:
      vstore tester reset "Pat Doe"
    """
    database = open_testers(session, workspace, state)
    from vstore.web.accounts import Accounts
    from vstore.web.enrolment import Enrolment

    accounts = Accounts(database)
    code = Enrolment(database, accounts).reset(name, _actor(session))
    _print_code(session, database, accounts.get(name).name, code, as_json, did="reset")


@command.command("token", short_help="Make a token for a bot; it is shown once.")
@click.argument("name")
@click.option("--label", required=True, metavar="TEXT", help="What the token is for.")
@_options
def token(
    session: Session,
    name: str,
    label: str,
    workspace: Path | None,
    state: Path | None,
    as_json: bool,
) -> None:
    """Make a token with which a bot acts as NAME.

    Only its hash is kept, so it is shown now and never again.

    \b
    Example:
      vstore tester token nightly --label "test bench 2"
    """
    from vstore.web.tokens import Tokens

    tokens = Tokens(open_testers(session, workspace, state))
    secret = tokens.create(name, label, _actor(session))
    if as_json:
        made = tokens.list(name)[-1]
        session.terminal.json(
            {"schema": "vstore-tester-token/1", "token_id": made.token_id, "token": secret}
        )
        return
    session.terminal.print(secret)
    session.terminal.print("This is shown once. The bot sends it as: Authorization: Bearer TOKEN")


@command.command("tokens", short_help="List the tokens of a tester.")
@click.argument("name")
@_options
def list_tokens(
    session: Session, name: str, workspace: Path | None, state: Path | None, as_json: bool
) -> None:
    """List the tokens of NAME, without their secrets.

    \b
    Example:
      vstore tester tokens nightly
    """
    from vstore.web.tokens import Tokens
    from vstore_cli.table import Column, table
    from vstore_cli.terminal import safe

    found = Tokens(open_testers(session, workspace, state)).list(name)
    if as_json:
        session.terminal.json(
            {
                "schema": "vstore-tester-tokens/1",
                "tokens": [
                    {
                        "token_id": one.token_id,
                        "label": one.label,
                        "created_at": one.created_at,
                        "last_used": one.last_used,
                        "revoked_at": one.revoked_at,
                    }
                    for one in found
                ],
            }
        )
        return
    if not found:
        session.terminal.print("no tokens yet")
        return
    columns = [
        Column(title="id", right=True, style="number"),
        Column(title="label", shrink=True),
        Column(title="made"),
        Column(title="last used"),
        Column(title="revoked"),
    ]
    rows = [
        [
            str(one.token_id),
            safe(one.label),
            one.created_at,
            one.last_used or "",
            one.revoked_at or "",
        ]
        for one in found
    ]
    for line in table(session.terminal, columns, rows):
        session.terminal.print(line)


@command.command("revoke", short_help="End a token at once.")
@click.argument("token_id", metavar="ID", type=click.IntRange(min=1))
@_options
def revoke(
    session: Session, token_id: int, workspace: Path | None, state: Path | None, as_json: bool
) -> None:
    """End the token with the number ID, which "vstore tester tokens" shows.

    \b
    Example:
      vstore tester revoke 3
    """
    from vstore.web.tokens import Tokens

    Tokens(open_testers(session, workspace, state)).revoke(token_id, _actor(session))
    if as_json:
        session.terminal.json({"schema": "vstore-tester-revoke/1", "token_id": token_id})
        return
    session.terminal.print(f"token {token_id} revoked")


def _actor(session: Session) -> str:
    # No account's name has a colon, so nobody on the page can pass for an operator.
    return f"operator:{session.actor}"


def _print_code(
    session: Session, database: Database, name: str, code: str, as_json: bool, *, did: str
) -> None:
    from vstore.web.enrolment import CODE_SECONDS
    from vstore.web.times import instant
    from vstore_cli.terminal import safe

    until = instant(database.now() + CODE_SECONDS)
    if as_json:
        session.terminal.json(
            {
                "schema": f"vstore-tester-{'add' if did == 'added' else did}/1",
                "name": name,
                "code": code,
                "code_until": until,
            }
        )
        return
    terminal = session.terminal
    terminal.print(f"{safe(name)}: {did}")
    terminal.print(f"  code   {code}")
    terminal.print(f"  until  {until}, once")
    terminal.print("  where  the page's address and /enrol; vstore serve prints the address")


def _print_done(session: Session, name: str, as_json: bool, *, did: str) -> None:
    from vstore_cli.terminal import safe

    if as_json:
        session.terminal.json({"schema": f"vstore-tester-{did.removesuffix('d')}/1", "name": name})
        return
    session.terminal.print(f"{safe(name)}: {did}")


def _access(one: Standing) -> str:
    if one.account.disabled:
        return "disabled"
    if one.code_until is not None:
        return "code made"
    return "password" if one.has_password else "none"


def _value(one: Standing) -> dict[str, Any]:
    return {
        "name": one.account.name,
        "role": one.account.role,
        "disabled": one.account.disabled,
        "created_at": one.account.created_at,
        "has_password": one.has_password,
        "code_until": one.code_until,
        "last_seen": one.last_seen,
        "tokens": one.tokens,
    }
