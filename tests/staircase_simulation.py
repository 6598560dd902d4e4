"""Exact simulation of ridge regression on F_l, and on its limit of infinite spikes, for many spikes at once.

One draw of (X, W_0) is factorised once. Each of `directions` target directions, gradient batches and readouts
is then a change of rank 2l (Woodbury), so that hundreds of nearly independent spikes cost little. Standard
errors come from the means over the draws, which are independent.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from onestep_lib.experiment import (
    feature_matrix,
    initial_network,
    measured_spike,
    sample_direction,
    sample_inputs,
)
from onestep_lib.settings import Setting
from onestep_lib.small_step.gradient import Spike


@dataclass(frozen=True)
class Sample:
    """What one direction gained, and the spike it had.

    base holds objective and test at step 0, infinite their gains for 1, ..., l spikes, shape (2, l), and
    finite those at every step, shape (2, steps).
    """

    spike: Spike
    readout: np.ndarray
    base: np.ndarray
    infinite: np.ndarray
    finite: np.ndarray


def _gradient_direction(s: Setting, direction: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """b = X^T y/n of a fresh Gaussian batch, exact in law: given y, the rest of X is Gaussian."""
    along = rng.standard_normal(s.step_samples)
    y = s.target(along) + s.noise * rng.standard_normal(along.size)
    rest = rng.standard_normal(s.d) * np.linalg.norm(y) / s.step_samples
    return rest + direction * (along @ y / s.step_samples - rest @ direction)


@dataclass(frozen=True)
class Problem:
    """One draw: features and projections of the ridge batch and of n test inputs, directions along axis 1."""

    F: np.ndarray
    test_F: np.ndarray
    labels: np.ndarray
    clean: np.ndarray
    kappa: np.ndarray
    test_kappa: np.ndarray
    readouts: np.ndarray
    spikes: list[Spike]


def draw_problem(s: Setting, directions: int, rng: np.random.Generator) -> Problem:
    """Draw (X, W_0) once, and a target direction, gradient batch and readout for each direction."""
    X, test_X = sample_inputs(s, s.n, rng), sample_inputs(s, s.n, rng)
    W = initial_network(s, rng).weights
    betas = np.stack([sample_direction(s.d, rng) for _ in range(directions)])
    bs = np.stack([_gradient_direction(s, beta, rng) for beta in betas])
    both = np.vstack([betas, bs / np.linalg.norm(bs, axis=1, keepdims=True)]).T
    (clean, kappa), (test_clean, test_kappa) = (np.hsplit(inputs @ both, 2) for inputs in (X, test_X))
    return Problem(
        feature_matrix(W, X, s.activation),
        feature_matrix(W, test_X, s.activation),
        s.target(clean) + s.noise * rng.standard_normal(clean.shape),
        s.target(test_clean),
        kappa,
        test_kappa,
        rng.standard_normal((s.N, directions)) / np.sqrt(s.N),
        [measured_spike(b, beta) for b, beta in zip(bs, betas, strict=True)],
    )


def gains(s: Setting, level: int, problem: Problem) -> list[Sample]:
    """What each direction of a draw gains: one ridge, a path of steps, centred, Gaussian readout."""
    F, shift = problem.F, float(s.ridges) * s.n
    gram = F.T @ F
    gram[np.diag_indices(s.N)] += shift
    factor = cho_factor(gram, overwrite_a=True, check_finite=False)

    # Axes: direction, sample or neuron, power. A holds z^k/sqrt(N), U kappa^k and B = F A.
    orders = np.arange(1, level + 1)
    A = (np.sqrt(s.N) * problem.readouts.T[:, :, None]) ** orders / np.sqrt(s.N)
    V = np.concatenate(
        [problem.labels.T[:, :, None], problem.kappa.T[:, :, None] ** orders, _apply(F, A)], axis=2
    )
    RV = (V - _apply(F, _apply(lambda v: cho_solve(factor, F.T @ v, check_finite=False), V))) / shift
    powers = np.array([spike.power for spike in problem.spikes])
    alpha, correction, theta = _fits(s, powers, A, V, RV, level)

    # Every fit is f(x) = F(x) w + U(x) theta, w = F^T alpha + correction.
    predicted = _apply(problem.test_F, _apply(F.T, alpha) + correction)
    predicted += problem.test_kappa.T[:, :, None] ** orders @ theta
    objective = float(s.ridges) * (V[:, None, :, 0] @ alpha)[:, 0]
    test = np.mean((problem.clean.T[:, :, None] - predicted) ** 2, axis=1) + s.noise**2
    both = np.stack([objective, test], axis=1)
    gain = both[:, :, :1] - both[:, :, 1:]
    return [
        Sample(spike, readout, base, gain_i[:, :level], gain_i[:, level:])
        for spike, readout, base, gain_i in zip(
            problem.spikes, problem.readouts.T, both[:, :, 0], gain, strict=True
        )
    ]


def _apply(matrix: np.ndarray | Callable[[np.ndarray], np.ndarray], columns: np.ndarray) -> np.ndarray:
    """One product for the columns of every direction, shape (directions, rows, columns)."""
    count, rows, width = columns.shape
    flat = columns.transpose(1, 0, 2).reshape(rows, count * width)
    result = matrix(flat) if callable(matrix) else matrix @ flat
    return result.reshape(-1, count, width).transpose(1, 0, 2)


def _fits(
    s: Setting, powers: np.ndarray, A: np.ndarray, V: np.ndarray, RV: np.ndarray, level: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Dual solutions, corrections of w, and theta: for step 0, the infinite spikes 1, ..., l, every step."""
    c = s.activation.coefficients(level)
    orders = np.arange(1, level + 1)
    columns = [(RV[:, :, 0], np.zeros(A.shape[:2]), np.zeros((powers.size, level)))]
    for top in orders:
        columns.append(_infinite(A, V, RV, np.flatnonzero(np.abs(c[1 : top + 1]) > 1e-12), level))
    for step in s.steps:
        sizes = c[1:] * (c[1] * step * np.sqrt(powers[:, None] / s.N)) ** orders * np.sqrt(s.N)
        columns.append(_finite(A, V, RV, sizes, level))
    alpha, correction, theta = (np.stack(parts, axis=2) for parts in zip(*columns, strict=True))
    return alpha, correction, theta


def _solve(matrix: np.ndarray, vector: np.ndarray) -> np.ndarray:
    return np.linalg.solve(matrix, vector[..., None])[..., 0]


def _times(matrix: np.ndarray, vector: np.ndarray) -> np.ndarray:
    return (matrix @ vector[..., None])[..., 0]


def _infinite(
    A: np.ndarray, V: np.ndarray, RV: np.ndarray, keep: np.ndarray, level: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The limit: theta free of penalty, and w orthogonal to the a^k."""
    picked = np.concatenate([1 + keep, 1 + level + keep])
    both, Rboth, A = V[:, :, picked], RV[:, :, picked], A[:, :, keep]
    saddle = both.mT @ Rboth
    saddle[:, keep.size :, keep.size :] -= A.mT @ A
    solution = _solve(saddle, _times(both.mT, RV[:, :, 0]))
    theta = np.zeros((len(V), level))
    theta[:, keep] = solution[:, : keep.size]
    # w = (1 - A S^{-1} A^T) F^T alpha, and S^{-1} B^T alpha is minus the second half of the solution.
    return RV[:, :, 0] - _times(Rboth, solution), _times(A, solution[:, keep.size :]), theta


def _finite(
    A: np.ndarray, V: np.ndarray, RV: np.ndarray, sizes: np.ndarray, level: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """F_l = F_0 + U A^T by Woodbury: its part A U^T alpha of w acts on F_0 too."""
    A = A * sizes[:, None, :]
    scale = np.hstack([np.ones_like(sizes), sizes])[:, None, :]
    both, Rboth = V[:, :, 1:] * scale, RV[:, :, 1:] * scale
    capacitance = both.mT @ Rboth
    capacitance[:, level:, level:] -= A.mT @ A
    for k in range(level):
        capacitance[:, k, level + k] += 1.0
        capacitance[:, level + k, k] += 1.0
    alpha = RV[:, :, 0] - _times(Rboth, _solve(capacitance, _times(both.mT, RV[:, :, 0])))
    correction = _times(A, _times(both[:, :, :level].mT, alpha))
    return alpha, correction, _times(both[:, :, level:].mT, alpha) + _times(A.mT, correction)
