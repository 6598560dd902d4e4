r"""Conventions: one experiment in the notation of four papers, and back.

The library's normalisation is that of :mod:`onestep_lib.settings` (Moniri et al.). The same experiment in
each paper, with r the residual at initialisation:

========== ========================= ========================= =========================================
paper      ratios                    network                   second layer
========== ========================= ========================= =========================================
moniri     phi = d/n, psi = d/N      a . s(Wx)                 (1/n)\|y - F a\|^2 + lambda \|a\|^2
cui        alpha = n/d, beta = N/d   a . s(Wx)/sqrt(N)         sum (y_i - f_i)^2 + lambda \|a\|^2
ba         psi1 = n/d, psi2 = N/d    a . s(Wx)/sqrt(N)         (1/n)\|y - F a/sqrt(N)\|^2 + (lambda/N)\|a\|^2
mei        psi1 = N/d, psi2 = n/d    a . s(theta x/sqrt(d))    (1/n)\|y - F a\|^2 + (N lambda/d) \|a\|^2
========== ========================= ========================= =========================================

========== ============================================== ================== ====================
paper      first-layer step                               training loss      test loss
========== ============================================== ================== ====================
moniri     W + eta (1/n)[(a r^T) o s'(W X^T)] X           with the penalty   with the label noise
cui        W - eta grad (1/2n)\|y - f\|^2                 without            with
ba         W - eta sqrt(N) grad (1/2n)\|y - f\|^2         without            without
mei        none                                           with               without
========== ============================================== ================== ====================

In cui and ba the readout has entries of order 1/sqrt(N), so that the network's output is of order
1/sqrt(N) at initialisation (``output="scaled"``); in cui the step is large for eta of order N, in ba and
moniri for eta of order sqrt(N). The rows of theta in mei have length sqrt(d). In cui the gradient's batch has
its own ratio alpha_0 = n_0/d; left out, it is alpha. The others have one batch size.

Sources: Moniri et al., arXiv 2310.07891, section 2; Cui et al., arXiv 2402.04980, section 2; Ba et al.,
arXiv 2205.01445, sections 1 and 2; Mei and Montanari, arXiv 1908.05355, section 1.

Functions
---------
problem_in     setting's numbers in a paper's notation
setting_from   library's setting for a paper's numbers at dimension d
losses_in      losses as a paper defines them; errors are those of `problem_in`
losses_from    library's losses from a paper's
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from onestep_lib._checks import (
    check_choice,
    check_count,
    check_instance,
    check_nonnegative,
    check_number,
    check_path,
    check_positive,
    check_real,
    shown,
)
from onestep_lib.settings import Losses, Setting

Value = float | np.ndarray


@dataclass(frozen=True, eq=False)
class Convention:
    """How a paper writes the experiment.

    Parameters
    ----------
    source : str
    samples, width : str
        The paper's names of its two ratios, of the samples and of the width.
    inverted : bool
        Whether these are d/n and d/N (True) or n/d and N/d.
    penalty_factor : callable
        The paper's penalty over the library's, from a `Setting`.
    step_factor : callable or None
        The paper's step over the library's eta; None if it takes no step.
    penalised_training : bool
        Whether its training loss includes the penalty.
    noisy_test : bool
        Whether its test loss includes the label noise.
    fixed : dict
        Fields of `Setting` that the paper fixes, beside one update on fresh data.
    step_samples : str or None
        The paper's name of the ratio of the gradient's batch; None if that has n samples.
    """

    source: str
    samples: str
    width: str
    inverted: bool
    penalty_factor: Callable[[Setting], float]
    step_factor: Callable[[Setting], float] | None
    penalised_training: bool
    noisy_test: bool
    fixed: dict[str, Any]
    step_samples: str | None = None


# By name, so that a convention can be pickled.
def _same(setting: Setting) -> float:
    return 1.0


def _samples_per_neuron(setting: Setting) -> float:
    return setting.n / setting.N


def _inputs_per_neuron(setting: Setting) -> float:
    return setting.psi


def _root_width(setting: Setting) -> float:
    return float(np.sqrt(setting.N))


CONVENTIONS: dict[str, Convention] = {
    "moniri": Convention(
        "Moniri et al., arXiv 2310.07891", "phi", "psi", True,
        _same, _same, True, True, {},
    ),
    "cui": Convention(
        "Cui et al., arXiv 2402.04980", "alpha", "beta", False,
        _samples_per_neuron, _root_width, False, True,
        {"output": "scaled", "rows": "spherical"}, "alpha_0",
    ),
    "ba": Convention(
        "Ba et al., arXiv 2205.01445", "psi1", "psi2", False,
        _same, _same, False, False, {"output": "scaled"},
    ),
    "mei": Convention(
        "Mei and Montanari, arXiv 1908.05355", "psi2", "psi1", False,
        _inputs_per_neuron, None, True, False, {"rows": "spherical", "inputs": "spherical"},
    ),
}  # fmt: skip
"""The conventions by name."""


@dataclass(frozen=True, eq=False)
class PaperProblem:
    """The numbers of an experiment in a paper's notation.

    Parameters
    ----------
    convention : str
        A name in `CONVENTIONS`.
    ratios : dict
        The paper's two ratios by its own names; a third for a gradient's batch of its own size.
    penalty, step : float or ndarray
    """

    convention: str
    ratios: dict[str, float]
    penalty: Value
    step: Value


@dataclass(frozen=True, eq=False)
class PaperLosses:
    """What a paper calls its training and its test loss."""

    training: Value
    test: Value


def _convention(name: str) -> Convention:
    return CONVENTIONS[check_choice("convention", name, CONVENTIONS)]


def _require(convention: str, setting: Setting) -> Convention:
    """Return the convention if it can express the setting, or raise."""
    check_instance("setting", setting, Setting)
    rule = _convention(convention)
    for name, wanted in ({"fresh": True, "updates": 1} | rule.fixed).items():
        if getattr(setting, name) != wanted:
            raise ValueError(
                f"{name} must be {wanted!r} in the convention {convention!r}, got {getattr(setting, name)!r}"
            )
    if rule.step_samples is None and setting.n_0 not in (None, setting.n):
        raise ValueError(
            f"n_0 must be None or n = {setting.n} in the convention {convention!r}, got {setting.n_0}"
        )
    if rule.step_factor is None and np.any(setting.steps):
        raise ValueError(f"step must be 0 in the convention {convention!r}, got {shown(setting.step)}")
    return rule


def _ratios(problem: PaperProblem, rule: Convention) -> dict[str, float]:
    """The ratios, if these are the ones the paper names."""
    names, optional = {rule.samples, rule.width}, {rule.step_samples} - {None}
    if not isinstance(problem.ratios, Mapping) or set(problem.ratios) - optional != names:
        wanted = " and ".join(sorted(names)) + "".join(f" (and {name})" for name in optional)
        raise ValueError(
            f"ratios must be {wanted} in the convention {problem.convention!r}, got {shown(problem.ratios)}"
        )
    return {name: check_number(name, value, check_positive) for name, value in problem.ratios.items()}


def _of_setting(name: str, value: np.ndarray, setting: Setting) -> np.ndarray:
    """`value` in the shape of the setting's losses, or raise."""
    try:
        return np.broadcast_to(value, setting.shape)
    except ValueError:
        raise ValueError(
            f"{name} must have the shape {setting.shape} of the setting's losses, got shape {value.shape}"
        ) from None


def problem_in(convention: str, setting: Setting) -> PaperProblem:
    """Return the setting's numbers in a paper's notation.

    Raises
    ------
    ValueError
        For an unknown convention, or a setting that it cannot express: a step in a paper that takes none,
        another value of a field that the paper fixes.

    Examples
    --------
    >>> from onestep_lib import Setting
    >>> from onestep_lib.conventions import problem_in
    >>> s = Setting(n=400, d=200, N=100, ridge=0.1, step=2.0, rows="spherical", output="scaled")
    >>> cui = problem_in("cui", s)
    >>> print(cui.ratios, f"{cui.penalty:.2f} {cui.step:.2f}")  # penalty times n/N, step times sqrt(N)
    {'alpha': 2.0, 'beta': 0.5} 0.40 20.00
    >>> problem_in("cui", s.replace(n_0=1000)).ratios
    {'alpha': 2.0, 'beta': 0.5, 'alpha_0': 5.0}
    """
    rule = _require(convention, setting)
    power = -1.0 if rule.inverted else 1.0
    ratios = {rule.samples: (setting.n / setting.d) ** power, rule.width: (setting.N / setting.d) ** power}
    if rule.step_samples is not None and setting.n_0 is not None:
        ratios[rule.step_samples] = (setting.n_0 / setting.d) ** power
    factor = 1.0 if rule.step_factor is None else rule.step_factor(setting)
    penalty = setting.ridges * rule.penalty_factor(setting)
    return PaperProblem(convention, ratios, penalty[()], (setting.steps * factor)[()])


def setting_from(problem: PaperProblem, d: int, **fields: Any) -> Setting:
    """Return the library's setting for a paper's numbers at dimension d.

    Parameters
    ----------
    problem : PaperProblem
    d : int
        n, N and n_0 are d times the ratios, rounded to whole numbers.
    **fields
        Other fields of `Setting` (activation, target, noise, readout, ...); those the paper fixes may be
        left out.

    Raises
    ------
    ValueError
        For ratios that are not the paper's, a negative penalty or step, or as in `problem_in`.

    Examples
    --------
    >>> from onestep_lib.conventions import PaperProblem, setting_from
    >>> s = setting_from(PaperProblem("cui", {"alpha": 2.0, "beta": 0.5}, penalty=0.4, step=20.0), d=200)
    >>> print(s.n, s.N, f"{s.ridge:.2f} {s.step:.2f}")  # penalty over n/N, step over sqrt(N)
    400 100 0.10 2.00
    """
    check_instance("problem", problem, PaperProblem)
    rule = _convention(problem.convention)
    ratios = _ratios(problem, rule)
    penalty, step = check_path("penalty", problem.penalty), check_path("step", problem.step)
    power = -1.0 if rule.inverted else 1.0
    d = check_count("d", d)
    sizes = {name: round(d * ratio**power) for name, ratio in ratios.items()}
    n, N = sizes[rule.samples], sizes[rule.width]
    own = {"n_0": sizes[rule.step_samples]} if rule.step_samples in sizes else {}
    bare = Setting(n=n, d=d, N=N, **own, **{**rule.fixed, **fields})
    factor = 1.0 if rule.step_factor is None else rule.step_factor(bare)
    setting = bare.replace(ridge=penalty / rule.penalty_factor(bare), step=step / factor)
    _require(problem.convention, setting)
    return setting


def losses_in(convention: str, losses: Losses, setting: Setting) -> PaperLosses:
    """Return the losses as a paper defines them; errors are those of `problem_in`.

    Examples
    --------
    >>> from onestep_lib import Losses, Setting
    >>> from onestep_lib.conventions import losses_in
    >>> s = Setting(n=400, d=200, N=100, noise=0.5, output="scaled")
    >>> ba = losses_in("ba", Losses(train=0.3, test=0.8, objective=0.4), s)
    >>> print(f"{ba.training:.2f} {ba.test:.2f}")  # without the penalty, without the noise's 0.25
    0.30 0.55
    """
    check_instance("losses", losses, Losses)
    rule = _require(convention, setting)
    training = losses.objective if rule.penalised_training else losses.train
    return PaperLosses(training, losses.test if rule.noisy_test else losses.test - setting.noise**2)


def losses_from(convention: str, losses: PaperLosses, setting: Setting, power: ArrayLike) -> Losses:
    r"""Return the library's losses from a paper's.

    Parameters
    ----------
    convention : str
    losses : PaperLosses
    setting : Setting
    power : array_like
        :math:`|\hat a|^2` in the library's normalisation, which a paper's training loss does not tell.

    Raises
    ------
    TypeError, ValueError
        For losses or a power that are no numbers of the setting's shape, a negative power, or as in
        `problem_in`.

    Examples
    --------
    >>> from onestep_lib import Setting
    >>> from onestep_lib.conventions import PaperLosses, losses_from
    >>> s = Setting(n=400, d=200, N=100, ridge=0.1)
    >>> losses = losses_from("moniri", PaperLosses(training=0.5, test=0.8), s, power=2.0)
    >>> print(f"{losses.train:.2f} {losses.objective:.2f}")  # they differ by ridge times power
    0.30 0.50
    """
    check_instance("losses", losses, PaperLosses)
    rule = _require(convention, setting)
    training = _of_setting("training", check_real("training", losses.training), setting)
    # Infinite where an unpenalised fit begins to interpolate.
    test = _of_setting("test", check_real("test", losses.test, infinite=True), setting)
    penalty = setting.ridges * _of_setting("power", check_nonnegative("power", power), setting)
    train = training - penalty if rule.penalised_training else training
    if not rule.noisy_test:
        test = test + setting.noise**2
    return Losses(train[()], test[()], (train + penalty)[()])
