r"""Conditional means given the spike coordinate: all that the giant step sees of activation and target.

After a giant step a feature is :math:`\sigma(w\cdot x+u\kappa)`, :math:`\kappa=v\cdot x` the coordinate
along the learned spike v. Given :math:`\kappa`, :math:`w\cdot x` is close to :math:`c\,\zeta`,
:math:`\zeta\sim N(0,1)`, with the bulk scale c (1 before the step), and four functions of
:math:`t=u\kappa` describe the activation,

.. math:: \mu_0=\mathbb E\,\sigma(c\zeta+t),\quad \mu_1=\mathbb E[\zeta\sigma(c\zeta+t)],\quad
          m_2=\mathbb E[(\zeta^2-1)\sigma(c\zeta+t)],\quad
          \mu_2^2=\mathbb E(\sigma-\mu_0-\mu_1\zeta)^2 ;

with :math:`\theta=\gamma v+\sqrt{1-\gamma^2}\,\theta_\perp` the direction of the target and
:math:`z=\theta_\perp\cdot x`, three functions of :math:`\kappa` describe the labels,

.. math:: h_0=\mathbb E[y|\kappa],\qquad h_1=\mathbb E[yz|\kappa],\qquad H=\mathbb E[y^2|\kappa].

(Cui et al., arXiv 2402.04980; :math:`m_2`, the response to the length of w, is derived in chapter 9.)
Every inner average is split at the kinks, and the number of nodes doubles until nothing changes.

Functions
---------
kappa_grid        panels of Gauss-Legendre nodes for averages over kappa ~ N(0, 1)
feature_means     mu_0, mu_1, m_2, mu_2^2
target_means      h_0, h_1, H of a single-index target or of y = Y(kappa, z)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import roots_legendre

from onestep_lib._checks import check_nonnegative, check_positive, check_real, check_vector
from onestep_lib.activations import Activation, Target
from onestep_lib.convergence import ConvergenceError
from onestep_lib.hermite import evaluate

__all__ = [
    "FeatureMeans",
    "KappaGrid",
    "TargetMeans",
    "TwoIndexTarget",
    "feature_means",
    "kappa_grid",
    "target_means",
]

ScalarFunction = Callable[[np.ndarray], np.ndarray]

# The inner weight is 2e-22 of its peak at 10; kappa goes on to 12, because a small residual in the
# middle lets events of probability 1e-20 matter for the training loss.
_INNER_RANGE = 10.0
_KAPPA_EDGES = (0.0, 0.75, 1.5, 2.25, 3.0, 3.75, 4.5, 5.5, 7.0, 9.0, 12.0)
_ORDER = 16
# Spikes above which the panels within |kappa| < 4.5 are halved, once and twice.
_HALVE_ABOVE = (1.5, 5.0)
# Activations bend within this distance of 0, a short piece of a bulk wider than _WIDE.
_BEND, _WIDE = 4.0, 1.5
_COUNTS = (48, 96, 192, 384, 768)


@dataclass(frozen=True)
class KappaGrid:
    """Gauss-Legendre panels for averages over kappa ~ N(0, 1).

    Parameters
    ----------
    edges : ndarray, shape (panels + 1,)
    nodes, weights : ndarray, shape (16 panels,)
        The weights sum to 1.
    """

    edges: np.ndarray
    nodes: np.ndarray
    weights: np.ndarray

    def split(self, panels: np.ndarray) -> KappaGrid:
        """Return the grid with the marked panels (boolean, one a panel) halved."""
        middle = (self.edges[1:] + self.edges[:-1]) / 2
        return _grid(np.union1d(self.edges, middle[panels]))

    def errors(self, values: np.ndarray) -> np.ndarray:
        """Return, panel by panel, an estimate of the error of the average of `values`, (..., panels)."""
        weighted = (values * np.exp(-(self.nodes**2) / 2)).reshape(*values.shape[:-1], -1, _ORDER)
        coefficients = np.abs(weighted @ _legendre_transform().T)
        top = np.max(coefficients, axis=-1)
        last = np.max(coefficients[..., -2:], axis=-1)
        # Gauss-Legendre is exact to twice the degree of the last coefficient, so its error is the square.
        return np.diff(self.edges) / np.sqrt(2 * np.pi) * last**2 / np.where(top > 0, top, 1.0)


@lru_cache(maxsize=16)
def _gauss_legendre(count: int) -> tuple[np.ndarray, np.ndarray]:
    return roots_legendre(count)


@lru_cache(maxsize=1)
def _legendre_transform() -> np.ndarray:
    points, weights = _gauss_legendre(_ORDER)
    vandermonde = np.polynomial.legendre.legvander(points, _ORDER - 1)
    return (np.arange(_ORDER) + 0.5)[:, None] * (vandermonde * weights[:, None]).T


def _grid(edges: np.ndarray) -> KappaGrid:
    points, weights = _gauss_legendre(_ORDER)
    half = np.diff(edges)[:, None] / 2
    nodes = ((edges[:-1] + edges[1:])[:, None] / 2 + half * points).ravel()
    mass = (half * weights).ravel() * np.exp(-(nodes**2) / 2)
    return KappaGrid(edges, nodes, mass / mass.sum())


def kappa_grid(kinks: Sequence[float] = (), width: float = 0.0, spike: float = 1.0) -> KappaGrid:
    """Return panels on [-12, 12] for averages over kappa.

    Parameters
    ----------
    kinks : sequence of float
        Points where the functions of kappa jump, bend or (with `width` > 0) turn within that width:
        panels there shrink geometrically down to `width`.
    width : float
        0 for a true kink.
    spike : float
        The largest spike strength: functions of spike * kappa need shorter panels.
    """
    points = check_vector("kinks", list(kinks))
    limit = _KAPPA_EDGES[-1]
    levels = np.arange(1 + np.log(1 / min(width, 1)) / np.log(3)) if width > 0 else np.empty(0)
    near = width * 3.0**levels
    offsets = np.concatenate([-near, [0.0], near])
    extra = np.add.outer(points, offsets).ravel()
    edges = np.unique(np.concatenate([np.negative(_KAPPA_EDGES), _KAPPA_EDGES, extra[np.abs(extra) < limit]]))
    grid = _grid(edges[np.append(np.diff(edges) > 1e-12, True)])
    for threshold in _HALVE_ABOVE:
        if spike > threshold:
            grid = grid.split(np.abs(grid.edges[1:] + grid.edges[:-1]) < 9.0)
    return grid


@dataclass(frozen=True)
class FeatureMeans:
    """The four functions of the activation on a grid of kappa, each of shape (G, K), one row a group."""

    mu0: np.ndarray
    mu1: np.ndarray
    m2: np.ndarray
    mu2_sq: np.ndarray


def feature_means(
    sigma: Activation, spikes: ArrayLike, kappa: ArrayLike, scales: ArrayLike = 1.0
) -> FeatureMeans:
    r"""Return :math:`\mu_0,\mu_1,m_2,\mu_2^2` at :math:`t=u_g\kappa` with the bulk scale :math:`c_g`.

    Parameters
    ----------
    sigma : Activation
    spikes : array_like, shape (G,)
        The spike strengths u_g.
    kappa : array_like, shape (K,)
    scales : array_like, shape () or (G,)
        The bulk scales c_g > 0, limits of \|w_j\|.

    Returns
    -------
    FeatureMeans
        About 13 digits of the largest value of each function.

    Raises
    ------
    ConvergenceError
        If the inner quadrature needs more than 768 nodes between two kinks.
    """
    u = check_vector("spikes", spikes)
    kappa = check_vector("kappa", kappa)
    scales = np.broadcast_to(check_positive("scales", scales), u.shape)
    rows = [_feature_rows(sigma, value * kappa, scale) for value, scale in zip(u, scales, strict=True)]
    return FeatureMeans(*(np.stack(part) for part in zip(*rows, strict=True)))


def _feature_rows(sigma: Activation, t: np.ndarray, scale: float) -> tuple[np.ndarray, ...]:
    # A group without a spike (u = 0) needs one point only.
    distinct, back = np.unique(t, return_inverse=True)
    # On a wide bulk the bend of the activation around 0 is narrow: give it a panel of its own.
    splits = sigma.kinks if scale < _WIDE else (*sigma.kinks, -_BEND, _BEND)
    count = _count(sigma.function, splits, distinct, scale)
    zeta, weights = _inner(splits, distinct, scale, count)
    values = evaluate(sigma.function, scale * zeta + distinct[:, None], name=f"activation {sigma.name!r}")
    weighted = weights * values
    mu0 = weighted.sum(axis=1)
    first = weighted * zeta
    mu1 = first.sum(axis=1)
    m2 = np.einsum("ij,ij->i", first, zeta) - mu0
    values -= mu0[:, None]
    values -= mu1[:, None] * zeta
    mu2_sq = np.einsum("ij,ij,ij->i", weights, values, values)
    return mu0[back], mu1[back], m2[back], mu2_sq[back]


def _inner(kinks: Sequence[float], t: np.ndarray, scale: float, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and Gaussian weights for E f(scale zeta + t), split at the kinks of f; shape (T, nodes)."""
    points, weights = _gauss_legendre(count)
    inside = [np.clip((kink - t) / scale, -_INNER_RANGE, _INNER_RANGE) for kink in sorted(kinks)]
    edges = np.stack([np.full_like(t, -_INNER_RANGE), *inside, np.full_like(t, _INNER_RANGE)], axis=1)
    half = np.diff(edges, axis=1)[:, :, None] / 2
    middle = (edges[:, 1:] + edges[:, :-1])[:, :, None] / 2
    zeta = (middle + half * points).reshape(t.size, -1)
    mass = (half * weights).reshape(t.size, -1) * np.exp(-(zeta**2) / 2) / np.sqrt(2 * np.pi)
    return zeta, mass


def _count(function: ScalarFunction, kinks: Sequence[float], t: np.ndarray, scale: float) -> int:
    """The number of nodes between two kinks that gives E f and E f^2 to 13 digits on a sample of t."""
    low, high = np.min(t), np.max(t)
    sample = np.concatenate([np.linspace(low, high, 17), np.clip(np.arange(-3.0, 4.0), low, high)])

    def moments(count: int) -> np.ndarray:
        zeta, weights = _inner(kinks, sample, scale, count)
        values = function(scale * zeta + sample[:, None])
        return np.stack([np.sum(weights * values**2, axis=1), np.sum(weights * zeta * values, axis=1)])

    previous = moments(_COUNTS[0])
    gap = np.inf
    for coarse, fine in pairwise(_COUNTS):
        current = moments(fine)
        gap = float(np.max(np.abs(current - previous) / (1 + np.abs(current))))
        if gap < 1e-13:
            return coarse
        previous = current
    at = {"function": function, "scale": scale, "nodes": _COUNTS[-1]}
    raise ConvergenceError("conditional_means", gap, at)


@dataclass(frozen=True)
class TwoIndexTarget:
    r"""A target :math:`y=Y(\kappa,z)+` noise of the spike coordinate and one direction across it.

    Parameters
    ----------
    function : callable
        Y, vectorised over two arrays of one shape; smooth.
    name : str
    """

    function: Callable[[np.ndarray, np.ndarray], np.ndarray]
    name: str = "Y(kappa, z)"


@dataclass(frozen=True)
class TargetMeans:
    r"""The functions of the labels on a grid of kappa, each of shape (K,).

    `variance` is :math:`H-h_0^2=\mathrm{Var}(y|\kappa)`, the noise included, free of cancellation.
    """

    h0: np.ndarray
    h1: np.ndarray
    variance: np.ndarray

    @property
    def H(self) -> np.ndarray:
        """The second moment of the labels given kappa."""
        return self.h0**2 + self.variance


def target_means(
    target: Target | TwoIndexTarget, kappa: ArrayLike, alignment: float = 0.0, noise: float = 0.0
) -> TargetMeans:
    r"""Return :math:`h_0,h_1,H` of the labels.

    For a single-index target, :math:`y=\sigma_*(\gamma\kappa+\sqrt{1-\gamma^2}\,z)+` noise.

    Parameters
    ----------
    target : Target or TwoIndexTarget
    kappa : array_like, shape (K,)
    alignment : float
        gamma in [-1, 1], the overlap of spike and target; not used by a two-index target.
    noise : float
        Standard deviation of the label noise; its variance enters H.
    """
    kappa = check_vector("kappa", kappa)
    variance = float(check_nonnegative("noise", noise)) ** 2
    if isinstance(target, TwoIndexTarget):
        return _two_index_means(target, kappa, variance)
    gamma = float(check_real("alignment", alignment))
    if abs(gamma) > 1:
        raise ValueError(f"alignment must lie in [-1, 1], got {alignment!r}")
    rho = np.sqrt((1 - gamma) * (1 + gamma))
    if rho == 0:
        values = evaluate(target.function, gamma * kappa, name=f"target {target.name!r}")
        return TargetMeans(values, np.zeros_like(kappa), np.full_like(kappa, variance))
    count = _count(target.function, target.kinks, gamma * kappa, rho)
    zeta, weights = _inner(target.kinks, gamma * kappa, rho, count)
    values = evaluate(target.function, rho * zeta + gamma * kappa[:, None], name=f"target {target.name!r}")
    return _label_means(values, zeta, weights, variance)


def _label_means(values: np.ndarray, zeta: np.ndarray, weights: np.ndarray, variance: float) -> TargetMeans:
    weighted = weights * values
    h0 = weighted.sum(axis=1)
    spread = np.sum(weights * (values - h0[:, None]) ** 2, axis=1)
    return TargetMeans(h0, np.sum(weighted * zeta, axis=1), spread + variance)


def _two_index_means(target: TwoIndexTarget, kappa: np.ndarray, variance: float) -> TargetMeans:
    zeta, weights = _inner((), np.zeros_like(kappa), 1.0, 192)
    inputs = np.broadcast_arrays(kappa[:, None], zeta)
    values = evaluate(lambda z: target.function(inputs[0], z), inputs[1], name=f"target {target.name!r}")
    return _label_means(values, zeta, weights, variance)
