from __future__ import annotations

import os
from pathlib import Path

import pytest

from vstore.errors import InvalidError, LimitExceeded
from vstore.objects.memory import MemoryObjects
from vstore.objects.tree import walk
from vstore.package.inputs import (
    InputFile,
    add_inputs,
    empty_inputs,
    excluded_note,
    input_file,
)
from vstore.package.limits import PackageLimits
from vstore.package.workspace import Workspace


def paths(sink: MemoryObjects, root: object) -> dict[bytes, bytes]:
    return {one.path: sink.get(one.entry.object) for one in walk(sink, root)}  # type: ignore[arg-type]


def test_no_files_are_an_empty_tree() -> None:
    sink = MemoryObjects()
    assert add_inputs(sink, None, sink, []).root == empty_inputs(sink)


def test_files_keep_their_names(tmp_path: Path) -> None:
    (tmp_path / "report.md").write_text("bug")
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "a.log").write_text("a")
    sink = MemoryObjects()
    added = add_inputs(
        sink,
        None,
        sink,
        [
            input_file(tmp_path / "report.md"),
            input_file(tmp_path / "logs"),
            input_file(tmp_path / "report.md", under=b"copies/2"),
            InputFile(tmp_path / "report.md", b"other"),
        ],
    )
    assert paths(sink, added.root) == {
        b"copies/2/report.md": b"bug",
        b"logs/a.log": b"a",
        b"other": b"bug",
        b"report.md": b"bug",
    }
    assert added.added == (b"copies/2/report.md", b"logs/a.log", b"other", b"report.md")
    assert (added.size, added.files) == (10, 4)


def test_relative_paths_take_the_name_they_end_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert input_file(Path()).target == os.fsencode(tmp_path.name)
    assert input_file(Path("./a/b")).target == b"b"
    assert input_file(Path(os.fsdecode(b"a/\xff"))).target == b"\xff"
    for nameless in (Path("/"), Path("..")):
        with pytest.raises(InvalidError) as caught:
            input_file(nameless)
        assert caught.value.kind == "invalid_path"


def test_additions_leave_the_rest_as_it_is(tmp_path: Path) -> None:
    sink = MemoryObjects()
    (tmp_path / "a").write_text("1")
    first = add_inputs(sink, None, sink, [input_file(tmp_path / "a")])
    (tmp_path / "b").write_text("2")
    (tmp_path / "e").mkdir()
    second = add_inputs(
        sink, first.root, sink, [input_file(tmp_path / "b"), input_file(tmp_path / "e")]
    )
    assert paths(sink, second.root) == {b"a": b"1", b"b": b"2"}
    assert second.added == (b"b", b"e/")
    assert paths(sink, first.root) == {b"a": b"1"}
    # The same again is no change.
    again = add_inputs(sink, second.root, sink, [input_file(tmp_path / "b")])
    assert (again.root, again.added) == (second.root, ())


def test_other_bytes_at_a_path_are_replaced_only_when_asked(tmp_path: Path) -> None:
    sink = MemoryObjects()
    path = tmp_path / "a"
    path.write_text("1")
    base = add_inputs(sink, None, sink, [input_file(path)]).root
    path.write_text("2")
    with pytest.raises(InvalidError) as caught:
        add_inputs(sink, base, sink, [input_file(path)])
    assert (caught.value.kind, caught.value.details["path"]) == ("path_taken", "a")
    replaced = add_inputs(sink, base, sink, [input_file(path)], replace=True)
    assert paths(sink, replaced.root) == {b"a": b"2"}
    assert replaced.added == (b"a",)
    # The executable bit is part of what a file is, and so is being a link.
    path.chmod(0o755)
    with pytest.raises(InvalidError):
        add_inputs(sink, replaced.root, sink, [input_file(path)])
    path.unlink()
    path.symlink_to("2")
    with pytest.raises(InvalidError):
        add_inputs(sink, replaced.root, sink, [input_file(path)])
    linked = add_inputs(sink, replaced.root, sink, [input_file(path)], replace=True)
    assert [one.entry.kind for one in walk(sink, linked.root)] == ["link"]


def test_a_folder_never_takes_the_place_of_a_file(tmp_path: Path) -> None:
    sink = MemoryObjects()
    (tmp_path / "a").write_text("1")
    base = add_inputs(sink, None, sink, [input_file(tmp_path / "a")]).root
    (tmp_path / "x" / "a").mkdir(parents=True)
    for replace in (False, True):
        with pytest.raises(InvalidError) as caught:
            add_inputs(sink, base, sink, [input_file(tmp_path / "x" / "a")], replace=replace)
        assert caught.value.kind == "path_taken"


def test_one_addition_must_not_name_a_path_twice(tmp_path: Path) -> None:
    sink = MemoryObjects()
    (tmp_path / "a").write_text("1")
    with pytest.raises(InvalidError) as caught:
        add_inputs(sink, None, sink, [input_file(tmp_path / "a"), input_file(tmp_path / "a")])
    assert caught.value.kind == "path_taken"


def test_limits_bound_the_whole_raw_input(tmp_path: Path) -> None:
    sink = MemoryObjects()
    for name in "abc":
        (tmp_path / name).write_text("12345")
    files = [input_file(tmp_path / name) for name in "abc"]
    base = add_inputs(sink, None, sink, files[:2]).root
    with pytest.raises(LimitExceeded) as caught:
        add_inputs(sink, base, sink, files[2:], limits=PackageLimits(max_input_bytes=14))
    assert caught.value.details == {"limit": "max_input_bytes", "value": 14, "asked": 15}
    with pytest.raises(LimitExceeded) as caught:
        add_inputs(sink, base, sink, files[2:], limits=PackageLimits(max_input_files=2))
    assert caught.value.details["limit"] == "max_input_files"


def test_what_a_pattern_leaves_out_is_on_record(tmp_path: Path) -> None:
    folder = tmp_path / "material"
    folder.mkdir()
    for name in ("report.txt", "a.pyc", "b.pyc"):
        (folder / name).write_text(name)
    with Workspace.create(tmp_path / "w") as workspace:
        package = workspace.init("c", None, [input_file(folder)], exclude=["*.pyc"])
        (event,) = package.generation.events
        assert event.reason == "left out 2 paths by *.pyc"
        more = tmp_path / "more"
        more.mkdir()
        (more / "log.txt").write_text("log")
        added = workspace.case("c").input_add([input_file(more)], exclude=["*.pyc"])
        assert added.package.generation.events[0].reason is None


def test_many_patterns_are_counted() -> None:
    assert excluded_note(["x" * 100] * 6, 1) == "left out 1 path by 6 patterns"
    assert excluded_note(["*"], 0) is None
