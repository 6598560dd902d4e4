"""Readouts from a vocabulary: the law, and every theory that covers it against limits and simulation."""

import numpy as np
import pytest

from onestep_lib import Setting, giant_step, one_step, random_features, simulate, staircase
from onestep_lib.experiment import (
    infinite_spike_features,
    initial_network,
    measured_weight_spectrum,
    sample_batch,
    sample_direction,
    spike_features,
    take_steps,
)
from onestep_lib.initialisation import Vocabulary
from onestep_lib.large_step import stepped_model
from onestep_lib.large_step.one_curve import nearest_setting
from onestep_lib.no_step import feature_law
from onestep_lib.small_step import (
    feature_outliers,
    gradient_spike,
    second_direction,
    spike_norms,
    staircase_gain,
    weight_spectrum,
)
from onestep_lib.small_step.stairs import finite_gain

SMALL = Setting(n=40, d=20, N=30, target=(0, 1, 0.5), noise=0.3)
WORDS = Vocabulary((0.5, -1.0, 2.0, 0.0), (0.4, 0.3, 0.2, 0.1))


def rng(seed=0):
    return np.random.default_rng(seed)


def test_moments_and_draws_have_the_shares():
    z = WORDS.draw(200_000, rng())
    for k in range(5):
        exact = sum(share * value**k for value, share in zip(WORDS.values, WORDS.shares, strict=True))
        assert WORDS.moment(k) == pytest.approx(exact, rel=1e-14)
        assert abs(np.mean(z**k) - exact) < 4 * np.std(z**k) / np.sqrt(z.size) + 1e-15
    network = initial_network(SMALL.replace(readout=WORDS), rng())
    assert set(np.round(np.sqrt(30) * network.readout, 12)) <= set(WORDS.values)


def test_a_sequence_has_equal_shares_and_all_ones_is_a_vocabulary():
    assert SMALL.replace(readout=[1, -2]).readout == Vocabulary((1, -2), (0.5, 0.5))
    network = initial_network(SMALL.replace(readout=[1]), rng())
    np.testing.assert_allclose(network.readout, 1 / np.sqrt(30))
    assert hash(SMALL.replace(readout=[1, -2])) == hash(SMALL.replace(readout=(1.0, -2.0)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"readout": [1, 1]}, r"readout must .* values must be different from each other, got \[1, 1\]"),
        ({"readout": []}, r"readout must .* values must not be empty or all 0"),
        ({"readout": [0.0]}, "readout must .* values must not be empty or all 0"),
        ({"readout": 2}, "readout must be one of 'gaussian', 'signs', a Vocabulary or its values, got 2"),
        ({"rows": np.ones((3, 20))}, r"rows must have the shape \(N, d\) = \(30, 20\), got \(3, 20\)"),
        ({"rows": np.full((30, 20), np.nan)}, "rows must be finite"),
        ({"shared": 1.0}, "shared must be below 1, got 1.0"),
        ({"shared": -0.1}, "shared must be >= 0, got -0.1"),
        ({"shared": 0.1, "rows": np.ones((30, 20))}, "shared must be 0 with rows given by hand, got 0.1"),
    ],
)
def test_wrong_fields_are_named(change, message):
    with pytest.raises(ValueError, match=message):
        SMALL.replace(**change)


THEORIES = (one_step, giant_step, lambda s: staircase(s, 1), gradient_spike, weight_spectrum)


@pytest.mark.parametrize("theory", THEORIES)
def test_theories_refuse_the_outputs_that_do_not_vanish(theory):
    s = Setting(n=40, d=20, N=30, activation="relu", step=1.0, readout=[1])
    with pytest.raises(ValueError, match="output must be 'centred' or 'scaled'"):
        theory(s.replace(output="raw"))
    with pytest.raises(ValueError, match="output must be 'centred' for a readout of mean 1 .* got 'scaled'"):
        theory(s.replace(output="scaled"))
    theory(s.replace(output="scaled", activation="centred relu"))
    theory(s.replace(output="scaled", readout=[1, -1]))


def test_signs_are_a_vocabulary(deviation):
    """Of two equal values: every theory that knows both says the same."""
    for activation, target in (("tanh", "sin"), ("relu", (0, 1, 0.4))):
        s = Setting(n=400, d=200, N=300, activation=activation, target=target, noise=0.3, readout="signs")
        s = s.replace(step=[0.0, 3.0, 20.0])
        for theory in (one_step, giant_step):
            same = theory(s.replace(readout=(1, -1)))
            np.testing.assert_allclose(theory(s).test, same.test, rtol=1e-10)
        np.testing.assert_allclose(spike_norms(s, 3), spike_norms(s.replace(readout=(1, -1)), 3), rtol=1e-12)
        found, expected = (finite_gain(s.replace(readout=readout), 3).test for readout in ((1, -1), "signs"))
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-14)


def test_an_odd_activation_does_not_see_the_signs_of_a_readout():
    s = Setting(n=400, d=200, N=300, noise=0.3, step=[1.0, 20.0])
    np.testing.assert_allclose(
        one_step(s.replace(readout=(1, -2, 2))).test,
        one_step(s.replace(readout=Vocabulary((1, 2), (1 / 3, 2 / 3)))).test,
        rtol=1e-10,
    )


def test_a_longer_readout_is_a_larger_step():
    """eta and |a| enter as their product, whatever the theory."""
    s = Setting(n=400, d=200, N=300, activation="relu", target=(0, 1, 0.4), readout=(1, -1), step=6.0)
    long = s.replace(readout=(2, -2), step=3.0)
    np.testing.assert_allclose(one_step(s).test, one_step(long).test, rtol=1e-10)
    np.testing.assert_allclose(finite_gain(s, 2).test, finite_gain(long, 2).test, rtol=1e-10)
    first, second = weight_spectrum(s), weight_spectrum(long)
    assert first.outlier == pytest.approx(second.outlier, rel=1e-12)
    assert first.threshold == pytest.approx(2 * second.threshold, rel=1e-12)
    np.testing.assert_allclose(
        second_direction(s.replace(step=0.1)).target - 1,
        (second_direction(long.replace(step=0.1)).target - 1) / 4,
    )


def test_linear_features_see_the_power_of_a_readout_alone():
    s = Setting(n=400, d=200, N=300, activation="identity", noise=0.3, step=[1.0, 20.0])
    power = np.sqrt(WORDS.moment(2))
    longer = s.replace(readout="signs", step=power * s.steps)
    np.testing.assert_allclose(one_step(s.replace(readout=WORDS)).test, one_step(longer).test, rtol=1e-10)


@pytest.mark.parametrize("readout", [(1, -1), (1,), (1, -1, 2), (1, -2, 0.5, 0.3)])
@pytest.mark.parametrize("activation", ["tanh", "softplus"])
def test_the_staircase_is_the_limit_of_large_spikes(readout, activation, deviation):
    """Two separate formulas: with p, and with the moments of the readout at a step of 10^7."""
    s = Setting(n=1000, d=600, N=800, activation=activation, target=(0, 1, 0.5, 0.3), step=1e7)
    s = s.replace(readout=readout)
    for level in (1, 2, 3):
        spikes = sum(abs(s.activation.coefficients(level)[1:]) > 1e-12)
        if spikes > len(np.unique(np.abs(readout) if activation == "tanh" else readout)):
            with pytest.raises(ValueError, match="readout must have linearly independent powers"):
                staircase_gain(s, level)
            continue
        found, limit = staircase_gain(s, level), finite_gain(s, level)
        np.testing.assert_allclose(found.test, limit.test, rtol=1e-6)
        np.testing.assert_allclose(found.objective, limit.objective, rtol=1e-6)
        route = "a vocabulary, finite_gain at a step of 1e7"
        deviation("stairs.staircase_gain", route, found.test, limit.test)


def test_weights_and_outliers_of_a_vocabulary(deviation):
    s = Setting(n=2000, d=700, N=900, step=2.5, readout=(1, 2))
    expected, generator, found = weight_spectrum(s), rng(41), []
    for _ in range(6):
        beta = sample_direction(s.d, generator)
        network = initial_network(s, generator)
        (stepped,) = take_steps(network, *sample_batch(s, s.n, beta, generator), s.step)
        one = measured_weight_spectrum(stepped, beta)
        found.append([one.outlier, one.readout, one.direction, one.target])
    mean, error = np.mean(found, axis=0), np.std(found, axis=0, ddof=1) / np.sqrt(6)
    wanted = [expected.outlier, expected.readout, expected.direction, expected.target]
    print(np.round((mean - wanted) / error, 1), np.round(mean, 3), np.round(wanted, 3))
    np.testing.assert_allclose(mean, wanted, rtol=0.02, atol=4 * error.max())
    deviation("weights.weight_spectrum", "readout (1, 2), 6 draws", mean, wanted)
    assert feature_outliers(s, 1).values.size >= 1


def test_too_few_values_for_the_feature_map():
    s = Setting(n=30, d=10, N=20, activation="softplus", step=1.0, readout=(1, -2))
    simulate(s, rng(), repeats=2, feature_map=infinite_spike_features(2), test_size=10)
    with pytest.raises(ValueError, match="readout must have linearly independent powers"):
        simulate(s, rng(), repeats=2, feature_map=infinite_spike_features(4), test_size=10)


def test_correlated_rows_are_refused_by_name():
    shared, given = SMALL.replace(shared=0.2), SMALL.replace(rows=np.ones((30, 20)))
    calls = (random_features, one_step, lambda s: staircase(s, 1), feature_law)
    calls += (weight_spectrum, lambda s: stepped_model(s, 1.0))
    for call in calls:
        with pytest.raises(ValueError, match="shared must be 0 here, got 0.2"):
            call(shared)
        with pytest.raises(ValueError, match="rows must be one of 'gaussian', 'spherical' here, got rows by"):
            call(given)
    assert nearest_setting(given).rows == "gaussian"
    assert nearest_setting(shared) == SMALL


@pytest.mark.parametrize("rows", ["gaussian", "spherical"])
def test_shared_rows_have_the_inner_product(rows):
    s = Setting(n=10, d=2000, N=40, rows=rows, shared=0.3)
    W = initial_network(s, rng(3)).weights
    inner = W @ W.T
    length = np.diag(inner)
    if rows == "spherical":
        np.testing.assert_allclose(length, 1, rtol=1e-12)
    assert abs(length.mean() - 1) < 0.05
    assert abs((inner.sum() - length.sum()) / (40 * 39) - 0.3) < 0.03


def test_given_rows_are_every_repeats_rows():
    W = rng(4).standard_normal((30, 20))
    s = SMALL.replace(rows=W)
    W[:] = 0
    assert initial_network(s, rng(1)).weights.any()
    assert initial_network(s, rng(1)).weights is s.rows.weights
    losses = simulate(s.replace(step=[0, 2.0]), rng(), repeats=2, test_size=50)
    assert losses.test.shape == (2,)


def test_maps_of_a_step_refuse_rows_with_a_common_component():
    s = SMALL.replace(shared=0.2, step=1.0)
    with pytest.raises(ValueError, match="shared must be 0 for features that describe .* got 0.2"):
        simulate(s, rng(), repeats=2, feature_map=spike_features(1))
