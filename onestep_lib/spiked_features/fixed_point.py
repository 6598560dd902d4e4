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

Functions
---------
solve_fixed_point   solve for the fixed point (c, V)
sweep_fixed_point   the same by accelerated sweeps: for many groups, where a Newton step is dear
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from onestep_lib._checks import (
    check_instance,
    check_nonnegative,
    check_number,
    check_positive,
    check_real,
    check_shape,
    check_vector,
    shown,
)
from onestep_lib.convergence import ConvergenceError
from onestep_lib.spiked_features.acceleration import anderson
from onestep_lib.spiked_features.model import GroupTable, difficulty

__all__ = [
    "solve_fixed_point",
]

_ITERATIONS = 120
_TOLERANCE = 1e-12
# The residual at which a step that no longer falls is rounding.
_ROUNDING = 1e-11
# Rounding may lift an iterate above or below the monotone sequence by this much.
_SLACK = 1e-9
_POLISHES = 3


@dataclass(frozen=True, eq=False)
class FixedPoint:
    r"""The fixed point, and the linear response around it.

    Parameters
    ----------
    c : ndarray, shape (G,)
    V, D : ndarray, shape (K,)
    Lambda : ndarray, shape (G, G)
    Omega : ndarray, shape (G,)
    K, J : ndarray, shape (B, G, G)
        :math:`K_k` and :math:`J_k`.
    response : ndarray, shape (P + G, P + G)
        Minus the derivative of (pairs of Gamma, c) in (pairs of Lambda, Omega).
    coupling : ndarray, shape (P + G, G)
        The derivative of (pairs of Gamma, c) in c.
    jacobian : ndarray, shape (P + G, P + G)
        :math:`I-t'`.
    iterations : int
        Newton steps taken (0: accelerated sweeps).
    """

    c: np.ndarray
    V: np.ndarray
    D: np.ndarray
    Lambda: np.ndarray
    Omega: np.ndarray
    K: np.ndarray
    J: np.ndarray
    response: np.ndarray
    coupling: np.ndarray
    jacobian: np.ndarray
    iterations: int


def solve_fixed_point(
    features: GroupTable,
    alpha: float,
    beta: float,
    penalty: float,
    start: tuple[np.ndarray, np.ndarray] | None = None,
    leverage: np.ndarray | float = 0.0,
    weights: np.ndarray | None = None,
    tolerance: float = _TOLERANCE,
) -> FixedPoint:
    r"""Solve for the fixed point (c, V).

    Parameters
    ----------
    features : GroupTable
    alpha, beta, penalty : float
        n/d, N/d and :math:`\lambda=\text{ridge}\cdot\alpha/\beta`, all > 0.
    start : (c, V), optional
        A guess, such as the solution of a neighbouring problem.
    leverage : ndarray, shape (K,), or 0
        A fixed addition to V.
    weights : ndarray, shape (B,), optional
        Weights of the bins in place of ``features.bulk.weights``.
    tolerance : float
        Where rounding keeps (c, V) moving, the relative move that is accepted.

    Raises
    ------
    ConvergenceError
        If after 120 steps (c, V) still moves by more than 1e-12 (relative to c and 1 + V), unless rounding
        alone moves it: by less than the tolerance, or at a residual below 1e-11.

    Examples
    --------
    >>> from onestep_lib.activations import activation, target
    >>> from onestep_lib.spiked_features import SpikedModel, solve_fixed_point
    >>> model = SpikedModel(activation("identity"), spikes=[0], fractions=[1], target=target((0, 1)))
    >>> point = solve_fixed_point(model.table.features, alpha=2, beta=3, penalty=1e-6)
    >>> print(f"{point.D[0]:.4f}")  # 1 - d/n, as for least squares
    0.5000
    """
    check_instance("features", features, GroupTable)
    alpha, beta, penalty, tolerance = (
        check_number(name, value, check_positive)
        for name, value in (("alpha", alpha), ("beta", beta), ("penalty", penalty), ("tolerance", tolerance))
    )
    bins, kappa = features.bulk.weights, features.weights
    weights = bins if weights is None else check_vector("weights", weights, bins.size)
    leverage = check_shape("leverage", check_real("leverage", leverage), kappa.shape)
    if start is not None:
        start = _start(features, start)
    problem = (features, alpha, beta, penalty, leverage, weights, tolerance)
    c, V = _scalar_start(features, alpha, beta, penalty) if start is None else start
    solution, _ = _newton(*problem, c, V, strict=True)
    if solution is None:
        solution, _ = _newton(*problem, 4 * c, 4 * V, strict=True)
    if solution is None:
        solution, residual = _newton(*problem, *_upper_start(features, beta, penalty), strict=False)
    if solution is None:
        at = {"alpha": alpha, "beta": beta, "penalty": penalty, "fractions": features.fractions.tolist()}
        leveraged = weights is not features.bulk.weights or bool(np.any(leverage))
        reason = difficulty(features, alpha, beta, penalty, leveraged)
        raise ConvergenceError("spiked_resolvent", residual, at, reason)
    return solution


def _start(features: GroupTable, start: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return a guess (c, V) as arrays that fit to the features, or raise."""
    if not isinstance(start, tuple) or len(start) != 2:
        raise TypeError(f"start must be a pair (c, V), got {shown(start)}")
    c = check_vector("the c of start", check_positive("the c of start", start[0]), features.fractions.size)
    V = check_vector("the V of start", check_nonnegative("the V of start", start[1]), features.weights.size)
    return c, V


def _newton(
    features: GroupTable,
    alpha: float,
    beta: float,
    penalty: float,
    leverage: np.ndarray | float,
    weights: np.ndarray,
    tolerance: float,
    c: np.ndarray,
    V: np.ndarray,
    strict: bool,
) -> tuple[FixedPoint | None, float]:
    """Newton's method; None if it leaves the monotone sequence (if strict) or runs out of steps."""
    change = np.inf
    for iteration in range(_ITERATIONS):
        point = _evaluate(features, alpha, beta, penalty, weights, c, V)
        rise_c, rise_V = point.next_c - c, point.next_V + leverage - V
        residuals = np.concatenate([rise_V / (1 + V), rise_c / c])
        if strict and iteration and residuals.max() > _SLACK:
            return None, change
        step_c, step_V = _newton_step(features, alpha, beta, point, rise_c, rise_V)
        last, change = change, float(np.abs(np.concatenate([step_V / (1 + V), step_c / c])).max())
        # Where I - t' is nearly singular (n = N, lambda -> 0), rounding keeps the step from falling on.
        stalled = last < 1e-6 and change > last / 4
        enough = change <= tolerance or np.abs(residuals).max() < _ROUNDING
        if change < _TOLERANCE or (stalled and enough):
            return _fixed_point(c, V, point, iteration + 1), change
        c, V = c + step_c, V + step_V
        if not (c.min() > 0 and V.min() >= 0):
            return None, change
    return None, change


def _newton_step(
    features: GroupTable, alpha: float, beta: float, point: _Point, rise_c: np.ndarray, rise_V: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The Newton step: the residual plus the response of (Gamma, c) to the whole step."""
    pushed = alpha / beta * point.response @ (features.moments @ (features.weights * point.D**2 * rise_V))
    pushed += point.coupling @ rise_c
    answer = np.linalg.solve(point.jacobian, pushed)
    return rise_c + answer[features.pairs.size :], rise_V + answer @ features.counted / beta


def _fixed_point(c: np.ndarray, V: np.ndarray, point: _Point, iterations: int) -> FixedPoint:
    return FixedPoint(
        c, V, point.D, point.Lambda, point.Omega, point.K, point.J,
        point.response, point.coupling, point.jacobian, iterations,
    )  # fmt: skip


def sweep_fixed_point(
    features: GroupTable,
    alpha: float,
    beta: float,
    penalty: float,
    lift: Callable[[Sweep], np.ndarray],
    weights: np.ndarray,
    tolerance: float,
    start: tuple[np.ndarray, np.ndarray] | None = None,
) -> FixedPoint:
    r"""Solve for the fixed point by accelerated sweeps: for many groups, where a Newton step is dear.

    Parameters
    ----------
    features, alpha, beta, penalty, start, weights
        As in `solve_fixed_point`.
    lift : callable
        From a sweep to the addition to V (the leverage), which is part of the fixed point.
    tolerance : float
        For the error of (c, V), relative to c and 1 + V, as the Newton step at the end measures it.

    Raises
    ------
    ConvergenceError
        If it is not reached.

    Examples
    --------
    >>> from onestep_lib.activations import activation, target
    >>> from onestep_lib.spiked_features import SpikedModel, solve_fixed_point
    >>> from onestep_lib.spiked_features.fixed_point import sweep_fixed_point
    >>> model = SpikedModel(activation("tanh"), spikes=[1, 3], fractions=[0.5, 0.5], target=target((0, 1)))
    >>> f = model.table.features
    >>> swept = sweep_fixed_point(f, 2, 1.5, 0.1, lambda sweep: 0 * sweep.D, f.bulk.weights, 1e-9)
    >>> print(abs(swept.c - solve_fixed_point(f, 2, 1.5, 0.1).c).max() < 1e-8)
    True
    """
    groups = features.fractions.size
    at = {"alpha": alpha, "beta": beta, "penalty": penalty}
    c, V = _scalar_start(features, alpha, beta, penalty) if start is None else start
    x = np.log(np.concatenate([c, V]))

    def sweep(x: np.ndarray) -> np.ndarray:
        c, V = np.split(np.exp(np.clip(x, -300, 300)), [groups])
        new = _sweep(features, alpha, beta, penalty, weights, c, V)
        values = np.concatenate([new.next_c, new.next_V + lift(new)])
        if not np.all(values > 0):
            raise ConvergenceError("spiked_resolvent (sweeps)", float(-np.min(values)), at)
        return np.log(values)

    # Another sweep costs far less than another Jacobian.
    residual = tolerance / 100
    for _ in range(_POLISHES):
        x = anderson(sweep, x, np.concatenate([features.fractions, features.weights]), residual)
        c, V = np.split(np.exp(x), [groups])
        added = lift(_sweep(features, alpha, beta, penalty, weights, c, V))
        point = _evaluate(features, alpha, beta, penalty, weights, c, V)
        rise_c, rise_V = point.next_c - c, point.next_V + added - V
        step_c, step_V = _newton_step(features, alpha, beta, point, rise_c, rise_V)
        error = float(max(np.max(np.abs(step_c) / c), np.max(np.abs(step_V) / (1 + V))))
        if error <= tolerance:
            return _fixed_point(c, V, point, 0)
        residual /= 30
    raise ConvergenceError("spiked_resolvent (sweeps)", error, at)


@dataclass(frozen=True, eq=False)
class Sweep:
    """One sweep of the map from (c, V): no derivatives."""

    next_c: np.ndarray
    next_V: np.ndarray
    c: np.ndarray
    D: np.ndarray
    Lambda: np.ndarray
    K: np.ndarray


def _sweep(
    features: GroupTable,
    alpha: float,
    beta: float,
    penalty: float,
    weights: np.ndarray,
    c: np.ndarray,
    V: np.ndarray,
) -> Sweep:
    means = features.means
    D = 1 / (1 + V)
    mass = alpha / beta * features.weights * D
    Lambda = (means.mu1 * mass) @ means.mu1.T
    root = np.sqrt(features.bulk.scales * c[:, None]).T
    inverse = np.linalg.inv(np.eye(c.size) + root[:, :, None] * Lambda * root[:, None, :])
    K = root[:, :, None] * inverse * root[:, None, :]
    R = weights @ (1 - np.diagonal(inverse, axis1=1, axis2=2)) / c
    next_c = beta * features.fractions / (penalty + means.mu2_sq @ mass + R)
    gamma = np.tensordot(weights, K, 1)
    next_V = (np.sum(means.mu1 * (gamma @ means.mu1), axis=0) + next_c @ means.mu2_sq) / beta
    return Sweep(next_c, next_V, c, D, Lambda, K)


@dataclass(frozen=True, eq=False)
class _Point:
    """The map and its derivative at one (c, V)."""

    next_c: np.ndarray
    next_V: np.ndarray
    D: np.ndarray
    Lambda: np.ndarray
    Omega: np.ndarray
    K: np.ndarray
    J: np.ndarray
    response: np.ndarray
    coupling: np.ndarray
    jacobian: np.ndarray


def _evaluate(
    features: GroupTable,
    alpha: float,
    beta: float,
    penalty: float,
    weights: np.ndarray,
    c: np.ndarray,
    V: np.ndarray,
) -> _Point:
    pairs, scales = features.pairs, features.bulk.scales
    D = 1 / (1 + V)
    averages = alpha / beta * (features.moments @ (features.weights * D))
    Lambda, Omega = pairs.matrix(averages[: pairs.size]), penalty + averages[pairs.size :]
    # K = C^1/2 (I + B)^-1 C^1/2 with B = C^1/2 Lambda C^1/2, through the Cholesky factor L of I + B:
    # V is then a sum of squares, exact even where B is huge in one direction (c_{>1} -> 0).
    C = (scales * c[:, None]).T
    root = np.sqrt(C)
    B = root[:, :, None] * Lambda * root[:, None, :]
    eye = np.eye(pairs.groups)
    factor = np.linalg.inv(np.linalg.cholesky(eye + B))
    inverse = np.swapaxes(factor, 1, 2) @ factor
    K = root[:, :, None] * inverse * root[:, None, :]
    J = root[:, :, None] * inverse / root[:, None, :]
    pull = (eye - inverse) / (root[:, :, None] * root[:, None, :])
    R = np.einsum("k,gk,kgg->g", weights, scales, pull)
    next_c = beta * features.fractions / (Omega + R)
    # A leverage correction w_k - vv_k/d may be negative, so the signs stand outside the squares.
    tall = (np.sqrt(np.abs(weights))[:, None, None] * factor * root[:, None, :]).reshape(-1, pairs.groups)
    squares = np.repeat(np.sign(weights), pairs.groups) @ (tall @ features.means.mu1) ** 2
    next_V = (squares + next_c @ features.means.mu2_sq) / beta
    response, coupling = _response(features, weights, next_c**2 / (beta * features.fractions), K, J, pull)
    hessian = (features.moments * (features.weights * D**2)) @ features.counted.T
    jacobian = np.eye(pairs.size + pairs.groups) - alpha / beta**2 * response @ hessian
    jacobian[:, pairs.size :] -= coupling
    return _Point(next_c, next_V, D, Lambda, Omega, K, J, response, coupling, jacobian)


def _response(
    features: GroupTable,
    weights: np.ndarray,
    gain: np.ndarray,
    K: np.ndarray,
    J: np.ndarray,
    pull: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Minus the derivative of (pairs of Gamma, c) in (pairs of Lambda, Omega), and the one in c."""
    pairs, scales = features.pairs, features.bulk.scales
    G, bins = pairs.groups, weights.size
    g, h = pairs.rows, pairs.cols
    flat = K.reshape(bins, G * G)
    square = ((weights * flat.T) @ flat).reshape(G, G, G, G)
    direct = square[g[:, None], g, h[:, None], h]
    crossed = square[g[:, None], h, h[:, None], g]
    gamma_by_lambda = (direct + crossed) * (pairs.multiplicity / 2)
    # sum_k w_k s_h(k) J_ah J_bh: Gamma_ab by c_h, and (transposed) R_h by Lambda_ab.
    columns = J.transpose(2, 1, 0)
    gamma_by_c = pairs.vector((columns * (weights * scales)[:, None]) @ columns.swapaxes(1, 2)).T
    r_by_c = np.einsum("k,gk,hk,kgh->gh", weights, scales, scales, pull**2)
    response = np.zeros((pairs.size + G, pairs.size + G))
    response[: pairs.size, : pairs.size] = gamma_by_lambda
    response[pairs.size :, : pairs.size] = gain[:, None] * gamma_by_c.T * pairs.multiplicity
    response[pairs.size :, pairs.size :] = np.diag(gain)
    return response, np.concatenate([gamma_by_c, gain[:, None] * r_by_c])


def _upper_start(features: GroupTable, beta: float, penalty: float) -> tuple[np.ndarray, np.ndarray]:
    """The values at Lambda = 0, Omega = lambda: above the fixed point."""
    c = beta * features.fractions / penalty
    scale = np.maximum(1.0, features.bulk.scales.max(axis=1))
    return c, (c * scale) @ (features.means.mu1**2 + features.means.mu2_sq) / beta


def _scalar_start(
    features: GroupTable, alpha: float, beta: float, penalty: float
) -> tuple[np.ndarray, np.ndarray]:
    """The fixed point of one group with the averages of mu_1^2 and mu_2^2, spread over groups and kappa."""
    linear = float(features.fractions @ (features.means.mu1**2 @ features.weights))
    other = float(features.fractions @ (features.means.mu2_sq @ features.weights))
    ratio = alpha / beta

    def equations(log_V: float) -> tuple[float, float]:
        D = 1 / (1 + math.exp(log_V))
        Lambda, Omega = ratio * linear * D, penalty + ratio * other * D
        half = (Omega + (1 - beta) * Lambda) / 2
        root = math.sqrt(half**2 + Omega * Lambda * beta)
        c = beta / (half + root) if half > 0 else (root - half) / (Omega * Lambda)
        return c, math.log((linear * c / (1 + c * Lambda) + other * c) / beta) - log_V

    top = math.log((linear + other) / penalty)
    bottom = math.log((linear + other) / (penalty + ratio * (linear + other)) / (1 + beta))
    log_V = brentq(lambda value: equations(value)[1], bottom - 0.1, top + 0.1, xtol=1e-3)
    c = equations(log_V)[0] * features.fractions
    flat = np.full_like(features.weights, math.exp(log_V))
    point = _sweep(features, alpha, beta, penalty, features.bulk.weights, c, flat)
    # Starting too high costs less than starting too low, from where the first step overshoots.
    return 1.5 * point.next_c, 1.5 * point.next_V
