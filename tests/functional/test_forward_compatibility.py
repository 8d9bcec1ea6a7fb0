"""What a later version wrote survives everything that this one does, byte for byte."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from vstore.admission import Unverifiable, admit
from vstore.controller import BudgetManager, CaseLifecycle
from vstore.controller.bundles import create_bundle
from vstore.controller.comparison import compare
from vstore.errors import UnsupportedError, VStoreError
from vstore.objects.ids import object_id
from vstore.objects.layout import FORMAT_FILE, encode_format
from vstore.objects.plain_json import encode_value
from vstore.package.bundle_file import BundleFile
from vstore.package.bundle_reader import BundleFiles
from vstore.package.bundle_unpack import unpack_bundle
from vstore.package.case import Capture
from vstore.package.inputs import InputFile
from vstore.package.reader import PackageReader
from vstore.package.repository import Repository
from vstore.package.transfer import IncomingHistory
from vstore.package.workspace import Workspace
from vstore.testing.editor import PackageEditor
from vstore.testing.folders import package_bytes
from vstore.testing.investigation import CASE, INSTANT, PACKAGE, POLICY, Investigation
from vstore.testing.later import (
    LATER_ARTIFACT,
    LATER_EVENT,
    later_objects,
    later_package,
    set_features,
)
from vstore.tools.request import SourceSearch
from vstore.verify import verify_package

from .conftest import CommandLine


@pytest.fixture
def later(tmp_path: Path) -> Path:
    one = Investigation(tmp_path / "plain", tmp_path)
    one.begin()
    one.budget.reserve(CASE, PACKAGE, "H1", "q0", operation="source.list")
    one.workspace.case(CASE).advance()
    CaseLifecycle(one.workspace).reopen(CASE, PACKAGE, "review", reason="x")
    case = one.workspace.case(CASE)
    case.advance()
    case.set_hypotheses([{"id": "H1", "statement": "x"}, {"id": "H2", "statement": "y"}])
    one.budget.initialise(CASE, PACKAGE, POLICY)
    case.advance()
    one.budget.reserve(CASE, PACKAGE, "H1", "q1", operation="source.search")
    one.close()
    return later_package(tmp_path / "plain", tmp_path / "later")


def survives(path: Path) -> None:
    """The artifact, its ref, the document, what it names, and the generation are there."""
    with PackageReader.open(path) as reader:
        head = reader.pinned()
        artifact = next(iter(later_objects()))
        assert head.artifact(LATER_ARTIFACT) == artifact
        assert reader.objects.refs()[LATER_ARTIFACT] == artifact
        for oid, content in later_objects().items():
            assert reader.objects.get(oid) == content
        kinds = [one.kind for _, generation in reader.history() for one in generation.events]
        assert LATER_EVENT in kinds


def test_every_operation_keeps_it(later: Path, tmp_path: Path) -> None:
    survives(later)
    one = Investigation(later, tmp_path / "scratch")
    (tmp_path / "scratch").mkdir()
    with PackageReader.open(later) as reader:
        original = [(oid, reader.objects.get(oid)) for oid, _ in reader.history()]
    case = one.workspace.case(CASE)
    life = CaseLifecycle(one.workspace)
    file = tmp_path / "late"
    file.write_bytes(b"late")
    late = [InputFile(file, b"late")]
    steps: list[Callable[[], object]] = [
        lambda: one.ask("b", [("H1", "q2", SourceSearch(source="code", pattern="BUG"))]),
        lambda: one.budget.void(CASE, PACKAGE, "H1", "q1", reason="x"),
        lambda: case.set_hypotheses(
            [{"id": "H1", "statement": "z"}, {"id": "H2", "statement": "y"}]
        ),
        lambda: life.block(CASE, PACKAGE, "OPERATOR_HOLD"),
        lambda: life.resume(CASE, PACKAGE),
        lambda: case.add_snapshot("again", "source", _again(one)),
        lambda: life.reopen(CASE, PACKAGE, "new_input", reason="x", files=late),
        lambda: case.advance(),
        lambda: case.set_hypotheses([{"id": "H1", "statement": "x"}]),
        lambda: one.budget.initialise(CASE, PACKAGE, POLICY),
        lambda: case.advance(),
        lambda: one.workspace.repository(CASE).repair(),
    ]
    for step in steps:
        step()
        survives(later)
    one.close()
    with PackageReader.open(later) as reader:
        for oid, content in original:
            assert reader.objects.get(oid) == content
    report = verify_package(later)
    # Nothing of it is called wrong; that it wasn't judged is said.
    assert report.exit_code == 3
    assert {one.code for one in report.findings} == {"VS-OBJ-004", "VS-VER-003", "VS-HIS-011"}


def _again(one: Investigation) -> Capture:
    from vstore.tools.capture_source import capture_source

    folder = one.scratch / "again"
    folder.mkdir()
    (folder / "a").write_bytes(b"a")
    return lambda sink: capture_source(folder, sink, name="again")


def test_bundles_carry_it(later: Path, tmp_path: Path) -> None:
    shutil.copytree(later, tmp_path / "other")
    with PackageReader.open(later) as reader:
        parent = reader.resolve("HEAD~1")
    full, partial = tmp_path / "full.zip", tmp_path / "partial.zip"
    create_bundle(later, full)
    survives(full)
    bundle = BundleFile(full)
    unpack_bundle(bundle, tmp_path / "unpacked")
    bundle.close()
    survives(tmp_path / "unpacked")
    # What this version can't judge is not admitted; a history that was is taken over whole.
    workspace = Workspace.create(tmp_path / "w", clock=lambda: INSTANT)
    with pytest.raises(Unverifiable) as caught:
        admit(workspace, full)
    assert "VS-VER-003" in {one.code for one in caught.value.report.findings}
    assert workspace.cases() == []
    workspace.close()
    create_bundle(later, partial, since=parent)
    editor = PackageEditor(later)
    editor.frames.pop()
    with Repository.open(editor.save(tmp_path / "behind")) as repository:
        base = repository.pinned()
        assert base.generation_id == parent
        incoming = IncomingHistory(BundleFiles(BundleFile(partial)), parent)
        repository.extend(base, incoming)
        incoming.close()
    survives(tmp_path / "behind")


def test_a_comparison_names_it(later: Path) -> None:
    with PackageReader.open(later) as reader:
        found = compare(reader.at(reader.resolve("HEAD~1")), reader.pinned())
        assert list(found.artifacts) == [LATER_ARTIFACT]


def test_reading_commands_show_it(later: Path) -> None:
    vstore = CommandLine(later)
    assert "later.thing" in vstore.ok("log", "-n", "1", "--json").out
    vstore.ok("log")
    vstore.ok("status")
    vstore.ok("ls-refs")
    assert LATER_ARTIFACT in vstore.ok("diff").out
    vstore.ok("doctor")
    out = vstore.ok("cat-object", LATER_ARTIFACT).out
    assert json.loads(out)["schema"] == "later-thing-v1"


# ---- formats that this version can't write


def read_only(path: Path, kind: str) -> VStoreError:
    """Writing is refused with a clear message, and nothing is changed."""
    before = package_bytes(path)
    with Workspace.of_package(path, clock=lambda: INSTANT) as workspace:
        with pytest.raises(UnsupportedError) as caught:
            CaseLifecycle(workspace).block(CASE, PACKAGE, "OPERATOR_HOLD")
        with pytest.raises(UnsupportedError):
            BudgetManager(workspace).void(CASE, PACKAGE, "H1", "q1", reason="x")
    assert caught.value.kind == kind
    assert caught.value.hint is not None
    assert "newer vstore" in caught.value.hint
    assert package_bytes(path) == before
    return caught.value


def test_a_frame_with_features_of_a_later_version(later: Path) -> None:
    set_features(later, 1 << 20)
    read_only(later, "unsupported_frame")
    outcome = CommandLine(later)("doctor")
    assert "read-only" in outcome.out
    outcome = CommandLine(later)("block", "operator_hold")
    assert outcome.code == 3
    report = verify_package(later)
    assert report.exit_code == 3


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"format": 2}, "unsupported_format"),
        ({"format": 2, "more": {"members": []}}, "unsupported_format"),
        ({"required": ["later"]}, "unsupported_feature"),
        ({"digest": "blake4"}, "unsupported_feature"),
    ],
)
def test_a_store_of_a_later_version(later: Path, change: dict[str, object], kind: str) -> None:
    value = json.loads(encode_format()) | change
    (later / FORMAT_FILE).write_bytes(encode_value(value) + b"\n")
    read_only(later, kind)
    assert verify_package(later).exit_code == 3
    for words in (["status"], ["verify"], ["block", "operator_hold"]):
        assert CommandLine(later)(*words).code == 3


def test_optional_features_are_kept(later: Path) -> None:
    value = json.loads(encode_format()) | {"optional": ["later"]}
    (later / FORMAT_FILE).write_bytes(encode_value(value) + b"\n")
    content = (later / FORMAT_FILE).read_bytes()
    with Workspace.of_package(later, clock=lambda: INSTANT) as workspace:
        CaseLifecycle(workspace).block(CASE, PACKAGE, "OPERATOR_HOLD")
    assert (later / FORMAT_FILE).read_bytes() == content


@pytest.mark.parametrize(
    "change",
    [
        {"schema": "package-generation-v2"},
        {"state": "DREAMING"},
    ],
)
def test_a_generation_of_a_later_version(
    later: Path, tmp_path: Path, change: dict[str, object]
) -> None:
    editor = PackageEditor(later)
    head = next(one for one in reversed(editor.frames) if one.generation is not None)
    generation = next(one for one in head.objects if one.oid == head.generation)
    value = generation.value | change
    generation.content = encode_value(value)
    generation.oid = object_id(generation.content)
    head.generation = generation.oid
    path = editor.save(tmp_path / "newer")
    before = package_bytes(path)
    with (
        Workspace.of_package(path, clock=lambda: INSTANT) as workspace,
        pytest.raises(VStoreError) as caught,
    ):
        CaseLifecycle(workspace).block(CASE, PACKAGE, "OPERATOR_HOLD")
    assert verify_package(path).exit_code != 0
    if "schema" in change:
        assert isinstance(caught.value, UnsupportedError)
        assert verify_package(path).exit_code == 3
    assert package_bytes(path) == before
