"""A service's folder and database, with a clock that the tests set."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from argon2 import PasswordHasher

from vstore.testing.clock import FrozenClock
from vstore.testing.desk import DeskCase, waiting_workspace
from vstore.testing.testers_page import Site, ask
from vstore.web import passwords
from vstore.web.accounts import Accounts
from vstore.web.audit import Audit
from vstore.web.database import Database
from vstore.web.enrolment import Enrolment
from vstore.web.service_folder import ServiceFolder
from vstore.web.sessions import Sessions
from vstore.web.tokens import Tokens


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock()


@pytest.fixture
def folder(tmp_path: Path) -> ServiceFolder:
    return ServiceFolder.open(tmp_path / "state")


@pytest.fixture
def database(folder: ServiceFolder, clock: FrozenClock) -> Iterator[Database]:
    one = Database(folder.database_path, clock=clock)
    yield one
    one.close()


@pytest.fixture
def accounts(database: Database) -> Accounts:
    return Accounts(database)


@pytest.fixture
def enrolment(database: Database, accounts: Accounts) -> Enrolment:
    return Enrolment(database, accounts)


@pytest.fixture
def sessions(database: Database) -> Sessions:
    return Sessions(database)


@pytest.fixture
def tokens(database: Database) -> Tokens:
    return Tokens(database)


@pytest.fixture
def audit(database: Database) -> Audit:
    return Audit(database)


@pytest.fixture(autouse=True)
def _quick_hashes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """argon2id with the least work, except where the work itself is looked at."""
    if "full_hashes" in request.fixturenames:
        return
    monkeypatch.setattr(passwords, "_HASHER", PasswordHasher(1, 8, 1))
    passwords._nobody.cache_clear()


@pytest.fixture
def full_hashes() -> None:
    passwords._nobody.cache_clear()


@pytest.fixture(scope="session")
def waiting(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with a case that waits for its test; to be copied."""
    return waiting_workspace(tmp_path_factory.mktemp("waiting"))


@pytest.fixture
def case(waiting: Path, tmp_path: Path) -> Iterator[DeskCase]:
    """A desk over a case that waits for its test."""
    one = DeskCase(tmp_path, waiting)
    yield one
    one.close()


@pytest.fixture(scope="session")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace whose case waits for a test; to be copied, not touched."""
    folder = tmp_path_factory.mktemp("asked")
    ask(folder)
    return folder


@pytest.fixture
def make_site(asked: Path, tmp_path: Path) -> Iterator[Callable[..., Site]]:
    """Opens the page over a copy of that workspace, or over one of the test's own."""
    opened = []

    def make(folder: Path | None = None, **options: Any) -> Site:
        site = Site(folder or Site.copied(asked, tmp_path / f"site-{len(opened)}"), **options)
        opened.append(site)
        return site

    yield make
    for one in opened:
        one.close()


@pytest.fixture
def site(make_site: Callable[..., Site]) -> Site:
    return make_site()
