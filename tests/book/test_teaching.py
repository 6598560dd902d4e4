"""The lessons: one for each chapter, and in time; the links in them are the build's to check."""

import re
from pathlib import Path

import pytest
import test_frame_chapters as frame

ROOT = Path(__file__).resolve().parents[2]
BOOK = ROOT / "book"
LENGTHS = (45, 90)  # minutes of a lesson
LESSONS = re.split(r"^\(teaching-\d+\)=$", (BOOK / "teaching.md").read_text("utf-8"), flags=re.MULTILINE)[1:]


def test_every_chapter_is_a_lesson_and_in_the_order_of_the_book():
    stems = [re.search(r"\]\((\d\d-[\w-]+)\.ipynb\)", lesson)[1] for lesson in LESSONS]
    assert stems == sorted(path.stem for path in BOOK.glob("[0-9][0-9]-*.ipynb"))


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.split("\n")[1])
def test_a_lesson_is_complete_and_keeps_its_time(lesson):
    parts = ("**Leave out.**", "**Board.**", "**Common errors.**", "**At home.** {numref}`ex-")
    assert [part for part in parts if part not in lesson] == []
    plan = re.findall(r"^\| (\d+|–) \| (\d+|–) \| (.+?) \|", lesson, re.MULTILINE)[1:]
    assert plan[-1][2].startswith("[Exercises]")
    for column, (length, total) in enumerate(
        zip(LENGTHS, re.findall(r"\*\*(\d+)\*\*", lesson), strict=False)
    ):
        minutes = sum(int(row[column].replace("–", "0")) for row in plan)
        assert minutes == int(total)
        assert length - 10 <= minutes <= length


ACTIVITIES = sorted(BOOK.glob("activity-*.ipynb"))


@pytest.mark.parametrize("path", ACTIVITIES, ids=lambda path: path.stem)
def test_an_activity_is_stored_like_a_chapter(path):
    frame.test_only_compared_text_is_stored(path)
    frame.test_some_numbers_are_compared(path)
    frame.test_formulas_use_no_macro_of_their_own(path)
    frame.test_chapters_do_not_touch_the_path_or_global_seeds(path)
    frame.test_labels_are_unique_in_the_book(path)
    figures = [cell for cell in frame.cells(path, "code") if "mystnb" in cell["metadata"]]
    assert figures
    assert all(cell["metadata"]["mystnb"]["image"]["alt"] for cell in figures)
    assert any("asserts" in frame.tags(cell) for cell in frame.cells(path, "code"))
