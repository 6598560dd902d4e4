r"""Where the eigenvalues lie: the limiting laws of weights and features, with support, atom and density.

The edges of the bulk of F F^T/n are those of :mod:`onestep_lib.no_step.edges`.

Functions
---------
weight_law    support, atom, density and distribution function of W_0^T W_0
feature_law   the same of F F^T/n
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from onestep_lib._checks import check_count, check_instance, check_positive, check_real
from onestep_lib.no_step.density import spectral_density
from onestep_lib.no_step.edges import LawShape, bulk_edges
from onestep_lib.no_step.marchenko_pastur import marchenko_pastur_density, marchenko_pastur_edges
from onestep_lib.settings import Setting

__all__ = [
    "feature_law",
]

# The power of the points' angles of a distribution function.
_CROWDING = 4
# The share of the right edge below which a density is continued.
_MERGED = 1e-11


@dataclass(frozen=True, eq=False)
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


@dataclass(frozen=True, eq=False)
class WeightLaw(Law):
    r"""The limiting law of the d eigenvalues of :math:`W_0^\top W_0`.

    Marchenko and Pastur's: N/d times that of :math:`X^\top X/N`, X with N rows. A step leaves this bulk as it
    is and adds one outlier, the square of `onestep_lib.small_step.weights.weight_spectrum`'s.

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
    r"""Return the limiting law of the eigenvalues of :math:`W_0^\top W_0`; rows of either kind have it.

    Examples
    --------
    >>> from onestep_lib import Setting
    >>> from onestep_lib.no_step.laws import weight_law
    >>> weight_law(Setting(n=100, d=100, N=400)).support.round(4)  # (sqrt(N/d) -+ 1)^2
    array([[1., 9.]])
    """
    check_instance("setting", setting, Setting)
    setting.require_independent_rows()
    psi = setting.psi
    low, high = marchenko_pastur_edges(psi)
    return WeightLaw(np.array([[low / psi, high / psi]]), max(0.0, 1 - 1 / psi), psi)


@dataclass(frozen=True, eq=False)
class FeatureLaw(Law):
    r"""The limiting law of the eigenvalues of :math:`FF^\top/n` for random features.

    Parameters
    ----------
    phi, psi, c1_sq, nonlinear_sq : float
        d/n, d/N, :math:`c_1^2` and :math:`c_{>1}^2`.
    """

    phi: float
    psi: float
    c1_sq: float
    nonlinear_sq: float

    def density(self, x: ArrayLike) -> np.ndarray:
        """The density at points x > 0, from `onestep_lib.no_step.density.spectral_density`."""
        return spectral_density(x, self.phi, self.psi, self.c1_sq, self.nonlinear_sq)


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
    setting.require_independent_rows()
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
