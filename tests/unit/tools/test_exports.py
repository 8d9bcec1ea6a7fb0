"""What ``vstore.tools`` offers by name is there, and nothing else."""

from __future__ import annotations

import pytest

import vstore.tools


@pytest.mark.parametrize("name", vstore.tools.__all__)
def test_every_name_is_offered(name: str) -> None:
    assert getattr(vstore.tools, name).__name__ == name


def test_another_name_is_refused() -> None:
    with pytest.raises(AttributeError, match="Rooter"):
        vstore.tools.Rooter  # noqa: B018
