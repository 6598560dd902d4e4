r"""Sliders, panels and read-outs of an explorer: what moves, series on a pair of axes, and numbers below.

A panel may stand in several explorers; it learns of their sliders when its marks are placed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from onestep_lib._checks import (
    as_floats,
    check_callable,
    check_choice,
    check_items,
    check_number,
    check_text,
    check_vector,
    shown,
)
from onestep_lib.figures import svg
from onestep_lib.figures.series import Bars, Column, Mark, Series, numbers, slider_names
from onestep_lib.figures.svg import number_text

__all__ = [
    "Panel",
    "Readout",
    "Slider",
    "tabulate",
]


@dataclass(frozen=True, eq=False)
class Slider:
    """A slider that stops at given values.

    Parameters
    ----------
    name : str
        The name by which series and read-outs say that they follow it.
    values : sequence of float or of str
        Where it stops, in order.
    label : str
        What the reader sees, by default the name. Symbols in Unicode: "penalty λ".
    initial : float or str, optional
        First position, one of `values` (of numbers, the nearest); by default the middle one.
    format : str
        How a number is written, as for `str.format`.

    Examples
    --------
    >>> from onestep_lib.figures import Slider
    >>> ridge = Slider("ridge", [0.01, 0.1, 1, 10], label="penalty λ", initial=0.1)
    >>> ridge.texts, ridge.start
    (['0.01', '0.1', '1', '10'], 1)
    """

    name: str
    values: Sequence[float] | Sequence[str] | np.ndarray
    label: str = ""
    initial: float | str | None = None
    format: str = "{:.3g}"

    def __post_init__(self) -> None:
        for name in ("name", "label", "format"):
            check_text(name, getattr(self, name))
        if not isinstance(self.values, Sequence | np.ndarray) or len(self.values) < 2:
            raise ValueError(f"values must be two or more, got {shown(self.values)}")
        _ = self.start

    def __len__(self) -> int:
        return len(self.values)

    @property
    def start(self) -> int:
        """Index of the first position."""
        if isinstance(self.values[0], str):
            names = [check_text("values", value) for value in self.values]
            initial = names[len(self) // 2] if self.initial is None else self.initial
            return names.index(check_choice("initial", initial, names))
        values = check_vector("values", self.values)
        if self.initial is None:
            return len(self) // 2
        return int(np.argmin(np.abs(values - check_number("initial", self.initial))))

    @property
    def texts(self) -> list[str]:
        """Every value as the reader sees it."""
        return [value_text(value, self.format) for value in self.values]


def value_text(value: float | str, template: str) -> str:
    """A number by the template of its slider or read-out; a text stays as it is."""
    return value if isinstance(value, str) else number_text(value, template)


def tabulate(function: Callable[..., ArrayLike], *sliders: Slider) -> np.ndarray:
    """Values of a function at every position of the sliders.

    Parameters
    ----------
    function : callable
        Takes one value of each slider, in the order given; returns a number or an array.
    *sliders : Slider

    Returns
    -------
    ndarray of shape (len(slider_1), ...) + the shape of one result

    Examples
    --------
    >>> from onestep_lib.figures import Slider, tabulate
    >>> eta, ridge = Slider("eta", [0, 1, 2]), Slider("ridge", [0.5, 1])
    >>> tabulate(lambda eta, ridge: eta / ridge, eta, ridge)
    array([[0., 0.],
           [2., 1.],
           [4., 2.]])
    """
    check_callable("function", function)
    sliders = check_items("sliders", sliders, Slider)
    sizes = tuple(len(slider) for slider in sliders)
    results = []
    for position in np.ndindex(sizes):
        values = [slider.values[k] for slider, k in zip(sliders, position, strict=True)]
        results.append(as_floats("the values of function", function(*values), "numbers"))
    shapes = {result.shape for result in results}
    if len(shapes) > 1:
        raise ValueError(f"function must return one shape at all positions, got {sorted(shapes)}")
    return np.stack(results).reshape(sizes + results[0].shape)


@dataclass(frozen=True, eq=False)
class Panel:
    """One pair of axes.

    Parameters
    ----------
    series : sequence of Line, Dots, Bars, VLine, HLine
        Drawn in this order.
    x_label, y_label : str
        Names of the axes, symbols in Unicode.
    alt : str
        What a reader who does not see the picture should know, in one or two sentences.
    x_scale, y_scale : {"linear", "log"}
    x_limits, y_limits : pair of float, optional
        By default the range of all values over all positions, so that axes never move.
    title : str
        Above the axes, when there are several panels.

    Examples
    --------
    >>> from onestep_lib.figures import Line, Panel
    >>> panel = Panel([Line([1, 10, 100], [1, 2, 3])], "n", "loss", alt="A line that rises.", x_scale="log")
    >>> print(panel.x_axis.scale, panel.x_axis.low < 1.01, panel.x_axis.high > 99)
    log True True
    """

    series: Sequence[Series]
    x_label: str
    y_label: str
    alt: str
    x_scale: str = "linear"
    y_scale: str = "linear"
    x_limits: tuple[float, float] | None = None
    y_limits: tuple[float, float] | None = None
    title: str = ""

    def __post_init__(self) -> None:
        series = check_items("series", self.series, Series, "Line, Dots, Bars, VLine or HLine")
        object.__setattr__(self, "series", series)
        for name in ("x_label", "y_label", "title", "alt"):
            check_text(name, getattr(self, name))
        if not series and (self.x_limits is None or self.y_limits is None):
            raise ValueError("series must hold at least one, or both limits be given, got none")
        check_choice("x_scale", self.x_scale, ("linear", "log"))
        check_choice("y_scale", self.y_scale, ("linear", "log"))
        if not self.alt.strip():
            raise ValueError(f"alt must describe the panel in words, got {shown(self.alt)}")
        _ = self.x_axis, self.y_axis

    @cached_property
    def x_axis(self) -> svg.Axis:
        """The horizontal axis."""
        limits = _limits("x_limits", self.x_limits, self.x_scale, self._values(horizontal=True))
        return svg.Axis(self.x_scale, *limits, svg.LEFT, svg.RIGHT)

    @cached_property
    def y_axis(self) -> svg.Axis:
        """The vertical axis; a histogram on a linear one includes zero."""
        values = self._values(horizontal=False)
        if any(isinstance(item, Bars) for item in self.series) and self.y_scale == "linear":
            values = np.append(values, 0.0)
        limits = _limits("y_limits", self.y_limits, self.y_scale, values)
        return svg.Axis(self.y_scale, *limits, svg.BOTTOM, svg.TOP)

    def _values(self, horizontal: bool) -> np.ndarray:
        columns = [pair for item in self.series for pair in item.columns().items()]
        values = [v.ravel() for name, v in columns if (name in ("x", "edges")) == horizontal]
        return np.concatenate([np.empty(0), *values])

    def marks(self, sliders: Sequence[Slider]) -> list[Mark]:
        """Marks of all series, placed on the axes."""
        marks = []
        for order, item in enumerate(self.series):
            placed = {
                name: _placed(name, values, item.sliders, sliders, self)
                for name, values in item.columns().items()
            }
            marks += item.marks(placed, self.y_axis, order)
        return marks


def _holds_texts(values: object) -> bool:
    """Whether these are strings, alone, in an array or in nested sequences."""
    if isinstance(values, list | tuple):
        return len(values) > 0 and all(map(_holds_texts, values))
    return isinstance(values, str) or (isinstance(values, np.ndarray) and values.dtype.kind == "U")


@dataclass(frozen=True, eq=False)
class Readout:
    """A number that follows the sliders: values of shape (len(slider), ...), or texts.

    Examples
    --------
    >>> from onestep_lib.figures import Readout, Slider
    >>> slope = Slider("slope", [1, 2, 3])
    >>> texts, _ = Readout("largest", [1, 4, 9], sliders="slope", format="{:.1f}").texts([slope])
    >>> texts.tolist()
    ['1.0', '4.0', '9.0']
    """

    label: str
    values: ArrayLike
    sliders: str | Sequence[str] = ()
    format: str = "{:.3g}"

    def __post_init__(self) -> None:
        check_text("label", self.label)
        check_text("format", self.format)
        object.__setattr__(self, "sliders", slider_names(self.sliders))
        if not _holds_texts(self.values):
            object.__setattr__(self, "values", numbers("values", self.values))

    def texts(self, sliders: Sequence[Slider]) -> tuple[np.ndarray, tuple[int, ...]]:
        """Formatted values and the indices of the sliders they follow."""
        follow, sizes = _followed(self.sliders, sliders)
        values = np.asarray(self.values)
        if values.shape != sizes:
            raise ValueError(
                f"values of the readout {shown(self.label)} must have shape {sizes}, got {values.shape}"
            )
        texts = [value_text(value, self.format) for value in values.ravel().tolist()]
        return np.array(texts).reshape(sizes), follow


def _followed(names: Sequence[str], sliders: Sequence[Slider]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Indices and sizes of the named sliders."""
    known = [slider.name for slider in sliders]
    follow = tuple(known.index(check_choice("sliders", name, known)) for name in names)
    return follow, tuple(len(sliders[index]) for index in follow)


def _placed(
    name: str, values: np.ndarray, names: Sequence[str], sliders: Sequence[Slider], panel: Panel
) -> Column:
    """A column on its axis: values of shape (points,), or (*sizes of the sliders, points)."""
    follow, sizes = _followed(names, sliders)
    axis = panel.x_axis if name in ("x", "edges") else panel.y_axis
    if values.ndim == 1:
        return Column(axis.positions(values))
    if values.shape[:-1] != sizes:
        raise ValueError(
            f"{name} varies over shape {values.shape[:-1]}, but its sliders {shown(names)} have {sizes} "
            "positions"
        )
    return Column(axis.positions(values), follow)


def _limits(
    name: str, given: tuple[float, float] | None, scale: str, values: np.ndarray
) -> tuple[float, float]:
    if given is not None:
        limits = numbers(name, given)
        if limits.shape != (2,):
            raise ValueError(f"{name} must be a pair (low, high), got {shown(given)}")
        low, high = limits
        if not (np.isfinite(limits).all() and low < high) or (scale == "log" and low <= 0):
            raise ValueError(f"{name} must increase (on a log scale from above 0), got {shown(given)}")
        return float(low), float(high)
    drawn = values[np.isfinite(values) & ((scale == "linear") | (values > 0))]
    if drawn.size == 0:
        raise ValueError(f"{name} must be given: no value can be drawn on a {scale} scale")
    return _padded(float(drawn.min()), float(drawn.max()), scale)


def _padded(low: float, high: float, scale: str) -> tuple[float, float]:
    if scale == "log":
        factor = (high / low) ** 0.03 if high > low else 2.0
        return low / factor, high * factor
    room = 0.03 * (high - low) or 0.5 * abs(high) or 0.5
    return (low if low == 0 else low - room), high + room  # what starts at zero keeps its floor
