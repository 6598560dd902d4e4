"""The first picture of an explorer as a printed figure, for exports that show no HTML."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from onestep_lib.figures.look import COLOURS, CYCLE, DASHES, MARKERS, linestyle
from onestep_lib.figures.plotting import figure
from onestep_lib.figures.series import Bars, Dots, HLine, Line, Series, VLine

# The explorer and its panels, whose module imports this one.
Explorer = Any
Panel = Any


def png(explorer: Explorer) -> bytes:
    """Panels side by side at the sliders' first positions, which the title states, on white paper."""
    drawn, axes = figure(1, len(explorer.panels))
    for panel, ax in zip(explorer.panels, np.ravel(np.array(axes)), strict=True):
        _draw(ax, panel, explorer)
    choice = "; ".join(f"{s.label or s.name} = {s.texts[s.start]}" for s in explorer.sliders)
    drawn.suptitle(f"{explorer.title} ({choice})", fontsize=10.5, wrap=True)
    buffer = io.BytesIO()
    drawn.savefig(buffer, format="png", dpi=110, facecolor="white")
    plt.close(drawn)
    return buffer.getvalue()


def _draw(ax: Axes, panel: Panel, explorer: Explorer) -> None:
    for order, item in enumerate(panel.series):
        _DRAW[type(item)](ax, item, _at_start(item, explorer), order)
    ax.set(xlabel=panel.x_label, ylabel=panel.y_label, title=panel.title)
    ax.set(xscale=panel.x_axis.scale, yscale=panel.y_axis.scale)
    ax.set(xlim=(panel.x_axis.low, panel.x_axis.high), ylim=(panel.y_axis.low, panel.y_axis.high))
    if any(item.label for item in panel.series):
        ax.legend()


def _at_start(item: Series, explorer: Explorer) -> dict[str, np.ndarray]:
    """The columns of a series, in data units, for the first picture."""
    start = {slider.name: slider.start for slider in explorer.sliders}
    names = (item.sliders,) if isinstance(item.sliders, str) else item.sliders
    index = tuple(start[name] for name in names)
    return {name: values[index] if values.ndim > 1 else values for name, values in item.columns().items()}


def _look(item: Series, order: int) -> dict[str, Any]:
    return {
        "color": COLOURS[item.colour or CYCLE[order % len(CYCLE)]],
        "label": item.label or "_unnamed",
    }


def _line(ax: Axes, item: Line, columns: dict[str, np.ndarray], order: int) -> None:
    dash = item.dash or list(DASHES)[order % len(DASHES)]
    ax.plot(columns["x"], columns["y"], linestyle=linestyle(dash), **_look(item, order))


def _dots(ax: Axes, item: Dots, columns: dict[str, np.ndarray], order: int) -> None:
    shape = MARKERS[item.marker or list(MARKERS)[order % len(MARKERS)]]
    reach = columns["high"] - columns["y"] if "high" in columns else None
    ax.errorbar(columns["x"], columns["y"], reach, fmt=shape, markeredgecolor="white", **_look(item, order))


def _bars(ax: Axes, item: Bars, columns: dict[str, np.ndarray], order: int) -> None:
    ax.stairs(columns["heights"], columns["edges"], fill=True, alpha=0.35, **_look(item, order))


def _vline(ax: Axes, item: VLine, columns: dict[str, np.ndarray], order: int) -> None:
    ax.axvline(columns["x"][0], linestyle=linestyle(item.dash), **_look(item, order))


def _hline(ax: Axes, item: HLine, columns: dict[str, np.ndarray], order: int) -> None:
    ax.axhline(columns["y"][0], linestyle=linestyle(item.dash), **_look(item, order))


_DRAW: dict[type[Series], Callable[..., None]] = {
    Line: _line,
    Dots: _dots,
    Bars: _bars,
    VLine: _vline,
    HLine: _hline,
}
