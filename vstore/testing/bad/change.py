"""What a bad package is, and ways to change a good one."""

from __future__ import annotations

import shutil
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from blake3 import blake3

from vstore.objects.frame import NO_GENERATION, encode_frame
from vstore.objects.layout import LOG, segment_name
from vstore.objects.segment import SegmentHeader, encode_segment_header
from vstore.testing.editor import EditedFrame, PackageEditor
from vstore.verify import Report, verify_package
from vstore.verify.findings import Finding
from vstore.verify.rules import RULES

__all__ = [
    "ABSENT",
    "SALT",
    "ZEROS",
    "BadPackage",
    "Make",
    "consistent",
    "edited",
    "files",
    "forged",
    "put",
    "remove",
    "reseal",
    "write_segments",
]

ABSENT: Final = "b3:" + "7" * 64
ZEROS: Final = "0" * 64
SALT: Final = bytes(range(16))
_ROUNDS: Final = 60

#: Takes the folder of the good packages and a target that doesn't exist yet.
Make = Callable[[Path, Path], None]


@dataclass(frozen=True, kw_only=True)
class BadPackage:
    """A package that yields one finding, or several of one code.

    Args:
        code: The finding's.
        change: What was changed in which good package, as a sentence without its end.
        make: Makes it.
        options: Arguments of the verifier that the finding needs.
        needs: More of these, from the folder of the good packages.
        judge: Verifies it, where it takes more than one call of the verifier.
    """

    code: str
    change: str
    make: Make
    options: dict[str, Any] = field(default_factory=dict)
    needs: Callable[[Path], dict[str, Any]] = lambda _: {}
    judge: Callable[[Path], Report] | None = None

    def verify(self, good: Path, path: Path, *, shortcuts: bool = True) -> Report:
        """Verify it, as its code asks for."""
        if self.judge is not None:
            return self.judge(path)
        return verify_package(path, shortcuts=shortcuts, **self.options, **self.needs(good))

    @property
    def name(self) -> str:
        """The folder's name: code and slug."""
        return f"{self.code}_{RULES[self.code].slug}"

    @property
    def kind(self) -> str:
        """``bad`` where the verdict suffers, ``warn`` for warnings and notes."""
        rule = RULES[self.code]
        return "bad" if rule.severity == "error" or rule.incomplete else "warn"


def put(pointer: str, value: object) -> Callable[[Any], None]:
    """Set the member at a JSON pointer; behind the last place of a list, add it there."""

    def change(document: Any) -> None:
        *way, last = pointer.split("/")[1:]
        for part in way:
            document = document[int(part) if isinstance(document, list) else part]
        if isinstance(document, list):
            document[int(last) : int(last) + 1] = [value]
        else:
            document[last] = value

    return change


def remove(pointer: str) -> Callable[[Any], None]:
    """Take the member at a JSON pointer away."""

    def change(document: Any) -> None:
        *way, last = pointer.split("/")[1:]
        for part in way:
            document = document[int(part) if isinstance(document, list) else part]
        del document[int(last) if isinstance(document, list) else last]

    return change


def edited(
    schema: str, position: int, *changes: Callable[[Any], None], base: str = "investigation"
) -> Make:
    """One document changed, and everything that names it given its new id."""

    def change(editor: PackageEditor) -> None:
        target = editor.find(schema, position)
        for one in changes:
            editor.edit(target, one)

    return forged(change, base=base)


def forged(
    change: Callable[[PackageEditor], None], *, base: str = "investigation", rechain: bool = True
) -> Make:
    """Any objects and frames changed; with ``rechain`` everything that names them follows."""

    def make(good: Path, target: Path) -> None:
        editor = PackageEditor(good / base)
        change(editor)
        if rechain:
            editor.rechain()
        editor.save(target)

    return make


def files(change: Callable[[Path], None], *, base: str = "investigation") -> Make:
    """Files of a copy changed."""

    def make(good: Path, target: Path) -> None:
        shutil.copytree(good / base, target, symlinks=True)
        change(target)

    return make


def write_segments(
    package: Path,
    frames: list[list[EditedFrame]],
    *,
    torn: bytes = b"",
    skip: int = 0,
    change: Mapping[int, Callable[[bytes], bytes]] = {},
) -> None:
    """Write the log anew in several segments.

    Args:
        package: The package, whose log is replaced.
        frames: The frames of each segment.
        torn: Bytes behind the first segment, recorded in the second.
        skip: Left out of the sequence before the last frame.
        change: What is made of frames, by their sequence number.
    """
    log = package / LOG
    for path in log.iterdir():
        path.unlink()
    head, sequence = NO_GENERATION, 0
    valid, torn_length, torn_digest = 0, 0, bytes(32)
    total = sum(len(one) for one in frames)
    for number, part in enumerate(frames, 1):
        header = SegmentHeader(number, SALT, sequence + 1, head, valid, torn_length, torn_digest)
        raw = encode_segment_header(header)
        for frame in part:
            sequence += 1
            if sequence == total:
                sequence += skip
            generation = frame.generation.to_bytes() if frame.generation else NO_GENERATION
            made = encode_frame(
                salt=SALT,
                offset=len(raw),
                sequence=sequence,
                parent=head,
                generation=generation,
                objects=[(one.oid.to_bytes(), one.kind, one.content) for one in frame.objects],
                large=frame.large,
            )
            raw += change.get(sequence, bytes)(made)
            head = generation if frame.generation else head
        valid = len(raw)
        torn_length, torn_digest = (
            (len(torn), blake3(torn).digest()) if number == 1 and torn else (0, bytes(32))
        )
        (log / segment_name(number)).write_bytes(raw + (torn if number == 1 else b""))


def reseal(
    change: Callable[[bytearray], None], payload: Callable[[bytes], bytes] = bytes
) -> Callable[[bytes], bytes]:
    """Change header and payload of a frame, its digests set right.

    Args:
        change: Changes the header, without its digest.
        payload: Changes the compressed payload.
    """

    def sealed(frame: bytes) -> bytes:
        (length,) = struct.unpack_from("<I", frame, 8)
        header = bytearray(frame[: length - 32])
        stored = payload(frame[length:-40])
        struct.pack_into("<I", header, 120, len(stored))
        change(header)
        body = bytes(header) + blake3(header).digest() + stored
        return body + blake3(body).digest() + struct.pack("<I4s", len(body) + 40, b"VSFe")

    return sealed


def consistent(
    code: str,
    change: Callable[[PackageEditor], None],
    *,
    base: str = "investigation",
    options: Mapping[str, Any] = {},
) -> Make:
    """What a forger makes who knows all rules: whatever follows from the change follows.

    Every finding but the wanted one says where what was expected; that is written there,
    until only the wanted one is left.

    Args:
        code: The finding that stays.
        change: The change.
        base: Of which package.
        options: Arguments of the verifier.
    """

    def make(good: Path, target: Path) -> None:
        editor = PackageEditor(good / base)
        change(editor)
        editor.rechain()
        for _ in range(_ROUNDS):
            editor.save(target)
            report = verify_package(target, **options)
            wrong = [one for one in report.findings if one.code != code]
            if not wrong:
                return
            shutil.rmtree(target)
            _set_right(editor, wrong)
            editor.rechain()
        raise AssertionError(f"{code}: not consistent after {_ROUNDS} rounds: {wrong[0]}")

    return make


def _set_right(editor: PackageEditor, wrong: list[Finding]) -> None:
    by_id = {one.oid: one for one in editor.objects()}
    for finding in wrong:
        if finding.object is None or finding.pointer is None:
            raise AssertionError(f"can't be set right: {finding}")
        target = by_id[finding.object]
        if finding.expected is None:
            editor.edit(target, remove(finding.pointer))
        else:
            editor.edit(target, put(finding.pointer, _value(finding.expected, finding.actual)))


def _value(expected: str, actual: str | None) -> object:
    return int(expected) if (actual or "").lstrip("-").isdigit() else expected
