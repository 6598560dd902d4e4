r"""The spectrum of random features: Stieltjes transform and density of :math:`FF^\top/n`.

The trace of the resolvent (:mod:`onestep_lib.no_step.gaussian_equivalence`) at a negative penalty is the
Stieltjes transform: :math:`g(z)=\lim\frac1n\operatorname{tr}(FF^\top/n-z)^{-1}` is :math:`km_1` at
:math:`\lambda=-z`. Off the negative axis the scalar equation becomes a quartic, and its one root that is
a Stieltjes transform is chosen.

Functions
---------
stieltjes          g(z) in the upper half-plane
spectral_density   the density on the real line
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from onestep_lib._checks import (
    check_nonnegative,
    check_number,
    check_positive,
    check_size,
    shown,
)

__all__ = [
    "spectral_density",
]

# Outside the spectrum the roots are real up to Im z, which rounding can hide: below this relative size
# the sign of an imaginary part is taken from the slope dg/dz instead.
_REAL = 1e-6


def stieltjes(z: ArrayLike, phi: float, psi: float, c1_sq: float, nonlinear_sq: float) -> np.ndarray:
    r"""Return :math:`g(z)=\lim\frac1n\operatorname{tr}(FF^\top/n-z)^{-1}`, for Im z > 0.

    With a = :math:`c_1^2`, b = :math:`c_{>1}^2`, c = n/d, k = n/N, x a Marchenko-Pastur eigenvalue and mu the
    complex solution of the scalar equation, the unknown :math:`h=1/\mathbb E[x/(ax+b+\mu)]` is a root of

    .. math:: P(h)\,\big[(h-a)(h-ca)-bh\big]+z\,h^2(h-ca)=0,\qquad
              P(h)=(\tfrac hk-a)(h-ca)-bh,\qquad g=\frac h{P(h)} ,

    the one with Im g > 0 and Im zg > 0 (:eq:`eq-ge-quartic`). A constant part :math:`c_0`
    of the activation adds one outlier and does not change the limit.

    Parameters
    ----------
    z : array_like, complex
        Points with positive imaginary part.
    phi, psi, c1_sq, nonlinear_sq : float
        d/n, d/N, :math:`c_1^2` and :math:`c_{>1}^2`; the last two not both 0.

    Returns
    -------
    ndarray, complex, the shape of z

    Raises
    ------
    ValueError
        For a z that is not above the real axis, or parameters outside these ranges.

    Examples
    --------
    >>> from onestep_lib.no_step.density import stieltjes
    >>> z = 1 + 1j
    >>> g = stieltjes(z, 1, 1, 0, 1)  # without a linear part: Marchenko and Pastur's
    >>> print(bool(abs(z * g**2 + z * g + 1) < 1e-10))
    True
    """
    phi, psi = (check_number(name, value, check_positive) for name, value in (("phi", phi), ("psi", psi)))
    a = check_number("c1_sq", c1_sq, check_nonnegative)
    b = check_number("nonlinear_sq", nonlinear_sq, check_nonnegative)
    for name, value in (("z", z), ("phi", phi), ("psi", psi), ("c1_sq", a), ("nonlinear_sq", b)):
        check_size(name, value)
    if a + b <= 0:
        raise ValueError("c1_sq and nonlinear_sq must not both be 0: the features would be constant")
    z = np.asarray(z, dtype=np.complex128)
    if not np.all(z.imag > 0):  # also nan; the wrong half-plane would give the wrong root
        raise ValueError(f"z must have a positive imaginary part, got {shown(z)}")
    numerator, first, second, pull = _quartic(a, b, 1 / phi, psi / phi)
    free = first * second
    t = _roots(free, pull, z)
    at = z[..., None]
    g = numerator(t) / first(t)
    # dg/dz = (dg/dt)/(dz/dt), from z = -free/pull
    slope = (numerator.deriv()(t) - g * first.deriv()(t)) / first(t)
    slope = -slope * pull(t) / (free.deriv()(t) + at * pull.deriv()(t))
    real = np.abs(t.imag) < _REAL * np.abs(t)
    rise = np.where(real, at.imag * slope.real, g.imag) / np.abs(g)
    turn = np.where(real, at.imag * (g + at * slope).real, (at * g).imag) / np.abs(at * g)
    best = np.argmax(np.minimum(rise, turn), axis=-1)[..., None]
    chosen = np.take_along_axis(g, best, axis=-1)[..., 0]
    imaginary = np.take_along_axis(rise, best, axis=-1)[..., 0] * np.abs(chosen)
    return chosen.real + 1j * imaginary


def _quartic(a: float, b: float, c: float, k: float) -> tuple[np.poly1d, np.poly1d, np.poly1d, np.poly1d]:
    """The polynomials numerator, P, Q, pull of P Q + z pull = 0 and g = numerator/P, in t = h - ca.

    The shift keeps the digits of roots close to ca, where small eigenvalues of size b sit.
    """
    t = np.poly1d([1.0, 0.0])
    h = t + c * a
    # Without one of the two parts a factor divides out; its root would be a false candidate.
    if a == 0:
        return np.poly1d([1.0]), h / k - b, h - b, h
    if b == 0:
        return h, (h / k - a) * t, h - a, h**2
    return h, (h / k - a) * t - b * h, (h - a) * t - b * h, h**2 * t


def _roots(free: np.poly1d, pull: np.poly1d, z: np.ndarray) -> np.ndarray:
    """Return the roots of free + z pull, for every z, as eigenvalues of companion matrices."""
    degree = free.order
    coefficients = np.zeros((*z.shape, degree + 1), dtype=np.complex128)
    coefficients[...] = free.coeffs
    coefficients[..., degree - pull.order :] += z[..., None] * pull.coeffs
    companion = np.zeros((*z.shape, degree, degree), dtype=np.complex128)
    companion[..., 0, :] = -coefficients[..., 1:] / coefficients[..., :1]
    below = np.arange(degree - 1)
    companion[..., below + 1, below] = 1.0
    return np.linalg.eigvals(companion)


def spectral_density(x: ArrayLike, phi: float, psi: float, c1_sq: float, nonlinear_sq: float) -> np.ndarray:
    r"""Return the limiting density of the eigenvalues of :math:`FF^\top/n` at points x > 0.

    It is :math:`\operatorname{Im}g/\pi`, taken 1e-8 x above the axis (:eq:`eq-ge-inversion`). The law has
    also an atom max(0, 1 - N/n) at 0, so that the density integrates to min(1, N/n) when c_{>1} > 0. For
    c_{>1} = 0 the atom is 1 - min(n, d, N)/n.

    Parameters
    ----------
    x : array_like
        Points > 0.
    phi, psi, c1_sq, nonlinear_sq : float
        As in `stieltjes`.

    Returns
    -------
    ndarray, the shape of x

    Examples
    --------
    >>> from onestep_lib.no_step import marchenko_pastur_density, spectral_density
    >>> spectral_density([1, 2, 5], 1, 1, 0, 1).round(4)  # without a linear part: Marchenko and Pastur's
    array([0.2757, 0.1592, 0.    ])
    >>> marchenko_pastur_density([1, 2, 5], 1).round(4)
    array([0.2757, 0.1592, 0.    ])
    """
    # The atom at 0 is not part of the density.
    x = check_positive("x", x)
    check_size("x", x)
    return np.maximum(stieltjes(x * (1 + 1e-8j), phi, psi, c1_sq, nonlinear_sq).imag / np.pi, 0.0)
