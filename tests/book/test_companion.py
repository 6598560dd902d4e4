"""The paper companion: rows that lead somewhere, and a directive that says when one does not."""

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BOOK = ROOT / "book"
sys.path.append(str(BOOK / "_ext"))

from onestep_book import companion  # noqa: E402

PARTS = companion.parts(BOOK)
ROWS = [(source, row) for source, rows in PARTS.items() for row in rows]


def test_the_page_shows_every_part_once():
    page = (BOOK / "companion.md").read_text("utf-8")
    assert re.findall(r"^```\{companion\} (\w+)$", page, re.MULTILINE) == list(PARTS)


@pytest.mark.parametrize(("source", "row"), ROWS, ids=lambda part: part if isinstance(part, str) else "")
def test_a_row_says_what_and_where(source, row):
    text = companion.text_of(row, ROOT)
    assert text.startswith(" ".join(row["said"].split()))
    # A formula has a function, and what a function computes has a test.
    assert "function" not in row or row.get("test"), f"{source}: {row['said']}"
    for place in row.get("place", ()):
        if not place.startswith(tuple(companion.ROLES)):
            assert any((BOOK / f"{place}{end}").exists() for end in (".md", ".ipynb")), place


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"said": "a", "place": ["x"], "test": ["test_hermite.py::test_that_is_gone"]}, "not there"),
        (
            {"said": "a", "place": ["x"], "test": ["gone.py::test_orthogonality_in_exact_integers"]},
            "not there",
        ),
        ({"said": "a"}, "needs"),
        ({"place": ["x"]}, "needs"),
        ({"said": "a", "place": ["x"], "tests": []}, "no other field"),
    ],
)
def test_a_row_that_leads_nowhere_is_an_error(row, message):
    with pytest.raises(ValueError, match=message):
        companion.text_of(row, ROOT)


def test_the_talk_s_references_are_in_the_bibliography_and_cited():
    entries = (BOOK / "references.bib").read_text("utf-8")
    pages = "".join(p.read_text("utf-8") for p in BOOK.iterdir() if p.suffix in {".ipynb", ".md"})
    keys = (
        "abbe2022merged", "abbe2021staircase", "adlam2020neural", "ba2022high", "berthier2023learning",
        "bombari2023beyond", "bombari2023stability", "cheng2013spectrum", "clarte2023double",
        "cui2024asymptotics", "damian2022neural", "dandi2023two", "elkaroui2010spectrum", "fan2019spectral",
        "gerace2020generalisation", "ghorbani2021linearized", "goldt2022gaussian", "goldt2020modeling",
        "hassani2022curse", "hu2023universality", "lee2023demystifying", "lin2021what",
        "mei2022generalization", "moniri2024theory", "pennington2017nonlinear", "rahimi2007random",
    )  # fmt: skip
    assert len(keys) == 26
    for key in keys:
        assert f"{{{key}," in entries, f"{key} is not in the bibliography"
        assert re.search(rf"\b{key}\b", pages), f"{key} is cited on no page"
