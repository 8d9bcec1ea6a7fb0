"""Capturing one revision of a git repository, from its objects, without a checkout.

Neither filters, hooks, attributes nor replacement objects take part, and nothing is
fetched: the tree holds the blobs that the commit names. Submodules, which are not in the
repository, must be left out by a pattern.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, NamedTuple

from vstore.errors import (
    InvalidError,
    LimitExceeded,
    NotFoundError,
    StorageError,
    UnsupportedError,
)
from vstore.objects.ids import ObjectId
from vstore.objects.memory import ObjectSink
from vstore.package.exclude import ExcludePatterns
from vstore.package.limits import PackageLimits
from vstore.package.tree_builder import BuiltTree, TreeBuilder, path_text

__all__ = ["CapturedRevision", "capture_revision"]

_READ_WHOLE: Final = 1 << 20
_OPTIONS: Final = (
    "--no-optional-locks",
    "--no-replace-objects",
    "--no-pager",
    # A partial clone must not fetch what it lacks.
    "-c",
    "protocol.allow=never",
    "-c",
    "core.fsmonitor=false",
)


@dataclass(frozen=True, slots=True)
class CapturedRevision:
    """A captured revision.

    Attributes:
        commit: The full id of the commit.
        tree: What was built.
        excluded: Files, links and submodules that a pattern left out.
    """

    commit: str
    tree: BuiltTree
    excluded: int


class _Entry(NamedTuple):
    path: bytes
    mode: bytes
    git_id: bytes
    size: int


def capture_revision(
    repository: Path,
    revision: str,
    sink: ObjectSink,
    *,
    exclude: Sequence[str] = (),
    limits: PackageLimits | None = None,
) -> CapturedRevision:
    """Capture a commit's tree with the ``git`` program.

    Args:
        repository: The top folder of a working tree, or a bare repository.
        revision: A commit, tag, branch or expression that git understands.
        sink: Takes the objects.
        exclude: Patterns of what to leave out (see :mod:`vstore.package.exclude`).
        limits: Bounds on files and bytes.

    Raises:
        NotFoundError: No such repository (``not_a_repository``) or revision
            (``unknown_revision``).
        InvalidError: A submodule (``not_representable``), a damaged repository
            (``damaged_repository``), paths that no tree can have (``invalid_path``).
        LimitExceeded: More files or bytes than the limits allow.
        UnsupportedError: There is no git program (``no_git``).
        StorageError: Running it failed.
    """
    limits = limits or PackageLimits()
    git = _Git(repository)
    commit = git.resolve(revision)
    patterns = ExcludePatterns(exclude)
    builder = TreeBuilder()
    excluded = files = size = 0
    wanted: list[_Entry] = []
    for entry in git.entries(commit):
        if patterns.covers(entry.path):
            excluded += 1
            continue
        if entry.mode == b"160000":
            text = path_text(entry.path)
            raise InvalidError(
                f"a submodule can't be captured: {text}",
                kind="not_representable",
                hint="leave it out with an exclude pattern, and pin its repository by itself",
                path=text,
            )
        files += 1
        size += entry.size
        limits.check_files(files)
        limits.check_bytes(size)
        if entry.size > limits.max_file_bytes:
            raise LimitExceeded(
                f"a file of {entry.size} bytes",
                limit="max_file_bytes",
                value=limits.max_file_bytes,
                asked=entry.size,
            )
        wanted.append(entry)
    with git.blobs() as reader:
        for entry in wanted:
            oid = reader.put(entry, sink)
            if entry.mode == b"120000":
                builder.add_link(entry.path, oid, entry.size)
            else:
                builder.add_file(entry.path, oid, entry.size, executable=entry.mode == b"100755")
    return CapturedRevision(commit, builder.build(sink), excluded)


class _Git:
    def __init__(self, repository: Path) -> None:
        import shutil

        program = shutil.which("git")
        if program is None:
            raise UnsupportedError(
                "pinning a revision needs the git program",
                kind="no_git",
                hint="install git, or pin an exported folder or archive",
            )
        inner = repository / ".git"
        # Named explicitly, so that neither a parent folder nor the environment decides.
        folder = inner if inner.exists() else repository
        self._base = [program, *_OPTIONS, f"--git-dir={folder}"]
        if self._run("rev-parse", "--git-dir") is None:
            raise NotFoundError(
                "not a git repository that git accepts",
                kind="not_a_repository",
                hint="name the top folder of a working tree, or a bare repository",
            )

    def _run(self, *arguments: str) -> bytes | None:
        """What git prints, or None if it fails."""
        try:
            done = subprocess.run(  # noqa: S603  fixed program and options, no shell
                [*self._base, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                check=False,
            )
        except OSError as error:
            raise StorageError("git can't be run", kind="no_git") from error
        return done.stdout if done.returncode == 0 else None

    def resolve(self, revision: str) -> str:
        """The full id of the commit that a revision names."""
        unknown = NotFoundError(
            "the repository has no such revision", kind="unknown_revision", hint="try a commit id"
        )
        if not revision or revision.startswith("-") or "\0" in revision:
            raise unknown
        found = self._run("rev-parse", "--verify", "--quiet", revision + "^{commit}")
        if found is None:
            raise unknown
        return found.decode("ascii", "replace").strip()

    def entries(self, commit: str) -> list[_Entry]:
        """Everything in a commit's tree but its folders, in git's order."""
        listed = self._run("ls-tree", "-r", "-z", "-l", "--full-tree", commit)
        if listed is None:
            raise _damaged()
        found = []
        for line in listed.split(b"\0")[:-1]:
            facts, _, path = line.partition(b"\t")
            mode, _, git_id, size = facts.split()
            found.append(_Entry(path, mode, git_id, int(size) if size.isdigit() else 0))
        return found

    @contextmanager
    def blobs(self) -> Iterator[_Blobs]:
        """A reader of blobs, one process for all of them."""
        process = subprocess.Popen(  # noqa: S603
            [*self._base, "cat-file", "--batch"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield _Blobs(process.stdin, process.stdout)
        finally:
            process.kill()
            process.stdout.close()
            # A program that died leaves a question behind that can't be flushed any more.
            with suppress(OSError):
                process.stdin.close()
            process.wait()


class _Blobs:
    def __init__(self, questions: IO[bytes], answers: IO[bytes]) -> None:
        self._questions = questions
        self._answers = answers

    def put(self, entry: _Entry, sink: ObjectSink) -> ObjectId:
        """Copy one blob into the sink."""
        try:
            self._questions.write(entry.git_id + b"\n")
            self._questions.flush()
        except OSError as error:
            raise _damaged() from error
        head = self._answers.readline(200).split()
        if len(head) != 3 or head[1] != b"blob" or head[2] != b"%d" % entry.size:
            raise _damaged()
        content = _Limited(self._answers, entry.size)
        if entry.size <= _READ_WHOLE:
            oid = sink.put(content.read())
        else:
            oid, _ = sink.put_stream(content, max_bytes=entry.size)  # type: ignore[arg-type]
        if content.left or self._answers.read(1) != b"\n":
            raise _damaged()
        return oid


class _Limited:
    """The next bytes of a stream, and no more."""

    def __init__(self, stream: IO[bytes], left: int) -> None:
        self._stream = stream
        self.left = left

    def read(self, count: int = -1) -> bytes:
        piece = self._stream.read(self.left if count < 0 else min(count, self.left))
        self.left -= len(piece)
        return piece


def _damaged() -> InvalidError:
    return InvalidError(
        "the repository lacks objects of this revision, or is damaged",
        kind="damaged_repository",
        hint="git fsck says more; a partial or shallow clone may have to be completed",
    )
