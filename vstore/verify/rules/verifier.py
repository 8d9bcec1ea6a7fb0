"""VS-VER: what kept the verifier from judging, whatever the package is like."""

from __future__ import annotations

from typing import Final

from vstore.verify.findings import Hint, Rule

__all__ = ["RULES"]

RULES: Final = (
    Rule(
        code="VS-VER-001",
        slug="check-failed",
        severity="warning",
        incomplete=True,
        summary="a check met something that it has no answer to",
        hint=Hint(
            "Bytes of the package, or an adapter that somebody gave the verifier, led it into a "
            "state that it doesn't expect; the check was given up there.",
            "The other checks were done.",
            "Please report it to whoever made the adapter, or else to vstore, with the package if "
            "you may share it; don't rely on the package until it verifies.",
        ),
    ),
    Rule(
        code="VS-VER-002",
        slug="nothing-to-verify",
        severity="warning",
        incomplete=True,
        summary="there is no publication to verify",
        hint=Hint(
            "The path leads to no package, or to one in which nothing was published.",
            "Nothing was judged.",
            "Check the path.",
        ),
    ),
    Rule(
        code="VS-VER-003",
        slug="unknown-rules",
        severity="warning",
        incomplete=True,
        summary="a rule version or a contract that this version doesn't know",
        hint=Hint(
            "The package names rules of a later version of vstore, or an adapter that the router "
            "doesn't have.",
            "What doesn't depend on these rules was checked.",
            "Verify the package with a newer vstore, or with a router that has the adapter.",
        ),
    ),
    Rule(
        code="VS-VER-004",
        slug="verifier-failed",
        severity="warning",
        incomplete=True,
        summary="the verifier itself failed or was ended",
        hint=Hint(
            "Either vstore has a fault, or the system ended its process, perhaps for lack of "
            "memory.",
            "Nothing was judged.",
            "Verify the package again, alone and with more memory; if that fails as well, please "
            "report it.",
        ),
    ),
)
