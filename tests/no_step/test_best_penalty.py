"""The best penalty: brute force, the limit of infinite width, ridge regression on the inputs, simulation."""

import numpy as np
import pytest

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
