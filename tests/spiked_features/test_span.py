"""The loss that no readout undercuts: against the equations at huge sizes, and against drawn features."""

import numpy as np
import pytest

from onestep_lib.activations import activation, target
from onestep_lib.spiked_features import SpikedModel, span_floor, spiked_losses

MODELS = {
    "tanh, sin": SpikedModel(activation("tanh"), [2, -2], [0.5, 0.5], target("sin"), 0.9, 0.1),
    "relu, quadratic": SpikedModel(activation("relu"), [2, -1], [0.5, 0.5], target((0, 1, 0.5)), 0.8, 0.3),
    "tanh, cubic": SpikedModel(activation("tanh"), [1, 2], [0.3, 0.7], target((0, 1, 0, 0.4)), -0.6, 0.2),
    "spheres": SpikedModel(activation("relu"), [1.5], [1.0], target("tanh"), 0.7, 0.0, row_variance=0.0),
}


@pytest.mark.parametrize("name", MODELS)
def test_losses_fall_to_the_floor_and_not_below(name, deviation):
    model = MODELS[name]
    floor = span_floor(model)
    losses = [
        spiked_losses(model, 1 / alpha, 1 / beta, 1e-8 * beta).test
        for alpha, beta in ((1e4, 1e2), (1e6, 1e3), (1e7, 1e4))
    ]
    assert np.all(np.diff(losses) < 0)
    assert losses[-1] > floor * (1 - 1e-6)
    deviation("losses.span_floor", f"losses at huge sizes, {name}", losses[-1], floor)
    assert losses[-1] - floor < 0.02 * floor + 5e-4


def test_a_regression_on_drawn_inputs_reaches_it(deviation):
    """Least squares on the functions that a readout can make, from samples: no quadrature, no table."""
    model, rng = MODELS["relu, quadratic"], np.random.default_rng(0)
    kappa, z = rng.standard_normal((2, 400_000))
    y = model.target(0.8 * kappa + 0.6 * z) + 0.3 * rng.standard_normal(kappa.size)
    zeta, weights = np.polynomial.hermite_e.hermegauss(80)
    weights = weights / weights.sum()
    columns = []
    for u in model.spikes:
        grid = np.linspace(kappa.min(), kappa.max(), 4001)
        values = np.maximum(u * grid[:, None] + zeta, 0)
        mu0, mu1, m2 = values @ weights, values @ (weights * zeta), values @ (weights * (zeta**2 - 1))
        at = [np.interp(kappa, grid, f) for f in (mu0, mu1, m2)]
        columns += [at[0], kappa * at[1], at[2], z * at[1]]
    A = np.stack(columns, axis=1)
    rest = y - A @ np.linalg.lstsq(A, y, rcond=1e-9)[0]
    error = np.std(rest**2) / np.sqrt(kappa.size)
    deviation("losses.span_floor", "regression on drawn inputs", np.mean(rest**2), span_floor(model), error)
    assert abs(np.mean(rest**2) - span_floor(model)) < 4 * error + 1e-3


def test_parity_is_never_overcome():
    for spikes in ([1.0], [0.5, 1.0, 3.0]):
        shares = np.full(len(spikes), 1 / len(spikes))
        even = SpikedModel(activation("tanh"), spikes, shares, target((0, 0, 1)), 1.0)
        assert span_floor(even) == pytest.approx(2.0, rel=1e-9)


def test_without_a_spike_it_is_the_wall():
    model = SpikedModel(activation("tanh"), [0.0], [1.0], target((0, 1, 0.7, 0.2)), 0.5, 0.3)
    assert span_floor(model) == pytest.approx(2 * 0.49 + 6 * 0.04 + 0.09, rel=1e-9)
