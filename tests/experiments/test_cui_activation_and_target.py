"""The experiment runs in small: a step helps whether or not the activation is the target's function."""

import numpy as np
from cui_activation_and_target import ACTIVATIONS, COLUMNS, TARGETS, experiment


def test_the_experiment_in_small():
    table = experiment(d=60, repeats=6)
    assert table.shape == (len(ACTIVATIONS), len(TARGETS), len(COLUMNS))
    before, first, first_error, after, second, second_error = np.moveaxis(table, -1, 0)
    assert np.all(after[:2] < before[:2])
    for theory, simulated, error in ((before, first, first_error), (after, second, second_error)):
        assert np.all(np.abs(simulated - theory) < 5 * error + 0.1 * theory)
