"""``vstore test``: questions that only a person or a test bench can answer."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from vstore_cli.context import (
    Session,
    actor_option,
    json_option,
    package_option,
    pass_session,
)

if TYPE_CHECKING:
    from vstore_cli.handoffs import ListedTest

__all__ = ["command"]

_MOST_BYTES: Final = 4 << 20


@click.group("test", short_help="Hand a test out, and take the confirmed answer.")
def command() -> None:
    """Hand a test out to a person or an automaton, wait at no cost, take one answer.

    \b
    Example:
      vstore test request -H H3 --question "Does it fail?" --step "Open it." \\
          --observe fails:yes_no="Does it fail?" --deadline 2026-12-01T12:00:00Z
      vstore test attach app.log
      vstore test show --draft > draft.json
      vstore test confirm draft.json --as "Pat Doe"
      vstore test record
    """


@command.command("request", short_help="Reserve a test's cost and hand it out.")
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option("--hypothesis", "-H", metavar="ID", help="On whose behalf it is asked.")
@click.option("--action", metavar="ID", help="The action, reserved unless it is already.")
@click.option("--id", "request_id", metavar="ID", help="The request's id; else the action's.")
@click.option("--executor", type=click.Choice(["human", "automated"]),
              help="Who tests; a human unless said otherwise.")  # fmt: skip
@click.option("--question", metavar="TEXT", help="What is to be found out.")
@click.option("--prerequisite", "prerequisites", multiple=True, metavar="TEXT",
              help="What must hold before; may be repeated.")  # fmt: skip
@click.option("--step", "steps", multiple=True, metavar="TEXT",
              help="What to do; may be repeated.")  # fmt: skip
@click.option("--observe", "observations", multiple=True, metavar="ID[:KIND]=TEXT",
              help="What to observe: a text, yes_no, number or attachment.")  # fmt: skip
@click.option("--environment", "-e", multiple=True, metavar="NAME=VALUE",
              help="Where to test; may be repeated.")  # fmt: skip
@click.option("--deadline", metavar="INSTANT", help="With its time zone; shown, and no more.")
@json_option
@package_option
@actor_option
@pass_session
def request(
    session: Session, /, file: Path | None, deadline: str | None, as_json: bool, **options: Any
) -> None:
    """Reserve what a test costs and hand it out; the case waits for the answer from now on.

    FILE is an async-test-request-v1 in any layout (- for standard input); identities,
    action and reservation may be left out, and options win. The same request again is no
    second one.

    \b
    Example:
      vstore test request request.json -H H3
    """
    from vstore.handoff.drafts import read_object
    from vstore_cli.files import read_file
    from vstore_cli.services import open_services
    from vstore_cli.test_writing import RequestOptions, instant_option, write_request

    written = (
        {} if file is None else read_object(read_file(file, _MOST_BYTES), max_bytes=_MOST_BYTES)
    )
    chosen = RequestOptions(
        deadline=None if deadline is None else instant_option(deadline), **options
    )
    services = open_services(session)
    asked = write_request(services, written, chosen)
    done = services.tests.submit(asked)
    if as_json:
        session.terminal.json(
            {
                "schema": "vstore-test-request/1",
                "request_id": asked.request_id,
                "request": str(done.request_ref),
                "action_id": asked.action_id,
                "hypothesis_id": asked.hypothesis_id,
                "deadline": asked.deadline,
                "repeated": done.repeated,
                "state": done.package.state,
                "head": str(done.package.generation_id),
            }
        )
        return
    was = "was handed out before" if done.repeated else f"handed out to a {asked.executor} tester"
    session.terminal.print(f"test {asked.request_id} {was}; {done.package.position}")
    session.terminal.print("vstore test show            what the tester is asked")


@command.command("list", short_help="List the tests of the case.")
@json_option
@package_option
@pass_session
def list_tests(session: Session, as_json: bool) -> None:
    """List the tests of the case, oldest first.

    A test is overdue when its deadline has passed by the clock here; nothing follows from
    it.

    \b
    Example:
      vstore test list --json
    """
    from vstore_cli.handoffs import listed_tests
    from vstore_cli.table import Column, table
    from vstore_cli.terminal import safe

    terminal = session.terminal
    package = session.reader().pinned()
    tests = listed_tests(package, session.clock())
    if as_json:
        terminal.json(
            {
                "schema": "vstore-test-list/1",
                "case_id": package.case_id,
                "head": str(package.generation_id),
                "tests": [one.value() for one in tests],
            }
        )
        return
    if not tests:
        terminal.print("no tests yet")
        return
    columns = [
        Column(title="test", style="bold"),
        Column(title="status"),
        Column(title="hyp"),
        Column(title="executor"),
        Column(title="deadline"),
        Column(title="record", style="good"),
        Column(title="question", shrink=True),
    ]
    rows = [
        [
            one.handoff.request.request_id,
            one.status,
            one.handoff.request.hypothesis_id,
            one.handoff.request.executor,
            one.handoff.request.deadline,
            one.record or "",
            safe(" ".join(one.handoff.request.question.split())),
        ]
        for one in tests
    ]
    for line in table(terminal, columns, rows):
        terminal.print(line)


@command.command("show", short_help="Show a test and its answer.")
@click.argument("request_id", metavar="[TEST]", required=False)
@click.option("--json", "as_json", is_flag=True,
              help="The request's own bytes, exactly: what a confirmation binds.")  # fmt: skip
@click.option("--draft", is_flag=True, help="An answer to fill in, as JSON.")
@package_option
@pass_session
def show(session: Session, request_id: str | None, as_json: bool, draft: bool) -> None:
    """Show what TEST asks, its attachments and its answer; by default the outstanding one.

    An answer names the request that its author saw, by the object id of the bytes that
    --json prints.

    \b
    Example:
      vstore test show --json | b3sum
      vstore test show --draft > draft.json
    """
    from vstore.handoff.attachments import attachments_of
    from vstore.handoff.drafts import draft_template
    from vstore_cli.handoffs import choose, listed_tests
    from vstore_cli.show_handoff import attachment_line, feedback_lines, request_lines

    terminal = session.terminal
    package = session.reader().pinned()
    chosen = choose(listed_tests(package, session.clock()), request_id)
    ref, asked = chosen.handoff.request_ref, chosen.handoff.request
    if as_json:
        from vstore.objects.display import visible_bytes

        raw = package.objects.get(ref)
        if terminal.interactive:
            terminal.print(visible_bytes(raw))
        else:
            terminal.write_bytes(raw)
        return
    attached = attachments_of(package, ref)
    if draft:
        terminal.json(draft_template(asked, ref, attached))
        return
    with terminal.paged():
        for line in request_lines(terminal, asked, ref):
            terminal.print(line)
        if chosen.feedback is not None:
            terminal.print()
            assert chosen.handoff.feedback_ref is not None
            for line in feedback_lines(terminal, chosen.feedback, chosen.handoff.feedback_ref):
                terminal.print(line)
        elif attached:
            terminal.print()
            terminal.print("Attached so far:")
            for one in attached:
                terminal.print("  " + attachment_line(terminal, one))
        terminal.print()
        terminal.print(f"status: {chosen.status}" + (f", {chosen.record}" if chosen.record else ""))


@command.command("attach", short_help="Attach files to the outstanding test.")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--name", metavar="NAME", help="Another name; for a single file.")
@click.option("--test", "request_id", metavar="TEST", help="Only if this one is outstanding.")
@json_option
@package_option
@actor_option
@pass_session
def attach(
    session: Session,
    files: tuple[Path, ...],
    name: str | None,
    request_id: str | None,
    as_json: bool,
) -> None:
    """Stream FILES into the package as attachments of the outstanding test.

    Two of them may bear one name, and none is ever replaced.

    \b
    Example:
      vstore test attach app.log screenshot.png
    """
    from vstore.controller.test_attachments import Upload
    from vstore_cli.files import open_file
    from vstore_cli.services import open_services
    from vstore_cli.show_handoff import attachment_line

    if name is not None and len(files) > 1:
        raise click.UsageError("--name is for a single file")
    services = open_services(session)
    with contextlib.ExitStack() as streams:
        uploads = [Upload(name or one.name, streams.enter_context(open_file(one))) for one in files]
        done = services.tests.attach(
            services.case_id, services.package_id, uploads, request_id=request_id
        )
    if as_json:
        session.terminal.json(
            {
                "schema": "vstore-test-attach/1",
                "attachments": done.attachments,
                "repeated": done.repeated,
                "head": str(done.package.generation_id),
            }
        )
        return
    for one in done.attachments:
        session.terminal.print(attachment_line(session.terminal, one))


@command.command("confirm", short_help="Confirm an answer; the case goes on.")
@click.argument("draft", type=click.Path(path_type=Path))
@click.option("--as", "confirmed_by", required=True, metavar="NAME", help="Who confirms it.")
@click.option("--dry-run", is_flag=True, help="Check it and print what would be stored.")
@json_option
@package_option
@actor_option
@pass_session
def confirm(session: Session, draft: Path, confirmed_by: str, dry_run: bool, as_json: bool) -> None:
    """Confirm the answer in the file DRAFT (- for standard input) in the name of NAME, now.

    Whatever the file says of who confirmed it counts for nothing. The same draft again is
    no conflict, and no second answer.

    \b
    Example:
      vstore test confirm draft.json --as "Pat Doe"
    """
    from vstore_cli.files import read_file
    from vstore_cli.services import open_services

    terminal = session.terminal
    raw = read_file(draft, _MOST_BYTES)
    services = open_services(session)
    case_id, package_id = services.case_id, services.package_id
    if dry_run:
        terminal.json(services.tests.preview(case_id, package_id, raw, confirmed_by=confirmed_by))
        return
    done = services.tests.confirm_draft(case_id, package_id, raw, confirmed_by=confirmed_by)
    answer = done.feedback
    if as_json:
        terminal.json(
            {
                "schema": "vstore-test-confirm/1",
                "request_id": answer.request_id,
                "feedback": str(done.feedback_ref),
                "outcome": answer.outcome,
                "confirmed_by": answer.confirmed_by,
                "confirmed_at": answer.confirmed_at,
                "repeated": done.repeated,
                "state": done.package.state,
                "head": str(done.package.generation_id),
            }
        )
        return
    from vstore_cli.terminal import safe

    was = "was confirmed" if done.repeated else "confirmed"
    terminal.print(
        f"the answer to test {answer.request_id} {was} by {safe(answer.confirmed_by)} at "
        f"{answer.confirmed_at}; {done.package.position}"
    )
    terminal.print("vstore test record          make it evidence")


@command.command("record", short_help="Make a confirmed answer evidence.")
@click.argument("request_id", metavar="[TEST]", required=False)
@json_option
@package_option
@actor_option
@pass_session
def record(session: Session, request_id: str | None, as_json: bool) -> None:
    """Store the confirmed answer to TEST as evidence and record it in the ledger.

    By default the oldest answer that is no evidence yet, else the last. No credits move
    until vstore settle.

    \b
    Example:
      vstore test record
    """
    from vstore_cli.handoffs import listed_tests
    from vstore_cli.services import open_services

    services = open_services(session)
    chosen = _to_record(listed_tests(services.package(), session.clock()), request_id)
    asked, feedback = chosen.handoff.request, chosen.handoff.feedback_ref
    assert feedback is not None
    # The operation's id is the action's, as with a query.
    saved = services.evidence.store_feedback(
        services.case_id, services.package_id, asked.action_id, feedback
    )
    services.budget.record_evidence(
        services.case_id,
        services.package_id,
        asked.hypothesis_id,
        asked.action_id,
        saved.record_refs[0],
    )
    if as_json:
        session.terminal.json(
            {
                "schema": "vstore-test-record/1",
                "request_id": asked.request_id,
                "action_id": asked.action_id,
                "record_id": saved.record_ids[0],
                "record": saved.record_refs[0],
                "repeated": saved.repeated,
                "head": str(services.package().generation_id),
            }
        )
        return
    session.terminal.print(f"recorded {saved.record_ids[0]} for {asked.action_id}")
    session.terminal.print(f'vstore settle {asked.action_id} --score N --reason "..."')


def _to_record(tests: list[ListedTest], request_id: str | None) -> ListedTest:
    from vstore.errors import StateError
    from vstore_cli.handoffs import choose

    answered = [one for one in tests if one.feedback is not None]
    if request_id is None and answered:
        return next((one for one in answered if one.record is None), answered[-1])
    chosen = choose(tests, request_id)
    if chosen.feedback is None:
        raise StateError(
            f"test {chosen.handoff.request.request_id} has no confirmed answer yet",
            kind="unanswered",
            hint="vstore test confirm takes one",
        )
    return chosen
