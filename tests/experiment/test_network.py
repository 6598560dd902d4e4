"""The network and its gradient: finite differences, automatic differentiation, moments at initialisation."""

import autograd
import autograd.numpy as anp
import autograd.scipy.special
import numpy as np
import pytest

from onestep_lib import Setting
from onestep_lib.activations import ACTIVATIONS, activation
from onestep_lib.experiment import feature_matrix, first_layer_gradient, initial_network
from onestep_lib.experiment.network import Network
from onestep_lib.settings import OUTPUTS

SETTING = Setting(n=13, d=5, N=7, activation="tanh", target=(0, 1, 0.5), noise=0.3)
SMOOTH = {"tanh": anp.tanh, "erf": autograd.scipy.special.erf, "sin": anp.sin, "he2": lambda x: x**2 - 1}


def batch(seed=0, sigma="tanh", readout="gaussian"):
    rng = np.random.default_rng(seed)
    network = initial_network(SETTING.replace(activation=sigma, readout=readout), rng)
    return network, rng.standard_normal((13, 5)), rng.standard_normal(13)


def loss(weights, network, X, y, output, sigma):
    """The function of W whose negative gradient at the network's own weights is the library's G.

    raw: |y - f|^2/(2n).  scaled: sqrt(N) |y - f/sqrt(N)|^2/(2n), the factor sqrt(N) undoing the slope's
    1/sqrt(N).  centred: |y - (f - f_0)|^2/(2n), f_0 the output at initialisation, a constant.
    """
    f = anp.dot(sigma(anp.dot(X, weights.T)), network.readout)
    n, N = y.size, network.readout.size
    if output == "raw":
        return anp.sum((y - f) ** 2) / (2 * n)
    if output == "scaled":
        return np.sqrt(N) * anp.sum((y - f / np.sqrt(N)) ** 2) / (2 * n)
    start = np.dot(network.activation(X @ network.weights.T), network.readout)
    return anp.sum((y - (f - start)) ** 2) / (2 * n)


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("name", SMOOTH)
def test_gradient_against_automatic_differentiation(name, output, deviation):
    network, X, y = batch(sigma=name)
    exact = autograd.grad(loss)(network.weights, network, X, y, output, SMOOTH[name])
    found, route = first_layer_gradient(network, X, y, output), "automatic differentiation"
    np.testing.assert_allclose(found, -exact, rtol=1e-11, atol=1e-15)
    deviation("network.first_layer_gradient", route, found, -exact, scale=1e-4)


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("name", [name for name, entry in ACTIVATIONS.items() if entry.derivative])
def test_gradient_against_finite_differences(name, output, deviation):
    """Every named activation, kinked ones included: no pre-activation of this batch is near a kink."""
    network, X, y = batch(seed=1, sigma=name)
    assert np.abs(X @ network.weights.T).min() > 1e-3
    sigma, h = activation(name), 1e-5
    G = first_layer_gradient(network, X, y, output)
    numeric = np.empty_like(G)
    for j, k in np.ndindex(G.shape):
        move = np.zeros_like(G)
        move[j, k] = h
        up, down = (loss(network.weights + s * move, network, X, y, output, sigma) for s in (1, -1))
        numeric[j, k] = -(up - down) / (2 * h)
    np.testing.assert_allclose(G, numeric, rtol=1e-6, atol=1e-8)
    deviation("network.first_layer_gradient", "central differences", G, numeric, scale=1e-2)


def test_gradient_of_a_callable_uses_a_numerical_slope():
    network, X, y = batch()
    other = Network(network.weights, network.readout, activation(lambda x: np.tanh(x)))
    np.testing.assert_allclose(
        first_layer_gradient(other, X, y), first_layer_gradient(network, X, y), rtol=1e-8, atol=1e-12
    )


def test_inputs_are_left_alone():
    network, X, y = batch()
    copies = network.weights.copy(), X.copy(), y.copy()
    first_layer_gradient(network, X, y, "raw")
    feature_matrix(network.weights, X, network.activation)
    for before, now in zip(copies, (network.weights, X, y), strict=True):
        np.testing.assert_array_equal(before, now)


def test_gaussian_network_at_initialisation():
    """Means and variances of 10^6 weights within four standard errors."""
    network = initial_network(Setting(n=1, d=500, N=2000), np.random.default_rng(5))
    scaled = network.weights * np.sqrt(500)
    assert abs(scaled.mean()) < 4 / 1000
    assert abs(scaled.var() - 1) < 4 * np.sqrt(2) / 1000
    assert abs(np.mean(scaled**4) - 3) < 4 * np.sqrt(96) / 1000
    assert abs(network.readout @ network.readout - 1) < 4 * np.sqrt(2 / 2000)
    assert abs(network.readout.sum()) < 4


def test_spherical_rows_and_sign_readout():
    setting = Setting(n=1, d=40, N=3000, rows="spherical", readout="signs")
    network = initial_network(setting, np.random.default_rng(6))
    np.testing.assert_allclose(np.linalg.norm(network.weights, axis=1), 1, rtol=1e-14)
    second = network.weights.T @ network.weights / 3000  # E w w^T = I/d
    assert np.abs(second * 40 - np.eye(40)).max() < 6 * np.sqrt(2 / 3000)
    assert set(np.unique(network.readout * np.sqrt(3000)).round(12)) == {-1.0, 1.0}
    assert network.readout @ network.readout == pytest.approx(1, rel=1e-12)
    assert abs(np.sign(network.readout).sum()) < 4 * np.sqrt(3000)


def test_rows_and_readout_are_independent_of_each_others_kind():
    """The same Generator gives the same directions of the rows, whatever their norm."""
    networks = [
        initial_network(SETTING.replace(rows=rows), np.random.default_rng(7))
        for rows in ("gaussian", "spherical")
    ]
    norms = np.linalg.norm(networks[0].weights, axis=1, keepdims=True)
    np.testing.assert_allclose(networks[0].weights / norms, networks[1].weights, rtol=1e-14)


def test_a_jump_has_no_gradient():
    network, X, y = batch(sigma="sign")
    with pytest.raises(
        ValueError, match="activation must have a derivative to take a gradient step, got 'sign'"
    ):
        first_layer_gradient(network, X, y)
