"""All powers of the step at once: against the powers one by one, and against networks."""

from dataclasses import replace

import numpy as np
import pytest

from onestep_lib import Activation, Setting
from onestep_lib.activations import centred
from onestep_lib.experiment import (
    feature_matrix,
    initial_network,
    measured_outliers,
    measured_spike,
    sample_batch,
    sample_direction,
    take_steps,
)
from onestep_lib.initialisation import Vocabulary
from onestep_lib.small_step import exact_spike, feature_outliers, whole_spike_matrix
from onestep_lib.small_step.spikes import spike_matrix

CUBIC = Activation(
    "cubic",
    lambda x: 0.3 + x + (x**2 - 1) / 4 + (x**3 - 3 * x) / 10,
    derivative=lambda x: 0.7 + x / 2 + 0.3 * x**2,
)


@pytest.mark.parametrize("rows", ["gaussian", "spherical"])
@pytest.mark.parametrize(
    "readout", ["gaussian", "signs", Vocabulary((-2.0, 0.5, 1.0), (0.2, 0.4, 0.4)), None]
)
def test_a_polynomial_has_finitely_many_spikes(readout, rows, deviation):
    s = Setting(n=900, d=500, N=700, activation=CUBIC, noise=0.5, rows=rows, step=6.0)
    drawn = None
    if readout is None:
        drawn = np.random.default_rng(1).standard_normal(s.N) / np.sqrt(s.N)
    else:
        s = s.replace(readout=readout)
    one_by_one, whole = (matrix(s, 3, exact_spike(s), drawn) for matrix in (spike_matrix, whole_spike_matrix))
    # The columns may be rotated: compare what M sees.
    expected, found = one_by_one @ one_by_one.T, whole @ whole.T
    deviation("spikes.whole_spike_matrix", "powers one by one, cubic activation", found, expected)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7)


def test_small_steps_have_the_first_powers(deviation):
    s = Setting(n=1000, d=500, N=750, activation="tanh", step=0.1)
    found, expected = (matrix(s, 3) for matrix in (whole_spike_matrix, spike_matrix))
    deviation("spikes.whole_spike_matrix", "first powers, step 0.1", found @ found.T, expected @ expected.T)
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=1e-6)


def test_parity():
    P = whole_spike_matrix(Setting(n=1000, d=500, N=750, activation="tanh", step=15.0), 8)
    lengths = np.linalg.norm(P, axis=1)
    assert np.all(lengths[[0, 2, 4, 6, 8, 9]] < 1e-10)
    assert np.all(lengths[[1, 3, 5]] > 0.1)


@pytest.mark.parametrize("name", [pytest.param("tanh", marks=pytest.mark.slow), "relu"])
def test_outliers_of_networks(name, deviation):
    """Every power at once stays near the network where the first powers are off by a third."""
    sigma = "tanh" if name == "tanh" else centred("relu")
    s = Setting(
        n=1000, d=500, N=750, activation=sigma, target=(0, 1, 2**-0.5), noise=0.5, rows="spherical", step=16.0
    )  # fmt: skip
    count = 1 if name == "tanh" else 2
    ratios = []
    for rng in np.random.default_rng(8).spawn(6):
        direction, network = sample_direction(s.d, rng), initial_network(s, rng)
        batch, (X, _) = (sample_batch(s, s.n, direction, rng) for _ in range(2))
        (stepped,) = take_steps(network, *batch, s.step)
        kappa = X @ stepped.direction / np.linalg.norm(stepped.direction)
        found = measured_outliers(feature_matrix(stepped.weights, X, s.activation), kappa, count, 3).values
        spike = replace(measured_spike(stepped.direction, direction), widening=exact_spike(s).widening)
        near = feature_outliers(s, 8, spike, network.readout, whole=True).values
        far = feature_outliers(s, 3, spike, network.readout).values
        ratios.append((found / near[:count], found / far[:count]))
    near, far = np.mean(ratios, axis=0)
    print(f"{name}: {near.round(3)} of all powers at once, {far.round(3)} of the first three")
    deviation("outliers.feature_outliers", f"networks at eta^2/N = 0.34, all powers, {name}", near, 1)
    assert np.all(np.abs(near - 1) < 0.06)
    assert np.abs(far - 1).max() > 0.1
