"""Random features against numbers of other people's codes, in their normalisation."""

import numpy as np
import pytest
from stored_numbers import stored_data

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
