"""What all tests share: the folder of fetched releases, and how their absence is told."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from vstore.testing.releases import Unavailable

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
