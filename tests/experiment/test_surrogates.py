"""Feature maps: the network's own and its Gaussian equivalent."""

import numpy as np
import pytest

from onestep_lib import Setting
from onestep_lib.experiment import (
    feature_matrix,
    gaussian_equivalent_features,
    initial_network,
    network_features,
    sample_inputs,
)


def draw(activation, n=3000, d=40, N=60):
    setting = Setting(n=n, d=d, N=N, activation=activation, rows="spherical")
    rng = np.random.default_rng(1)
    return initial_network(setting, rng), sample_inputs(setting, n, rng), rng


def test_network_features_use_no_randomness():
    network, X, rng = draw("tanh", n=20)
    before = rng.bit_generator.state
    F = network_features(network, X, rng)
    np.testing.assert_array_equal(F, feature_matrix(network.weights, X, network.activation))
    assert rng.bit_generator.state == before


@pytest.mark.parametrize("activation", ["tanh", "relu", "he2", "centred softplus"])
def test_equivalent_features_have_the_moments_of_the_activation(activation):
    """Mean, linear part and total power of each entry; for unit rows these are c_0, c_1, E sigma^2."""
    network, X, rng = draw(activation)
    sigma = network.activation
    F = gaussian_equivalent_features(network, X, rng)
    rest = F - sigma.c0 - sigma.c1 * (X @ network.weights.T)
    error = 4.5 / np.sqrt(rest.size)
    assert abs(rest.mean()) < error * np.sqrt(sigma.nonlinear_power)
    assert np.mean(rest**2) == pytest.approx(sigma.nonlinear_power, rel=np.sqrt(2) * error)
    assert np.mean(F**2) == pytest.approx(sigma.second_moment, rel=0.05)
    correlations = np.corrcoef(rest, rowvar=False) - np.eye(60)
    assert np.abs(correlations).max() < 6 / np.sqrt(3000)


def test_equivalent_features_are_fresh_noise_each_time():
    network, X, rng = draw("tanh", n=20)
    first, second = (gaussian_equivalent_features(network, X, rng) for _ in range(2))
    assert np.abs(first - second).max() > 0.1
    again = gaussian_equivalent_features(network, X, np.random.default_rng(5))
    np.testing.assert_array_equal(again, gaussian_equivalent_features(network, X, np.random.default_rng(5)))


def test_a_linear_activation_is_its_own_equivalent():
    network, X, rng = draw("identity", n=20)
    np.testing.assert_allclose(
        gaussian_equivalent_features(network, X, rng),
        network_features(network, X, rng),
        rtol=1e-12,
        atol=1e-14,
    )
