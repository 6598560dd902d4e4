r"""The staircase: what each spike in the features gains, in the limit and at finite n.

Ridge regression on F_l (:mod:`onestep_lib.small_step.spikes`) has, by Woodbury's identity, the objective

.. math:: L_{tr}(F_0)-\Delta,\qquad
          \Delta=\lambda\,\hat b^\top M^{-1}\hat b,\quad \hat b=P^\top(t\circ s),\quad
          s_q=\sqrt{q!}\,c_{*,q}\,\rho^q\ (q\ge1),

with P, t and M of :mod:`onestep_lib.small_step.spikes` and rho the cosine of b and :math:`\beta_*`; s_0 = 0.
The two batches part here: k = n/N, :math:`m_1` and :math:`m_2` belong to the ridge batch, while rho, the
length of b in P and the widening q come from the gradient's, through :math:`d/n_0` alone. As :math:`n_0`
grows rho goes to 1 and q to 0, and the gains rise to those of a known direction.

The step size eta enters through P alone, so that this is the loss of F_l as a function of eta, at any eta
(`finite_staircase`; not in the papers). F_l stands for the network's features only while eta is small
against sqrt(n). When all its spikes are large, eta drops out: Delta has risen to the level Delta_l, which
depends on the powers kappa^k, k <= l, with :math:`c_k` != 0 (`staircase`),

.. math:: \Delta_l=\lambda\,b^\top G^{-1}b,\qquad G_{ij}=\sum_qq!\,\xi_{iq}\xi_{jq}t_q,\qquad
          b_i=\sum_{q\ge1}q!\,\xi_{iq}\,c_{*,q}\,\rho^q\,t_q,

with :math:`x^k=\sum_q\xi_{kq}He_q(x)`, where t_0 is changed by the constant parts of :math:`F_0`, all of size
N:

.. math:: t_0=\frac{km_1(1+\omega_xu)}{1+(\omega_0+\omega_w+\omega_x)u+\omega_w\omega_xu^2},\quad
          u=\frac{km_1}{1+\tau},\quad

          (\omega_0,\omega_w,\omega_x)=\Big(Nc_0^2p,\ \frac{2Nc_2^2}d,\ \frac{2Nc_2^2p}d\Big).

The three omega (symbols of this page only) are the sizes of the activation's mean, of the lengths of the rows
(0 unless these are Gaussian) and of those of the inputs (0 unless Gaussian); p is the share of 1 outside the
span of the :math:`a^{\circ k}`, :math:`c_k` != 0: for a Gaussian readout 1 at l = 1 and 2/3 at l = 2, 3 with
:math:`c_2\ne0`; for all ones 0. Other readouts enter through p alone (derived as for the Gaussian one: what
the infinite spikes span on the side of the neurons, they dominate), as long as these powers are linearly
independent: a vocabulary of G values that are not 0 has at most G infinite spikes. For t_0 = k :math:`m_1`
(:math:`c_0=0`, spherical rows) Delta_l is the sum of Moniri et al. (arXiv 2310.07891, theorem on the training
loss). For the exact step, whose rows the rest of the gradient lengthens by the widening q, give
``spike=exact_spike(setting)`` (:mod:`onestep_lib.small_step.gradient`): :math:`\xi_{kj}` becomes
:math:`\xi_{kj}(1+q)^{(k-j)/2}` throughout.

**Test loss, every level.** Generalised cross-validation is exact in the limit, so that with ' = d/dlambda

.. math:: \text{test}=-\frac{(L_{tr}/\lambda)'}{(km_1)^2},\qquad
          \Lambda_l=-\frac{(\Delta_l/\lambda)'}{(km_1)^2},\qquad \text{train}=(\lambda km_1)^2\,\text{test},

every derivative by implicit differentiation.

Functions
---------
staircase_gain     what they gain over step 0
staircase          the losses of F_l in the limit of infinite spikes
finite_gain        what they gain over step 0
finite_staircase   the losses of F_l at every step size
first_stairs       closed forms of the gains for l = 1, 2
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import factorial

from onestep_lib._checks import shown
from onestep_lib._values import plain
from onestep_lib.no_step.gaussian_equivalence import Traces, random_features, resolvent_traces
from onestep_lib.settings import Losses, Setting
from onestep_lib.small_step.gradient import Spike, gradient_spike
from onestep_lib.small_step.spikes import (
    power_basis,
    readout_factor,
    require_spikes,
    sample_side,
    spike_coefficients,
    spike_matrix,
)

__all__ = [
    "finite_staircase",
    "first_stairs",
    "staircase",
    "staircase_gain",
]


@dataclass(frozen=True, eq=False)
class Gain:
    """What spikes gain over random features; each of the shape of the setting's losses.

    Parameters
    ----------
    objective : float or ndarray
        Delta, the fall of the objective (the training loss of Moniri et al.).
    test : float or ndarray
        Lambda, the fall of the test loss.
    """

    objective: float | np.ndarray
    test: float | np.ndarray


def _traces(setting: Setting) -> Traces:
    sigma = setting.activation
    return resolvent_traces(setting.phi, setting.psi, setting.ridges, sigma.c1**2, sigma.nonlinear_power)


def _checked_spike(setting: Setting, spike: Spike | None) -> Spike:
    """The spike, if the setting has one that the formulas cover, whatever its step sizes."""
    require_spikes(setting, stepped=True)
    setting.activation.require_linear_part()
    return spike or gradient_spike(setting)


def _signal(setting: Setting, level: int, alignment: float) -> np.ndarray:
    """s_q = sqrt(q!) c_{*,q} rho^q for q = 0, ..., l: the label's part along h_q; s_0 = 0."""
    orders = np.arange(level + 1)
    signal = np.sqrt(factorial(orders)) * setting.target.coefficients(level) * alignment**orders
    signal[0] = 0.0
    return signal


def _quadratic(
    matrix: np.ndarray, dmatrix: np.ndarray, vector: np.ndarray, dvector: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """v^T M^{-1} v and its derivative, over leading axes."""
    # Unit diagonal first: powers of kappa, and spikes, differ in size by many orders.
    scale = 1 / np.sqrt(np.diagonal(matrix, axis1=-2, axis2=-1))
    matrix, dmatrix = (m * scale[..., None] * scale[..., None, :] for m in (matrix, dmatrix))
    vector, dvector = vector * scale, dvector * scale
    x = np.linalg.solve(matrix, vector[..., None])[..., 0]
    value = np.sum(vector * x, axis=-1)
    return value, np.sum((2 * dvector - np.einsum("...ij,...j->...i", dmatrix, x)) * x, axis=-1)


def _gain(setting: Setting, bulk: Traces, share: np.ndarray, dshare: np.ndarray) -> Gain:
    """The gains for Delta/lambda and its derivative."""
    m1 = setting.n / setting.N * bulk.m1
    objective = np.broadcast_to(setting.ridges * share, setting.shape)
    test = np.broadcast_to(-dshare / m1**2, setting.shape)
    return Gain(plain(objective.copy()), plain(test.copy()))


def _losses(setting: Setting, gain: Gain) -> Losses:
    """The losses of random features, less a gain."""
    base = random_features(setting.replace(step=np.zeros_like(setting.steps)))
    test = base.test - gain.test
    leftover = base.train / base.test
    return Losses(leftover * test, test, base.objective - gain.objective)


# Below this singular value of the normalised powers of the readout they count as dependent.
_SEPARATE = 1e-9


def _constant_share(setting: Setting, powers: np.ndarray) -> float:
    """p: the squared length of 1 outside the span of the z^k, which must be linearly independent."""
    factor = readout_factor(setting, int(powers.max()))
    directions = factor[powers] / np.linalg.norm(factor[powers], axis=1, keepdims=True)
    left, size, _ = np.linalg.svd(directions.T, full_matrices=False)
    if size.size < powers.size or size[-1] < _SEPARATE:
        raise ValueError(
            f"readout must have linearly independent powers z^k, k = {', '.join(map(str, powers))}, for this "
            f"many infinite spikes, got {shown(setting.readout)}, which has too few values"
        )
    return float(max(0.0, 1 - np.sum((factor[0] @ left) ** 2)))


def _dressed(setting: Setting, bulk: Traces, powers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """t_0 and its derivative, with the constant parts of :math:`F_0` eliminated."""
    sigma, N = setting.activation, setting.N
    t, dt = setting.n / N * bulk.m1, setting.n / N * bulk.dm1
    share, norm_part = _constant_share(setting, powers), 2 * N * sigma.c2**2 / setting.d
    of_mean = N * sigma.c0**2 * share
    of_rows = norm_part * (setting.rows == "gaussian")
    of_inputs = norm_part * share * (setting.inputs == "gaussian")
    u = t / (1 + bulk.tau)
    du = (dt - u * bulk.dtau) / (1 + bulk.tau)
    total = of_mean + of_rows + of_inputs
    top, bottom = 1 + of_inputs * u, 1 + total * u + of_rows * of_inputs * u**2
    dbottom = total + 2 * of_rows * of_inputs * u
    return t * top / bottom, dt * top / bottom + t * du * (of_inputs * bottom - top * dbottom) / bottom**2


def staircase_gain(setting: Setting, level: int, spike: Spike | None = None) -> Gain:
    r"""Return :math:`\Delta_l` and :math:`\Lambda_l`, what l infinite spikes gain over random features.

    Formulas in :mod:`onestep_lib.small_step.stairs`. The step sizes of the setting do not enter; they only
    give the result its shape. Powers with :math:`c_k=0` have no spike: an odd activation gains nothing at
    even levels.

    Parameters
    ----------
    setting : Setting
        With ridge > 0, a centred or scaled network, an activation with a derivative, one step on fresh
        data, and a readout whose powers z^k, k <= l, :math:`c_k` != 0, are linearly independent.
    level : int
        The number of spikes l >= 1.
    spike : Spike, optional
        The alignment of one draw of b, and the widening; by default the limit for a step of rank one.

    Returns
    -------
    Gain

    Raises
    ------
    ValueError
        For a setting outside these conditions, :math:`c_1=0`, or a target with a mean.
    ConvergenceError
        As in `onestep_lib.no_step.gaussian_equivalence.resolvent_traces`.

    Examples
    --------
    >>> from onestep_lib import Setting
    >>> from onestep_lib.small_step import staircase_gain
    >>> s = Setting(n=1000, d=500, N=400, target=(0, 1, 0.5, 0.5))
    >>> [round(staircase_gain(s, level).test, 3) for level in (1, 2, 3)]  # tanh is odd: level 2 gains nothing
    [0.211, 0.211, 0.328]
    """
    direction = _checked_spike(setting, spike)
    bulk = _traces(setting)
    powers = np.flatnonzero(spike_coefficients(setting, level)[1:]) + 1
    t, dt = (side[..., :-1] for side in sample_side(bulk, setting.n / setting.N, level))
    t[..., 0], dt[..., 0] = _dressed(setting, bulk, powers)
    basis = power_basis(level, direction.widening)[powers]
    signal = _signal(setting, level, direction.alignment)
    share, dshare = _quadratic(
        np.einsum("iq,...q,jq->...ij", basis, t, basis),
        np.einsum("iq,...q,jq->...ij", basis, dt, basis),
        (t * signal) @ basis.T,
        (dt * signal) @ basis.T,
    )
    return _gain(setting, bulk, share, dshare)


def staircase(setting: Setting, level: int, spike: Spike | None = None) -> Losses:
    """Return the losses of ridge regression on l infinite spikes: random features less `staircase_gain`.

    Parameters and errors are those of `staircase_gain`; the normalisation is that of
    :mod:`onestep_lib.settings`.

    Examples
    --------
    >>> from onestep_lib import Setting, random_features, staircase
    >>> s = Setting(n=1000, d=500, N=400, activation="centred softplus", target=(0, 1, 2**-0.5))
    >>> [round(losses.test, 3) for losses in (random_features(s), staircase(s, 1), staircase(s, 2))]
    [1.729, 1.452, 1.25]
    """
    return _losses(setting, staircase_gain(setting, level, spike))


def finite_gain(
    setting: Setting, level: int, spike: Spike | None = None, readout: np.ndarray | None = None
) -> Gain:
    r"""Return what F_l gains over random features at every step size of the setting.

    Formulas in :mod:`onestep_lib.small_step.stairs`. With ``spike=exact_spike(setting)``, a step below
    n^{1/2} and l from `onestep_lib.small_step.spikes.spike_level` these are the network's gains in the
    limit; beyond, F_l is no longer its features.

    Parameters
    ----------
    setting : Setting
        As in `staircase_gain`, but with any readout.
    level : int
        The number of spikes l >= 1.
    spike : Spike, optional
        :math:`|b|^2` and the alignment of one draw, and the widening; by default the limits for a step of
        rank one.
    readout : ndarray, shape (N,), optional
        A realised readout; by default the moments of its law.

    Returns
    -------
    Gain

    Raises
    ------
    ValueError, ConvergenceError
        As in `staircase_gain`.

    Examples
    --------
    >>> from onestep_lib import Setting
    >>> from onestep_lib.small_step import staircase_gain
    >>> from onestep_lib.small_step.stairs import finite_gain
    >>> s = Setting(n=1000, d=500, N=400, step=[1, 10, 1000])
    >>> (finite_gain(s, 1).test / staircase_gain(s, 1).test).round(3)
    array([0.297, 0.979, 1.   ])
    """
    direction = _checked_spike(setting, spike)
    bulk = _traces(setting)
    P = spike_matrix(setting, level, direction, readout)
    P = P.reshape(*setting.steps.shape, *(1,) * setting.ridges.ndim, *P.shape[-2:])
    t, dt = sample_side(bulk, setting.n / setting.N, level)
    signal = np.append(_signal(setting, level, direction.alignment), 0.0)
    eye = np.eye(P.shape[-1])
    share, dshare = _quadratic(
        np.einsum("...qi,...q,...qj->...ij", P, t, P) + (1 + bulk.tau)[..., None, None] * eye,
        np.einsum("...qi,...q,...qj->...ij", P, dt, P) + bulk.dtau[..., None, None] * eye,
        np.einsum("...qi,...q->...i", P, t * signal),
        np.einsum("...qi,...q->...i", P, dt * signal),
    )
    return _gain(setting, bulk, share, dshare)


def finite_staircase(
    setting: Setting, level: int, spike: Spike | None = None, readout: np.ndarray | None = None
) -> Losses:
    """Return the losses of ridge regression on F_l at every step size: random features less `finite_gain`.

    Parameters and errors are those of `finite_gain`; the normalisation is that of
    :mod:`onestep_lib.settings`.

    Examples
    --------
    >>> from onestep_lib import Setting, random_features, staircase
    >>> from onestep_lib.small_step import finite_staircase
    >>> s = Setting(n=1000, d=500, N=400)
    >>> print(f"{random_features(s).test:.3f} {staircase(s, level=1).test:.3f}")
    0.527 0.176
    >>> finite_staircase(s.replace(step=[0, 1, 10, 1000]), level=1).test.round(3)
    array([0.527, 0.423, 0.183, 0.176])
    """
    return _losses(setting, finite_gain(setting, level, spike, readout))


def first_stairs(setting: Setting, spike: Spike | None = None) -> tuple[Gain, Gain]:
    r"""Return the gains of the first step and of the second over the first, in closed form.

    .. math:: \Delta_1=k\lambda c_{*,1}^2\rho^2m_2,\qquad
              \Lambda_1=-\frac{c_{*,1}^2\rho^2m_2'}{km_1^2},

    .. math:: \Delta_2-\Delta_1=4\lambda c_{*,2}^2\rho^4\,h,\qquad
              \Lambda_2-\Lambda_1=-4c_{*,2}^2\rho^4\,\frac{h'}{(km_1)^2},\qquad
              h=\frac{(km_1)^2}{2km_1+(1+q)^2t_0},

    rho the alignment, q the widening, :math:`c_2\ne0`. For q = 0 and t_0 = k :math:`m_1`, h = k :math:`m_1`/3
    (Moniri et al., arXiv 2310.07891, corollary for l = 1, 2); a constant part of the activation makes it k
    :math:`m_1`/2 for every q, and so does q = -1, that of rows normalised again after the step.

    Parameters and errors are those of `staircase_gain`.

    Examples
    --------
    >>> from onestep_lib import Setting
    >>> from onestep_lib.small_step import first_stairs, staircase_gain
    >>> s = Setting(n=1000, d=500, N=400, activation="softplus", target=(0, 1, 0.5))
    >>> first, second = first_stairs(s)
    >>> print(f"{first.test + second.test:.4f} {staircase_gain(s, level=2).test:.4f}")
    0.5086 0.5086
    """
    spike = _checked_spike(setting, spike)
    if setting.activation.c2 == 0:
        raise ValueError(f"activation must have c_2 != 0 for a second step, got {setting.activation.name!r}")
    bulk, k, target = _traces(setting), setting.n / setting.N, setting.target
    t, dt = k * bulk.m1, k * bulk.dm1
    t0, dt0 = _dressed(setting, bulk, np.array([1, 2]))
    constant = (1 + spike.widening) ** 2
    bottom, dbottom = 2 * t + constant * t0, 2 * dt + constant * dt0
    h = t**2 / bottom
    dh = 2 * t * dt / bottom - t**2 * dbottom / bottom**2
    first = target.linear**2 * spike.alignment**2
    second = 4 * target.coefficient(2) ** 2 * spike.alignment**4
    return (
        _gain(setting, bulk, first * k * bulk.m2, first * k * bulk.dm2),
        _gain(setting, bulk, second * h, second * dh),
    )
