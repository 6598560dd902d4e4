"""Random features against numbers of other people's codes, in their normalisation."""

import numpy as np
import pytest
from stored_numbers import stored_data

from onestep_lib import Setting, random_features, simulate
from onestep_lib.activations import activation
from onestep_lib.no_step import ridge_losses

TABLE = stored_data("random_features_table")
TANH = activation("tanh")


@pytest.mark.parametrize("penalty", TABLE["errors"])
def test_other_codes_numbers(penalty, deviation):
    """Their Z^T Z/d + lam is our F^T F + lambda n with lambda = lam d/n; their error leaves the noise out."""
    phi = 1 / TABLE["samples_per_dimension"]
    psi = 1 / np.array(TABLE["width_per_dimension"])
    noise_power = TABLE["noise"] ** 2
    losses = ridge_losses(phi, psi, float(penalty) * phi, TANH.c1**2, TANH.nonlinear_power, 1, noise_power)
    found, stored = losses.test - noise_power, TABLE["errors"][penalty]
    np.testing.assert_allclose(found, stored, rtol=2e-9)
    deviation("gaussian_equivalence.ridge_losses", "three public codes, 10 digits", found, stored)


@pytest.mark.parametrize("width_per_dimension", [0.5, 3])
def test_the_simulator_has_the_same_normalisation(width_per_dimension, deviation):
    """A wrong factor in the penalty or in the noise would be a gap of tens of standard errors."""
    d, column = 200, TABLE["width_per_dimension"].index(width_per_dimension)
    setting = Setting(n=2 * d, d=d, N=int(width_per_dimension * d), noise=TABLE["noise"], ridge=0.1 / 2)
    found = simulate(setting, np.random.default_rng(3), repeats=24)
    z = (found.test - 0.25 - TABLE["errors"]["1e-1"][column]) / found.test_se
    print(f"N/d = {width_per_dimension}: error {found.test - 0.25:.4f} +- {found.test_se:.4f}, z {z:+.1f}")
    assert abs(z) < 4
    deviation("gaussian_equivalence.random_features", "n = 400, 16 or 24 repeats", z, 0, 1)
    assert random_features(setting).test - 0.25 == pytest.approx(TABLE["errors"]["1e-1"][column], rel=2e-9)
