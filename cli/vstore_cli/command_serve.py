"""``vstore serve``: the page on which testers answer."""

from __future__ import annotations

from pathlib import Path

import click

from vstore_cli.context import Session, pass_session
from vstore_cli.testers import need_web_extra

__all__ = ["command"]


@click.command("serve", short_help="Serve the page on which testers answer.")
@click.argument("workspace", type=click.Path(path_type=Path), required=False)
@click.option("--host", default="127.0.0.1", show_default=True, metavar="ADDRESS",
              help="Where to listen.")  # fmt: skip
@click.option("--port", type=click.IntRange(0, 65535), default=8484, show_default=True,
              help="Where to listen; 0 takes a free one.")  # fmt: skip
@click.option("--public-url", metavar="URL",
              help="What people type, where a proxy with TLS stands in front.")  # fmt: skip
@click.option("--proxy", "proxies", multiple=True, metavar="ADDRESS",
              help="A proxy that is not on this machine.")  # fmt: skip
@click.option("--state", type=click.Path(path_type=Path), metavar="DIR",
              help="Accounts and drafts; by default WORKSPACE.testers.")  # fmt: skip
@click.option("--lease", type=click.IntRange(1, 24 * 60), default=15, show_default=True,
              metavar="MINUTES", help="How long a test stays with who is away.")  # fmt: skip
@pass_session
def command(
    session: Session,
    workspace: Path | None,
    host: str,
    port: int,
    public_url: str | None,
    proxies: tuple[str, ...],
    state: Path | None,
    lease: int,
) -> None:
    """Serve the page on which testers answer the tests of all cases in WORKSPACE.

    It goes on until SIGTERM or Ctrl-C. Without TLS it is served to this machine only; for
    others, put a reverse proxy in front and name its address with --public-url.

    \b
    Example:
      vstore serve investigations
    """
    need_web_extra()
    from vstore.errors import NotFoundError
    from vstore.web.app import create_app
    from vstore.web.desk import Desk
    from vstore.web.service_folder import ServiceFolder
    from vstore.web.serving import bind, serve
    from vstore.web.settings import Settings

    named = workspace or session.environ.get("VSTORE_WORKSPACE")
    root = Path(named) if named else Path.cwd()
    # Before anything is made: whether this may be served at all.
    if not root.is_dir():
        raise NotFoundError("no such workspace", kind="no_workspace", path=str(root))
    Settings.listening(host, port or 1, public_url)
    folder = ServiceFolder.open(state or ServiceFolder.beside(root), workspace=root)
    desk = session.closing.enter_context(
        Desk.open(root, folder, clock=session.clock, lease_seconds=60 * lease)
    )
    listener = session.closing.enter_context(bind(host, port))
    settings = Settings.listening(host, listener.getsockname()[1], public_url)

    def tell() -> None:
        terminal = session.terminal
        for sentence in desk.recovered.sentences():
            terminal.print(sentence)
        terminal.print(f"Serving {settings.origin}/")
        if not desk.accounts.count_admins():
            terminal.print("Nobody can administer yet. Make the first administrator with")
            terminal.print(f"  vstore tester add NAME --admin{_where(workspace, state)}")
        terminal.flush()

    serve(
        create_app(desk, settings),
        settings,
        listener,
        proxies=proxies or ("127.0.0.1", "::1"),
        listening=tell,
    )
    session.terminal.print("Stopped.")


def _where(workspace: Path | None, state: Path | None) -> str:
    """The options that name the same folders again."""
    import shlex

    text = "" if workspace is None else f" --workspace {shlex.quote(str(workspace))}"
    return text + ("" if state is None else f" --state {shlex.quote(str(state))}")
