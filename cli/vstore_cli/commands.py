"""The commands by name: where each one is and what it does, without importing it.

The texts stand here so that ``vstore --help`` imports no command; a test compares them
with the commands' own.
"""

from __future__ import annotations

from typing import Final, NamedTuple

__all__ = ["COMMANDS", "SECTIONS", "Listed"]


class Listed(NamedTuple):
    """One command of the table."""

    name: str
    summary: str

    @property
    def module(self) -> str:
        """The module that has the click command, under the name ``command``."""
        return "vstore_cli.command_" + self.name.replace("-", "_")


SECTIONS: Final[dict[str, list[Listed]]] = {
    "Start": [
        Listed("demo", "Investigate a real bug, then show the log and verify."),
        Listed("init", "Create a package for a case."),
        Listed("input", "Add bug reports, logs and other raw input."),
        Listed("source", "Pin source code."),
        Listed("database", "Pin the content of a database."),
    ],
    "Investigate": [
        Listed("status", "Show where the case stands and what is legal next."),
        Listed("hypotheses", "Show, state and weigh hypotheses."),
        Listed("advance", "Move the case to its next state."),
        Listed("block", "Let the case wait; nothing is lost."),
        Listed("resume", "Let a blocked case go on."),
        Listed("reopen", "Start the next analysis revision."),
        Listed("budget", "Grant, reserve, give back and show credits."),
        Listed("query", "Ask a pinned source or database; keep the answer as evidence."),
        Listed("test", "Hand a test out, and take the confirmed answer."),
        Listed("settle", "Assess a recorded action: spend its credits, earn a reward."),
        Listed("step", "Check and apply a model's replies."),
        Listed("contract", "Measure what a newer reply contract saves."),
    ],
    "Let people answer": [
        Listed("serve", "Serve the page on which testers answer."),
        Listed("tester", "Say who may use the testers' page."),
    ],
    "Read and check": [
        Listed("log", "Show what happened, newest first."),
        Listed("show", "Show one object: a record, a generation, a file, ..."),
        Listed("evidence", "List the evidence records."),
        Listed("diff", "Compare two generations, packages or bundles."),
        Listed("verify", "Recompute everything; report every fault."),
        Listed("checkpoint", "Print what commits to the history so far."),
    ],
    "Send and receive": [
        Listed("bundle", "Pack a package into one file."),
        Listed("clone", "Make a package of a bundle."),
        Listed("admit", "Take a transported package in."),
        Listed("worker", "Admit what is dropped into an inbox."),
    ],
    "Plumbing": [
        Listed("cat-object", "Print the bytes of an object."),
        Listed("hash-object", "Print the object ids of files."),
        Listed("ls-tree", "List a tree."),
        Listed("ls-refs", "List the refs and what they should say."),
        Listed("rev-parse", "Print the full object ids of names."),
        Listed("schema", "Print the JSON Schema of a document type."),
        Listed("doctor", "Look for what a crash left, stale refs, locks, space."),
        Listed("repair", "Move refs forward to the last generation of the log."),
        Listed("repack", "Seal the log in packs, which take much less space."),
        Listed("completion", "Print a script that completes vstore's command line."),
    ],
}

COMMANDS: Final[dict[str, Listed]] = {
    listed.name: listed for section in SECTIONS.values() for listed in section
}
