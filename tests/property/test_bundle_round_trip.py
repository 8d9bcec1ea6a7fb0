"""Random histories, packed: what is in a bundle is what the head leads to, whatever else lies
in the log, and unpacking gives it back."""

from __future__ import annotations

import tempfile
import zipfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from vstore.controller.bundles import create_bundle
from vstore.objects.ids import ObjectId
from vstore.objects.tree import Tree, TreeEntry
from vstore.package.documents import Generation
from vstore.package.reader import PackageReader
from vstore.package.repository import Repository
from vstore.package.workspace import Workspace
from vstore.testing.clock import FrozenClock
from vstore.verify import verify_package

#: Few contents, so that what was stranded is often used later, or used twice.
CONTENTS = [bytes([65 + one]) * (20 + one) for one in range(8)] + [b"large" * 250_000]

_STEPS = st.lists(
    st.tuples(
        st.sampled_from(["add", "add", "strand"]),
        st.lists(st.sampled_from(range(len(CONTENTS))), min_size=1, max_size=3),
    ),
    min_size=1,
    max_size=6,
)


def _add(case: Repository, name: str, content: bytes) -> None:
    base = case.pinned()
    with case.begin() as transaction:
        tree = base.objects.document(base.raw_input, Tree)
        oid = transaction.put(content)
        entry = TreeEntry(name=name, kind="file", object=oid, size=len(content), executable=False)
        inputs = transaction.put_document(Tree(entries=[*tree.entries, entry]))
        case.publish(transaction, base, events=[case.event("input.add")], inputs=inputs)


def _strand(case: Repository, contents: list[bytes]) -> None:
    with case.begin() as transaction:
        for content in contents:
            transaction.put(content)
        transaction._flush()


def _objects(path: Path) -> list[ObjectId]:
    with PackageReader.open(path) as reader:
        return [
            ObjectId.from_bytes(raw) for frame in reader.objects.frames() for raw in frame.raw_ids()
        ]


def _led_to(path: Path) -> set[ObjectId]:
    """By brute force: every generation, its trees, their files."""
    with PackageReader.open(path) as reader:
        found: set[ObjectId] = set()
        for oid, generation in reader.history():
            assert isinstance(generation, Generation)
            found |= {oid, generation.inputs}
            tree = reader.objects.document(generation.inputs, Tree)
            found |= {entry.object for entry in tree.entries}
        return found


@settings(max_examples=15, deadline=None)
@given(_STEPS, st.integers(1, 6))
def test_a_bundle_has_what_the_head_leads_to(
    steps: list[tuple[str, list[int]]], since: int
) -> None:
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        with Workspace.create(folder / "work", clock=FrozenClock(), actor="a") as workspace:
            workspace.init("c")
            case = workspace.repository("c")
            for number, (what, chosen) in enumerate(steps):
                if what == "add":
                    _add(case, f"f{number}", CONTENTS[chosen[0]])
                else:
                    _strand(case, [CONTENTS[one] for one in chosen])
            root = case.root
        create_bundle(root, folder / "full.zip")
        found = _objects(folder / "full.zip")
        assert len(found) == len(set(found))
        assert set(found) == _led_to(root)
        assert verify_package(folder / "full.zip").codes() == set()
        with zipfile.ZipFile(folder / "full.zip") as archive:
            archive.extractall(folder / "unzipped")
        assert verify_package(folder / "unzipped").codes() == set()
        create_bundle(folder / "unzipped", folder / "again.zip")
        assert (folder / "again.zip").read_bytes() == (folder / "full.zip").read_bytes()
        with PackageReader.open(root) as reader:
            numbers = {generation.package_generation: oid for oid, generation in reader.history()}
            if since < max(numbers):
                create_bundle(reader, folder / "new.zip", since=numbers[since])
        if since < max(numbers):
            for base in (root, folder / "full.zip", folder / "unzipped"):
                report = verify_package(folder / "new.zip", base=base)
                assert (report.codes(), report.exit_code) == (set(), 0)
            assert verify_package(folder / "new.zip").exit_code == 3
