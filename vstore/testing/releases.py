"""Releases of other programs, fetched by version and digest into a folder that is ignored.

Real bugs live in real releases. Their sources are other people's, so they are never part of
this repository: pip downloads them, as it is set up on the machine, and checks the digest.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from filelock import FileLock

__all__ = ["DJANGO", "PYTZ", "SQLITE_UTILS", "Release", "Unavailable", "fetch_sdist", "install"]


@dataclass(frozen=True, slots=True)
class Release:
    """One release of a project.

    Attributes:
        name: As the package index calls it.
        version: The exact version.
        sdist: SHA-256 of the source archive, empty where it isn't used.
        wheel: SHA-256 of the wheel, empty where it isn't used.
        archive: File name of the source archive.
    """

    name: str
    version: str
    sdist: str
    wheel: str
    archive: str


SQLITE_UTILS: Final = Release(
    "sqlite-utils",
    "3.35",
    "8f6fe7f8d12772cd5cf4594703a98dcd0c37c0fd6820dd20541ba74b9fca363a",
    "d95591db18716ce7eac9a6359f4958598944d9e6640ccc42a2be6ab8456edddf",
    "sqlite-utils-3.35.tar.gz",
)
DJANGO: Final = Release(
    "Django",
    "2.1.4",
    "068d51054083d06ceb32ce02b7203f1854256047a0d58682677dd4f81bceabd7",
    "55409a056b27e6d1246f19ede41c6c610e4cab549c005b62cbeefabc6433356b",
    "Django-2.1.4.tar.gz",
)
PYTZ: Final = Release(
    "pytz",
    "2024.2",
    "",
    "31c7c1817eb7fae7ca4b8c7ee50c72f93aa2dd863de768e1ef4245d426aa0725",
    "",
)


class Unavailable(Exception):
    """A release can't be fetched here, most likely because there is no network."""


def fetch_sdist(release: Release, folder: Path) -> Path:
    """The source archive of a release; downloaded once.

    Args:
        release: Which one.
        folder: Where archives are kept.

    Raises:
        Unavailable: pip can't get it, or it has another digest.
    """
    target = folder / release.archive
    with _locked(folder):
        if not target.exists():
            _pip(
                release,
                folder,
                [release.sdist],
                ["download", "--no-binary", release.name, "--dest", str(folder)],
            )
    return target


def install(releases: list[Release], folder: Path) -> Path:
    """The wheels of some releases, unpacked into a folder for ``PYTHONPATH``; done once.

    Args:
        releases: Which ones.
        folder: Where installed releases are kept.

    Raises:
        Unavailable: pip can't get one, or it has another digest.
    """
    target = folder / "-".join(f"{one.name}-{one.version}" for one in releases)
    complete = target / "complete"
    with _locked(folder):
        if not complete.exists():
            for one in releases:
                _pip(
                    one,
                    folder,
                    [one.wheel],
                    ["install", "--only-binary", one.name, "--target", str(target)],
                )
            complete.touch()
    return target


def _locked(folder: Path) -> FileLock:
    folder.mkdir(parents=True, exist_ok=True)
    return FileLock(folder / "lock", timeout=300)


def _pip(release: Release, folder: Path, digests: list[str], words: list[str]) -> None:
    wanted = folder / f"{release.name}.txt"
    hashes = " ".join(f"--hash=sha256:{one}" for one in digests)
    wanted.write_text(f"{release.name}=={release.version} {hashes}\n", encoding="ascii")
    done = subprocess.run(  # noqa: S603 - the words are ours
        [
            *(sys.executable, "-m", "pip", *words[:1], "--quiet", "--no-deps"),
            *("--disable-pip-version-check", "--require-hashes", *words[1:]),
            *("--requirement", str(wanted)),
        ],
        check=False,
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines()
        reason = lines[-1] if lines else "no reason given"
        raise Unavailable(f"pip can't fetch {release.name} {release.version}: {reason}")
