from __future__ import annotations

from pathlib import Path

import pytest

from vstore.handoff.documents import AsyncTestFeedback, AsyncTestRequest
from vstore.objects.ids import ObjectId
from vstore.testing.handoff import handed_out


@pytest.fixture(scope="session")
def pair(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[AsyncTestRequest, ObjectId, AsyncTestFeedback]:
    """A request, its object id, and a good answer."""
    folder: Path = tmp_path_factory.mktemp("pair")
    case, feedback = handed_out(folder / "package", folder)
    case.close()
    request = case.tests.snapshot("CASE-1", "PACKAGE-1").outstanding
    assert request is not None
    case.close()
    return request.request, request.request_ref, feedback
