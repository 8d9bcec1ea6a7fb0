"""Any tree of files, packed by the standard library, comes back exactly."""

from __future__ import annotations

import io
import tarfile
import tempfile
import zipfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from vstore.objects.memory import MemoryObjects
from vstore.objects.tree import walk
from vstore.testing.pinned import build_tree
from vstore.tools.capture_archive import capture_archive

_names = st.text(
    alphabet=st.characters(exclude_characters="/\0", exclude_categories=("Cs",)),
    min_size=1,
    max_size=60,
).filter(lambda name: name not in (".", "..") and len(name.encode()) <= 255)
_paths = st.lists(_names, min_size=1, max_size=4).map("/".join)
_files = st.dictionaries(_paths, st.tuples(st.binary(max_size=1500), st.booleans()), max_size=6)


def standing(files: dict[str, tuple[bytes, bool]]) -> dict[str, tuple[bytes, bool]]:
    """Without files that stand where another one needs a folder."""
    return {
        path: content
        for path, content in files.items()
        if not any(other.startswith(path + "/") for other in files)
    }


def captured(path: Path) -> dict[bytes, tuple[bytes, bool]]:
    objects = MemoryObjects()
    found = capture_archive(path, objects, strip_top=False)
    # The same tree as one that is built from the files themselves.
    listed = {
        name: (objects.get(entry.object), entry.executable)
        for name, entry in walk(objects, found.tree.root)
    }
    if not any(executable for _, executable in listed.values()):
        plain = {name: content for name, (content, _) in listed.items()}
        assert build_tree(MemoryObjects(), plain) == found.tree.root
    return listed


@settings(max_examples=60)
@given(
    _files.map(standing),
    st.sampled_from(["w", "w:gz", "w:bz2", "w:xz"]),
    st.sampled_from([tarfile.PAX_FORMAT, tarfile.GNU_FORMAT]),
)
def test_tar(files: dict[str, tuple[bytes, bool]], mode: str, format: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "archive"
        with tarfile.open(path, mode, format=format) as archive:  # type: ignore[call-overload]
            for name, (content, executable) in files.items():
                member = tarfile.TarInfo(name)
                member.size = len(content)
                member.mode = 0o755 if executable else 0o644
                archive.addfile(member, io.BytesIO(content))
        if not files and mode == "w":
            return  # zeros alone announce no format
        assert captured(path) == {name.encode(): file for name, file in files.items()}


@settings(max_examples=60)
@given(
    _files.map(standing),
    st.sampled_from([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2]),
)
def test_zip(files: dict[str, tuple[bytes, bool]], method: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "archive"
        with zipfile.ZipFile(path, "w") as archive:
            for name, (content, executable) in files.items():
                member = zipfile.ZipInfo(name)
                member.create_system = 3
                member.compress_type = method
                member.external_attr = (0o100755 if executable else 0o100644) << 16
                archive.writestr(member, content)
        assert captured(path) == {name.encode(): file for name, file in files.items()}
