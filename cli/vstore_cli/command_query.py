"""``vstore query``: ask a pinned source or database; keep the answer as evidence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

from vstore_cli.context import (
    Session,
    actor_option,
    json_option,
    package_option,
    pass_session,
)

__all__ = ["command"]

F = TypeVar("F", bound=Callable[..., Any])
#: What an integer of a document holds.
_MOST: Final = 2**53 - 1
_KINDS = ["table", "view", "trigger", "virtual", "shadow"]


@click.group("query", short_help="Ask a pinned source or database; keep the answer as evidence.")
def command() -> None:
    """Ask a pinned source or database, and keep the answer as evidence.

    A query reserves its cost for the hypothesis (unless --action names a reservation),
    asks, stores the answer as a record, and records it in the budget's ledger. Settle the
    action afterwards.

    \b
    Example:
      vstore query source.search -H H1 "def transform" --under src
      vstore query database.rows -H H1 articles --where "rowid <= 5"
    """


def _session_options(command: F) -> F:
    return json_option(package_option(actor_option(pass_session(command))))  # type: ignore[return-value]


def _common(command: F) -> F:
    return click.option(
        "--hypothesis", "-H", required=True, metavar="ID", help="On whose behalf, and cost."
    )(
        click.option(
            "--action", metavar="ID", help="Use this reservation; by default a new one is made."
        )(
            click.option("--full", is_flag=True, help="Cut nothing when printing.")(
                _session_options(command)
            )
        )
    )


def _paging(command: F) -> F:
    limit = click.option(
        "--limit",
        type=click.IntRange(1, _MOST),
        default=100,
        show_default=True,
        metavar="N",
        help="Return at most N.",
    )
    offset = click.option(
        "--offset", type=click.IntRange(0, _MOST), default=0, metavar="N", help="Skip N first."
    )
    return limit(offset(command))


_source = click.option(
    "--source", "-s", metavar="NAME", help="Which source, if there are several; inputs too."
)
_database = click.option(
    "--database", "-d", metavar="NAME", help="Which database, if there are several."
)


@command.command("source.search", short_help="Lines that hold a text or match a pattern.")
@click.argument("pattern")
@_source
@click.option("--under", metavar="PATH", help="Only this file or folder.")
@click.option("--regex", "-E", is_flag=True, help="PATTERN is an RE2 regular expression.")
@click.option("--ignore-case", "-i", is_flag=True, help="ASCII letters match in either case.")
@_paging
@_common
def source_search(
    session: Session,
    pattern: str,
    source: str | None,
    under: str | None,
    regex: bool,
    ignore_case: bool,
    limit: int,
    offset: int,
    **common: Any,
) -> int | None:
    """Search the lines of a source for PATTERN, a text; one hit a line.

    \b
    Example:
      vstore query source.search -H H1 "rowid" --under src/db.py --limit 20
    """
    from vstore.tools.request import SourceSearch

    return _run(
        session,
        common,
        "source",
        source,
        lambda name: SourceSearch(
            source=name,
            pattern=pattern,
            syntax="re2" if regex else "literal",
            ignore_case=ignore_case,
            under=_path(under),
            limit=limit,
            offset=offset,
        ),
    )


@command.command("source.read", short_help="Lines of a file.")
@click.argument("path")
@_source
@click.option("--lines", "-L", metavar="FIRST:LAST", help="Only these, both included.")
@_common
def source_read(
    session: Session, path: str, source: str | None, lines: str | None, **common: Any
) -> int | None:
    """Read lines of the file PATH of a source.

    \b
    Example:
      vstore query source.read -H H3 sqlite_utils/db.py --lines 1912:1940
    """
    from vstore.tools.request import SourceRead
    from vstore_cli.conditions import parse_lines, text_argument

    start, end = (1, None) if lines is None else _parsed(parse_lines, lines, "--lines")
    return _run(
        session,
        common,
        "source",
        source,
        lambda name: SourceRead(source=name, path=text_argument(path), start=start, end=end),
    )


@command.command("source.list", short_help="Files of a source.")
@_source
@click.option("--under", metavar="PATH", help="Only this file or folder.")
@_paging
@_common
def source_list(
    session: Session,
    source: str | None,
    under: str | None,
    limit: int,
    offset: int,
    **common: Any,
) -> int | None:
    """List the files of a source.

    \b
    Example:
      vstore query source.list -H H1 --source app --under sqlite_utils
    """
    from vstore.tools.request import SourceList

    return _run(
        session,
        common,
        "source",
        source,
        lambda name: SourceList(source=name, under=_path(under), limit=limit, offset=offset),
    )


@command.command("database.schema", short_help="Tables, views and triggers.")
@click.argument("table", required=False)
@_database
@click.option("--type", "kind", type=click.Choice(_KINDS), help="Only these.")
@_paging
@_common
def database_schema(
    session: Session,
    table: str | None,
    database: str | None,
    kind: Any,
    limit: int,
    offset: int,
    **common: Any,
) -> int | None:
    """Show tables, views and triggers of a database; with TABLE, it and its triggers.

    \b
    Example:
      vstore query database.schema -H H1 --type trigger
    """
    from vstore.tools.request import DatabaseSchema

    return _run(
        session,
        common,
        "database",
        database,
        lambda name: DatabaseSchema(
            database=name, table=_path(table), type=kind, limit=limit, offset=offset
        ),
    )


@command.command("database.rows", short_help="Rows of a table.")
@click.argument("table")
@_database
@click.option("--where", "-w", multiple=True, metavar="CONDITION",
              help="A condition, such as \"rowid <= 5\"; all must hold.")  # fmt: skip
@click.option("--column", "-c", multiple=True, metavar="NAME",
              help="Return this column; all of them by default.")  # fmt: skip
@click.option("--order", "-o", multiple=True, metavar="[-]COLUMN",
              help="Sort by this column; - for descending.")  # fmt: skip
@_paging
@_common
def database_rows(
    session: Session,
    table: str,
    database: str | None,
    where: tuple[str, ...],
    column: tuple[str, ...],
    order: tuple[str, ...],
    limit: int,
    offset: int,
    **common: Any,
) -> int | None:
    """Show rows of TABLE.

    A condition is COLUMN OPERATOR VALUE with = != < <= > >= contains prefix, or COLUMN is
    [not] null. Texts stand in single quotes, blobs in x'..'; rowid is a column.

    \b
    Example:
      vstore query database.rows -H H2 articles -w "rowid <= 5" -o -rowid
      vstore query database.rows -H H2 articles -w "body contains 'kiln'"
    """
    from vstore.tools.request import DatabaseRows
    from vstore_cli.conditions import parse_condition, parse_order, text_argument

    conditions = [_parsed(parse_condition, one, "--where") for one in where]
    orders = [_parsed(parse_order, one, "--order") for one in order]
    columns = [text_argument(one) for one in column] or None
    return _run(
        session,
        common,
        "database",
        database,
        lambda name: DatabaseRows(
            database=name,
            table=text_argument(table),
            columns=columns,
            where=conditions,
            order=orders,
            limit=limit,
            offset=offset,
        ),
    )


def _path(argument: str | None) -> Any:
    from vstore_cli.conditions import text_argument

    return None if argument is None else text_argument(argument)


def _parsed(parse: Callable[[str], Any], text: str, option: str) -> Any:
    from vstore_cli.conditions import BadSyntax

    try:
        return parse(text)
    except BadSyntax as error:
        raise click.BadParameter(str(error), param_hint=f"{option} {text!r}") from error


def _run(
    session: Session,
    common: dict[str, Any],
    kind: str,
    name: str | None,
    arguments: Callable[[str], Any],
) -> int | None:
    from vstore_cli.asking import ask, choose_snapshot
    from vstore_cli.services import open_services
    from vstore_cli.show_answer import print_answer

    services = open_services(session)
    name = name if name is not None else choose_snapshot(services.package(), kind)
    answer = ask(services, common["hypothesis"], common["action"], arguments(name))
    return print_answer(session.terminal, answer, full=common["full"], as_json=common["as_json"])
