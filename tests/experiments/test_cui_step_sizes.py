"""The experiment runs in small: a best step lies inside, and more samples in the gradient make it larger."""

import numpy as np
from cui_step_sizes import best_rate, experiment


def test_the_experiment_in_small():
    tables = experiment(rates=(0, 4, 64), d=60, repeats=6)
    assert tables.shape == (2, 3, 4)
    _, theory, simulated, error = np.moveaxis(tables, -1, 0)
    assert np.all(theory[:, 1] < theory[:, 0])
    assert np.all(theory[:, 1] < theory[:, 2])
    assert np.all(np.abs(simulated - theory) < 5 * error + 0.1 * theory)


def test_more_samples_allow_a_larger_step():
    few, many = best_rate(1), best_rate(10)
    print(f"best step over sqrt(N): {few:.2f} at n_0 = n, {many:.2f} at 10 n")
    assert 0.1 < few < many < 10
