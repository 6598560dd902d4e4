"""The translations of the notation page: each paper's experiment, written in its own numbers."""

import numpy as np
import pytest

from onestep_lib import Setting
from onestep_lib.experiment import (
    feature_matrix,
    gradient_step,
    initial_network,
    ridge_path,
    sample_batch,
    sample_direction,
)

S = Setting(n=120, d=40, N=60, activation="tanh", target=(0, 1, 0.5), noise=0.4, ridge=0.3, output="scaled")
STEP = 0.7
# The paper's penalty and training loss, from ours and from its own problem: scale of F, factor of the square.
PENALTIES = {"moniri": S.ridge, "cui": S.ridge * S.n / S.N, "ba": S.ridge, "mei": S.ridge * S.d / S.N}
PROBLEMS = {
    "moniri": (1.0, 1 / S.n, 1.0), "cui": (S.N**-0.5, 1.0, 1.0), "ba": (S.N**-0.5, 1 / S.n, 1 / S.N),
    "mei": (1.0, 1 / S.n, S.N / S.d),
}  # fmt: skip


def drawn():
    rng = np.random.default_rng(7)
    X, y = sample_batch(S, S.n, sample_direction(S.d, rng), rng)
    return initial_network(S, rng), X, y


@pytest.mark.parametrize("paper", PROBLEMS)
def test_the_second_layer_written_as_in_the_paper(paper):
    network, X, y = drawn()
    F = feature_matrix(network.weights, X, S.activation)
    scale, square, penalty = PROBLEMS[paper]
    phi = scale * F
    theirs = np.linalg.solve(
        square * phi.T @ phi + penalty * PENALTIES[paper] * np.eye(S.N), square * phi.T @ y
    )
    np.testing.assert_allclose(scale * theirs, ridge_path(F, y, S.ridge).coefficients, atol=1e-11)


def test_the_first_layer_step_written_as_in_the_paper():
    """Of [C] and [B]: eta sqrt(N) times minus the gradient; [B] keeps the sqrt(N) apart from its eta."""
    network, X, y = drawn()

    def loss(W):
        return np.sum((y - np.tanh(X @ W.T) @ network.readout / np.sqrt(S.N)) ** 2) / (2 * S.n)

    W = network.weights
    gradient = np.empty_like(W)
    for index in np.ndindex(*W.shape):
        h = np.zeros_like(W)
        h[index] = 1e-5
        gradient[index] = (loss(W + h) - loss(W - h)) / 2e-5
    found = gradient_step(network, X, y, STEP, "scaled").weights
    np.testing.assert_allclose(found, W - STEP * np.sqrt(S.N) * gradient, atol=1e-8)
