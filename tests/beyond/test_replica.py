"""The saddle point of the replica calculation is the solution of the cavity equations."""

import numpy as np
import pytest
from scipy.optimize import root

from onestep_lib.activations import activation, target
from onestep_lib.beyond import replica_energy, replica_gradient, replica_variables
from onestep_lib.spiked_features import SpikedModel, solve_spiked
from onestep_lib.two_index import TwoIndexTarget


def product(kappa, z):
    return kappa * z + np.tanh(kappa)


MODELS = {
    "sphere": SpikedModel(activation("tanh"), [1.5], [1.0], target("sin"), 0.8, 0.3, row_variance=0.0),
    "gaussian": SpikedModel(activation("relu"), [1.0], [1.0], target((0, 1, 0.5)), 0.6, 0.3),
    "long rows": SpikedModel(activation("erf"), [3.0], [1.0], target("sign"), 0.9, 0.0, scales=1.4),
    "two indices": SpikedModel(activation("softplus"), [0.7], [1.0], TwoIndexTarget(product), noise=0.2),
    "no spike": SpikedModel(activation("tanh"), [0.0], [1.0], target("sin"), 0.8, 0.3),
}
POINTS = [(0.5, 0.5, 0.05), (2.0, 0.4, 0.3), (0.2, 1.5, 1e-3)]


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("name", MODELS)
def test_the_saddle_point_is_the_solution(name, point, deviation):
    solution = solve_spiked(MODELS[name], *point)
    x = replica_variables(solution, *point[:2])
    gradient = replica_gradient(solution.table, *point, x)
    # Against the largest of the terms that cancel in it.
    size = np.abs(x).max() + np.abs(gradient).max()
    energy = replica_energy(solution.table, *point, x)
    moved = replica_gradient(solution.table, *point, 1.01 * x)
    off = energy - solution.objective
    print(f"{name}, {point}: gradient {np.abs(gradient).max():.1e}, energy off by {off:.1e}")
    assert np.abs(gradient).max() < 1e-9 * size
    assert np.abs(moved).max() > 1e-4 * size
    np.testing.assert_allclose(energy, solution.objective, rtol=1e-8)
    deviation("replica.replica_energy", "objective of the cavity equations", energy, solution.objective)


def test_the_saddle_point_is_found_without_the_cavity():
    """A root finder on the gradient alone, from variables that are off by 20 percent."""
    point = POINTS[0]
    solution = solve_spiked(MODELS["sphere"], *point)
    x = replica_variables(solution, *point[:2])
    start = x * np.random.default_rng(0).uniform(0.8, 1.2, x.size)
    found = root(lambda v: replica_gradient(solution.table, *point, v), start, tol=1e-13)
    print(f"largest distance {np.abs(found.x - x).max():.1e}")
    assert found.success
    np.testing.assert_allclose(found.x, x, rtol=1e-6, atol=1e-8)


def test_the_gradient_is_the_slope_of_the_energy():
    point, solution = POINTS[0], solve_spiked(MODELS["gaussian"], *POINTS[0])
    x = 1.05 * replica_variables(solution, *point[:2])
    step = 1e-6 * np.eye(x.size)
    slopes = [
        (replica_energy(solution.table, *point, x + h) - replica_energy(solution.table, *point, x - h)) / 2e-6
        for h in step
    ]
    np.testing.assert_allclose(replica_gradient(solution.table, *point, x), slopes, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("psi", [0.5, 2.0])
def test_the_traces_are_those_of_a_random_matrix(psi):
    """The part of the energy that the multipliers of A and Q meet, against drawn rows."""
    d, Omega, L = 600, 0.7, 0.4
    W = np.random.default_rng(1).standard_normal((round(d / psi), d)) / np.sqrt(d)
    G = np.linalg.inv(Omega * np.eye(len(W)) + L * W @ W.T)
    table = MODELS["sphere"].table
    x = np.zeros(15)
    x[[11, 12]] = L, Omega - 0.1
    rise = replica_gradient(table, 0.5, psi, 0.1, x)[-2:]
    measured = -np.array([np.sum(W * (G @ W)), np.trace(G)]) / d
    print(f"traces {rise}, measured {measured}")
    np.testing.assert_allclose(rise, measured, rtol=5e-3)
