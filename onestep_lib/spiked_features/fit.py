r"""The fit at one point: its mean part, its second moments, the error E(kappa), the losses.

The mean part is a weighted least-squares problem with the penalty P, the second moments a linear system with
the matrix of the fixed point; the formulas are those of :mod:`onestep_lib.spiked_features.losses`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onestep_lib.convergence import ConvergenceError
from onestep_lib.spiked_features.fixed_point import FixedPoint
from onestep_lib.spiked_features.model import BulkCovariance, Ratios, SpikedTable

# Directions of the mean part weaker than this against the activation are dropped: to learn them takes
# d > 1e16, and to resolve them more digits than there are (r -> 0, or nearly collinear spikes).
WEAK = 1e-8
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
    s_1, s_v, s_length, s_perp, a_sq : ndarray, shape (G,)
        :math:`s_{1,g}=\sum_{j\in g}\hat a_j`, the parts :math:`s_{v,g},s_{\perp,g}` of
        :math:`s_g=\sum_{j\in g}\hat a_jw_j` along v and :math:`\beta_\perp`, the one :math:`s_{\ell,g}` along
        the row lengths (2G numbers for a model with `initial`), and :math:`|\hat a_g|^2`.
    Q : ndarray, shape (G, G)
        Overlaps of the :math:`s_g` across v.
    error : ndarray, shape (K,)
        :math:`E(\kappa)` on the grid of `table`.
    ratios : Ratios
    point : FixedPoint
    table : SpikedTable
        With the grid that the solution needed.
    """

    train: float
    test: float
    objective: float
    s_1: np.ndarray
    s_v: np.ndarray
    s_length: np.ndarray
    s_perp: np.ndarray
    Q: np.ndarray
    a_sq: np.ndarray
    error: np.ndarray
    ratios: Ratios
    point: FixedPoint
    table: SpikedTable


def solve_fit(table: SpikedTable, ratios: Ratios, point: FixedPoint) -> SpikedSolution:
    r"""The mean part, then (Q, A) from :math:`(I-t')y=` source, and the losses."""
    features, labels, weights, D = table.features, table.labels, table.grid.weights, point.D
    pairs, means, G = features.pairs, features.means, point.c.size
    mass = ratios.a * weights * D
    m_hat = means.mu1 @ (mass * labels.h1)
    known = _forms(features.bulk, point)
    size = len(table.columns)
    penalty, pull = np.zeros((size, size)), np.zeros(size)
    penalty[:G, :G] = np.diag(ratios.inverse_d / point.c)
    penalty[G : 2 * G, G : 2 * G] = known.along
    penalty[2 * G :, 2 * G :] = np.diag(np.tile(1 / point.c, size // G - 2))
    pull[G : 2 * G] = known.inverse @ known.K_vt @ m_hat
    x = least_squares(table, mass, penalty, pull)
    s_1, s_v, s_length = np.split(x, [G, 2 * G])
    missed = labels.h0 - x @ table.columns
    upsilon = known.inverse @ (s_v - known.K_vt @ m_hat)
    s_perp = known.K_vt.T @ upsilon + known.K_tt @ m_hat
    pulled = s_perp @ means.mu1

    Q0, T0 = _sources(table, point, np.stack([upsilon, m_hat], axis=1))
    gain = point.c**2 / (ratios.beta * features.fractions)
    T0 += (np.sum(s_length.reshape(-1, G) ** 2, axis=0) + ratios.inverse_d * s_1**2) / point.c**2
    source = np.concatenate([pairs.vector(Q0 - np.outer(s_v, s_v)), gain * T0])
    forcing = ratios.a / ratios.beta * point.response @ (features.moments * weights * D**2)
    fixed = missed**2 + labels.variance - 2 * labels.h1 * pulled
    y = np.linalg.solve(point.jacobian, source + forcing @ fixed)
    error = fixed + y @ features.counted
    Q, a_sq = pairs.matrix(y[: pairs.size]), y[pairs.size :]

    train, test = float(weights @ (D**2 * error)), float(weights @ error)
    objective = train + ratios.ridge * float(a_sq.sum())
    envelope = weights @ (D * (labels.h0 * missed + labels.variance - labels.h1 * pulled))
    # Its terms have the size of the squared labels, and so has its rounding.
    rounding = CANCELLED * float(weights @ (D * labels.H))
    gap = float(max(np.abs(objective - envelope) - rounding, 0.0) / np.abs(envelope))
    if not gap < _ENVELOPE:
        at = {"spikes": features.fractions.size, "ratios": ratios}
        raise ConvergenceError("spiked_features (second moments)", gap, at, ratios.difficulty(features))
    lengths = s_1, s_v, s_length, s_perp, Q, a_sq
    return SpikedSolution(train, test, objective, *lengths, error, ratios, point, table)


@dataclass(frozen=True, eq=False)
class _Forms:
    """K_vt, K_tt, the inverse of K_vv, and what it is beyond Lambda: the penalty of s_v."""

    K_vt: np.ndarray
    K_tt: np.ndarray
    inverse: np.ndarray
    along: np.ndarray


def _forms(bulk: BulkCovariance, point: FixedPoint) -> _Forms:
    K_vv, K_vt, K_tt = (np.tensordot(part, point.K, 1) for part in (bulk.vv, bulk.vt, bulk.tt))
    if bulk.weights.size == 1:
        along = np.diag(1 / (point.c * bulk.scales[:, 0]))
        return _Forms(K_vt, K_tt, along + point.Lambda, along)
    inverse = np.linalg.inv(K_vv)
    return _Forms(K_vt, K_tt, inverse, (inverse + inverse.T) / 2 - point.Lambda)


def least_squares(table: SpikedTable, mass: np.ndarray, penalty: np.ndarray, pull: np.ndarray) -> np.ndarray:
    """Minimise sum mass (h_0 - x columns)^2 + x P x - 2 x pull over x.

    Columns may be collinear (r = 0, or an odd activation with spikes +-r): the fit is unique, x is the
    one of smallest scaled norm.
    """
    means, root = table.features.means, np.sqrt(mass)
    weak = WEAK * np.sqrt(mass @ (table.features.fractions @ (means.mu0**2 + means.mu1**2 + means.mu2_sq)))
    levels, vectors = np.linalg.eigh(penalty)
    levels = np.sqrt(np.maximum(levels, 0.0))
    design = np.concatenate([(root * table.columns).T, levels[:, None] * vectors.T])
    pulled = np.divide(vectors.T @ pull, levels, out=np.zeros_like(pull), where=levels > 0)
    norms = np.linalg.norm(design, axis=0)
    norms = np.where(norms > weak, norms, weak / WEAK)
    aim = np.concatenate([root * table.labels.h0, pulled])
    return np.linalg.lstsq(design / norms, aim, rcond=WEAK)[0] / norms


def _sources(table: SpikedTable, point: FixedPoint, forces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The sums over the bulk in Q_0 and in A_0, for the forces (upsilon, m-hat), shape (G, 2)."""
    bulk = table.features.bulk
    overlaps = np.moveaxis(np.array([[bulk.vv, bulk.vt], [bulk.vt, bulk.tt]]), -1, 0)
    moved, pulled = point.K @ forces, np.swapaxes(point.J, 1, 2) @ forces
    Q0 = np.tensordot(moved @ overlaps, moved, axes=([0, 2], [0, 2]))
    return Q0, np.sum(bulk.scales.T * np.sum((pulled @ overlaps) * pulled, axis=-1), axis=0)
