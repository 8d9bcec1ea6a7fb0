"""External test vectors, which stand beside the checkout and not in it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_FOLDER = Path(__file__).resolve().parents[4] / "shared" / "vectors"


@pytest.fixture(scope="session")
def vectors() -> Path:
    """The folder of vectors; a test without them is skipped, but not in CI."""
    if not _FOLDER.is_dir():
        reason = "no external vectors: ../shared/vectors is not beside this checkout"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    return _FOLDER
