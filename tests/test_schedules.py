"""Schedules: what they accept, the steps they take, and gradient flow as the limit of many small ones."""

import numpy as np
import pytest
from scipy.linalg import expm

from onestep_lib import Setting, one_step, simulate
from onestep_lib.activations import activation
from onestep_lib.experiment import (
    gradient_step,
    initial_network,
    network_features,
    sample_batch,
    spike_features,
    target_directions,
)
from onestep_lib.experiment.network import Network, scheduled_steps
from onestep_lib.experiment.simulation import Draws
from onestep_lib.large_step.one_curve import nearest_setting
from onestep_lib.schedules import Schedule

SMALL = Setting(n=40, d=20, N=30, target=(0, 1, 0.5), noise=0.3, step=[0.0, 2.0])


def rng(seed=0):
    return np.random.default_rng(seed)


def test_fields():
    assert Schedule([1, 2]) == Schedule((1.0, 2.0), "same", None)
    assert Schedule([1, 2], samples=30).samples == (30, 30)
    assert Schedule([1, 2], samples=[30, 40]).sizes(50) == (30, 40)
    assert Schedule([1, 2]).sizes(50) == (50, 50)
    assert Schedule.equal(8).total == pytest.approx(1)
    np.testing.assert_allclose(SMALL.replace(updates=Schedule([0.5, 0.2])).total_steps, [0, 1.4])
    np.testing.assert_allclose(SMALL.replace(updates=3).total_steps, [0, 6])
    assert nearest_setting(SMALL.replace(updates=Schedule([0.5, 0.2]))).step == (0.0, 1.4)


def test_settings_refuse_what_does_not_fit():
    with pytest.raises(ValueError, match="updates must take their steps on the first samples of the ridge"):
        SMALL.replace(fresh=False, updates=Schedule([1, 1], "fresh"))
    with pytest.raises(ValueError, match="updates must take their steps"):
        SMALL.replace(fresh=False, updates=Schedule([1, 1], samples=41))
    SMALL.replace(fresh=False, updates=Schedule([1, 1], samples=[40, 20]))
    several = SMALL.replace(updates=Schedule([1, 1]))
    with pytest.raises(ValueError, match="fresh must be True and updates 1 for a theory with a step"):
        one_step(several)
    with pytest.raises(ValueError, match="updates must be 1 for features that describe"):
        simulate(several, rng(), repeats=2, feature_map=spike_features(1))


def test_a_whole_number_of_updates_is_a_schedule():
    for fresh in (True, False):
        s = SMALL.replace(fresh=fresh)
        number = simulate(s.replace(updates=3), rng(), repeats=2, test_size=50)
        schedule = simulate(s.replace(updates=Schedule([1, 1, 1])), rng(), repeats=2, test_size=50)
        np.testing.assert_array_equal(number.draws, schedule.draws)
    one = simulate(SMALL, rng(), repeats=2, test_size=50)
    np.testing.assert_array_equal(
        one.draws, simulate(SMALL.replace(updates=Schedule([1])), rng(), repeats=2, test_size=50).draws
    )


@pytest.mark.parametrize("output", ["centred", "scaled", "raw"])
def test_steps_by_hand(output):
    """The first step is that of the one-step network; the second sees its own batch and the moved output."""
    s = SMALL.replace(updates=Schedule([1, 0.5], "fresh", [40, 25]), output=output, step=2.0)
    (found,) = Draws(s, rng(3)).networks()
    (first,) = Draws(s.replace(updates=1), rng(3)).networks()
    streams = rng(3).spawn(6)
    direction = target_directions(s, streams[0])
    start = initial_network(s, streams[1])
    X, y = sample_batch(s, 25, direction, streams[2].spawn(1)[0])
    if output == "centred":
        y = y - (s.activation(X @ first.weights.T) - s.activation(X @ start.weights.T)) @ start.readout
    by_hand = gradient_step(Network(first.weights, start.readout, s.activation), X, y, 1.0, output)
    np.testing.assert_allclose(found.weights, by_hand.weights, rtol=1e-10)


def _problem(n=30, d=4, N=6, kind="tanh"):
    generator = rng(5)
    X, y = generator.standard_normal((n, d)), generator.standard_normal(n)
    return (
        Network(generator.standard_normal((N, d)), generator.standard_normal(N) / 2, activation(kind)),
        X,
        y,
    )


def test_many_small_steps_are_gradient_flow_for_a_linear_network(deviation):
    """v = W^T a obeys dv/dt = |a|^2 X^T (y - X v)/n, whose solution is an exponential."""
    network, X, y = _problem(kind="identity")
    total, power = 1.5, network.readout @ network.readout
    A, b = power * X.T @ X / len(y), power * X.T @ y / len(y)
    start = network.weights.T @ network.readout
    rest = np.linalg.solve(A, b)
    exact = rest + expm(-total * A) @ (start - rest)
    gaps = []
    for count in (50, 100, 200):
        moved = scheduled_steps(network, [(X, y)] * count, [total / count] * count, "raw")
        gaps.append(np.linalg.norm(moved.weights.T @ network.readout - exact))
    print("gaps", gaps)
    ratios = np.array(gaps[:-1]) / gaps[1:]
    np.testing.assert_allclose(ratios, 2, rtol=0.05)
    # Richardson's extrapolation leaves an error of order 1/k^2.
    finer = [
        scheduled_steps(network, [(X, y)] * k, [total / k] * k, "raw").weights.T @ network.readout
        for k in (100, 200)
    ]
    np.testing.assert_allclose(2 * finer[1] - finer[0], exact, atol=5e-4)
    deviation(
        "network.scheduled_steps", "gradient flow, extrapolated", 2 * finer[1] - finer[0], exact, scale=1
    )


def test_fresh_batches_remember_nothing():
    """Steps so small that the network stays: k fresh batches of n are one batch of k n."""
    s = SMALL.replace(step=1e-3, d=6, output="centred")
    many = Draws(s.replace(updates=Schedule.equal(3, "fresh")), rng(6))
    (moved,) = many.networks()
    streams = rng(6).spawn(6)
    direction, start = target_directions(s, streams[0]), initial_network(s, streams[1])
    batches = [sample_batch(s, 40, direction, stream) for stream in (streams[2], *streams[2].spawn(2))]
    X, y = (np.concatenate(parts) for parts in zip(*batches, strict=True))
    np.testing.assert_allclose(moved.weights, gradient_step(start, X, y, 1e-3).weights, atol=1e-7)
    assert network_features(moved, X, rng()).shape == (120, 30)
