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
(:mod:`onestep_lib.spiked_features.losses`) with a vocabulary of spikes, one a value of z. A Gaussian
readout is a vocabulary only up to a quadrature in z; the mean part of the fit is kernel ridge with the
kernel :math:`\mathbb E_z[\mu_0(u\kappa)\mu_0(u\kappa')c(z)]` and ridge 1/d, so the nodes must resolve
:math:`\mu_0(u_1z\kappa)` in z (Gauss-Hermite does not), and the finite-d penalty is part of the theory.

A cavity calculation, not a proof (derived in the chapter on one curve), compared with the network in
the stored table of :mod:`onestep_lib.experiment.sweep`. It holds for the centred or scaled
network and targets of mean zero. For c_2 != 0 it keeps only the diagonal of H in the basis of H-hat (within
1 % of the test loss at :math:`\eta=n^{0.62}` for relu). The fluctuation of the row lengths is that of
:mod:`onestep_lib.large_step.row_lengths`.

Its limits: random features at :math:`\eta=0`, :mod:`onestep_lib.large_step.stepped_model` for a readout of
signs, and for small steps the staircase of the exact step
(:func:`onestep_lib.small_step.gradient.exact_spike`).

Functions
---------
readout_nodes        the quadrature over the readout
stepped_vocabulary   the spiked random features of one step size
one_step             losses of a Setting at every step size
nearest_setting      what the theory covers that is nearest to any setting
step_regimes         what a step size does, in words
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from onestep_lib._checks import check_count, check_instance, check_nonnegative, check_number
from onestep_lib.initialisation import GivenRows, Vocabulary
from onestep_lib.large_step.stepped_model import (
    is_odd,
    readout_groups,
    require_stepped,
    rows_of,
    stepped_losses,
)
from onestep_lib.quadrature import gauss_legendre
from onestep_lib.settings import Losses, Setting
from onestep_lib.small_step.gradient import Gradient, gradient_of
from onestep_lib.small_step.spikes import spike_level
from onestep_lib.small_step.weights import weight_spectrum
from onestep_lib.spiked_features.model import SpikedModel

__all__ = [
    "one_step",
    "readout_nodes",
    "stepped_vocabulary",
]

_LARGEST = 4.0
_POWER = 1.5
# Where u_1 > 12 the bulk scale grows like the spike, u/c no more: 20 nodes leave 2e-3 of the test loss.
_MOST_NODES = 20
# Far below the error of the readout nodes.
_TOLERANCE = 1e-8


def readout_nodes(count: int) -> tuple[np.ndarray, np.ndarray]:
    r"""Return nodes z > 0 and weights for averages over the half-normal law, dense near 0.

    Gauss-Legendre in s on (0, 1) with :math:`z=4s^{3/2}`: the spacing near 0 shrinks like the width
    :math:`1/(u_1\kappa)` of the features' turn-over asks for.

    Examples
    --------
    >>> from onestep_lib.large_step import readout_nodes
    >>> z, weights = readout_nodes(12)
    >>> print(f"{weights @ z:.2f} {weights @ z**2:.2f}")  # sqrt(2/pi) and 1
    0.80 1.00
    """
    count = check_count("count", count)
    points, weights = gauss_legendre(count)
    s = (points + 1) / 2
    z = _LARGEST * s**_POWER
    mass = weights * s ** (_POWER - 1) * np.exp(-(z**2) / 2)
    return z, mass / mass.sum()


def stepped_vocabulary(setting: Setting, step: float, count: int | None = None) -> SpikedModel:
    r"""Return the spiked random features equivalent to the network after one step of size eta.

    Parameters
    ----------
    setting : Setting
        See `one_step` for what it covers.
    step : float
        The step size eta >= 0.
    count : int, optional
        Readout nodes a half line; by default :math:`8+\lceil g\rceil` for an odd activation,
        :math:`8+\lceil2g/3\rceil` otherwise (both signs of z are nodes), at most 20, where g is the
        larger of u_1 and :math:`\frac\eta{\sqrt N}\sqrt{\mathrm{Var}(\sigma')\,\bar y^2/\alpha_0}`, the
        growth of the spike and of the bulk with z. Signs and vocabularies are their own nodes.

    Examples
    --------
    >>> from onestep_lib import Setting
    >>> from onestep_lib.large_step import spike_strength, stepped_vocabulary
    >>> setting = Setting(n=400, d=200, N=300)
    >>> model = stepped_vocabulary(setting, step=20, count=12)
    >>> print(f"{model.fractions @ model.spikes**2:.2f} {spike_strength(setting, step=20) ** 2:.2f}")
    0.73 0.73
    """
    _require(setting)
    return next(_stepped(setting, [check_number("step", step, check_nonnegative)], count))


def _require(setting: Setting) -> None:
    require_stepped(setting)
    setting.target.require_centred()


def _stepped(setting: Setting, steps: Sequence[float], count: int | None) -> Iterator[SpikedModel]:
    """`stepped_vocabulary` of a setting that has been checked, along a curve of step sizes."""
    gradient = gradient_of(setting)
    groups = []
    for rate in np.asarray(steps) / np.sqrt(setting.N):
        z, fractions = _vocabulary(setting, gradient, rate, count)
        groups.append((rate * z, fractions))
    return rows_of(setting, gradient, groups, "full")


def _vocabulary(
    setting: Setting, gradient: Gradient, rate: float, count: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """The values of z and their fractions; z and -z are one group for an odd activation.

    For a linear one all are: its features are linear in z, and only the mean of z^2 counts.
    """
    sigma = gradient.activation
    odd = is_odd(sigma)
    if rate and isinstance(setting.readout, Vocabulary):
        return readout_groups(setting)
    if setting.readout != "gaussian" or rate == 0 or sigma.nonlinear_power == 0:
        z, fractions = np.ones(1), np.ones(1)
    else:
        # A row changes with z by its spike u_1, or by its bulk where that grows faster (c_1 -> 0).
        growth = rate * np.sqrt(max(sigma.c1**2 * gradient.power, gradient.spread)) / (1.0 if odd else 1.5)
        z, fractions = readout_nodes(min(8 + int(np.ceil(growth)), _MOST_NODES) if count is None else count)
    if odd:
        return z, fractions
    return np.concatenate([-z[::-1], z]), np.concatenate([fractions[::-1], fractions]) / 2


def one_step(
    setting: Setting, count: int | None = None, finite_d: bool = True, leverage: bool = True
) -> Losses:
    r"""Return the losses after one exact gradient step, at every step size of the setting.

    At step 0 they are those of random features, for small steps those of the staircase, for
    :math:`\eta\sim\sqrt N` those of the giant step. Fixed points and averages are good to 1e-8, the
    readout nodes to 5e-4 of the test loss (odd activations, :math:`\eta\ge n^{0.6}`; 3e-4 elsewhere; 4e-3 at
    :math:`u_1\sim100`), and for c_2 != 0 the bins of the spectrum of H-hat to 3e-4.

    Parameters
    ----------
    setting : Setting
        With ``output="centred"`` or ``"scaled"``, Gaussian inputs, a target of mean zero, ridge > 0;
        any readout, either kind of rows.
    count : int, optional
        See `stepped_vocabulary`.
    finite_d : bool
        Keep the leading correction of finite d, the penalty on the mean part.
    leverage : bool
        Keep also the O(1/d) leverage of the mean part; needs ``finite_d=True`` and d >= 2.

    Returns
    -------
    Losses
        Of the shape ``setting.shape``, in the normalisation of :mod:`onestep_lib.settings`.

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

    - a target He_2 at steps of 6 to 23 :math:`\sqrt N`: the network learns some of it, most at small d, and
      lies below (relu: 7 to 10 % at d = 200; abs at 12 :math:`\sqrt N`: 17 % at d = 200, 7 % at 800);
    - :math:`n\gtrsim d^2`, where quadratic features are learned without a step, and d of a few units
      (n = d^2 = 900: 5 to 10 % for tanh, a factor of 4 for relu with He_2 at step 0; d = 2: a factor of 1.3
      to 4);
    - labels whose E y^2 comes from values that a batch seldom holds (exp(2t), He_8): the leverage stays of
      order 1/d, but at d = 100 it leaves the objective 1 to 3 % too low (``leverage=False``: 0.5 %); relu
      with He_6 at step 100 lies 20 % above the network at d = 100, with and without it.

    Examples
    --------
    >>> from onestep_lib import Setting, one_step, random_features
    >>> setting = Setting(n=2000, d=1000, N=1500, step=[0, 20, 60], noise=0.3)
    >>> print(one_step(setting).test.round(2), round(random_features(setting.replace(step=0)).test, 2))
    [0.41 0.23 0.27] 0.41
    """
    _require(setting)
    models = _stepped(setting, np.atleast_1d(setting.steps).tolist(), count)
    return stepped_losses(models, setting, finite_d, leverage, _TOLERANCE)


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
    check_instance("setting", setting, Setting)
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
    check_instance("setting", setting, Setting)
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
