r"""Where the eigenvalues lie: edges of the laws, the resolvent to the right of them, and empirical spectra.

Random features are a sample covariance of N columns with population eigenvalues ax + b, a = c_1^2,
b = c_{>1}^2 and x an eigenvalue of X X^T/d. With c = n/d, k = n/N, and w in place of the penalty,

.. math:: z(w)=(b-aw)\Big[\frac1k-\mathbb E\frac{ax+b}{a(x+w)}\Big],\qquad
          -\frac{1}{a}\frac{dz}{dw}=D(w)=\frac1k-\mathbb E\Big(\frac{ax+b}{a(x+w)}\Big)^2 ,

the points outside the spectrum of :math:`FF^\top/n` are the z(w) with real w outside the support of -x and
D(w) > 0, and its edges are the z(w) with D(w) = 0 (Silverstein and Choi 1995; derived in chapter 4). D is
monotone on either side of the support and concave in the gap that an atom of x leaves, so that every edge
is bracketed. The averages are closed forms of :math:`e=\mathbb E[x/(x+w)]`.

Functions
---------
marchenko_pastur_edges, marchenko_pastur_density   the law of X^T X/n
feature_law              support, atom, density and distribution function of F F^T/n
outer_resolvent          m_1, m_2, tau and their derivatives to the right of the spectrum
operator_norm            the largest singular value of a matrix
distribution_distance    Kolmogorov-Smirnov distance of eigenvalues to a law
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq, minimize_scalar
from scipy.sparse.linalg import svds

from onestep_lib._checks import check_matrix, check_positive, check_real, check_vector
from onestep_lib.convergence import ConvergenceError
from onestep_lib.gaussian_equivalence import Resolvent
from onestep_lib.settings import Setting
from onestep_lib.spectrum import spectral_density

__all__ = [
    "FeatureLaw",
    "distribution_distance",
    "feature_law",
    "marchenko_pastur_density",
    "marchenko_pastur_edges",
    "operator_norm",
    "outer_resolvent",
]


def marchenko_pastur_edges(ratio: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    r"""Return the edges :math:`(1\mp\sqrt{\text{ratio}})^2` of X^T X/n, ratio = d/n, X n by d."""
    root = np.sqrt(check_positive("ratio", ratio))
    return (1 - root) ** 2, (1 + root) ** 2


def marchenko_pastur_density(x: ArrayLike, ratio: float) -> np.ndarray:
    r"""Return the density of the eigenvalues of :math:`X^\top X/n` at points x > 0.

    :math:`\sqrt{(x_+-x)(x-x_-)}/(2\pi\,\text{ratio}\,x)` between the edges (Marchenko and Pastur 1967). For
    ratio > 1 the law has also an atom 1 - 1/ratio at 0.

    Parameters
    ----------
    x : array_like
    ratio : float
        d/n > 0, for X n by d with independent standard entries.

    Returns
    -------
    ndarray, the shape of x
    """
    x = check_positive("x", x)
    low, high = marchenko_pastur_edges(ratio)
    inside = np.maximum((high - x) * (x - low), 0.0)
    return np.sqrt(inside) / (2 * np.pi * ratio * x)


_Real = float | np.ndarray


@dataclass(frozen=True)
class _Averages:
    """E[1/(x + w)] and E[x/(x + w)] and their w-derivatives, for real w outside the support of -x."""

    p: _Real
    e: _Real
    dp: _Real
    de: _Real


def _averages(w: _Real, c: float, root: _Real) -> _Averages:
    """`root` is sqrt((w + x_-)(w + x_+)), negative to the left of the support."""
    e = 2 / (1 + c + w + root)
    # Two forms of one root, each where it adds numbers of one sign; for c > 1 the atom of x is a pole.
    tilt = 1 - c + w
    same = tilt * root >= 0
    p = np.where(same, 2 / np.where(same, tilt + root, 1.0), (root - tilt) / np.where(same, 1.0, 2 * c * w))
    return _Averages(p, e, -(p**2) / (e * root), -e / root)


@dataclass(frozen=True)
class _Shape:
    """The parameters of the law of F F^T/n in units of a: beta = b/a, c = n/d, k = n/N."""

    beta: float
    c: float
    k: float

    @property
    def ends(self) -> tuple[float, float]:
        root_c = np.sqrt(self.c)
        return (1 - root_c) ** 2, (1 + root_c) ** 2

    def left(self, t: _Real) -> tuple[_Real, _Averages]:
        """w and the averages at distance t > 0 to the left of the support."""
        low, high = self.ends
        return -high - t, _averages(-high - t, self.c, -np.sqrt(t) * np.sqrt(t + high - low))

    def right(self, t: _Real) -> tuple[_Real, _Averages]:
        """w and the averages at distance t > 0 to the right of the continuous support."""
        low, high = self.ends
        return t - low, _averages(t - low, self.c, np.sqrt(t) * np.sqrt(t + high - low))

    def beside_atom(self, w: _Real) -> tuple[_Real, _Averages]:
        """w and the averages near the atom at 0, for w on either side."""
        low, high = self.ends
        return w, _averages(w, self.c, np.sqrt(w + low) * np.sqrt(w + high))

    def slope(self, w: _Real, means: _Averages) -> float:
        """D(w)."""
        bracket = 1 / self.k - means.e - self.beta * means.p
        return float(bracket - (w - self.beta) * (means.de + self.beta * means.dp))

    def z(self, w: _Real, means: _Averages) -> float:
        """z(w)/a."""
        return float((self.beta - w) * (1 / self.k - means.e - self.beta * means.p))


# Distances below this one count as 0; its square is still a number.
_TINY = 1e-120
_Point = tuple[_Real, _Averages]


def _crossing(place: Callable[[float], _Point], low: float, high: float, shape: _Shape) -> float:
    """The t between two ends where D changes sign, in log t."""

    def slope(log_t: float) -> float:
        return shape.slope(*place(np.exp(log_t)))

    try:
        found, report = brentq(slope, np.log(low), np.log(high), xtol=1e-14, full_output=True)
    except ValueError as error:
        raise ConvergenceError("feature_law", np.inf, vars(shape)) from error
    if not report.converged:
        raise ConvergenceError("feature_law", abs(slope(found)), vars(shape))
    return float(np.exp(found))


def _outward_crossing(place: Callable[[float], _Point], shape: _Shape) -> float | None:
    """The one sign change of a D that grows with the distance t; None if D > 0 down to the tiniest t."""
    high = 1.0
    while shape.slope(*place(high)) <= 0:
        high *= 4
    low = high
    while shape.slope(*place(low)) > 0:
        if low < _TINY:
            return None
        low /= 4
    return _crossing(place, low, 4 * low if low < high else high, shape)


@lru_cache(maxsize=256)
def _top(shape: _Shape) -> float:
    """The distance t of the top edge to the left of the support."""
    t = _outward_crossing(shape.left, shape)
    if t is None:
        raise ConvergenceError("feature_law", 0.0, vars(shape))
    return t


def _bottom(shape: _Shape) -> float:
    """The lowest edge over a: D grows to the right of the support, or of the atom of x at 0."""
    place = shape.beside_atom if shape.c > 1 and shape.beta > 0 else shape.right
    t = _outward_crossing(place, shape)
    # Without a crossing the support of F F^T/n reaches down to 0.
    return 0.0 if t is None else max(shape.z(*place(t)), 0.0)


def _gap(shape: _Shape) -> list[float]:
    """The two edges of the gap between the atom's part of the spectrum and the rest, or none."""
    low, _ = shape.ends
    if shape.c <= 1 or shape.beta == 0:
        return []

    def before_atom(s: float) -> _Point:
        return shape.beside_atom(-s)

    def fall(share: float) -> float:
        return -shape.slope(*shape.right(share * low))

    best = minimize_scalar(fall, bounds=(0.0, 1.0), method="bounded", options={"xatol": 1e-10})
    if fall(best.x) >= 0:
        return []
    right = shape.z(*before_atom(_crossing(before_atom, _TINY, (1 - best.x) * low, shape)))
    left = shape.z(*shape.right(_crossing(shape.right, _TINY, best.x * low, shape)))
    return [right, left]


@dataclass(frozen=True)
class FeatureLaw:
    r"""The limiting law of the eigenvalues of :math:`FF^\top/n` for random features.

    Parameters
    ----------
    support : ndarray, shape (K, 2)
        The intervals that carry the density, from left to right.
    atom : float
        The mass at 0.
    phi, psi, c1_sq, nonlinear_sq : float
        d/n, d/N, c_1^2 and c_{>1}^2.
    """

    support: np.ndarray
    atom: float
    phi: float
    psi: float
    c1_sq: float
    nonlinear_sq: float

    @property
    def edge(self) -> float:
        """The right end of the spectrum."""
        return float(self.support[-1, 1])

    def density(self, x: ArrayLike) -> np.ndarray:
        """The density at points x > 0, from `onestep_lib.spectrum.spectral_density`."""
        return spectral_density(x, self.phi, self.psi, self.c1_sq, self.nonlinear_sq)

    def distribution(self, x: ArrayLike, points: int = 2000) -> np.ndarray:
        """The distribution function at points x, from the density at `points` angles an interval."""
        x = check_real("x", x)
        angle = np.pi * (np.arange(points) + 0.5) / points
        total = np.where(x >= 0, self.atom, 0.0)
        for low, high in self.support:
            middle, half = (low + high) / 2, (high - low) / 2
            # The square-root edges are smooth in the angle: the midpoint rule converges fast.
            mass = self.density(middle - half * np.cos(angle)) * half * np.sin(angle) * np.pi / points
            cumulative = np.concatenate([[0.0], np.cumsum(mass)])
            at = np.arccos(np.clip((middle - x) / half, -1, 1)) * points / np.pi
            total = total + np.interp(at, np.arange(points + 1), cumulative)
        return total


def feature_law(setting: Setting) -> FeatureLaw:
    r"""Return the limiting law of :math:`FF^\top/n` at step 0, with every edge.

    The constant part of the activation, and the spikes of a step, add outliers and leave this bulk as it
    is (:mod:`onestep_lib.spikes`). Source: Silverstein and Choi (1995) for the edges; derived in chapter 4.

    Raises
    ------
    ValueError
        If the activation is constant.
    ConvergenceError
        If an edge cannot be bracketed.
    """
    sigma = setting.activation
    a, b = sigma.c1**2, sigma.nonlinear_power
    if a + b == 0:
        raise ValueError(f"activation must not be constant, got {sigma.name!r}")
    k = setting.n / setting.N
    if a == 0:
        edges = [b * (1 / np.sqrt(k) - 1) ** 2, b * (1 / np.sqrt(k) + 1) ** 2]
    else:
        shape = _Shape(b / a, setting.n / setting.d, k)
        top = shape.z(*shape.left(_top(shape)))
        edges = [a * edge for edge in (_bottom(shape), *_gap(shape), top)]
    rank = min(setting.N, setting.d) if b == 0 else setting.N
    atom = max(0.0, 1 - rank / setting.n)
    return FeatureLaw(np.reshape(edges, (-1, 2)), atom, setting.phi, setting.psi, a, b)


def outer_resolvent(distance: ArrayLike, setting: Setting) -> tuple[np.ndarray, Resolvent]:
    r"""Return points z to the right of the spectrum of F F^T/n, and the resolvent at :math:`\lambda=-z`.

    The points run from the right edge (distance 0, where the derivatives are infinite) to infinity, where
    z grows like the distance.

    Parameters
    ----------
    distance : array_like
        Values > 0: the relative distance of -mu from its value at the edge.
    setting : Setting

    Returns
    -------
    z : ndarray, the shape of distance
    resolvent : Resolvent
        m_1, m_2 (negative there), tau and their derivatives in lambda = -z.
    """
    distance = check_positive("distance", distance)
    sigma = setting.activation
    a, b, k = sigma.c1**2, sigma.nonlinear_power, setting.n / setting.N
    if a == 0:
        mu = -b * (1 + np.sqrt(k)) * (1 + distance)
        inverse, slope = 1 / (b + mu), -1 / (b + mu) ** 2
        means = _Averages(inverse, inverse, slope, slope)
    else:
        shape = _Shape(b / a, setting.n / setting.d, k)
        top = _top(shape)
        w, scaled = shape.left(top + (shape.ends[1] + top + shape.beta) * distance)
        mu = a * w - b
        means = _Averages(scaled.p / a, scaled.e / a, scaled.dp / a**2, scaled.de / a**2)
    q, dq = 1 / k - a * means.e - b * means.p, -a * means.de - b * means.dp
    return -mu * q, _resolvent_along(mu, q, dq, means, k)


def _resolvent_along(mu: _Real, q: _Real, dq: _Real, means: _Averages, k: float) -> Resolvent:
    """The resolvent at lambda = mu q(mu), every derivative in mu divided by that of lambda."""
    dlambda = q + mu * dq
    fields = (
        means.p / (q * k),
        means.e / (q * k),
        (means.dp * q - means.p * dq) / (q**2 * k * dlambda),
        (means.de * q - means.e * dq) / (q**2 * k * dlambda),
        1 / (k * q) - 1,
        -dq / (k * q**2 * dlambda),
        mu,
    )
    return Resolvent(*(np.asarray(field) for field in fields))


def operator_norm(matrix: np.ndarray) -> float:
    """Return the largest singular value of a matrix (Lanczos from a fixed start)."""
    matrix = check_matrix("matrix", matrix)
    if min(matrix.shape) == 1 or not matrix.any():
        return float(np.linalg.norm(matrix))
    start = np.random.default_rng(0).standard_normal(min(matrix.shape))
    return float(svds(matrix, k=1, v0=start, return_singular_vectors=False)[0])


def distribution_distance(eigenvalues: np.ndarray, law: FeatureLaw) -> float:
    r"""Return the Kolmogorov-Smirnov distance :math:`\sup_x|F_n(x)-F(x)|` of eigenvalues to a law.

    Parameters
    ----------
    eigenvalues : ndarray, shape (n,)
        All of them, those at 0 included (rounding below 1e-10 of the largest counts as 0).
    law : FeatureLaw
    """
    values = np.sort(check_vector("eigenvalues", eigenvalues))
    values = np.where(np.abs(values) < 1e-10 * np.abs(values).max(), 0.0, values)
    positive = values[values > 0]
    zeros = values.size - positive.size
    expected = law.distribution(positive)
    above = np.arange(zeros + 1, values.size + 1) / values.size - expected
    return float(max(np.abs(above).max(), np.abs(above - 1 / values.size).max()))
