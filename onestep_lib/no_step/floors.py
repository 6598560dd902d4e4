r"""Floors under the test loss: what fixed features cannot hold, and what one noisy direction cannot show.

The part of degree k of a function of Gaussian x is a symmetric tensor, and that of
:math:`He_k(\langle\beta_*,x\rangle)` is :math:`\beta_*^{\otimes k}`. Features drawn without knowledge of
:math:`\beta_*` span m of these dimensions. With :math:`\beta_*` uniform on the sphere, the share of
:math:`\beta_*^{\otimes k}` inside any such span is on average at most the sum of the m largest
eigenvalues of :math:`\mathbb E[\beta_*^{\otimes k}(\beta_*^{\otimes k})^\top]` (:eq:`eq-share-trace`). The
eigenspaces are the spherical harmonics of degree j = k, k-2, ..., and each eigenvalue is
:math:`p_{kj}/\dim_j`, where :math:`t^k=\sum_jp_{kj}P_j(t)` in Gegenbauer polynomials with
:math:`P_j(1)=1`.

Functions
---------
representable_share   the largest average share of degree k in m dimensions
explained_share       the share of degree k that given features hold
fixed_feature_floor   the test loss that no fixed features of that number can beat on average
"""

from __future__ import annotations

from math import comb

import numpy as np
from scipy.special import factorial

from onestep_lib._checks import check_count, check_instance, check_matrix, check_vector
from onestep_lib.activations import Activation
from onestep_lib.hermite import correlated_mean
from onestep_lib.settings import Setting

__all__ = [
    "explained_share",
    "fixed_feature_floor",
    "representable_share",
]

_DEGREES = 12
_SERIES = 20


def representable_share(degree: int, count: int, d: int) -> float:
    r"""Return the largest average share of :math:`He_k(\langle\beta_*,x\rangle)` that m fixed features hold.

    At degree 1 it is min(m, d)/d; at degree 2, for m from 1 to D = d(d+1)/2, it is
    :math:`\frac1d+(1-\frac1d)\frac{m-1}{D-1}` (:eq:`eq-share`).

    Parameters
    ----------
    degree : int
        The degree k >= 0.
    count : int
        The number m of features (or of training samples, for a kernel method).
    d : int
        Input dimension, at least 2.

    Returns
    -------
    float
        In [0, 1].

    Examples
    --------
    >>> from onestep_lib.no_step import representable_share
    >>> [round(representable_share(degree, 50, 100), 4) for degree in (1, 2, 3)]  # the first is m/d
    [0.5, 0.0196, 0.0147]
    """
    degree = check_count("degree", degree, minimum=0)
    left = check_count("count", count)
    d = check_count("d", d, minimum=2)
    powers = enumerate(_harmonic_powers(degree, d))
    spaces = [(power / _harmonics(j, d), _harmonics(j, d)) for j, power in powers if power > 0]
    share = 0.0
    for eigenvalue, dimension in sorted(spaces, reverse=True):
        taken = min(left, dimension)
        share += eigenvalue * taken
        left -= taken
    return float(min(share, 1.0))


def explained_share(weights: np.ndarray, direction: np.ndarray, sigma: Activation, degree: int) -> float:
    r"""Return the share of :math:`He_k(\langle\beta_*,x\rangle)` that given features explain.

    .. math:: \text{share}_k=g^\top\Sigma^{-1}g/k!,\qquad g_j=k!\,c_k\langle w_j,\beta_*\rangle^k,

    with infinitely many samples of Gaussian x, :math:`\Sigma` the covariance of the features
    :math:`\sigma(\langle w_j,x\rangle)` (:eq:`eq-degree-share`, :eq:`eq-feature-degree`). The covariance of
    two different features is summed up to degree 20: for unit vectors that are not close to each other.

    Parameters
    ----------
    weights : ndarray, shape (N, d)
        Rows of norm 1.
    direction : ndarray, shape (d,)
        The unit vector :math:`\beta_*`.
    sigma : Activation
    degree : int
        The degree k from 1 to 20.

    Raises
    ------
    ValueError, TypeError
        If a shape does not fit, a row or the direction is not of norm 1, or k is out of range.

    Examples
    --------
    >>> import numpy as np
    >>> from onestep_lib.activations import activation
    >>> from onestep_lib.no_step import explained_share
    >>> tanh, rows = activation("tanh"), np.eye(5)  # the first neuron looks along the target
    >>> print(f"{explained_share(rows, rows[0], tanh, 1):.4f} {tanh.c1**2 / tanh.second_moment:.4f}")
    0.9305 0.9305
    """
    check_instance("sigma", sigma, Activation)
    weights = check_matrix("weights", weights)
    direction = check_vector("direction", direction, weights.shape[1])
    if not np.allclose(np.linalg.norm(weights, axis=1), 1) or not np.isclose(np.linalg.norm(direction), 1):
        raise ValueError("weights and direction must be unit vectors (rows='spherical')")
    degree = check_count("degree", degree, 1, _SERIES)
    coefficients = sigma.coefficients(_SERIES)
    coefficients[0] = 0.0  # a covariance, not a second moment
    covariance = correlated_mean(coefficients, coefficients, np.clip(weights @ weights.T, -1, 1))
    np.fill_diagonal(covariance, sigma.second_moment - sigma.c0**2)
    target = np.eye(degree + 1)[degree]
    g = correlated_mean(coefficients, target, weights @ direction)
    return float(g @ np.linalg.solve(covariance, g) / factorial(degree))


def fixed_feature_floor(setting: Setting) -> float:
    r"""Return the average test loss that min(n, N) fixed features cannot beat (:eq:`eq-fixed-feature-floor`).

    .. math:: \text{noise}^2+\sum_kk!\,c_{*,k}^2\,\big(1-\text{share}_k(\min(n,N))\big),

    for Gaussian inputs and a uniform direction, whatever the features, with a second layer fitted by
    ridge regression. Degrees above 12 are left out, which keeps it a bound.

    Raises
    ------
    ValueError
        If the inputs are not Gaussian.

    Examples
    --------
    >>> from onestep_lib import Setting
    >>> from onestep_lib.no_step import fixed_feature_floor
    >>> s = Setting(n=50, d=100, N=300, target=(0, 1), noise=0.5)
    >>> print(f"{fixed_feature_floor(s):.4f}")  # noise^2 + 1 - n/d
    0.7500
    """
    check_instance("setting", setting, Setting)
    if setting.inputs != "gaussian":
        raise ValueError(f"inputs must be 'gaussian' here, got {setting.inputs!r}")
    count, target = min(setting.n, setting.N), setting.single_index()
    power = factorial(np.arange(_DEGREES + 1)) * target.coefficients(_DEGREES) ** 2
    missing = [1 - representable_share(k, count, setting.d) for k in range(_DEGREES + 1)]
    return float(setting.noise**2 + power @ missing)


def _harmonics(j: int, d: int) -> int:
    """Dimension of the harmonic polynomials of degree j in d variables."""
    return comb(d + j - 1, j) - (comb(d + j - 3, j - 2) if j >= 2 else 0)


def _harmonic_powers(k: int, d: int) -> np.ndarray:
    """p_k0, ..., p_kk with t^k = sum_j p_kj P_j(t): multiply by t, k times.

    t P_j = ((j + d - 2) P_{j+1} + j P_{j-1})/(2j + d - 2), and t P_0 = P_1.
    """
    powers = np.zeros(k + 1)
    powers[0] = 1.0
    for degree in range(k):
        raised = np.zeros(k + 1)
        raised[1] = powers[0]
        for j in range(1, degree + 1):
            raised[j + 1] += powers[j] * (j + d - 2) / (2 * j + d - 2)
            raised[j - 1] += powers[j] * j / (2 * j + d - 2)
        powers = raised
    return powers
