r"""All spikes at once: the mean of a feature given kappa, in place of its first powers.

The powers of :mod:`onestep_lib.small_step.spikes` are the expansion of one function. Neuron j holds the step
as :math:`s_j\kappa`, :math:`s_j=r\,a_j`, :math:`r=c_1\eta|b|`, beside what it had, :math:`\zeta\sim N(0,1)`,
and the widening, :math:`s_j\sqrt q\,\xi`; its mean over both is

.. math:: H(s,\kappa)=\mathbb E\,\sigma\big(\sqrt{1+s^2q}\,\zeta+s\kappa\big)
          =\sum_kc_ks^k\,\mathbb E_\xi(\kappa+\sqrt q\,\xi)^k

(:eq:`eq-spikes-mean`; the sum is the Taylor series in s, which for tanh or relu does not converge, but is
asymptotic). Its matrix in the orthonormal polynomials of kappa and of the readouts,

.. math:: P_{q\cdot}=\sqrt N\;\mathbb E_\kappa\big[h_q(\kappa)\,H(s_\cdot,\kappa)\big],

is that of `onestep_lib.small_step.spikes.spike_matrix` with every power k in it. What it still leaves out is
the change of the rest of a feature, :math:`\sigma-H`, of relative order :math:`s^2\sim\eta^2/N`: that needs
the giant step's bulk. Derived here and compared with simulation, not proved.

Functions
---------
whole_spike_matrix   P with all powers
"""

from __future__ import annotations

import numpy as np
from numpy.polynomial.hermite_e import hermegauss
from scipy.special import factorial

from onestep_lib._checks import check_count, check_vector, shown
from onestep_lib.activations import Activation
from onestep_lib.hermite import MAX_ORDER, hermite
from onestep_lib.initialisation import Vocabulary
from onestep_lib.quadrature import evaluate, gauss_legendre
from onestep_lib.settings import Setting
from onestep_lib.small_step.gradient import Spike
from onestep_lib.small_step.spikes import graded, require_spikes, spike_or_limit

__all__ = [
    "whole_spike_matrix",
]

# Gauss-Hermite nodes of kappa and of a Gaussian readout; H is analytic in both.
_NODES = 48
# Points between which the coefficients of a realised readout are a cubic spline.
_KNOTS = 161
# The inner average: this many standard deviations, in panels of half a unit.
_REACH, _PANEL = 9.0, 0.5


def whole_spike_matrix(
    setting: Setting, level: int, spike: Spike | None = None, readout: np.ndarray | None = None
) -> np.ndarray:
    r"""Return P with all powers of the step, to a degree of :math:`\kappa`.

    Parameters
    ----------
    setting : Setting
        With one step size.
    level : int
        The highest :math:`He_q(\kappa)` that is kept, at least 1.
    spike : Spike, optional
        |b|^2 of one draw, and the widening; by default the limit for a step of rank one.
    readout : ndarray, shape (N,), optional
        A realised readout; by default its law.

    Returns
    -------
    ndarray, shape (level + 2, level + 2)
        Rows q = 0, ..., level and g, in the columns of `onestep_lib.small_step.spikes.spike_matrix`.

    Raises
    ------
    ValueError
        For a raw network, a target with a mean, a path of steps, or an activation without derivative.

    Examples
    --------
    >>> import numpy as np
    >>> from onestep_lib import Setting
    >>> from onestep_lib.small_step import whole_spike_matrix
    >>> from onestep_lib.small_step.spikes import spike_matrix
    >>> s = Setting(n=1000, d=500, N=400, activation="sin", step=8.0)
    >>> for P in (spike_matrix(s, 3), whole_spike_matrix(s, 3)):
    ...     print(np.linalg.norm(P, axis=1).round(2))  # 1, kappa, He_2, He_3 and g: an odd function
    [0.   3.15 0.   0.5  0.  ]
    [0.   3.19 0.   0.38 0.  ]
    """
    require_spikes(setting)
    level = check_count("level", level, 1, MAX_ORDER)
    if setting.steps.ndim:
        raise ValueError(f"step must be one number for all powers at once, got {shown(setting.step)}")
    spike = spike_or_limit(setting, spike)
    z, shares = _readouts(setting, readout)
    sigma = setting.activation
    unit = sigma.c1 * float(setting.steps) * np.sqrt(spike.power / setting.N)
    if z.size > _KNOTS:
        # Imported where it is used: 4 % of the time of `import onestep_lib`.
        from scipy.interpolate import CubicSpline

        half = np.linspace(0, np.max(np.abs(z)), _KNOTS // 2 + 1)
        knots = np.concatenate([-half[:0:-1], half])
        rows = CubicSpline(knots, _coefficients(sigma, unit * knots, spike.widening, level), axis=1)(z)
    else:
        rows = _coefficients(sigma, unit * z, spike.widening, level)
    wobble = sigma.c2 * np.sqrt(2 * setting.N / setting.d)
    parts = np.zeros((level + 2, z.size + 1))
    parts[:-1, :-1] = np.sqrt(setting.N * shares) * rows
    parts[-1, :-1] = wobble * np.sqrt(shares) * (setting.inputs == "gaussian")
    parts[0, -1] = wobble * (setting.rows == "gaussian")
    return graded(np.where(np.abs(parts) > 1e-13 * np.abs(parts).max(), parts, 0.0))


def _readouts(setting: Setting, readout: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Values of sqrt(N) a_j and their shares, which add up to 1."""
    if readout is not None:
        values = np.sqrt(setting.N) * check_vector("readout", readout, setting.N)
        return values, np.full(setting.N, 1 / setting.N)
    if isinstance(setting.readout, Vocabulary):
        return np.array(setting.readout.values), np.array(setting.readout.shares)
    if setting.readout == "signs":
        return np.array([-1.0, 1.0]), np.array([0.5, 0.5])
    z, weights = hermegauss(_NODES)
    return z, weights / weights.sum()


def _coefficients(sigma: Activation, s: np.ndarray, widening: float, level: int) -> np.ndarray:
    """The averages of h_q(kappa) H(s, kappa), shape (level + 1, len(s))."""
    kappa, weights = hermegauss(_NODES)
    basis = hermite(level, kappa) / np.sqrt(factorial(np.arange(level + 1)))[:, None]
    # kappa and -kappa have one law: at -s the odd coefficients change their sign, and no more.
    sizes, place = np.unique(np.abs(s), return_inverse=True)
    means = np.stack([_mean(sigma, value * kappa, np.sqrt(1 + value**2 * widening)) for value in sizes])
    signs = np.sign(s) ** (np.arange(level + 1)[:, None] % 2)
    return signs * ((basis * weights / weights.sum()) @ means.T)[:, place]


def _mean(sigma: Activation, t: np.ndarray, scale: float) -> np.ndarray:
    """The averages of sigma(scale zeta + t), by panels that end at the kinks, shape of t."""
    ends = t.min() - _REACH * scale, t.max() + _REACH * scale
    edges = np.linspace(*ends, 2 + int((ends[1] - ends[0]) / _PANEL))
    edges = np.union1d(edges, [kink for kink in sigma.kinks if ends[0] < kink < ends[1]])
    points, weights = gauss_legendre(12)
    half = np.diff(edges)[:, None] / 2
    x = ((edges[:-1] + edges[1:])[:, None] / 2 + half * points).ravel()
    values = (half * weights).ravel() * evaluate(sigma.function, x, f"activation {shown(sigma.name)}")
    # In place: at a large step the array has millions of entries, and copies cost more than exponentials.
    density = x - t[:, None]
    density /= scale
    density *= density
    density /= -2
    np.exp(density, out=density)
    return density @ values / (np.sqrt(2 * np.pi) * scale)
