"""The paper companion: what it names is there, as far as the build does not look."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BOOK = ROOT / "book"
ROWS = re.findall(r"^: (.+)$", (BOOK / "companion.md").read_text("utf-8"), re.MULTILINE)


def test_every_test_that_is_named_is_there_and_what_a_function_computes_has_one():
    named = re.compile(r"`([\w/]+\.py)::(\w+)`")
    gone = [
        (name, function)
        for row in ROWS
        for name, function in named.findall(row)
        if not (file := ROOT / "tests" / name).exists() or f"def {function}(" not in file.read_text("utf-8")
    ]
    assert gone == []
    assert [row for row in ROWS if "{py:obj}" in row and not named.search(row)] == []


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
