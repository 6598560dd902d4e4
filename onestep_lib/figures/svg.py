"""Axes and marks of an explorer as SVG, in integer units of the panel's viewBox.

A mark (curve, dots, error bars, histogram) is a set of int16 columns in viewBox units: scales,
logarithms and limits have been applied here, once. `path` turns columns into the text of an SVG
path, and ``static/explorer.js`` repeats exactly that step when a slider moves, so that what the
browser draws at a position is what Python would draw there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape

import numpy as np

from onestep_lib.figures.look import DASHES

WIDTH, HEIGHT = 7200, 5000
LEFT, RIGHT, TOP, BOTTOM = 1000, 7000, 520, 4000
UNIT = 20  # viewBox units in a pixel of a panel drawn 360 pixels wide
GAP = -32768
"""Lifts the pen: a value that is not a number."""
FAR = 30000  # values outside the panel stop here, far enough not to bend what is seen
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
MARKER_PATHS = {
    "circle": "m-75 0a75 75 0 1 0 150 0a75 75 0 1 0-150 0z",
    "square": "m-68-68h136v136h-136z",
    "triangle": "m0-92l86 150h-172z",
    "diamond": "m0-95l95 95l-95 95l-95-95z",
}


@dataclass(frozen=True, eq=False)
class Axis:
    """A linear or logarithmic axis from `low` (at `start`) to `high` (at `stop`, viewBox units)."""

    scale: str
    low: float
    high: float
    start: int
    stop: int

    def positions(self, values: np.ndarray) -> np.ndarray:
        """Values in data units as int16 positions; NaN becomes `GAP`, infinity a far position."""
        low, high = self._straight(np.array([self.low, self.high]))
        fraction = (self._straight(values) - low) / (high - low)
        place = self.start + fraction * (self.stop - self.start)
        place = np.clip(np.rint(place), -FAR, FAR)
        return np.where(np.isnan(place), GAP, place).astype("<i2")

    def _straight(self, values: np.ndarray) -> np.ndarray:
        if self.scale == "linear":
            return values
        with np.errstate(divide="ignore"):
            return np.log10(np.maximum(values, 0.0))


def ticks(axis: Axis) -> list[float]:
    """Round numbers to label on an axis, two to eight of them."""
    marks = _log_ticks(axis.low, axis.high) if axis.scale == "log" else []
    return marks if len(marks) > 1 else _linear_ticks(axis.low, axis.high)


def _linear_ticks(low: float, high: float) -> list[float]:
    rough = (high - low) / 5
    power = 10.0 ** math.floor(math.log10(rough))
    step = min((m * power for m in (1, 2, 5, 10)), key=lambda s: abs(math.log(s / rough)))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [k * step for k in range(first, last + 1)]


def _log_ticks(low: float, high: float) -> list[float]:
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    span = math.log10(high) - math.log10(low)
    multiples = (1, 2, 5) if span < 2 else (1,)
    every = max(1, math.ceil(span / 6))
    marks = [m * 10.0**k for k in range(first, last + 1, every) for m in multiples]
    return [mark for mark in marks if low * (1 - 1e-9) <= mark <= high * (1 + 1e-9)]


def number_text(value: float, template: str = "{:.6g}") -> str:
    """A number as a reader writes it: 0.01, −1, 2.5·10⁻⁴."""
    text = template.format(value).replace("-", "−")
    mantissa, e, exponent = text.partition("e")
    if not e or not exponent.lstrip("+−").isdigit():
        return text
    if "." in mantissa:
        mantissa = mantissa.rstrip("0").rstrip(".")
    power = str(int(exponent.replace("−", "-"))).translate(_SUPERSCRIPTS)
    return f"10{power}" if mantissa == "1" else f"{mantissa}·10{power}"


def _tick_text(value: float) -> str:
    plain = value == 0 or 1e-3 * (1 - 1e-9) <= abs(value) < 1e5
    return number_text(value, "{:.6g}" if plain else "{:.2e}")


def frame(x: Axis, y: Axis, x_label: str, y_label: str) -> str:
    """Grid lines, tick labels and axis labels; the name of y stands above its axis, to save room."""
    parts = [f'<path class="os-axis" d="M{LEFT} {TOP}V{BOTTOM}H{RIGHT}"/>']
    marks = ticks(x)
    for value, place in zip(marks, x.positions(np.array(marks)), strict=True):
        parts.append(f'<path class="os-tick" d="M{place} {BOTTOM}v90"/>')
        parts.append(_text(place, BOTTOM + 370, _tick_text(value), "middle"))
    marks = ticks(y)
    for value, place in zip(marks, y.positions(np.array(marks)), strict=True):
        parts.append(f'<path class="os-grid" d="M{LEFT} {place}H{RIGHT}"/>')
        parts.append(_text(LEFT - 120, place + 80, _tick_text(value), "end"))
    parts.append(_text((LEFT + RIGHT) // 2, HEIGHT - 180, x_label, "middle"))
    parts.append(_text(LEFT - 700, TOP - 220, y_label, "start"))
    return "".join(parts)


def _text(x: int, y: int, text: str, anchor: str) -> str:
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}">{escape(text)}</text>'


def window(marks: str) -> str:
    """Marks cut off at the axes: a nested SVG clips without the identifiers a clip path needs."""
    width, height = RIGHT - LEFT, BOTTOM - TOP
    box = f'x="{LEFT}" y="{TOP}" width="{width}" height="{height}"'
    return f'<svg {box} viewBox="{LEFT} {TOP} {width} {height}">{marks}</svg>'


def dash_attribute(dash: str) -> str:
    """The stroke-dasharray of a named dash, in viewBox units; nothing for a solid line."""
    lengths = " ".join(f"{UNIT * length:g}" for length in DASHES[dash])
    return f' stroke-dasharray="{lengths}"' if lengths else ""


def path(kind: str, columns: Mapping[str, np.ndarray], shape: str = "", base: int = 0) -> str:
    """Text of the SVG path that draws one mark.

    Parameters
    ----------
    kind : {"line", "dots", "error", "bars"}
    columns : mapping of str to int array
        ``x`` and ``y``, each (points,); for "error" ``x``, ``low``, ``high``; for "bars" ``x`` holds
        the edges, (points + 1,).
    shape : str
        Relative path of a marker, for "dots".
    base : int
        Where bars begin.
    """
    table = {name: [int(value) for value in column] for name, column in columns.items()}
    return _PATHS[kind](table, shape, base)


def _line(table: Mapping[str, list[int]], shape: str, base: int) -> str:
    text, pen = "", "M"
    for x, y in zip(table["x"], table["y"], strict=True):
        if GAP in (x, y):
            pen = "M"
        else:
            text, pen = f"{text}{pen}{x} {y}", "L"
    return text


def _dots(table: Mapping[str, list[int]], shape: str, base: int) -> str:
    points = zip(table["x"], table["y"], strict=True)
    return "".join(f"M{x} {y}{shape}" for x, y in points if GAP not in (x, y))


def _error(table: Mapping[str, list[int]], shape: str, base: int) -> str:
    bars = zip(table["x"], table["low"], table["high"], strict=True)
    return "".join(f"M{x} {low}V{high}" for x, low, high in bars if GAP not in (x, low, high))


def _bars(table: Mapping[str, list[int]], shape: str, base: int) -> str:
    bars = zip(table["x"], table["x"][1:], table["y"], strict=False)
    return "".join(f"M{x} {base}V{y}H{end}V{base}z" for x, end, y in bars if y != GAP)


_PATHS = {"line": _line, "dots": _dots, "error": _error, "bars": _bars}
