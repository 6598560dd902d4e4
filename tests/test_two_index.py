"""Targets of two directions: their numbers, the theories that cover them, simulation and the plane."""

import numpy as np
import pytest

from onestep_lib import Setting, one_step, random_features, simulate, staircase
from onestep_lib.activations import target as single
from onestep_lib.experiment import (
    gradient_direction,
    initial_network,
    measured_weight_spectrum,
    plane_profile,
    sample_batch,
    take_steps,
    target_directions,
)
from onestep_lib.no_step import fixed_feature_floor
from onestep_lib.small_step import (
    direction_floor,
    gradient_spike,
    label_moments,
    seen_directions,
    weight_spectrum,
)
from onestep_lib.two_index import TwoIndexTarget

MIXED = TwoIndexTarget(lambda s, t: 0.9 * s + 0.5 * t + 0.6 * s * t + 0.3 * (t**2 - 1), "mixed")
ANGLE = 0.7
TURNED = TwoIndexTarget(lambda s, t: np.tanh(np.cos(ANGLE) * s + np.sin(ANGLE) * t), "a turned tanh")
S = Setting(n=400, d=200, N=300, target=MIXED, noise=0.3, ridge=0.1)


def rng(seed=0):
    return np.random.default_rng(seed)


def test_numbers_of_a_polynomial():
    assert MIXED.c0 == pytest.approx(0, abs=1e-13)
    np.testing.assert_allclose(MIXED.slopes, [0.9, 0.5], rtol=1e-12)
    assert MIXED.power == pytest.approx(0.81 + 0.25 + 0.36 + 0.18, rel=1e-12)
    assert MIXED.nonlinear_power == pytest.approx(0.36 + 0.18, rel=1e-12)
    # He_2 along (u, v): E[s t He_2]/2 = u v and E[(t^2 - 1) He_2]/2 = v^2.
    u, v = np.array([0.9, 0.5]) / np.hypot(0.9, 0.5)
    assert MIXED.coefficient(2) == pytest.approx(0.6 * u * v + 0.3 * v**2, rel=1e-12)
    assert MIXED.coefficient(1) == pytest.approx(MIXED.linear, rel=1e-12)


def test_a_turned_single_index_is_one_of_two(deviation):
    """g(cos z_1 + sin z_2) is a single-index target in another basis: every number is the same."""
    tanh = single("tanh")
    np.testing.assert_allclose(TURNED.coefficients(7), tanh.coefficients(7), atol=1e-11)
    first, second = (label_moments(target, 0.3) for target in (TURNED, tanh))
    for name in ("mean", "square", "cube", "fourth", "linear", "square_linear"):
        assert getattr(first, name) == pytest.approx(getattr(second, name), abs=1e-10)
    s = S.replace(target=TURNED, activation="softplus")
    for theory in (random_features, lambda s: staircase(s, 2)):
        found, expected = theory(s).test, theory(s.replace(target="tanh")).test
        assert found == pytest.approx(expected, rel=1e-9)
        deviation("two_index.TwoIndexTarget", "a turned single-index target", found, expected)
    np.testing.assert_allclose(
        seen_directions(s), gradient_spike(s).alignment * np.array([np.cos(ANGLE), np.sin(ANGLE)]), rtol=1e-9
    )


def test_a_turned_single_index_draws_the_same_losses():
    """The direction of the single index is put into the plane: all draws coincide."""
    s = Setting(n=40, d=20, N=30, target=TwoIndexTarget(lambda s, t: np.tanh(s)), noise=0.3, step=[0.0, 2.0])
    two = simulate(s, rng(), repeats=3, test_size=100)
    one = simulate(s.replace(target="tanh"), rng(), repeats=3, test_size=100)
    np.testing.assert_allclose(two.draws, one.draws, rtol=1e-9)


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("both", MIXED),
        ("one is even", TwoIndexTarget(lambda s, t: s + t**2 - 1)),
        ("a product", TwoIndexTarget(np.multiply)),
    ],
)
def test_what_one_step_sees_of_each_direction(name, target, deviation):
    s = Setting(n=1000, d=400, N=300, target=target, noise=0.3, step=2.0)
    generator, found = rng(5), []
    for _ in range(12):
        plane = target_directions(s, generator)
        network = initial_network(s, generator)
        b = gradient_direction(network, *sample_batch(s, s.n, plane, generator))
        found.append(plane.T @ b / np.linalg.norm(b))
    mean, error = np.mean(found, axis=0), np.std(found, axis=0, ddof=1) / np.sqrt(12)
    z = (mean - seen_directions(s)) / error
    print(f"{name}: {mean.round(3)} against {seen_directions(s).round(3)}, z {z.round(1)}")
    assert np.abs(z).max() < 4
    deviation("gradient.seen_directions", f"{name}, n = 1000, 12 draws", z, 0, 1)


def test_the_weights_turn_to_the_mean_slope(deviation):
    s = Setting(n=1500, d=500, N=700, target=MIXED, step=3.0)
    generator, found = rng(6), []
    for _ in range(8):
        plane = target_directions(s, generator)
        network = initial_network(s, generator)
        (stepped,) = take_steps(network, *sample_batch(s, s.n, plane, generator), s.step)
        one = measured_weight_spectrum(stepped, plane @ MIXED.slopes / MIXED.linear)
        found.append([one.outlier, one.target])
    mean, error = np.mean(found, axis=0), np.std(found, axis=0, ddof=1) / np.sqrt(8)
    expected = weight_spectrum(s)
    z = (mean - [expected.outlier, expected.target]) / error
    print("outlier and overlap with beta_lin: z", z.round(1))
    assert np.abs(z).max() < 4
    deviation("weights.weight_spectrum", "two directions, 8 draws", z, 0, 1)


def test_the_plane_of_linear_features_is_a_plane():
    s = Setting(n=300, d=5, N=20, activation="identity", target=MIXED, ridge=0.0)
    profile = plane_profile(s, rng(1), [-2, -1, 0, 1, 2], repeats=3)
    assert profile.mean.shape == profile.se.shape == (4, 4)
    edges = np.array([-2, -1, 0, 1, 2])
    z = np.linspace(-2, 2, 40_001)
    density = np.exp(-(z**2) / 2)
    bins = np.minimum(np.digitize(z, edges) - 1, 3)
    means = np.bincount(bins, z * density) / np.bincount(bins, density)
    np.testing.assert_allclose(profile.mean, 0.9 * means[:, None] + 0.5 * means, atol=0.15)


def test_the_plane_shares_its_draws_along_paths():
    s = S.replace(n=60, d=10, N=30, step=[0.0, 2.0], ridge=[0.1, 1.0])
    path = plane_profile(s, rng(2), [-1, 0, 1], repeats=2, test_size=500)
    one = plane_profile(s.replace(ridge=1.0, step=2.0), rng(2), [-1, 0, 1], repeats=2, test_size=500)
    assert path.mean.shape == (2, 2, 2, 2)
    np.testing.assert_allclose(one.mean, path.mean[1, 1], rtol=1e-10)


@pytest.mark.parametrize("theory", [one_step, direction_floor, fixed_feature_floor])
def test_theories_of_one_direction_refuse(theory):
    with pytest.raises(ValueError, match="target must have one direction here, got 'mixed' of two"):
        theory(S)
