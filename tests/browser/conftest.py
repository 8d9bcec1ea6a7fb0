"""The testers' page as a tester has it: the real service, a real package, a real browser."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import pytest
from playwright.sync_api import Browser, Playwright, expect, sync_playwright

from vstore.controller.test_coordinator import HandoffSnapshot
from vstore.testing.handoff import HandoffCase
from vstore.testing.investigation import CASE, PACKAGE
from vstore.web.service_folder import ServiceFolder

from .visitor import Visitor

__all__ = ["LATER", "PAST", "Service", "Visit"]

#: Far enough away for any run of these tests; and long gone.
LATER: Final = "2099-01-03T12:00:00Z"
PAST: Final = "2020-01-03T12:00:00Z"
_BROWSERS: Final = ("chromium", "chromium-browser", "google-chrome")


class Service:
    """``vstore serve`` in a process of its own, on a free port of this machine.

    One test is handed out: its deadline is far away.

    Args:
        folder: A folder for the workspace and all else.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.workspace = folder / "cases"
        self.workspace.mkdir(parents=True)
        scratch = folder / "scratch"
        scratch.mkdir()
        self.package = self.workspace / CASE
        self.case = HandoffCase(self.package, scratch)
        self.case.begin()
        self.url = ""
        self._port = 0
        self._process: subprocess.Popen[str] | None = None

    def hand_out(self, **changes: Any) -> None:
        """Hand a test out."""
        self.case.submit(**{"deadline": LATER, **changes})

    def command(self, *arguments: str) -> str:
        """What a command line prints; it must exit with 0."""
        return subprocess.run(
            [sys.executable, "-m", "vstore_cli", *arguments],
            check=True, capture_output=True, text=True, cwd=self.folder, timeout=120,
            env={**os.environ, "VSTORE_ACTOR": "controller"},
        ).stdout  # fmt: skip

    def start(self, *options: str) -> None:
        """Begin to serve, under the address that it had before if any."""
        self._process = subprocess.Popen(
            [sys.executable, "-m", "vstore_cli", "serve", str(self.workspace),
             "--port", str(self._port), *options],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=self.folder,
        )  # fmt: skip
        assert self._process.stdout is not None
        said = []
        for line in self._process.stdout:
            said.append(line)
            found = re.search(r"http://127\.0\.0\.1:([0-9]+)", line)
            if found:
                self.url, self._port = found[0], int(found[1])
                return
        raise AssertionError("the service ended before it listened: " + "".join(said))

    def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        """End the service; its exit code."""
        process, self._process = self._process, None
        if process is None:
            return 0
        process.send_signal(how)
        process.communicate(timeout=60)
        return process.returncode

    def enrol(self, name: str, *, admin: bool = False) -> str:
        """Add an account from the command line; its one-time code."""
        said = json.loads(
            self.command(
                "tester", "add", name, "-w", str(self.workspace), "--json", *["--admin"] * admin
            )
        )
        code = said["code"]
        assert isinstance(code, str)
        return code

    def database(self) -> sqlite3.Connection:
        """The service's own data, beside the service."""
        return sqlite3.connect(ServiceFolder.beside(self.workspace) / "testers.sqlite3")

    def age_sessions(self) -> None:
        """All sessions were last seen long ago."""
        with closing(self.database()) as database, database:
            changed = database.execute(
                "UPDATE sessions SET created_at = 1577836800, last_seen = 1577836800"
            ).rowcount
        assert changed

    def end_leases(self) -> None:
        """All leases ended long ago."""
        with closing(self.database()) as database, database:
            changed = database.execute(
                "UPDATE claims SET claimed_at = 1577836800, lease_until = 1577836800"
            ).rowcount
        assert changed

    def verify(self) -> str:
        """What ``vstore verify`` says of the package; it must be clean."""
        return self.command("verify", str(self.package))

    def snapshot(self) -> HandoffSnapshot:
        """The tests of the case."""
        return self.case.tests.snapshot(CASE, PACKAGE)


# Its loop runs as long as it does, in this thread: no longer than the tests of one module.
@pytest.fixture(scope="module")
def _playwright() -> Iterator[Playwright]:
    # A busy machine is no fault.
    expect.set_options(timeout=15_000)
    with sync_playwright() as playwright:
        yield playwright


@pytest.fixture(scope="module")
def chromium(_playwright: Playwright) -> Iterator[Browser]:
    """A real browser. Without one there is nothing to see: skipped, in CI a failure."""
    path = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if path is None:
        missing = "no Chromium here; on Debian: apt-get install chromium"
        if os.environ.get("CI") == "true":
            pytest.fail(missing)
        pytest.skip(missing)
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    browser = _playwright.chromium.launch(executable_path=path, args=arguments)
    yield browser
    browser.close()


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    """A service that runs, with one open test."""
    service = Service(tmp_path / "service")
    service.hand_out()
    service.start()
    yield service
    service.stop()


Visit = Callable[..., Visitor]


@pytest.fixture
def visit(service: Service, chromium: Browser) -> Iterator[Visit]:
    """Somebody new opens the page in a browser of their own: ``visit("Pat")``.

    They are enrolled and logged in. Keyword arguments are those of a browser context, and
    ``admin``. Nobody leaves with an error on the console, or a request to another host.
    """
    testers: list[Visitor] = []

    def come(name: str, *, admin: bool = False, **options: Any) -> Visitor:
        options = {"locale": "en-GB", "timezone_id": "Europe/Berlin", **options}
        context = chromium.new_context(base_url=service.url, **options)
        context.set_default_timeout(15_000)
        tester = Visitor(context, context.new_page(), name)
        testers.append(tester)
        tester.watch(service.url)
        tester.enrol(service.enrol(name, admin=admin))
        return tester

    yield come
    for tester in testers:
        tester.context.close()
    assert [tester.wrong for tester in testers] == [[] for _ in testers]
