# ruff: noqa: PTH101, PTH108, PTH123, PTH211 - names stay bytes here
"""Folders on disk: what is captured is exactly what is there, or an error names the path."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from vstore.errors import InvalidError, LimitExceeded, NotFoundError, StorageError
from vstore.objects.ids import object_id
from vstore.objects.memory import MemoryObjects
from vstore.objects.tree import Tree, walk
from vstore.package import folder as folder_module
from vstore.package.folder import FolderCapture, capture_folder
from vstore.package.limits import PackageLimits

AWKWARD = [
    b"crlf.txt",
    b" leading and trailing ",
    b"-rf",
    b"*?[a]",
    b"new\nline",
    b"tab\tquote\"'",
    b"\x1b[31mred",
    b"not-utf8-\xff\xfe",
    "caf\u00e9".encode(),  # composed
    "cafe\u0301".encode(),  # decomposed: another file
    "\u202egnp.exe".encode(),
    "日本語".encode(),
    b"x" * 255,
    b"CON",
    b"refs",
]


def write(path: bytes, content: bytes, mode: int = 0o644) -> None:
    with open(path, "wb") as stream:
        stream.write(content)
    os.chmod(path, mode)


def contents(sink: MemoryObjects, root: object) -> dict[bytes, tuple[str, bytes, bool]]:
    return {
        one.path: (one.entry.kind, sink.get(one.entry.object), one.entry.executable)
        for one in walk(sink, root)  # type: ignore[arg-type]
    }


def test_names_bytes_and_executable_bits_survive(tmp_path: Path) -> None:
    base = os.fsencode(tmp_path)
    expected = {}
    for number, name in enumerate(AWKWARD):
        content = b"\xef\xbb\xbfline\r\n\x00\xff" + bytes([number])
        executable = number % 2 == 1
        write(base + b"/" + name, content, 0o755 if executable else 0o644)
        expected[name] = ("file", content, executable)
    write(base + b"/empty", b"")
    expected[b"empty"] = ("file", b"", False)
    sink = MemoryObjects()
    found = capture_folder(tmp_path, sink)
    assert contents(sink, found.root) == expected
    assert found.files == len(expected)
    assert found.size == sum(len(content) for _, content, _ in expected.values())
    assert found.excluded == ()


def test_only_the_owners_executable_bit_counts(tmp_path: Path) -> None:
    for mode in (0o644, 0o654, 0o645, 0o744):
        write(os.fsencode(tmp_path / f"{mode:o}"), b"x", mode)
    sink = MemoryObjects()
    found = contents(sink, capture_folder(tmp_path, sink).root)
    assert {name for name, (_, _, executable) in found.items() if executable} == {b"744"}


def test_links_are_kept_and_never_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("outside")
    inside = tmp_path / "in"
    (inside / "real").mkdir(parents=True)
    (inside / "real" / "file").write_text("x")
    targets = {
        b"absolute": os.fsencode(secret),
        b"above": b"../secret",
        b"dangling": b"no/such/thing",
        b"folder": b"real",
        b"itself": b"itself",
        b"odd\xff": b"\xfe\n",
    }
    for name, target in targets.items():
        os.symlink(target, os.fsencode(inside) + b"/" + name)
    sink = MemoryObjects()
    found = capture_folder(inside, sink)
    assert contents(sink, found.root) == {
        **{name: ("link", target, False) for name, target in targets.items()},
        b"real/file": ("file", b"x", False),
    }
    assert (found.files, found.links, found.folders) == (1, 6, 1)
    assert object_id(b"outside") not in sink


def test_a_link_to_the_folder_itself_may_be_named(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "f").write_text("x")
    (tmp_path / "link").symlink_to("real")
    sink = MemoryObjects()
    assert (
        capture_folder(tmp_path / "link", sink).root == capture_folder(tmp_path / "real", sink).root
    )


def test_empty_folders_stay(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    sink = MemoryObjects()
    found = capture_folder(tmp_path, sink)
    assert found.folders == 2
    (entry,) = sink.document(found.root, Tree).entries
    assert entry.name == "a"


def test_large_files_are_streamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    streamed = []

    class Sink(MemoryObjects):
        def put_stream(self, stream, *, max_bytes):  # type: ignore[no-untyped-def]
            streamed.append(max_bytes)
            return super().put_stream(stream, max_bytes=max_bytes)

    monkeypatch.setattr(folder_module, "_READ_WHOLE", 10)
    (tmp_path / "small").write_bytes(b"0123456789")
    (tmp_path / "large").write_bytes(b"0123456789a")
    sink = Sink()
    found = capture_folder(tmp_path, sink, limits=PackageLimits(max_file_bytes=1000))
    assert contents(sink, found.root) == {
        b"small": ("file", b"0123456789", False),
        b"large": ("file", b"0123456789a", False),
    }
    assert streamed == [1000]


def test_what_a_tree_cannot_hold_is_named(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    pipe = tmp_path / "deep" / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(InvalidError, match=r"named pipe.*deep/pipe") as caught:
        capture_folder(tmp_path, MemoryObjects())
    assert caught.value.kind == "not_representable"
    assert caught.value.details["path"] == str(pipe)
    pipe.unlink()
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(tmp_path / "s"))
        with pytest.raises(InvalidError, match="socket"):
            capture_folder(tmp_path, MemoryObjects())
    found = capture_folder(tmp_path, MemoryObjects(), exclude=["s"])
    assert found.excluded == (b"s",)


@pytest.mark.skipif(not Path("/dev/null").is_char_device(), reason="no /dev/null")
def test_a_device_is_named() -> None:
    capture = FolderCapture(MemoryObjects())
    with pytest.raises(InvalidError, match="a character device can't be captured: /dev/null"):
        capture.add(Path("/dev/null"), b"null")


@contextmanager
def without_privileges(path: Path) -> Iterator[None]:
    """Act as a user whom permissions stop; root isn't stopped by any."""
    if os.geteuid() != 0:
        yield
        return
    for one in (path, *path.parents):
        if one.stat().st_uid == 0 and not one.stat().st_mode & 0o001:
            one.chmod(one.stat().st_mode | 0o011)
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.parametrize("what", ["file", "folder"])
def test_what_may_not_be_read_is_named(tmp_path: Path, what: str) -> None:
    tmp_path.chmod(0o755)
    closed = tmp_path / "closed"
    if what == "file":
        closed.write_text("x")
    else:
        closed.mkdir()
    closed.chmod(0)
    try:
        with without_privileges(tmp_path), pytest.raises(InvalidError, match="closed") as caught:
            capture_folder(tmp_path, MemoryObjects())
        assert caught.value.kind == "unreadable"
        assert caught.value.details["path"] == str(closed)
    finally:
        closed.chmod(0o700)


def test_no_such_folder(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError) as caught:
        capture_folder(tmp_path / "absent", MemoryObjects())
    assert caught.value.kind == "no_file"
    (tmp_path / "file").write_text("x")
    with pytest.raises(InvalidError) as wrong:
        capture_folder(tmp_path / "file", MemoryObjects())
    assert wrong.value.kind == "not_a_folder"
    with pytest.raises(NotFoundError):
        capture_folder(tmp_path / "file" / "below", MemoryObjects())
    with pytest.raises(NotFoundError):
        FolderCapture(MemoryObjects()).add(tmp_path / "absent", b"x")


def test_folders_too_deep_are_named(tmp_path: Path) -> None:
    (tmp_path / "/".join(["d"] * 64)).mkdir(parents=True)
    with pytest.raises(InvalidError) as caught:
        capture_folder(tmp_path, MemoryObjects())
    assert caught.value.kind == "invalid_path"


def test_the_package_itself_is_never_part_of_it(tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "f").write_text("x")
    with pytest.raises(InvalidError) as caught:
        capture_folder(tmp_path, MemoryObjects(), never_enter=[tmp_path / "package"])
    assert caught.value.kind == "inside_itself"
    found = capture_folder(
        tmp_path, MemoryObjects(), exclude=["/package"], never_enter=[tmp_path / "package"]
    )
    assert (found.files, found.excluded) == (1, (b"package",))


def test_patterns_leave_files_and_folders_out(tmp_path: Path) -> None:
    for name in ("a.py", "a.pyc", "sub/b.pyc", "sub/b.py", "build/x", "sub/build/y"):
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_text(name)
    sink = MemoryObjects()
    found = capture_folder(tmp_path, sink, exclude=["*.pyc", "/build"])
    assert set(contents(sink, found.root)) == {b"a.py", b"sub/b.py", b"sub/build/y"}
    assert found.excluded == (b"a.pyc", b"build", b"sub/b.pyc")


def test_limits_by_their_names(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / str(number)).write_bytes(b"0123456789")

    def capture(**limits: int) -> LimitExceeded | None:
        try:
            capture_folder(tmp_path, MemoryObjects(), limits=PackageLimits(**limits))
        except LimitExceeded as error:
            return error
        return None

    assert capture(max_input_files=3, max_input_bytes=30) is None
    files = capture(max_input_files=2)
    assert files is not None
    assert (files.details["limit"], files.details["value"]) == ("max_input_files", 2)
    size = capture(max_input_bytes=29)
    assert size is not None
    assert (size.details["limit"], size.details["asked"]) == ("max_input_bytes", 30)
    one = capture(max_file_bytes=9)
    assert one is not None
    assert (one.details["limit"], one.details["value"]) == ("max_file_bytes", 9)
    assert str(one.details["path"]).endswith("/0")
    assert capture(max_file_bytes=10) is None


def test_a_file_that_changes_meanwhile_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "f").write_bytes(b"0123456789")
    real = os.fstat
    for whole, limit in ((5, 1000), (1000, 1000), (5, 22)):
        monkeypatch.setattr(folder_module, "_READ_WHOLE", whole)
        limits = PackageLimits(max_file_bytes=limit)

        def grow(fd: int) -> os.stat_result:
            with (tmp_path / "f").open("ab") as stream:
                stream.write(b"more")
            return real(fd)

        with monkeypatch.context() as patch:
            patch.setattr(folder_module.os, "fstat", grow)
            with pytest.raises(InvalidError) as caught:
                capture_folder(tmp_path, MemoryObjects(), limits=limits)
            assert caught.value.kind == "changed_while_reading"


def test_a_link_that_takes_a_files_place_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "f").write_bytes(b"x")
    (tmp_path / "g").write_bytes(b"x")
    real = os.open

    def swap(path: bytes, flags: int) -> int:
        os.unlink(path)
        os.symlink("g", path)
        return real(path, flags)

    monkeypatch.setattr(folder_module.os, "open", swap)
    with pytest.raises(InvalidError) as caught:
        capture_folder(tmp_path, MemoryObjects(), exclude=["g"])
    assert caught.value.kind == "changed_while_reading"


def test_a_pipe_that_takes_a_files_place_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "f").write_bytes(b"x")
    real = os.open

    def swap(path: bytes, flags: int) -> int:
        os.unlink(path)
        os.mkfifo(path)
        return real(path, flags)

    monkeypatch.setattr(folder_module.os, "open", swap)
    with pytest.raises(InvalidError) as caught:
        capture_folder(tmp_path, MemoryObjects())
    assert caught.value.kind == "changed_while_reading"


def test_a_failing_disk_is_a_storage_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "f").write_bytes(b"x")

    def fail(path: bytes, flags: int) -> int:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(folder_module.os, "open", fail)
    with pytest.raises(StorageError, match=r"EIO.*/f"):
        capture_folder(tmp_path, MemoryObjects())


@pytest.mark.skipif(sys.platform == "darwin", reason="names are normalised there")
def test_messages_hold_no_terminal_escapes(tmp_path: Path) -> None:
    os.mkfifo(os.fsencode(tmp_path) + b"/\x1b[31m\xff")
    with pytest.raises(InvalidError) as caught:
        capture_folder(tmp_path, MemoryObjects())
    assert "\x1b" not in str(caught.value)
    assert r"\x1b[31m\xff" in str(caught.value)


def test_single_files_at_places_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("f")
    (tmp_path / "l").symlink_to("f")
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "x").write_text("x")
    sink = MemoryObjects()
    capture = FolderCapture(sink)
    capture.add(tmp_path / "f", b"in/side")
    capture.add(tmp_path / "l", b"link")
    capture.add(tmp_path / "d", b"folder")
    assert contents(sink, capture.build().root) == {
        b"folder/x": ("file", b"x", False),
        b"in/side": ("file", b"f", False),
        b"link": ("link", b"f", False),
    }
