"""What the page says, in each language it speaks.

Messages are JSON files in ``words/<language>/``, one for each area of the page; their keys are
unique over all files. ``{name}`` stands for a value. A message that counts comes as a pair of keys
``<key>.one`` and ``<key>.other``.
"""

from __future__ import annotations

import functools
import json
import re
from importlib import resources
from typing import Final

__all__ = ["LANGUAGES", "Words", "accepted_language", "words_of"]

#: By code, under the name that its own speakers give it. The first one is the default.
LANGUAGES: Final[dict[str, str]] = {"en": "English", "de": "Deutsch"}
_RANGE: Final = re.compile(
    r"\s*([A-Za-z]{1,8}|\*)(?:-[A-Za-z0-9-]*)?\s*(?:;\s*q\s*=\s*([0-9.]+))?\s*"
)


class Words:
    """The messages of one language.

    Args:
        language: Its code, one of :data:`LANGUAGES`.
        messages: Texts by key.
    """

    def __init__(self, language: str, messages: dict[str, str]) -> None:
        self.language = language
        self.messages = messages

    def __call__(self, key: str, **values: object) -> str:
        """A message with its values, not yet escaped for HTML.

        Raises:
            KeyError: No such message, or a value is missing: a fault of the page.
        """
        return self.messages[key].format_map(values)

    def count(self, key: str, number: int, **values: object) -> str:
        """A message that says how many; ``{n}`` is the number as it is written here."""
        form = "one" if number == 1 else "other"
        return self(f"{key}.{form}", n=self.number(number), **values)

    def has(self, key: str) -> bool:
        """Whether there is such a message."""
        return key in self.messages

    def number(self, value: float, digits: int = 0) -> str:
        """A number with the separators of the language."""
        text = f"{value:,.{digits}f}"
        if self.language == "de":
            return text.translate({ord(","): ".", ord("."): ","})
        return text

    def size(self, size: int) -> str:
        """A size in bytes, in the unit in which it reads well: ``1.4 MB``."""
        if size < 1000:
            return self.count("size.bytes", size)
        value = float(size)
        unit = "B"
        for unit in ("kB", "MB", "GB", "TB"):
            value /= 1000
            if value < 999.95 or unit == "TB":
                break
        return f"{self.number(value, 1)}\N{NO-BREAK SPACE}{unit}"


@functools.cache
def words_of(language: str) -> Words:
    """The messages of a language; English for one that is unknown."""
    code = language if language in LANGUAGES else next(iter(LANGUAGES))
    messages: dict[str, str] = {}
    for file in resources.files("vstore.web").joinpath("words", code).iterdir():
        if file.name.endswith(".json"):
            messages.update(json.loads(file.read_text(encoding="utf-8")))
    return Words(code, messages)


def accepted_language(header: str) -> str:
    """The language that a browser would rather have (RFC 9110, 12.5.4); English if none fits."""
    best, weight = next(iter(LANGUAGES)), 0.0
    for part in header[:1000].split(","):
        found = _RANGE.fullmatch(part)
        if found is None:
            continue
        code = found[1].lower()
        try:
            quality = float(found[2] or 1)
        except ValueError:
            continue
        if code in LANGUAGES and weight < quality <= 1:
            best, weight = code, quality
    return best
