"""``vstore contract``: reply contracts, and what a newer one saves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vstore_cli.context import Session, json_option, pass_session

if TYPE_CHECKING:
    from vstore.investigation.measure import Measured

__all__ = ["command"]


@click.group("contract", short_help="Measure what a newer reply contract saves.")
def command() -> None:
    """Measure what a newer reply contract saves.

    \b
    Example:
      vstore contract measure case-1 case-2
    """


@command.command("measure", short_help="Project stored v13 replies onto v14.")
@click.argument(
    "packages", nargs=-1, required=True, metavar="PACKAGE...", type=click.Path(path_type=Path)
)
@click.option(
    "--output", "-o", type=click.Path(path_type=Path), metavar="FILE",
    help="Also write the figures as canonical JSON.",
)  # fmt: skip
@json_option
@pass_session
def measure_packages(
    session: Session, packages: tuple[Path, ...], output: Path | None, as_json: bool
) -> None:
    """Project the stored v13 replies of PACKAGEs onto v14, and count bytes and rejections.

    Nothing is sent anywhere, and no model is asked. Replies that were not kept can't be
    reconstructed: they are counted as such.

    \b
    Example:
      vstore contract measure measured/* --output figures.json
    """
    from vstore.investigation.measure import measure, total
    from vstore.objects.plain_json import encode_value
    from vstore.package.reader import PackageReader

    found: list[tuple[str, Measured]] = []
    for path in packages:
        with PackageReader.open(path) as reader:
            pinned = reader.pinned()
            found.append((pinned.case_id, measure(pinned)))
    whole = total([one for _, one in found])
    value: dict[str, Any] = {
        "schema": "vstore-contract-measure/1",
        "packages": [{"case_id": case_id, **one.value()} for case_id, one in found],
        "total": whole.value(),
    }
    if output is not None:
        output.write_bytes(encode_value(value) + b"\n")
    if as_json:
        session.terminal.print(json.dumps(value, indent=2))
        return
    for case_id, one in [*found, ("in all", whole)]:
        if case_id == "in all" and len(found) < 2:
            continue
        for line in _lines(case_id, one):
            session.terminal.print(line)


def _lines(name: str, found: Measured) -> list[str]:
    v13, v14 = found.v13, found.v14
    lost = f"{found.lost} not reconstructable" if found.lost else "all reconstructable"
    lines = [
        f"{name}: {found.calls} calls under v13, {found.replies} replies, {lost}",
        f"  {'':<22}{'v13':>12}{'v14':>12}{'saved':>10}",
    ]
    for text, before, after in (
        ("reply bytes", v13.reply_bytes, v14.reply_bytes),
        ("message bytes", v13.message_bytes, v14.message_bytes),
        ("request bytes", v13.request_bytes, v14.request_bytes),
    ):
        lines.append(f"  {text:<22}{before:>12,}{after:>12,}{_percent(before, after):>10}")
    lines.append(f"  {'refused replies':<22}{v13.rejections:>12,}{v14.rejections:>12,}")
    for code in sorted({*v13.codes, *v14.codes}):
        short = code.removeprefix("INVESTIGATION_").lower().replace("_", " ")
        lines.append(f"    {short:<20}{v13.codes[code]:>12,}{v14.codes[code]:>12,}")
    for code, number in sorted(found.lost_codes.items()):
        short = code.removeprefix("INVESTIGATION_").lower().replace("_", " ")
        lines.append(f"  not kept: {short}, {number}")
    return lines


def _percent(before: int, after: int) -> str:
    if not before:
        return "-"
    hundredths = (before - after) * 10_000 // before
    sign = "-" if hundredths < 0 else ""
    return f"{sign}{abs(hundredths) // 100}.{abs(hundredths) % 100:02d} %"
