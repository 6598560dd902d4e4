r"""Hermite polynomials and Gaussian averages: the language of activations and targets.

The probabilists' polynomials :math:`He_k` are orthogonal under :math:`Z\sim N(0,1)`,

.. math:: \mathbb E[He_j(Z)He_k(Z)] = k!\,\delta_{jk},

and a function with :math:`\mathbb E f(Z)^2<\infty` has the coefficients
:math:`c_k=\mathbb E[f(Z)He_k(Z)]/k!`, so that :math:`f=\sum_k c_kHe_k`. No other normalisation is
used anywhere in the library.

Functions
---------
hermite                He_0, ..., He_K at given points
hermite_series         sum_k c_k He_k at given points
monomial_to_hermite    x^p as sums of He_k
hermite_coefficients   c_0, ..., c_K of a function
hermite_powers         k! c_k^2, the share of each degree in E f(Z)^2
correlated_mean        E[f(Z) g(Z')] for correlated Gaussians, from the coefficients
conditional_mean       E[f(Z) | Z'], from the coefficients
overlap_moment         :math:`\mathbb E\langle w,b\rangle^{2k}` for a random unit vector w
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.polynomial import hermite_e
from numpy.typing import ArrayLike
from scipy.special import factorial

from onestep_lib._checks import check_count, check_number, check_real, check_vector, shown
from onestep_lib.quadrature import ScalarFunction, gaussian_moments

__all__ = [
    "conditional_mean",
    "correlated_mean",
    "hermite",
    "hermite_coefficients",
    "hermite_powers",
    "hermite_series",
    "monomial_to_hermite",
    "overlap_moment",
]

MAX_ORDER = 150
"""Highest degree of every function that divides by k!: 171! is beyond double precision."""


def _check_order(order: int) -> int:
    return check_count("order", order, 0, MAX_ORDER)


def _check_coefficients(name: str, value: ArrayLike) -> np.ndarray:
    coefficients = check_vector(name, value)
    if not 1 <= coefficients.size <= MAX_ORDER + 1:
        raise ValueError(f"{name} must hold from 1 to {MAX_ORDER + 1} numbers, got {coefficients.size}")
    return coefficients


def _check_correlation(rho: ArrayLike) -> np.ndarray:
    array = check_real("rho", rho)
    if np.any(np.abs(array) > 1):
        raise ValueError(f"rho must lie in [-1, 1], got {shown(rho)}")
    return array


def hermite(order: int, x: ArrayLike) -> np.ndarray:
    r"""Evaluate :math:`He_0,\dots,He_K` by :math:`He_{k+1}=x\,He_k-k\,He_{k-1}`, :eq:`eq-hermite-rules`.

    Parameters
    ----------
    order : int
        The highest degree K >= 0.
    x : array_like
        Points of any shape.

    Returns
    -------
    ndarray, shape (K + 1,) + x.shape

    Examples
    --------
    >>> from onestep_lib.hermite import hermite
    >>> hermite(3, 2.0)  # 1, x, x^2 - 1, x^3 - 3 x
    array([1., 2., 3., 2.])
    """
    order = check_count("order", order, minimum=0)
    x = check_real("x", x)
    with np.errstate(over="ignore", invalid="ignore"):
        columns = hermite_e.hermevander(x, order)
    values = np.moveaxis(columns.reshape(*x.shape, order + 1), -1, 0)
    if not np.isfinite(values[-1]).all():
        raise ValueError(f"order and x must be so small that He_k(x) is a double, got {order} and {shown(x)}")
    return values


def hermite_series(coefficients: ArrayLike, x: ArrayLike) -> np.ndarray:
    r"""Evaluate :math:`\sum_k c_kHe_k(x)` (Clenshaw's recurrence, by NumPy).

    Examples
    --------
    >>> from onestep_lib.hermite import hermite_series
    >>> hermite_series([0, 0, 1], [0, 1, 2])  # He_2 = x^2 - 1
    array([-1.,  0.,  3.])
    """
    x, c = check_real("x", x), _check_coefficients("coefficients", coefficients)
    with np.errstate(over="ignore", invalid="ignore"):
        values = hermite_e.hermeval(x, c)
    if not np.isfinite(values).all():
        raise ValueError(f"coefficients and x must be so small that the sum is a double, got x {shown(x)}")
    return values


def monomial_to_hermite(order: int) -> np.ndarray:
    r"""Return the matrix :math:`\xi` with :math:`x^p=\sum_i\xi_{pi}He_i(x)`, shape (K + 1, K + 1).

    :math:`\xi_{pi}=p!/(2^m\,m!\,i!)` with :math:`m=(p-i)/2` a whole number >= 0, and 0 otherwise,
    :eq:`eq-hermite-tables`.

    Examples
    --------
    >>> from onestep_lib.hermite import monomial_to_hermite
    >>> monomial_to_hermite(4)[4]  # x^4 = 3 + 6 He_2 + He_4
    array([3., 0., 6., 0., 1.])
    """
    order = _check_order(order)
    table = np.zeros((order + 1, order + 1))
    for p in range(order + 1):
        for i in range(p % 2, p + 1, 2):
            m = (p - i) // 2
            table[p, i] = factorial(p) / (2.0**m * factorial(m) * factorial(i))
    return table


def hermite_coefficients(function: ScalarFunction, order: int, kinks: Sequence[float] = ()) -> np.ndarray:
    r"""Return :math:`c_k=\mathbb E[f(Z)He_k(Z)]/k!` for k = 0, ..., K, :eq:`eq-hermite-coefficients`.

    Parameters
    ----------
    function : callable
        Takes and returns an array.
    order : int
        The highest degree K >= 0.
    kinks : sequence of float
        Points where f or one of its derivatives jumps.

    Returns
    -------
    ndarray, shape (K + 1,)
        In the natural scale, :math:`\sqrt{k!}\,c_k`, the error is about 1e-14 of the root of E f(Z)^2.

    Raises
    ------
    ValueError
        As in `gaussian_mean`, for f :math:`He_k`.

    Examples
    --------
    >>> import numpy as np
    >>> from onestep_lib.hermite import hermite_coefficients
    >>> (hermite_coefficients(np.exp, 3) / np.exp(0.5)).round(4)  # 1/k!
    array([1.    , 1.    , 0.5   , 0.1667])
    """
    order = _check_order(order)
    return gaussian_moments(function, order, kinks) / np.sqrt(factorial(np.arange(order + 1)))


def hermite_powers(coefficients: ArrayLike) -> np.ndarray:
    r"""Return :math:`k!\,c_k^2`, what each degree adds to E f(Z)^2, :eq:`eq-hermite-parseval`.

    Examples
    --------
    >>> from onestep_lib.hermite import hermite_powers
    >>> hermite_powers([0, 1, 2**-0.5]).round(4)  # He_1 and He_2/sqrt(2) weigh the same
    array([0., 1., 1.])
    """
    coefficients = _check_coefficients("coefficients", coefficients)
    return factorial(np.arange(coefficients.size)) * coefficients**2


def correlated_mean(f_coefficients: ArrayLike, g_coefficients: ArrayLike, rho: ArrayLike) -> np.ndarray:
    r"""Return :math:`\mathbb E[f(Z)g(Z')]=\sum_k k!\,c_k(f)\,c_k(g)\,\rho^k`.

    Z and Z' are standard Gaussians with correlation rho (:eq:`eq-hermite-correlated`); the sum runs over
    the coefficients that both sequences have. Less the term k = 0 it is the covariance of a neuron and a
    target whose unit vectors have inner product rho, :eq:`eq-hermite-feature`.

    Parameters
    ----------
    f_coefficients, g_coefficients : array_like, 1-D
        Hermite coefficients in the normalisation of `hermite_coefficients`.
    rho : array_like
        Correlations in [-1, 1].

    Returns
    -------
    ndarray, the shape of rho

    Examples
    --------
    >>> import numpy as np
    >>> from onestep_lib.hermite import correlated_mean, hermite_coefficients
    >>> c = hermite_coefficients(np.exp, 30)
    >>> print(f"{correlated_mean(c, c, 0.5):.4f} {np.exp(1.5):.4f}")  # E exp(Z + Z') = exp(1 + rho)
    4.4817 4.4817
    """
    f = _check_coefficients("f_coefficients", f_coefficients)
    g = _check_coefficients("g_coefficients", g_coefficients)
    shared = min(f.size, g.size)
    terms = factorial(np.arange(shared)) * f[:shared] * g[:shared]
    return np.polynomial.polynomial.polyval(_check_correlation(rho), terms)


def conditional_mean(coefficients: ArrayLike, rho: float, x: ArrayLike) -> np.ndarray:
    r"""Return :math:`\mathbb E[f(Z)\mid Z'=x]=\sum_kc_k\rho^kHe_k(x)`, :eq:`eq-hermite-conditional`.

    Parameters
    ----------
    coefficients : array_like, 1-D
        Hermite coefficients of f.
    rho : float
        Correlation of Z and Z', in [-1, 1].
    x : array_like
        Values of Z'.

    Returns
    -------
    ndarray, the shape of x

    Examples
    --------
    >>> from onestep_lib.hermite import conditional_mean
    >>> conditional_mean([0, 0, 1], 0.5, [0, 2])  # (x^2 - 1)/4
    array([-0.25,  0.75])
    """
    coefficients = _check_coefficients("coefficients", coefficients)
    correlation = _check_correlation(check_number("rho", rho))
    return hermite_series(coefficients * correlation ** np.arange(coefficients.size), x)


def overlap_moment(k: int, d: ArrayLike) -> np.ndarray:
    r"""Return :math:`\mathbb E\langle w,\beta\rangle^{2k}=\prod_{i<k}(2i+1)/(d+2i)`.

    For w uniform on the unit sphere of :math:`\mathbb R^d` and a fixed unit vector beta,
    :eq:`eq-hermite-visible`.

    Parameters
    ----------
    k : int
        Half the power, >= 0.
    d : array_like
        Dimensions, >= 1.

    Returns
    -------
    ndarray, the shape of d

    Examples
    --------
    >>> from onestep_lib.hermite import overlap_moment
    >>> overlap_moment(2, [1, 10]).round(4)  # 3/(d (d + 2))
    array([1.   , 0.025])
    """
    d = check_real("d", d)
    if np.any(d < 1):
        raise ValueError(f"d must be >= 1, got {shown(d)}")
    factors = [(2 * i + 1) / (d + 2 * i) for i in range(check_count("k", k, minimum=0))]
    return np.prod(np.broadcast_arrays(np.ones_like(d), *factors), axis=0)
