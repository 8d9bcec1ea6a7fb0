"""The style sheet keeps its own rules: contrast in both schemes, nothing from elsewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import vstore.web

STATIC = Path(vstore.web.__file__).parent / "static"
STYLE = (STATIC / "style.css").read_text("utf-8")
SHEETS = STYLE + (STATIC / "work.css").read_text("utf-8")
TEMPLATES = sorted((Path(vstore.web.__file__).parent / "templates").glob("*.html"))


def colours(scheme: str) -> dict[str, str]:
    """The colours of a scheme by name; the dark one replaces some of the light ones."""
    light, dark = re.findall(r":root \{(.*?)\}", STYLE, re.DOTALL)[:2]
    found = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", light))
    if scheme == "dark":
        found |= dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", dark))
    return found


def luminance(colour: str) -> float:
    """Relative luminance of WCAG 2.2."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """Contrast ratio of WCAG 2.2, 1 to 21."""
    dark, light = sorted([luminance(one), luminance(other)])
    return (light + 0.05) / (dark + 0.05)


def test_contrast_is_counted_right() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.01)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read(scheme: str) -> None:
    found = colours(scheme)
    grounds = [
        found[name] for name in ("paper", "sheet", "tint", "bad-tint", "warn-tint", "good-tint")
    ]
    for ink in ("ink", "soft", "accent", "accent-strong", "bad"):
        assert min(contrast(found[ink], ground) for ground in grounds) >= 4.5, ink
    for tone in ("bad", "warn", "good"):
        assert contrast(found[tone], found[f"{tone}-tint"]) >= 4.5
        assert contrast(found[tone], found["sheet"]) >= 4.5
    for accent in ("accent", "accent-strong"):
        assert contrast(found["on-accent"], found[accent]) >= 4.5


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_edges_of_fields_and_the_focus_can_be_seen(scheme: str) -> None:
    found = colours(scheme)
    for edge in ("edge", "accent", "bad"):
        for ground in ("paper", "sheet"):
            assert contrast(found[edge], found[ground]) >= 3, (edge, ground)


def test_nothing_is_loaded_from_elsewhere_and_no_style_stands_in_a_page() -> None:
    assert "url(" not in SHEETS
    assert "@import" not in SHEETS
    for template in TEMPLATES:
        text = template.read_text("utf-8")
        assert not re.search(r"<style|\sstyle=|\son[a-z]+=|javascript:|https?://", text), (
            template.name
        )
        assert not re.search(r"<script(?![^>]*\ssrc=)", text), template.name
        assert "|safe" not in text.replace(" ", ""), template.name


def test_what_a_page_names_has_a_rule() -> None:
    used = {
        name
        for template in TEMPLATES
        for names in re.findall(r'class="([a-z -]+)"', template.read_text("utf-8"))
        for name in names.split()
    }
    assert used
    ruled = set(re.findall(r"\.([a-z][a-z-]*)", SHEETS))
    assert sorted(used - ruled) == []
