"""From random starts every solver ends at the same point, or raises; what an unguarded one does."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import bisect, root

from onestep_lib import ConvergenceError, Setting
from onestep_lib.activations import activation, target
from onestep_lib.no_step import marchenko_pastur_means, resolvent_traces
from onestep_lib.spiked_features import SpikedModel, solve_fixed_point, solve_spiked
from onestep_lib.spiked_features.fixed_point import sweep_fixed_point
from onestep_lib.spiked_features.model import Ratios

COUNT = [20, pytest.param(200, marks=pytest.mark.slow)]
S = Setting(n=1000, d=600, N=800, activation="tanh", ridge=0.1)


def pair(s):
    """The two equations for m_1, m_2 of Moniri et al. and of Adlam and Pennington."""
    a, b, phi, psi = s.activation.c1**2, s.activation.nonlinear_power, s.phi, s.psi

    def equations(m):
        m1, m2 = m
        third = a * m1 * m2 * (s.ridge * psi * m1 / phi - 1)
        return [
            phi * (m1 - m2) * (b * m1 + a * m2) + third,
            phi / psi * (a * m1 * m2 + phi * (m2 - m1)) + third,
        ]

    return equations


@pytest.mark.parametrize("count", COUNT)
def test_the_pair_of_equations_has_a_false_root_that_attracts(count):
    """Powell's method on the pair, from starts over four powers of ten; the library's scalar equation."""
    sigma = S.activation
    traces = resolvent_traces(S.phi, S.psi, S.ridge, sigma.c1**2, sigma.nonlinear_power)
    right = np.array([traces.m1, traces.m2])
    ends = {"right": 0, "near zero": 0, "elsewhere": 0}
    for start in 10 ** np.random.default_rng(0).uniform(-2, 2, (count, 2)):
        found = root(pair(S), start, tol=1e-12)
        if np.allclose(found.x, right, rtol=1e-6):
            ends["right"] += 1
        elif np.abs(found.x).max() < 1e-6 * right.min():
            ends["near zero"] += 1
        else:
            ends["elsewhere"] += 1
    print(f"of {count} starts of a general root finder: {ends}")
    assert np.abs(pair(S)([0.0, 0.0])).max() == 0
    assert ends["right"] > 0
    assert ends["near zero"] > 0
    assert np.abs(pair(S)(right)).max() < 1e-12


MODELS = {
    "one group": SpikedModel(activation("tanh"), [1.5], [1.0], target("tanh"), 0.8, 0.3),
    "signs": SpikedModel(activation("relu"), [2.0, -2.0], [0.5, 0.5], target((0, 1, 0.5)), 0.6, 0.3),
    "four values": SpikedModel(
        activation("softplus"), [0.2, -0.6, 1.0, 3.0], [0.4, 0.3, 0.2, 0.1], target("sin"), 0.7, 0.3
    ),
}
POINTS = {"plain": Ratios(2.0, 1.5, 0.1), "narrow": Ratios(4.0, 0.3, 1e-4), "n = N": Ratios(1.0, 1.0, 1e-4)}


def random_start(features, rng):
    """(c, V) over eight powers of ten, every entry on its own."""
    groups, nodes = features.fractions.size, features.weights.size
    return 10 ** rng.uniform(-4, 4, groups), 10 ** rng.uniform(-4, 4, nodes)


def largest_gap(first, second):
    return max(np.max(np.abs(first.c / second.c - 1)), np.max(np.abs(first.V - second.V) / (1 + second.V)))


def ends(solve, model, count, expected):
    """How far apart the ends of `count` random starts are, and how many starts raised."""
    gaps, raised = [0.0], 0
    for rng in np.random.default_rng(1).spawn(count):
        try:
            gaps.append(largest_gap(solve(random_start(model.table.features, rng)), expected))
        except ConvergenceError:
            raised += 1
    return max(gaps), raised


@pytest.mark.parametrize("count", COUNT)
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("point", POINTS)
def test_newton_ends_at_one_fixed_point(name, point, count, deviation):
    model, features = MODELS[name], MODELS[name].table.features
    expected = solve_fixed_point(features, POINTS[point])
    gap, raised = ends(
        lambda start: solve_fixed_point(features, POINTS[point], start), model, count, expected
    )
    print(f"{name}, {point}: {count} starts, largest gap {gap:.1e}, {raised} raised")
    assert gap < 1e-9
    # The start is given up if it does not lead anywhere, for one above the fixed point that always does.
    assert raised == 0
    deviation("fixed_point.solve_fixed_point", f"{count} random starts", gap, 0, None, 1.0)


@pytest.mark.parametrize("count", COUNT)
@pytest.mark.parametrize("name", MODELS)
def test_sweeps_end_there_or_raise(name, count, deviation):
    model, features = MODELS[name], MODELS[name].table.features
    expected = solve_fixed_point(features, POINTS["plain"])

    def solve(start):
        return sweep_fixed_point(features, replace(POINTS["plain"], tolerance=1e-9), start)

    gap, raised = ends(solve, model, count, expected)
    print(f"{name}: {count} starts of sweeps, largest gap {gap:.1e}, {raised} raised")
    assert gap < 1e-8
    assert raised < count / 2
    deviation("fixed_point.sweep_fixed_point", f"{count} random starts", gap, 0, None, 1.0)


@pytest.mark.parametrize("count", COUNT)
def test_losses_do_not_depend_on_the_neighbour_they_start_from(count, deviation):
    """`near`, the solution of another point of the model, gives the start and the grid."""
    model, here = MODELS["signs"], (0.5, 0.7, 0.1)
    expected = solve_spiked(model, *here, d=200)
    worst = 0.0
    for phi, psi, ridge in 10 ** np.random.default_rng(2).uniform(-1.5, 1.5, (max(count // 5, 4), 3)):
        near = solve_spiked(model, phi, psi, ridge, d=200)
        found = solve_spiked(model, *here, d=200, near=near)
        worst = max(worst, abs(found.test / expected.test - 1), abs(found.train / expected.train - 1))
    print(f"{max(count // 5, 4)} neighbours: largest relative gap {worst:.1e}")
    assert worst < 1e-9
    deviation("losses.solve_spiked", "from other points of the model", worst, 0, None, 1.0)


@pytest.mark.parametrize("count", COUNT)
def test_the_scalar_equation_has_one_root_in_every_bracket(count, deviation):
    """Bisection from random brackets, over 24 powers of ten, against the library's bracketed Newton."""
    a, b, k = S.activation.c1**2, S.activation.nonlinear_power, S.n / S.N
    mu = float(resolvent_traces(S.phi, S.psi, S.ridge, a, b).mu)

    def gap(y):
        u = b + np.exp(y)
        means = marchenko_pastur_means(np.array(a / u), 1 / S.phi)
        return S.ridge / np.exp(y) - 1 / k + float(a * means.g + b * means.p) / u

    rng = np.random.default_rng(3)
    low, high = np.log(10) * rng.uniform(-12, -2, count), np.log(10) * rng.uniform(1, 12, count)
    found = np.array([np.exp(bisect(gap, *ends, xtol=1e-13)) for ends in zip(low, high, strict=True)])
    print(f"{count} brackets: largest relative gap {np.abs(found / mu - 1).max():.1e}")
    np.testing.assert_allclose(found, mu, rtol=1e-10)
    deviation("gaussian_equivalence.resolvent_traces", f"bisection, {count} random brackets", found, mu)
