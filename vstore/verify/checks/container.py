"""VS-CON: the format file, damage of the log, and that every file belongs to something."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from vstore.errors import (
    IntegrityError,
    LimitExceeded,
    NotFoundError,
    StorageError,
    UnsupportedError,
)
from vstore.objects.display import visible
from vstore.objects.frame import LargeEntry
from vstore.objects.layout import (
    CACHE,
    FORMAT_FILE,
    LARGE,
    LOCKS,
    LOG,
    PACKS,
    REFS,
    TMP,
    pack_range,
    segment_name,
    segment_number,
)
from vstore.objects.log import Damage
from vstore.objects.refs import is_ref_name
from vstore.verify.report import FindingCollector
from vstore.verify.source import BASE_SEGMENTS, LogSource, PackageFile, PackageSource

__all__ = [
    "check_end",
    "check_files",
    "check_format",
    "large_path",
    "open_log",
    "report_damage",
    "segment_path",
]

_DAMAGE: Final = {
    "missing_segment": "VS-CON-008",
    "wrong_parent": "VS-CON-009",
    "wrong_sequence": "VS-CON-009",
    "torn_bytes_changed": "VS-CON-007",
    "bundle_layout": "VS-CON-022",
    "bad_pack": "VS-CON-025",
    "pack_index": "VS-CON-026",
    "pack_overlap": "VS-CON-028",
}
_MESSAGES: Final = {
    "VS-CON-005": "bytes of the log are damaged",
    "VS-CON-007": "the recorded torn bytes changed",
    "VS-CON-008": "a segment of the log is missing",
    "VS-CON-009": "a frame does not continue the one before it",
    "VS-CON-025": "bytes of the pack are damaged",
}
_PACKS: Final = {
    "pack_index": "it names other objects or blocks than there are",
    "pack_overlap": "another pack has its first segments",
}


def segment_path(number: int) -> str:
    """The path of a segment within a package."""
    if number > BASE_SEGMENTS:
        return f"base:{LOG}/{segment_name(number - BASE_SEGMENTS)}"
    return f"{LOG}/{segment_name(number)}"


def large_path(entry: LargeEntry) -> str:
    """The path of a large object's file within a package."""
    digits = entry.oid.hex
    return f"{LARGE}/{digits[:2]}/{digits[2:]}"


def check_format(source: PackageSource, found: FindingCollector) -> bool:
    """Check the format file; whether anything else can be understood."""
    try:
        source.check_format()
    except NotFoundError:
        found.add("VS-VER-002", "this is no package: it has no file VSTORE", file=FORMAT_FILE)
        return False
    except UnsupportedError as error:
        found.add("VS-CON-002", error.message, file=FORMAT_FILE)
        return False
    except IntegrityError as error:
        # Everything else is named by digests: go on, and find what else is wrong.
        found.add("VS-CON-001", error.message, file=FORMAT_FILE)
    except StorageError as error:
        found.add("VS-CON-015", error.message, file=FORMAT_FILE)
    return True


def open_log(source: PackageSource, found: FindingCollector) -> LogSource | None:
    """Open the log, or report why it can't be."""
    try:
        return source.log()
    except IntegrityError as error:
        number, start = error.details.get("segment"), error.details.get("start")
        found.add(
            _DAMAGE.get(error.kind, "VS-CON-005"),
            error.message,
            file=segment_path(number) if isinstance(number, int) else LOG,
            offset=start if isinstance(start, int) else None,
        )
    except UnsupportedError as error:
        found.add("VS-CON-002", error.message, file=LOG)
    except StorageError as error:
        found.add("VS-CON-015", error.message, file=LOG)
    found.skip(
        "objects, history, inputs, evidence, ledger, handoff and investigation: "
        "the log can't be opened"
    )
    return None


def report_damage(damage: Damage, found: FindingCollector) -> None:
    """Report damage of the log, with what is known of what was lost."""
    code = _DAMAGE.get(damage.kind, "VS-CON-005")
    if code == "VS-CON-022":
        found.add(
            code,
            f"bytes {damage.start} to {damage.end} of the log are not laid out as bundles are",
            file=segment_path(damage.segment),
            offset=damage.start,
        )
        return
    if damage.pack and not damage.frames_lost:
        message = f"bytes {damage.start} to {damage.end} are not what was written"
        if not damage.end:
            message = "it can't be read as a pack of its name"
        found.add(
            code,
            _PACKS.get(damage.kind, message),
            file=f"{PACKS}/{damage.pack}",
            offset=damage.start,
        )
        return
    lost = "an unknown number of" if damage.frames_lost is None else str(damage.frames_lost)
    named = (
        f", among them {len(damage.objects_lost)} objects known by id"
        if damage.objects_lost
        else ""
    )
    found.add(
        code,
        f"{_MESSAGES[code]}: bytes {damage.start} to {damage.end}, {lost} frames lost from "
        f"frame {damage.first_lost} on{named}",
        file=f"{PACKS}/{damage.pack}" if damage.pack else segment_path(damage.segment),
        offset=damage.start,
        affects=tuple(f"object {oid}" for oid in damage.objects_lost[:100]),
    )


def check_end(log: LogSource, found: FindingCollector) -> None:
    """Report what an interrupted writer left at the end of the log."""
    if log.torn is not None:
        found.add(
            "VS-CON-006",
            f"{log.torn.length} bytes after the last frame are no frame",
            file=segment_path(log.torn.segment),
            offset=log.torn.offset,
        )
    for path in log.superseded:
        found.add("VS-CON-027", "a pack has what it held", file=path)
    if log.residue is not None:
        found.add(
            "VS-CON-016",
            f"segment {log.residue} was begun and holds nothing",
            file=segment_path(log.residue),
        )


def check_files(
    source: PackageSource,
    found: FindingCollector,
    large: Mapping[str, LargeEntry] | None,
    taken_in: Callable[[PackageFile], bool] = lambda _: False,
) -> None:
    """Check that every file belongs to something.

    Args:
        source: The package.
        found: Takes the findings.
        large: The large objects that the log names, by path; None where the log couldn't be
            read, so that nothing is said about their files.
        taken_in: Says whether a file or folder is raw input too, and so belongs to something.
    """
    try:
        for one in source.entries():
            if one.kind == "special":
                found.add(
                    "VS-CON-004",
                    "not an ordinary file or folder, or nested too deep",
                    file=visible(one.path),
                )
            elif one.kind == "file":
                if not _check_file(one.path, source.bundle, found, large) and not taken_in(one):
                    found.add(
                        "VS-CON-003",
                        "no vstore makes a file of this name",
                        file=visible(one.path),
                    )
            elif not _is_folder(one.path) and not taken_in(one):
                found.add("VS-CON-003", "a folder that no vstore makes", file=visible(one.path))
    except (StorageError, LimitExceeded) as error:
        path = error.details.get("path")
        found.add(
            "VS-CON-015" if isinstance(error, StorageError) else "VS-CON-024",
            error.message,
            file=visible(path) if isinstance(path, str) else None,
        )


def _check_file(
    path: str, bundle: bool, found: FindingCollector, large: Mapping[str, LargeEntry] | None
) -> bool:
    """Whether a vstore makes files of this name."""
    top, _, rest = path.partition("/")
    if top in (CACHE, LOCKS) and rest and not bundle:
        return True
    if top == TMP and rest:
        found.add("VS-CON-014", "left behind by an interrupted writer", file=visible(path))
        return True
    if path == FORMAT_FILE or (top == REFS and is_ref_name(rest)):
        return True
    folder, _, name = path.rpartition("/")
    if folder == LOG and segment_number(name) is not None:
        return True
    if folder == PACKS and pack_range(name) is not None and not bundle:
        return True
    if path.startswith(LARGE + "/") and _is_large_name(path[len(LARGE) + 1 :]):
        if large is not None and path not in large:
            found.add("VS-CON-013", "the log names no such object", file=path)
        return True
    return False


def _is_large_name(name: str) -> bool:
    return (
        len(name) == 65 and name[2] == "/" and not (name[:2] + name[3:]).strip("0123456789abcdef")
    )


def _is_folder(path: str) -> bool:
    if path in (REFS, "objects", LOG, LARGE, PACKS, TMP):
        return True
    if path.split("/", 1)[0] in (CACHE, LOCKS, TMP):
        return True
    shard = path.removeprefix(LARGE + "/")
    return shard != path and len(shard) == 2 and not shard.strip("0123456789abcdef")
