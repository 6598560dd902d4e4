"""One network of finite size: predicted means and intervals against single simulated networks."""

import json
from dataclasses import replace
from importlib import resources

import numpy as np
import pytest
from experiments import single_networks

from onestep_lib import Setting, one_step, simulate
from onestep_lib.beyond import predicted_losses
from onestep_lib.beyond.finite_size import SCATTER_SOURCES, of_gradient_batch
from onestep_lib.large_step import stepped_model
from onestep_lib.settings import LOSSES
from onestep_lib.small_step import label_moments
from onestep_lib.spiked_features import spiked_losses

SMALL = Setting(
    n=500, d=200, N=100, activation="tanh", target="sin", noise=0.1, rows="spherical", readout="signs",
    step=30, ridge=0.002,
)  # fmt: skip
STORED = json.loads(resources.files("onestep_lib").joinpath("datasets/single_networks.json").read_text())


@pytest.mark.parametrize("k", [3, 71, 140])
def test_stored_networks_are_drawn_afresh(k):
    found, row = single_networks.entry(k), STORED[k]
    for key, value in found.items():
        if key in ("networks", "means", "deviations"):
            # The bins of the spectrum of H-hat are good to 3e-4.
            np.testing.assert_allclose(value, row[key], rtol=1e-6 if key == "networks" else 3e-4)
        else:
            assert np.all(np.asarray(value) == np.asarray(row[key]))


def test_the_intervals_hold_as_many_networks_as_the_results_say():
    networks, means, deviations = (
        np.array([row[key] for row in STORED]) for key in ("networks", "means", "deviations")
    )
    inside = np.abs(networks - means[:, None]) < 1.96 * deviations[:, None]
    assert inside.shape == (200, 2, len(LOSSES))
    assert (100 * inside.mean(axis=(0, 1))).round().tolist() == [94, 96, 94]
    # 400 networks of a right interval: 95 per cent, with a standard error of 1.1.
    assert np.all(np.abs(inside.mean(axis=(0, 1)) - 0.95) < 3 * np.sqrt(0.95 * 0.05 / 400))
    assert all(100 <= row["n"] <= 1000 for row in STORED)


def test_mean_and_scatter_of_the_size_that_was_asked_for(deviation):
    setting, repeats = SMALL, 300
    predicted = predicted_losses(setting, test_size=1000)
    draws = simulate(setting, np.random.default_rng(4), repeats, test_size=1000).draws
    for k, name in enumerate(LOSSES):
        spread = draws[:, k].std(ddof=1)
        z = (draws[:, k].mean() - predicted.losses[name][0]) / (spread / np.sqrt(repeats))
        print(name, f"z = {z:.2f}, spread {spread / predicted.deviation(name):.3f} of the predicted")
        assert abs(z) < 3
        assert abs(spread / predicted.deviation(name) - 1) < 0.13
        deviation("finite_size.predicted_losses", "mean of 300", z, 0, 1)


def test_each_die_does_what_it_should():
    base = predicted_losses(SMALL)
    assert base.variances.shape == (len(SCATTER_SOURCES), 3)
    quadrupled = predicted_losses(SMALL.replace(n=2000, d=800, N=400, step=60), test_size=8000)
    np.testing.assert_allclose(base.variances[:3] / quadrupled.variances[:3], 4, rtol=0.25)
    larger_batch = predicted_losses(SMALL.replace(n_0=2000))
    assert np.all(larger_batch.variances[0] < 0.4 * base.variances[0])
    measured = predicted_losses(SMALL, test_size=20_000)
    np.testing.assert_allclose(measured.variances[3, 1] * 10, base.variances[3, 1])
    np.testing.assert_allclose(measured.variances[:3], base.variances[:3])
    # Without a step the batch of the gradient does not matter.
    assert np.all(predicted_losses(SMALL.replace(step=0)).variances[0] < 1e-12)


@pytest.mark.slow
def test_the_batch_of_the_step_lowers_a_gaussian_readout_s_loss():
    """The page of results, for sin: the theory averaged over drawn batches, less that at their means."""
    d = 200
    s = Setting(2 * d, d, 3 * d, "sin", (0, 1, 0, 0.3), noise=0.3, ridge=0.03, step=3 * (3 * d) ** 0.5)
    model, labels = stepped_model(s, float(s.steps), "isotropic"), label_moments(s.target, s.noise)
    rng = np.random.default_rng(6)

    def theory(one):
        return spiked_losses(one, s.phi, s.psi, s.ridge, d, 1e-8).test

    rows = []
    for _ in range(60):
        x = rng.standard_normal(s.n)
        y = s.target(x) + s.noise * rng.standard_normal(s.n)
        batch = np.mean(x * y), np.mean(y * y), rng.chisquare(d - 1) / d
        power = batch[0] ** 2 + s.phi * batch[1] * batch[2]
        drawn = replace(
            model,
            spikes=model.spikes * np.sqrt(power / labels.direction_power(s.phi)),
            alignment=batch[0] / np.sqrt(power),
            scales=np.sqrt(1 + (model.scales**2 - 1) * batch[1] / labels.square),
        )
        rows.append([theory(drawn), *batch])
    rows = np.array(rows)
    # What is linear in the three numbers has a known mean, and is taken out.
    moved = np.column_stack([np.ones(60), rows[:, 1:] - [labels.linear, labels.square, 1 - 1 / d]])
    fit = np.linalg.lstsq(moved, rows[:, 0], rcond=None)[0]
    error = np.std(rows[:, 0] - moved @ fit, ddof=4) / 60**0.5
    (_, found, _), _ = of_gradient_batch(s, model)
    print(found, fit[0] - theory(model), error)
    assert abs(fit[0] - theory(model) - found) < 3.5 * error
    assert found / one_step(s).test == pytest.approx(-0.014, abs=5e-4)
