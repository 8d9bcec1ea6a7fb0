"""Bad packages: for every code of a finding one good package with one thing changed.

=============  ====================================================
``change``     what a bad package is, and ways to change a good one
``container``  VS-CON
``bundles``    VS-CON of bundles
``objects``    VS-OBJ
``history``    VS-HIS
``inputs``     VS-INP
``evidence``   VS-EVD
``ledger``     VS-LED
``handoff``    VS-HND
``investigation``  VS-INV
``verifier``   VS-VER
``page``       the documentation's page of all findings
``make``       writes them to a folder
=============  ====================================================

They take megabytes, so they are made when tests want them; the good ones are committed.
``python -m vstore.testing.bad.make`` writes them for whoever wants to look at them.
"""

from __future__ import annotations

from typing import Final

from vstore.testing.bad import (
    bundles,
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
from vstore.testing.bad.change import BadPackage

__all__ = ["BAD_PACKAGES", "BadPackage"]

_MODULES: Final = (
    container,
    bundles,
    objects,
    history,
    inputs,
    evidence,
    ledger,
    handoff,
    investigation,
    verifier,
)
#: In the order of the codes within each area.
BAD_PACKAGES: Final[tuple[BadPackage, ...]] = tuple(
    one for module in _MODULES for one in module.PACKAGES
)
