"""``vstore repack``: the log sealed in packs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from vstore_cli.context import Session, json_option, package_option, pass_session

if TYPE_CHECKING:
    from vstore.package.repack import RepackFacts

__all__ = ["command"]


@click.command("repack", short_help="Seal the log in packs, which take much less space.")
@click.option("--all", "-a", "everything", is_flag=True,
              help="Make large packs anew too, and one of all that fit together.")  # fmt: skip
@click.option("--level", type=click.IntRange(1, 22), default=None,
              help="Level of zstd; 3 by default. Higher ones gain little.")  # fmt: skip
@click.option("--dry-run", "-n", is_flag=True,
              help="Make the packs, say how large they are, write nothing.")  # fmt: skip
@json_option
@package_option
@pass_session
def command(
    session: Session, everything: bool, level: int | None, dry_run: bool, as_json: bool
) -> None:
    """Seal what was published in packs: the same objects and history in much less space.

    Ids don't change, and others may read and publish meanwhile. Everything is read back before
    it replaces anything; a crash leaves what was there, or the packs, or both. Versions of
    vstore that don't know packs refuse the package afterwards: send those a bundle, which is
    the same with packs and without.

    \b
    Example:
      vstore repack --dry-run
      vstore repack
    """
    from vstore.objects.pack_writer import LEVEL
    from vstore.package.repack import repack
    from vstore_cli.errors import Refused

    root = session.package_path()
    if root.is_file():
        raise Refused(
            "a bundle is only read",
            kind="read_only_bundle",
            hint="vstore clone makes a package of it, which can be repacked",
        )
    facts = repack(
        root,
        level=LEVEL if level is None else level,
        everything=everything,
        dry_run=dry_run,
        command="vstore repack",
        clock=session.clock,
    )
    if as_json:
        session.terminal.json({"schema": "vstore-repack/1", "dry_run": dry_run, **facts._asdict()})
        return
    for line in _lines(facts, dry_run=dry_run):
        session.terminal.print(line)


def _lines(facts: RepackFacts, *, dry_run: bool) -> list[str]:
    from vstore_cli.words import count

    would = "would be " if dry_run else ""
    lines: list[str] = []
    if facts.packs:
        what = [count(facts.segments, "segment")] if facts.segments else []
        what += [count(facts.replaced, "pack")] if facts.replaced else []
        lines.append(
            f"{' and '.join(what)} {would}sealed in {count(facts.packs, 'pack')}: "
            f"{count(facts.objects, 'object')}, {facts.before:,} bytes before, "
            f"{facts.after:,} after"
        )
    if facts.removed:
        lines.append(f"{count(facts.removed, 'replaced file')} {would}removed")
    return lines or ["nothing to repack"]
