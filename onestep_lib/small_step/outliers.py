r"""Outliers: the eigenvalues of F F^T/n that the rank-one parts of the features push out of the bulk.

With P, t and :math:`M=(1+\tau)I+P^\top\operatorname{diag}(t)P` of :mod:`onestep_lib.small_step.spikes`, by
Woodbury's identity the eigenvalues z of F F^T/n to the right of the bulk are those with det M(-z) = 0, and
the eigenvector u of z has

.. math:: \frac{\langle u,h_q\rangle^2}n=-\frac{t_q^2\,(Pv)_q^2}{v^\top M'v},\qquad M(-z)\,v=0 .

The ordered eigenvalues of :math:`-P^\top\operatorname{diag}(t)P/(1+\tau)` fall as z grows, so that each
outlier is one bracketed crossing of 1: a sign change of an ordered eigenvalue of M, which a diagonal
congruence does not move.

The resolvent there is that of :mod:`onestep_lib.no_step.spectrum`, of the batch of n samples of F
(k = n/N); the gradient's batch, if it has another size, enters through the spike in P.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from onestep_lib._checks import check_flag, check_instance, shown
from onestep_lib.convergence import ConvergenceError
from onestep_lib.no_step.spectrum import outer_traces
from onestep_lib.settings import Setting
from onestep_lib.small_step.gradient import Spike, exact_spike, gradient_spike
from onestep_lib.small_step.spikes import require_spikes, sample_side, spike_matrix, whole_spike_matrix

__all__ = [
    "feature_outliers",
]


@dataclass(frozen=True, eq=False)
class Outliers:
    r"""Eigenvalues of F F^T/n outside the bulk, the largest first.

    Parameters
    ----------
    values : ndarray, shape (J,)
    overlaps : ndarray, shape (J, l + 1)
        Squared overlap of each eigenvector with :math:`He_q(\kappa)`, q = 0, ..., l.
    """

    values: np.ndarray
    overlaps: np.ndarray


def feature_outliers(
    setting: Setting,
    level: int,
    spike: Spike | None = None,
    readout: np.ndarray | None = None,
    whole: bool = False,
) -> Outliers:
    r"""Return the eigenvalues of :math:`FF^\top/n` to the right of the bulk, and their eigenvectors.

    For one step size (0: those of random features, from the constant parts). Formulas in
    :mod:`onestep_lib.small_step.outliers`.

    Parameters
    ----------
    setting : Setting
    level : int
        The number of spikes l >= 1.
    spike : Spike, optional
        :math:`|b|^2` of one draw, and the widening; by default the limit for the exact step. `gradient_spike`
        is that of a step of rank one.
    readout : ndarray, shape (N,), optional
        A realised readout; by default its law.
    whole : bool
        All powers of the step at once, to the degree `level` of kappa
        (:mod:`onestep_lib.small_step.spikes`): nearer to the network where eta^2/N is not very small.

    Returns
    -------
    Outliers

    Raises
    ------
    ValueError
        For a raw network, a path of steps, or a target with a mean.
    ConvergenceError
        If an edge or a crossing cannot be bracketed.

    Examples
    --------
    >>> from onestep_lib import Setting
    >>> from onestep_lib.no_step import feature_law
    >>> from onestep_lib.small_step import feature_outliers
    >>> s = Setting(n=1000, d=500, N=400, step=5.0)
    >>> outliers = feature_outliers(s, level=1)
    >>> print(outliers.values.round(2), round(feature_law(s).edge, 2), outliers.overlaps.round(2))
    [5.94] 1.83 [[0.   0.92]]
    """
    check_instance("setting", setting, Setting)
    if setting.steps.ndim:
        raise ValueError(f"step must be one number for outliers, got {shown(setting.step)}")
    require_spikes(setting)
    if spike is None:
        spike = exact_spike(setting) if setting.step else gradient_spike(setting)
    matrix = whole_spike_matrix if check_flag("whole", whole) else spike_matrix
    P, k = matrix(setting, level, spike, readout), setting.n / setting.N
    located = [_locate(setting, P, k, j) for j in range(P.shape[1])]
    found = [_outlier(setting, P, k, distance) for distance in located if distance is not None]
    values = np.array([value for value, _ in found])
    overlaps = np.array([overlap for _, overlap in found]).reshape(-1, level + 2)
    return Outliers(values, overlaps[:, :-1])


# The relative distance from the edge below which an outlier counts as part of the bulk.
_NEAREST = 1e-9


def _signature(setting: Setting, P: np.ndarray, k: float, log_distance: float) -> np.ndarray:
    """The ordered eigenvalues of M/(1 + tau), scaled by a congruence that keeps their signs, at one point."""
    _, resolvent = outer_traces(np.exp(log_distance), setting)
    t, _ = sample_side(resolvent, k, P.shape[0] - 2)
    columns = np.linalg.norm(P, axis=0) * np.sqrt(np.abs(t).max() / (1 + resolvent.tau))
    scale = 1 / np.maximum(columns, 1.0)
    matrix = (P.T * t) @ P / (1 + resolvent.tau) + np.eye(P.shape[1])
    return np.linalg.eigvalsh(matrix * scale[:, None] * scale)


def _locate(setting: Setting, P: np.ndarray, k: float, j: int) -> float | None:
    """Where the j-th eigenvalue turns positive, as a log distance from the edge; None if it always is."""
    low = high = np.log(_NEAREST)
    if _signature(setting, P, k, low)[j] >= 0:
        return None
    while _signature(setting, P, k, high)[j] < 0:
        high += 4.0
    root, report = brentq(
        lambda s: _signature(setting, P, k, s)[j], low, high, xtol=1e-13, full_output=True, disp=False
    )
    if not report.converged:
        raise ConvergenceError("outliers", abs(_signature(setting, P, k, root)[j]), {"setting": setting})
    return float(root)


def _outlier(setting: Setting, P: np.ndarray, k: float, log_distance: float) -> tuple[float, np.ndarray]:
    z, resolvent = outer_traces(np.exp(log_distance), setting)
    t, dt = sample_side(resolvent, k, P.shape[0] - 2)
    scale = 1 / np.maximum(np.linalg.norm(P, axis=0), 1.0)
    matrix = ((P.T * t) @ P + (1 + resolvent.tau) * np.eye(P.shape[1])) * scale[:, None] * scale
    values, vectors = np.linalg.eigh(matrix)
    null = scale * vectors[:, np.argmin(np.abs(values))]
    along = P @ null
    slope = resolvent.dtau * (null @ null) + along**2 @ dt
    return float(z), -((t * along) ** 2) / slope
