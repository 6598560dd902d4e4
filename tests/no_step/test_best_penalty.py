"""The best penalty: brute force, the limit of infinite width, ridge regression on the inputs, simulation."""

import numpy as np
import pytest

from onestep_lib import Setting, random_features, simulate
from onestep_lib.no_step import best_ridge, resolvent_traces, ridge_losses


def points(count):
    rng = np.random.default_rng(0)
    return zip(*10 ** rng.uniform(-1.5, 1.5, (2, count)), *10 ** rng.uniform(-3, 0, (4, count)), strict=True)


def test_no_penalty_of_a_fine_grid_is_better(deviation):
    for phi, psi, *powers in points(100):
        best = best_ridge(phi, psi, *powers)
        grid = np.concatenate([[0.0], np.geomspace(1e-12, 1e5, 20_000)])
        brute = ridge_losses(phi, psi, grid, *powers).test
        found = ridge_losses(phi, psi, best, *powers).test
        assert found <= brute.min() * (1 + 1e-12)
        assert found == pytest.approx(brute.min(), rel=1e-6)
        deviation(
            "gaussian_equivalence.best_ridge", "a grid of 20,000 penalties (the loss)", found, brute.min()
        )


def test_the_slope_is_zero_at_the_minimum():
    for phi, psi, *powers in points(40):
        best = best_ridge(phi, psi, *powers)
        if best == 0:
            continue
        low, middle, high = ridge_losses(phi, psi, best * np.exp([-1e-3, 0, 1e-3]), *powers).test
        assert abs(high - low) < 1e-2 * (high + low - 2 * middle) + 1e-13 * middle


@pytest.mark.parametrize("other", [0.1, 0.5, 3.0])
def test_infinite_width_is_known_in_closed_form(other, deviation):
    a, b, linear, narrow = 0.37, 0.03, 0.8, 1e-7
    best = best_ridge(0.6, 0.6 * narrow, a, b, linear, other)
    expected = a * other / linear - b
    assert best * narrow == pytest.approx(expected, rel=1e-5)
    assert resolvent_traces(0.6, 0.6 * narrow, best, a, b).mu == pytest.approx(expected, rel=1e-5)
    deviation("gaussian_equivalence.best_ridge", "closed form at N/n = 1e7", best * narrow, expected)


def test_linear_features_of_full_width_are_ridge_regression_on_the_inputs(deviation):
    # (1/n)|y - X b|^2 + s |b|^2 with |b|^2 = linear: the posterior mean's s is noise/linear * d/n.
    phi, psi, linear, noise = 0.7, 1e-8, 1.3, 0.4
    best = best_ridge(phi, psi, 1.0, 0.0, linear, noise)
    assert best * psi == pytest.approx(noise / linear * phi, rel=1e-5)
    deviation("gaussian_equivalence.best_ridge", "ridge on the inputs", best * psi, noise / linear * phi)


def test_zero_where_the_activation_is_penalty_enough():
    assert best_ridge(0.6, 0.06, 0.37, 0.3, 1.0, 0.01) == 0
    assert best_ridge(0.6, 0.06, 0.37, 0.0, 1.0, 0.0) == 0


def test_at_the_best_penalty_wider_is_better():
    widths = np.geomspace(0.1, 10, 60)
    powers = (0.37, 0.03, 1.0, 0.75)
    best = [best_ridge(0.6, 0.6 / width, *powers) for width in widths]
    losses = ridge_losses(0.6, 0.6 / widths, best, *powers).test
    assert np.all(np.diff(losses) < 0)


def test_it_is_the_best_of_its_neighbours_in_a_simulation():
    setting = Setting(n=160, d=96, N=160, target=(0, 1, 0.5), noise=0.5)
    sigma, target = setting.activation, setting.target
    powers = target.linear**2, target.nonlinear_power + setting.noise**2
    best = best_ridge(setting.phi, setting.psi, sigma.c1**2, sigma.nonlinear_power, *powers)
    setting = setting.replace(ridge=best * np.array([0.2, 1, 5]))
    runs = simulate(setting, np.random.default_rng(5), repeats=30)
    low, middle, high = runs.draws[:, 1].T
    for other in (low, high):
        gap = other - middle
        assert gap.mean() > 4 * gap.std(ddof=1) / np.sqrt(gap.size)
    assert abs(runs.test[1] - random_features(setting).test[1]) < 4 * runs.test_se[1]


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ((0.6, 0.75, 0.0, 1.0, 1.0, 1.0), "c1_sq must be > 0"),
        ((0.6, 0.75, 1.0, 1.0, 0.0, 1.0), "linear_power must be > 0"),
        ((0.6, 0.75, 1.0, -1.0, 1.0, 1.0), "nonlinear_sq must be >= 0"),
        ((0.0, 0.75, 1.0, 1.0, 1.0, 1.0), "phi must be > 0"),
    ],
)
def test_wrong_input_names_the_argument(numbers, message):
    with pytest.raises(ValueError, match=message):
        best_ridge(*numbers)
