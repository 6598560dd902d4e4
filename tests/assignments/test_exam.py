"""The exam: its marks add up, its numbers are right, and no page shows it."""

import re

import numpy as np
import pytest
import sheets

from onestep_lib.hermite import hermite_coefficients

TEXT = (sheets.SOURCES / "exam.md").read_text("utf-8")


def test_marks_add_up():
    parts = re.split(r"^## \d+\. .*?(\d+) marks\)$", TEXT, flags=re.MULTILINE)[1:]
    promised = [int(mark) for mark in parts[::2]]
    given = [sum(map(int, re.findall(r"\*\*\((\d)\)\*\*", text))) for text in parts[1::2]]
    assert given == promised
    assert (len(promised), sum(promised)) == (10, int(re.search(r"(\d+) marks, about", TEXT)[1]))


def test_numbers():
    assert hermite_coefficients(lambda z: z**4, 4) == pytest.approx([3, 0, 6, 0, 1], abs=1e-9)
    relu = hermite_coefficients(lambda z: np.maximum(z, 0), 1, kinks=(0,))
    assert np.sqrt(0.5 - relu[0] ** 2 - relu[1] ** 2) == pytest.approx(0.301, abs=5e-4)
    step, slope = 1e-6, []
    for penalty in (0.5 - step, 0.5 + step):
        mu = max(np.roots([1, -penalty, -penalty]))
        slope.append(mu)
    assert (slope[1] - slope[0]) / (2 * step) == pytest.approx(4 / 3, rel=1e-6)
    rng, strength = np.random.default_rng(0), 3 * 0.6 * 1.5**0.5
    u, v = (x / np.linalg.norm(x) for x in rng.standard_normal((2, 1000)))
    W = rng.standard_normal((1000, 1000)) / np.sqrt(1000) + strength * np.outer(u, v)
    assert np.linalg.norm(W, 2) == pytest.approx(2.66, abs=0.05)
    assert pytest.approx(12.8, abs=0.05) == 3 / (1 / 0.81 - 1)


def test_no_page_shows_it():
    assert "assignments" not in (sheets.ROOT / "_toc.yml").read_text("utf-8")
