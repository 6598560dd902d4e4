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

(Cui et al., arXiv 2402.04980; :math:`m_2`, the response to the length of w, is derived in the chapter on
spiked random features.)
Every inner average is split at the kinks, and the number of nodes doubles until nothing changes.

Functions
---------
feature_means   mu_0, mu_1, m_2, mu_2^2
target_means    h_0, h_1, H of a single-index target or of y = Y(kappa, z)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from onestep_lib._checks import (
    check_instance,
    check_nonnegative,
    check_number,
    check_positive,
    check_shape,
    check_vector,
    shown,
)
from onestep_lib.activations import Activation, Target
from onestep_lib.convergence import ConvergenceError
from onestep_lib.quadrature import ScalarFunction, evaluate, gauss_legendre
from onestep_lib.spiked_features.inner_average import (
    _WIDE,
    INNER_RANGE,
    NODE_COUNTS,
    InnerPanels,
    bends,
    enough_nodes,
    inner_panels,
    node_count,
)
from onestep_lib.spiked_features.kappa import PANEL_ORDER
from onestep_lib.two_index import TwoIndexTarget

__all__ = [
    "feature_means",
    "target_means",
]

_LARGEST = 1e75
# An activation that such counts do not resolve over the bulk (it oscillates) is projected, once for all t, on
# polynomials of degree < _CELL_ORDER in cells of this share of the bulk's scale, by pieces of these lengths.
_CELL, _CELL_ORDER = 0.5, 24
_PIECES = (4.0, 2.0, 1.0, 0.5, 0.25)
_MOST_VALUES = 2**25
_CELL_GAP = 1e-13


def _filled(name: str, value: ArrayLike) -> np.ndarray:
    """Return `value` as a `check_vector` that is not empty."""
    array = check_vector(name, value)
    if array.size == 0:
        raise ValueError(f"{name} must hold at least one number, got none")
    return array


@dataclass(frozen=True, eq=False)
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
        About 14 digits of the largest value of each function; where the activation oscillates within a
        wide bulk, 12 digits of the root of its second moment.

    Raises
    ------
    ConvergenceError
        If the inner quadrature needs more than 768 nodes between two kinks and, for a wide bulk, more than
        3e7 values of the activation in all.

    Examples
    --------
    >>> from onestep_lib.activations import activation
    >>> from onestep_lib.spiked_features import feature_means
    >>> means = feature_means(activation("identity"), spikes=[2], kappa=[1, 2], scales=3)
    >>> print(means.mu0.round(3), means.mu1.round(3), abs(means.m2).round(3))
    [[2. 4.]] [[3. 3.]] [[0. 0.]]
    """
    check_instance("sigma", sigma, Activation)
    u, kappa = _filled("spikes", spikes), _filled("kappa", kappa)
    scales = check_shape("scales", check_positive("scales", scales), u.shape)
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
    _require_moderate(sigma, np.array([distinct[0], distinct[-1]]), scale)
    splits = (*sigma.kinks, *bends(scale))
    try:
        count = node_count(sigma.function, splits, distinct, scale)
    except ConvergenceError:
        if scale < _WIDE:
            raise
        return _wide_rows(sigma, distinct, scale)[:, back]
    inner = partial(inner_panels, splits, scale=scale, count=count)
    if np.array_equal(distinct, -distinct[::-1]) and np.array_equal(np.sort(splits), -np.sort(splits)[::-1]):
        return _both_signs(sigma, distinct[distinct.size // 2 :], scale, inner)[:, back]
    panels = inner(distinct)
    return _moments(_values(sigma, panels.points(distinct, scale)), panels)[:, back]


def _require_moderate(sigma: Activation, t: np.ndarray, scale: float) -> None:
    """Raise where the activation's fourth power is no number any more at the ends of the bulk."""
    ends = np.append(t - INNER_RANGE * scale, t + INNER_RANGE * scale)
    with np.errstate(over="ignore", invalid="ignore"):
        values = np.abs(sigma.function(ends))
    if not np.all(values < _LARGEST):
        raise ValueError(
            f"activation {sigma.name!r} must stay below {_LARGEST:g} in size on the features' range, "
            f"got {np.max(values):.3g} at {ends[np.argmax(values)]:.3g}: take a smaller step or spike"
        )


def _both_signs(
    sigma: Activation, t: np.ndarray, scale: float, inner: Callable[[np.ndarray], InnerPanels]
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
    return evaluate(sigma.function, points, name=f"activation {shown(sigma.name)}")


def _moments(values: np.ndarray, inner: InnerPanels) -> np.ndarray:
    """mu_0, mu_1, m_2 and mu_2^2 from the values at the nodes."""
    first = inner.mass * inner.zeta
    mu0, mu1 = inner.total(inner.mass, values), inner.total(first, values)
    rest = values - inner.spread(mu0)
    rest -= inner.spread(mu1) * inner.zeta
    # Of what is left, so that nothing cancels where the function is almost linear.
    m2 = inner.total(first * inner.zeta - inner.mass, rest)
    return np.stack([mu0, mu1, m2, inner.total(inner.mass, np.square(rest, out=rest))])


@dataclass(frozen=True, eq=False)
class _Cells:
    r"""A function f projected on polynomials, cell by cell, as values at the cells' Gauss-Legendre nodes.

    Where a smooth kernel g varies slowly over a cell, :math:`\int fg\,dx` is the sum of
    weights * values * g(nodes).

    Parameters
    ----------
    nodes, weights : ndarray, shape (C, 24)
    values, squares : ndarray, shape (C, 24)
        The projections of f and of f^2.
    """

    nodes: np.ndarray
    weights: np.ndarray
    values: np.ndarray
    squares: np.ndarray


def _wide_rows(sigma: Activation, t: np.ndarray, scale: float) -> np.ndarray:
    """`_feature_rows` for a function that oscillates within the bulk, which sees only its local averages."""
    ends = float(t[0] - INNER_RANGE * scale), float(t[-1] + INNER_RANGE * scale)
    edges = np.linspace(ends[0], ends[1], 1 + int(np.ceil((ends[1] - ends[0]) / (_CELL * scale))))
    # A line is taken off first, so that nothing cancels where the function is a line and a ripple.
    middle, line = _line(sigma, edges)

    def rest(x: np.ndarray) -> np.ndarray:
        return _values(sigma, x) - middle - line * x

    edges = np.union1d(edges, [kink for kink in sigma.kinks if ends[0] < kink < ends[1]])
    cells = _cells(rest, edges, _piece(rest, edges))
    zeta = (cells.nodes.ravel() - t[:, None]) / scale
    kernel = np.exp(-(zeta**2) / 2) * (cells.weights.ravel() / (np.sqrt(2 * np.pi) * scale))
    values = cells.values.ravel()
    mu0, mu1 = kernel @ values, (kernel * zeta) @ values
    m2 = (kernel * (zeta**2 - 1)) @ values
    mu2_sq = np.maximum(kernel @ cells.squares.ravel() - mu0**2 - mu1**2, 0.0)
    return np.stack([mu0 + middle + line * t, mu1 + line * scale, m2, mu2_sq])


def _line(sigma: Activation, edges: np.ndarray) -> tuple[float, float]:
    """The line nearest to the function on its whole range, from a few thousand points."""
    x = np.linspace(edges[0], edges[-1], 4001)
    slope, middle = np.polynomial.Polynomial.fit(x, _values(sigma, x), 1).convert().coef[::-1]
    return float(middle), float(slope)


def _cells(function: ScalarFunction, edges: np.ndarray, piece: float) -> _Cells:
    """Project the function and its square on every cell between the edges, by pieces of this length."""
    points, weights = gauss_legendre(_CELL_ORDER)
    half, middle = np.diff(edges)[:, None] / 2, (edges[:-1] + edges[1:])[:, None] / 2
    basis = np.polynomial.legendre.legvander(points, _CELL_ORDER - 1) * (np.arange(_CELL_ORDER) + 0.5)
    rows = [_projected(function, *cell, piece) @ basis.T for cell in pairwise(edges)]
    values, squares = np.moveaxis(np.array(rows), 0, 1)
    return _Cells(middle + half * points, half * weights, values, squares)


def _projected(function: ScalarFunction, low: float, high: float, piece: float) -> np.ndarray:
    """Integrals of f P_l and f^2 P_l over a cell scaled to (-1, 1), shape (2, 24)."""
    points, weights = gauss_legendre(PANEL_ORDER)
    count = int(np.ceil((high - low) / piece))
    centres = (2 * np.arange(count) + 1) / count - 1
    share = (centres[:, None] + points / count).ravel()
    values = function((low + high) / 2 + (high - low) / 2 * share)
    weighted = np.tile(weights / count, count) * np.stack([values, values**2])
    return weighted @ np.polynomial.legendre.legvander(share, _CELL_ORDER - 1)


def _piece(function: ScalarFunction, edges: np.ndarray) -> float:
    """The length of the pieces that resolve the function, by a sample of the cells."""
    at = {"scale": np.max(np.diff(edges)) / _CELL, "points": _MOST_VALUES}
    sample = np.unique(np.linspace(0, edges.size - 2, 5).astype(int))
    previous, gap = None, np.inf
    for length in _PIECES:
        if (edges[-1] - edges[0]) / length * PANEL_ORDER > _MOST_VALUES:
            break
        current = np.array([_projected(function, edges[j], edges[j + 1], length) for j in sample])
        if previous is not None:
            size = 1 + np.max(np.abs(current), axis=(0, 2))
            gap = float(np.max(np.abs(current - previous) / size[:, None]))
            # The points themselves are rounded, by an error of the size of the largest.
            if gap < _CELL_GAP + np.finfo(float).eps * np.max(np.abs(edges)):
                return length
        previous = current
    raise ConvergenceError(
        "conditional_means",
        gap,
        at,
        "the activation varies too fast for a bulk of this scale: take a smaller step, or list its kinks",
    )


@dataclass(frozen=True, eq=False)
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

    Examples
    --------
    >>> from onestep_lib.activations import target
    >>> from onestep_lib.spiked_features import target_means
    >>> labels = target_means(target((0, 1)), kappa=[1, 2], alignment=0.6, noise=0.5)
    >>> print(labels.h0.round(3), labels.h1.round(3), labels.H.round(3))
    [0.6 1.2] [0.8 0.8] [1.25 2.33]
    """
    check_instance("target", target, (Target, TwoIndexTarget))
    kappa = _filled("kappa", kappa)
    variance = check_number("noise", noise, check_nonnegative) ** 2
    if isinstance(target, TwoIndexTarget):
        return _two_index_means(target, kappa, variance)
    gamma = check_number("alignment", alignment)
    if abs(gamma) > 1:
        raise ValueError(f"alignment must lie in [-1, 1], got {shown(alignment)}")
    rho = np.sqrt((1 - gamma) * (1 + gamma))
    if rho == 0:
        values = evaluate(target.function, gamma * kappa, name=f"target {shown(target.name)}")
        return TargetMeans(values, np.zeros_like(kappa), np.full_like(kappa, variance))
    count = node_count(target.function, target.kinks, gamma * kappa, rho)
    inner = inner_panels(target.kinks, gamma * kappa, rho, count)
    values = evaluate(target.function, inner.points(gamma * kappa, rho), name=f"target {shown(target.name)}")
    return _label_means(values, inner, variance)


def _label_means(values: np.ndarray, inner: InnerPanels, variance: float) -> TargetMeans:
    h0 = inner.total(inner.mass, values)
    spread = inner.total(inner.mass, (values - inner.spread(h0)) ** 2)
    return TargetMeans(h0, inner.total(inner.mass * inner.zeta, values), spread + variance)


def _two_index_means(target: TwoIndexTarget, kappa: np.ndarray, variance: float) -> TargetMeans:
    centre = np.zeros_like(kappa)

    def values(inner: InnerPanels) -> np.ndarray:
        inputs = np.broadcast_arrays(inner.spread(kappa), inner.zeta)
        name = f"target {shown(target.name)}"
        return evaluate(lambda z: target.function(inputs[0], z), inputs[1], name=name)

    panels = partial(inner_panels, target.kinks, centre, 1.0)
    solver = "target_means of a TwoIndexTarget (every kink of Y in z must be in its kinks)"
    inner = panels(
        enough_nodes(values, panels, 0.0, solver, {"target": target.name, "nodes": NODE_COUNTS[-1]})
    )
    return _label_means(values(inner), inner, variance)
