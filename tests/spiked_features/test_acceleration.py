"""Anderson's acceleration: linear maps end in as many sweeps as they have dimensions, others as scipy's."""

import numpy as np
import pytest

from onestep_lib import ConvergenceError
from onestep_lib.spiked_features.acceleration import anderson


def test_a_slow_linear_map_needs_few_sweeps(deviation):
    rng = np.random.default_rng(1)
    basis = np.linalg.qr(rng.standard_normal((6, 6)))[0]
    matrix = basis @ np.diag([0.999, 0.9, 0.5, -0.7, 0.1, 0.0]) @ basis.T
    shift = rng.standard_normal(6)
    calls = []

    def sweep(x):
        calls.append(1)
        return matrix @ x + shift

    found = anderson(sweep, np.zeros(6), np.ones(6), 1e-10)
    solved = np.linalg.solve(np.eye(6) - matrix, shift)
    np.testing.assert_allclose(found, solved, rtol=1e-6)
    deviation("acceleration.anderson", "linear map, and cos", found, solved)
    assert len(calls) < 15


def test_a_nonlinear_map(deviation):
    found = anderson(np.cos, np.array([0.0, 1.0, 3.0]), np.ones(3), 1e-13)
    np.testing.assert_allclose(found, 0.7390851332151607, rtol=1e-12)
    deviation("acceleration.anderson", "linear map, and cos", found, 0.7390851332151607)


@pytest.mark.parametrize("sweep", [lambda x: x + 1, lambda x: np.full_like(x, np.nan)], ids=["drift", "nan"])
def test_what_does_not_converge_raises(sweep):
    with pytest.raises(ConvergenceError, match="anderson"):
        anderson(sweep, np.ones(3), np.ones(3), 1e-10)
