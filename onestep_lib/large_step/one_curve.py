r"""One curve: the network after one gradient step of any size, from random features to the giant step.

A row of the stepped weights with readout :math:`a_j=z/\sqrt N` is a spike along the gradient direction
v plus a bulk,

.. math:: w=u(z)\,v+b,\qquad u(z)=\frac{\eta c_1\sqrt B}{\sqrt N}z,\qquad b\sim N(0,\Sigma(z)/d),

.. math:: \Sigma(z)=(I+t\hat H)^2+e\,H,\qquad t=\frac{\eta\,c'_2z}{\sqrt N},\qquad
          e=\frac{\eta^2z^2}N\,\frac{\mathrm{Var}(\sigma')-c_2'^2}{\alpha_0},

with :math:`c'_2=\mathbb E[\zeta\sigma'(\zeta)]=2c_2`, :math:`\alpha_0=n_0/d` of the gradient's batch,
:math:`B=c_{*,1}^2+\bar y^2/\alpha_0` and the batch matrices of
:mod:`onestep_lib.large_step.batch_squared` and :mod:`onestep_lib.large_step.batch_signed`.
Given its readout the network is therefore a spiked-random-features model
(:mod:`onestep_lib.spiked_features.losses`) with a vocabulary of spikes, one a value of z:
:mod:`onestep_lib.large_step.stepped_model`. The penalty of order 1/d on the mean part of its fit, kernel
ridge in z, is part of the theory.

A cavity calculation, not a proof (derived in the chapter on one curve), compared with the network in
the stored table of :mod:`onestep_lib.experiment.sweep`. It holds for the centred or scaled
network and targets of mean zero. The row lengths, and what they know of v, are those of
:mod:`onestep_lib.large_step.stepped_model`.

Its limits: random features at :math:`\eta=0`, and for small steps the staircase of the exact step
(:func:`onestep_lib.small_step.gradient.exact_spike`).

**The best step and the best penalty**, for any theory of the step. A theory is a function from a `Setting` to
`Losses`: `one_step`, `giant_step`, ``partial(finite_staircase, level=2)``, ... Its loss is minimised on a
grid of the penalties or steps first, then by Brent's bounded search between the two neighbours of the best
one. The loss can fall again at large steps, after it has risen beyond its first minimum (observed), so that
one bracket would not do: the grid decides which minimum it is.

The search uses values of the loss only. The derivative of a test loss is one of the linear response around
the fixed point, on a grid of kappa that the solution refines, which costs more than the twenty values that
Brent's method takes; and near its minimum the loss is flat, so that its value has all digits where the
minimiser has half of them.

Functions
---------
one_step            losses of a Setting at every step size
giant_step          the same
nearest_setting     what the theory covers that is nearest to any setting
step_regimes        what a step size does, in words
best_step           the best step size at each penalty
best_stepped_ridge  the best penalty at each step size
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from onestep_lib._checks import check_items, check_positive, shown
from onestep_lib._values import plain
from onestep_lib.initialisation import GivenRows
from onestep_lib.large_step.stepped_model import stepped_models
from onestep_lib.no_step.gaussian_equivalence import smallest
from onestep_lib.settings import Losses, Setting
from onestep_lib.small_step.spikes import spike_level
from onestep_lib.small_step.weights import weight_spectrum
from onestep_lib.spiked_features.losses import point_losses
from onestep_lib.spiked_features.model import Ratios, SpikedModel

__all__ = [
    "best_step",
    "giant_step",
    "one_step",
]

# Far below the error of the readout nodes.
TOLERANCE = 1e-8


def one_step(setting: Setting | Sequence[Setting], bulk: str = "full") -> Losses:
    r"""Return the losses after one exact gradient step, at every step size of the setting.

    At step 0 they are those of random features, for small steps those of the staircase, for
    :math:`\eta\sim\sqrt N` those of the giant step. Fixed points and averages are good to 1e-8, the readout
    nodes to 4e-4 of every loss (spikes :math:`u_1` up to 20; 4e-3 at 100), and for :math:`c_2\ne0` the bins
    of the spectrum of :math:`\hat H` to 3e-4.

    Parameters
    ----------
    setting : Setting or sequence of Setting
        With ``output="centred"`` or ``"scaled"``, Gaussian inputs, a target of one direction and ridge > 0;
        any readout, either kind of rows. A Gaussian readout asks for a target of mean zero. Several settings,
        such as those of a learning curve, have one shape, and cost far less together.
    bulk : {"full", "isotropic"}
        The whole covariance of the bulk rows, or their scales only.

    Returns
    -------
    Losses
        Of the shape ``setting.shape``, in the normalisation of :mod:`onestep_lib.settings`; of several
        settings with an axis before it.

    Raises
    ------
    ValueError
        For a setting outside these conditions.
    ConvergenceError
        If a solver does not reach its tolerance.

    Notes
    -----
    On one processor the same call gives the same bits, whatever was called before. Another may differ in last
    digits, which the tolerance turns into at most 1e-7 of a loss (measured; so much at n = N and a ridge of
    1e-7, 1e-9 at ordinary penalties).

    Where networks of the usual sizes are not yet at this limit (measured; test loss unless said):

    - n of 100 to 300: the test loss lies 1 to 3 % above the theory, train and objective within a few per
      cent; at large steps and little penalty train may be off by more than 10 %;
    - a target :math:`He_2` at steps of 6 to 23 :math:`\sqrt N`: the network learns some of it, most at small
      d, and lies below (relu: 7 to 10 % at d = 200; abs at 12 :math:`\sqrt N`: 17 % at d = 200, 7 % at 800);
    - :math:`n\gtrsim d^2`, where quadratic features are learned without a step, and d of a few units
      (n = d^2 = 900: 5 to 10 % for tanh, a factor of 4 for relu with :math:`He_2` at step 0; d = 2: a factor
      of 1.3 to 4);
    - labels whose :math:`\mathbb E y^2` comes from values that a batch seldom holds (exp(2t), :math:`He_8`):
      relu with :math:`He_6` at step 100 lies 20 % above the network at d = 100.

    Examples
    --------
    >>> from onestep_lib import Setting, one_step, random_features
    >>> setting = Setting(n=2000, d=1000, N=1500, step=[0, 20, 60], noise=0.3)
    >>> print(one_step(setting).test.round(2), round(random_features(setting.replace(step=0)).test, 2))
    [0.41 0.23 0.27] 0.41
    >>> print(one_step([setting.replace(n=n) for n in (500, 4000)]).test.round(2))  # more samples
    [[0.88 0.67 0.75]
     [0.33 0.16 0.18]]
    """
    several = (setting,) if isinstance(setting, Setting) else check_items("setting", setting, Setting)
    shapes = [one.shape for one in several]
    if len(set(shapes)) != 1:
        raise ValueError(f"setting must hold settings of one shape, got {shown(shapes)}")
    found = point_losses([point for one in several for point in _points(one, bulk)])
    shape = shapes[0] if isinstance(setting, Setting) else (len(several), *shapes[0])
    return Losses.from_values(found.reshape(3, *shape))


def _points(setting: Setting, bulk: str) -> Iterator[tuple[SpikedModel, Ratios]]:
    """The stepped network at every step size, with every penalty."""
    if setting.readout == "gaussian":
        setting.require_centred()
    ridges = np.atleast_1d(check_positive("ridge", setting.ridge)).tolist()
    n, d, N = setting.n, setting.d, setting.N
    for model in stepped_models(setting, np.atleast_1d(setting.step).tolist(), bulk):
        for ridge in ridges:
            yield model, Ratios(n / d, N / d, ridge, 1 / d, TOLERANCE)


def giant_step(setting: Setting | Sequence[Setting], bulk: str = "full") -> Losses:
    r"""Return `one_step`: from steps of order :math:`\sqrt N` on it is called giant.

    Examples
    --------
    >>> from onestep_lib import Setting, giant_step
    >>> setting = Setting(n=400, d=200, N=300, step=[0, 17, 52], readout="signs")
    >>> print(giant_step(setting).test.round(3))
    [0.287 0.135 0.269]
    """
    return one_step(setting, bulk)


def nearest_setting(setting: Setting) -> Setting:
    """Return the setting that `one_step` covers next to a setting that can only be simulated.

    Gaussian inputs, independent rows, a fresh batch for the ridge, and one step of the same total size. Its
    losses, beside a simulation of the setting, show where the theory stops.

    Parameters
    ----------
    setting : Setting
        Of any inputs, `fresh` and `updates`.

    Examples
    --------
    >>> from onestep_lib import Setting
    >>> from onestep_lib.large_step.one_curve import nearest_setting
    >>> setting = Setting(n=400, d=200, N=300, step=[0, 10], inputs="rademacher", updates=3)
    >>> near = nearest_setting(setting)
    >>> near.inputs, near.updates, near.step
    ('gaussian', 1, (0.0, 30.0))
    """
    rows = "gaussian" if isinstance(setting.rows, GivenRows) else setting.rows
    return setting.replace(
        inputs="gaussian", fresh=True, updates=1, step=setting.total_steps, rows=rows, shared=0.0
    )


_COUNTED = ("1 spike", "2 spikes", "3 spikes or more")


def step_regimes(setting: Setting) -> np.ndarray:
    r"""Return what each step size does, in words, shape ``setting.steps.shape``.

    Below the threshold at which the weights have an outlier
    (:func:`onestep_lib.small_step.weights.weight_spectrum`) these are random features; then the staircase,
    with as many spikes as :func:`onestep_lib.small_step.spikes.spike_level` counts at
    :math:`\alpha=\log\eta/\log n`; from :math:`\alpha=1/2` on the giant step. The borders are those of the
    limit: no loss jumps there.

    Parameters
    ----------
    setting : Setting

    Examples
    --------
    >>> from onestep_lib import Setting
    >>> from onestep_lib.large_step.one_curve import step_regimes
    >>> for name in step_regimes(Setting(n=10_000, d=5_000, N=5_000, step=[0.1, 5, 12, 30, 100])):
    ...     print(name)
    random features
    staircase, 1 spike
    staircase, 2 spikes
    staircase, 3 spikes or more
    giant step
    """
    threshold, n = weight_spectrum(setting).threshold, setting.n
    names = [_regime(step, threshold, n) for step in setting.steps.ravel().tolist()]
    return np.array(names).reshape(setting.steps.shape)


def _regime(step: float, threshold: float, n: int) -> str:
    # A power of n may round to either side of a border; at the border itself the larger step's name holds.
    exponent = float(np.log(step) / np.log(n)) + 1e-12 if step else -np.inf
    if exponent >= 0.5:
        return "giant step"
    if step < threshold:
        return "random features"
    level = spike_level(max(0.0, exponent))
    return f"staircase, {_COUNTED[min(level, len(_COUNTED)) - 1]}"


Theory = Callable[[Setting], Losses]

# In units of sqrt(N), where a row changes by order one, and of the features' largest eigenvalues.
_STEPS = np.geomspace(3e-3, 30.0, 32)
_RIDGES = np.geomspace(1e-7, 1e3, 61)
# Above the tolerance of a theory's fixed points, below what two choices can be told apart by.
_ROUNDING = 1e-7
_WIDTH = 1e-4


@dataclass(frozen=True, eq=False)
class Best:
    """A best choice and what it gives; arrays along the other choice.

    Parameters
    ----------
    value : float or ndarray
        The step size or the penalty; 0 where the test loss rises with every positive one that is tried.
    losses : Losses
        With it; for a penalty of 0 with the smallest one that is tried.
    """

    value: float | np.ndarray
    losses: Losses


def _best(theory: Theory, setting: Setting, varied: str, grid: np.ndarray) -> tuple[float, Losses]:
    """The best value of one argument of the setting, and the losses with it."""

    def losses(values: np.ndarray) -> Losses:
        return theory(setting.replace(**{varied: values}))

    found = smallest(lambda values: np.asarray(losses(values).test), grid, _ROUNDING, _WIDTH, varied)
    return 0.0 if found == grid[0] else found, losses(np.array([found]))


def _gathered(found: list[tuple[float, Losses]], shape: tuple[int, ...]) -> Best:
    values, losses = zip(*found, strict=True)
    return Best(plain(np.reshape(values, shape)), Losses.joined(losses, shape))


def best_step(setting: Setting, theory: Theory = one_step) -> Best:
    r"""Return the step size with the smallest test loss at each penalty of the setting.

    Formulas and method in :mod:`onestep_lib.large_step.one_curve`; steps from 0 to :math:`30\sqrt N`.

    Parameters
    ----------
    setting : Setting
        Its step sizes do not count.
    theory : callable
        From a setting with a path of steps to its losses.

    Returns
    -------
    Best
        Of the shape of the penalties.

    Raises
    ------
    TypeError, ValueError
        As the theory does.
    ConvergenceError
        If the largest step is the best, or as the theory does.

    Examples
    --------
    >>> from onestep_lib import Setting, one_step
    >>> from onestep_lib.large_step import best_step
    >>> setting = Setting(n=400, d=200, N=300, target="sin", noise=0.3, ridge=0.3)
    >>> best = best_step(setting)
    >>> print(f"{best.value:.0f} {best.losses.test:.3f}")
    31 0.229
    >>> one_step(setting.replace(step=[0, 15, 60])).test.round(3)
    array([0.33 , 0.235, 0.234])
    """
    grid = np.append(0.0, _STEPS * np.sqrt(setting.N))
    each = [setting.replace(ridge=ridge) for ridge in np.atleast_1d(setting.ridge)]
    return _gathered([_best(theory, one, "step", grid) for one in each], setting.ridges.shape)


def best_stepped_ridge(setting: Setting, theory: Theory = one_step) -> Best:
    r"""Return the penalty with the smallest test loss at each step size of the setting.

    Method in :mod:`onestep_lib.large_step.one_curve`; penalties over ten powers of ten.

    Parameters
    ----------
    setting : Setting
        Its penalties do not count.
    theory : callable
        From a setting with one step and a path of penalties to its losses.

    Returns
    -------
    Best
        Of the shape of the steps.

    Raises
    ------
    TypeError, ValueError
        As the theory does.
    ConvergenceError
        If the largest penalty is the best, or as the theory does.

    Examples
    --------
    >>> from onestep_lib import Setting
    >>> from onestep_lib.large_step.one_curve import best_stepped_ridge
    >>> best = best_stepped_ridge(Setting(n=400, d=200, N=300, noise=0.5, step=[0, 10]))
    >>> print(best.value.round(2), best.losses.test.round(3))
    [0.06 0.17] [0.616 0.462]
    """
    sigma = setting.activation
    grid = _RIDGES * (sigma.c1**2 + sigma.nonlinear_power) * (1 + setting.N / setting.n)
    each = [setting.replace(step=step) for step in np.atleast_1d(setting.step)]
    return _gathered([_best(theory, one, "ridge", grid) for one in each], setting.steps.shape)
