from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from vstore.testing.investigation import small_investigation


@pytest.fixture(scope="session")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A good package that nobody writes to."""
    folder = tmp_path_factory.mktemp("investigation")
    one = small_investigation(folder / "package", folder)
    one.close()
    for name in ("locks", "cache"):
        shutil.rmtree(folder / "package" / name, ignore_errors=True)
    return folder / "package"


@pytest.fixture
def package(original: Path, tmp_path: Path) -> Path:
    """A copy of the good package."""
    return Path(shutil.copytree(original, tmp_path / "package"))
