"""Self-checks and misconceptions: every wrong answer names one, and every one is refuted somewhere."""

import json
import re
from pathlib import Path

import pytest
from chapter_parts import parts

from book._tools import quiz

ROOT = Path(__file__).resolve().parents[2]
BOOK = ROOT / "book"
CHAPTERS = sorted(BOOK.glob("[0-9][0-9]-*.ipynb"))
PAGE = (BOOK / "misconceptions.md").read_text("utf-8")
ENTRIES = re.findall(r"^\((mis-[a-z-]+)\)=\n### (.+)\n\n((?:.+\n)+)", PAGE, re.MULTILINE)
NAMED = re.compile(r"\{ref\}`(mis-[a-z-]+)`")
FEWEST = 3


def checks(path: Path) -> list:
    notebook = json.loads(path.read_text("utf-8"))
    return [p for p in parts(notebook) if p.kind == "directive" and p.name == "selfcheck"]


def test_each_is_refuted_somewhere():
    assert len(ENTRIES) == len(re.findall(r"^### ", PAGE, re.MULTILINE)) > 0
    for label, _, text in ENTRIES:
        assert re.search(r"\{(eq|numref|doc)\}`|\]\(\d\d-", text), f"{label} says where it is refuted"


def test_each_misconception_is_behind_a_self_check():
    named = {
        label for path in CHAPTERS for check in checks(path) for label in NAMED.findall("\n".join(check.body))
    }
    assert named == {label for label, *_ in ENTRIES}


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_a_chapter_closes_with_checks_whose_wrong_answers_have_a_reason(path):
    found = checks(path)
    assert len(found) >= FEWEST
    assert all(check.section == "Exercises" for check in found)
    assert any("answer" in check.options for check in found), "one check asks for a number"
    for check in found:
        if "answer" in check.options:
            continue
        for right, answer in quiz.ANSWER.findall("\n".join(check.body)):
            assert right == "x" or NAMED.search(answer), answer
