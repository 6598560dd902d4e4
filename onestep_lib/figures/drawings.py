"""Drawings that stand before the algebra: the network, the experiment, neurons that share a direction.

They hold no mathematics. What is a curve in them is computed by the caller; circles, arrows and boxes
have fixed places. Each returns a figure whose text alternative the notebook gives.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch
from numpy.typing import ArrayLike

from onestep_lib._checks import check_choice, check_flag, check_matrix, check_vector, shown
from onestep_lib.figures.look import COLOURS
from onestep_lib.figures.plotting import figure

__all__ = [
    "network_drawing",
    "pipeline_drawing",
    "shared_direction_drawing",
]

INK, FAINT = COLOURS["ink"], "#8a8a8a"
STAGES = {
    "step": ("batch 1", "$n$ samples $(X, y)$", "one gradient step\non the first layer", "$W_0 \\to W_1$"),
    "readout": ("batch 2", "$n$ fresh samples", "ridge regression\nof the readout", "$\\hat a$"),
    "test": ("test samples", "never seen before", "mean squared error", "test loss"),
}
"""Stage of the experiment: its data, how many, what is done with them, what comes out."""
ANYWHERE = (8, 47, 79, 118, 151, 196, 229, 262, 301, 338)
"""Directions of neurons that share none, in degrees."""
TOGETHER = ((28, 0.95), (33, 0.6), (24, 0.75), (37, 0.4), (208, 0.9), (213, 0.55), (204, 0.7), (217, 0.35))
"""Directions and lengths of neurons that share one, up to their sign."""


def network_drawing(*, stepped: bool = False, size: tuple[float, float] = (5.4, 3.0)) -> Figure:
    """The two-layer network: input, neurons, output; the first layer frozen or moved by one step.

    Parameters
    ----------
    stepped : bool
        The first layer is drawn moved (solid, one thick bundle), not frozen (dashed).
    size : pair of float
        Inches.

    Returns
    -------
    Figure

    Examples
    --------
    >>> from onestep_lib.figures import network_drawing
    >>> texts = [text.get_text() for text in network_drawing(stepped=True).axes[0].texts]
    >>> print([text for text in texts if "step" in text])
    ['first layer $W_1$\\nmoved by one step']
    """
    stepped = check_flag("stepped", stepped)
    drawn, ax = _canvas(size, (0, 10), (0, 6.2))
    inputs, neurons = [(1.2, y) for y in (1.2, 2.4, 4.0)], [(5.0, y) for y in (0.8, 1.7, 2.6, 4.4)]
    output = (8.8, 2.6)
    look: dict[str, Any] = (
        {"color": COLOURS["blue"], "linewidth": 1.8}
        if stepped
        else {"color": FAINT, "linewidth": 1.0, "linestyle": (0, (4, 2.5))}
    )
    for start in inputs:
        for end in neurons:
            _edge(ax, start, end, look)
    for start in neurons:
        _edge(ax, start, output, {"color": COLOURS["orange"], "linewidth": 1.6})
    for places, text in ((inputs, ""), (neurons, "$\\sigma$"), ([output], "")):
        for place in places:
            _circle(ax, place, text)
    for x, y in ((1.2, 3.2), (5.0, 3.5)):
        _write(ax, (x, y), "⋮", fontsize=15)
    first = "first layer $W_1$\nmoved by one step" if stepped else "first layer $W_0$\nrandom, frozen"
    _write(ax, (2.95, 5.45), first, color=COLOURS["blue"] if stepped else "#555555")
    _write(ax, (7.15, 5.45), "readout $\\hat a$\nfitted by ridge", color=COLOURS["orange"])
    _write(ax, (1.2, 0.25), "input $x$, $d$ numbers")
    _write(ax, (5.0, -0.1), "$N$ neurons")
    _write(ax, (8.8, 1.75), "$f(x)$")
    return drawn


def pipeline_drawing(*, highlight: str = "", size: tuple[float, float] = (5.4, 3.4)) -> Figure:
    """The experiment: batch 1 moves the first layer, batch 2 fits the readout, fresh samples test.

    Parameters
    ----------
    highlight : {"", "step", "readout", "test"}
        The stage a section is about; the others are drawn faint. "" draws all alike.
    size : pair of float
        Inches.

    Returns
    -------
    Figure

    Examples
    --------
    >>> from onestep_lib.figures import pipeline_drawing
    >>> print(len(pipeline_drawing().axes[0].patches))  # data and action of three stages
    6
    """
    check_choice("highlight", highlight, ("", *STAGES))
    drawn, ax = _canvas(size, (0, 10), (0, 6.6))
    for row, (stage, (data, count, action, result)) in enumerate(STAGES.items()):
        y, strong = 5.6 - 2.3 * row, highlight in ("", stage)
        colour = INK if strong else FAINT
        _box(ax, (0.1, y - 0.8), 3.0, f"{data}\n{count}", colour, COLOURS["green"] if strong else FAINT)
        _box(ax, (4.2, y - 0.8), 3.7, action, colour, COLOURS["blue"] if strong else FAINT)
        _arrow(ax, (3.15, y), (4.15, y), colour)
        _write(ax, (9.2, y), result, color=colour, fontweight="bold" if highlight == stage else "normal")
        _arrow(ax, (7.95, y), (8.3, y), colour)
        if row < len(STAGES) - 1:
            _arrow(ax, (6.05, y - 0.85), (6.05, y - 1.45), INK if not highlight else FAINT)
    return drawn


def shared_direction_drawing(
    kappa: ArrayLike, neurons: ArrayLike, curve: ArrayLike, *, size: tuple[float, float] = (5.4, 4.6)
) -> Figure:
    """Why a shared direction helps: neurons become functions of one variable, and add up to a curve.

    Parameters
    ----------
    kappa : (points,)
        The one variable, input along the shared direction.
    neurons : (some, points)
        What some of the neurons compute as functions of it.
    curve : (points,)
        What the readout makes of all of them.
    size : pair of float
        Inches.

    Returns
    -------
    Figure
        Above: neurons that point anywhere, neurons that share a direction. Below: the latter's outputs
        along that direction, and their weighted sum.

    Raises
    ------
    ValueError
        If the shapes do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> from onestep_lib.figures import shared_direction_drawing
    >>> kappa = np.linspace(-2, 2, 9)
    >>> hinges = np.maximum(kappa - np.array([[-1.0], [0.0], [1.0]]), 0)
    >>> drawn = shared_direction_drawing(kappa, hinges, hinges.sum(axis=0))
    >>> print([len(ax.lines) for ax in drawn.axes])
    [0, 1, 3, 1]
    """
    kappa, curve = check_vector("kappa", kappa), check_vector("curve", curve)
    neurons = check_matrix("neurons", neurons)
    if curve.shape != kappa.shape or neurons.shape[1] != kappa.size:
        raise ValueError(
            f"neurons and curve must have one value for each of the {kappa.size} points of kappa, "
            f"got shapes {shown(neurons.shape)} and {shown(curve.shape)}"
        )
    drawn, axes = figure(2, 2, size=size)
    anywhere, together, outputs, total = np.ravel(np.asarray(axes))
    _rays(
        anywhere, [(angle, 0.9) for angle in ANYWHERE], FAINT, "no shared direction:\nneurons point anywhere"
    )
    _rays(together, TOGETHER, COLOURS["blue"], "a shared direction $b$")
    ends = np.array([[-1, 1], [-1, 1]]) * 1.25 * _point(30, 1.0)[:, None]
    together.plot(*ends, color=INK, linewidth=0.9, linestyle="--")
    together.text(*(1.3 * _point(30, 1.0)), "$b$", ha="left", va="bottom")
    dashes = ("-", "--", ":", "-.")
    for k, row in enumerate(neurons):
        outputs.plot(kappa, row, color=COLOURS["blue"], linewidth=1.4, linestyle=dashes[k % len(dashes)])
    outputs.set_title("each is a function of $\\kappa$")
    total.plot(kappa, curve, color=COLOURS["orange"], linewidth=2.6)
    total.set_title("the readout adds them up")
    for ax in (outputs, total):
        ax.set(xlabel="$\\kappa$ = input along $b$", xticks=[], yticks=[])
        ax.grid(visible=False)
    return drawn


def _canvas(size: tuple[float, float], x: tuple[float, float], y: tuple[float, float]) -> tuple[Figure, Axes]:
    drawn, ax = figure(size=size)
    assert isinstance(ax, Axes)  # one row, one column
    ax.set(xlim=x, ylim=(y[0] - 0.5, y[1]))
    ax.axis("off")
    return drawn, ax


def _edge(ax: Axes, start: tuple[float, float], end: tuple[float, float], look: dict[str, Any]) -> None:
    ax.plot([start[0], end[0]], [start[1], end[1]], zorder=1, **look)


def _circle(ax: Axes, place: tuple[float, float], text: str) -> None:
    ax.plot(*place, "o", markersize=19, markerfacecolor="white", markeredgecolor=INK, zorder=2)
    _write(ax, place, text, zorder=3)


def _write(ax: Axes, place: tuple[float, float], text: str, **look: Any) -> None:
    ax.text(*place, text, ha="center", va="center", **look)


def _box(
    ax: Axes,
    corner: tuple[float, float],
    width: float,
    text: str,
    colour: str,
    edge: str,
    height: float = 1.6,
) -> None:
    ax.add_patch(
        FancyBboxPatch(
            corner, width, height, boxstyle="round,pad=0,rounding_size=0.2", facecolor="none", edgecolor=edge
        )
    )
    _write(ax, (corner[0] + width / 2, corner[1] + height / 2), text, color=colour, fontsize=10.5)


def _arrow(ax: Axes, start: tuple[float, float], end: tuple[float, float], colour: str) -> None:
    ax.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": colour, "shrinkA": 0, "shrinkB": 0})


def _point(degrees: float, length: float) -> np.ndarray:
    return length * np.array([np.cos(np.deg2rad(degrees)), np.sin(np.deg2rad(degrees))])


def _rays(ax: Axes, rays: Sequence[tuple[float, float]], colour: str, title: str) -> None:
    for degrees, length in rays:
        x, y = _point(degrees, length)
        ax.annotate("", (x, y), (0, 0), arrowprops={"arrowstyle": "-|>", "color": colour, "shrinkA": 0})
    ax.set(xlim=(-1.6, 1.6), ylim=(-1.15, 1.15), aspect="equal", title=title)
    ax.axis("off")
