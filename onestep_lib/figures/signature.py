"""The book's signature figure: one step size, four views of the network after that step.

One slider moves the step; weights, features, learned function and losses follow, and the regime is named:
one draw of the two spectra, averages over repeats of the learned function and of the losses, and the theory
of :mod:`onestep_lib.large_step.one_curve` beside them.

Functions
---------
step_portrait        the numbers, for a setting with a path of step sizes
signature_explorer   the explorer of a portrait
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from onestep_lib._checks import check_instance, shown
from onestep_lib._threads import one_thread
from onestep_lib.experiment.network import feature_matrix
from onestep_lib.experiment.profiles import Profile, learned_profile
from onestep_lib.experiment.simulation import Draws, simulate
from onestep_lib.figures.explorer import Explorer
from onestep_lib.figures.panels import Panel, Readout, Slider
from onestep_lib.figures.series import Bars, Dots, HLine, Line, VLine
from onestep_lib.large_step.one_curve import one_step, step_regimes
from onestep_lib.no_step.spectrum import feature_law
from onestep_lib.settings import Losses, Setting
from onestep_lib.small_step.weights import weight_spectrum

__all__ = [
    "signature_explorer",
    "step_portrait",
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


@dataclass(frozen=True, eq=False)
class Portrait:
    """What one gradient step does, along a path of S step sizes.

    Parameters
    ----------
    setting : Setting
    regimes : ndarray of str, shape (S,)
        Names from `onestep_lib.large_step.one_curve.step_regimes`.
    weights : ndarray, shape (S, min(N, d))
        Singular values of the stepped weights of one draw, the largest first.
    features : ndarray, shape (S, min(n, N))
        Eigenvalues of F F^T/n of the same draw, the largest first, zeros left out.
    weight_edge, feature_edge : float
        Right ends of the two bulks without a step, in the limit.
    profile : Profile
    simulated, theory : Losses
    """

    setting: Setting
    regimes: np.ndarray
    weights: np.ndarray
    features: np.ndarray
    weight_edge: float
    feature_edge: float
    profile: Profile
    simulated: Losses
    theory: Losses


def step_portrait(
    setting: Setting, rng: np.random.Generator, edges: ArrayLike, repeats: int = 4, test_size: int = 2000
) -> Portrait:
    """Return spectra, learned function and losses of a network along a path of step sizes.

    Parameters
    ----------
    setting : Setting
        What `.one_step` covers, with a path of step sizes and one penalty.
    rng : numpy.random.Generator
    edges : array_like, shape (bins + 1,)
        Of the bins of the learned function, as in `learned_profile`.
    repeats : int
        Over which the learned function and the losses are averaged, at least 2.
    test_size : int
        Inputs a repeat for the learned function and the test loss.

    Raises
    ------
    ValueError
        If the step size is a single number, or the penalties are several.

    Examples
    --------
    >>> import numpy as np
    >>> from onestep_lib import Setting
    >>> from onestep_lib.figures import step_portrait
    >>> setting = Setting(n=200, d=50, N=80, step=[0, 10])
    >>> portrait = step_portrait(setting, np.random.default_rng(0), [-2, 0, 2], repeats=2)
    >>> print(portrait.weights[:, 0].round(1), round(portrait.weight_edge, 1))  # one leaves the bulk
    [2.1 5. ] 2.3
    """
    check_instance("setting", setting, Setting)
    if setting.steps.ndim != 1 or setting.ridges.ndim:
        raise ValueError(
            f"step must be a path and ridge one number, got {shown(setting.step)} and {shown(setting.ridge)}"
        )
    theory, regimes = one_step(setting), step_regimes(setting)
    one, profiled, repeated = rng.spawn(3)
    weights, features = _spectra(setting, one)
    return Portrait(
        setting,
        regimes,
        weights,
        features,
        weight_spectrum(setting).edge,
        feature_law(setting.replace(step=0.0)).edge,
        learned_profile(setting, profiled, edges, repeats, test_size),
        simulate(setting, repeated, repeats, test_size=test_size),
        theory,
    )


@one_thread()
def _spectra(setting: Setting, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Singular values of the weights and eigenvalues of F F^T/n of one draw after each step."""
    streams, weights, features = Draws(setting, rng), [], []
    X, _ = streams.ridge_batch
    for network in streams.networks():
        F = feature_matrix(network.weights, X, network.activation)
        gram = F @ F.T if setting.n < setting.N else F.T @ F
        weights.append(np.linalg.svd(network.weights, compute_uv=False))
        features.append(np.linalg.eigvalsh(gram / setting.n)[::-1])
    return np.stack(weights), np.stack(features)


def signature_explorer(
    portrait: Portrait, title: str, caption: str = "", initial: float = 0.0, plain: bool = False
) -> Explorer:
    r"""Return the explorer of a portrait, with one slider for :math:`\log\eta/\log n`.

    Parameters
    ----------
    portrait : Portrait
        With positive step sizes.
    title, caption : str
    initial : float
        The slider's value in the first picture.
    plain : bool
        For readers who know no spectra yet: only the learned function and the losses, a slider for
        :math:`\eta` itself, and words for the regime.

    Examples
    --------
    >>> import numpy as np
    >>> from onestep_lib import Setting
    >>> from onestep_lib.figures import signature_explorer, step_portrait
    >>> setting = Setting(n=200, d=50, N=80, step=[1, 20])
    >>> portrait = step_portrait(setting, np.random.default_rng(0), [-2, 0, 2], repeats=2)
    >>> explorer = signature_explorer(portrait, "One step")
    >>> explorer.readout_texts([1])[0]
    'giant step'
    """
    check_instance("portrait", portrait, Portrait)
    setting = portrait.setting
    if not np.all(setting.steps > 0):
        raise ValueError(f"portrait must have step sizes > 0 on a logarithmic slider, got {setting.step}")
    if plain:
        step = Slider("step", setting.steps, label="size of the step η", initial=initial, format="{:.3g}")
        panels = [_learned(portrait), _losses(portrait, setting.steps, "size of the step η", "log")]
        words = [_PLAIN[name] for name in portrait.regimes.tolist()]
        readouts = [Readout("for this network the step is", words, "step")]
    else:
        exponents = np.log(setting.steps) / np.log(setting.n)
        step = Slider("step", exponents, label=_STEP, initial=initial, format="{:.2f}")
        outcome = [_learned(portrait), _losses(portrait, exponents, _STEP, "linear")]
        panels = [_weights(portrait), _features(portrait), *outcome]
        readouts = [Readout("regime", portrait.regimes, "step")]
        readouts.append(Readout("step size η", setting.steps, "step", "{:.3g}"))
    readouts.append(Readout("test loss", portrait.theory.test, "step", "{:.2f}"))
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
    look = {"label": "network", "colour": "blue", "marker": "circle"}
    dots = Dots(profile.centres, profile.mean, profile.se, sliders="step", **look)
    return Panel(
        [Line(grid, target(grid), label="target", colour="ink"), dots],
        "input along the hidden direction",
        "output",
        alt="For small steps the network's output is a straight line; for large ones it bends along the "
        "target.",
        title="The learned function",
    )


def _losses(portrait: Portrait, at: np.ndarray, x_label: str, x_scale: str) -> Panel:
    zero = float(portrait.setting.target.power) + portrait.setting.noise**2
    series: list[Line | Dots | HLine] = [HLine(zero, label="predicting zero", dash="dashed")]
    for name, colour in (("test", "blue"), ("train", "orange")):
        values, seen = getattr(portrait.theory, name), getattr(portrait.simulated, name)
        error = getattr(portrait.simulated, f"{name}_se")
        series += [
            Line(at, values, label=name, colour=colour, dash="solid"),
            Dots(at[::2], seen[::2], error[::2], colour=colour, marker="circle"),
            Dots(at[:, None], values[:, None], sliders="step", colour="ink", marker="diamond"),
        ]
    return Panel(
        series,
        x_label,
        "loss",
        alt="Test loss and training loss against the step; dots of simulated networks lie near the two "
        "lines, and a diamond marks the chosen step on each.",
        x_scale=x_scale,
        y_limits=(0.0, 1.08 * zero),
        title="The losses",
    )
