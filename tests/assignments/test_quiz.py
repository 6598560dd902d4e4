"""The quiz holds every question of the book, each with one right answer."""

import re

import pytest
import sheets

from book._tools import quiz

CHAPTERS = sorted((sheets.ROOT / "book").glob("[0-9]*.ipynb"))


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_every_question_with_one_right_answer(path):
    found = quiz.gift(path)
    assert len(found) == path.read_text("utf-8").count(":::{predict}") >= 1
    for question in found:
        choices = [line[0] for line in question.splitlines()[1:-1]]
        assert choices.count("=") == 1
        assert set(choices) == {"=", "~"}
        assert not re.search(r"\$|(?<!\\)[{}]", question[question.index(" {\n") + 2 : -1]), question


def test_a_formula_and_a_reference():
    text = r"*All* of $\frac ab=1$ ({numref}`fig-a`), see {term}`edge <edges>`."
    assert quiz.plain(text) == r"All of \\(\\frac ab\=1\\), see edge."
