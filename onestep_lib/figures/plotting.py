"""Printed figures: theory as a line, simulation as dots with error bars, and the table of their gaps.

Colours, dashes and markers stand in one place (``COLOURS``, ``DASHES``, ``MARKERS``), shared with the
explorers. Figures are transparent with dark ink: they read on white, and on a dark page after the
style sheet inverts them. Nothing here touches matplotlib's global settings except `use_style`.
"""

from __future__ import annotations

import base64
import io
import os
import struct
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from importlib import resources
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from numpy.typing import ArrayLike

from onestep_lib.figures.look import COLOURS, CYCLE, DASHES, ERROR_BARS, MARKERS, linestyle
from onestep_lib.settings import Losses

__all__ = [
    "curves",
    "drawing",
    "figure",
    "legend",
    "theory_and_simulation",
    "use_style",
]

PANEL_SIZE = (5.4, 3.6)
"""Inches of one pair of axes: with text of 11 points a figure shrunk to a phone stays readable."""
STYLE: dict[Any, Any] = {
    "axes.edgecolor": "#444444",
    "axes.facecolor": "none",
    "axes.grid": True,
    "axes.labelcolor": COLOURS["ink"],
    "axes.labelsize": 11.5,
    "axes.prop_cycle": plt.cycler(color=[COLOURS[name] for name in CYCLE]),
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 11.5,
    "figure.constrained_layout.use": True,
    "figure.dpi": 110,
    "figure.facecolor": "none",
    "font.size": 11,
    "grid.color": "#d8d8d8",
    "grid.linewidth": 0.6,
    "legend.fontsize": 10.5,
    "legend.frameon": False,
    "legend.title_fontsize": 9.5,
    "lines.linewidth": 2.0,
    "savefig.facecolor": "none",
    "text.color": COLOURS["ink"],
    "xtick.color": COLOURS["ink"],
    "ytick.color": COLOURS["ink"],
}
"""matplotlib settings of every figure of the book."""


def use_style() -> None:
    """Make `STYLE` on matplotlib's defaults its settings: the one function here with a global effect.

    Defaults, because what a reader's matplotlibrc asks for (LaTeX, a font) may not be there for every figure.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from onestep_lib.figures import use_style
    >>> use_style()
    >>> plt.rcParams["font.size"]
    11.0
    """
    plt.style.use(["default", STYLE])
    shell = sys.modules.get("IPython")
    if os.environ.get("ONESTEP_STATIC") == "1" and shell and shell.get_ipython():
        # A site's figures are sharp at every size. JupyterLab, which may be dark, puts white under PNGs only.
        from matplotlib_inline.config import InlineBackend

        InlineBackend.instance().figure_formats = {"svg"}


@contextmanager
def _styled() -> Iterator[None]:
    """The style for a moment. Not `rc_context`: it would also undo that a notebook shows figures."""
    before = dict(plt.rcParams)
    use_style()
    changed = {name: value for name, value in before.items() if plt.rcParams[name] != value}
    changed.pop("interactive", None)  # set where a notebook is about to show its first figure
    try:
        yield
    finally:
        plt.rcParams.update(changed)


def figure(
    rows: int = 1, columns: int = 1, *, size: tuple[float, float] | None = None, **options: Any
) -> tuple[Figure, Axes | np.ndarray]:
    """A figure in the style of the book, as `matplotlib.pyplot.subplots`.

    Parameters
    ----------
    rows, columns : int
        Panels. Stacked panels (rows) stay readable on a phone; side by side, two at most.
    size : pair of float, optional
        Inches; by default `PANEL_SIZE` for each panel, a little less when side by side.
    **options
        For `matplotlib.pyplot.subplots`, such as sharex.

    Returns
    -------
    figure, axes
        One Axes, or an array of them.

    Examples
    --------
    >>> from onestep_lib.figures import figure
    >>> drawn, axes = figure(2, sharex=True)
    >>> drawn.get_size_inches(), axes.shape
    (array([5.4, 7.2]), (2,))
    """
    width, height = PANEL_SIZE
    default = (width * (1 if columns == 1 else 0.72 * columns), height * rows)
    with _styled():
        return plt.subplots(rows, columns, figsize=size or default, **options)


def theory_and_simulation(
    ax: Axes,
    x: ArrayLike,
    theory: ArrayLike,
    mean: ArrayLike,
    se: ArrayLike,
    *,
    label: str,
    colour: str = "blue",
    dash: str = "solid",
    marker: str = "circle",
    x_theory: ArrayLike | None = None,
) -> tuple[Line2D, object]:
    """Theory as a line through simulated means with bars of two standard errors.

    Parameters
    ----------
    ax : Axes
    x : (points,)
        Where the simulation was run.
    theory : (points,), or of the shape of `x_theory`
    mean, se : (points,)
        Simulated mean and its standard error.
    label : str
        Name of the quantity, one entry in `legend` for line and dots together.
    colour, dash, marker : str
        Names in ``COLOURS``, ``DASHES``, ``MARKERS``. Curves in one figure must differ by dash and
        marker, not by colour alone.
    x_theory : array, optional
        A finer grid for the theory.

    Returns
    -------
    The line and the error-bar container.

    Examples
    --------
    >>> from onestep_lib.figures import figure, theory_and_simulation
    >>> _, ax = figure()
    >>> line, dots = theory_and_simulation(ax, [1, 2], [0.5, 0.4], [0.6, 0.4], [0.1, 0.1], label="test")
    >>> (bars,) = dots.lines[2]
    >>> bars.get_segments()[0].round(4)  # two standard errors to either side
    array([[1. , 0.4],
           [1. , 0.8]])
    """
    grid = x if x_theory is None else x_theory
    (line,) = ax.plot(grid, theory, color=COLOURS[colour], linestyle=linestyle(dash), label=label)
    dots = ax.errorbar(
        x,
        mean,
        yerr=ERROR_BARS * np.asarray(se),
        fmt=MARKERS[marker],
        markersize=5,
        color=COLOURS[colour],
        markeredgecolor="white",
        elinewidth=1.3,
        label=f"_{label}",  # matplotlib leaves such labels out; `legend` pairs them with the line
    )
    return line, dots


def curves(
    ax: Axes,
    x: ArrayLike,
    theory: Losses,
    simulated: Losses | None = None,
    *,
    names: Sequence[str] = ("test", "train"),
    x_simulated: ArrayLike | None = None,
    x_label: str = "",
    **options: Any,
) -> None:
    """Losses along a path: theory as lines, simulation as dots with bars, labels and legend in place.

    Parameters
    ----------
    ax : Axes
    x : (points,)
        Where the theory was evaluated.
    theory : Losses
    simulated : Losses, optional
        Its standard errors are drawn twice as long.
    names : sequence of str
        Which losses, of train, test and objective.
    x_simulated : (dots,), optional
        Where the networks were simulated, if not at x.
    x_label : str
    **options
        For `legend`, such as loc.

    Examples
    --------
    >>> import numpy as np
    >>> from onestep_lib import Setting, random_features, simulate
    >>> from onestep_lib.figures import curves, figure
    >>> setting = Setting(n=40, d=20, N=30, ridge=[0.1, 1])
    >>> _, ax = figure()
    >>> simulated = simulate(setting, np.random.default_rng(0), 2)
    >>> curves(ax, setting.ridge, random_features(setting), simulated, x_label="penalty λ")
    >>> print([text.get_text() for text in ax.get_legend().get_texts()], ax.get_ylabel())
    ['test', 'train'] loss
    """
    looks = zip(names, CYCLE, DASHES, MARKERS, strict=False)
    for name, colour, dash, marker in looks:
        line, _ = theory[name]
        if simulated is None:
            ax.plot(x, line, color=COLOURS[colour], linestyle=linestyle(dash), label=name)
            continue
        at = x if x_simulated is None else x_simulated
        theory_and_simulation(
            ax, at, line, *simulated[name], label=name, colour=colour, dash=dash, marker=marker, x_theory=x
        )
    ax.set(xlabel=x_label, ylabel="loss" if len(names) > 1 else f"{names[0]} loss")
    legend(ax, **options)


def legend(ax: Axes, **options: Any) -> Legend:
    """A legend with one entry for a theory line and its dots, and a heading that says which is which.

    `options` are those of `matplotlib.axes.Axes.legend`, such as loc.

    Examples
    --------
    >>> from onestep_lib.figures import figure, legend, theory_and_simulation
    >>> _, ax = figure()
    >>> _ = theory_and_simulation(ax, [1, 2], [0.5, 0.4], [0.6, 0.4], [0.1, 0.1], label="test loss")
    >>> shown = legend(ax)
    >>> print(shown.get_title().get_text(), [text.get_text() for text in shown.get_texts()])
    line: theory, dots: simulation ± 2 s.e. ['test loss']
    """
    dots = {container.get_label(): container for container in ax.containers}
    handles, labels = ax.get_legend_handles_labels()
    pairs: list[Any] = [
        (handle, dots[f"_{label}"]) if f"_{label}" in dots else handle
        for handle, label in zip(handles, labels, strict=True)
    ]
    heading = f"line: theory, dots: simulation ± {ERROR_BARS:g} s.e."
    title = heading if any(isinstance(pair, tuple) for pair in pairs) else None
    with _styled():
        return ax.legend(pairs, labels, **({"title": title, "alignment": "left"} | options))


def log_axis(ax: Axes, ticks: Sequence[float], label: str) -> None:
    """Make the horizontal axis logarithmic, with these numbers on it and no mark between them.

    matplotlib's own choice, powers of ten, leaves an axis of one decade almost without numbers.

    Examples
    --------
    >>> from onestep_lib.figures import figure
    >>> from onestep_lib.figures.plotting import log_axis
    >>> _, ax = figure()
    >>> log_axis(ax, [0.5, 1, 2], "width N/n")
    >>> print([tick.get_text() for tick in ax.get_xticklabels()], ax.get_xlabel())
    ['0.5', '1', '2'] width N/n
    """
    ax.set(xscale="log", xlabel=label)
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.set_xticks([], minor=True)


def histogram_and_density(
    ax: Axes,
    samples: ArrayLike,
    x: ArrayLike,
    density: ArrayLike,
    *,
    bins: int | Sequence[float] = 50,
    label: str = "",
    colour: str = "blue",
) -> tuple[object, Line2D]:
    """Simulated values as a histogram of unit area, the predicted density as a line over it.

    A point mass (eigenvalues that are exactly zero, say) belongs to neither: leave it out of
    `samples` and scale `density` to the mass that is left.

    Examples
    --------
    >>> import numpy as np
    >>> from onestep_lib.figures import figure
    >>> from onestep_lib.figures.plotting import histogram_and_density
    >>> _, ax = figure()
    >>> x, samples = np.linspace(0, 1, 50), np.random.default_rng(0).random(1000)
    >>> bars, line = histogram_and_density(ax, samples, x, np.ones(50), bins=10, label="uniform")
    >>> print(round(sum(bar.get_width() * bar.get_height() for bar in bars), 4), line.get_label())
    1.0 uniform, theory
    """
    start = f"{label}, " if label else ""
    _, _, bars = ax.hist(
        samples,
        bins=bins,
        density=True,
        color=COLOURS[colour],
        alpha=0.35,
        edgecolor="white",
        linewidth=0.4,
        label=f"{start}simulation",
    )
    (line,) = ax.plot(x, density, color=COLOURS["ink"], label=f"{start}theory")
    return bars, line


def gap_table(rows: Iterable[tuple[str, float, float, float]], *, title: str = "") -> str:
    """Theory, simulation, standard error, and the gap counted in standard errors, as text.

    Parameters
    ----------
    rows : iterable of (name, theory, simulation, standard error)
    title : str
        First column's heading.

    Returns
    -------
    str
        Numbers carry four significant digits, errors two, gaps one decimal: another processor's
        last digits do not change the text, so that a notebook's test may compare it.

    Examples
    --------
    >>> from onestep_lib.figures.plotting import gap_table
    >>> print(gap_table([("train", 0.1, 0.102, 0.001), ("test", 0.5, 0.49, 0.02)], title="loss"))
    loss      theory  simulation      s.e.  gap/s.e.
    train     0.1000      0.1020    0.0010      +2.0
    test      0.5000      0.4900     0.020      -0.5
    largest gap: 2.0 standard errors
    """
    table = [
        (name, theory, simulation, se, _gap(theory, simulation, se)) for name, theory, simulation, se in rows
    ]
    width = max(len(title), *(len(name) for name, *_ in table))
    lines = [f"{title:<{width}}  {'theory':>9}  {'simulation':>10}  {'s.e.':>8}  {'gap/s.e.':>8}"]
    lines += [
        f"{name:<{width}}  {_digits(theory, 4):>9}  {_digits(simulation, 4):>10}  "
        f"{_digits(se, 2):>8}  {gap:>+8.1f}"
        for name, theory, simulation, se, gap in table
    ]
    largest = max(abs(gap) for *_, gap in table)
    return "\n".join([*lines, f"largest gap: {largest:.1f} standard errors"])


def gap_summary(rows: Iterable[tuple[str, float, float, float]], *, title: str) -> str:
    """One line for the rows of `gap_table`: how many, the rms gap in standard errors, and the largest.

    The rms is near 1 where theory and simulation agree and the rows do not share their draws.

    Examples
    --------
    >>> from onestep_lib.figures.plotting import gap_summary
    >>> print(gap_summary([("train", 0.1, 0.102, 0.001), ("test", 0.5, 0.49, 0.02)], title="losses"))
    losses: 2 numbers, rms gap 1.5 s.e., largest +2.0 (train)
    """
    gaps = [(_gap(theory, simulation, se), name) for name, theory, simulation, se in rows]
    rms = np.sqrt(np.mean([gap**2 for gap, _ in gaps]))
    largest, name = max(gaps, key=lambda pair: abs(pair[0]))
    count = "1 number" if len(gaps) == 1 else f"{len(gaps)} numbers"
    return f"{title}: {count}, rms gap {rms:.1f} s.e., largest {largest:+.1f} ({name})"


def _gap(theory: float, simulation: float, se: float) -> float:
    """The gap in standard errors, rounded; -0.0 would print as "-0.0"."""
    return round((simulation - theory) / se, 1) + 0.0


def _digits(value: float, count: int) -> str:
    """Fixed notation with `count` significant digits; powers of ten outside 10^-4 ... 10^6."""
    if value == 0:
        return "0"
    if not 1e-4 <= abs(value) < 1e6:
        return f"{value:.{count - 1}e}"
    exponent = int(f"{value:e}".partition("e")[2])
    decimals = max(0, count - 1 - exponent)
    return f"{round(value, count - 1 - exponent):.{decimals}f}"


# White where JupyterLab's variable exists (its dark theme would swallow the ink), else transparent.
_GROUND = "color-mix(in srgb,#fff 100%,var(--jp-layout-color0))"


@dataclass(frozen=True, eq=False)
class Picture:
    """A figure as an image with its alternative text, whatever page it is shown on."""

    png: bytes
    alt: str
    width: int

    def __repr__(self) -> str:
        return f"<Picture: {' '.join(self.alt.split())}>"

    def _repr_png_(self) -> bytes:
        return self.png

    def _repr_html_(self) -> str:
        data = base64.b64encode(self.png).decode()
        wide, high = struct.unpack(">II", self.png[16:24])  # so that a page keeps room for it
        size = f'width="{self.width}" height="{round(self.width * high / wide)}"'
        return (
            f'<img class="onestep-picture" alt="{escape(self.alt)}" {size} '
            f'style="max-width:100%;height:auto;background:{_GROUND}" src="data:image/png;base64,{data}">'
        )


@dataclass(frozen=True)
class Drawing:
    """A drawing as SVG."""

    svg: str

    def _repr_svg_(self) -> str:
        return self.svg


def drawing(name: str) -> Drawing:
    """Return a drawing that several chapters show.

    Parameters
    ----------
    name : {"network", "pipeline"}
        The two-layer network, or the experiment: batches, what is done with them, what comes out.

    Examples
    --------
    >>> from onestep_lib.figures import drawing
    >>> "first layer" in drawing("network").svg
    True
    """
    return Drawing((resources.files("onestep_lib.figures") / "static" / f"{name}.svg").read_text("utf-8"))


def picture(drawn: Figure, *, alt: str) -> Picture:
    """Turn a figure into an image that carries its alternative text, and close the figure.

    Examples
    --------
    >>> from onestep_lib.figures import figure
    >>> from onestep_lib.figures.plotting import picture
    >>> drawn, _ = figure(size=(2, 1))
    >>> picture(drawn, alt="An empty pair of axes.").width  # of 110 dots an inch
    220
    """
    buffer = io.BytesIO()
    drawn.savefig(buffer, format="png", dpi=165, facecolor="none")
    plt.close(drawn)
    return Picture(buffer.getvalue(), alt, width=round(STYLE["figure.dpi"] * drawn.get_figwidth()))
