"""Test error against the samples, and against the penalty, before and after one step: theory and networks."""

import numpy as np

from onestep_lib import Setting, one_step, simulate

D = 200
PEAKED = Setting(D, D, D, "tanh", (0, 1), noise=0.3, ridge=1e-3, readout="signs", step=[0, np.sqrt(D)])
RATIOS = (0.3, 0.6, 0.9, 1.0, 1.1, 1.5, 3.0)
LINEAR = Setting(400, 200, 300, "tanh", (0, 1), noise=0.5, ridge=0.1, step=[0, 0.5 * np.sqrt(300)])


def at(ratio):
    return PEAKED.replace(n=round(ratio * D))


def test_the_error_peaks_where_samples_and_neurons_are_as_many():
    """Double descent along n/d at N = d, before the step and after it; the step helps from n = d on.

    With a third of the samples its direction is noise, and costs.
    """
    curves = np.array([one_step(at(ratio)).test for ratio in RATIOS])
    print(curves.round(3))
    for curve in curves.T:
        assert RATIOS[np.argmax(curve)] in (0.9, 1.0, 1.1)
        assert curve[RATIOS.index(1.0)] > 1.5 * curve[-1]
    gain = curves[:, 0] - curves[:, 1]
    assert np.all(gain[:2] < 0)
    assert np.all(gain[2:] > 0)


def test_the_best_penalty_before_and_after():
    """Both curves have a minimum inside, networks within a step of the grid; the step gains at the best."""
    penalties = np.geomspace(1e-3, 10, 9)
    setting = LINEAR.replace(ridge=penalties)
    theory, found = one_step(setting).test, simulate(setting, np.random.default_rng(14), 8).test
    places, seen = theory.argmin(axis=1), found.argmin(axis=1)
    print(penalties[places], penalties[seen], theory.min(axis=1), found.min(axis=1))
    assert np.all((places > 0) & (places < penalties.size - 1))
    assert np.all(np.abs(places - seen) <= 1)
    before, after = theory.min(axis=1)
    assert after < 0.8 * before
