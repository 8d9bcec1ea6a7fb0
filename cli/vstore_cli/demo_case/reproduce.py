"""Rebuild the database state of sqlite-utils issue 592 with sqlite-utils 3.35.

Usage: python reproduce.py OUTPUT.sqlite3

Needs sqlite-utils 3.35 and an SQLite library with FTS5. The script loads fixed articles
into a table without a primary key, turns on full-text search with triggers, removes some
articles, and then renames a column with ``table.transform()``. Nothing is written after
that. ``transform()`` takes the name of its scratch table from ``os.urandom``, and that name
stays behind in unused page space, so the script makes that one call return zero bytes: two
runs with one SQLite library give the same bytes.

Never VACUUM the result: VACUUM may renumber the rows of a table that has no INTEGER PRIMARY
KEY, which by itself breaks the search in the same way.
"""

from __future__ import annotations

import importlib.metadata
import os
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path

EXPECTED_VERSION = "3.35"

# One word per article that no other article uses, in order of insertion.
KEYWORDS = """
    anvil barge cedar dynamo ember ferry gantry hinge ingot jetty
    kiln lathe mallet nozzle orchard pulley quarry rivet sluice trowel
    umbrella viaduct windlass xylem yoke zinc awning bellows culvert dredger
    engine funnel gasket hopper icebox jigsaw knurl lantern millrace needle
""".split()  # noqa: SIM905 - read as a list of words
SECTIONS = ["metal", "timber", "water", "stone"]
WITHDRAWN = ["barge", "lathe", "mallet", "zinc"]


def articles() -> Iterator[dict[str, str | int]]:
    """The articles of the workshop library."""
    for number, keyword in enumerate(KEYWORDS, start=1):
        yield {
            "slug": f"a{number:03d}-{keyword}",
            "title": f"About the {keyword}",
            "body": f"Notes on the {keyword}, collected for the workshop library.",
            "section": SECTIONS[number % len(SECTIONS)],
            "words": 40 + number * 3,
        }


def build(output: Path) -> None:
    """Write the database."""
    import sqlite_utils
    from sqlite_utils.db import Table

    version = importlib.metadata.version("sqlite-utils")
    if version != EXPECTED_VERSION:
        sys.exit(f"needs sqlite-utils=={EXPECTED_VERSION}, found {version}")
    output.unlink(missing_ok=True)

    db = sqlite_utils.Database(str(output))
    sections, library = Table(db, "sections"), Table(db, "articles")
    sections.insert_all(({"name": name} for name in SECTIONS), pk="name")
    library.insert_all(articles())
    library.create_index(["section"])
    library.enable_fts(["title", "body"], create_triggers=True)
    for keyword in WITHDRAWN:
        library.delete_where("title = ?", [f"About the {keyword}"])
    db.conn.commit()

    urandom = os.urandom
    os.urandom = bytes
    try:
        library.transform(rename={"words": "word_count"})
    finally:
        os.urandom = urandom
    db.conn.commit()
    db.conn.close()


def check(output: Path) -> None:
    """Search for every keyword and count the answers that are wrong."""
    import sqlite_utils
    from sqlite_utils.db import Table

    connection = sqlite3.connect(f"{output.as_uri()}?mode=ro", uri=True)
    library = Table(sqlite_utils.Database(connection), "articles")
    right = wrong = none = 0
    for keyword in KEYWORDS:
        if keyword in WITHDRAWN:
            continue
        titles = [row["title"] for row in library.search(keyword)]
        if titles == [f"About the {keyword}"]:
            right += 1
        elif titles:
            wrong += 1
        else:
            none += 1
    print(f"right {right}, wrong article {wrong}, no article {none}")
    for keyword in ("anvil", "kiln", "needle"):
        titles = [row["title"] for row in library.search(keyword)]
        print(f"{keyword:<7} -> {titles}")
    connection.close()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    build(Path(sys.argv[1]).absolute())
    check(Path(sys.argv[1]).absolute())
