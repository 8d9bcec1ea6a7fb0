"""Pages and what was left out of them."""

from __future__ import annotations

import pytest

from vstore.objects.canonical import encode
from vstore.objects.ids import object_id
from vstore.tools.items import SourceFile
from vstore.tools.paging import PageFiller
from vstore.tools.reply import Page, Truncation
from vstore.tools.request import QueryLimits


def item(number: int) -> SourceFile:
    return SourceFile(path=f"f{number}", file=object_id(b""), size=number)


ITEM_BYTES = len(encode(item(0)))


def fill(count: int, *, offset: int = 0, limit: int | None = 100, **limits: int) -> PageFiller:
    filler: PageFiller[SourceFile] = PageFiller(QueryLimits(**limits), offset=offset, limit=limit)
    for number in range(count):
        if not filler.wanted:
            filler.count_only(count - number)
            break
        filler.offer(lambda number=number: item(number))
    return filler


def shown(filler: PageFiller) -> list[int]:
    return [one.size for one in filler.items]


def cut(limit: str, value: int, total: int | None, skipped: int = 0) -> Truncation:
    return Truncation(limit=limit, value=value, total=total, skipped_files=skipped)


def test_everything() -> None:
    filler = fill(3)
    assert shown(filler) == [0, 1, 2]
    assert filler.page() == Page(offset=0, limit=100, returned=3, total=3)
    assert filler.truncation() is None


def test_nothing() -> None:
    filler = fill(0, offset=5)
    assert filler.page() == Page(offset=5, limit=100, returned=0, total=0)
    assert filler.truncation() is None


def test_a_full_page_that_is_all_is_not_cut() -> None:
    assert fill(3, limit=3).truncation() is None
    assert fill(3, limit=3, max_matches=3).truncation() is None


@pytest.mark.parametrize(
    ("arguments", "numbers", "truncation"),
    [
        ({"limit": 2}, [0, 1], cut("limit", 2, 5)),
        ({"limit": 2, "offset": 2}, [2, 3], cut("limit", 2, 5)),
        ({"limit": 2, "offset": 3}, [3, 4], cut("offset", 3, 5)),
        ({"limit": 2, "offset": 4}, [4], cut("offset", 4, 5)),
        ({"limit": 2, "offset": 5}, [], cut("offset", 5, 5)),
        ({"limit": 2, "offset": 99}, [], cut("offset", 99, 5)),
        ({"max_matches": 2}, [0, 1], cut("max_matches", 2, 5)),
        ({"limit": 2, "max_matches": 2}, [0, 1], cut("limit", 2, 5)),
        ({"limit": 3, "max_matches": 2, "offset": 1}, [1, 2], cut("max_matches", 2, 5)),
        ({"limit": None, "max_matches": 4}, [0, 1, 2, 3], cut("max_matches", 4, 5)),
        ({"max_result_bytes": 2 * ITEM_BYTES}, [0, 1], cut("max_result_bytes", 2 * ITEM_BYTES, 5)),
        ({"max_result_bytes": 3 * ITEM_BYTES - 1, "limit": 2}, [0, 1], cut("limit", 2, 5)),
        ({"max_result_bytes": 1, "offset": 1}, [], cut("max_result_bytes", 1, 5)),
    ],
)
def test_of_five(arguments: dict[str, int], numbers: list[int], truncation: Truncation) -> None:
    filler = fill(5, **arguments)
    assert shown(filler) == numbers
    assert filler.truncation() == truncation
    page = filler.page()
    assert (page.returned, page.total) == (len(numbers), 5)


def test_an_exact_fit_in_bytes_is_not_cut() -> None:
    assert fill(2, max_result_bytes=2 * ITEM_BYTES).truncation() is None


def test_no_smaller_item_follows_one_that_was_too_large() -> None:
    filler: PageFiller[SourceFile] = PageFiller(
        QueryLimits(max_result_bytes=ITEM_BYTES), offset=0, limit=None
    )
    filler.offer(lambda: item(1000))
    filler.offer(lambda: item(1))
    assert filler.items == []
    assert filler.count == 2
    assert filler.wanted == 0


def test_a_stopped_scan_knows_no_total_and_names_its_limit() -> None:
    filler = fill(5, limit=2, max_bytes_scanned=77)
    assert filler.page(stopped=True).total is None
    assert filler.truncation(stopped_by="max_bytes_scanned", skipped_files=1) == cut(
        "max_bytes_scanned", 77, None, 1
    )


def test_only_skipped_files() -> None:
    assert fill(1).truncation(skipped_files=3) == Truncation(
        limit=None, value=None, total=1, skipped_files=3
    )


def test_a_total_of_its_own() -> None:
    filler = fill(2, limit=None)
    assert filler.page(total=9).total == 9
    assert fill(5, limit=1).truncation(total=9) == cut("limit", 1, 9)


def test_items_off_the_page_are_never_made() -> None:
    filler: PageFiller[SourceFile] = PageFiller(QueryLimits(), offset=2, limit=1)
    made = []
    for number in range(5):
        filler.offer(lambda number=number: made.append(number) or item(number))
    assert made == [2]
    assert filler.count == 5
