r"""The resolvent of spiked random features: one concave fixed point, solved by Newton from above.

Groups g of neurons (fraction :math:`\pi_g` of N) have features with the conditional means
:math:`\mu_{1,g}(\kappa),\mu_{2,g}^2(\kappa)` of :mod:`onestep_lib.spiked_features.conditional_means`; the
bulk rows of group g have the covariance :math:`\sum_ks_g(k)\,e_ke_k^\top/d` in one common basis, with
weights :math:`w_k` (one bin, s = 1: isotropic). With :math:`a=\alpha/\beta=n/N` and
:math:`C_k=\mathrm{diag}(c_gs_g(k))`,

.. math::
   D=\frac1{1+V},\quad \Lambda_{gh}=a\langle D\mu_{1,g}\mu_{1,h}\rangle,\quad
   \Omega_g=\lambda+a\langle D\mu_{2,g}^2\rangle,\quad

   K_k=(C_k^{-1}+\Lambda)^{-1},\quad J_k=(I+C_k\Lambda)^{-1},

   R_g=\sum_kw_ks_g(k)[\Lambda J_k]_{gg},\quad c_g=\frac{\beta\pi_g}{\Omega_g+R_g},\quad
   V(\kappa)=\frac1\beta\Big[\sum_kw_k\,\mu_1^\top K_k\mu_1+\sum_gc_g\mu_{2,g}^2\Big],

averages over :math:`\kappa\sim N(0,1)` (Cui et al., arXiv 2402.04980, by a cavity argument; derived in
the chapter on errors after a giant step). The penalty here is that paper's,
:math:`\lambda=\text{ridge}\cdot\alpha/\beta`.

The map :math:`(V,c)\mapsto(V',c')` is monotone and concave (it is made of parallel sums of matrices), so
Newton's method started above the fixed point falls to it monotonically, whatever the parameters; and
its matrix :math:`I-t'` is the one of the linear equations for the second moments.

The points of a curve are solved together: all arrays may have leading axes, those of the tables and ratios.

Functions
---------
solve_fixed_point   solve for the fixed point (c, V)
sweep_fixed_point   the same by accelerated sweeps: for many groups, where a Newton step is dear
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from onestep_lib.convergence import ConvergenceError
from onestep_lib.spiked_features.model import GroupTable, Ratios

__all__ = [
    "solve_fixed_point",
]

_ITERATIONS = 120
_TOLERANCE = 1e-12
# The residual at which a step that no longer falls is rounding.
_ROUNDING = 1e-11
# Rounding may lift an iterate above or below the monotone sequence by this much.
_SLACK = 1e-9
_HALVINGS = 8
_POLISHES = 3
# Sweeps that Anderson's acceleration takes at most, and remembers.
_SWEEPS, _DEPTH = 200, 8


@dataclass(frozen=True, eq=False)
class FixedPoint:
    r"""One (c, V) with what follows from it, the map there, and its linear response; many on leading axes.

    Parameters
    ----------
    c, rise_c : ndarray, shape (G,)
    V, rise_V, D : ndarray, shape (K,)
        (c, V), and its image less itself, 0 at the fixed point; D = 1/(1 + V).
    Lambda : ndarray, shape (G, G)
    K, J : ndarray, shape (B, G, G)
        :math:`K_k` and :math:`J_k`.
    response : ndarray, shape (P + G, P + G)
        Minus the derivative of (pairs of Gamma, c) in (pairs of Lambda, Omega).
    coupling : ndarray, shape (P + G, G)
        The derivative of (pairs of Gamma, c) in c.
    jacobian : ndarray, shape (P + G, P + G)
        :math:`I-t'`.
    """

    c: np.ndarray
    V: np.ndarray
    rise_c: np.ndarray
    rise_V: np.ndarray
    D: np.ndarray
    Lambda: np.ndarray
    K: np.ndarray
    J: np.ndarray
    response: np.ndarray
    coupling: np.ndarray
    jacobian: np.ndarray

    def relative(self, of_c: np.ndarray, of_V: np.ndarray) -> np.ndarray:
        """Changes of (c, V), relative to c and 1 + V."""
        return np.concatenate([of_V / (1 + self.V), of_c / self.c], axis=-1)


Start = tuple[np.ndarray, np.ndarray]


def apply(matrix: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Matrices (..., I, J) times vectors (..., J)."""
    return (matrix @ vector[..., None])[..., 0]


def combine(vector: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Vectors (..., I) times matrices (..., I, J)."""
    return (vector[..., None, :] @ rows)[..., 0, :]


def solve_fixed_point(features: GroupTable, ratios: Ratios, start: Start | None = None) -> FixedPoint:
    r"""Solve for the fixed point by Newton's method, from a guess (c, V) or from above.

    Where rounding keeps (c, V) moving, a relative move below the tolerance of the ratios is accepted.

    Raises
    ------
    ConvergenceError
        If after 120 steps (c, V) still moves by more than 1e-12 (relative to c and 1 + V), unless rounding
        alone moves it: by less than the tolerance, or at a residual below 1e-11.

    Examples
    --------
    >>> from onestep_lib.activations import activation, target
    >>> from onestep_lib.spiked_features import SpikedModel, solve_fixed_point
    >>> from onestep_lib.spiked_features.model import Ratios
    >>> model = SpikedModel(activation("identity"), spikes=[0], fractions=[1], target=target((0, 1)))
    >>> point = solve_fixed_point(model.table.features, Ratios(alpha=2, beta=3, ridge=1e-6))
    >>> print(f"{point.D[0]:.4f}")  # 1 - d/n, as for least squares
    0.5000
    """
    c, V = _scalar_start(features, ratios) if start is None else start
    point, solved, change = _newton(features, ratios, c, V, strict=True)
    for harder in range(2):
        if solved.all():
            break
        # What is solved stays where it is.
        again = _upper_start(features, ratios) if harder else (4 * c, 4 * V)
        c, V = (np.where(solved[..., None], *pair) for pair in zip((point.c, point.V), again, strict=True))
        point, solved, change = _newton(features, ratios, c, V, strict=not harder)
    if not solved.all():
        residual, why = float(np.max(change[~solved])), ratios.difficulty(features)
        raise ConvergenceError("spiked_resolvent", residual, {"ratios": ratios}, why)
    return point


def _newton(
    features: GroupTable, ratios: Ratios, c: np.ndarray, V: np.ndarray, strict: bool
) -> tuple[FixedPoint, np.ndarray, np.ndarray]:
    """Newton's method, which of its points are solved, and how far they moved last.

    A point is given up if it leaves the monotone sequence (if strict), and all are when out of steps.
    """
    change = np.full(c.shape[:-1], np.inf)
    solved, lost = change < 0, change < 0
    for iteration in range(_ITERATIONS):
        point = _evaluate(features, ratios, c, V)
        residuals = point.relative(point.rise_c, point.rise_V)
        if strict and iteration:
            lost = lost | ~solved & (residuals.max(axis=-1) > _SLACK)
        step_c, step_V = _newton_step(features, ratios, point)
        last, change = change, np.abs(point.relative(step_c, step_V)).max(axis=-1)
        # Where I - t' is nearly singular (n = N, lambda -> 0), rounding keeps the step from falling on.
        stalled = (last < 1e-6) & (change > last / 4)
        enough = (change <= ratios.tolerance) | (np.abs(residuals).max(axis=-1) < _ROUNDING)
        solved = solved | ~lost & ((change < _TOLERANCE) | stalled & enough)
        lost = lost | ~solved & ~(((c + step_c).min(axis=-1) > 0) & ((V + step_V).min(axis=-1) >= 0))
        moving = ~(solved | lost)[..., None]
        if not moving.any():
            break
        c, V = np.where(moving, c + step_c, c), np.where(moving, V + step_V, V)
    return point, solved, change


def _newton_step(features: GroupTable, ratios: Ratios, point: FixedPoint) -> tuple[np.ndarray, np.ndarray]:
    """The Newton step: the residual plus the response of (Gamma, c) to the whole step."""
    weighed = apply(features.moments, features.weights * point.D**2 * point.rise_V)
    pushed = ratios.a * apply(point.response, weighed) + apply(point.coupling, point.rise_c)
    answer = np.linalg.solve(point.jacobian, pushed[..., None])[..., 0]
    step_V = point.rise_V + combine(answer, features.counted) / ratios.b
    return point.rise_c + answer[..., features.pairs.size :], step_V


def sweep_fixed_point(features: GroupTable, ratios: Ratios, start: Start | None = None) -> FixedPoint:
    r"""Solve for the fixed point by accelerated sweeps: for many groups, where a Newton step is dear.

    The tolerance is for the error of (c, V), relative to c and 1 + V, as the Newton step at the end measures
    it.
    """
    groups = features.fractions.size
    c, V = _scalar_start(features, ratios) if start is None else start
    x = np.log(np.concatenate([c, V]))

    def sweep(x: np.ndarray) -> np.ndarray:
        c, V = np.split(np.exp(np.clip(x, -300, 300)), [groups])
        new = np.concatenate(_sweep(features, ratios, c, V))
        if not np.all(new > 0):
            raise ConvergenceError("spiked_resolvent (sweeps)", float(-np.min(new)), {"ratios": ratios})
        return np.log(new)

    # Another sweep costs far less than another Jacobian.
    residual = ratios.tolerance / 100
    for _ in range(_POLISHES):
        x = anderson(sweep, x, np.concatenate([features.fractions, features.weights]), residual)
        point = _evaluate(features, ratios, *np.split(np.exp(x), [groups]))
        error = float(np.abs(point.relative(*_newton_step(features, ratios, point))).max())
        if error <= ratios.tolerance:
            return point
        residual /= 30
    raise ConvergenceError("spiked_resolvent (sweeps)", error, {"ratios": ratios})


def anderson(
    sweep: Callable[[np.ndarray], np.ndarray], x: np.ndarray, weights: np.ndarray, tolerance: float
) -> np.ndarray:
    """Return x with ``|F(x) - x| <= tolerance``, where F contracts, by Anderson's acceleration.

    Every step is the combination of the last sweeps whose residual, in the weighted norm, is least
    (Anderson 1965; Walker and Ni, SIAM J. Numer. Anal. 49, 1715, 2011).
    """
    root = np.sqrt(weights)
    moves: list[np.ndarray] = []
    falls: list[np.ndarray] = []
    last_x = last_residual = None
    size = np.inf
    for _ in range(_SWEEPS):
        residual = sweep(x) - x
        size = float(np.max(np.abs(residual)))
        if size <= tolerance:
            return x
        if not np.isfinite(size):
            break
        if last_x is not None:
            moves, falls = [*moves, x - last_x][-_DEPTH:], [*falls, residual - last_residual][-_DEPTH:]
        last_x, last_residual = x, residual
        x = x + residual
        if falls:
            mix = np.linalg.lstsq((root * falls).T, root * residual, rcond=1e-12)[0]
            x = x - mix @ (np.array(moves) + np.array(falls))
    raise ConvergenceError("anderson", size, {"unknowns": x.size, "sweeps": _SWEEPS})


def _parts(
    features: GroupTable, ratios: Ratios, c: np.ndarray, V: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Lambda, Omega, the roots of C_k (..., B, G), and C_k^1/2 Lambda C_k^1/2."""
    means, mass = features.means, ratios.a * features.weights / (1 + V)
    Lambda = (means.mu1 * mass[..., None, :]) @ means.mu1.swapaxes(-1, -2)
    Omega = ratios.penalty + apply(means.mu2_sq, mass)
    root = np.sqrt(features.bulk.scales * c[..., None]).swapaxes(-1, -2)
    return Lambda, Omega, root, root[..., :, None] * Lambda[..., None, :, :] * root[..., None, :]


def _pull(weights: np.ndarray, c: np.ndarray, B: np.ndarray, inverse: np.ndarray) -> np.ndarray:
    """R, from the diagonal of I - (I + B)^-1 = B (I + B)^-1."""
    kept, own = (np.diagonal(part, axis1=-2, axis2=-1) for part in (inverse, B))
    # The left side loses the digits of a rare group, whose B is small, the right side those of a large B.
    return combine(weights, np.where(own > 1, 1 - kept, np.sum(B * inverse, axis=-1))) / c


def _sweep(
    features: GroupTable, ratios: Ratios, c: np.ndarray, V: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The map (c, V) -> (c', V') alone: no derivatives."""
    means, weights = features.means, features.bulk.weights
    _, Omega, root, B = _parts(features, ratios, c, V)
    inverse = np.linalg.inv(np.eye(c.shape[-1]) + B)
    next_c = ratios.b * features.fractions / (Omega + _pull(weights, c, B, inverse))
    gamma = np.einsum("...k,...kgh->...gh", weights, root[..., :, None] * inverse * root[..., None, :])
    squares = np.sum(means.mu1 * (gamma @ means.mu1), axis=-2)
    return next_c, (squares + combine(next_c, means.mu2_sq)) / ratios.b


def _evaluate(features: GroupTable, ratios: Ratios, c: np.ndarray, V: np.ndarray) -> FixedPoint:
    pairs, weights, D = features.pairs, features.bulk.weights, 1 / (1 + V)
    Lambda, Omega, root, B = _parts(features, ratios, c, V)
    # K = C^1/2 (I + B)^-1 C^1/2 with B = C^1/2 Lambda C^1/2, through the Cholesky factor L of I + B:
    # V is then a sum of squares, exact even where B is huge in one direction (c_{>1} -> 0).
    factor = np.linalg.inv(np.linalg.cholesky(np.eye(pairs.groups) + B))
    inverse = factor.swapaxes(-1, -2) @ factor
    K = root[..., :, None] * inverse * root[..., None, :]
    J = root[..., :, None] * inverse / root[..., None, :]
    pull = (np.eye(pairs.groups) - inverse) / (root[..., :, None] * root[..., None, :])
    next_c = ratios.b * features.fractions / (Omega + _pull(weights, c, B, inverse))
    tall = np.sqrt(weights)[..., None, None] * factor * root[..., None, :]
    # As many rows as groups will do: a rotation leaves the sum of their squares.
    tall = np.linalg.qr(tall.reshape(*tall.shape[:-3], -1, pairs.groups), mode="r")
    squares = np.sum((tall @ features.means.mu1) ** 2, axis=-2)
    next_V = (squares + combine(next_c, features.means.mu2_sq)) / ratios.b
    gain = next_c**2 / (ratios.b * features.fractions)
    response, coupling = _response(features, gain, K, J, pull)
    hessian = (features.moments * (features.weights * D**2)[..., None, :]) @ features.counted.swapaxes(-1, -2)
    jacobian = np.eye(pairs.size + pairs.groups) - (ratios.a / ratios.b)[..., None] * (response @ hessian)
    jacobian[..., pairs.size :] -= coupling
    return FixedPoint(c, V, next_c - c, next_V - V, D, Lambda, K, J, response, coupling, jacobian)


def _response(
    features: GroupTable, gain: np.ndarray, K: np.ndarray, J: np.ndarray, pull: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Minus the derivative of (pairs of Gamma, c) in (pairs of Lambda, Omega), and the one in c."""
    pairs, scales, weights = features.pairs, features.bulk.scales, features.bulk.weights
    G, size = pairs.groups, pairs.size
    g, h = pairs.rows, pairs.cols
    flat = K.reshape(*K.shape[:-2], G * G)
    square = (weights[..., None] * flat).swapaxes(-1, -2) @ flat
    square = square.reshape(*square.shape[:-2], G, G, G, G)
    direct = square[..., g[:, None], g, h[:, None], h]
    crossed = square[..., g[:, None], h, h[:, None], g]
    # sum_k w_k s_h(k) J_ah J_bh: Gamma_ab by c_h, and (transposed) R_h by Lambda_ab.
    columns = np.moveaxis(J, -3, -1).swapaxes(-3, -2)
    weighed = (weights[..., None, :] * scales)[..., None, :]
    r_by_lambda = pairs.vector((columns * weighed) @ columns.swapaxes(-1, -2))
    r_by_c = np.einsum("...k,...gk,...hk,...kgh->...gh", weights, scales, scales, pull**2)
    response = np.zeros((*gain.shape[:-1], size + G, size + G))
    response[..., :size, :size] = (direct + crossed) * (pairs.multiplicity / 2)
    response[..., size:, :size] = gain[..., None] * r_by_lambda * pairs.multiplicity
    response[..., size:, size:] = gain[..., None] * np.eye(G)
    return response, np.concatenate([r_by_lambda.swapaxes(-1, -2), gain[..., None] * r_by_c], axis=-2)


def _upper_start(features: GroupTable, ratios: Ratios) -> Start:
    """The values at Lambda = 0, Omega = lambda: above the fixed point."""
    c = ratios.b * features.fractions / ratios.penalty
    scale = np.maximum(1.0, features.bulk.scales.max(axis=-1))
    return c, combine(c * scale, features.means.mu1**2 + features.means.mu2_sq) / ratios.b


def _scalar_start(features: GroupTable, ratios: Ratios) -> Start:
    """The fixed point of one group with the averages of mu_1^2 and mu_2^2, spread over groups and kappa."""
    means, fractions = features.means, features.fractions
    linear, other = (
        np.sum(fractions * (values @ features.weights), axis=-1, keepdims=True)
        for values in (means.mu1**2, means.mu2_sq)
    )
    ratio, beta, penalty = ratios.a, ratios.b, ratios.penalty
    top = np.log((linear + other) / penalty)
    bottom = np.log((linear + other) / (penalty + ratio * (linear + other)) / (1 + beta))
    for _ in range(_HALVINGS):
        V = np.exp((top + bottom) / 2)
        Lambda, Omega = ratio * linear / (1 + V), penalty + ratio * other / (1 + V)
        # The root of (Omega + Lambda/(1 + c Lambda)) c = beta, from whichever form does not cancel.
        half = (Omega + (1 - beta) * Lambda) / 2
        root = np.sqrt(half**2 + Omega * Lambda * beta)
        c = np.where(half > 0, beta, root - half) / np.where(half > 0, half + root, Omega * Lambda)
        above = linear * c / (1 + c * Lambda) + other * c > beta * V
        top, bottom = np.where(above, top, (top + bottom) / 2), np.where(above, (top + bottom) / 2, bottom)
    flat = np.broadcast_to(V, V.shape[:-1] + features.weights.shape)
    next_c, next_V = _sweep(features, ratios, c * fractions, flat)
    # Starting too high costs less than starting too low, from where the first step overshoots.
    return 1.5 * next_c, 1.5 * next_V
