"""The stored table of distances: entries drawn afresh, and its numbers by the library's own measurements."""

import json
from importlib import resources

import numpy as np
import pytest
from spike_distances import ALPHAS, draw, setting_of

from onestep_lib.experiment import (
    initial_network,
    measured_spike_constant,
    sample_batch,
    sample_direction,
    take_steps,
)
from onestep_lib.experiment.measured import spike_error

STORED = json.loads(
    resources.files("onestep_lib").joinpath("datasets/spike_distances.json").read_text("utf-8")
)


@pytest.mark.parametrize(("n", "k"), [(250, 0), (250, 95), (500, 7), (1000, 3)])
def test_entries_drawn_afresh(n, k):
    np.testing.assert_allclose(draw(n, k), STORED["draws"][str(n)][k], rtol=1e-4, atol=1e-5)


def test_by_the_library_s_measurements():
    """`spike_error` and `measured_spike_constant` on the same draw."""
    n, k = 250, 1
    setting, rng = setting_of(n), np.random.default_rng([8, n, k])
    direction, network = sample_direction(setting.d, rng), initial_network(setting, rng)
    batch, (X, _) = (sample_batch(setting, n, direction, rng) for _ in range(2))
    c = setting.activation.coefficients(2)
    for stepped, row in zip(take_steps(network, *batch, n ** np.array(ALPHAS)), draw(n, k), strict=True):
        unit = c[2] * (c[1] * stepped.step) ** 2 * (stepped.direction @ stepped.direction)
        found = (
            spike_error(stepped, X, 1),
            spike_error(stepped, X, 2),
            measured_spike_constant(stepped, X) / unit,
        )
        np.testing.assert_allclose(found, row[[1, 2, 6]], rtol=1e-8)
