"""What an explorer draws: curves, dots, histograms and lines across, and the marks they become.

A series holds data units with one leading axis for each slider it follows; `Series.marks` places
them on a pair of axes as int16 columns, ready to be drawn here or by the script on the page.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from onestep_lib._checks import as_floats, check_choice, check_items, check_text, shown
from onestep_lib.figures import svg
from onestep_lib.figures.look import COLOURS, CYCLE, DASHES, ERROR_BARS

__all__ = [
    "Bars",
    "Dots",
    "HLine",
    "Line",
    "VLine",
]


@dataclass(frozen=True, eq=False)
class Column:
    """Values of shape (len(slider), ..., points) and the indices of the sliders they follow."""

    table: np.ndarray
    sliders: tuple[int, ...] = ()

    def at(self, positions: Sequence[int]) -> np.ndarray:
        """The (points,) values at the sliders' positions."""
        return self.table[tuple(positions[slider] for slider in self.sliders)]

    def packed(self) -> dict[str, object]:
        """Base64 of little-endian int16, for the script."""
        text = base64.b64encode(self.table.astype("<i2").tobytes()).decode()
        return {"table": text, "sliders": self.sliders, "points": self.table.shape[-1]}


@dataclass(frozen=True, eq=False)
class Mark:
    """One SVG path that may move; see `onestep_lib.figures.svg.path`."""

    kind: str
    columns: dict[str, Column]
    attributes: str
    shape: str = ""
    base: int = 0

    def path(self, positions: Sequence[int]) -> str:
        """Text of the path at the sliders' positions."""
        columns = {name: column.at(positions) for name, column in self.columns.items()}
        return svg.path(self.kind, columns, self.shape, self.base)

    def packed(self) -> dict[str, object]:
        """The mark for the script."""
        columns = {name: column.packed() for name, column in self.columns.items()}
        return {"kind": self.kind, "columns": columns, "shape": self.shape, "base": self.base}


@dataclass(frozen=True, eq=False, kw_only=True)
class Series:
    """What all series share: a label in the legend, the sliders followed, a colour.

    `colour` is a name in `onestep_lib.figures.look.COLOURS`; by default it follows the order in the panel.
    """

    label: str = ""
    sliders: str | Sequence[str] = ()
    colour: str = ""
    sample: ClassVar[dict[str, tuple[int, ...]]] = {"x": (40, 640), "y": (160, 160)}

    def __post_init__(self) -> None:
        check_text("label", self.label)
        object.__setattr__(self, "sliders", slider_names(self.sliders))
        if check_text("colour", self.colour):
            check_choice("colour", self.colour, COLOURS)

    def columns(self) -> dict[str, np.ndarray]:
        """Data units by name; "x" and "edges" lie on the horizontal axis, the others on the vertical."""
        raise NotImplementedError

    def marks(self, placed: dict[str, Column], y: svg.Axis, order: int) -> list[Mark]:
        """Marks from columns in viewBox units; `order` in the panel chooses dash and marker."""
        raise NotImplementedError

    def swatch(self, order: int) -> list[Mark]:
        """Marks of `sample`, for a legend entry of 680 by 320 units."""
        placed = {name: Column(np.array(values)) for name, values in self.sample.items()}
        return self.marks(placed, svg.Axis("linear", 0.0, 1.0, 290, 30), order)

    def colour_class(self, order: int) -> str:
        """CSS class that carries the colour."""
        return f"os-{self.colour or CYCLE[order % len(CYCLE)]}"


@dataclass(frozen=True, eq=False)
class Line(Series):
    """A curve: x and y of shape (points,), or (len(slider), ..., points) for the named sliders.

    NaN breaks the curve. `dash` is "solid", "dashed", "dotted" or "dashdot", by default in turn.

    Examples
    --------
    >>> import numpy as np
    >>> from onestep_lib.figures import Line
    >>> x = np.linspace(0, 1, 50)
    >>> line = Line(x, np.outer([1, 2, 3], x), label="theory", sliders="slope")
    >>> line.columns()["y"].shape  # one curve for each of the slider's positions
    (3, 50)
    """

    x: ArrayLike
    y: ArrayLike
    dash: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_points(self.columns(), "x", "y")
        if check_text("dash", self.dash):
            check_choice("dash", self.dash, DASHES)

    def columns(self) -> dict[str, np.ndarray]:
        return {"x": numbers("x", self.x), "y": numbers("y", self.y)}

    def marks(self, placed: dict[str, Column], y: svg.Axis, order: int) -> list[Mark]:
        dash = self.dash or list(DASHES)[order % len(DASHES)]
        return [_line(placed, self.colour_class(order), dash)]


@dataclass(frozen=True, eq=False)
class Dots(Series):
    """Points; where `se` (of the shape of y) is given, error bars of two standard errors.

    `marker` is "circle", "square", "triangle" or "diamond", by default in turn.

    Examples
    --------
    >>> from onestep_lib.figures import Dots
    >>> dots = Dots([1, 2], [0.6, 0.4], se=[0.1, 0.05], label="simulation")
    >>> dots.columns()["high"].round(4)  # the upper ends of the bars
    array([0.8, 0.5])
    """

    x: ArrayLike
    y: ArrayLike
    se: ArrayLike | None = None
    marker: str = ""
    sample: ClassVar[dict[str, tuple[int, ...]]] = {"x": (340,), "y": (160,), "low": (290,), "high": (30,)}

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_points(self.columns(), "x", "y")
        if self.se is not None and np.any(numbers("se", self.se) < 0):
            raise ValueError(f"se must be >= 0, got {shown(self.se)}")
        if check_text("marker", self.marker):
            check_choice("marker", self.marker, svg.MARKER_PATHS)

    def columns(self) -> dict[str, np.ndarray]:
        columns = {"x": numbers("x", self.x), "y": numbers("y", self.y)}
        if self.se is None:
            return columns
        reach = ERROR_BARS * numbers("se", self.se)
        if reach.shape != columns["y"].shape:
            raise ValueError(f"se must have the shape of y, got {reach.shape} and {columns['y'].shape}")
        return columns | {"low": columns["y"] - reach, "high": columns["y"] + reach}

    def marks(self, placed: dict[str, Column], y: svg.Axis, order: int) -> list[Mark]:
        colour = self.colour_class(order)
        shapes = svg.MARKER_PATHS
        shape = shapes[self.marker or list(shapes)[order % len(shapes)]]
        points = {name: placed[name] for name in ("x", "y")}
        dots = Mark("dots", points, f'class="os-dots {colour}"', shape)
        if self.se is None:
            return [dots]
        reach = {name: placed[name] for name in ("x", "low", "high")}
        return [Mark("error", reach, f'class="os-error {colour}"'), dots]


@dataclass(frozen=True, eq=False)
class Bars(Series):
    """A histogram: heights of shape (bars,), or (len(slider), ..., bars), over `edges` (bars + 1,).

    Examples
    --------
    >>> import numpy as np
    >>> from onestep_lib.figures import Bars
    >>> heights, edges = np.histogram([0.1, 0.2, 0.7], bins=2, range=(0, 1), density=True)
    >>> Bars(edges, heights, label="eigenvalues").columns()["heights"].round(4)
    array([1.3333, 0.6667])
    """

    edges: ArrayLike
    heights: ArrayLike
    sample: ClassVar[dict[str, tuple[int, ...]]] = {"edges": (140, 540), "heights": (60,)}

    def __post_init__(self) -> None:
        super().__post_init__()
        columns = self.columns()
        if columns["heights"].ndim == 0:
            raise ValueError(f"heights must have one value a bar, got {shown(self.heights)}")
        edges, bars = columns["edges"], columns["heights"].shape[-1]
        if edges.shape != (bars + 1,) or not np.all(np.diff(edges) > 0):
            raise ValueError(f"edges must increase and be {bars + 1} for {bars} heights, got {shown(edges)}")

    def columns(self) -> dict[str, np.ndarray]:
        return {"edges": numbers("edges", self.edges), "heights": numbers("heights", self.heights)}

    def marks(self, placed: dict[str, Column], y: svg.Axis, order: int) -> list[Mark]:
        columns = {"x": placed["edges"], "y": placed["heights"]}
        floor = y.low if y.scale == "log" else min(max(0.0, y.low), y.high)
        base = int(y.positions(np.array(floor)))
        return [Mark("bars", columns, f'class="os-bars {self.colour_class(order)}"', base=base)]


@dataclass(frozen=True, eq=False)
class _Across(Series):
    """A line from one end of the panel to the other at `at`: a number, or of shape (len(slider), ...)."""

    at: ArrayLike
    dash: str = "dotted"
    colour: str = field(default="ink", kw_only=True)
    name: ClassVar[str]

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("dash", self.dash, DASHES)
        _ = self.columns()

    def columns(self) -> dict[str, np.ndarray]:
        return {self.name: np.stack(2 * [numbers(self.name, self.at)], axis=-1)}

    def marks(self, placed: dict[str, Column], y: svg.Axis, order: int) -> list[Mark]:
        ends = {"x": Column(np.array([svg.LEFT, svg.RIGHT])), "y": Column(np.array([y.start, y.stop]))}
        return [_line(ends | placed, self.colour_class(order), self.dash)]


class VLine(_Across):
    """A vertical line at x: a number, or an array of shape (len(slider), ...).

    Examples
    --------
    >>> from onestep_lib.figures import VLine
    >>> VLine([0.5, 1, 2], label="edge", sliders="psi").columns()["x"].shape  # two ends a position
    (3, 2)
    """

    name = "x"
    sample: ClassVar[dict[str, tuple[int, ...]]] = {"x": (340, 340)}


class HLine(_Across):
    """A horizontal line at y: a number, or an array of shape (len(slider), ...).

    Examples
    --------
    >>> from onestep_lib.figures import HLine
    >>> HLine(0.25, label="noise").columns()["y"]
    array([0.25, 0.25])
    """

    name = "y"


def slider_names(value: str | Sequence[str]) -> tuple[str, ...]:
    """One name of a slider, or several, as a tuple."""
    return check_items("sliders", (value,) if isinstance(value, str) else value, str, "names")


def numbers(name: str, value: ArrayLike) -> np.ndarray:
    """Float array; NaN (a gap) and infinity (beyond the panel) are allowed."""
    return as_floats(name, value, "an array of numbers")


def _check_points(columns: dict[str, np.ndarray], first: str, second: str) -> None:
    shapes = columns[first].shape, columns[second].shape
    if () in shapes or shapes[0][-1] != shapes[1][-1]:
        raise ValueError(f"{first} and {second} must have the same points, got shapes {shapes}")


def _line(columns: dict[str, Column], colour: str, dash: str) -> Mark:
    return Mark("line", columns, f'class="{colour}"{svg.dash_attribute(dash)}')
