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

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from onestep_lib._checks import (
    check_callable,
    check_instance,
    check_nonnegative,
    check_number,
    check_positive,
    check_shape,
    check_text,
    check_vector,
    shown,
)
from onestep_lib.activations import Activation, Target
from onestep_lib.quadrature import evaluate
from onestep_lib.spiked_features.inner_average import (
    NODE_COUNTS,
    InnerPanels,
    bends,
    enough_nodes,
    inner_panels,
    node_count,
)

__all__ = [
    "FeatureMeans",
    "TargetMeans",
    "TwoIndexTarget",
    "feature_means",
    "target_means",
]

ScalarFunction = Callable[[np.ndarray], np.ndarray]


def _filled(name: str, value: ArrayLike) -> np.ndarray:
    """Return `value` as a `check_vector` that is not empty."""
    array = check_vector(name, value)
    if array.size == 0:
        raise ValueError(f"{name} must hold at least one number, got none")
    return array


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
    splits = (*sigma.kinks, *bends(scale))
    inner = partial(
        inner_panels, splits, scale=scale, count=node_count(sigma.function, splits, distinct, scale)
    )
    if np.array_equal(distinct, -distinct[::-1]) and np.array_equal(np.sort(splits), -np.sort(splits)[::-1]):
        return _both_signs(sigma, distinct[distinct.size // 2 :], scale, inner)[:, back]
    panels = inner(distinct)
    return _moments(_values(sigma, panels.points(distinct, scale)), panels)[:, back]


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
        check_callable("function", self.function, "a callable of two arrays")
        object.__setattr__(self, "name", check_text("name", self.name))
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
