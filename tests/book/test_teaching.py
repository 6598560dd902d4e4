"""The lessons: one for each chapter, in time, and about what the chapter has."""

import json
import re
import sys
from pathlib import Path

import pytest
import test_frame_chapters as frame

ROOT = Path(__file__).resolve().parents[2]
BOOK = ROOT / "book"
sys.path.append(str(BOOK / "_ext"))

from onestep_book import map as book_map  # noqa: E402
from onestep_book import teaching  # noqa: E402

LESSONS = {lesson["chapter"]: lesson for lesson in teaching.lessons(BOOK)}
STEMS = sorted(path.stem for path in BOOK.glob(book_map.CHAPTERS))
FIELDS = {"chapter", "goals", "plan", "skip", "board", "errors", "home"}
BOARD = range(4, 7)  # lines that a board holds beside a drawing
GOALS = 3
NUMBERS = [f"{number:02d}" for number in range(1, 17)]

each_lesson = pytest.mark.parametrize("lesson", LESSONS.values(), ids=LESSONS)
each_chapter = pytest.mark.parametrize("stem", STEMS)


def places(path: Path) -> dict[str, set[str]]:
    """Every label of a chapter with the headings that it stands under, "" before the first of level 2."""
    cells = json.loads(path.read_text("utf-8"))["cells"]
    under: list[str] = [""]
    found = {}
    for cell in cells:
        name = cell["metadata"].get("mystnb", {}).get("figure", {}).get("name")
        if name:
            found[name] = set(under)
        if cell["cell_type"] == "markdown":
            for line in lines_with_labels_last("".join(cell["source"])):
                if heading := re.fullmatch(r"(##|###) (.+?) *", line):
                    under = [*(under[:1] if heading[1] == "###" else []), heading[2]]
                elif label := re.fullmatch(r":(?:label|name): *(\S+)|\((\S+)\)=", line):
                    found[label[1] or label[2]] = set(under)
    return found


def lines_with_labels_last(text: str) -> list[str]:
    """A label above a heading belongs to that heading."""
    return re.sub(r"^(\(\S+\)=)\n+(#+ .+)$", r"\2\n\1", text, flags=re.MULTILINE).splitlines()


def test_every_chapter_is_a_lesson_and_in_the_order_of_the_book():
    assert [stem[:2] for stem in LESSONS] == NUMBERS
    assert set(STEMS) <= set(LESSONS)


@each_lesson
def test_a_lesson_is_complete_and_keeps_its_time(lesson):
    assert set(lesson) == FIELDS
    assert len(lesson["goals"]) == GOALS
    assert len(lesson["board"]) in BOARD
    assert lesson["errors"]
    assert lesson["home"]
    for k, length in enumerate(teaching.LENGTHS):
        minutes = [row["min"][k] for row in lesson["plan"]]
        assert min(minutes) >= 0
        assert length - 10 <= sum(minutes) <= length
    assert all(short <= long for short, long in (row["min"] for row in lesson["plan"]))


@each_lesson
def test_a_lesson_ends_with_an_exercise_for_both_lengths(lesson):
    last = lesson["plan"][-1]
    assert last["at"] == "Exercises"
    assert all(last["min"])
    assert [label[:3] for label in [*last["show"], *lesson["home"]]] == ["ex-"] * (1 + len(lesson["home"]))


@each_lesson
def test_dollars_of_formulas_come_in_pairs(lesson):
    texts = [*lesson["goals"], *lesson["board"], lesson["skip"], *(row["do"] for row in lesson["plan"])]
    assert [text for text in texts if text.count("$") % 2] == []


@each_lesson
def test_errors_are_among_the_misconceptions(lesson):
    assert {error["is"] for error in lesson["errors"]} <= set(teaching.misconceptions(BOOK))


@each_chapter
def test_what_a_lesson_names_stands_where_the_lesson_says(stem):
    lesson, path = LESSONS[stem], BOOK / f"{stem}.ipynb"
    titles, found = teaching.headings(path), places(path)
    for row in lesson["plan"]:
        teaching.section_of(row["at"], titles)
        for label in row["show"]:
            assert any(is_at(heading, row["at"]) for heading in found[label]), (
                label,
                row["at"],
                found[label],
            )
    assert set(lesson["home"]) <= set(found)


@each_chapter
def test_a_plan_follows_the_order_of_its_chapter(stem):
    titles = ["", *teaching.headings(BOOK / f"{stem}.ipynb")]
    order = [
        next(k for k, title in enumerate(titles) if is_at(title, row["at"])) for row in LESSONS[stem]["plan"]
    ]
    assert order == sorted(order)


def is_at(heading: str, place: str) -> bool:
    return heading == place or (place != "" and heading.startswith(f"{place}."))


ACTIVITIES = sorted(BOOK.glob("activity-*.ipynb"))


@pytest.mark.parametrize("path", ACTIVITIES, ids=lambda path: path.stem)
def test_an_activity_is_stored_like_a_chapter(path):
    frame.test_the_first_code_cell_installs_the_library_in_colab(path)
    frame.test_only_compared_text_is_stored(path)
    frame.test_some_numbers_are_compared(path)
    frame.test_formulas_use_no_macro_of_their_own(path)
    frame.test_chapters_do_not_touch_the_path_or_global_seeds(path)
    frame.test_labels_are_unique_in_the_book(path)
    figures = [cell for cell in frame.cells(path, "code") if "mystnb" in cell["metadata"]]
    assert figures
    assert all(cell["metadata"]["mystnb"]["image"]["alt"] for cell in figures)
    assert any("asserts" in frame.tags(cell) for cell in frame.cells(path, "code"))


def test_a_section_that_is_not_there_is_refused_by_name():
    with pytest.raises(ValueError, match="no section 'Step 3' among"):
        teaching.section_of("Step 3", ["In words", "Step 1. A", "Step 30. B"])


def test_a_lesson_as_text():
    lesson = LESSONS["07-the-step-on-the-weights"]
    chapter = book_map.Chapter(7, "T", "07-the-step-on-the-weights", 10, 50, (1, 6))
    titles = teaching.headings(BOOK / f"{chapter.stem}.ipynb")
    text = teaching.lesson_text(lesson, chapter, titles, teaching.misconceptions(BOOK))
    assert "is read in 50 minutes. It needs 1 and 6. Afterwards" in text
    assert "| – | 20 | [Step 1](07-the-step-on-the-weights.ipynb#step-1-the-shared-part" in text
    assert "| **45** | **90** | minutes | |" in text
    assert "{ref}`explorer <weights-explorer>`" in text
    assert '- ["The step points at the hidden direction"](mis-target): ' in text
