"""What all tests share: how random ones choose, and the folder of fetched releases."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from vstore.testing.releases import Unavailable

# How long an example takes says nothing here: machines are noisy. In CI the examples are the
# same each time, so that a red run is about the change; elsewhere they vary.
settings.register_profile(
    "vstore",
    deadline=None,
    derandomize=os.environ.get("CI") == "true",
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("vstore")


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--pictures FOLDER``: the browser tests keep a picture of every page there."""
    parser.addoption("--pictures", metavar="FOLDER", default=None)


_CACHE = Path(__file__).parents[1] / ".cache" / "releases"


@pytest.fixture(scope="session")
def fetched() -> Callable[[Callable[[Path], Path]], Path]:
    """Fetch a release; without a network the test is skipped, in CI that is a failure."""

    def fetch(get: Callable[[Path], Path]) -> Path:
        try:
            return get(_CACHE)
        except Unavailable as error:
            if os.environ.get("CI") == "true":
                pytest.fail(str(error))
            pytest.skip(str(error))

    return fetch
