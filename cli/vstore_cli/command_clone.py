"""``vstore clone``: a package of a bundle."""

from __future__ import annotations

from pathlib import Path

import click

from vstore_cli.context import Session, pass_session

__all__ = ["command"]


@click.command("clone", short_help="Make a package of a bundle.")
@click.argument("bundle", type=click.Path(path_type=Path))
@click.argument("folder", metavar="[DIR]", required=False, type=click.Path(path_type=Path))
@pass_session
def command(session: Session, bundle: Path, folder: Path | None) -> int:
    """Verify BUNDLE in full, then make the package that it holds in DIR (by default a folder
    named by the case).

    Exit code: as vstore verify; nothing is written unless it is 0.

    \b
    Example:
      vstore clone case-592.vstore.zip
    """
    from vstore.errors import StorageError
    from vstore.package.bundle_unpack import check_free, unpack_bundle
    from vstore.verify.bundle import BundleSource
    from vstore.verify.replay import verify_source
    from vstore_cli.command_verify import print_report
    from vstore_cli.progress import Progress
    from vstore_cli.terminal import safe

    if not bundle.is_file():
        raise StorageError("no such file", kind="no_file", path=str(bundle))
    if folder is not None:
        check_free(folder)
    source = BundleSource(bundle)
    session.closing.callback(source.close)
    with Progress(session.terminal).verifying(str(bundle)) as told:
        report = verify_source(source, str(bundle), progress=told)
    if report.exit_code != 0:
        print_report(session.terminal, report)
        return report.exit_code
    # A case's id is made of characters that any file system has.
    target = Path(str(report.case_id)) if folder is None else folder
    unpack_bundle(source.file, target)
    session.terminal.print(
        f"{safe(str(target))}: verified, {report.counts.generations} generations"
    )
    session.terminal.print(f"head {report.head}")
    return 0
