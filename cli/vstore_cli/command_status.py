"""``vstore status``: where the case stands and what is legal next."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

import click

from vstore_cli.context import Session, json_option, package_option, pass_session

if TYPE_CHECKING:
    from vstore.package.assembler import Undeclared
    from vstore.package.pinned import PinnedPackage
    from vstore_cli.accounts import Accounts, OpenAction
    from vstore_cli.terminal import Terminal

__all__ = ["command", "next_steps"]

#: Bytes of the log from which on it is said that packs are smaller.
_WORTH_PACKING = 4 * 1024 * 1024


@click.command("status", short_help="Show where the case stands and what is legal next.")
@json_option
@package_option
@pass_session
def command(session: Session, as_json: bool) -> None:
    """Show where the case stands, what is open, and what is legal next.

    \b
    Example:
      vstore status
    """
    from vstore.objects.text import text_from_bytes
    from vstore.package.assembler import CaseAssembler
    from vstore.package.lifecycle import legal_events
    from vstore_cli.accounts import read_accounts
    from vstore_cli.refs import ref_facts

    reader = session.reader()
    package = reader.pinned()
    accounts = read_accounts(package)
    undeclared = CaseAssembler(reader).undeclared()
    lagging = [one for one in ref_facts(reader) if one["status"] != "current"]
    space = reader.objects.log.space()
    if as_json:
        value = _value(package, accounts)
        value["path"] = str(reader.root)
        value["unclaimed"] = [text_from_bytes(path) for path in undeclared.paths]
        value["changed"] = [text_from_bytes(path) for path in undeclared.changed]
        value["refs"] = lagging
        value["space"] = {"log": space[0], "packs": space[1]}
        value["legal"] = list(legal_events(package.position))
        session.terminal.json(value)
        return
    _print(session.terminal, package, accounts)
    _print_loose_ends(session.terminal, package, undeclared, lagging)
    if not reader.sealed and space[0] >= _WORTH_PACKING:
        session.terminal.print()
        session.terminal.print(
            f"{space[0]:,} bytes of the log are not packed: vstore repack makes them half as many"
        )
    session.terminal.print()
    for line in next_steps(package, accounts):
        session.terminal.print(line)


def _value(package: PinnedPackage, accounts: Accounts | None) -> dict[str, Any]:
    generation = package.generation
    hypotheses = package.hypotheses()
    return {
        "schema": "vstore-status/1",
        "case_id": package.case_id,
        "package_id": package.package_id,
        "head": str(package.generation_id),
        "generation": package.number,
        "analysis_revision": package.revision,
        "state": package.state,
        "blocked": generation.blocked,
        "raw_input": str(package.raw_input),
        "sources": [name for name in package.snapshot_names(kind="source") if name != "inputs"],
        "databases": package.snapshot_names(kind="database"),
        "hypotheses": [] if hypotheses is None else hypotheses.hypotheses,
        "accounts": [] if accounts is None else accounts.figures,
        "open_actions": (
            [] if accounts is None else [one.value() for one in accounts.open_actions]
        ),
    }


def _print(terminal: Terminal, package: PinnedPackage, accounts: Accounts | None) -> None:
    from vstore_cli.words import short

    def line(label: str, text: str) -> None:
        terminal.print(f"{label:<12} {text}")

    other = "" if package.package_id == package.case_id else f" (package {package.package_id})"
    line("case", terminal.paint(package.case_id, "bold") + other)
    line(
        "head",
        f"generation {package.number}, "
        + terminal.paint(short(package.generation_id), "id")
        + f", revision {package.revision}",
    )
    line("state", terminal.paint(str(package.position), "bold") + _until(package))
    sources = [name for name in package.snapshot_names(kind="source") if name != "inputs"]
    line("sources", ", ".join(sources) or "none")
    line("databases", ", ".join(package.snapshot_names(kind="database")) or "none")
    _print_hypotheses(terminal, package, accounts)
    if accounts is not None and accounts.open_actions:
        terminal.print()
        terminal.print("Open actions:")
        for one in accounts.open_actions:
            answer = "" if one.record is None else f" {one.record}"
            terminal.print(
                f"  {one.action}  {one.hypothesis}  {one.operation}, cost {one.cost}: "
                f"{one.status}{answer}"
            )


def _until(package: PinnedPackage) -> str:
    blocked = package.generation.blocked
    if blocked is None:
        return ""
    text = f", from {blocked.resume_state}"
    if blocked.reason == "AWAITING_TEST_FEEDBACK":
        return f"{text}, the answer is due {blocked.retry_not_before}"
    if blocked.retry_not_before is not None:
        text += f", not before {blocked.retry_not_before}"
    return text + (", a worker may resume it" if blocked.automatic_retry else "")


def _print_hypotheses(
    terminal: Terminal, package: PinnedPackage, accounts: Accounts | None
) -> None:
    from vstore_cli.table import Column, table
    from vstore_cli.terminal import safe

    hypotheses = package.hypotheses()
    if hypotheses is None:
        return
    figures = {one.hypothesis_id: one for one in accounts.figures} if accounts else {}
    rows = []
    for one in hypotheses.hypotheses:
        account = figures.get(one.id)
        stopped = account is not None and account.status != "open"
        rows.append(
            [
                one.id,
                one.confidence,
                "" if account is None else str(account.balance),
                account.status if stopped and account is not None else "",
                safe(one.statement),
            ]
        )
    columns = [
        Column(title="hyp", style="bold"),
        Column(title="confidence"),
        Column(title="credits", right=True),
        Column(title="", style="warn"),
        Column(title="hypothesis", shrink=True),
    ]
    terminal.print()
    for line in table(terminal, columns, rows):
        terminal.print(line)


def _print_loose_ends(
    terminal: Terminal,
    package: PinnedPackage,
    undeclared: Undeclared,
    lagging: list[dict[str, Any]],
) -> None:
    from vstore_cli.terminal import safe

    if undeclared:
        terminal.print()
        terminal.print(f"Unclaimed files ({_taking_in(package)}):")
        paths = undeclared.paths
        for path in paths[:10]:
            changed = "  (changed)" if path in undeclared.changed else ""
            terminal.print(f"  {safe(path)}{changed}")
        if len(paths) > 10:
            terminal.print(f"  and {len(paths) - 10} more")
    if lagging:
        terminal.print()
        terminal.print("Refs that differ from the head (vstore repair looks after them):")
        for one in lagging:
            terminal.print(f"  {safe(one['name'])}: {safe(one['status'])}")


def _taking_in(package: PinnedPackage) -> str:
    """How files become raw input where the case stands."""
    from vstore.package.lifecycle import legal_events

    legal = legal_events(package.position)
    if "input.add" in legal:
        return "vstore input add takes them in"
    if "reopen.new_input" in legal:
        return "vstore reopen new_input takes them in, as a new analysis revision"
    return "to be taken in when the case goes on"


def next_steps(package: PinnedPackage, accounts: Accounts | None) -> list[str]:
    """Commands that make sense now, one a line."""
    state = package.state
    pin = [
        "vstore source add NAME PATH       pin source code",
        "vstore database add NAME FILE     pin a database",
    ]
    if state in ("ADMITTED", "INTERPRETING"):
        steps = ["vstore input add FILE             add raw input", *pin]
        steps.append("vstore advance                    when the input is complete")
    elif state == "GENERATING_HYPOTHESES":
        hypotheses = package.hypotheses()
        if hypotheses is None:
            steps = ['vstore hypotheses add H1 "..."    state what may be the cause']
        elif accounts is None:
            taken = {one.id for one in hypotheses.hypotheses}
            name = next(one for n in count(1) if (one := f"H{n}") not in taken)
            another = f'vstore hypotheses add {name} "..."'
            steps = [
                f"{another:<33} state another one",
                "vstore budget init                grant credits to each",
            ]
        else:
            steps = [
                *_open_steps(package, accounts),
                "vstore advance                    start to investigate",
            ]
    elif state == "INVESTIGATING_HYPOTHESES":
        steps = [
            *_open_steps(package, accounts),
            "vstore query --help               ask a pinned source or database",
            "vstore advance                    when the cause is found",
        ]
    elif state == "DIAGNOSED":
        steps = [
            "vstore advance                    close the case",
            'vstore reopen review -m "..."     start the next analysis revision',
        ]
    elif state == "REOPENED":
        steps = ["vstore advance                    state hypotheses anew"]
    else:
        steps = ["vstore log                        read what happened"]
        if state == "CLOSED":
            steps.append('vstore reopen review -m "..."     start the next analysis revision')
        elif package.position.reason == "AWAITING_TEST_FEEDBACK":
            steps = [
                "vstore test show                  what the tester is asked",
                "vstore test show --draft          an answer to fill in",
                "vstore test confirm DRAFT --as NAME",
            ]
        else:
            steps.insert(0, "vstore resume                     go on where the case left off")
    return ["Next:", *("  " + step for step in steps)]


def _open_steps(package: PinnedPackage, accounts: Accounts | None) -> list[str]:
    """What to do about the first open action: assess what was found before asking more."""
    from vstore.handoff.documents import OPERATION_OF

    if accounts is None or not accounts.open_actions:
        return []
    first = min(accounts.open_actions, key=lambda one: one.status == "reserved")
    if first.operation in OPERATION_OF.values():
        return _test_steps(first, package)
    if first.status == "reserved":
        return [f"vstore query ... --action {first.action}    ask what it is reserved for"]
    return [f'vstore settle {first.action} --score N --reason "..."']


def _test_steps(action: OpenAction, package: PinnedPackage) -> list[str]:
    """What to do about the open action of a test."""
    from vstore_cli.handoffs import read_handoffs

    if action.status != "reserved":
        return [f'vstore settle {action.action} --score N --reason "..."']
    if read_handoffs(package).submitted(package.revision, action.action):
        return ["vstore test record                make the confirmed answer evidence"]
    return [f"vstore test request --action {action.action}    hand the test out"]
