"""Any sequence of claims, saves and clocks that are moved, held against a model of a few lines."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vstore.errors import ConflictError
from vstore.testing.desk import KEY, DeskCase, waiting_workspace
from vstore.web.accounts import Account
from vstore.web.draft_content import DraftContent
from vstore.web.draft_store import StaleDraft

LEASE = 900
TESTERS = ("pat", "kim", "ada")


@dataclass
class Model:
    """What must hold, without a database: the holder, the token, when the lease ends."""

    now: int = 0
    fence: int = 0
    holder: str | None = None
    until: int = 0
    #: The last token of each tester, also when it is worth nothing any more.
    tokens: dict[str, int] = field(default_factory=dict)
    texts: dict[str, list[str]] = field(default_factory=dict)
    refused: dict[str, set[str]] = field(default_factory=dict)

    def claim(self, name: str) -> bool:
        # Whoever looks cuts a lease that a moved clock made too long.
        self.until = min(self.until, self.now + LEASE)
        if self.holder not in (None, name) and self.now < self.until:
            return False
        if self.holder != name:
            self.fence += 1
            self.holder = name
        self.until = self.now + LEASE
        self.tokens[name] = self.fence
        return True

    def writes(self, name: str) -> bool:
        if self.holder != name or self.tokens.get(name) != self.fence:
            return False
        self.until = self.now + LEASE
        return True


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("claim"), st.sampled_from(TESTERS), st.just(0)),
        st.tuples(st.just("renew"), st.sampled_from(TESTERS), st.just(0)),
        st.tuples(st.just("release"), st.sampled_from(TESTERS), st.just(0)),
        # How many revisions too old the window is that saves.
        st.tuples(st.just("save"), st.sampled_from(TESTERS), st.integers(0, 2)),
        st.tuples(st.just("tick"), st.just(""), st.integers(-2_000, 2_000)),
    ),
    max_size=40,
)


@pytest.fixture(scope="module")
def waiting(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return waiting_workspace(tmp_path_factory.mktemp("waiting"))


@given(steps=STEPS)
@settings(max_examples=15)
def test_the_desk_is_the_model(waiting: Path, steps: list[tuple[str, str, int]]) -> None:
    on_a_copy(waiting, steps)


@pytest.mark.deep
@given(steps=STEPS)
@settings(max_examples=500)
def test_the_desk_is_the_model_however_long(
    waiting: Path, steps: list[tuple[str, str, int]]
) -> None:
    on_a_copy(waiting, steps)


def on_a_copy(waiting: Path, steps: list[tuple[str, str, int]]) -> None:
    root = Path(tempfile.mkdtemp())
    case = DeskCase(root, waiting)
    try:
        run(case, steps)
    finally:
        case.close()
        shutil.rmtree(root)


def run(case: DeskCase, steps: list[tuple[str, str, int]]) -> None:
    model, accounts = Model(), {"pat": case.pat, "kim": case.kim, "ada": case.ada}
    for number, (what, name, amount) in enumerate(steps):
        before = model.fence
        if what == "tick":
            case.clock.tick(amount)
            model.now += amount
            continue
        account = accounts[name]
        expected = model.claim(name) if what == "claim" else model.writes(name)
        assert attempt(case, model, what, account, amount, f"text {number}") == expected, steps
        held = case.desk.claims.holder(KEY)
        if what == "release" and expected:
            model.holder = None
        if held is not None:
            assert (held.name, held.fence) == (model.holder, model.fence)
            assert held.live == (model.now < min(model.until, model.now + LEASE))
        else:
            assert model.holder is None
        assert model.fence >= before
    for name, account in accounts.items():
        draft = case.desk.drafts.load(KEY, account)
        texts = model.texts.get(name, [])
        assert draft.revision == len(texts)
        assert not texts or draft.content.remarks == texts[-1]
        # Every text that was typed and refused as stale is still there.
        assert {one.content.remarks for one in draft.conflicts} == model.refused.get(name, set())


def attempt(
    case: DeskCase, model: Model, what: str, account: Account, amount: int, text: str
) -> bool:
    """Whether the desk lets somebody do it."""
    claims, name = case.desk.claims, account.name
    fence = model.tokens.get(name, 0)
    try:
        if what == "claim":
            assert claims.claim(KEY, account).fence == model.fence
        elif what == "renew":
            claims.renew(KEY, account, fence)
        elif what == "release":
            claims.release(KEY, account, fence)
        else:
            saved = model.texts.setdefault(name, [])
            base = max(0, len(saved) - amount)
            try:
                case.desk.drafts.save(KEY, account, fence, base, DraftContent(remarks=text))
            except StaleDraft:
                assert base < len(saved)
                model.refused.setdefault(name, set()).add(text)
            else:
                assert base == len(saved)
                saved.append(text)
    except ConflictError as error:
        if error.kind in {"claim": ("claimed",)}.get(what, ("not_claimed", "superseded")):
            return False
        raise
    return True
