r"""The edges of the spectrum of random features.

Random features are a sample covariance of N columns with population eigenvalues ax + b, a = :math:`c_1^2`,
b = :math:`c_{>1}^2` and x an eigenvalue of X X^T/d. With c = n/d, k = n/N, and w in place of the penalty,

.. math:: z(w)=(b-aw)\Big[\frac1k-\mathbb E\frac{ax+b}{a(x+w)}\Big],\qquad
          -\frac{1}{a}\frac{dz}{dw}=D(w)=\frac1k-\mathbb E\Big(\frac{ax+b}{a(x+w)}\Big)^2 ,

the points outside the spectrum of :math:`FF^\top/n` are the z(w) with real w outside the support of -x and
D(w) > 0, and its edges are the z(w) with D(w) = 0 (Silverstein and Choi 1995). D is
monotone on either side of the support and concave in the gap that an atom of x leaves, so that every edge
is bracketed. The averages are closed forms of :math:`e=\mathbb E[x/(x+w)]`.

Functions
---------
top_distance   where the right edge lies in w
bulk_edges     every edge of F F^T/n
outer_traces   m_1, m_2, tau and their derivatives to the right of the spectrum
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq, minimize_scalar

from onestep_lib.convergence import ConvergenceError
from onestep_lib.no_step.gaussian_equivalence import Traces
from onestep_lib.settings import Setting

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
        found, report = brentq(slope, np.log(low), np.log(high), xtol=1e-14, full_output=True)
    except ValueError as error:
        raise ConvergenceError("bulk_edges", np.inf, asdict(shape)) from error
    if not report.converged:
        raise ConvergenceError("bulk_edges", abs(slope(found)), asdict(shape))
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
    >>> from onestep_lib.no_step.edges import LawShape, bulk_edges
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
    >>> from onestep_lib.no_step.edges import outer_traces
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
