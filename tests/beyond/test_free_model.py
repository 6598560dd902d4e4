"""Spiked random features drawn from their model against the theory, over overlaps, sizes and vocabularies."""

from dataclasses import replace

import numpy as np
import pytest

from onestep_lib import Setting, random_features
from onestep_lib.activations import activation, target
from onestep_lib.beyond import simulate_model
from onestep_lib.spiked_features import SpikedModel, free_losses, spiked_losses
from onestep_lib.spiked_features.model import TwoIndexTarget

# One to four values, with the shares; the mean square of each is 1.
VOCABULARIES = {
    1: ([1.0], [1.0]),
    2: ([1.0, -1.0], [0.5, 0.5]),
    3: ([-1.5, 0.0, 1.5], [2 / 9, 5 / 9, 2 / 9]),
    4: (np.array([-3.0, -1.0, 1.0, 3.0]) / np.sqrt(5), [0.25] * 4),
}
SIZES = 400, 200, 300
RATIOS = 0.5, 2 / 3


def model(values=2, sigma="tanh", **changes):
    spikes, fractions = VOCABULARIES[values]
    fields = {"target": target("sin"), "noise": 0.3, "row_variance": 0.0} | changes
    return SpikedModel(activation(sigma), spikes, fractions, **fields)


def z_scores(one, theory, seed, repeats):
    found = simulate_model(one, *SIZES, [0.01, 0.1], np.random.default_rng(seed), repeats, test_size=1500)
    return np.array([(found[name][0] - theory[name][0]) / found[name][1] for name in ("train", "test")])


def check(z, note, deviation):
    rms = np.sqrt(np.mean(np.square(z)))
    print(f"{note}: {np.size(z)} numbers, rms z {rms:.2f}, largest {np.abs(z).max():.1f}")
    deviation("losses.free_losses", f"drawn features, n = {SIZES[0]}: {note}", z, 0, 1)
    deviation("free_model.simulate_model", "free_losses, n = 400", z, 0, 1)
    assert rms < 1.8
    assert np.abs(z).max() < 4.5


@pytest.mark.parametrize("values", VOCABULARIES)
@pytest.mark.parametrize("sigma", ["tanh", "centred relu"])
def test_vocabularies(values, sigma, deviation):
    z = []
    for seed, (gamma, r) in enumerate(((0.9, 1.0), (0.5, 2.0))):
        one = model(values, sigma)
        theory = free_losses(one, gamma, r, *RATIOS, [0.01, 0.1], d=SIZES[1])
        drawn = replace(one, alignment=gamma, spikes=r * one.spikes)
        z.append(z_scores(drawn, theory, 10 * values + seed, 16))
    check(z, f"{sigma}, {values} values", deviation)


@pytest.mark.slow
@pytest.mark.parametrize("values", VOCABULARIES)
def test_a_grid_of_overlaps_and_sizes(values, deviation):
    z = []
    gammas, strengths = (0.0, 0.3, 0.6, 0.9, 1.0), (0.0, 0.5, 1.0, 2.0, 4.0)
    for i, gamma in enumerate(gammas):
        for j, r in enumerate(strengths):
            one = model(values, "softplus", row_variance=1.0)
            theory = free_losses(one, gamma, r, *RATIOS, [0.01, 0.1], d=SIZES[1])
            drawn = replace(one, alignment=gamma, spikes=r * one.spikes)
            z.append(z_scores(drawn, theory, 100 * i + j, 24))
    check(z, f"softplus, Gaussian rows, {values} values, 5 x 5 overlaps and sizes", deviation)


def test_two_directions(deviation):
    labels = TwoIndexTarget(lambda kappa, z: np.tanh(kappa) + 0.7 * kappa * z)
    one = model(2, target=labels)
    theory = spiked_losses(one, *RATIOS, [0.01, 0.1], SIZES[1])
    check(z_scores(one, theory, 5, 16), "a target of two directions", deviation)


def test_free_losses_are_those_of_the_models_they_name():
    one = model(3)
    found = free_losses(one, [[0.2], [-0.8]], [0.0, 1.5, 3.0], *RATIOS, 0.1)
    assert found.test.shape == (2, 3)
    for (i, j), test in np.ndenumerate(found.test):
        gamma, r = (0.2, -0.8)[i], (0.0, 1.5, 3.0)[j]
        alone = replace(one, alignment=gamma, spikes=r * one.spikes)
        assert test == pytest.approx(spiked_losses(alone, *RATIOS, 0.1).test, rel=1e-10)
    # Without a spike the overlap means nothing, and the features are random ones.
    assert found.test[0, 0] == pytest.approx(found.test[1, 0], rel=1e-9)
    s = Setting(n=400, d=200, N=300, activation="tanh", target="sin", noise=0.3, ridge=0.1)
    assert found.test[0, 0] == pytest.approx(random_features(s).test, rel=1e-8)
    assert isinstance(free_losses(one, 0.2, 1.0, *RATIOS, 0.1).test, float)
