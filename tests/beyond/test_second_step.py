"""The second gradient: its limits beside simulations, and where they are known otherwise."""

import numpy as np
import pytest

from onestep_lib import Setting
from onestep_lib.beyond import sample_weight, second_gradient, second_step
from onestep_lib.experiment import (
    first_layer_gradient,
    gradient_direction,
    gradient_step,
    initial_network,
    sample_batch,
    sample_direction,
)
from onestep_lib.hermite import hermite
from onestep_lib.quadrature import gaussian_mean
from onestep_lib.small_step import gradient_spike, second_direction


def without_line(z):
    """sin 2z less its linear part: 2 exp(-2) is E[z sin 2z]."""
    return np.sin(2 * z) - 2 * np.exp(-2) * z


SMALL = Setting(n=600, d=300, N=1200, output="scaled", target=without_line, step=0.7 * 1200**0.5)


def one_step_taken(setting, batch, rng):
    """Networks before and after a step, the two directions, and the batch of the second step."""
    network, direction = initial_network(setting, rng), sample_direction(setting.d, rng)
    X, y = sample_batch(setting, setting.n, direction, rng)
    b = gradient_direction(network, X, y, setting.output)
    stepped = gradient_step(network, X, y, setting.step, setting.output)
    if batch == "fresh":
        X, y = sample_batch(setting, setting.n, direction, rng)
    return network, stepped, direction, b, X, y


def measured(setting, orders, batch, rng):
    """<h_k, beta_*>, <h_k, b> and |h_k|^2 of one draw, the last between the halves of the neurons."""
    network, stepped, direction, b, X, y = one_step_taken(setting, batch, rng)
    gradient = first_layer_gradient(stepped, X, y, setting.output)
    polynomials = hermite(max(orders), np.sqrt(setting.N) * network.readout)[list(orders)]
    # Noise of single neurons adds 1/N to |h|^2, and nothing to the product of two halves.
    halves = [2 * polynomials[:, k::2] @ gradient[k::2] / np.sqrt(setting.N) for k in (0, 1)]
    h = sum(halves) / 2
    return np.stack([h @ direction, h @ b, np.sum(halves[0] * halves[1], axis=1)], axis=1)


CASES = [
    ("no linear part", SMALL, (1, 3)),
    ("a linear part", SMALL.replace(target=(0, 0.7, 0, 0.3), noise=0.3), (1, 3)),
    ("softplus", SMALL.replace(activation="softplus", target=(0, 0, 0.5, 0.3)), (1, 2)),
]


@pytest.mark.parametrize("batch", ["same", "fresh"])
@pytest.mark.parametrize(("setting", "orders"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_simulation(setting, orders, batch, deviation):
    draws = np.array([measured(setting, orders, batch, rng) for rng in np.random.default_rng(3).spawn(24)])
    limits = [second_gradient(setting, order, batch) for order in orders]
    theory = np.array([[one.target, one.direction, one.power] for one in limits])
    error = draws.std(axis=0, ddof=1) / np.sqrt(len(draws))
    z = (draws.mean(axis=0) - theory) / error
    print(f"{batch}: {draws.mean(axis=0).round(4)}, theory {theory.round(4)}, z {z.round(2)}")
    deviation("second_step.second_gradient", f"n = 600, 24 draws, {batch} batch", z, 0, 1)
    assert np.all(np.abs(z) < 3.5)
    assert np.sqrt(np.mean(z**2)) < 1.6


def test_the_theory_sees_the_memory():
    """Without it the reused batch would be the fresh one: the simulation above tells them apart."""
    same, fresh = (second_gradient(SMALL, 3, batch) for batch in ("same", "fresh"))
    assert same.overlap > 0.05
    assert fresh.overlap < 1e-20


def test_a_linear_network_is_the_known_second_direction(deviation):
    s = SMALL.replace(activation="identity", target=(0, 1, 0.5), noise=0.4)
    first, limit = gradient_spike(s), second_gradient(s)
    known = second_direction(s.replace(output="centred", step=s.step / np.sqrt(s.N)))
    found = limit.direction / first.power, limit.target / s.target.linear
    expected = known.direction, known.target
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    deviation("second_step.second_gradient", "linear network: second_direction", found, expected)


def cube_of_the_labels(s, rate, order):
    """What a small step makes of y^3, for tanh."""
    slope = np.polynomial.polynomial.Polynomial([1, 0, -1])  # tanh' = 1 - t^2 as a polynomial in t
    third = slope * (slope * slope.deriv()).deriv()
    shape = gaussian_mean(lambda z: (third * slope**2)(np.tanh(z)))
    labels = gaussian_mean(lambda z: s.target(z) ** 3 * z)
    weight = {1: 3, 3: 6}[order]  # E[zeta^3 He_k(zeta)]
    return rate**2 * s.phi**2 / 2 * weight * shape * labels


@pytest.mark.parametrize("order", [1, 3])
def test_small_steps_see_the_cube_of_the_labels(order, deviation):
    s = SMALL.replace(step=0.01 * SMALL.N**0.5)
    expected = cube_of_the_labels(s, 0.01, order)
    found = second_gradient(s, order).target
    np.testing.assert_allclose(found, expected, rtol=0.03)
    deviation("second_step.second_gradient", "small steps", found, expected)


def test_the_cube_alone_is_too_large():
    """By how much, on the page of results: for n = 2d and 0.4 He_3, in per cent."""
    s, off = SMALL.replace(target=(0, 0, 0, 0.4)), {}
    for rate in (0.01, 0.05):
        stepped = s.replace(step=rate * s.N**0.5)
        pairs = [(cube_of_the_labels(s, rate, k), second_gradient(stepped, k).target) for k in (1, 3)]
        off[rate] = [round(100 * (cube / found - 1)) for cube, found in pairs]
    assert off == {0.01: [2, 4], 0.05: [33, 62]}


def test_more_nodes_change_little(monkeypatch, deviation):
    s = SMALL.replace(step=SMALL.N**0.5)
    found = second_gradient(s, 3)
    monkeypatch.setattr(second_step, "_INNER", (72, 90, 12))
    monkeypatch.setattr(second_step, "_OUTER", (96, 28, 16))
    finer = second_gradient(s, 3)
    pairs = [(getattr(found, name), getattr(finer, name)) for name in ("target", "direction", "power")]
    np.testing.assert_allclose(*zip(*pairs, strict=True), rtol=1e-2)
    deviation("second_step.second_gradient", "twice the nodes", *zip(*pairs, strict=True))


def test_scatter_of_the_null_control(deviation):
    s = SMALL.replace(n=300, d=150, N=600, step=0.7 * 600**0.5)
    draws = np.array([measured(s, (1,), "fresh", rng)[0, 0] for rng in np.random.default_rng(5).spawn(200)])
    found, expected = s.n * draws.var(ddof=1), second_gradient(s, 1, "fresh").scatter
    print(f"{found:.3f}, theory {expected:.3f}")
    deviation("second_step.second_gradient", "scatter, fresh batch, n = 300", found, expected)
    # A variance of 200 draws has a standard error of a tenth.
    np.testing.assert_allclose(found, expected, rtol=0.3)


@pytest.mark.parametrize("batch", ["same", "fresh"])
def test_the_weight_of_a_sample_is_the_mean_over_networks(batch):
    """A network's weights, against omega at the t and y that its own first step gave the samples."""
    rng, slopes = np.random.default_rng(3), []
    for _ in range(20):
        network, stepped, _, b, X, y = one_step_taken(SMALL, batch, rng)
        own = np.sum(X**2, axis=1) * y / SMALL.n if batch == "same" else 0
        z = X @ stepped.weights.T
        residual = y - SMALL.activation(z) @ network.readout / np.sqrt(SMALL.N)
        found = residual * (SMALL.activation.require_slope()(z) @ network.readout**2)
        omega = sample_weight(SMALL, X @ b - own, y, 1, batch)
        slopes.append((found @ omega) / (omega @ omega))
    mean, error = np.mean(slopes), np.std(slopes, ddof=1) / np.sqrt(20)
    print(f"{batch}: slope {mean:.3f} ± {error:.3f}")
    assert abs(mean - 1) < 3 * error


def test_the_samples_of_a_weight_must_be_pairs():
    with pytest.raises(ValueError, match="t and y must have one shape"):
        sample_weight(SMALL, np.zeros(2), np.zeros(3))
