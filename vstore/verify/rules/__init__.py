"""Every kind of finding, by code.

=================  ====================================================================
``container``      VS-CON: files, frames, lengths, large objects
``objects``        VS-OBJ: digests, canonical form, schemas, references
``history``        VS-HIS: the chain of generations, states, refs
``inputs``         VS-INP: trees, raw input, snapshots
``evidence``       VS-EVD: indices, records, contents, novelty, replies
``ledger``         VS-LED: events, figures, policies, bindings
``handoff``        VS-HND: tests handed out, their answers, their attachments
``investigation``  VS-INV: calls, frozen schemas, replies, briefs, audits
``verifier``       VS-VER: what kept the verifier from judging
=================  ====================================================================
"""

from __future__ import annotations

from typing import Final

from vstore.verify.findings import Rule
from vstore.verify.rules import (
    container,
    evidence,
    handoff,
    history,
    inputs,
    investigation,
    ledger,
    objects,
    verifier,
)

__all__ = ["RULES"]

RULES: Final[dict[str, Rule]] = {
    rule.code: rule
    for module in (
        container,
        objects,
        history,
        inputs,
        evidence,
        ledger,
        handoff,
        investigation,
        verifier,
    )
    for rule in module.RULES
}
