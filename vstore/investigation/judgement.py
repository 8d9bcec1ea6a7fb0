"""A reply is accepted or refused; by the service that stores it, and again by the verifier."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from vstore.errors import IntegrityError
from vstore.investigation.contracts import Contract
from vstore.investigation.normalise import Normalised, Subject, normalise_v13, normalise_v14
from vstore.investigation.readable import Readable
from vstore.investigation.reading import read_reply
from vstore.investigation.references import Past
from vstore.investigation.rejection import Hint, Problem, hints_of
from vstore.investigation.reply_v13 import ReplyV13
from vstore.investigation.reply_v14 import ReplyV14
from vstore.investigation.rules_v13 import problems_v13
from vstore.investigation.rules_v14 import problems_v14
from vstore.investigation.schema_check import schema_problems
from vstore.investigation.vocabulary import V13
from vstore.objects.ids import object_id

__all__ = ["Refusal", "check_frozen", "judge"]


@dataclass(frozen=True, slots=True)
class Refusal:
    """A reply that is refused.

    Attributes:
        hints: Every error, ordered by path.
        readable: Whether it satisfies the schema, so that it is kept.
    """

    hints: tuple[Hint, ...]
    readable: bool

    @property
    def code(self) -> str:
        """The code of the first error by path."""
        return self.hints[0].rejection


def check_frozen(contract: Contract, frozen: bytes) -> None:
    """Refuse a frozen schema that is not the contract's.

    Raises:
        IntegrityError: It is another one (``frozen_schema``).
    """
    if object_id(frozen) != contract.schema_id:
        raise IntegrityError(
            f"the frozen reply schema is not that of {contract.name}",
            kind="frozen_schema",
            hint="vstore verify says what is wrong with the package",
        )


def judge(
    contract: Contract, raw: bytes, subject: Subject, past: Past, *, cut_off: bool = False
) -> Normalised | Refusal:
    """Everything that is wrong with a reply, or what follows from it.

    Args:
        contract: What the step was opened under.
        raw: The reply's bytes.
        subject: What it is about.
        past: The history that it is judged by.
        cut_off: The provider said that it stopped early.
    """
    value, problem = read_reply(raw, cut_off=cut_off)
    if problem is not None:
        return Refusal(tuple(hints_of([problem])), readable=False)
    failed = list(schema_problems(contract.schema, value))
    reply = Readable(value, failed)
    rules = problems_v13 if contract.name == V13 else problems_v14
    problems: list[Problem] = [*failed, *rules(reply, past)]
    if problems:
        return Refusal(tuple(hints_of(problems)), readable=not failed)
    if contract.name == V13:
        return normalise_v13(msgspec.convert(value, ReplyV13), subject, past)
    return normalise_v14(msgspec.convert(value, ReplyV14), subject, past)
