"""The tables of the desk: who holds a test, what is being written, uploads, confirmations.

The second version of the database. A request is named by its case, package and request id;
instants are seconds since 1970. Nothing here is evidence: what was confirmed stands in the package.
"""

from __future__ import annotations

from typing import Final

__all__ = ["DESK_TABLES", "of_request"]

#: Needs ``accounts(account_id)``.
DESK_TABLES: Final = """
CREATE TABLE claims (
    case_id TEXT NOT NULL,
    package_id TEXT NOT NULL,
    request_id TEXT NOT NULL,
    -- Only ever grows: who was superseded, or gave the test back, has a smaller one.
    fence INTEGER NOT NULL CHECK (fence >= 1),
    -- NULL while nobody holds the test.
    account_id INTEGER REFERENCES accounts (account_id),
    claimed_at INTEGER NOT NULL,
    lease_until INTEGER NOT NULL,
    PRIMARY KEY (case_id, package_id, request_id)
) STRICT;

CREATE TABLE declines (
    case_id TEXT NOT NULL,
    package_id TEXT NOT NULL,
    request_id TEXT NOT NULL,
    account_id INTEGER NOT NULL REFERENCES accounts (account_id),
    reason TEXT NOT NULL,
    declined_at INTEGER NOT NULL,
    PRIMARY KEY (case_id, package_id, request_id, account_id)
) STRICT;

CREATE TABLE drafts (
    draft_id INTEGER PRIMARY KEY,
    case_id TEXT NOT NULL,
    package_id TEXT NOT NULL,
    request_id TEXT NOT NULL,
    account_id INTEGER NOT NULL REFERENCES accounts (account_id),
    revision INTEGER NOT NULL CHECK (revision >= 1),
    UNIQUE (case_id, package_id, request_id, account_id)
) STRICT;

CREATE TABLE draft_revisions (
    draft_id INTEGER NOT NULL REFERENCES drafts (draft_id),
    revision INTEGER NOT NULL CHECK (revision >= 1),
    content BLOB NOT NULL,
    saved_at INTEGER NOT NULL,
    automatic INTEGER NOT NULL CHECK (automatic IN (0, 1)),
    PRIMARY KEY (draft_id, revision)
) STRICT, WITHOUT ROWID;

-- Texts that were refused because another tab had saved in between; none is ever deleted.
CREATE TABLE draft_conflicts (
    conflict_id INTEGER PRIMARY KEY AUTOINCREMENT,
    draft_id INTEGER NOT NULL REFERENCES drafts (draft_id),
    base_revision INTEGER NOT NULL,
    content BLOB NOT NULL,
    refused_at INTEGER NOT NULL,
    resolved_at INTEGER
) STRICT;
CREATE INDEX draft_conflicts_of_draft ON draft_conflicts (draft_id);

CREATE TABLE uploads (
    -- Says which came first: several come in one second.
    number INTEGER PRIMARY KEY,
    -- Random, and the name of its file.
    upload_id TEXT NOT NULL UNIQUE,
    case_id TEXT NOT NULL,
    package_id TEXT NOT NULL,
    request_id TEXT NOT NULL,
    account_id INTEGER NOT NULL REFERENCES accounts (account_id),
    name TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('receiving', 'stored')),
    -- Bytes: what was announced while it is received, what came once it is stored.
    size INTEGER NOT NULL CHECK (size >= 0),
    object TEXT,
    media_type TEXT,
    created_at INTEGER NOT NULL,
    CHECK (state = 'receiving' OR (object IS NOT NULL AND media_type IS NOT NULL))
) STRICT;
CREATE INDEX uploads_of_account ON uploads (account_id, case_id, package_id, request_id);

-- The journal of confirmations. One that is 'begun' is finished or withdrawn by what the
-- package says, at the next start at the latest.
CREATE TABLE confirmations (
    confirmation_id INTEGER PRIMARY KEY AUTOINCREMENT,
    case_id TEXT NOT NULL,
    package_id TEXT NOT NULL,
    request_id TEXT NOT NULL,
    account_id INTEGER NOT NULL REFERENCES accounts (account_id),
    fence INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    -- The request that the tester saw, what was confirmed, and what that is recognised by.
    request_ref TEXT NOT NULL,
    draft BLOB NOT NULL,
    draft_digest TEXT NOT NULL,
    -- A JSON array of the ids of uploads.
    uploads TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('begun', 'done', 'withdrawn', 'lost')),
    begun_at INTEGER NOT NULL,
    ended_at INTEGER,
    -- Why it was withdrawn: the kind of the error.
    reason TEXT,
    feedback_ref TEXT,
    generation_id TEXT,
    generation_number INTEGER,
    confirmed_by TEXT,
    confirmed_at TEXT,
    CHECK ((state = 'begun') = (ended_at IS NULL)),
    CHECK (state <> 'done' OR (
        feedback_ref IS NOT NULL AND generation_id IS NOT NULL AND generation_number IS NOT NULL
        AND confirmed_by IS NOT NULL AND confirmed_at IS NOT NULL
    ))
) STRICT;
CREATE UNIQUE INDEX confirmations_once ON confirmations (case_id, package_id, request_id)
    WHERE state IN ('begun', 'done');
"""


def of_request(statement: str) -> str:
    """A statement whose ``{request}`` is the condition on a request's three ids.

    Args:
        statement: Of ours; a :class:`~vstore.web.board.RequestKey` gives its parameters.
    """
    return statement.replace("{request}", "case_id = ? AND package_id = ? AND request_id = ?")
