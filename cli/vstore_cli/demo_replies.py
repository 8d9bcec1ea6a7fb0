"""The demo's stored replies: they decide what is asked, and what is made of the answers.

They were written beforehand, under the contract that a model would answer under; vstore asks
no model. Each is submitted, judged and derived like any other.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from vstore_cli.errors import Refused

if TYPE_CHECKING:
    from vstore.controller.investigation_steps import InvestigationSteps, Outcome
    from vstore.investigation.documents import InvestigationUpdate
    from vstore_cli.services import Services

__all__ = ["DemoCalls", "stored_replies"]


def stored_replies() -> list[dict[str, Any]]:
    """Hypothesis and reply of each call, in the order in which they are played."""
    text = files("vstore_cli").joinpath("demo_case", "replies.json").read_text(encoding="utf-8")
    found: list[dict[str, Any]] = json.loads(text)["replies"]
    return found


class DemoCalls:
    """Opens the demo's calls one after the other and submits the stored replies.

    Args:
        services: The demo's case.
    """

    def __init__(self, services: Services) -> None:
        from vstore.controller.investigation_steps import InvestigationSteps

        self._services = services
        self._steps: InvestigationSteps = InvestigationSteps(services.workspace)
        self._left: Iterator[dict[str, Any]] = iter(stored_replies())
        self._number = 0
        #: The latest update of each hypothesis: what it wants next.
        self.wanted: dict[str, InvestigationUpdate] = {}

    def play(self, hypothesis: str) -> Outcome:
        """Open the next call, which is about this hypothesis, and submit its stored reply.

        Raises:
            Refused: The stored reply is about another hypothesis, or isn't accepted.
        """
        self._number += 1
        call_id = f"call-{self._number:04d}"
        services, stored = self._services, next(self._left)
        opened = self._steps.open_step(services.case_id, services.package_id, hypothesis, call_id)
        outcome = self._steps.submit_reply(
            services.case_id,
            services.package_id,
            call_id,
            json.dumps(stored["reply"], ensure_ascii=False).encode(),
            request=opened.request_id,
        )
        if stored["hypothesis"] != hypothesis or outcome.update is None:
            raise Refused("a stored reply of the demo was refused", kind="demo_refused")
        self.wanted[hypothesis] = outcome.update
        return outcome
