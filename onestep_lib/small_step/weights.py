r"""The spectrum of the weights after one step: edge, threshold, outlier and overlaps, in the limit.

The step adds :math:`\eta c_1ab^\top` to W_0 (:mod:`onestep_lib.small_step.gradient`), whose bulk it leaves
as it is. A raw network also subtracts its own linear part: b contains :math:`-c_1W_0^\top a`, which is
correlated with W_0. B is that of the gradient's batch; the ridge batch plays no part. With c = N/d,
:math:`\theta^2=\eta^2c_1^2B|a|^2`, kap = eta c_1^2 for a raw network and 0 otherwise, and
:math:`T=\theta^2-\text{kap}(2-\text{kap})`, the weights W_1 have the outlier of noise with one spike of
strength :math:`\sqrt T` (:mod:`onestep_lib.small_step.spiked_noise`), iff :math:`T>\sqrt c`. Its left vector
overlaps with a as it does there; squared, its right vector overlaps

.. math:: \text{with }\beta_*:\ \frac{c_{*,1}^2}{B}\,\frac{\theta^2(T^2-c)}{T^2(1+T)},\qquad
          \text{with }b:\ \frac{T^2-c}{T^2}\,
          \frac{c_1^2(\eta B-[\text{raw}](1-\text{kap}))^2}{(1+T)|b|^2}

(Baik, Ben Arous and Peche 2005; Ba et al., arXiv 2205.01445, section 3; the raw network by the
same theorem: along a, W_1 is a row of variance 1 + T among rows of variance 1).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onestep_lib._checks import check_instance
from onestep_lib._values import plain
from onestep_lib.settings import Setting
from onestep_lib.small_step.gradient import gradient_of, gradient_spike
from onestep_lib.small_step.spiked_noise import outlier_at

__all__ = [
    "weight_spectrum",
]


@dataclass(frozen=True, eq=False)
class WeightSpectrum:
    """The largest singular value of the weights and its vectors; arrays of the shape of the steps.

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
        Squared overlaps of its left vector with a, of its right vector with b and with beta_*.
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

    The formulas are those of :mod:`onestep_lib.small_step.weights` for eta = O(1), with |a| = 1, or
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
