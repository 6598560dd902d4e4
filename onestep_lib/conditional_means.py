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
from functools import lru_cache, partial

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
# Activations bend within _BEND of 0, a short piece of a bulk wider than _WIDE, and have their tails beyond:
# panels there grow by _GROWTH up to 1/_FAR of the bulk's scale.
_BEND, _WIDE, _GROWTH, _FAR = 4.0, 1.5, 4.0, 3.0
_GAP = 5e-15
_COUNTS = (32, 48, 64, 96, 128, 192, 384, 768)


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
    """Nodes and weights; SciPy's weights are off by 3e-14 for hundreds of nodes, a Newton step mends them."""
    x = roots_legendre(count)[0].astype(np.longdouble)
    before, value = np.ones_like(x), x
    for k in range(1, count):
        before, value = value, ((2 * k + 1) * x * value - k * before) / (k + 1)
    slope = count * (before - x * value) / (1 - x**2)
    # The slope at the root itself: P'' = 2 x P'/(1 - x^2) where P = 0.
    step = value / slope
    slope -= step * 2 * x * slope / (1 - x**2)
    x = x - step
    return x.astype(np.float64), (2 / ((1 - x**2) * slope**2)).astype(np.float64)


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
        About 14 digits of the largest value of each function.

    Raises
    ------
    ConvergenceError
        If the inner quadrature needs more than 768 nodes between two kinks.
    """
    u = check_vector("spikes", spikes)
    kappa = check_vector("kappa", kappa)
    scales = np.broadcast_to(check_positive("scales", scales), u.shape)
    symmetric = np.array_equal(kappa, -kappa[::-1])
    known: dict[tuple[float, float], np.ndarray] = {}
    rows = []
    for value, scale in zip(u, scales, strict=True):
        if symmetric and (-value, scale) in known:
            # All four are functions of t = u kappa.
            rows.append(known[-value, scale][:, ::-1])
            continue
        rows.append(_feature_rows(sigma, value * kappa, scale))
        known[value, scale] = rows[-1]
    return FeatureMeans(*np.stack(rows, axis=1))


def _feature_rows(sigma: Activation, t: np.ndarray, scale: float) -> np.ndarray:
    """mu_0, mu_1, m_2 and mu_2^2 at each t, shape (4, T)."""
    # A group without a spike (u = 0) needs one point only.
    distinct, back = np.unique(t, return_inverse=True)
    splits = (*sigma.kinks, *_bends(scale))
    inner = partial(_inner, splits, scale=scale, count=_count(sigma.function, splits, distinct, scale))
    if np.array_equal(distinct, -distinct[::-1]) and np.array_equal(np.sort(splits), -np.sort(splits)[::-1]):
        return _both_signs(sigma, distinct[distinct.size // 2 :], scale, inner)[:, back]
    panels = inner(distinct)
    return _moments(_values(sigma, panels.points(distinct, scale)), panels)[:, back]


def _both_signs(
    sigma: Activation, t: np.ndarray, scale: float, inner: Callable[[np.ndarray], _Inner]
) -> np.ndarray:
    """The moments at -t and at t >= 0 in rising order, from one set of nodes: -t sees sigma(-x) at -zeta."""
    panels = inner(t)
    points = panels.points(t, scale)
    values, mirrored = _values(sigma, points), _values(sigma, -points)
    parity = next((sign for sign in (1.0, -1.0) if np.array_equal(mirrored, sign * values)), 0.0)
    right = _moments(values, panels)
    signs = np.array([1.0, -1.0, 1.0, 1.0])[:, None]
    if parity:
        left = right * signs * np.array([parity, parity, parity, 1.0])[:, None]
    else:
        left = signs * _moments(mirrored, panels)
    # t = 0 has no mirror image.
    return np.concatenate([left[:, t > 0][:, ::-1], right], axis=1)


def _values(sigma: Activation, points: np.ndarray) -> np.ndarray:
    return evaluate(sigma.function, points, name=f"activation {sigma.name!r}")


def _moments(values: np.ndarray, inner: _Inner) -> np.ndarray:
    """mu_0, mu_1, m_2 and mu_2^2 from the values at the nodes."""
    first = inner.mass * inner.zeta
    mu0, mu1 = inner.total(inner.mass, values), inner.total(first, values)
    rest = values - inner.spread(mu0)
    rest -= inner.spread(mu1) * inner.zeta
    # Of what is left, so that nothing cancels where the function is almost linear.
    m2 = inner.total(first * inner.zeta - inner.mass, rest)
    return np.stack([mu0, mu1, m2, inner.total(inner.mass, np.square(rest, out=rest))])


def _bends(scale: float) -> list[float]:
    """Where to split a bulk so wide that what the activation does around 0 is narrow."""
    if scale < _WIDE:
        return []
    levels = 1 + max(0, int(np.ceil(np.log(scale / _FAR / _BEND) / np.log(_GROWTH))))
    ends = _BEND * _GROWTH ** np.arange(levels)
    return [*-ends, *ends]


@dataclass(frozen=True)
class _Inner:
    r"""Panels for averages over :math:`\zeta`, given t: only those that are not empty.

    Parameters
    ----------
    zeta, mass : ndarray, shape (panels, nodes), or (1, nodes) if they are the same for every t
        Nodes and Gaussian weights.
    owner : ndarray, shape (panels,)
        The index of the panel's t.
    starts : ndarray, shape (T,)
        The first panel of each t.
    """

    zeta: np.ndarray
    mass: np.ndarray
    owner: np.ndarray
    starts: np.ndarray

    def points(self, t: np.ndarray, scale: float) -> np.ndarray:
        """scale zeta + t, shape (panels, nodes)."""
        return scale * self.zeta + self.spread(t)

    def spread(self, values: np.ndarray) -> np.ndarray:
        """Values at each t (T,) as a column over the panels."""
        return values[self.owner, None]

    def total(self, weights: np.ndarray, values: np.ndarray) -> np.ndarray:
        """The sum of weights (of the shape of zeta) times values (panels, nodes) for each t, (T,)."""
        return np.add.reduceat(np.einsum("ij,ij->i", weights, values), self.starts)


def _inner(kinks: Sequence[float], t: np.ndarray, scale: float, count: int) -> _Inner:
    """Panels for E f(scale zeta + t), split at the kinks of f."""
    points, weights = _gauss_legendre(count)
    limit = np.full((t.size if kinks else 1, 1), _INNER_RANGE)
    inside = np.clip((np.sort(kinks) - t[:, None]) / scale, -_INNER_RANGE, _INNER_RANGE)
    edges = np.hstack([-limit, inside, limit]) if kinks else np.hstack([-limit, limit])
    left, right = edges[:, :-1], edges[:, 1:]
    seen = right > left
    half, middle = ((right - left)[seen] / 2)[:, None], ((right + left)[seen] / 2)[:, None]
    zeta = middle + half * points
    mass = np.exp(-(zeta**2) / 2)
    mass *= half * (weights / np.sqrt(2 * np.pi))
    if not kinks:
        return _Inner(zeta, mass, np.arange(t.size), np.arange(t.size))
    panels = seen.sum(axis=1)
    return _Inner(zeta, mass, np.repeat(np.arange(t.size), panels), np.cumsum(panels) - panels)


def _count(function: ScalarFunction, kinks: Sequence[float], t: np.ndarray, scale: float) -> int:
    """The number of nodes between two kinks that gives E f^2 and E zeta f on a sample of t, to rounding."""
    low, high = np.min(t), np.max(t)
    sample = np.concatenate([np.linspace(low, high, 17), np.clip(np.arange(-3.0, 4.0), low, high)])

    def values(inner: _Inner) -> np.ndarray:
        return function(inner.points(sample, scale))

    at = {"function": function, "scale": scale, "nodes": _COUNTS[-1]}
    # The points scale zeta + t are themselves rounded, by an error of the size of t.
    rounding = np.finfo(float).eps * np.abs(sample)
    return _enough(values, partial(_inner, kinks, sample, scale), rounding, "conditional_means", at)


def _enough(
    values: Callable[[_Inner], np.ndarray],
    inner: Callable[[int], _Inner],
    rounding: np.ndarray | float,
    solver: str,
    at: dict[str, object],
) -> int:
    """The first count of nodes at which the second moment and the response no longer change."""
    previous, gap = None, np.inf
    for index, count in enumerate(_COUNTS):
        panels = inner(count)
        found, first = values(panels), panels.mass * panels.zeta
        square = panels.total(panels.mass, found**2)
        current = np.stack([square, panels.total(first, found)])
        # Rounding is relative to the sum of the absolute terms, not to what they cancel to.
        size = 1 + np.stack([square, panels.total(np.abs(first), np.abs(found))])
        if previous is not None:
            excess = np.abs(current - previous) / size
            gap = float(np.max(excess))
            if np.all(excess < _GAP + rounding):
                return _COUNTS[index - 1]
        previous = current
    raise ConvergenceError(solver, gap, at)


@dataclass(frozen=True)
class TwoIndexTarget:
    r"""A target :math:`y=Y(\kappa,z)+` noise of the spike coordinate and one direction across it.

    Parameters
    ----------
    function : callable
        Y, vectorised over two arrays of one shape.
    name : str
    kinks : tuple of float
        Every z where Y jumps or bends, at any kappa.
    """

    function: Callable[[np.ndarray, np.ndarray], np.ndarray]
    name: str = "Y(kappa, z)"
    kinks: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise TypeError(f"function must be a callable of two arrays, got {self.function!r}")
        object.__setattr__(self, "kinks", tuple(check_vector("kinks", self.kinks).tolist()))


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

    Raises
    ------
    ValueError
        If the alignment lies outside [-1, 1].
    ConvergenceError
        If the inner quadrature needs more than 768 nodes between two kinks, as for a kink that is not
        among those of the target.
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
    inner = _inner(target.kinks, gamma * kappa, rho, count)
    values = evaluate(target.function, inner.points(gamma * kappa, rho), name=f"target {target.name!r}")
    return _label_means(values, inner, variance)


def _label_means(values: np.ndarray, inner: _Inner, variance: float) -> TargetMeans:
    h0 = inner.total(inner.mass, values)
    spread = inner.total(inner.mass, (values - inner.spread(h0)) ** 2)
    return TargetMeans(h0, inner.total(inner.mass * inner.zeta, values), spread + variance)


def _two_index_means(target: TwoIndexTarget, kappa: np.ndarray, variance: float) -> TargetMeans:
    centre = np.zeros_like(kappa)

    def values(inner: _Inner) -> np.ndarray:
        inputs = np.broadcast_arrays(inner.spread(kappa), inner.zeta)
        return evaluate(lambda z: target.function(inputs[0], z), inputs[1], name=f"target {target.name!r}")

    panels = partial(_inner, target.kinks, centre, 1.0)
    solver = "target_means of a TwoIndexTarget (every kink of Y in z must be in its kinks)"
    inner = panels(_enough(values, panels, 0.0, solver, {"target": target.name, "nodes": _COUNTS[-1]}))
    return _label_means(values(inner), inner, variance)
