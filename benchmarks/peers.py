"""What the same documents are stored in for comparison; each in its own usual way.

Every peer takes the documents of one publication and makes them as durable as it does by
default; :meth:`documents` reads all of them back, so that a run can check that each side
holds the same ones.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Protocol

from workload import canonical

__all__ = ["PEERS", "DiskObjectStore", "Dulwich", "Git", "Naive", "Peer", "Sqlite", "layout"]

#: Documents of one publication by name: request, reply, content (when new), record, index.
Documents = Mapping[str, bytes]


class Peer(Protocol):
    """One way to store the history."""

    name: str

    def publish(self, number: int, ids: Mapping[str, str], documents: Documents) -> None:
        """Store one publication."""
        ...

    def documents(self) -> Iterator[bytes]:
        """Every document that is stored."""
        ...

    def close(self) -> None:
        """Close what is open."""
        ...


def layout(number: int, ids: Mapping[str, str], documents: Documents) -> dict[str, bytes]:
    """The files that a git user would commit, contents in folders by their first digits."""
    folder = f"analysis/evidence/{1 + number // 9:04d}/{ids['request'][:40]}"
    files = {
        f"{folder}/request.json": documents["request"],
        f"{folder}/result.json": documents["reply"],
        f"{folder}/E{number:06d}.json": documents["record"],
        f"{folder}/index.json": documents["index"],
    }
    if "content" in documents:
        files[f"content/{ids['content'][:2]}/{ids['content'][2:]}.json"] = documents["content"]
    return files


_ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "benchmark",
    "GIT_AUTHOR_EMAIL": "benchmark@example.org",
    "GIT_COMMITTER_NAME": "benchmark",
    "GIT_COMMITTER_EMAIL": "benchmark@example.org",
}


class Git:
    """``git add`` and ``git commit`` in a process each, as a user types them."""

    name = "git add+commit"

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir(parents=True, exist_ok=True)
        self.git("init", "-q", "-b", "main", ".")
        self.git("config", "gc.auto", "0")

    def git(self, *arguments: str, stdin: bytes | None = None) -> bytes:
        """Run git in the repository; its output."""
        return subprocess.run(
            ["git", *arguments],
            cwd=self.root,
            env=_ENVIRONMENT,
            input=stdin,
            check=True,
            capture_output=True,
        ).stdout

    def publish(self, number: int, ids: Mapping[str, str], documents: Documents) -> None:
        """See :class:`Peer`."""
        files = layout(number, ids, documents)
        for name, content in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        self.git("add", "--", *files)
        self.git("commit", "-q", "-m", f"E{number:06d}")

    def load(self, history: Iterator[tuple[int, Mapping[str, str], Documents]]) -> None:
        """Make the commits of a whole history in one process, and pack them (untimed)."""
        parts: list[bytes] = []
        for number, ids, documents in history:
            message = f"E{number:06d}".encode()
            parts.append(
                b"commit refs/heads/main\ncommitter b <b@example.org> %d +0000\ndata %d\n%b\n"
                % (1_700_000_000 + number, len(message), message)
            )
            for name, content in layout(number, ids, documents).items():
                parts.append(b"M 100644 inline %b\n" % name.encode())
                parts.append(b"data %d\n%b\n" % (len(content), content))
        self.git("fast-import", "--quiet", stdin=b"".join(parts))
        self.git("gc", "-q")
        self.git("reset", "-q", "--hard")

    def documents(self) -> Iterator[bytes]:
        """See :class:`Peer`."""
        listed = self.git("ls-tree", "-r", "--format=%(objectname)", "HEAD").split()
        raw = self.git("cat-file", "--batch", stdin=b"\n".join(sorted(set(listed))) + b"\n")
        at = 0
        while at < len(raw):
            end = raw.index(b"\n", at)
            size = int(raw[at:end].split()[2])
            yield raw[end + 1 : end + 1 + size]
            at = end + size + 2

    def close(self) -> None:
        """See :class:`Peer`."""


class Dulwich:
    """dulwich's repository: blobs, trees and a commit as loose objects, in process."""

    name = "dulwich"

    def __init__(self, root: Path) -> None:
        from dulwich.repo import Repo

        root.mkdir(parents=True, exist_ok=True)
        self._repo = Repo.init(str(root))
        self._trees: dict[tuple[str, ...], object] = {}
        self._head: bytes | None = None

    def publish(self, number: int, ids: Mapping[str, str], documents: Documents) -> None:
        """See :class:`Peer`."""
        from dulwich.objects import Blob, Commit, Tree

        store = self._repo.object_store
        changed: set[tuple[str, ...]] = set()
        for name, content in layout(number, ids, documents).items():
            blob = Blob.from_string(content)
            store.add_object(blob)
            folders, leaf = tuple(name.split("/")[:-1]), name.rsplit("/", 1)[1]
            self._tree(folders).add(leaf.encode(), 0o100644, blob.id)
            changed.update(folders[:depth] for depth in range(len(folders) + 1))
        for folders in sorted(changed, key=len, reverse=True):
            tree = self._tree(folders)
            store.add_object(tree)
            if folders:
                self._tree(folders[:-1]).add(folders[-1].encode(), 0o040000, tree.id)
        commit = Commit()
        commit.tree = self._tree(()).id
        commit.parents = [self._head] if self._head else []
        commit.author = commit.committer = b"b <b@example.org>"
        commit.author_time = commit.commit_time = 1_700_000_000 + number
        commit.author_timezone = commit.commit_timezone = 0
        commit.message = b"E%06d" % number
        store.add_object(commit)
        self._head = commit.id
        self._repo.refs[b"refs/heads/main"] = commit.id
        assert Tree

    def _tree(self, folders: tuple[str, ...]):
        from dulwich.objects import Tree

        return self._trees.setdefault(folders, Tree())

    def documents(self) -> Iterator[bytes]:
        """See :class:`Peer`."""
        from dulwich.objects import Blob

        for one in self._repo.object_store:
            found = self._repo[one]
            if isinstance(found, Blob):
                yield found.data

    def close(self) -> None:
        """See :class:`Peer`."""
        self._repo.close()


class DiskObjectStore:
    """disk-objectstore: each document a loose file, synced."""

    name = "disk-objectstore"

    def __init__(self, root: Path) -> None:
        from disk_objectstore import Container

        self._container = Container(str(root))
        self._container.init_container(clear=True)

    def publish(self, number: int, ids: Mapping[str, str], documents: Documents) -> None:
        """See :class:`Peer`."""
        for content in documents.values():
            self._container.add_object(content)

    def documents(self) -> Iterator[bytes]:
        """See :class:`Peer`."""
        for one in self._container.list_all_objects():
            yield self._container.get_object_content(one)

    def close(self) -> None:
        """See :class:`Peer`."""
        self._container.close()


class Sqlite:
    """SQLite in WAL mode, synchronous FULL, one transaction for each publication, no checks."""

    name = "SQLite WAL FULL"

    def __init__(self, root: Path) -> None:
        root.mkdir(parents=True, exist_ok=True)
        self._connection = sqlite3.connect(root / "store.db", isolation_level=None)
        self._connection.executescript(
            "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
            "CREATE TABLE documents (id TEXT PRIMARY KEY, number INT, data BLOB) WITHOUT ROWID;"
        )

    def publish(self, number: int, ids: Mapping[str, str], documents: Documents) -> None:
        """See :class:`Peer`."""
        execute = self._connection.execute
        execute("BEGIN IMMEDIATE")
        for name, content in documents.items():
            execute("INSERT INTO documents VALUES (?, ?, ?)", (ids[name], number, content))
        execute("COMMIT")

    def documents(self) -> Iterator[bytes]:
        """See :class:`Peer`."""
        for (content,) in self._connection.execute("SELECT data FROM documents"):
            yield content

    def close(self) -> None:
        """See :class:`Peer`."""
        self._connection.close()


class Naive:
    """A file for each document, and an index that lists all records, written anew each time."""

    name = "naive cumulative index"

    def __init__(self, root: Path) -> None:
        self._root = root
        root.mkdir(parents=True, exist_ok=True)
        self._records: list[dict[str, str]] = []
        #: Bytes of all indices so far.
        self.index_bytes = 0

    def publish(self, number: int, ids: Mapping[str, str], documents: Documents) -> None:
        """See :class:`Peer`."""
        for name, content in documents.items():
            self._write(self._root / f"{ids[name]}.json", content)
        self._records.append({"id": f"E{number:06d}", "record": ids["record"]})
        index = canonical({"schema": "naive/index/1", "records": self._records})
        self.index_bytes += len(index)
        self._write(self._root / f"index-{number:06d}.cumulative", index)
        self._write(self._root / "HEAD.cumulative", b"%06d" % number)

    def _write(self, path: Path, content: bytes) -> None:
        temporary = path.with_suffix(".tmp")
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        folder = os.open(self._root, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def documents(self) -> Iterator[bytes]:
        """See :class:`Peer`."""
        for path in self._root.glob("*.json"):
            yield path.read_bytes()

    def close(self) -> None:
        """See :class:`Peer`."""


PEERS: tuple[type[Git | Dulwich | DiskObjectStore | Sqlite | Naive], ...] = (
    Git,
    Dulwich,
    DiskObjectStore,
    Sqlite,
    Naive,
)
