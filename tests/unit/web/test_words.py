"""Both languages say the same, and everything they say is said somewhere."""

from __future__ import annotations

import json
import re
import string
from pathlib import Path

import pytest

import vstore.web
from vstore.web.words import LANGUAGES, accepted_language, words_of

ROOT = Path(vstore.web.__file__).parent
#: A key, or the start of one that is put together, as it stands in a template or a module.
LITERAL = re.compile(r"""["']([a-z][a-z0-9_]*\.[a-z0-9_.]*)(?:\{|["'])""")
CALL = re.compile(r"""\bt(?:\.count)?\(\s*["']([a-z0-9_.]+)["']\s*[,)]""")


def read(language: str) -> dict[str, str]:
    """All messages, each in one file only."""
    messages: dict[str, str] = {}
    for file in sorted((ROOT / "words" / language).glob("*.json")):
        pairs = json.loads(file.read_text("utf-8"), object_pairs_hook=list)
        for key, text in pairs:
            assert key not in messages, f"{key} stands twice"
            messages[key] = text
    return messages


def names(text: str) -> set[str]:
    """The values that a message names."""
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


def sources() -> str:
    """What may name a message."""
    files = [*ROOT.glob("*.py"), *ROOT.glob("templates/*"), *ROOT.glob("static/*.js")]
    return "\n".join(file.read_text("utf-8") for file in files)


def test_the_languages_have_the_same_messages_with_the_same_values() -> None:
    english = read("en")
    assert sorted(file.name for file in ROOT.glob("words/*")) == sorted(LANGUAGES)
    for language in LANGUAGES:
        other = read(language)
        assert set(other) == set(english)
        assert {key: names(text) for key, text in other.items()} == {
            key: names(text) for key, text in english.items()
        }
        assert all(text.strip() == text and text for text in other.values())


def test_every_message_is_used() -> None:
    literals = set(LITERAL.findall(sources()))
    prefixes = tuple(one for one in literals if one.endswith((".", "_")))
    unused = [
        key
        for key in read("en")
        if not {key, re.sub(r"\.(one|other)\Z", "", key)} & literals
        and not key.startswith(prefixes)
    ]
    assert unused == []


def test_every_message_that_is_named_exists() -> None:
    messages = read("en")
    named = {key for key in CALL.findall(sources()) if not key.endswith((".", "_"))}
    assert len(named) > 50
    assert [key for key in named if key not in messages and f"{key}.one" not in messages] == []


def test_what_counts_comes_in_pairs() -> None:
    messages = read("en")
    for key in messages:
        stem, _, form = key.rpartition(".")
        if form in ("one", "other") and f"{stem}.title" not in messages:
            assert {f"{stem}.one", f"{stem}.other"} <= set(messages)


@pytest.mark.parametrize(
    ("header", "language"),
    [
        ("", "en"),
        ("de", "de"),
        ("de-AT,de;q=0.9", "de"),
        ("DE-de", "de"),
        ("fr", "en"),
        ("fr,de;q=0.3,en;q=0.2", "de"),
        ("en;q=0.4,de;q=0.6", "de"),
        ("en,de", "en"),
        ("de;q=0", "en"),
        ("de;q=2", "en"),
        ("de;q=...", "en"),
        ("*", "en"),
        (",;,de", "de"),
        ("d\N{LATIN SMALL LETTER E WITH ACUTE}", "en"),
        ("x," * 10_000 + "de", "en"),
    ],
)
def test_the_browser_says_which_language(header: str, language: str) -> None:
    assert accepted_language(header) == language


def test_numbers_and_sizes_are_written_as_the_language_does() -> None:
    english, german = words_of("en"), words_of("de")
    assert (english.number(1234567.5, 1), german.number(1234567.5, 1)) == (
        "1,234,567.5",
        "1.234.567,5",
    )
    assert english.count("in.days", 1) == "in 1 day"
    assert german.count("in.days", 2) == "in 2 Tagen"
    space = "\N{NO-BREAK SPACE}"
    assert [english.size(size) for size in (0, 1, 999, 1000, 1_499_999, 10**15)] == [
        "0 bytes",
        "1 byte",
        "999 bytes",
        f"1.0{space}kB",
        f"1.5{space}MB",
        f"1,000.0{space}TB",
    ]
    assert german.size(1_400_000) == f"1,4{space}MB"


def test_a_language_that_is_unknown_is_english() -> None:
    assert words_of("../../etc").language == "en"
