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
Every inner average is split at the kinks, and the number of nodes doubles until nothing changes; an
activation that oscillates within a wide bulk needs more than there are, and is refused.

Functions
---------
feature_means   mu_0, mu_1, m_2, mu_2^2
target_means    h_0, h_1, H of a single-index target or of y = Y(kappa, z)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from onestep_lib._checks import shown
from onestep_lib.activations import Activation, Target
from onestep_lib.convergence import ConvergenceError
from onestep_lib.quadrature import ScalarFunction, evaluate, gauss_legendre
from onestep_lib.two_index import TwoIndexTarget

__all__ = [
    "feature_means",
    "target_means",
]

_LARGEST = 1e75
# The inner weight is 2e-22 of its peak at 10; kappa goes on to 12, because a small residual in the
# middle lets events of probability 1e-20 matter for the training loss.
_INNER_RANGE = 10.0
# Activations bend within _BEND of 0, a short piece of a bulk wider than _WIDE, and have their tails beyond:
# panels there grow by _GROWTH up to 1/_FAR of the bulk's scale.
_BEND, _WIDE, _GROWTH, _FAR = 4.0, 1.5, 4.0, 3.0
_GAP = 5e-15
_NODE_COUNTS = (32, 64, 128, 192, 384, 768)
# Values of the activation at once: so many stay in a processor's cache.
_BLOCK = 2**15


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
        The spike strengths u_g; with leading axes, so have the results.
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
        If the inner quadrature needs more than 768 nodes between two kinks, as for an activation that
        oscillates within a wide bulk.

    Examples
    --------
    >>> from onestep_lib.activations import activation
    >>> from onestep_lib.spiked_features import feature_means
    >>> means = feature_means(activation("identity"), spikes=[2], kappa=[1, 2], scales=3)
    >>> print(means.mu0.round(3), means.mu1.round(3), abs(means.m2).round(3))
    [[2. 4.]] [[3. 3.]] [[0. 0.]]
    """
    u, kappa = np.asarray(spikes, dtype=float), np.asarray(kappa, dtype=float)
    # All four are functions of t = u kappa and of the scale: each size of t once, with its mirror image.
    groups, group = np.unique(np.abs(u) + 1j * np.broadcast_to(scales, u.shape), return_inverse=True)
    half, place = np.unique(np.abs(kappa), return_inverse=True)
    rows = _both_signs(sigma, np.multiply.outer(groups.real, half), groups.imag)
    mirrored = (np.multiply.outer(u, kappa) < 0).astype(int)
    return FeatureMeans(*rows[:, mirrored, group.reshape(u.shape)[..., None], place])


def _both_signs(sigma: Activation, t: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """mu_0, mu_1, :math:`m_2` and mu_2^2 at t >= 0, shape (groups, T), and at -t: (4, 2, groups, T)."""
    ends = np.max(t, axis=1)
    _require_moderate(sigma, np.outer([-1, 1], ends + _INNER_RANGE * scales))
    splits = np.array([*sigma.kinks, *_bends(float(np.max(scales)))])
    sample, wide = _sample(np.stack([-ends, ends], axis=1), scales)
    count = _node_count(sigma.function, splits, sample, wide)
    points = _inner_panels(splits, sample, wide, count).points(sample, wide)
    values, other = _values(sigma, points), _values(sigma, -points)
    parity = next((sign for sign in (1.0, -1.0) if np.array_equal(other, sign * values)), 0.0)

    places, spread = t.ravel(), np.repeat(scales, t.shape[1])
    even, found = np.array_equal(np.sort(splits), np.sort(-splits)), np.empty((4, 2, t.size))
    for at in np.array_split(np.arange(t.size), 1 + t.size * count // _BLOCK):
        panels = _inner_panels(splits, places[at], spread[at], count)
        points = panels.points(places[at], spread[at])
        found[:, :, at] = _moments(_values(sigma, points), panels)[:, None]
        if not parity:
            # -t sees sigma(-x) at -zeta.
            if not even:
                panels = _inner_panels(-splits, places[at], spread[at], count)
                points = panels.points(places[at], spread[at])
            found[:, 1, at] = _moments(_values(sigma, -points), panels)
    found[:3, 1] *= (parity or 1.0) * np.array([[1.0], [-1.0], [1.0]])
    return found.reshape(4, 2, *t.shape)


def _require_moderate(sigma: Activation, ends: np.ndarray) -> None:
    """Raise where the activation's fourth power is no number any more at the ends of the bulk."""
    with np.errstate(over="ignore", invalid="ignore"):
        values = np.abs(sigma.function(ends))
    if not np.all(values < _LARGEST):
        raise ValueError(
            f"activation {sigma.name!r} must stay below {_LARGEST:g} in size on the features' range, "
            f"got {np.max(values):.3g} at {ends.flat[np.argmax(values)]:.3g}: take a smaller step or spike"
        )


def _values(sigma: Activation, points: np.ndarray) -> np.ndarray:
    return evaluate(sigma.function, points, name=f"activation {shown(sigma.name)}")


def _moments(values: np.ndarray, inner: _InnerPanels) -> np.ndarray:
    """mu_0, mu_1, :math:`m_2` and mu_2^2 from the values at the nodes."""
    first = inner.mass * inner.zeta
    mu0, mu1 = inner.total(inner.mass, values), inner.total(first, values)
    rest = values - inner.spread(mu0)
    rest -= inner.spread(mu1) * inner.zeta
    # Of what is left, so that nothing cancels where the function is almost linear.
    m2 = inner.total(first * inner.zeta - inner.mass, rest)
    return np.stack([mu0, mu1, m2, inner.total(inner.mass, np.square(rest, out=rest))])


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
    kappa, variance, gamma = np.asarray(kappa, dtype=float), noise**2, alignment
    if isinstance(target, TwoIndexTarget):
        return _two_index_means(target, kappa, variance)
    if abs(gamma) > 1:
        raise ValueError(f"alignment must lie in [-1, 1], got {shown(alignment)}")
    rho = np.sqrt((1 - gamma) * (1 + gamma))
    if rho == 0:
        values = evaluate(target.function, gamma * kappa, name=f"target {shown(target.name)}")
        return TargetMeans(values, np.zeros_like(kappa), np.full_like(kappa, variance))
    t, scale = gamma * kappa, np.full(kappa.shape, rho)
    count = _node_count(target.function, target.kinks, *_sample(t[None], rho))
    inner = _inner_panels(target.kinks, t, scale, count)
    values = evaluate(target.function, inner.points(t, scale), name=f"target {shown(target.name)}")
    return _label_means(values, inner, variance)


def _label_means(values: np.ndarray, inner: _InnerPanels, variance: float) -> TargetMeans:
    h0 = inner.total(inner.mass, values)
    spread = inner.total(inner.mass, (values - inner.spread(h0)) ** 2)
    return TargetMeans(h0, inner.total(inner.mass * inner.zeta, values), spread + variance)


def _two_index_means(target: TwoIndexTarget, kappa: np.ndarray, variance: float) -> TargetMeans:
    centre = np.zeros_like(kappa)

    def values(inner: _InnerPanels) -> np.ndarray:
        inputs = np.broadcast_arrays(inner.spread(kappa), inner.zeta)
        name = f"target {shown(target.name)}"
        return evaluate(lambda z: target.function(inputs[0], z), inputs[1], name=name)

    panels = partial(_inner_panels, target.kinks, centre, 1.0)
    solver = "target_means of a TwoIndexTarget (every kink of Y in z must be in its kinks)"
    inner = panels(
        _enough_nodes(values, panels, 0.0, solver, {"target": target.name, "nodes": _NODE_COUNTS[-1]})
    )
    return _label_means(values(inner), inner, variance)


def _bends(scale: float) -> list[float]:
    """Where to split a bulk so wide that what the activation does around 0 is narrow."""
    if scale < _WIDE:
        return []
    levels = 1 + max(0, int(np.ceil(np.log(scale / _FAR / _BEND) / np.log(_GROWTH))))
    ends = _BEND * _GROWTH ** np.arange(levels)
    return [*-ends, *ends]


@dataclass(frozen=True, eq=False)
class _InnerPanels:
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

    def points(self, t: np.ndarray, scale: np.ndarray) -> np.ndarray:
        """scale zeta + t, shape (panels, nodes)."""
        return self.spread(scale) * self.zeta + self.spread(t)

    def spread(self, values: np.ndarray) -> np.ndarray:
        """Values at each t (T,) as a column over the panels."""
        return values[self.owner, None]

    def total(self, weights: np.ndarray, values: np.ndarray) -> np.ndarray:
        """The sum of weights (of the shape of zeta) times values (panels, nodes) for each t, (T,)."""
        return np.add.reduceat(np.einsum("ij,ij->i", weights, values), self.starts)


def _inner_panels(kinks: ArrayLike, t: np.ndarray, scale: np.ndarray | float, count: int) -> _InnerPanels:
    """Panels for E f(scale zeta + t), split at the kinks of f."""
    points, weights = gauss_legendre(count)
    kinks = np.sort(kinks)
    limit = np.full((t.size if kinks.size else 1, 1), _INNER_RANGE)
    inside = (kinks - t[: limit.size, None]) / np.reshape(scale, (-1, 1))[: limit.size]
    edges = np.hstack([-limit, np.clip(inside, -_INNER_RANGE, _INNER_RANGE), limit])
    left, right = edges[:, :-1], edges[:, 1:]
    seen = right > left
    half, middle = ((right - left)[seen] / 2)[:, None], ((right + left)[seen] / 2)[:, None]
    zeta = middle + half * points
    mass = np.exp(-(zeta**2) / 2)
    mass *= half * (weights / np.sqrt(2 * np.pi))
    if not kinks.size:
        return _InnerPanels(zeta, mass, np.arange(t.size), np.arange(t.size))
    panels = seen.sum(axis=1)
    return _InnerPanels(zeta, mass, np.repeat(np.arange(t.size), panels), np.cumsum(panels) - panels)


def _sample(t: np.ndarray, scales: np.ndarray | float) -> tuple[np.ndarray, np.ndarray]:
    """Some t of each row, shape (groups, T), and its scale for each: two flat arrays."""
    low, high = np.min(t, axis=1), np.max(t, axis=1)
    middle = np.clip(np.arange(-3.0, 4.0)[:, None], low, high)
    sample = np.concatenate([np.linspace(low, high, 17), middle])
    return sample.ravel(), np.broadcast_to(scales, sample.shape).ravel()


def _node_count(function: ScalarFunction, kinks: ArrayLike, t: np.ndarray, scale: np.ndarray) -> int:
    """The number of nodes between two kinks that gives E f^2 and E zeta f at each t, to rounding."""

    def values(inner: _InnerPanels) -> np.ndarray:
        return function(inner.points(t, scale))

    at = {"function": function, "scale": float(np.max(scale)), "nodes": _NODE_COUNTS[-1]}
    # The points scale zeta + t are themselves rounded, by an error of the size of t.
    rounding = np.finfo(float).eps * np.abs(t)
    return _enough_nodes(values, partial(_inner_panels, kinks, t, scale), rounding, "conditional_means", at)


def _enough_nodes(
    values: Callable[[_InnerPanels], np.ndarray],
    inner: Callable[[int], _InnerPanels],
    rounding: np.ndarray | float,
    solver: str,
    at: dict[str, object],
) -> int:
    """The first count of nodes at which the second moment and the response no longer change."""
    previous, gap = None, np.inf
    for index, count in enumerate(_NODE_COUNTS):
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
                return _NODE_COUNTS[index - 1]
        previous = current
    reason = "the function varies too fast between its kinks: take a smaller step, or list its kinks"
    raise ConvergenceError(solver, gap, at, reason)
