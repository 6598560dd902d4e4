r"""One spike in noise, and the spectrum of the weights after one step: edge, threshold, outlier, overlaps.

**One spike in a random matrix**: a rank-one part of strength :math:`\theta` in N rows of noise,

.. math:: M=Z+\theta\,uv^\top,\qquad Z_{ij}\sim N(0,1/d)\ \text{independent},\quad |u|=|v|=1,
          \quad c=N/d ,

with u (N,) and v (d,) independent of Z. The resolvent of the symmetric matrix that has Z in its corners has
the averages :math:`g_N=\frac sN\operatorname{tr}(s^2-ZZ^\top)^{-1}` and
:math:`g_d=\frac sd\operatorname{tr}(s^2-Z^\top Z)^{-1}`, for which leaving one row or one column out gives
(:eq:`eq-spike-pair`)

.. math:: g_N=\frac1{s-g_d},\qquad g_d=\frac1{s-c\,g_N} .

Their product :math:`P=g_Ng_d` solves :math:`s^2=(1+P)(1+cP)/P` (:eq:`eq-spike-product`). It grows from 0 at
:math:`s=\infty` to :math:`1/\sqrt c` at the edge :math:`1+\sqrt c` of the singular values of Z, and M has a
singular value to the right of the edge where :math:`\theta^2P=1` (:eq:`eq-spike-condition`): iff
:math:`\theta>c^{1/4}`, at (:eq:`eq-spike-outlier`)

.. math:: s^2=\frac{(1+\theta^2)(c+\theta^2)}{\theta^2},\qquad
          \langle u,p\rangle^2=\frac{\theta^4-c}{\theta^2(\theta^2+c)},\qquad
          \langle v,q\rangle^2=\frac{\theta^4-c}{\theta^2(\theta^2+1)}

for its singular vectors p and q (:eq:`eq-spike-overlaps`; Baik, Ben Arous and Peche 2005;
Benaych-Georges and Nadakuditi 2012, for rectangular matrices).

**The weights.** The step adds :math:`\eta c_1ab^\top` to :math:`W_0`
(:mod:`onestep_lib.small_step.gradient`), whose bulk it leaves as it is. A raw network also subtracts its own
linear part: b contains :math:`-c_1W_0^\top a`, which is correlated with :math:`W_0`. B is that of the
gradient's batch; the ridge batch plays no part. With c = N/d, :math:`\theta^2=\eta^2c_1^2B|a|^2`,
:math:`\text{kap}=\eta c_1^2` for a raw network and 0 otherwise, and
:math:`T=\theta^2-\text{kap}(2-\text{kap})`, the weights :math:`W_1` have the outlier of noise with one spike
of strength :math:`\sqrt T`, iff :math:`T>\sqrt c`. Its left vector overlaps with a as it does there; squared,
its right vector overlaps

.. math:: \text{with }\beta_*:\ \frac{c_{*,1}^2}{B}\,\frac{\theta^2(T^2-c)}{T^2(1+T)},\qquad
          \text{with }b:\ \frac{T^2-c}{T^2}\,
          \frac{c_1^2(\eta B-[\text{raw}](1-\text{kap}))^2}{(1+T)|b|^2}

(Baik, Ben Arous and Peche 2005; Ba et al., arXiv 2205.01445, section 3; the raw network by the
same theorem: along a, :math:`W_1` is a row of variance 1 + T among rows of variance 1).

Functions
---------
one_spike          the largest singular value of noise with one spike
noise_resolvents   g_N and g_d
weight_spectrum    the same for the weights after one step
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from onestep_lib._checks import check_instance, shown
from onestep_lib._values import plain
from onestep_lib.settings import Setting
from onestep_lib.small_step.gradient import gradient_of, gradient_spike

__all__ = [
    "noise_resolvents",
    "one_spike",
    "weight_spectrum",
]

# Of a point that lies on the edge, relative.
_ROUNDING = 1e-15


@dataclass(frozen=True, eq=False)
class OneSpike:
    """The largest singular value of noise with one spike; arrays of the shape of the strengths.

    Parameters
    ----------
    edge : float
        The right end of the singular values of the noise.
    threshold : float
        The strength at which a singular value leaves them.
    outlier : float or ndarray
        The largest singular value; the edge where nothing has left.
    left, right : float or ndarray
        Squared overlaps of its left vector with u, and of its right vector with v.
    """

    edge: float
    threshold: float
    outlier: float | np.ndarray
    left: float | np.ndarray
    right: float | np.ndarray


def one_spike(strength: ArrayLike, ratio: float) -> OneSpike:
    r"""Return edge, threshold, outlier and overlaps of noise with one spike, in the limit.

    Parameters
    ----------
    strength : array_like
        :math:`\theta\ge0`, the singular value of the rank-one part.
    ratio : float
        c = N/d > 0, rows over columns; the entries of the noise have variance 1/d.

    Returns
    -------
    OneSpike
        Arrays of the shape of `strength`; overlaps are 0 where nothing has left the bulk.

    Raises
    ------
    ValueError
        For a negative strength or a ratio that is not positive.

    Examples
    --------
    >>> from onestep_lib.small_step import one_spike
    >>> found = one_spike([0.5, 2], ratio=1)
    >>> print(found.threshold, found.outlier, found.left)  # square: theta + 1/theta and 1 - 1/theta^2
    1.0 [2.  2.5] [0.   0.75]
    """
    outlier, left, right = outlier_at(np.square(strength), ratio)
    return OneSpike(float(1 + ratio**0.5), ratio**0.25, *map(plain, (outlier, left, right)))


def outlier_at(square: np.ndarray, ratio: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The outlier and both squared overlaps for the square of the strength (below the threshold: edge, 0)."""
    T = np.maximum(square, ratio**0.5)
    gap = np.where(square > ratio**0.5, T**2 - ratio, 0.0)
    return np.sqrt((1 + T) * (ratio + T) / T), gap / (T * (T + ratio)), gap / (T * (T + 1))


def noise_resolvents(s: ArrayLike, ratio: float) -> tuple[np.ndarray, np.ndarray]:
    r"""Return :math:`g_N,g_d` of the noise at points to the right of its singular values, or off the axis.

    Parameters
    ----------
    s : array_like
        Real points s >= 1 + sqrt(ratio), or complex ones with Im s > 0 and Re s > 0. Just above the axis
        :math:`-\operatorname{Im}g_N/\pi` is half the density of the singular values (the other half lies at
        -s).
    ratio : float
        c = N/d > 0.

    Raises
    ------
    ValueError
        For a real point inside the bulk, or a complex one that is not in the upper right quadrant.

    Examples
    --------
    >>> from onestep_lib.small_step import noise_resolvents
    >>> rows, columns = noise_resolvents(2.5, ratio=1)
    >>> print(rows, columns, rows * columns)  # the product is 1/theta^2 for the outlier of theta = 2
    0.5 0.5 0.25
    """
    s = np.asarray(s, dtype=complex)
    edge = 1 + ratio**0.5
    outside = (s.imag == 0) & (s.real >= edge * (1 - _ROUNDING))
    if not np.all(outside | ((s.imag > 0) & (s.real > 0))):
        raise ValueError(
            f"s must be real and >= {edge:.6g}, the edge of the noise, or lie in the upper right quadrant, "
            f"got {shown(s)}"
        )
    # c P^2 - (s^2 - 1 - c) P + 1 = 0; the root that vanishes far out, in the form without a difference.
    half = (s**2 - 1 - ratio) / 2
    above = np.where(outside, np.maximum((s**2 - edge**2).real, 0.0), s**2 - edge**2)
    P = 1 / (half + np.sqrt(s**2 - (1 - ratio**0.5) ** 2) * np.sqrt(above) / 2)
    rows, columns = (1 + P) / s, (1 + ratio * P) / s
    return (rows.real, columns.real) if np.all(outside) else (rows, columns)


@dataclass(frozen=True, eq=False)
class WeightSpectrum:
    r"""The largest singular value of the weights and its vectors; arrays of the shape of the steps.

    Parameters
    ----------
    edge : float
        The right end of the bulk of singular values (of one draw: the second singular value, 0 if there is
        only one).
    threshold : float
        The step size at which an outlier leaves the bulk; inf if none does. Of one draw, at one step size,
        it is unknown: nan.
    outlier : float or ndarray
        The largest singular value; the edge where there is no outlier.
    readout, direction, target : float or ndarray
        Squared overlaps of its left vector with a, of its right vector with b and with :math:`\beta_*`.
    """

    edge: float
    threshold: float
    outlier: float | np.ndarray
    readout: float | np.ndarray
    direction: float | np.ndarray
    target: float | np.ndarray


def _threshold(slope: float, pull: float, c: float) -> float:
    """The positive root of slope eta^2 - 2 pull eta = sqrt(c)."""
    if slope == 0:
        return np.inf
    return float((pull + np.sqrt(pull**2 + slope * np.sqrt(c))) / slope)


def weight_spectrum(setting: Setting) -> WeightSpectrum:
    r"""Return edge, threshold, outlier and overlaps of the weights after the step, in the limit.

    The formulas are those of :mod:`onestep_lib.small_step.weights` for eta = O(1), with ``|a| = 1``, or
    :math:`|a|^2=\mathbb Ez^2` for a vocabulary.

    Returns
    -------
    WeightSpectrum
        Arrays of the shape of ``setting.steps``; overlaps are 0 where there is no outlier.

    Raises
    ------
    ValueError
        As in `gradient_spike`, or for an activation without derivative.

    Examples
    --------
    >>> from onestep_lib import Setting
    >>> from onestep_lib.small_step import weight_spectrum
    >>> found = weight_spectrum(Setting(n=1000, d=500, N=500, activation="identity", step=[0.5, 2]))
    >>> print(f"{found.edge:.4f} {found.threshold:.4f}", found.outlier.round(4))  # threshold 1/sqrt(B)
    2.0000 0.8165 [2.     2.8577]
    """
    check_instance("setting", setting, Setting)
    setting.activation.require_slope()
    spike, power = gradient_spike(setting), gradient_of(setting).power
    c, c1_sq = setting.N / setting.d, setting.activation.c1**2
    # Only |eta a| enters: a longer readout is a larger step.
    length = np.sqrt(setting.readout_power)
    eta = setting.steps * length
    raw = float(setting.output == "raw")
    kap, theta_sq = raw * eta * c1_sq, eta**2 * c1_sq * power
    T = theta_sq - kap * (2 - kap)
    outlier, left, right = outlier_at(T, c)
    along = right / np.maximum(T, c**0.5)
    pull = c1_sq * (eta * power - raw * (1 - kap)) ** 2 / spike.power
    fields = outlier, left, along * pull, along * eta**2 * c1_sq * setting.target.linear**2
    threshold = _threshold(c1_sq * power + raw * c1_sq**2, raw * c1_sq, c) / length
    return WeightSpectrum(float(1 + np.sqrt(c)), threshold, *map(plain, fields))
