"""``vstore diff``: what differs between two generations, packages or bundles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from vstore_cli.context import Session, json_option, package_option, pass_session

if TYPE_CHECKING:
    from vstore.controller.comparison import Comparison

__all__ = ["command"]


@click.command("diff", short_help="Compare two generations, packages or bundles.")
@click.argument("before", default="HEAD~1")
@click.argument("after", default="HEAD")
@json_option
@package_option
@pass_session
def command(session: Session, before: str, after: str, as_json: bool) -> None:
    """Show what differs between BEFORE and AFTER: records, ledger, state, inputs.

    Each is a generation (HEAD~3, g12), the path of a package or of a bundle, or a
    generation of one: bundle.zip@g12. Of two copies of a package it says which one is
    ahead, or after which generation they diverged.

    \b
    Example:
      vstore diff g7 HEAD
      vstore diff ../theirs.zip HEAD
    """
    from vstore.controller.comparison import compare
    from vstore_cli.sides import generation_named

    found = compare(generation_named(session, before), generation_named(session, after))
    if as_json:
        session.terminal.json(_value(found))
        return
    from vstore_cli.diff_lines import lines

    with session.terminal.paged():
        for line in lines(session.terminal, found):
            session.terminal.print(line)


def _value(found: Comparison) -> dict[str, Any]:
    from vstore.objects.text import text_from_bytes

    def pair(ids: tuple[Any, Any]) -> dict[str, str | None]:
        return {"before": _text(ids[0]), "after": _text(ids[1])}

    def paths(changes: Any) -> list[dict[str, Any]]:
        return [
            {
                "path": text_from_bytes(one.path),
                "change": one.kind,
                "before": None if one.before is None else str(one.before.object),
                "after": None if one.after is None else str(one.after.object),
            }
            for one in changes
        ]

    def side(package: Any) -> dict[str, Any]:
        return {
            "case_id": package.case_id,
            "package_id": package.package_id,
            "object": str(package.generation_id),
            "generation": package.number,
            "analysis_revision": package.revision,
            "state": package.state,
            "blocked": package.generation.blocked,
        }

    def entries(chain: Any) -> list[dict[str, Any]]:
        return [
            {
                "object": str(oid),
                "sequence": entry.sequence,
                "analysis_revision": entry.analysis_revision,
                "event": entry.event,
            }
            for oid, entry in chain
        ]

    def records(chain: Any) -> list[dict[str, str]]:
        return [{"id": one.id, "object": str(one.object)} for one in chain]

    return {
        "schema": "vstore-diff/1",
        "before": side(found.before),
        "after": side(found.after),
        "relation": found.relation,
        "common": None
        if found.common is None
        else {"object": str(found.common[0]), "generation": found.common[1]},
        "inputs": paths(found.inputs),
        "attachments": paths(found.attachments),
        "snapshots": {name: pair(ids) for name, ids in found.snapshots.items()},
        "hypotheses": [
            {"id": one.hypothesis_id, "before": one.before, "after": one.after}
            for one in found.hypotheses
        ],
        "records_removed": records(found.records_removed),
        "records_added": records(found.records_added),
        "entries_removed": entries(found.entries_removed),
        "entries_added": entries(found.entries_added),
        "accounts": [
            {
                "hypothesis_id": one.hypothesis_id,
                "before_revision": one.before_revision,
                "after_revision": one.after_revision,
                "before": one.before,
                "after": one.after,
            }
            for one in found.accounts
        ],
        "policy": None if found.policy is None else pair(found.policy),
        "artifacts": {name: pair(ids) for name, ids in found.artifacts.items()},
    }


def _text(oid: object) -> str | None:
    return None if oid is None else str(oid)
