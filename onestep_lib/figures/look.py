"""Colours, dashes and markers of every figure, printed or live: the one place where they are chosen.

The colours are those of Okabe and Ito (2008), darkened on white and lightened on black until each
keeps a contrast of 3:1 or more with its background. No meaning rests on colour alone: series also
differ by dash or by marker.
"""

from __future__ import annotations

COLOURS = {
    "blue": "#0072b2",
    "orange": "#c65102",
    "green": "#007d5a",
    "purple": "#a3477f",
    "gold": "#946600",
    "ink": "#222222",
}
"""Colours on a light page; the printed figures use these."""
DARK_COLOURS = {
    "blue": "#56b4e9",
    "orange": "#ff9a4d",
    "green": "#3cc79b",
    "purple": "#e8a0cb",
    "gold": "#f0c24b",
    "ink": "#e8e8e8",
}
"""The same names on a dark page, for the explorers."""
CYCLE = tuple(COLOURS)
DASHES = {
    "solid": (),
    "dashed": (6.0, 3.0),
    "dotted": (1.2, 2.4),
    "dashdot": (7.0, 2.5, 1.5, 2.5),
}
"""Lengths on, off, ... in points."""
MARKERS = {"circle": "o", "square": "s", "triangle": "^", "diamond": "D"}
"""Names of markers and matplotlib's letters for them."""
ERROR_BARS = 2.0
"""Error bars reach this many standard errors to either side, in every figure of the book."""


def linestyle(dash: str) -> str | tuple[int, tuple[float, ...]]:
    """A name in `DASHES` as matplotlib takes it, which counts in widths of the line: 2 points."""
    lengths = DASHES[dash]
    return (0, tuple(length / 2 for length in lengths)) if lengths else "solid"
