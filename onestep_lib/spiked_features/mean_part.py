r"""The mean part of the fit: its coefficients (M, S, T) of the functions :math:`\Psi`, and its leverage.

A weighted least-squares problem with the penalty P; the formulas are those of
:mod:`onestep_lib.spiked_features.losses`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from onestep_lib.spiked_features.fixed_point import FixedPoint, Sweep
from onestep_lib.spiked_features.model import Ratios, SpikedTable

# Directions of the mean part weaker than this against the activation are dropped: to learn them takes
# d > 1e16, and to resolve them more digits than there are (r -> 0, or nearly collinear spikes).
WEAK = 1e-8


def leverage_lift(table: SpikedTable, ratios: Ratios, sweep: Sweep) -> np.ndarray:
    r"""The leverage :math:`\Psi^\top A^{-1}\Psi/(\beta d)` of the mean part, a function of kappa."""
    penalty = _mean_penalty(table, ratios, sweep).matrix
    mass = ratios.alpha / ratios.beta * table.grid.weights * sweep.D
    A = (table.columns * mass) @ table.columns.T + penalty
    scale = 1 / np.sqrt(np.diag(A))
    factor = np.linalg.cholesky(scale[:, None] * A * scale)
    solved = solve_triangular(factor, scale[:, None] * table.columns, lower=True, check_finite=False)
    return ratios.inverse_d / ratios.beta * np.sum(solved**2, axis=0)


@dataclass(frozen=True, eq=False)
class MeanPart:
    """The fit: coefficients (3G,), F_0, upsilon and m, the inverse of K_vv, and A^-1 = half^T half."""

    coefficients: np.ndarray
    fitted: np.ndarray
    upsilon: np.ndarray
    m_hat: np.ndarray
    m: np.ndarray
    inverse: np.ndarray
    half_inverse: np.ndarray


def mean_part(table: SpikedTable, ratios: Ratios, point: FixedPoint) -> MeanPart:
    c, D = point.c, point.D
    mass = ratios.alpha / ratios.beta * table.grid.weights * D
    m_hat = table.features.means.mu1 @ (mass * table.labels.h1)
    known = _mean_penalty(table, ratios, point)
    inverse, K_vt, K_tt = known.inverse, known.K_vt, known.K_tt
    G = c.size
    pull = np.zeros(3 * G)
    pull[G : 2 * G] = inverse @ K_vt @ m_hat
    means = table.features.means
    power = table.features.fractions @ (means.mu0**2 + means.mu1**2 + means.mu2_sq)
    weak = WEAK * np.sqrt(mass @ power)
    coefficients, half_inverse = least_squares(table.columns, table.labels.h0, mass, known.matrix, pull, weak)
    upsilon = inverse @ (coefficients[G : 2 * G] - K_vt @ m_hat)
    m = K_vt.T @ upsilon + K_tt @ m_hat
    return MeanPart(coefficients, coefficients @ table.columns, upsilon, m_hat, m, inverse, half_inverse)


@dataclass(frozen=True, eq=False)
class _MeanPenalty:
    """The penalty matrix of the mean part, the inverse of K_vv, K_vt and K_tt."""

    matrix: np.ndarray
    inverse: np.ndarray
    K_vt: np.ndarray
    K_tt: np.ndarray


def _mean_penalty(table: SpikedTable, ratios: Ratios, point: FixedPoint | Sweep) -> _MeanPenalty:
    bulk, c = table.features.bulk, point.c
    K_vv, K_vt, K_tt = (np.tensordot(part, point.K, 1) for part in (bulk.vv, bulk.vt, bulk.tt))
    if bulk.weights.size == 1:
        along = np.diag(1 / (c * bulk.scales[:, 0]))
        inverse = along + point.Lambda
    else:
        inverse = np.linalg.inv(K_vv)
        along = (inverse + inverse.T) / 2 - point.Lambda
    G = c.size
    matrix = np.zeros((3 * G, 3 * G))
    # What is left of a noise in the means once the rest of the fit has answered it, averaged over the bulk.
    answered = np.tensordot(bulk.weights, point.K, 1)
    held = point.Lambda - point.Lambda @ answered @ point.Lambda
    matrix[:G, :G] = np.diag(ratios.inverse_d / c) + ratios.mean_noise * held
    matrix[G : 2 * G, G : 2 * G] = along
    matrix[2 * G :, 2 * G :] = np.diag(1 / c)
    return _MeanPenalty(matrix, inverse, K_vt, K_tt)


def least_squares(
    columns: np.ndarray,
    values: np.ndarray,
    mass: np.ndarray,
    penalty: np.ndarray,
    pull: np.ndarray,
    weak: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Minimise sum mass (values - x columns)^2 + x P x - 2 x pull; return x and half with half^T half = A^-1.

    Columns may be collinear (r = 0, or an odd activation with spikes +-r): the fit is unique, x is the
    one of smallest scaled norm.
    """
    root = np.sqrt(mass)
    levels, vectors = np.linalg.eigh(penalty)
    levels = np.sqrt(np.maximum(levels, 0.0))
    design = np.concatenate([(root * columns).T, levels[:, None] * vectors.T])
    pulled = np.divide(vectors.T @ pull, levels, out=np.zeros_like(pull), where=levels > 0)
    aim = np.concatenate([root * values, pulled])
    norms = np.linalg.norm(design, axis=0)
    norms = np.where(norms > weak, norms, weak / WEAK)
    left, singular, right = np.linalg.svd(design / norms, full_matrices=False)
    kept = singular > WEAK * singular[0]
    inverse = np.divide(1.0, singular, out=np.zeros_like(singular), where=kept)
    half = inverse[:, None] * right / norms
    return (left.T @ aim) @ half, half
