r"""What the test loss of random features is made of: bias, and variance by source.

A fit depends on two independent draws: the network's weights, and the data set (inputs and label noise).
With L(1, 1) the test loss of one network on one data set, and infinity for an average of the predictions
over infinitely many of either, :math:`\chi=1/\operatorname{tr}R=1/(km_1)` and mu as in
:mod:`onestep_lib.no_step.gaussian_equivalence` (:eq:`eq-ge-four-averages`),

.. math::
    L(\infty,\infty)&=c_{*,1}^2\Big(\frac{m_2}{m_1}\Big)^2+c_{*,>1}^2+\sigma_\varepsilon^2,\\
    L(\infty,1)&=L(\infty,\infty)\,\chi_\infty',\qquad
    \chi_\infty=\mathbb E\Big[\frac1{c_1^2t+c_{>1}^2+\mu}\Big]^{-1},\\
    L(1,\infty)&=c_{*,1}^2\,\frac{m_2'}{m_1'}+c_{*,>1}^2+\sigma_\varepsilon^2,\qquad
    L(1,1)=L(1,\infty)\,\chi',

the networks first, t a Marchenko-Pastur eigenvalue, :math:`\chi'` a derivative in lambda and
:math:`\chi_\infty'` in mu. The parts are differences of these four, computed without taking one: with
:math:`p,g,\dots` the averages of `MarchenkoPasturMeans`, :math:`(m_2/m_1)^2=g_2/p_2`, so that
:math:`m_2'/m_1'-(m_2/m_1)^2` is a multiple of :math:`h_2-(m_2/m_1)^2g_2`, and
:math:`\chi_\infty'-1=cv^2g_2`.

Functions
---------
ErrorParts    the five parts, and the loss of an average of several fits
error_parts   the parts from ratios and powers, vectorised
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from onestep_lib.no_step.gaussian_equivalence import checked, resolvent_traces
from onestep_lib.no_step.marchenko_pastur import marchenko_pastur_means

__all__ = [
    "error_parts",
]


@dataclass(frozen=True, eq=False)
class ErrorParts:
    r"""The five parts of a test loss, all >= 0; their sum is the test loss (:eq:`eq-ge-parts`).

    Parameters
    ----------
    out_of_reach : ndarray
        :math:`c_{*,>1}^2+\sigma_\varepsilon^2`, which no fit can predict in this limit.
    bias : ndarray
        What the average over all networks and data sets misses of the target's linear part.
    weights : ndarray
        The variance over networks of the fit that is averaged over data sets.
    data : ndarray
        The variance over data sets of the fit that is averaged over networks.
    both : ndarray
        The rest, the interaction: it is in neither average.
    """

    out_of_reach: np.ndarray
    bias: np.ndarray
    weights: np.ndarray
    data: np.ndarray
    both: np.ndarray

    @property
    def test(self) -> np.ndarray:
        """The test loss of one network fitted on one data set."""
        return self.averaged()

    def averaged(self, networks: ArrayLike = 1, datasets: ArrayLike = 1) -> np.ndarray:
        r"""Return the test loss of the mean prediction of every network on every data set.

        .. math:: \text{out of reach}+\text{bias}+\frac{\text{weights}}{M}+\frac{\text{data}}{D}
                  +\frac{\text{both}}{MD}

        Parameters
        ----------
        networks, datasets : array_like
            The numbers M and D, >= 1 or infinite; they broadcast with the parts.

        Examples
        --------
        >>> import numpy as np
        >>> from onestep_lib.no_step import error_parts
        >>> parts = error_parts(0.6, 0.6, 1e-4, 0.37, 0.03, 1, 0.5)  # N = n
        >>> print(parts.averaged([1, 10, np.inf]).round(2))
        [8.23 1.71 0.99]
        """
        M, D = np.asarray(networks), np.asarray(datasets)
        return self.out_of_reach + self.bias + self.weights / M + self.data / D + self.both / (M * D)


def error_parts(
    phi: ArrayLike,
    psi: ArrayLike,
    ridge: ArrayLike,
    c1_sq: ArrayLike,
    nonlinear_sq: ArrayLike,
    linear_power: ArrayLike,
    other_power: ArrayLike,
) -> ErrorParts:
    r"""Return the parts of the test loss of ridge regression on random features; every argument broadcasts.

    The parts are linear in the two powers: what label noise alone does is the call with linear_power = 0.

    Parameters
    ----------
    phi, psi : array_like
        d/n and d/N, > 0.
    ridge : array_like
        The penalty lambda > 0, in the normalisation of :mod:`onestep_lib.settings`.
    c1_sq, nonlinear_sq : array_like
        :math:`c_1^2` and :math:`c_{>1}^2` of the activation, not both 0.
    linear_power, other_power : array_like
        :math:`c_{*,1}^2`, and :math:`c_{*,>1}^2` plus the noise variance.

    Returns
    -------
    ErrorParts
        Arrays of the broadcast shape (:eq:`eq-ge-parts`). An analysis with three sources (inputs and label
        noise apart) and with the same conclusion is Adlam and Pennington (2020), "Understanding double
        descent requires a fine-grained bias-variance decomposition".

    Raises
    ------
    ValueError, ConvergenceError
        As in `onestep_lib.no_step.gaussian_equivalence.resolvent_traces`.

    Examples
    --------
    >>> from onestep_lib.no_step import error_parts, ridge_losses
    >>> numbers = (0.6, 0.75, 0.1, 0.37, 0.03, 1, 0.5)
    >>> parts = error_parts(*numbers)
    >>> print(f"{parts.bias:.3f} {parts.weights:.3f} {parts.data:.3f} {parts.both:.3f}")
    0.176 0.087 0.171 0.123
    >>> print(f"{parts.test:.6f} {ridge_losses(*numbers).test:.6f}")
    1.057289 1.057289
    """
    powers = {"linear_power": linear_power, "other_power": other_power}
    phi, psi, ridge, a, b, linear, other = checked(
        {"phi": phi, "psi": psi, "ridge": ridge}, {"c1_sq": c1_sq, "nonlinear_sq": nonlinear_sq} | powers
    )
    traces = resolvent_traces(phi, psi, ridge, a, b)
    mu, dtau = traces.mu, traces.dtau
    c, v = 1 / phi, a / (b + mu)
    means = marchenko_pastur_means(v, c)
    # The derivative of q = lambda/mu = 1/(k (1 + tau)), k = n/N.
    dq = -psi / phi * (ridge / mu) ** 2 * dtau
    missed = (means.g / means.p) ** 2
    spread = dq * (a * means.g2 + b * means.p2)
    over_networks = dq * a * (means.h2 - missed * means.g2) / (means.p2 + spread)
    gain = c * v**2 * means.g2  # chi_infinity' - 1
    more = spread / means.p**2  # chi' - chi_infinity'
    return ErrorParts(
        out_of_reach=other,
        bias=linear * missed,
        weights=linear * over_networks,
        data=(other + linear * missed) * gain,
        both=(other + linear * missed) * more + linear * over_networks * (gain + more),
    )
