"""A service's folder and database, with a clock that the tests set."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from vstore.testing.clock import FrozenClock
from vstore.web.database import Database
from vstore.web.service_folder import ServiceFolder


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
