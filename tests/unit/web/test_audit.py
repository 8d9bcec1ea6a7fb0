"""The audit trail: in the transaction of what it tells, and never changed."""

from __future__ import annotations

import sqlite3

import pytest

from vstore.testing.clock import FrozenClock
from vstore.web.audit import Audit
from vstore.web.database import Database


def test_entries_newest_first(database: Database, audit: Audit, clock: FrozenClock) -> None:
    for number in range(5):
        with database.transaction() as db:
            audit.note(db, "pat", "thing.done", case_id="C1", request_id="T1", number=number)
        clock.tick()
    assert [entry.facts["number"] for entry in audit.recent()] == [4, 3, 2, 1, 0]
    page = audit.recent(2)
    assert [entry.facts["number"] for entry in page] == [4, 3]
    page = audit.recent(2, before=page[-1].entry_id)
    assert [entry.facts["number"] for entry in page] == [2, 1]
    (last,) = audit.recent(2, before=page[-1].entry_id)
    assert (last.entry_id, last.at, last.actor, last.action, last.case_id, last.request_id) == (
        1, "2026-01-01T00:00:00Z", "pat", "thing.done", "C1", "T1",
    )  # fmt: skip
    assert audit.recent(2, before=1) == audit.recent(2, before=-(2**80)) == []
    assert len(audit.recent(10**9, before=2**80)) == 5


def test_what_did_not_happen_is_not_told(database: Database, audit: Audit) -> None:
    with pytest.raises(KeyError), database.transaction() as db:
        audit.note(db, "pat", "thing.done")
        raise KeyError
    assert audit.recent() == []


def test_nothing_is_changed_or_removed(database: Database, audit: Audit) -> None:
    with database.transaction() as db:
        audit.note(db, "pat", "thing.done", text="x" * 5000, none=None, yes=True)
    for sql in ("UPDATE audit SET actor = 'sam'", "DELETE FROM audit"):
        with pytest.raises(sqlite3.IntegrityError), database.transaction() as db:
            db.execute(sql)
    (entry,) = audit.recent()
    assert entry.facts == {"text": "x" * 1000, "none": None, "yes": True}


@pytest.mark.parametrize("name", ["password", "secret", "code", "token", "cookie"])
def test_no_place_for_secrets(database: Database, audit: Audit, name: str) -> None:
    with pytest.raises(ValueError, match=name), database.transaction() as db:
        audit.note(db, "pat", "thing.done", **{name: "x"})  # type: ignore[arg-type]
