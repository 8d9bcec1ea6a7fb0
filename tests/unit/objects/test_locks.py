"""Locks between processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from vstore.errors import StorageError
from vstore.objects.locks import EVIDENCE, PUBLICATION, LockTimeout, PackageLock, now

HOLD = """
import sys
from pathlib import Path
from vstore.objects.locks import PUBLICATION, PackageLock
lock = PackageLock(
    Path(sys.argv[1]),
    PUBLICATION,
    command="vstore \\x1b[31mtest",
    clock=lambda: "2020-02-02T02:02:02Z",
)
lock.acquire()
print("held", flush=True)
sys.stdin.read()
"""


def hold(root: Path) -> subprocess.Popen[str]:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(root)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    return holder


def finish(holder: subprocess.Popen[str]) -> None:
    holder.communicate("")


def test_the_time_is_utc_to_the_second() -> None:
    assert len(now()) == 20
    assert now()[10] == "T"
    assert now().endswith("Z")


def test_one_at_a_time(tmp_path: Path) -> None:
    one, two = (PackageLock(tmp_path, EVIDENCE, timeout=0.01) for _ in range(2))
    with one:
        assert one.held
        with pytest.raises(LockTimeout):
            two.acquire()
        with one:
            assert one.held
        assert one.held
        # Another lock is another matter.
        with PackageLock(tmp_path, PUBLICATION):
            pass
    assert not one.held
    with two:
        pass
    one.close()
    two.close()
    two.close()


def test_another_thread_is_somebody_else(tmp_path: Path) -> None:
    lock = PackageLock(tmp_path, EVIDENCE, timeout=0.05)
    refused = []

    def take() -> None:
        try:
            lock.acquire()
        except LockTimeout as error:
            refused.append(error)

    with lock:
        thread = threading.Thread(target=take)
        thread.start()
        thread.join()
        assert len(refused) == 1
    thread = threading.Thread(target=lambda: (take(), lock.close()))
    thread.start()
    thread.join()
    assert len(refused) == 1
    assert not lock.held
    lock.release()


def test_who_waits_learns_who_holds_it(tmp_path: Path) -> None:
    holder = hold(tmp_path)
    try:
        with pytest.raises(LockTimeout) as caught:
            PackageLock(tmp_path, PUBLICATION, timeout=0).acquire()
        assert caught.value.kind == "locked"
        assert str(holder.pid) in str(caught.value)
        assert "2020-02-02T02:02:02Z" in str(caught.value)
        assert caught.value.details["command"] == "vstore \x1b[31mtest"
        assert "\x1b" not in str(caught.value)
    finally:
        finish(holder)


@pytest.mark.parametrize("text", [None, b"", b"\xff\xfe", b"pid x\nsince " + b"y" * 300])
def test_a_holder_that_left_no_useful_word(tmp_path: Path, text: bytes | None) -> None:
    holder = hold(tmp_path)
    path = tmp_path / "locks/publication.holder"
    path.unlink()
    if text is not None:
        path.write_bytes(text)
    try:
        with pytest.raises(LockTimeout) as caught:
            PackageLock(tmp_path, PUBLICATION, timeout=0).acquire()
        assert "process unknown since an unknown time" in str(caught.value)
    finally:
        finish(holder)


def test_a_killed_process_blocks_nobody(tmp_path: Path) -> None:
    holder = hold(tmp_path)
    os.kill(holder.pid, signal.SIGKILL)
    holder.wait()
    holder.stdin.close()  # type: ignore[union-attr]
    holder.stdout.close()  # type: ignore[union-attr]
    with PackageLock(tmp_path, PUBLICATION, timeout=0):
        pass


def test_a_lock_file_that_was_removed_is_made_again(tmp_path: Path) -> None:
    one = PackageLock(tmp_path, PUBLICATION, timeout=0)
    with one:
        pass
    (tmp_path / "locks/publication").unlink()
    two = PackageLock(tmp_path, PUBLICATION, timeout=0)
    with two, pytest.raises(LockTimeout):
        # The file that it has open still is not the one that others lock.
        one.acquire()
    one.close()
    two.close()


def test_a_folder_that_can_t_have_locks(tmp_path: Path) -> None:
    (tmp_path / "locks").write_text("no folder")
    with pytest.raises(StorageError):
        PackageLock(tmp_path, PUBLICATION).acquire()
    (tmp_path / "locks").unlink()
    (tmp_path / "locks").mkdir()
    (tmp_path / "locks/publication").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StorageError):
        PackageLock(tmp_path, PUBLICATION).acquire()
    assert not (tmp_path / "elsewhere").exists()


def test_nobody_is_told_where_that_is_impossible(tmp_path: Path) -> None:
    (tmp_path / "locks/publication.holder").mkdir(parents=True)
    with PackageLock(tmp_path, PUBLICATION):
        pass
