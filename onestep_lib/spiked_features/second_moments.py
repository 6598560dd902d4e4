r"""The second moments (Q, N) of the fit and the error E(kappa), from which the three losses follow.

The linear system and its sources are those of :mod:`onestep_lib.spiked_features.losses`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lu_factor, lu_solve

from onestep_lib.convergence import ConvergenceError
from onestep_lib.spiked_features.fixed_point import FixedPoint
from onestep_lib.spiked_features.mean_part import MeanPart
from onestep_lib.spiked_features.model import BulkCovariance, Ratios, SpikedTable

PASSES = 60
# Rounding of a squared residual, in units of the squared label.
CANCELLED = 16 * np.finfo(float).eps
# The objective without the second moments agrees to this, or rounding has taken them.
_ENVELOPE = 1e-6


@dataclass(frozen=True, eq=False)
class SpikedSolution:
    r"""One point, with its order parameters.

    Parameters
    ----------
    train, test, objective : float
    M, S, T, m, N : ndarray, shape (G,)
        :math:`M_g=\frac1{\sqrt N}\sum_{j\in g}a_j`, S and m the parts of
        :math:`s_g=\frac1{\sqrt N}\sum_{j\in g}a_jw_j` along v and :math:`\theta_\perp`, T the one along the
        row lengths, :math:`N_g=\frac1N\sum_{j\in g}a_j^2`, for :math:`a=\sqrt N\hat a`.
    Q : ndarray, shape (G, G)
        Overlaps of the :math:`s_g` across v.
    error : ndarray, shape (K,)
        :math:`E(\kappa)` on the grid of `table`.
    point : FixedPoint
    table : SpikedTable
        With the grid that the solution needed.
    """

    train: float
    test: float
    objective: float
    M: np.ndarray
    S: np.ndarray
    T: np.ndarray
    m: np.ndarray
    Q: np.ndarray
    N: np.ndarray
    error: np.ndarray
    point: FixedPoint
    table: SpikedTable


def second_moments(table: SpikedTable, ratios: Ratios, point: FixedPoint, mean: MeanPart) -> SpikedSolution:
    r"""The linear system: (Q, N) solve :math:`(I-t')y=` source, and the losses follow."""
    pairs, means = table.features.pairs, table.features.means
    labels, weights, D = table.labels, table.grid.weights, point.D
    M, S, T = np.split(mean.coefficients, 3)
    pulled = mean.m @ means.mu1
    fixed = (labels.h0 - mean.fitted) ** 2 + labels.variance - 2 * labels.h1 * pulled
    Q0, T0 = _sources(table, ratios, point, mean)
    gain = point.c**2 / (ratios.beta * table.features.fractions)
    source = np.concatenate([pairs.vector(Q0), gain * T0])
    forcing = ratios.alpha / ratios.beta**2 * point.response @ (table.features.moments * weights * D**2)
    factors = lu_factor(point.jacobian)
    extra = np.zeros_like(D)
    for _ in range(PASSES):
        y = lu_solve(factors, source + forcing @ (fixed + extra))
        error = fixed + extra + y @ table.features.counted
        N = y[pairs.size :]
        new = _extra_error(table, ratios, point, mean, N, error) if ratios.leverage else extra
        # Labels that are learned to the last digit leave an error of 0.
        change = float(np.max(np.abs(new - extra) / np.maximum(np.abs(error), np.finfo(float).tiny)))
        if change < ratios.tolerance:
            break
        extra = new
    else:
        raise ConvergenceError(
            "spiked_features (leverage of the error)", change, {"ratios": ratios}, ratios.difficulty(table)
        )
    Q = pairs.matrix(y[: pairs.size])
    train, test = float(weights @ (D**2 * error)), float(weights @ error)
    objective = train + ratios.ridge * float(N.sum())
    if not ratios.leverage:
        product = labels.h0 * (labels.h0 - mean.fitted) + labels.variance - labels.h1 * pulled
        envelope = weights @ (D * product)
        # Its terms have the size of the squared labels, and so has its rounding.
        rounding = CANCELLED * float(weights @ (D * labels.H))
        gap = float(max(np.abs(objective - envelope) - rounding, 0.0) / np.abs(envelope))
        if not gap < _ENVELOPE:
            at = {"spikes": table.features.fractions.size, "ratios": ratios}
            raise ConvergenceError("spiked_features (second moments)", gap, at, ratios.difficulty(table))
    return SpikedSolution(train, test, objective, M, S, T, mean.m, Q, N, error, point, table)


def _sources(
    table: SpikedTable, ratios: Ratios, point: FixedPoint, mean: MeanPart
) -> tuple[np.ndarray, np.ndarray]:
    """The parts of Q and of T_gg (the variance of the dual field) that do not depend on Q and N."""
    bulk = table.features.bulk
    M, S, T = np.split(mean.coefficients, 3)
    forces = np.stack([mean.upsilon, mean.m_hat], axis=1)
    overlaps = np.moveaxis(np.array([[bulk.vv, bulk.vt], [bulk.vt, bulk.tt]]), -1, 0)
    moved, pulled = point.K @ forces, np.swapaxes(point.J, 1, 2) @ forces
    Q0 = _squares(moved @ overlaps, moved) - np.outer(S, S)
    T0 = np.sum(bulk.scales.T * np.sum((pulled @ overlaps) * pulled, axis=-1), axis=0)
    if np.any(ratios.mean_noise):
        # A noise q in the means leaves J q of itself, and the fit answers it by the force Lambda J q.
        noise, answer = ratios.mean_noise * np.outer(M, M), point.Lambda @ point.J
        Q0 += _squares(bulk.weights[:, None, None] * (point.J @ noise), point.J)
        T0 += np.sum((bulk.weights * bulk.scales).T * np.sum((answer @ noise) * answer, axis=-1), axis=0)
    return Q0, T0 + (T**2 + ratios.inverse_d * M**2) / point.c**2


def _squares(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The sum of left right^T over the atoms of the bulk, (G, G)."""
    return np.tensordot(left, right, axes=([0, 2], [0, 2]))


def _extra_error(
    table: SpikedTable,
    ratios: Ratios,
    point: FixedPoint,
    mean: MeanPart,
    N: np.ndarray,
    error: np.ndarray,
) -> np.ndarray:
    """The variance of the mean part at finite d, a function of kappa."""
    G, inverse_d = N.size, ratios.inverse_d
    mass = ratios.alpha / ratios.beta**2 * inverse_d * table.grid.weights * point.D**2
    inner = (table.columns * (mass * error)) @ table.columns.T
    noise = inverse_d * N / point.c**2
    inner += np.diag(np.concatenate([inverse_d * noise, np.zeros(G), noise]))
    inner[G : 2 * G, G : 2 * G] += inverse_d * _noise_along(table.features.bulk, point, mean, N)
    projected = mean.half_inverse.T @ (mean.half_inverse @ table.columns)
    return np.sum(projected * (inner @ projected), axis=0)


def _noise_along(bulk: BulkCovariance, point: FixedPoint, mean: MeanPart, N: np.ndarray) -> np.ndarray:
    """d times the covariance (G, G) of the forces on S that come from the rows (formula in the module)."""
    moved = mean.inverse @ point.J
    return np.einsum("k,kgh,hk,kjh->gj", bulk.vv, moved, N[:, None] * bulk.scales, moved, optimize=True)
