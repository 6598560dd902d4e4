r"""The spectrum of random features: its density, its edges and its law.

**Density.** The trace of the resolvent (:mod:`onestep_lib.no_step.gaussian_equivalence`) at a negative
penalty is the Stieltjes transform: :math:`g(z)=\lim\frac1n\operatorname{tr}(FF^\top/n-z)^{-1}` is
:math:`km_1` at :math:`\lambda=-z`. Off the negative axis the scalar equation becomes a quartic, and its one
root that is a Stieltjes transform is chosen.

**Edges.** Random features are a sample covariance of N columns with population eigenvalues ax + b,
a = :math:`c_1^2`, b = :math:`c_{>1}^2` and x an eigenvalue of X X^T/d. With c = n/d,
k = n/N, and w in place of the penalty,

.. math:: z(w)=(b-aw)\Big[\frac1k-\mathbb E\frac{ax+b}{a(x+w)}\Big],\qquad
          -\frac{1}{a}\frac{dz}{dw}=D(w)=\frac1k-\mathbb E\Big(\frac{ax+b}{a(x+w)}\Big)^2 ,

the points outside the spectrum of :math:`FF^\top/n` are the z(w) with real w outside the support of -x and
D(w) > 0, and its edges are the z(w) with D(w) = 0 (Silverstein and Choi 1995). D is
monotone on either side of the support and concave in the gap that an atom of x leaves, so that every edge
is bracketed. The averages are closed forms of :math:`e=\mathbb E[x/(x+w)]`.

Functions
---------
stieltjes          g(z) in the upper half-plane
spectral_density   the density on the real line
top_distance       where the right edge lies in w
bulk_edges         every edge of F F^T/n
outer_traces       m_1, m_2, tau and their derivatives to the right of the spectrum
feature_law        support, atom, density and distribution function
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq, minimize_scalar

from onestep_lib._checks import (
    check_count,
    check_instance,
    check_nonnegative,
    check_number,
    check_positive,
    check_real,
    check_size,
    shown,
)
from onestep_lib.convergence import ConvergenceError
from onestep_lib.no_step.gaussian_equivalence import Traces, require_power
from onestep_lib.settings import Setting

__all__ = [
    "feature_law",
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
    >>> from onestep_lib.no_step.spectrum import stieltjes
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
    require_power(a, b)
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


_Real = float | np.ndarray


@dataclass(frozen=True, eq=False)
class Averages:
    """E[1/(x + w)] and E[x/(x + w)] and their w-derivatives, for real w outside the support of -x."""

    p: _Real
    e: _Real
    dp: _Real
    de: _Real


def _averages(w: _Real, c: float, root: _Real) -> Averages:
    """`root` is sqrt((w + x_-)(w + x_+)), negative to the left of the support."""
    e = 2 / (1 + c + w + root)
    # Two forms of one root, each where it adds numbers of one sign; for c > 1 the atom of x is a pole.
    tilt = 1 - c + w
    same = tilt * root >= 0
    pole = ~same & (w == 0)
    p = np.where(
        same, 2 / np.where(same, tilt + root, 1.0), (root - tilt) / np.where(same | pole, 1.0, 2 * c * w)
    )
    p = np.where(pole, np.inf, p)
    return Averages(p, e, -(p**2) / (e * root), -e / root)


@dataclass(frozen=True)
class LawShape:
    """The parameters of the law of F F^T/n in units of a: beta = b/a, c = n/d, k = n/N.

    `left`, `right` and `beside_atom` return a place w off the support of -x, with the averages there.
    """

    beta: float
    c: float
    k: float

    @property
    def ends(self) -> tuple[float, float]:
        root_c = np.sqrt(self.c)
        return (1 - root_c) ** 2, (1 + root_c) ** 2

    def left(self, t: _Real) -> tuple[_Real, Averages]:
        """w and the averages at distance t > 0 to the left of the support."""
        low, high = self.ends
        return -high - t, _averages(-high - t, self.c, -np.sqrt(t) * np.sqrt(t + high - low))

    def right(self, t: _Real) -> tuple[_Real, Averages]:
        """w and the averages at distance t > 0 to the right of the continuous support."""
        low, high = self.ends
        return t - low, _averages(t - low, self.c, np.sqrt(t) * np.sqrt(t + high - low))

    def beside_atom(self, w: _Real) -> tuple[_Real, Averages]:
        """w and the averages near the atom at 0, for w on either side."""
        low, high = self.ends
        return w, _averages(w, self.c, np.sqrt(w + low) * np.sqrt(w + high))

    def slope(self, w: _Real, means: Averages) -> float:
        """D(w)."""
        if self.beta == 0:
            # Linear features do not see the atom of x, where p has its pole.
            return float(1 / self.k - means.e - w * means.de)
        bracket = 1 / self.k - means.e - self.beta * means.p
        return float(bracket - (w - self.beta) * (means.de + self.beta * means.dp))

    def z(self, w: _Real, means: Averages) -> float:
        """z(w)/a."""
        tilted = self.beta * means.p if self.beta else 0.0
        return float((self.beta - w) * (1 / self.k - means.e - tilted))


# Distances below this one count as 0; its square is still a number.
_TINY = 1e-120
_Point = tuple[_Real, Averages]


def _crossing(place: Callable[[float], _Point], low: float, high: float, shape: LawShape) -> float:
    """The t between two ends where D changes sign, in log t."""

    def slope(log_t: float) -> float:
        return shape.slope(*place(np.exp(log_t)))

    try:
        found = brentq(slope, np.log(low), np.log(high), xtol=1e-14)
    except (ValueError, RuntimeError) as error:  # no sign change, or not within brentq's iterations
        raise ConvergenceError("bulk_edges", np.inf, asdict(shape)) from error
    return float(np.exp(found))


def _outward_crossing(place: Callable[[float], _Point], shape: LawShape) -> float | None:
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
def top_distance(shape: LawShape) -> float:
    """The distance t of the top edge to the left of the support."""
    t = _outward_crossing(shape.left, shape)
    if t is None:
        raise ConvergenceError("bulk_edges", 0.0, asdict(shape))
    return t


def _bottom(shape: LawShape) -> float:
    """The lowest edge over a: D grows to the right of the support, or of the atom of x at 0."""
    place = shape.beside_atom if shape.c > 1 and shape.beta > 0 else shape.right
    t = _outward_crossing(place, shape)
    # Without a crossing the support of F F^T/n reaches down to 0.
    return 0.0 if t is None else max(shape.z(*place(t)), 0.0)


def _gap(shape: LawShape) -> list[float]:
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


def bulk_edges(shape: LawShape) -> list[float]:
    """Return every edge of the spectrum over a, from left to right.

    Raises
    ------
    ConvergenceError
        If an edge cannot be bracketed.

    Examples
    --------
    >>> from onestep_lib.no_step.spectrum import LawShape, bulk_edges
    >>> edges = bulk_edges(LawShape(beta=1e6, c=2, k=0.25))  # next to no linear part
    >>> [round(edge / 1e6, 3) for edge in edges]  # (1/sqrt(k) -+ 1)^2
    [1.0, 9.0]
    """
    return [_bottom(shape), *_gap(shape), shape.z(*shape.left(top_distance(shape)))]


def outer_traces(distance: ArrayLike, setting: Setting) -> tuple[np.ndarray, Traces]:
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
    resolvent : Traces
        :math:`m_1`, :math:`m_2` (negative there), tau and their derivatives in lambda = -z.

    Examples
    --------
    >>> from onestep_lib import Setting
    >>> from onestep_lib.no_step.spectrum import outer_traces
    >>> z, traces = outer_traces([0.01, 1, 100], Setting(n=500, d=400, N=500))
    >>> (-z * traces.m1).round(2)  # far from the spectrum the resolvent is -1/z
    array([1.46, 1.14, 1.  ])
    """
    distance = np.asarray(distance, dtype=np.float64)
    sigma = setting.activation
    a, b, k = sigma.c1**2, sigma.nonlinear_power, setting.n / setting.N
    if a == 0:
        mu = -b * (1 + np.sqrt(k)) * (1 + distance)
        inverse, slope = 1 / (b + mu), -1 / (b + mu) ** 2
        means = Averages(inverse, inverse, slope, slope)
    else:
        shape = LawShape(b / a, setting.n / setting.d, k)
        top = top_distance(shape)
        w, scaled = shape.left(top + (shape.ends[1] + top + shape.beta) * distance)
        mu = a * w - b
        means = Averages(scaled.p / a, scaled.e / a, scaled.dp / a**2, scaled.de / a**2)
    q = np.asarray(1 / k - a * means.e - b * means.p)
    dq = np.asarray(-a * means.de - b * means.dp)
    return -mu * q, _traces_along(mu, q, dq, means, k)


def _traces_along(mu: np.ndarray, q: np.ndarray, dq: np.ndarray, means: Averages, k: float) -> Traces:
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
    return Traces(*(np.asarray(field) for field in fields))


# The power of the points' angles of a distribution function.
_CROWDING = 4
# The share of the right edge below which a density is continued.
_MERGED = 1e-11


@dataclass(frozen=True, eq=False)
class FeatureLaw:
    r"""The limiting law of the eigenvalues of :math:`FF^\top/n`: intervals with a density, an atom at 0.

    Parameters
    ----------
    support : ndarray, shape (K, 2)
        The intervals that carry the density, from left to right.
    atom : float
        The mass at 0.
    phi, psi, c1_sq, nonlinear_sq : float
        d/n, d/N, :math:`c_1^2` and :math:`c_{>1}^2`.
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
        """The density at points x > 0, from `spectral_density`."""
        return spectral_density(x, self.phi, self.psi, self.c1_sq, self.nonlinear_sq)

    def distribution(self, x: ArrayLike, points: int = 4000) -> np.ndarray:
        r"""The distribution function at points x to 2e-7, from the density at `points` angles an interval.

        The angle, in which square-root edges are smooth, is :math:`\pi s^4` with equidistant s: close
        enough to the left end for a density that is infinite at 0, like :math:`x^{-2/3}` for a linear
        activation and n = d = N.
        """
        x, points = check_real("x", x), check_count("points", points)
        s = (np.arange(points) + 0.5) / points
        angle = np.pi * s**_CROWDING
        weight = np.sin(angle) * np.pi * _CROWDING * s ** (_CROWDING - 1) / points
        total = np.where(x >= 0, self.atom, 0.0)
        for low, high in self.support:
            # sin^2 keeps the digits of small angles, which 1 - cos loses.
            inner = low + (high - low) * np.sin(angle / 2) ** 2
            mass = self._steep_density(inner) * (high - low) / 2 * weight
            cumulative = np.concatenate([[0.0], np.cumsum(mass)])
            inside = np.sqrt(np.clip((x - low) / (high - low), 0.0, 1.0))
            at = (2 * np.arcsin(inside) / np.pi) ** (1 / _CROWDING) * points
            total = total + np.interp(at, np.arange(points + 1), cumulative)
        return total

    def _steep_density(self, x: np.ndarray) -> np.ndarray:
        """The density, continued as a power of x towards 0, where the roots of its equation merge."""
        least = _MERGED * self.edge
        values = self.density(np.maximum(x, least))
        low, high = self.density(np.array([least, 10 * least]))
        if low == 0 or high == 0:
            return values
        return values * np.minimum(x / least, 1.0) ** np.log10(high / low)


def feature_law(setting: Setting) -> FeatureLaw:
    r"""Return the limiting law of :math:`FF^\top/n` at step 0, with every edge.

    The constant part of the activation, and the spikes of a step, add outliers and leave this bulk as it
    is (:mod:`onestep_lib.small_step.spikes`). Source: Silverstein and Choi (1995) for the edges.

    Raises
    ------
    ValueError
        If the activation is constant, or as in `Setting.require_theory`.
    ConvergenceError
        If an edge cannot be bracketed.

    Examples
    --------
    >>> from onestep_lib import Setting
    >>> from onestep_lib.no_step import feature_law
    >>> law = feature_law(Setting(n=1000, d=500, N=250))
    >>> print(law.atom, law.distribution([0, law.edge]).round(4))  # N/n of the eigenvalues are not 0
    0.75 [0.75 1.  ]
    """
    check_instance("setting", setting, Setting)
    setting.require_theory()
    sigma = setting.activation
    a, b = sigma.c1**2, sigma.nonlinear_power
    k = setting.n / setting.N
    if a == 0:
        edges = [b * (1 / np.sqrt(k) - 1) ** 2, b * (1 / np.sqrt(k) + 1) ** 2]
    else:
        edges = [a * edge for edge in bulk_edges(LawShape(b / a, setting.n / setting.d, k))]
    rank = min(setting.N, setting.d) if b == 0 else setting.N
    atom = max(0.0, 1 - rank / setting.n)
    return FeatureLaw(np.reshape(edges, (-1, 2)), atom, setting.phi, setting.psi, a, b)
