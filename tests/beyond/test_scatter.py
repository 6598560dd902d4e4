"""The scatter of the losses of spiked features: against simulated draws, limits, and overlapping fits."""

import numpy as np
import pytest

from onestep_lib.activations import activation, target
from onestep_lib.beyond import loss_scatter, shared_error, simulate_model
from onestep_lib.beyond.scatter import Problem
from onestep_lib.quadrature import gaussian_quadrature
from onestep_lib.spiked_features import SpikedModel, spiked_losses


def model(name="tanh", spikes=(1.3,), labels="sin", rows=0.0):
    fractions = np.full(len(spikes), 1 / len(spikes))
    return SpikedModel(activation(name), spikes, fractions, target(labels), 0.8, 0.2, row_variance=rows)


CASES = {
    "tanh": (model(), 300, 120, 60, 0.01),
    "tanh, wide": (model(rows=1.0), 150, 100, 300, 0.05),
    "relu, two groups": (model("relu", (1.0, -1.0), (0, 1, 0.5)), 240, 120, 100, 0.1),
    "steep labels": (model("erf", (0.7,), (0, 1, 0, 0.3)), 300, 120, 150, 0.05),
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name == "steep labels")) for name in CASES]
)
def test_the_variance_of_simulated_draws(name, deviation):
    case, n, d, N, ridge = CASES[name]
    repeats, m = 500, 1000
    found = loss_scatter(case, n, d, N, ridge)
    predicted = found.rows + found.samples + np.array([0, found.squared_error / m, 0])
    draws = simulate_model(case, n, d, N, ridge, np.random.default_rng(3), repeats, test_size=m).draws
    centred = draws - draws.mean(axis=0)
    variance = np.sum(centred**2, axis=0) / (repeats - 1)
    # The variance of a variance, by the draws' own fourth moment.
    error = np.sqrt((np.mean(centred**4, axis=0) - variance**2) / repeats)
    print(name, (variance / predicted).round(3), ((variance - predicted) / error).round(1))
    # The next order in 1/n is a few per cent here.
    assert np.all(np.abs(variance - predicted) < 3 * error + 0.08 * predicted)
    deviation("scatter.loss_scatter", "variance of 500 draws", variance, predicted, error)


@pytest.mark.parametrize("labels", ["sin", (0, 1, 0.5), (0, 1, 0, 0.3)])
def test_without_a_fit_the_objective_is_the_mean_square_of_the_labels(labels, deviation):
    case = model(labels=labels)
    found = loss_scatter(case, 200, 80, 50, 1e8)
    zeta, weights = gaussian_quadrature(case.target.kinks)
    clean, power = case.target(zeta), case.noise**2
    fourth = weights @ clean**4 + 6 * power * (weights @ clean**2) + 3 * power**2
    expected = fourth - (weights @ clean**2 + power) ** 2
    np.testing.assert_allclose([200 * found.samples[0], found.squared_error], expected, rtol=1e-4)
    assert found.rows[2] < 1e-6 * found.samples[2]
    deviation("scatter.loss_scatter", "no fit", found.squared_error, expected)


def test_a_source_gives_the_test_loss_back(deviation):
    """The derivative of the minimum, by the objective of problems with a source."""
    case, n, d, N, ridge = CASES["relu, two groups"]
    problem, h = Problem.of(case, n, d, N, ridge), 1e-4
    minima = []
    for source in (-h, h):
        fit = problem.fit(source=source)
        found = problem.pair(fit, fit).overlap()
        weights = problem.table.grid.weights
        minima.append(weights @ ((fit.D**2 + source) * found.error) + ridge * found.a_sq.sum())
    slope = (minima[1] - minima[0]) / (2 * h)
    expected = spiked_losses(case, d / n, d / N, ridge, d).test
    assert slope == pytest.approx(expected, rel=1e-5)
    deviation("scatter.loss_scatter", "derivative in the source", slope, expected)


def test_more_shared_samples_are_more_in_common():
    case, n, d, N, ridge = CASES["tanh"]
    values = [shared_error(case, n, d, N, ridge, shared) for shared in (0, 0.25, 0.5, 0.75, 1)]
    assert np.all(np.diff(values) > 0)
    assert np.all(np.diff(values, 2) > 0)


def test_narrow_integers_do_not_overflow():
    model = SpikedModel(activation("tanh"), [1], [1], target((0, 1)), alignment=0.8, noise=0.5)
    found, expected = (
        loss_scatter(model, *map(kind, (50_000, 100, 25_000)), 0.1) for kind in (np.int32, int)
    )
    np.testing.assert_array_equal(found.rows, expected.rows)
    np.testing.assert_array_equal(found.samples, expected.samples)
