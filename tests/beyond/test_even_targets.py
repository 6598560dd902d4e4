"""Losses of an even target at finite size: against networks, and how fast n must grow with d."""

import numpy as np
import pytest

from onestep_lib import Setting, giant_step, simulate
from onestep_lib.beyond.even_targets import even_losses, even_map, even_share
from onestep_lib.experiment import gradient_step, initial_network, sample_batch, sample_direction
from onestep_lib.experiment.network import scheduled_steps
from onestep_lib.quadrature import gaussian_mean
from onestep_lib.repeats import mean_and_error
from onestep_lib.schedules import Schedule

MEAN = gaussian_mean(lambda z: np.tanh(z**2 - 1))


def bump(z):
    return 2.5 * (np.tanh(z**2 - 1) - MEAN)


SETTING = Setting(960, 60, 240, "relu", bump, noise=0.1, ridge=0.05, readout="signs")


def stepped(d, step):
    """n = 16 d, N = 4 d."""
    return SETTING.replace(n=16 * d, d=d, N=4 * d, step=step * np.sqrt(4 * d))


@pytest.mark.parametrize("activation", ["relu", "softplus", "tanh"])
def test_the_share_is_that_of_the_rows(activation, deviation):
    setting = stepped(150, 8).replace(activation=activation)
    shares = []
    for rng in np.random.default_rng(3).spawn(8):
        beta = sample_direction(150, rng)
        network = initial_network(setting, rng)
        weights = gradient_step(network, *sample_batch(setting, setting.n, beta, rng), setting.step).weights
        shares.append(np.sum((weights @ beta) ** 2) / np.sum(weights**2))
    mean, error = mean_and_error(np.array(shares))
    print(mean, error, even_share(setting))
    assert abs(mean / even_share(setting) - 1) < 3.5 * error / mean + 0.03
    deviation("even_targets.even_share", "d = 150, 8 draws", mean, even_share(setting), error)


def test_networks_learn_below_the_wall():
    """n = 16 d: what one step gains is large at every size that one runs, and the curve gives it."""
    setting = stepped(60, np.array([1, 2, 4, 8]))
    found, theory = simulate(setting, np.random.default_rng(3), 12), even_losses(setting)
    print(found.test, found.test_se, theory.test)
    np.testing.assert_allclose(theory.test, found.test, rtol=0.09)
    # The limit knows nothing of it.
    assert found.test[-1] < 0.6 * setting.target.second_moment


def test_the_wall_stands_in_the_limit_at_n_of_order_d():
    setting = stepped(60, np.array([0, 2, 8]))
    limit, large = giant_step(setting).test, even_losses(stepped(10**6, np.array([0, 2, 8]))).test
    print(limit, large)
    np.testing.assert_allclose(large[:2], limit[:2], rtol=0.01)
    # The shape of the bulk and the noise spike, which it drops.
    np.testing.assert_allclose(large[2], limit[2], rtol=0.05)


def test_the_samples_must_grow_like_d_to_the_four_thirds():
    losses = even_map(stepped(60, 8), [120, 1000, 16000], [1.2, 4 / 3, 1.5])
    print(losses)
    assert np.all(np.diff(losses[0]) > 0.1)
    assert np.ptp(losses[1]) < 0.06
    assert np.all(np.diff(losses[2]) < 0)


@pytest.mark.slow
def test_networks_stay_level_along_that_line():
    """n = 960 at d = 60 and 2419 at d = 120."""
    larger = SETTING.replace(n=2419, d=120, N=605)
    step = 8 * np.sqrt(240) * np.sqrt(605 * 2419 / 120 / (240 * 16))
    found = [
        simulate(setting, np.random.default_rng(4), 6)["test"]
        for setting in (stepped(60, 8), larger.replace(step=step))
    ]
    print(found)
    (small, small_error), (large, large_error) = found
    assert abs(small - large) < 3.5 * np.hypot(small_error, large_error)
    assert abs(even_losses(larger.replace(step=step)).test / large - 1) < 0.1


def test_a_second_step_of_order_one_keeps_the_gain():
    """1/c_1^2 = 4 takes the noise spike away, r -> r (1 - eta_2 c_1^2); one like the first loses the gain."""
    setting = stepped(60, 8)
    losses = {
        second: simulate(
            setting.replace(updates=Schedule((1, second / setting.step), "fresh")),
            np.random.default_rng(9),
            6,
        )
        for second in (4, 8 * np.sqrt(240))
    }
    one = simulate(setting, np.random.default_rng(9), 6)
    print(one.test, {second: (found.test, found.test_se) for second, found in losses.items()})
    gain = one.draws[:, 1] - losses[4].draws[:, 1]
    assert gain.mean() > 4 * gain.std(ddof=1) / np.sqrt(gain.size)
    assert losses[8 * np.sqrt(240)].test > 2 * one.test
    # The spike itself, in the weights.
    rng = np.random.default_rng(2)
    beta = sample_direction(60, rng)
    network = initial_network(setting, rng)
    batches = [sample_batch(setting, 960, beta, rng) for _ in range(2)]
    v = batches[0][0].T @ batches[0][1]
    v /= np.linalg.norm(v)
    along = [
        np.mean(scheduled_steps(network, batches[: len(steps)], steps).weights @ v * network.readout)
        for steps in ([setting.step], [setting.step, 4])
    ]
    print(along)
    assert abs(along[1]) < 0.3 * along[0]
