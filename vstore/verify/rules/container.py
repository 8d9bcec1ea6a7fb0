"""VS-CON: the files of a package, frames, lengths, digests."""

from __future__ import annotations

from typing import Final

from vstore.verify.findings import Hint, Rule

__all__ = ["RULES"]

_ANOTHER_COPY: Final = (
    "Keep this copy as it is, and get another one from where it came from; the head that was "
    "seen there last can be demanded with --expect."
)

RULES: Final = (
    Rule(
        code="VS-CON-001",
        slug="format-damaged",
        severity="error",
        summary="the file VSTORE is not what vstore writes",
        hint=Hint(
            "VSTORE says which format and which features a package uses; this one was cut or "
            "changed.",
            "The objects are named by their digests and don't depend on it.",
            _ANOTHER_COPY,
        ),
    ),
    Rule(
        code="VS-CON-002",
        slug="format-unknown",
        severity="warning",
        incomplete=True,
        summary="the package has a format or a feature that this version doesn't know",
        hint=Hint(
            "A later version of vstore wrote it, or something that changed VSTORE.",
            "Nothing was judged wrong.",
            "Verify it with a newer vstore.",
        ),
    ),
    Rule(
        code="VS-CON-003",
        slug="unknown-file",
        severity="warning",
        bundle="error",
        summary="a file in the package belongs to nothing",
        hint=Hint(
            "Somebody put it there; it may be raw input that was never taken in, or that changed "
            "since.",
            "Everything else: no recorded fact refers to it.",
            "Take it in with `vstore input add`, or move it out of the package.",
        ),
    ),
    Rule(
        code="VS-CON-004",
        slug="special-file",
        severity="error",
        summary="a link, device, socket or folder stands where a file should be",
        hint=Hint(
            "Packages hold ordinary files and folders only; what a link leads to is not part of "
            "the package.",
            "What was read from ordinary files holds.",
            "Find out who made it, then replace it by what it leads to, or move it out.",
        ),
    ),
    Rule(
        code="VS-CON-005",
        slug="frame-damaged",
        severity="error",
        summary="a frame of the log is damaged",
        hint=Hint(
            "Bytes of a publication were changed or lost after it was written.",
            "Frames before it hold; what follows was checked only as far as it doesn't build on "
            "this one.",
            _ANOTHER_COPY,
        ),
    ),
    Rule(
        code="VS-CON-006",
        slug="torn-tail",
        severity="warning",
        bundle="error",
        summary="the log ends in bytes that are no frame",
        hint=Hint(
            "A writer was interrupted before it could report success, or the last frame was "
            "changed.",
            "Every publication before these bytes holds. If the refs agree with the log, nothing "
            "that was acknowledged is lost.",
            "The next writer leaves the bytes where they are and records them; nothing need be "
            "done.",
        ),
    ),
    Rule(
        code="VS-CON-007",
        slug="torn-tail-changed",
        severity="error",
        summary="the torn end of a segment is not the one that was recorded",
        hint=Hint(
            "When the next segment was begun, the length and digest of the torn bytes were "
            "recorded; they changed since.",
            "No publication is in these bytes, so all of them hold.",
            _ANOTHER_COPY,
        ),
    ),
    Rule(
        code="VS-CON-008",
        slug="segment-missing",
        severity="error",
        summary="the log has a gap: a segment is missing",
        hint=Hint(
            "A file of the log was lost.",
            "Frames before the gap hold.",
            _ANOTHER_COPY,
        ),
    ),
    Rule(
        code="VS-CON-009",
        slug="frame-order",
        severity="error",
        summary="a frame does not continue the one before it",
        hint=Hint(
            "Sequence number or parent generation don't fit: a frame was removed, repeated or "
            "moved.",
            "Frames before it hold.",
            _ANOTHER_COPY,
        ),
    ),
    Rule(
        code="VS-CON-010",
        slug="frame-content",
        severity="error",
        summary="a frame's table or payload contradicts its header",
        hint=Hint(
            "The digests agree, yet lengths, offsets or compressed bytes don't: no vstore writes "
            "this.",
            "Frames before it hold.",
            "Don't trust where it came from; get the package from somebody who verified it.",
        ),
    ),
    Rule(
        code="VS-CON-011",
        slug="large-missing",
        severity="error",
        summary="the file of a large object is missing",
        hint=Hint(
            "The log names an object that is kept in a file of its own, and that file is gone.",
            "Everything that doesn't refer to the object.",
            "Copy the file from another copy of the package; its name is its digest.",
        ),
    ),
    Rule(
        code="VS-CON-012",
        slug="large-damaged",
        severity="error",
        summary="the file of a large object is damaged",
        hint=Hint(
            "Its stored length, digest or compressed bytes differ from what the log records.",
            "Everything that doesn't refer to the object.",
            "Replace the file from another copy of the package; its name is its digest.",
        ),
    ),
    Rule(
        code="VS-CON-013",
        slug="large-unnamed",
        severity="note",
        bundle="error",
        summary="a large object's file is named by no frame",
        hint=Hint(
            "A publication was interrupted after it wrote the file.",
            "Everything: nothing refers to it.",
            "Nothing need be done.",
        ),
    ),
    Rule(
        code="VS-CON-014",
        slug="residue",
        severity="note",
        bundle="error",
        summary="residue of an interrupted writer in tmp",
        hint=Hint(
            "A writer was interrupted before its publication.",
            "Everything: residue is never read.",
            "Nothing need be done.",
        ),
    ),
    Rule(
        code="VS-CON-015",
        slug="unreadable",
        severity="warning",
        incomplete=True,
        summary="a file could not be read",
        hint=Hint(
            "The operating system refused to read it, its path is longer than the system takes, "
            "or the disk failed.",
            "What could be read was checked.",
            "Give the verifier read access, or copy the package to a sound disk.",
        ),
    ),
    Rule(
        code="VS-CON-016",
        slug="empty-segment",
        severity="note",
        bundle="error",
        summary="a segment of the log is empty",
        hint=Hint(
            "A writer was interrupted while it began a new segment.",
            "Everything: the next writer replaces it.",
            "Nothing need be done.",
        ),
    ),
    Rule(
        code="VS-CON-017",
        slug="bundle-bytes",
        severity="error",
        summary="bytes of a bundle are not what its members ask for",
        hint=Hint(
            "The archive was damaged, cut, added to, or made by something else than vstore: "
            "every byte outside of the members follows from their names, sizes and checksums.",
            "Nothing was taken from it.",
            "Get the bundle again from where it came from, and compare its digest there.",
        ),
    ),
    Rule(
        code="VS-CON-018",
        slug="bundle-member",
        severity="error",
        summary="a bundle has a member that no bundle has, or not in that place",
        hint=Hint(
            "Somebody added a file to the archive, or made it with something else than vstore; "
            "names may lead out of a folder, or become the same one on other systems.",
            "What the known members hold was checked.",
            "Don't unpack it with other tools; get the bundle from somebody who verified it.",
        ),
    ),
    Rule(
        code="VS-CON-019",
        slug="bundle-unreadable",
        severity="warning",
        incomplete=True,
        summary="a bundle is compressed, encrypted, or past a limit of this reader",
        hint=Hint(
            "Bundles of vstore hold their members as they are, in limited numbers and sizes.",
            "Nothing was judged wrong, and nothing was read.",
            "Ask for a bundle made by vstore, or split it with --since.",
        ),
    ),
    Rule(
        code="VS-CON-020",
        slug="bundle-claims",
        severity="error",
        summary="an incremental bundle says of itself what isn't so",
        hint=Hint(
            "What it continues, or what it leads to, differs from what is in it.",
            "The generations that it holds are judged on their own.",
            "Get the bundle again from where it came from.",
        ),
    ),
    Rule(
        code="VS-CON-021",
        slug="bundle-base",
        severity="warning",
        incomplete=True,
        summary="an incremental bundle can't be verified without what it continues",
        hint=Hint(
            "It holds only what was published after some generation, and everything builds on "
            "what came before.",
            "Digests and forms of the objects in it were checked.",
            "Give a package or a bundle that has that generation with --base.",
        ),
    ),
    Rule(
        code="VS-CON-022",
        slug="bundle-layout",
        severity="error",
        summary="the log in a bundle is not laid out as bundles are",
        hint=Hint(
            "Salts and lengths of the segments follow from the head that the bundle leads to; "
            "these don't.",
            "The frames themselves were checked.",
            "Get the bundle from somebody who made it with vstore.",
        ),
    ),
    Rule(
        code="VS-CON-023",
        slug="too-many-refs",
        severity="error",
        summary="the folder refs holds more refs than a package has",
        hint=Hint(
            "A ref stands there for the head and for each of its artifacts, and no package has so "
            "many; somebody filled the folder.",
            "What the log holds: it is checked on its own. No ref was compared with it.",
            "Get the package from somebody who verified it.",
        ),
    ),
    Rule(
        code="VS-CON-024",
        slug="too-many-files",
        severity="warning",
        incomplete=True,
        summary="the folder of the package holds more files than this reader looks at",
        hint=Hint(
            "A package needs few files; whoever put so many there may want to keep the reader "
            "busy. That each of them belongs to the package was not checked to the end.",
            "What the log holds: it is checked on its own.",
            "Make a bundle of the package, which takes along only what belongs to it, and verify "
            "that; and find out what fills the folder.",
        ),
    ),
    Rule(
        code="VS-CON-025",
        slug="pack-damaged",
        severity="error",
        summary="a pack of the log is damaged",
        hint=Hint(
            "Bytes of a pack were changed or lost after it was written, or they contradict each "
            "other.",
            "Frames before the damage hold; what follows was checked only as far as it doesn't "
            "build on what was lost.",
            _ANOTHER_COPY,
        ),
    ),
    Rule(
        code="VS-CON-026",
        slug="pack-index",
        severity="error",
        summary="the index of a pack is not that of its objects",
        hint=Hint(
            "Which block has an object follows from the objects; this index says something else, "
            "so a reader may miss objects that are there.",
            "The frames of the pack were checked without it, and hold.",
            "Make the packs anew with vstore repack --all, or get another copy of the package.",
        ),
    ),
    Rule(
        code="VS-CON-027",
        slug="pack-replaced",
        severity="note",
        bundle="error",
        summary="a pack has replaced this file, and it is still there",
        hint=Hint(
            "A repack was interrupted before it could remove what it had packed.",
            "Everything: the file is not read any more.",
            "The next vstore repack removes it.",
        ),
    ),
    Rule(
        code="VS-CON-028",
        slug="pack-overlap",
        severity="error",
        summary="two packs have the same segments",
        hint=Hint(
            "A pack of another copy of the package was put here: a repack only makes packs that "
            "replace others as a whole.",
            "What the first of them holds was checked; the other one was not read.",
            _ANOTHER_COPY,
        ),
    ),
)
