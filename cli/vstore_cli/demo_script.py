"""The investigation that the demo plays: report, hypotheses, questions, assessments.

The bug is real and public: sqlite-utils issue 592. The questions are asked of the real
release and of a database that it broke; only the assessments, which a model or a person
would make, are written down here beforehand.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from vstore.tools.request import (
    Arguments,
    Condition,
    DatabaseRows,
    DatabaseSchema,
    SourceRead,
    SourceSearch,
)

__all__ = [
    "CASE",
    "DATABASE",
    "HYPOTHESES",
    "QUESTIONS",
    "REPORT",
    "SOURCE",
    "VERDICTS",
    "Question",
]

CASE: Final = "sqlite-utils-592"
SOURCE: Final = "app"
DATABASE: Final = "catalogue"

REPORT: Final = """\
Search returns the wrong article after a column was renamed

The workshop catalogue was searchable. We withdrew four articles, then
renamed the column words to word_count with table.transform(). Nobody has
written to the database since. Now a search for most words returns the
article after the right one, or nothing.

sqlite-utils 3.35
"""

HYPOTHESES: Final = [
    {"id": "H1", "statement": "the index is stale because transform() dropped the triggers"},
    {"id": "H2", "statement": "the rename lost or mixed up rows"},
    {"id": "H3", "statement": "the copy renumbers rows that the index refers to"},
]

#: What the evidence has done to each hypothesis in the end.
VERDICTS: Final = {"H1": "weakened", "H2": "refuted", "H3": "strengthened"}


@dataclass(frozen=True, kw_only=True)
class Question:
    """One question and what is made of the answer.

    Args:
        hypothesis: On whose behalf it is asked.
        why: What one hopes to learn, a few words.
        arguments: The question.
        score: The simulated semantic assessment, 0 to 100.
        reason: Why that much.
    """

    hypothesis: str
    why: str
    arguments: Arguments
    score: int
    reason: str
    #: Which of the items are shown, 0 for the first.
    shown: tuple[int, ...] = (0, 1, 2)


_DB: Final = "sqlite_utils/db.py"

QUESTIONS: Final = [
    Question(
        hypothesis="H3",
        why="Where does transform() live?",
        arguments=SourceSearch(source=SOURCE, pattern="def transform", under="sqlite_utils"),
        score=30,
        reason="two methods to read: transform() and transform_sql()",
    ),
    Question(
        hypothesis="H3",
        why="How does it copy the rows?",
        arguments=SourceRead(source=SOURCE, path=_DB, start=1912, end=1940),
        score=90,
        reason="the copying INSERT lists columns only; rowid is not one of them",
        shown=(5, 6, 7, 8),
    ),
    Question(
        hypothesis="H3",
        why="Who else cares about rowids?",
        arguments=SourceSearch(source=SOURCE, pattern="rowid", under=_DB, limit=20),
        score=50,
        reason="full-text search joins the index to the table by rowid",
        shown=(15, 16, 18),
    ),
    Question(
        hypothesis="H1",
        why="What does the database hold?",
        arguments=DatabaseSchema(database=DATABASE),
        score=50,
        reason="an FTS5 index with content=articles, and no trigger in sight",
        shown=(0, 1),
    ),
    Question(
        hypothesis="H1",
        why="Really no trigger?",
        arguments=DatabaseSchema(database=DATABASE, type="trigger"),
        score=60,
        reason="none: half of the hypothesis is true",
    ),
    Question(
        hypothesis="H2",
        why="Are the articles whole?",
        arguments=DatabaseRows(database=DATABASE, table="articles", limit=10),
        score=60,
        reason="slug, title and body agree in each row",
    ),
    Question(
        hypothesis="H3",
        why="Which rows does the index know?",
        arguments=DatabaseRows(database=DATABASE, table="articles_fts_docsize", limit=50),
        score=95,
        reason="36 entries, numbered 1, 3, 4, ... 40: not the table's numbers",
        shown=(0, 1, 2, -1),
    ),
    Question(
        hypothesis="H1",
        why="Who writes to the index?",
        arguments=SourceSearch(source=SOURCE, pattern="INSERT INTO [{table}_fts]", under=_DB),
        score=40,
        reason="only the triggers and the first filling; seen before",
        shown=(0, 1),
    ),
    Question(
        hypothesis="H1",
        why="Who makes the triggers?",
        arguments=SourceRead(source=SOURCE, path=_DB, start=2400, end=2445),
        score=60,
        reason="enable_fts() alone; nothing was written since the rename",
        shown=(0, 6, 7),
    ),
    Question(
        hypothesis="H2",
        why="The first rows again, to compare",
        arguments=DatabaseRows(
            database=DATABASE,
            table="articles",
            where=[Condition(column="rowid", op="le", value=5)],
            limit=50,
        ),
        score=40,
        reason="a003 has rowid 2, the index says 3; seen before",
        shown=(0, 1),
    ),
    Question(
        hypothesis="H2",
        why="And the last ones?",
        arguments=DatabaseRows(
            database=DATABASE,
            table="articles",
            where=[Condition(column="rowid", op="gt", value=30)],
            limit=50,
        ),
        score=70,
        reason="36 rows, all whole; the highest rowid is 36, in the index 40",
        shown=(0, -1),
    ),
]
