r"""Where the eigenvalues lie: edges of the laws, the resolvent to the right of them, and empirical spectra.

The edges of the bulk of F F^T/n are those of :mod:`onestep_lib.bulk_edges`.

Functions
---------
marchenko_pastur_edges, marchenko_pastur_density   the law of X^T X/n
weight_law               support, atom, density and distribution function of W_0^T W_0
feature_law              the same of F F^T/n
outer_resolvent          m_1, m_2, tau and their derivatives to the right of the spectrum
operator_norm            the largest singular value of a matrix
distribution_distance    Kolmogorov-Smirnov distance of eigenvalues to a law
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse.linalg import svds

from onestep_lib._checks import (
    check_count,
    check_instance,
    check_matrix,
    check_number,
    check_positive,
    check_real,
    check_vector,
)
from onestep_lib.bulk_edges import Averages, BulkShape, bulk_edges, top_distance
from onestep_lib.gaussian_equivalence import Resolvent
from onestep_lib.settings import Setting
from onestep_lib.spectrum import spectral_density

__all__ = [
    "FeatureLaw",
    "Law",
    "WeightLaw",
    "distribution_distance",
    "feature_law",
    "marchenko_pastur_density",
    "marchenko_pastur_edges",
    "operator_norm",
    "outer_resolvent",
    "weight_law",
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
    ratio = check_number("ratio", ratio, check_positive)
    low, high = marchenko_pastur_edges(ratio)
    inside = np.maximum((high - x) * (x - low), 0.0)
    return np.sqrt(inside) / (2 * np.pi * ratio * x)


@dataclass(frozen=True)
class Law(ABC):
    """A law of eigenvalues: intervals with a density, and an atom at 0.

    Parameters
    ----------
    support : ndarray, shape (K, 2)
        The intervals that carry the density, from left to right.
    atom : float
        The mass at 0.
    """

    support: np.ndarray
    atom: float

    @property
    def edge(self) -> float:
        """The right end of the spectrum."""
        return float(self.support[-1, 1])

    @abstractmethod
    def density(self, x: ArrayLike) -> np.ndarray:
        """The density at points x > 0."""

    def distribution(self, x: ArrayLike, points: int = 2000) -> np.ndarray:
        """The distribution function at points x, from the density at `points` angles an interval."""
        x = check_real("x", x)
        angle = np.pi * (np.arange(check_count("points", points)) + 0.5) / points
        total = np.where(x >= 0, self.atom, 0.0)
        for low, high in self.support:
            middle, half = (low + high) / 2, (high - low) / 2
            # The square-root edges are smooth in the angle: the midpoint rule converges fast.
            mass = self.density(middle - half * np.cos(angle)) * half * np.sin(angle) * np.pi / points
            cumulative = np.concatenate([[0.0], np.cumsum(mass)])
            at = np.arccos(np.clip((middle - x) / half, -1, 1)) * points / np.pi
            total = total + np.interp(at, np.arange(points + 1), cumulative)
        return total


@dataclass(frozen=True)
class WeightLaw(Law):
    r"""The limiting law of the squared singular values of W_0, the d eigenvalues of :math:`W_0^\top W_0`.

    Marchenko and Pastur's: N/d times that of :math:`X^\top X/N`, X with N rows. A step leaves this bulk as it
    is and adds one outlier, the square of `onestep_lib.step.weight_spectrum`'s.

    Parameters
    ----------
    psi : float
        d/N.
    """

    psi: float

    def density(self, x: ArrayLike) -> np.ndarray:
        """The density at points x > 0, from `marchenko_pastur_density`."""
        return self.psi * marchenko_pastur_density(self.psi * check_positive("x", x), self.psi)


def weight_law(setting: Setting) -> WeightLaw:
    r"""Return the limiting law of the eigenvalues of :math:`W_0^\top W_0`; rows of either kind have it."""
    psi = setting.psi
    low, high = marchenko_pastur_edges(psi)
    return WeightLaw(np.array([[low / psi, high / psi]]), max(0.0, 1 - 1 / psi), psi)


@dataclass(frozen=True)
class FeatureLaw(Law):
    r"""The limiting law of the eigenvalues of :math:`FF^\top/n` for random features.

    Parameters
    ----------
    phi, psi, c1_sq, nonlinear_sq : float
        d/n, d/N, c_1^2 and c_{>1}^2.
    """

    phi: float
    psi: float
    c1_sq: float
    nonlinear_sq: float

    def density(self, x: ArrayLike) -> np.ndarray:
        """The density at points x > 0, from `onestep_lib.spectrum.spectral_density`."""
        return spectral_density(x, self.phi, self.psi, self.c1_sq, self.nonlinear_sq)


def feature_law(setting: Setting) -> FeatureLaw:
    r"""Return the limiting law of :math:`FF^\top/n` at step 0, with every edge.

    The constant part of the activation, and the spikes of a step, add outliers and leave this bulk as it
    is (:mod:`onestep_lib.spikes`). Source: Silverstein and Choi (1995) for the edges.

    Raises
    ------
    ValueError
        If the activation is constant, or as in `Setting.require_theory`.
    ConvergenceError
        If an edge cannot be bracketed.
    """
    setting.require_theory()
    sigma = setting.activation
    a, b = sigma.c1**2, sigma.nonlinear_power
    if a + b == 0:
        raise ValueError(f"activation must not be constant, got {sigma.name!r}")
    k = setting.n / setting.N
    if a == 0:
        edges = [b * (1 / np.sqrt(k) - 1) ** 2, b * (1 / np.sqrt(k) + 1) ** 2]
    else:
        edges = [a * edge for edge in bulk_edges(BulkShape(b / a, setting.n / setting.d, k))]
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
        means = Averages(inverse, inverse, slope, slope)
    else:
        shape = BulkShape(b / a, setting.n / setting.d, k)
        top = top_distance(shape)
        w, scaled = shape.left(top + (shape.ends[1] + top + shape.beta) * distance)
        mu = a * w - b
        means = Averages(scaled.p / a, scaled.e / a, scaled.dp / a**2, scaled.de / a**2)
    q = np.asarray(1 / k - a * means.e - b * means.p)
    dq = np.asarray(-a * means.de - b * means.dp)
    return -mu * q, _resolvent_along(mu, q, dq, means, k)


def _resolvent_along(mu: np.ndarray, q: np.ndarray, dq: np.ndarray, means: Averages, k: float) -> Resolvent:
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


def distribution_distance(eigenvalues: np.ndarray, law: Law) -> float:
    r"""Return the Kolmogorov-Smirnov distance :math:`\sup_x|F_n(x)-F(x)|` of eigenvalues to a law.

    Parameters
    ----------
    eigenvalues : ndarray, shape (n,)
        All of them, those at 0 included (rounding below 1e-10 of the largest counts as 0).
    law : Law

    Raises
    ------
    TypeError, ValueError
        If there is no eigenvalue, all are 0, or the law is not a `Law`.
    """
    check_instance("law", law, Law)
    values = np.sort(check_vector("eigenvalues", eigenvalues))
    if not values.any():
        raise ValueError(f"eigenvalues must not be empty or all 0, got {eigenvalues!r}")
    values = np.where(np.abs(values) < 1e-10 * np.abs(values).max(), 0.0, values)
    positive = values[values > 0]
    zeros = values.size - positive.size
    expected = law.distribution(positive)
    above = np.arange(zeros + 1, values.size + 1) / values.size - expected
    return float(max(np.abs(above).max(), np.abs(above - 1 / values.size).max()))
