r"""The widening as a proposition: each step of its proof, on networks that the test draws.

With :math:`M(\rho)=\mathbb E\sigma(\sqrt\rho Z)`, :math:`u=s\circ s/|s\circ s|`,

.. math:: |F-F_2|\ge n^{-1/2}|\mathbf 1^\top(F-F_2)u|=\sqrt n|\Delta|+\dots,\qquad
          \Delta=\sum_ju_j[M(|w_j|^2)-M(|w_j^0|^2)-c_2s_j^2]\simeq c_2q\,|s\circ s| .
"""

import numpy as np
import pytest
from scipy.sparse.linalg import svds

from onestep_lib import Setting
from onestep_lib.experiment import gradient_step, initial_network, sample_batch, sample_direction
from onestep_lib.small_step import exact_spike

SIZES = (500, 1000, 2000)


def mean_output(lengths):
    """M for relu."""
    return np.sqrt(lengths / (2 * np.pi))


def made(n):
    return Setting(n, n // 2, n // 2, "relu", (0, 1), noise=0.5, step=n**0.3)


def drawn(setting, rng):
    """The network's F - F_2, the spikes s, squared lengths before and after, and features of the step."""
    beta = sample_direction(setting.d, rng)
    network = initial_network(setting, rng)
    X, y = sample_batch(setting, setting.n, beta, rng)
    b = X.T @ y / setting.n
    size = np.linalg.norm(b)
    stepped = gradient_step(network, X, y, setting.step).weights
    fresh = rng.standard_normal((setting.n, setting.d))
    kappa, sigma = fresh @ b / size, setting.activation
    s = setting.step * sigma.c1 * size * network.readout
    features = sigma(fresh @ stepped.T)
    missed = features - sigma(fresh @ network.weights.T)
    missed -= sigma.c1 * np.outer(kappa, s) + sigma.c2 * np.outer(kappa**2, s**2)
    return missed, s, np.sum(network.weights**2, axis=1), np.sum(stepped**2, axis=1), features


@pytest.mark.parametrize("n", SIZES)
def test_each_step_of_the_proof(n):
    setting = made(n)
    c_2, q = setting.activation.c2, exact_spike(setting).widening
    missed, s, before, after, features = drawn(setting, np.random.default_rng(n))
    u = s**2 / np.linalg.norm(s**2)
    # The mean output of a neuron is a function of its length alone.
    errors = (features.mean(axis=0) - mean_output(after)) / (features.std(axis=0) / np.sqrt(n))
    assert abs(np.mean(errors**2) - 1) < 0.2
    # So is the projection: exactly in the mean, with a fluctuation that the proof bounds by |s|.
    delta = u @ (mean_output(after) - mean_output(before) - c_2 * s**2)
    projection = missed.sum(axis=0) @ u / n
    assert abs(projection - delta) < 3 * np.linalg.norm(s) * np.sqrt((1 + q) / n)
    # The lengths follow the law of large numbers.
    law = u @ (mean_output(1 + (1 + q) * s**2) - mean_output(1) - c_2 * s**2)
    assert abs(delta / law - 1) < 0.25
    # The bound.
    norm = svds(missed, k=1, return_singular_vectors=False)[0] / np.sqrt(n)
    print(n, delta, projection, law, c_2 * q * np.linalg.norm(s**2), norm)
    assert norm > abs(projection)
    assert projection > 0.5 * c_2 * q * np.linalg.norm(s**2)
