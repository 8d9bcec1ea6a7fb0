"""The investigation that the demo plays: report, hypotheses, questions, assessments.

The bug is real and public: sqlite-utils issue 592. The questions are asked of the real
release and of a database that it broke; only the replies, which a model or a person would
give, were written down beforehand (``demo_case/replies.json``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = [
    "CASE",
    "DATABASE",
    "HYPOTHESES",
    "QUESTIONS",
    "REPORT",
    "SOURCE",
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


@dataclass(frozen=True, kw_only=True)
class Question:
    """One question of the investigation, as it is told; a stored reply asks it.

    Args:
        hypothesis: On whose behalf it is asked.
        why: What one hopes to learn, a few words.
    """

    hypothesis: str
    why: str
    #: Which of the items are shown, 0 for the first.
    shown: tuple[int, ...] = (0, 1, 2)


QUESTIONS: Final = [
    Question(hypothesis="H3", why="Where does transform() live?"),
    Question(hypothesis="H3", why="How does it copy the rows?", shown=(5, 6, 7, 8)),
    Question(hypothesis="H3", why="Who else cares about rowids?", shown=(15, 16, 18)),
    Question(hypothesis="H1", why="What does the database hold?", shown=(0, 1)),
    Question(hypothesis="H1", why="Really no trigger?"),
    Question(hypothesis="H2", why="Are the articles whole?"),
    Question(hypothesis="H3", why="Which rows does the index know?", shown=(0, 1, 2, -1)),
    Question(hypothesis="H1", why="Who writes to the index?", shown=(0, 1)),
    Question(hypothesis="H1", why="Who makes the triggers?", shown=(0, 6, 7)),
    Question(hypothesis="H2", why="The first rows again, to compare", shown=(0, 1)),
    Question(hypothesis="H2", why="And the last ones?", shown=(0, -1)),
]
