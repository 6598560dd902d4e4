"""The experiment runs, and says what it is about: gamma and the test error follow n_0."""

import numpy as np
from cui_vary_step_samples import COLUMNS, experiment, setting


def test_the_experiment_in_small():
    rows = experiment(alphas_0=(0.5, 4, 20), d=60, repeats=6)
    assert rows.shape == (4, len(COLUMNS))
    alpha_0, gamma, measured, error, theory, simulated, scatter = rows.T
    np.testing.assert_array_equal(alpha_0, [0, 0.5, 4, 20])
    assert np.all(np.diff(gamma[1:]) > 0)
    assert np.all(np.abs(measured - gamma)[1:] < 5 * error[1:] + 0.03)
    assert np.all(np.diff(theory) < 0)
    assert np.all(np.abs(simulated - theory) < 5 * scatter + 0.1 * theory)


def test_alpha_and_beta_stay():
    for alpha_0 in (0.5, 20):
        s = setting(alpha_0, d=200)
        assert (s.n, s.N, s.n_0) == (400, 300, 200 * alpha_0)
