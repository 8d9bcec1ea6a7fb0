"""Claiming, accepting and rejecting the files of an inbox; what the quarantine keeps."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from vstore.admission.claims import admission_folder, claimed
from vstore.admission.inbox import Inbox
from vstore.admission.quarantine import Quarantine
from vstore.errors import StorageError
from vstore.objects.locks import LockTimeout
from vstore.package.workspace import Workspace


@pytest.fixture
def inbox(tmp_path: Path) -> Inbox:
    folder = tmp_path / "inbox"
    folder.mkdir()
    return Inbox(folder)


def test_what_waits(inbox: Inbox) -> None:
    for name in ("b.zip", "a.zip", ".hidden", "c.zip.part", "d.tmp", "B.zip"):
        (inbox.folder / name).write_bytes(b"")
    (inbox.folder / "folder").mkdir()
    (inbox.folder / "link").symlink_to("a.zip")
    os.mkfifo(inbox.folder / "pipe")
    assert [path.name for path in inbox.waiting()] == ["B.zip", "a.zip", "b.zip"]
    with pytest.raises(StorageError):
        Inbox(inbox.folder / "absent").waiting()


def test_one_claim_at_a_time(inbox: Inbox) -> None:
    path = inbox.folder / "a.zip"
    path.write_bytes(b"1")
    with inbox.claim(path) as mine:
        assert mine
        with inbox.claim(path) as again:
            assert not again
    with inbox.claim(path) as mine:
        assert mine
        assert inbox.accept(path) == inbox.folder / "admitted" / "a.zip"
        with inbox.claim(path) as gone:
            assert not gone
    with inbox.claim(inbox.folder / "absent") as mine:
        assert not mine
    (inbox.folder / "link").symlink_to("admitted/a.zip")
    with pytest.raises(StorageError), inbox.claim(inbox.folder / "link"):
        pass


def test_a_name_that_another_file_has_by_now(inbox: Inbox, tmp_path: Path) -> None:
    path = inbox.folder / "a.zip"
    path.write_bytes(b"old")
    with path.open("rb") as held:
        (tmp_path / "new").write_bytes(b"new")
        (tmp_path / "new").rename(path)
        from vstore.admission.inbox import _is_there

        assert not _is_there(path, held.fileno())
    with inbox.claim(path) as mine:
        assert mine


def test_nothing_put_away_is_overwritten(inbox: Inbox) -> None:
    places = []
    for number in range(3):
        path = inbox.folder / "a.vstore.zip"
        path.write_bytes(b"%d" % number)
        with inbox.claim(path):
            places.append(inbox.reject(path, {"number": number}))
    assert [path.name for path in places] == ["a.vstore.zip", "a-2.vstore.zip", "a-3.vstore.zip"]
    for number, path in enumerate(places):
        assert path.parent.name == "rejected"
        assert path.read_bytes() == b"%d" % number
        beside = path.with_name(path.name + ".findings.json")
        assert json.loads(beside.read_text()) == {"number": number}
    assert inbox.waiting() == []


def test_findings_never_replace_a_bundle(inbox: Inbox) -> None:
    for name in ("a.zip.findings.json", "a.zip"):
        (inbox.folder / name).write_bytes(name.encode())
        with inbox.claim(inbox.folder / name):
            place = inbox.reject(inbox.folder / name, {"of": name})
        assert place.read_bytes() == name.encode()
    rejected = inbox.folder / "rejected"
    assert (rejected / "a.zip.findings.json").read_bytes() == b"a.zip.findings.json"
    assert place.name == "a-2.zip"
    assert json.loads((rejected / "a-2.zip.findings.json").read_text()) == {"of": "a.zip"}


@pytest.mark.parametrize("name", ["a" * 255, "a." + "b" * 253, "\N{EURO SIGN}" * 85])
def test_the_longest_names_can_be_put_away_too(inbox: Inbox, name: str) -> None:
    path = inbox.folder / name
    places = []
    for _ in range(2):
        path.write_bytes(b"")
        with inbox.claim(path):
            places.append(inbox.reject(path, {}))
    assert inbox.waiting() == []
    assert len({one.name for one in places}) == 2


def test_what_took_the_name_of_a_claimed_file_stays(inbox: Inbox) -> None:
    path = inbox.folder / "a.zip"
    path.write_bytes(b"old")
    with inbox.claim(path) as mine:
        assert mine
        (inbox.folder / ".new").write_bytes(b"new")
        (inbox.folder / ".new").rename(path)
        for put_away in (inbox.accept, lambda one: inbox.reject(one, {})):
            with pytest.raises(StorageError) as caught:
                put_away(path)
            assert caught.value.kind == "replaced"
    assert path.read_bytes() == b"new"
    assert inbox.waiting() == [path]


def test_nothing_is_put_away_behind_a_link(inbox: Inbox, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    path = inbox.folder / "a.zip"
    path.write_bytes(b"")
    for name in ("admitted", "rejected"):
        (inbox.folder / name).symlink_to(elsewhere)
    with inbox.claim(path):
        for put_away in (inbox.accept, lambda one: inbox.reject(one, {})):
            with pytest.raises(StorageError) as caught:
                put_away(path)
            assert caught.value.kind == "inbox"
    assert list(elsewhere.iterdir()) == []
    assert inbox.waiting() == [path]


def test_what_cannot_be_put_away(inbox: Inbox) -> None:
    (inbox.folder / "admitted").write_bytes(b"in the way")
    path = inbox.folder / "a.zip"
    path.write_bytes(b"")
    with inbox.claim(path), pytest.raises(StorageError) as caught:
        inbox.accept(path)
    assert caught.value.kind == "inbox"
    with pytest.raises(StorageError):
        inbox.accept(inbox.folder / "absent")
    with pytest.raises(StorageError):
        inbox.reject(inbox.folder / "absent", {})


def test_the_quarantine_is_empty_afterwards(tmp_path: Path) -> None:
    quarantine = Quarantine(Workspace.create(tmp_path / "w"))
    assert quarantine.residue() == []
    with quarantine.place() as held, quarantine.place() as other:
        assert held != other
        held.write_bytes(b"x")
        assert quarantine.residue(remove=True) == []
        assert held.exists()
    assert list(quarantine.folder.iterdir()) == []


def test_what_a_crash_left_in_quarantine_is_found(tmp_path: Path) -> None:
    script = (
        "import os, signal, sys\n"
        "from vstore.admission.quarantine import Quarantine\n"
        "from vstore.package.workspace import Workspace\n"
        "with Quarantine(Workspace.open(sys.argv[1])).place() as held:\n"
        "    held.write_bytes(b'x')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    workspace = Workspace.create(tmp_path / "w")
    died = subprocess.run([sys.executable, "-c", script, workspace.root], check=False)
    assert died.returncode == -signal.SIGKILL
    quarantine = Quarantine(workspace)
    found = quarantine.residue()
    assert sorted(path.suffix for path in found) == [".lock", ".zip"]
    with quarantine.place() as held:
        held.write_bytes(b"mine")
        assert quarantine.residue(remove=True) == found
        assert sorted(quarantine.folder.iterdir()) == sorted([held, held.with_suffix(".lock")])
    assert list(quarantine.folder.iterdir()) == []
    # A file without its lock is residue as well.
    (quarantine.folder / "1-2.zip").write_bytes(b"")
    assert [path.name for path in quarantine.residue(remove=True)] == ["1-2.zip"]


def test_a_quarantine_that_cannot_be_made(tmp_path: Path) -> None:
    workspace = Workspace.create(tmp_path / "w")
    admission_folder(workspace).write_bytes(b"in the way")
    with pytest.raises(StorageError), Quarantine(workspace).place():
        pass
    with pytest.raises(StorageError), claimed(workspace, "C", "worker", timeout=0):
        pass


def test_claims_of_a_case(tmp_path: Path) -> None:
    workspace = Workspace.create(tmp_path / "w")
    with claimed(workspace, "C", "worker", timeout=0):
        # Another case, and another purpose, are other claims.
        with claimed(workspace, "D", "worker", timeout=0):
            pass
        with claimed(workspace, "C", "admission", timeout=0):
            pass
        with pytest.raises(LockTimeout) as caught, claimed(workspace, "C", "worker", timeout=0):
            pass
        assert caught.value.details["command"] == "vstore worker"
    with claimed(workspace, "C", "worker", timeout=0):
        pass
    assert workspace.cases() == []
