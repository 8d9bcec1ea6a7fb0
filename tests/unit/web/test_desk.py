"""A desk belongs to one service, and settles what the last one left."""

from __future__ import annotations

from pathlib import Path

import pytest

from vstore.errors import ConflictError, InvalidError, NotFoundError
from vstore.handoff.limits import HandoffLimits
from vstore.testing.desk import DeskCase
from vstore.web.desk import Desk
from vstore.web.recovery import Recovered
from vstore.web.service_folder import ServiceFolder
from vstore.web.upload_policy import UploadPolicy


def test_one_service_at_a_time(case: DeskCase) -> None:
    folder = ServiceFolder.open(case.root / "state")
    with pytest.raises(ConflictError) as error:
        Desk.open(case.workspace, folder)
    assert error.value.kind == "already_served"
    case.close()
    with Desk.open(case.workspace, folder) as desk:
        assert desk.recovered == Recovered()
    case.open()


def test_a_desk_that_can_not_be_opened_keeps_no_lock(tmp_path: Path) -> None:
    folder = ServiceFolder.open(tmp_path / "state")
    for _ in range(2):
        with pytest.raises(NotFoundError) as error:
            Desk.open(tmp_path / "absent", folder)
        assert error.value.kind == "no_workspace"
    (tmp_path / "workspace").mkdir()
    with pytest.raises(InvalidError):
        Desk.open(tmp_path / "workspace", folder, lease_seconds=0)
    with Desk.open(tmp_path / "workspace", folder) as desk:
        assert desk.board.look() == ([], [])


def test_limits_that_contradict_each_other(tmp_path: Path) -> None:
    with pytest.raises(InvalidError) as error:
        Desk.open(
            tmp_path,
            ServiceFolder.open(tmp_path / "state"),
            handoff_limits=HandoffLimits(max_attachment_bytes=10),
            upload_policy=UploadPolicy(max_file_bytes=11),
        )
    assert error.value.kind == "invalid_limit"


def test_whoever_starts_it_is_told_what_was_half_done() -> None:
    assert Recovered().sentences() == []
    told = Recovered(done=1, withdrawn=2, lost=3, undecided=4, files=5).sentences()
    assert [sentence[0] for sentence in told] == ["1", "2", "3", "4", "5"]
    assert Recovered(withdrawn=2).sentences() == told[1:2]
