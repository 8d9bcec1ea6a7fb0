"""The swift pass and the careful checks agree, and sound publications take the short cut."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from vstore.objects.plain_json import encode_value
from vstore.testing.editor import PackageEditor
from vstore.testing.golden import BUNDLE, GOOD
from vstore.testing.mutations import Mutation, mutations
from vstore.tools.router import Router
from vstore.verify import Report, verify_package
from vstore.verify.bundle import open_source
from vstore.verify.replay import Replay

FIXTURES = Path(__file__).parents[2] / "fixtures" / "good"
STORED = "evidence.tool_results"


def both(path: Path, **options: Any) -> tuple[Report, Report]:
    """Reports with and without short cuts, without what a clock said."""
    swift, careful = (
        verify_package(path, shortcuts=shortcuts, **options) for shortcuts in (True, False)
    )
    return replace(swift, seconds=0.0), replace(careful, seconds=0.0)


def reserved(path: Path) -> int:
    """Frames of reservations that were proved as a whole."""
    source = open_source(path, None)
    replay = Replay(source, None, expect=None, extends=None)
    replay.run()
    source.close()
    assert replay.found.findings == []
    return replay.swift.reserved


def proved(path: Path, router: Router | None = None) -> tuple[int, int]:
    """Frames that were proved as a whole, and answers that were asked for again."""
    source = open_source(path, None)
    replay = Replay(source, router, expect=None, extends=None)
    replay.run()
    source.close()
    assert replay.found.findings == []
    return replay.swift.proved, replay.counts().recomputed


def publications(package: Path) -> list[int]:
    """The numbers of the frames that store tool results."""
    return [
        number
        for number, frame in enumerate(PackageEditor(package).frames)
        if any(one.schema == "tool-request-v1" for one in frame.objects)
    ]


def reservations(package: Path) -> list[int]:
    """The numbers of the frames that reserve actions and do nothing else."""
    return [
        number
        for number, frame in enumerate(PackageEditor(package).frames)
        if len(frame.objects) > 1
        and [
            one.value["event"]["command"] if one.schema == "budget-ledger-v1" else one.schema
            for one in frame.objects
        ]
        == ["reserve"] * (len(frame.objects) - 1) + ["package-generation-v1"]
    ]


@pytest.mark.parametrize("recompute", [True, False])
@pytest.mark.parametrize("name", [*GOOD, BUNDLE])
def test_good_packages_have_the_same_report(name: str, recompute: bool) -> None:
    swift, careful = both(FIXTURES / name, recompute=recompute)
    assert swift == careful
    assert swift.exit_code == 0


@pytest.mark.parametrize("name", ["investigation", "calls", "reopened"])
def test_every_publication_of_a_good_package_takes_the_short_cut(name: str) -> None:
    stored = len(publications(FIXTURES / name))
    assert stored >= 2
    assert proved(FIXTURES / name) == (stored, 0)
    assert proved(FIXTURES / name, Router.default()) == (stored, stored)


@pytest.mark.parametrize("name", ["investigation", "calls", "reopened"])
def test_all_reservations_of_a_good_package_take_the_short_cut(name: str) -> None:
    assert reserved(FIXTURES / name) == len(reservations(FIXTURES / name)) >= 1


def test_a_bundle_takes_the_short_cut_too() -> None:
    assert proved(FIXTURES / BUNDLE) == proved(FIXTURES / "investigation") == (3, 0)


def edits(package: Path) -> Iterator[tuple[int, int, Mutation]]:
    editor = PackageEditor(package)
    for number in sorted(publications(package) + reservations(package)):
        for place, one in enumerate(editor.frames[number].objects):
            if one.schema is not None:
                for mutation in mutations(one.schema, one.value):
                    yield number, place, mutation


def compare_edits(package: Path, folder: Path, *, every: int) -> int:
    """Edit documents of publications, hash all again, and compare; how many were edited."""
    tried = 0
    different = []
    for position, (number, place, mutation) in enumerate(edits(package)):
        if position % every:
            continue
        tried += 1
        editor = PackageEditor(package)
        one = editor.frames[number].objects[place]
        one.content, one.edited = encode_value(mutation.value), True
        editor.rechain()
        swift, careful = both(editor.save(folder / str(position)), recompute=False)
        if swift != careful:
            different.append((one.schema, mutation))
    assert different == []
    return tried


def test_edited_publications_have_the_same_report(original: Path, tmp_path: Path) -> None:
    assert compare_edits(original, tmp_path, every=23) > 12


@pytest.mark.deep
def test_all_edited_publications_have_the_same_report(original: Path, tmp_path: Path) -> None:
    assert compare_edits(original, tmp_path, every=1) > 200
