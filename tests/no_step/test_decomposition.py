"""Parts of the error: crossed simulation, limits, other derivations of the averages, sums."""

import numpy as np
import pytest

from onestep_lib import Setting
from onestep_lib.experiment import (
    feature_matrix,
    initial_network,
    ridge_path,
    sample_batch,
    sample_direction,
    sample_inputs,
)
from onestep_lib.no_step import error_parts, marchenko_pastur_means, resolvent_traces, ridge_losses

NAMES = ("bias", "weights", "data", "both")


def points(count, seed=0):
    rng = np.random.default_rng(seed)
    ratios, ridge, powers = (
        10 ** rng.uniform(*range_, (size, count))
        for range_, size in (((-2, 2), 2), ((-8, 3), 1), ((-4, 1), 4))
    )
    return *ratios, ridge[0], *powers


def test_the_parts_add_up_to_the_test_loss(deviation):
    at = points(5000)
    parts, test = error_parts(*at), ridge_losses(*at).test
    np.testing.assert_allclose(parts.test, test, rtol=1e-13)
    deviation("decomposition.error_parts", "sum of the parts, against the test loss", parts.test, test)
    for name in NAMES:
        assert np.min(getattr(parts, name)) > 0


def test_the_four_averages_from_the_traces(deviation):
    """L(1, infinity) and the bias are ratios of the traces m_1, m_2 and their derivatives."""
    *ratios, ridge, a, b, linear, other = points(2000, seed=1)
    parts = error_parts(*ratios, ridge, a, b, linear, other)
    traces = resolvent_traces(*ratios, ridge, a, b)
    missed = linear * (traces.m2 / traces.m1) ** 2
    np.testing.assert_allclose(parts.bias, missed, rtol=1e-12)
    one_network = linear * traces.dm2 / traces.dm1 + other
    np.testing.assert_allclose(parts.averaged(1, np.inf), one_network, rtol=1e-12)
    route = "ratios of the traces and of their derivatives"
    deviation("decomposition.error_parts", route, parts.averaged(1, np.inf), one_network)


def test_one_network_averaged_over_data_is_ridge_on_the_population(deviation):
    """Over data sets, features of covariance c_1^2 W W^T + c_{>1}^2 are fitted with the penalty 1/tr R."""
    phi, psi, ridge, a, b, linear, other = points(300, seed=2)
    penalty = phi / psi / resolvent_traces(phi, psi, ridge, a, b).m1
    u, width = b + penalty, 1 / psi
    means = marchenko_pastur_means(a / u, width)  # of an eigenvalue t of W W^T
    seen, squared = a * width * means.g / u, a * penalty * width * means.g2 / u**2
    parts = error_parts(phi, psi, ridge, a, b, linear, other)
    np.testing.assert_allclose(parts.bias, linear * (1 - seen) ** 2, rtol=1e-9, atol=1e-12)
    expected = linear * (1 - seen - squared) + other
    np.testing.assert_allclose(parts.averaged(1, np.inf), expected, rtol=1e-11)
    route = "ridge on the population of features"
    deviation("decomposition.error_parts", route, parts.averaged(1, np.inf), expected)


def test_the_average_of_networks_is_the_kernel_with_penalty_mu(deviation):
    """An infinitely wide network whose own mu is the same has the test loss of the average."""
    phi, psi, ridge, a, b, linear, other = points(300, seed=3)
    mu = resolvent_traces(phi, psi, ridge, a, b).mu
    wide = 1e-9 * np.minimum(1, mu)
    kernel = ridge_losses(phi, phi * wide, mu / wide, a, b, linear, other).test
    found = error_parts(phi, psi, ridge, a, b, linear, other).averaged(np.inf, 1)
    np.testing.assert_allclose(found, kernel, rtol=1e-5)
    deviation("decomposition.error_parts", "kernel regression, N/n = 1e9", found, kernel)


def crossed(setting, rng, count=6, test_size=1500):
    """Losses of averages in one crossed draw: (1, 1), (infinity, 1), (1, infinity), (infinity, infinity).

    The squared mean over infinitely many is the mean product of two different ones.
    """
    direction = sample_direction(setting.d, rng)
    networks = [initial_network(setting, rng).weights for _ in range(count)]
    batches = [sample_batch(setting, setting.n, direction, rng) for _ in range(count)]
    X = sample_inputs(setting, test_size, rng)
    clean, sigma = setting.target(X @ direction), setting.activation
    error = np.empty((count, count, test_size))
    for i, W in enumerate(networks):
        new = feature_matrix(W, X, sigma)
        for j, (X_j, y_j) in enumerate(batches):
            fit = ridge_path(feature_matrix(W, X_j, sigma), y_j, setting.ridge)
            error[i, j] = clean - new @ fit.coefficients
    products = np.einsum("ijt,klt->ijkl", error, error) / test_size + setting.noise**2
    i, j, k, m = np.ogrid[:count, :count, :count, :count]
    kinds = ((i == k) & (j == m), (i != k) & (j == m), (i == k) & (j != m), (i != k) & (j != m))
    return [products[np.broadcast_to(kind, products.shape)].mean() for kind in kinds]


@pytest.mark.parametrize(
    ("width", "ridge"), [(96, 0.01), (160, 0.01), pytest.param(400, 0.003, marks=pytest.mark.slow)]
)
def test_crossed_draws_of_networks_and_data(width, ridge, deviation):
    setting = Setting(n=160, d=96, N=width, target=(0, 1, 0.5), noise=0.5, ridge=ridge)
    draws = np.array([crossed(setting, child) for child in np.random.default_rng(width).spawn(24)])
    mean, se = draws.mean(axis=0), draws.std(axis=0, ddof=1) / np.sqrt(len(draws))
    sigma = setting.activation
    parts = error_parts(setting.phi, setting.psi, ridge, sigma.c1**2, sigma.nonlinear_power, 1.0, 0.75)
    averages = ((1, 1), (np.inf, 1), (1, np.inf), (np.inf, np.inf))
    theory = np.array([parts.averaged(*pair) for pair in averages])
    print(theory.round(3), mean.round(3), ((mean - theory) / se).round(1))
    deviation("decomposition.error_parts", "networks crossed with data sets, n = 160", theory, mean, se)
    assert np.all(np.abs(mean - theory) < 4 * se)


def test_only_the_interaction_peaks():
    width = np.geomspace(0.25, 4, 201)
    parts = error_parts(0.6, 0.6 / width, 1e-8, 0.37, 0.03, 1.0, 0.5)
    assert parts.both.max() > 100
    assert width[np.argmax(parts.both)] == pytest.approx(1, abs=0.01)
    for name in ("bias", "weights", "data"):
        assert getattr(parts, name).max() < 1


def test_label_noise_is_never_the_variance_of_the_weights_alone():
    noise = error_parts(0.6, 0.75, 0.1, 0.37, 0.03, 0.0, 1.0)
    assert noise.weights == noise.bias == 0
    assert noise.data > 0
    assert noise.both > 0


def test_the_parts_broadcast_and_so_do_averages():
    parts = error_parts(0.6, np.array([[0.3], [0.6]]), [0.1, 1.0, 2.0], 0.37, 0.03, 1.0, 0.5)
    assert all(getattr(parts, name).shape == (2, 3) for name in (*NAMES, "out_of_reach", "test"))
    assert parts.averaged(np.ones((5, 1, 1)), 2).shape == (5, 2, 3)
