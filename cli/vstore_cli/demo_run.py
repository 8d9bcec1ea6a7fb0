"""Playing the demo's investigation with the real services, and telling what happens."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import tempfile
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from vstore.budget.documents import Settle
from vstore.budget.policy import EXAMPLE_POLICY
from vstore.investigation.documents import InvestigationUpdate, QueryMove
from vstore.investigation.reply_parts import Test
from vstore.package.inputs import input_file
from vstore.package.workspace import Workspace
from vstore.tools.router import Router
from vstore_cli import demo_material, demo_script
from vstore_cli.asking import ask
from vstore_cli.command_verify import print_report
from vstore_cli.demo_replies import DemoCalls
from vstore_cli.demo_script import CASE, DATABASE, HYPOTHESES, QUESTIONS, SOURCE, Question
from vstore_cli.errors import Refused
from vstore_cli.happenings import Observation
from vstore_cli.log_lines import OnelineLayout
from vstore_cli.print_log import entries
from vstore_cli.services import Services, services_of
from vstore_cli.session import Session
from vstore_cli.show_accounts import account_lines
from vstore_cli.show_answer import result_items
from vstore_cli.show_brief import EFFECTS
from vstore_cli.show_document import NOUNS, found_text
from vstore_cli.show_items import item_lines
from vstore_cli.terminal import Terminal, cut, safe
from vstore_cli.words import asked

__all__ = ["run_demo"]

_WIDTH: Final = 80
_SHOWN_LOG: Final = 14


def run_demo(session: Session, folder: Path, *, force: bool) -> int:
    """Play the demo.

    Args:
        session: Where to print, and the clock.
        folder: What to make; must not exist unless ``force`` moves it aside.
        force: Move what is there aside.

    Returns:
        The exit code of the verification: 0.

    Raises:
        Refused: The folder exists, or the release isn't installed.
    """
    release = demo_material.find_release()
    terminal = session.terminal
    _make_folder(terminal, folder, force=force)
    with tempfile.TemporaryDirectory() as scratch:
        workspace = _pin(session, folder, release, Path(scratch))
    services = services_of(workspace, Router.default())
    _state(terminal, services)
    calls = _investigate(terminal, services)
    _test(terminal, services, calls, session.clock())
    _weigh(terminal, services)
    _log(terminal, services)
    root = workspace.package_path(CASE)
    code = _verify(terminal, root)
    _goodbye(terminal, root)
    return code


def _make_folder(terminal: Terminal, folder: Path, *, force: bool) -> None:
    if folder.is_symlink() or folder.exists():
        free = _free(folder)
        if not force:
            raise Refused(
                f"{folder} exists already",
                kind="exists",
                hint=f"vstore demo {shlex.quote(str(free))} takes another name; "
                "vstore demo --force moves what is there aside",
            )
        folder.rename(free)
        terminal.print(f"moved {safe(str(folder))} to {safe(str(free))}")
    folder.mkdir(parents=True)


def _free(folder: Path) -> Path:
    number = 2
    while (found := folder.with_name(f"{folder.name}-{number}")).exists():
        number += 1
    return found


def _heading(terminal: Terminal, text: str) -> None:
    terminal.print()
    terminal.print(terminal.paint(text, "head"))


def _wrapped(terminal: Terminal, text: str, indent: int = 2) -> None:
    start = " " * indent
    for line in textwrap.wrap(text, _WIDTH - 2, initial_indent=start, subsequent_indent=start):
        terminal.print(line)


def _pin(
    session: Session, folder: Path, release: list[tuple[str, Path]], scratch: Path
) -> Workspace:
    from vstore.tools.capture_database import capture_sqlite
    from vstore.tools.capture_source import capture_source

    terminal = session.terminal
    terminal.print(terminal.paint("A real bug: sqlite-utils 3.35, issue 592", "head"))
    report = folder / "report.txt"
    demo_material.write_report(report)
    _wrapped(terminal, " ".join(demo_script.REPORT.split("\n\n")[1].split()))

    _heading(terminal, "1. Pin what there is")
    database = folder / "catalogue.sqlite3"
    searched = demo_material.rebuild_database(database)
    demo_material.copy_release(release, scratch)
    workspace = session.closing.enter_context(
        Workspace.create(folder, actor="demo", clock=session.clock)
    )
    workspace.init(CASE, files=[input_file(report)])
    case = workspace.case(CASE)
    label = f"sqlite-utils {demo_material.RELEASE}, installed"
    covers = "the modules of the release as installed; no tests, no documents"
    case.add_snapshot(
        SOURCE,
        "source",
        lambda sink: capture_source(scratch, sink, name=SOURCE, label=label, statement=covers),
    )
    rebuilt = "rebuilt by the reproduction"
    case.add_snapshot(
        DATABASE,
        "database",
        lambda sink: capture_sqlite(database, sink, name=DATABASE, label=rebuilt),
    )
    terminal.print("  raw input  report.txt")
    terminal.print(f"  source     {SOURCE}: the {len(release)} files of the release")
    terminal.print(f"  database   {DATABASE}: broken again by running the release")
    terminal.print(f"             its search now: {searched[0]}")
    return workspace


def _state(terminal: Terminal, services: Services) -> None:
    case = services.workspace.case(services.case_id)
    _heading(terminal, "2. State hypotheses, grant each of them credits")
    case.advance()
    case.advance()
    case.set_hypotheses(HYPOTHESES)
    services.budget.initialise(services.case_id, services.package_id, EXAMPLE_POLICY)
    case.advance()
    for one in HYPOTHESES:
        terminal.print(f"  {terminal.paint(one['id'], 'bold')}  {one['statement']}")
    costs = EXAMPLE_POLICY.costs
    terminal.print(
        f"  {EXAMPLE_POLICY.initial_credits} credits each; "
        f"a search costs {costs['source.search']}, "
        f"a look at a schema {costs['database.schema']}; new evidence earns"
    )


def _investigate(terminal: Terminal, services: Services) -> DemoCalls:
    """Play the stored replies: each asks for something, and the next one assesses it."""
    _heading(terminal, "3. A reply asks; what was observed is kept; the next reply assesses it")
    terminal.print("  The replies were written beforehand, and are judged like a model's.")
    terminal.print("  Novelty is how much of an answer the case has never seen before.")
    terminal.print("  It bounds what an assessment can earn: asking again brings nothing.")
    calls = DemoCalls(services)
    for one in HYPOTHESES:
        calls.play(one["id"])
    for question in QUESTIONS:
        _ask(terminal, services, calls, question)
    return calls


def _ask(terminal: Terminal, services: Services, calls: DemoCalls, question: Question) -> None:
    move = calls.wanted[question.hypothesis].next
    assert isinstance(move, QueryMove), question.why
    answer = ask(services, question.hypothesis, None, move.arguments)
    result, seen = answer.result, answer.observation
    if seen is None:
        failed = result.error
        raise Refused(
            f"a question of the demo was refused: {failed.kind if failed else result.status}",
            kind="demo_refused",
        )
    terminal.print()
    name = terminal.paint(question.hypothesis, "bold")
    terminal.print(f"{name}  {terminal.paint(question.why, 'name')}")
    terminal.print("    " + terminal.paint(cut(asked(move.arguments), _WIDTH - 4), "dim"))
    items = result_items(result)
    shown = [items[at] for at in question.shown if at < len(items)]
    for line in item_lines(terminal, shown, width=_WIDTH - 4, heading=True, dedent=True):
        terminal.print("    " + line)
    noun = NOUNS.get(result.kind or "", "item")
    found = found_text(len(items), noun, result.truncated)
    if not items:
        found += ", which is evidence as well"
    elif len(shown) < len(items):
        found += f", {len(shown)} of them above"
    terminal.print(f"    {found}")
    _settle(terminal, services, calls, seen, answer.cost)


def _test(terminal: Terminal, services: Services, calls: DemoCalls, now: str) -> None:
    """What only a person can see: hand a test out, take the answer, make it evidence."""
    from vstore_cli.demo_test import answer_test, hand_out_test

    (hypothesis,) = [one for one, update in calls.wanted.items() if isinstance(update.next, Test)]
    move = calls.wanted[hypothesis].next
    assert isinstance(move, Test)
    _heading(terminal, "4. Ask a person, and wait without cost")
    terminal.print(f"  {terminal.paint(hypothesis, 'bold')}  asks for a test:")
    _wrapped(terminal, move.question, 6)
    submitted = hand_out_test(services, hypothesis, move, now)
    terminal.print(f"      {submitted.package.position}, due {submitted.request.deadline}")
    terminal.print("      Hours later, perhaps on another machine, the answer is confirmed:")
    answered = answer_test(services, submitted)
    for one in answered.feedback.observations:
        _wrapped(terminal, f"“{safe(one.text)}”", 6)
    for attached in answered.feedback.attachments:
        terminal.print(f"      {safe(attached.name)}, {attached.size} bytes, {attached.media_type}")
    terminal.print(f"      {services.package().position}")
    _settle(terminal, services, calls, answered.seen, answered.cost)


def _settle(
    terminal: Terminal,
    services: Services,
    calls: DemoCalls,
    seen: Observation,
    cost: int | None,
) -> None:
    """Let the next reply assess a record, and settle its action accordingly."""
    record = seen.record
    update = calls.play(record.hypothesis_id).update
    assert update is not None
    given = update.assessment
    assert given is not None, record.id
    entry = services.budget.settle(
        services.case_id,
        services.package_id,
        record.hypothesis_id,
        record.action_id,
        semantic_score=given.semantic_score,
        reason=given.reason,
    )
    event = entry.event
    assert isinstance(event, Settle)
    new = f"{len(record.novel_atoms)} of {seen.returned} new" if seen.returned else "nothing new"
    terminal.print(
        f"    {terminal.paint(record.id, 'good', 'bold')}  novelty {record.novelty_score}% "
        f"({new})  cost {cost}, reward {event.reward}, "
        f"balance {entry.accounts[0].balance}"
    )
    terminal.print("    " + cut(f"assessed {event.semantic_score}: {given.reason}", _WIDTH - 4))
    terminal.print("    " + _verdict(update))


def _verdict(update: InvestigationUpdate) -> str:
    """What a reply did to its hypothesis, and what it wants next."""
    findings = EFFECTS[update.causal_review.effect]
    wants = {QueryMove: "ask on", Test: "a test by a person"}.get(type(update.next), "finish")
    return f"{update.hypothesis_id} {update.confidence}: {findings}; next: {wants}"


def _weigh(terminal: Terminal, services: Services) -> None:
    stated = services.package().hypotheses()
    assert stated is not None
    _heading(terminal, "5. Where the hypotheses stand, and what is left of the credits")
    for one in stated.hypotheses:
        terminal.print(f"  {one.id}  {one.confidence:<12}  {one.statement}")
    terminal.print()
    accounts = services.budget.snapshot(services.case_id, services.package_id).accounts
    for line in account_lines(terminal, accounts):
        terminal.print("  " + line)


def _log(terminal: Terminal, services: Services) -> None:
    reader = services.workspace.repository(services.case_id).reader
    newest = services.package().number
    _heading(terminal, f"6. The log: the newest {_SHOWN_LOG} of {newest} generations")
    layout = OnelineLayout(terminal, newest, [one["id"] for one in HYPOTHESES], width=_WIDTH)
    terminal.print(layout.heading())
    for entry in entries(reader, "HEAD", _SHOWN_LOG):
        for line in layout.lines(entry):
            terminal.print(line)


def _verify(terminal: Terminal, root: Path) -> int:
    from vstore.verify import verify_package

    _heading(terminal, "7. Verify: read every byte, ask every question again")
    report = verify_package(_shown(root))
    print_report(terminal, report)
    return report.exit_code


def _shown(root: Path) -> Path:
    """The shortest way to write a path from here."""
    here = Path.cwd()
    return root.absolute().relative_to(here) if root.absolute().is_relative_to(here) else root


def _activation(environ: Mapping[str, str]) -> str | None:
    """How the caller's shell comes to know ``vstore``, where it doesn't yet."""
    scripts = Path(sys.executable).parent
    folders = environ.get("PATH", "").split(os.pathsep)
    if "UV_RUN_RECURSION_DEPTH" in environ and str(scripts) in folders:
        # uv put it in front, for this process only.
        folders.remove(str(scripts))
    if shutil.which("vstore", path=os.pathsep.join(folders)) is not None:
        return None
    script = scripts / "activate"
    return f". {shlex.quote(str(_shown(script)))}" if script.is_file() else None


def _explained(command: str, what: str) -> list[str]:
    """A command and what it does, beside it where that fits: a path has any length."""
    if len(command) <= 35:
        return [f"{command:<35} {what}"]
    # A comment of the shell: all lines can be pasted as they are.
    return [f"# {what}:", command]


def _goodbye(terminal: Terminal, root: Path) -> None:
    where = shlex.quote(str(_shown(root)))
    _heading(terminal, "The package is yours to explore")
    activate = _activation(terminal.environ)
    for line in (
        *([] if activate is None else _explained(activate, "makes vstore a command of this shell")),
        f"cd {where}",
        "vstore log                          what happened, newest first",
        "vstore show E000002                 the code that copies the rows",
        "vstore show E000007                 the index: 1, 3, 4, ... 40",
        "vstore test show                    what the tester was asked, and the answer",
        "vstore show brief:H1                the findings, and how one turned round",
        "vstore budget show --policy         accounts, and what things cost",
        "vstore query database.rows -H H3 articles -w \"slug prefix 'a02'\"",
        "vstore verify",
    ):
        terminal.print("  " + line)
    beside = shlex.quote(str(_shown(root.parent / "catalogue.sqlite3")))
    terminal.print(f"The broken database itself is {beside}.")
