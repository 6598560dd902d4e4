"""Gordon's saddle point: the equations of the cavity argument by another way, and its own conditions."""

from dataclasses import fields, replace

import numpy as np
import pytest

from onestep_lib.activations import activation, target
from onestep_lib.beyond import gordon_losses, gordon_saddle, gordon_value
from onestep_lib.spiked_features import SpikedModel, spiked_losses

MODELS = {
    "tanh, sin": ("tanh", 2.0, "sin", 0.8, 0.1),
    "relu, quadratic": ("relu", 1.5, (0, 1, 0.5), 0.9, 0.3),
    "softplus, against": ("softplus", 3.0, "tanh", -0.5, 0.2),
    "erf, no spike": ("erf", 0.0, (0, 1, 0.5), 0.5, 0.2),
    "identity": ("identity", 1.0, "sin", 0.7, 0.1),
}
POINTS = ((0.5, 0.7, 0.1), (1.5, 0.4, 0.01), (0.3, 2.0, 1.0), (0.5, 0.5, 1e-4), (0.8, 1.0, 10.0))


def model_of(name: str) -> SpikedModel:
    sigma, spike, labels, gamma, noise = MODELS[name]
    return SpikedModel(activation(sigma), [spike], [1.0], target(labels), gamma, noise, row_variance=0)


@pytest.mark.parametrize("name", MODELS)
def test_its_losses_are_those_of_the_cavity_argument(name, deviation):
    model = model_of(name)
    pairs = [(gordon_losses(model, *point), spiked_losses(model, *point)) for point in POINTS]
    for kind in ("train", "test", "objective"):
        found, expected = np.array([[getattr(losses, kind) for losses in pair] for pair in pairs]).T
        deviation("gordon.gordon_losses", f"equations of the cavity argument, {kind}", found, expected)
        assert found == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("name", MODELS)
def test_the_potential_is_stationary_and_its_value_is_the_objective(name, deviation):
    model, point = model_of(name), POINTS[0]
    saddle = gordon_saddle(model, *point)
    value = gordon_value(model, *point, saddle)
    deviation("gordon.gordon_value", "objective", value, spiked_losses(model, *point).objective)
    assert value == pytest.approx(spiked_losses(model, *point).objective, rel=1e-10)
    for field in fields(saddle):
        at = getattr(saddle, field.name)
        step = 1e-4 * max(abs(at), 1e-2)
        ends = [
            gordon_value(model, *point, replace(saddle, **{field.name: at + sign * step})) for sign in (1, -1)
        ]
        assert abs(ends[0] - ends[1]) / (2 * step) < 1e-6, field.name


def test_it_is_a_minimum_in_what_the_readout_chooses():
    model, point = model_of("tanh, sin"), POINTS[0]
    saddle = gordon_saddle(model, *point)
    value = gordon_value(model, *point, saddle)
    for name in ("mean", "along", "across"):
        moved = replace(saddle, **{name: getattr(saddle, name) + 0.05})
        assert gordon_value(model, *point, moved) > value
