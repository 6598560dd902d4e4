"""Portraits: spectra against the limit and against other draws' code, regimes that only go up, refusals."""

import numpy as np
import pytest

from onestep_lib import Setting, one_step, simulate, simulate_spectrum
from onestep_lib.experiment import learned_profile
from onestep_lib.figures import step_portrait
from onestep_lib.large_step.one_curve import step_regimes
from onestep_lib.small_step import weight_spectrum

EDGES = np.linspace(-2, 2, 5)
STEPS = 400 ** np.array([0.0, 0.25, 0.4, 0.6])
S = Setting(n=400, d=100, N=150, activation="softplus", target=(0, 1, 0.5), noise=0.3, ridge=0.1, step=STEPS)


@pytest.fixture(scope="module")
def portrait():
    return step_portrait(S, np.random.default_rng(1), EDGES, repeats=3, test_size=1000)


def test_the_weights_have_the_outlier_of_the_limit(portrait):
    limit = weight_spectrum(S)
    assert portrait.weights.shape == (4, 100)
    assert portrait.weight_edge == limit.edge
    assert np.all(np.diff(portrait.weights, axis=1) <= 0)
    # One draw of d = 100 inputs: |b|^2 scatters by some per cent; for the giant step the limit is not meant.
    np.testing.assert_allclose(portrait.weights[1:3, 0], limit.outlier[1:3], rtol=0.12)


def test_the_features_are_those_of_the_simulator(portrait):
    assert portrait.features.shape == (4, 150)
    one = np.random.default_rng(1).spawn(3)[0]
    values = simulate_spectrum(S.replace(step=STEPS[2]), one)[::-1]
    np.testing.assert_allclose(portrait.features[2], values[:150], rtol=1e-9)


def test_profile_and_losses_are_those_of_their_own_functions(portrait):
    _, profiled, repeated = np.random.default_rng(1).spawn(3)
    profile = learned_profile(S, profiled, EDGES, 3, 1000)
    losses = simulate(S, repeated, 3, test_size=1000)
    np.testing.assert_allclose(portrait.profile.mean, profile.mean)
    np.testing.assert_allclose(portrait.simulated.test, losses.test)
    np.testing.assert_allclose(portrait.theory.test, one_step(S).test)


def test_wide_networks_have_as_many_eigenvalues_as_samples():
    wide = S.replace(n=60, N=90, d=40, step=[1.0, 5.0])
    found = step_portrait(wide, np.random.default_rng(2), [-2, 0, 2], 2, 500)
    assert found.features.shape == (2, 60)
    assert found.weights.shape == (2, 40)


def test_regimes_go_up_and_change_where_they_should(portrait):
    # 400^0.25 = 4.5 lies at the border of the second spike and above the threshold.
    threshold = weight_spectrum(S).threshold
    names = ["random features", "staircase, 1 spike", "staircase, 2 spikes", "staircase, 3 spikes or more"]
    names.append("giant step")
    path = S.replace(step=np.geomspace(0.1, 400, 200))
    order = [names.index(name) for name in step_regimes(path)]
    assert set(order) == set(range(5))
    assert np.all(np.diff(order) >= 0)
    below, above = step_regimes(S.replace(step=[threshold * 0.999, threshold * 1.001]))
    assert (below, above) == tuple(names[:2])
    exact = step_regimes(S.replace(step=400 ** np.array([0.25, 1 / 3, 0.5])))
    assert list(exact) == names[2:]
    assert step_regimes(S.replace(step=0.0)) == "random features"
    assert list(portrait.regimes) == list(step_regimes(S))


def test_a_single_step_and_several_penalties_are_refused():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="step must be a path and ridge one number"):
        step_portrait(S.replace(step=1.0), rng, EDGES)
    with pytest.raises(ValueError, match="step must be a path and ridge one number"):
        step_portrait(S.replace(ridge=[0.1, 1.0]), rng, EDGES)
