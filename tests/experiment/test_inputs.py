"""Beyond the theories' assumptions: other inputs, a reused batch, several steps."""

import numpy as np
import pytest
from scipy import stats
from scipy.signal import lfilter

from onestep_lib import Setting, random_features, simulate
from onestep_lib.experiment import (
    SAMPLERS,
    feature_matrix,
    gradient_step,
    initial_network,
    sample_batch,
    sample_direction,
    sample_inputs,
)
from onestep_lib.experiment.network import scheduled_steps
from onestep_lib.settings import THEORY_INPUTS

BASE = Setting(n=300, d=60, N=200, activation="tanh", target=(0, 1, 0.5), noise=0.5, ridge=0.1)


@pytest.mark.parametrize("inputs", SAMPLERS)
def test_every_distribution_is_centred_with_unit_variances(inputs):
    X = sample_inputs(BASE.replace(inputs=inputs, d=40), 40_000, np.random.default_rng(1))
    assert X.shape == (40_000, 40)
    assert np.max(np.abs(X.mean(axis=0))) < 5 / np.sqrt(40_000)
    kurtosis = np.mean(X**4, axis=0)
    z = (np.mean(X**2, axis=0) - 1) / np.sqrt((kurtosis - 1 + 1e-12) / 40_000)
    assert np.max(np.abs(z)) < 5 or inputs == "rademacher"
    if inputs != "correlated":
        covariance = X.T @ X / 40_000
        off_diagonal = covariance - np.diag(np.diag(covariance))
        assert np.max(np.abs(off_diagonal)) < 0.05


def test_correlated_inputs_are_an_autoregression():
    X = SAMPLERS["correlated"](7, 30, np.random.default_rng(4))
    innovations = np.random.default_rng(4).standard_normal((7, 30)) * np.append(1, np.full(29, 0.75**0.5))
    np.testing.assert_allclose(X, lfilter([1], [1, -0.5], innovations, axis=1), rtol=1e-13, atol=1e-14)


def test_student_inputs_have_a_fluctuating_length():
    X = sample_inputs(BASE.replace(inputs="student"), 50_000, np.random.default_rng(3))
    # |x|^2/d = (chi^2_60/60) (3/chi^2_5) = (3/5) F(60, 5), in law.
    quantiles = np.quantile(np.sum(X**2, axis=1) / 60, [0.1, 0.5, 0.9])
    np.testing.assert_allclose(quantiles, 0.6 * stats.f(60, 5).ppf([0.1, 0.5, 0.9]), rtol=0.02)


def test_digits_are_refused_beyond_their_dimension():
    with pytest.raises(ValueError, match=r"d must be at most 40 for inputs='digits', got 61"):
        sample_inputs(BASE.replace(d=61, inputs="digits"), 5, np.random.default_rng(0))


def test_theories_refuse_what_they_do_not_cover():
    for inputs in set(SAMPLERS) - set(THEORY_INPUTS):
        with pytest.raises(ValueError, match=f"inputs must be one of 'gaussian', 'spherical'.*{inputs}"):
            random_features(BASE.replace(inputs=inputs))
    with pytest.raises(ValueError, match="fresh must be True and updates 1 for a theory with a step"):
        BASE.replace(step=1.0, fresh=False).require_theory()
    with pytest.raises(ValueError, match="updates=3"):
        BASE.replace(step=1.0, updates=3).require_theory()


def test_a_reused_batch_makes_the_training_loss_too_good():
    stepped = BASE.replace(step=4.0)
    fresh = simulate(stepped, np.random.default_rng(5), repeats=12)
    reused = simulate(stepped.replace(fresh=False), np.random.default_rng(5), repeats=12)
    # The ridge batch is the same in both; only the gradient's batch differs.
    gap = fresh.draws[:, 0] - reused.draws[:, 0]
    assert gap.mean() / (gap.std(ddof=1) / np.sqrt(12)) > 5


def test_at_step_zero_protocols_agree_draw_by_draw():
    fresh = simulate(BASE, np.random.default_rng(6), repeats=3)
    reused = simulate(BASE.replace(fresh=False, updates=4), np.random.default_rng(6), repeats=3)
    assert np.array_equal(fresh.draws, reused.draws)


@pytest.mark.parametrize("output", ["centred", "scaled", "raw"])
def test_two_updates_are_two_gradient_steps_on_the_loss(output, deviation):
    setting = Setting(n=12, d=4, N=3, activation="tanh", target=(0, 1), output=output)
    rng = np.random.default_rng(7)
    network = initial_network(setting, rng)
    X, y = rng.standard_normal((12, 4)), rng.standard_normal(12)
    a, initial = network.readout, feature_matrix(network.weights, X, network.activation) @ network.readout
    scale = {"centred": 1.0, "raw": 1.0, "scaled": 1 / np.sqrt(3)}[output]
    offset = initial if output == "centred" else 0.0

    def loss(W):
        f = scale * np.tanh(X @ W.T) @ a - offset
        return np.sum((y - f) ** 2) / (2 * 12 * scale)

    W = network.weights.copy()
    for _ in range(2):
        slope = np.empty_like(W)
        for index in np.ndindex(*W.shape):
            moved = np.zeros_like(W)
            moved[index] = 1e-5
            slope[index] = (loss(W + moved) - loss(W - moved)) / 2e-5
        W = W - 0.7 * slope
    stepped = scheduled_steps(network, [(X, y)] * 2, [0.7] * 2, output)
    np.testing.assert_allclose(stepped.weights, W, rtol=0, atol=1e-8)
    deviation("network.scheduled_steps", "central differences of the loss", stepped.weights, W, scale=1)
    once = scheduled_steps(network, [(X, y)], [0.7], output)
    np.testing.assert_array_equal(once.weights, gradient_step(network, X, y, 0.7, output).weights)


def test_many_small_steps_are_one_step_to_first_order():
    """Two steps of eta/2 differ from one of eta by O(eta^2): halving eta divides the gap by four."""
    setting = Setting(n=200, d=20, N=30, activation="tanh", target=(0, 1, 0.5), noise=0.1)
    rng = np.random.default_rng(8)
    network = initial_network(setting, rng)
    X, y = sample_batch(setting, 200, sample_direction(20, rng), rng)

    def gap(eta):
        two = scheduled_steps(network, [(X, y)] * 2, [eta / 2] * 2).weights
        return np.linalg.norm(two - gradient_step(network, X, y, eta).weights)

    assert gap(0.02) / gap(0.01) == pytest.approx(4, rel=0.02)
