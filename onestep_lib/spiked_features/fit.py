r"""The fit at one point: its mean part, its second moments, the error E(kappa), the losses.

The mean part is a weighted least-squares problem with the penalty P, the second moments a linear system with
the matrix of the fixed point; the formulas are those of :mod:`onestep_lib.spiked_features.losses`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onestep_lib._values import plain
from onestep_lib.convergence import ConvergenceError
from onestep_lib.spiked_features.fixed_point import FixedPoint, apply, combine
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
    r"""One point, with its order parameters; or many, with leading axes.

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

    train: float | np.ndarray
    test: float | np.ndarray
    objective: float | np.ndarray
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
    pairs, means, G = features.pairs, features.means, point.c.shape[-1]
    mass = ratios.a * weights * D
    m_hat = apply(means.mu1, mass * labels.h1)
    K_vt, K_tt, K_inverse, along = _forms(features.bulk, point)
    one_d = np.asarray(ratios.inverse_d)[..., None]
    size, eye = table.columns.shape[-2], np.eye(G)
    penalty, pull = np.zeros((*point.c.shape[:-1], size, size)), np.zeros((*point.c.shape[:-1], size))
    penalty[..., :G, :G] = (one_d / point.c)[..., None] * eye
    penalty[..., G : 2 * G, G : 2 * G] = along
    for start in range(2 * G, size, G):
        penalty[..., start : start + G, start : start + G] = (1 / point.c)[..., None] * eye
    pull[..., G : 2 * G] = apply(K_inverse, apply(K_vt, m_hat))
    x = least_squares(table, mass, penalty, pull)
    s_1, s_v, s_length = np.split(x, [G, 2 * G], axis=-1)
    missed = labels.h0 - combine(x, table.columns)
    upsilon = apply(K_inverse, s_v - apply(K_vt, m_hat))
    s_perp = combine(upsilon, K_vt) + apply(K_tt, m_hat)
    pulled = combine(s_perp, means.mu1)

    Q0, T0 = _sources(table, point, np.stack([upsilon, m_hat], axis=-1))
    gain = point.c**2 / (ratios.b * features.fractions)
    own = np.sum(s_length.reshape(*s_length.shape[:-1], -1, G) ** 2, axis=-2)
    T0 = T0 + (own + one_d * s_1**2) / point.c**2
    source = np.concatenate([pairs.vector(Q0 - s_v[..., :, None] * s_v[..., None, :]), gain * T0], axis=-1)
    fixed = missed**2 + labels.variance - 2 * labels.h1 * pulled
    forced = ratios.a / ratios.b * apply(point.response, apply(features.moments, weights * D**2 * fixed))
    y = np.linalg.solve(point.jacobian, (source + forced)[..., None])[..., 0]
    error = fixed + combine(y, features.counted)
    Q, a_sq = pairs.matrix(y[..., : pairs.size]), y[..., pairs.size :]

    train, test = (D**2 * error) @ weights, error @ weights
    objective = train + ratios.ridge * a_sq.sum(axis=-1)
    envelope = (D * (labels.h0 * missed + labels.variance - labels.h1 * pulled)) @ weights
    # Its terms have the size of the squared labels, and so has its rounding.
    rounding = CANCELLED * ((D * labels.H) @ weights)
    gap = float(np.max(np.maximum(np.abs(objective - envelope) - rounding, 0.0) / np.abs(envelope)))
    if not gap < _ENVELOPE:
        at = {"spikes": G, "ratios": ratios}
        raise ConvergenceError("spiked_features (second moments)", gap, at, ratios.difficulty(features))
    train, test, objective = map(plain, (train, test, objective))
    lengths = s_1, s_v, s_length, s_perp, Q, a_sq
    return SpikedSolution(train, test, objective, *lengths, error, ratios, point, table)


def _forms(bulk: BulkCovariance, point: FixedPoint) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """K_vt, K_tt, the inverse of K_vv, and what it is beyond Lambda: the penalty of s_v."""
    K_vv, K_vt, K_tt = (
        np.einsum("...k,...kgh->...gh", part, point.K) for part in (bulk.vv, bulk.vt, bulk.tt)
    )
    if bulk.weights.shape[-1] == 1:
        along = 1 / (point.c * bulk.scales[..., 0])[..., None] * np.eye(point.c.shape[-1])
        return K_vt, K_tt, along + point.Lambda, along
    inverse = np.linalg.inv(K_vv)
    return K_vt, K_tt, inverse, (inverse + inverse.swapaxes(-1, -2)) / 2 - point.Lambda


def least_squares(table: SpikedTable, mass: np.ndarray, penalty: np.ndarray, pull: np.ndarray) -> np.ndarray:
    """Minimise sum mass (h_0 - x columns)^2 + x P x - 2 x pull over x.

    Columns may be collinear (r = 0, or an odd activation with spikes +-r): the fit is unique, x is the
    one of smallest scaled norm.
    """
    means, root = table.features.means, np.sqrt(mass)
    power = combine(table.features.fractions, means.mu0**2 + means.mu1**2 + means.mu2_sq)
    weak = WEAK * np.sqrt(np.sum(mass * power, axis=-1, keepdims=True))
    levels, vectors = np.linalg.eigh(penalty)
    levels, across = np.sqrt(np.maximum(levels, 0.0)), vectors.swapaxes(-1, -2)
    seen = (root[..., None, :] * table.columns).swapaxes(-1, -2)
    design = np.concatenate([seen, levels[..., None] * across], axis=-2)
    pulled = np.divide(apply(across, pull), levels, out=np.zeros_like(pull), where=levels > 0)
    norms = np.linalg.norm(design, axis=-2)
    norms = np.where(norms > weak, norms, weak / WEAK)
    aim = np.concatenate([root * table.labels.h0, pulled], axis=-1)
    return apply(np.linalg.pinv(design / norms[..., None, :], rcond=WEAK), aim) / norms


def _sources(table: SpikedTable, point: FixedPoint, forces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The sums over the bulk in Q_0 and in A_0, for the forces (upsilon, m-hat), shape (G, 2)."""
    bulk, forces = table.features.bulk, forces[..., None, :, :]
    overlaps = np.stack([bulk.vv, bulk.vt, bulk.vt, bulk.tt], axis=-1)
    overlaps = overlaps.reshape(*bulk.vv.shape, 2, 2)
    moved, pulled = point.K @ forces, point.J.swapaxes(-1, -2) @ forces
    Q0 = np.sum(moved @ overlaps @ moved.swapaxes(-1, -2), axis=-3)
    return Q0, np.sum(bulk.scales.swapaxes(-1, -2) * np.sum((pulled @ overlaps) * pulled, axis=-1), axis=-2)
