"""The book's signature figure: one step size, four views of the network after that step.

One slider moves the step; weights, features, learned function and losses follow, and the regime is named.
The numbers come from :func:`onestep_lib.experiment.portraits.step_portrait`.

Functions
---------
signature_explorer   the explorer of a portrait
"""

from __future__ import annotations

import numpy as np

from onestep_lib._checks import check_flag, check_instance, check_text
from onestep_lib.experiment.portraits import Portrait
from onestep_lib.figures.explorer import Explorer, Panel, Readout
from onestep_lib.figures.series import Bars, Dots, HLine, Line, VLine
from onestep_lib.figures.sliders import Slider

__all__ = [
    "signature_explorer",
]

_BINS = 36
_HEIGHT = 0.12  # of a dot that stands for one value, in units of the highest bar
_APART = 1.05  # of the edge: an eigenvalue of a finite matrix may lie a little outside
_STEP = "size of the step, log η / log n"
_PLAIN = {
    "random features": "next to nothing: its features are still random",
    "staircase, 1 spike": "small: its neurons share a line",
    "staircase, 2 spikes": "larger: its neurons share a line and a bend",
    "staircase, 3 spikes or more": "large: its neurons share a line and several bends",
    "giant step": "giant: its neurons share all curves of one variable",
}
"""The names of `onestep_lib.large_step.one_curve.step_regimes` for who has not read of spikes."""


def signature_explorer(
    portrait: Portrait, title: str, caption: str = "", initial: float = 0.0, outcome_first: bool = False
) -> Explorer:
    r"""Return the explorer of a portrait, with one slider for :math:`\log\eta/\log n`.

    Parameters
    ----------
    portrait : Portrait
        With positive step sizes.
    title, caption : str
    initial : float
        The exponent of the first picture.
    outcome_first : bool
        Show the learned function and the losses above the spectra, and say in words what a regime is: for
        readers who know no spectra yet.

    Examples
    --------
    >>> import numpy as np
    >>> from onestep_lib import Setting
    >>> from onestep_lib.experiment import step_portrait
    >>> from onestep_lib.figures import signature_explorer
    >>> setting = Setting(n=200, d=50, N=80, step=[1, 20])
    >>> portrait = step_portrait(setting, np.random.default_rng(0), [-2, 0, 2], repeats=2)
    >>> explorer = signature_explorer(portrait, "One step")
    >>> explorer.readout_texts([1])[0]
    'giant step'
    """
    check_instance("portrait", portrait, Portrait)
    check_text("title", title)
    check_text("caption", caption)
    outcome_first = check_flag("outcome_first", outcome_first)
    setting = portrait.setting
    if not np.all(setting.steps > 0):
        raise ValueError(f"portrait must have step sizes > 0 on a logarithmic slider, got {setting.step}")
    exponents = np.log(setting.steps) / np.log(setting.n)
    step = Slider("step", exponents, label=_STEP, initial=initial, format="{:.2f}")
    plain = [_PLAIN[name] for name in portrait.regimes.tolist()]
    readouts = [
        Readout("for this network the step is", plain, "step")
        if outcome_first
        else Readout("regime", portrait.regimes, "step"),
        Readout("step size η", setting.steps, "step", "{:.3g}"),
        Readout("test loss", portrait.theory.test, "step", "{:.2f}"),
    ]
    spectra = [_weights(portrait), _features(portrait)]
    outcome = [_learned(portrait), _losses(portrait, exponents)]
    panels = outcome + spectra if outcome_first else spectra + outcome
    return Explorer(title, sliders=[step], panels=panels, readouts=readouts, caption=caption)


def _spectrum(values: np.ndarray, edge: float, x_label: str, title: str, alt: str) -> Panel:
    """Counts of the values in the bulk, a dot for each of the others, and the edge; on a logarithmic axis."""
    low = float(np.quantile(values, 0.002)) / 1.2
    edges = np.geomspace(low, _APART * edge, _BINS + 1)
    outside = values > _APART * edge
    # A step changes little in the bulk; what it pushes out is drawn singly, or one value would be lost.
    counts = np.array([np.histogram(row[~out], edges)[0] for row, out in zip(values, outside, strict=True)])
    width = max(1, int(outside.sum(axis=1).max()))
    apart = np.where(outside, values, np.nan)[:, :width]
    heights = np.where(np.isnan(apart), np.nan, _HEIGHT * counts.max())
    series = [
        Bars(edges, counts, sliders="step", label="bulk", colour="blue"),
        Dots(apart, heights, sliders="step", label="outside", colour="orange", marker="diamond"),
        VLine(edge, label="edge"),
    ]
    return Panel(
        series,
        x_label,
        "how many",
        alt=alt,
        x_scale="log",
        x_limits=(low, 1.5 * float(values.max())),
        title=title,
    )


def _weights(portrait: Portrait) -> Panel:
    return _spectrum(
        portrait.weights,
        portrait.weight_edge,
        "singular value",
        "The weights",
        "The singular values of the weights fill a bulk; from some step size on one of them stands to the "
        "right of it, the further the larger the step.",
    )


def _features(portrait: Portrait) -> Panel:
    return _spectrum(
        portrait.features,
        portrait.feature_edge,
        "eigenvalue of FFᵀ/n",
        "The features",
        "The eigenvalues of the features on a logarithmic axis: a bulk, and outside it first one eigenvalue, "
        "then several as the step grows.",
    )


def _learned(portrait: Portrait) -> Panel:
    profile, target = portrait.profile, portrait.setting.target
    grid = np.linspace(profile.centres[0], profile.centres[-1], 81)
    dots = Dots(profile.centres, profile.mean, profile.se, sliders="step", label="network", marker="circle")
    return Panel(
        [Line(grid, target(grid), label="target", colour="ink"), dots],
        "input along the hidden direction",
        "output",
        alt="For small steps the network's output is a straight line; for large ones it bends along the "
        "target.",
        title="The learned function",
    )


def _losses(portrait: Portrait, exponents: np.ndarray) -> Panel:
    zero = float(portrait.setting.target.power) + portrait.setting.noise**2
    series: list[Line | Dots | HLine] = [HLine(zero, label="predicting zero", dash="dashed")]
    for name, colour in (("test", "blue"), ("train", "orange")):
        values, seen = getattr(portrait.theory, name), getattr(portrait.simulated, name)
        error = getattr(portrait.simulated, f"{name}_se")
        series += [
            Line(exponents, values, label=name, colour=colour, dash="solid"),
            Dots(exponents[::2], seen[::2], error[::2], colour=colour, marker="circle"),
            Dots(exponents[:, None], values[:, None], sliders="step", colour="ink", marker="diamond"),
        ]
    return Panel(
        series,
        _STEP,
        "loss",
        alt="Test loss and training loss against the step; dots of simulated networks lie near the two "
        "lines, and a diamond marks the chosen step on each.",
        y_limits=(0.0, 1.08 * zero),
        title="The losses",
    )
