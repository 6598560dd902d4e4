"""One network of finite size: predicted means and intervals against single simulated networks."""

import json
from dataclasses import replace
from importlib import resources

import numpy as np
import pytest
from experiments import scaled_output_pairs, single_networks
from stored_numbers import stored_data

from onestep_lib import Setting, simulate
from onestep_lib.beyond import predicted_losses, scaled_output_shift
from onestep_lib.beyond.finite_size import SCATTER_SOURCES
from onestep_lib.large_step import stepped_features
from onestep_lib.repeats import mean_and_error
from onestep_lib.settings import LOSSES
from onestep_lib.spiked_features import solve_spiked

SMALL = Setting(
    n=500, d=200, N=100, activation="tanh", target="sin", noise=0.1, rows="spherical", readout="signs",
    step=30, ridge=0.002,
)  # fmt: skip
STORED = json.loads(resources.files("onestep_lib").joinpath("datasets/single_networks.json").read_text())
PAIRS = stored_data("scaled_output_pairs")


def test_single_networks_fall_into_their_intervals(deviation):
    networks, means, deviations = (
        np.array([row[key] for row in STORED]) for key in ("networks", "means", "deviations")
    )
    z = (networks - means[:, None]) / deviations[:, None]
    inside = np.mean(np.abs(z) < 1.96, axis=(0, 1))
    print("inside:", inside, "of the first networks:", np.mean(np.abs(z[:, 0]) < 1.96, axis=0))
    # 400 networks: one standard error of the share is 1.1 per cent.
    assert np.all(np.abs(inside - 0.95) < 0.03)
    assert np.all(np.abs(np.mean(np.abs(z[:, 0]) < 1.96, axis=0) - 0.95) <= 0.03 + 1e-9)
    assert np.all(np.abs(np.sqrt(np.mean(z**2, axis=(0, 1))) - 1) < 0.1)
    # Neither high nor low on average.
    assert np.all(np.abs(z.mean(axis=(0, 1))) < 0.15)
    deviation(
        "finite_size.predicted_losses", "400 single networks", networks, means[:, None], deviations[:, None]
    )


@pytest.mark.parametrize("k", [3, 71, 140])
def test_stored_networks_are_drawn_afresh(k):
    found, row = single_networks.entry(k), STORED[k]
    for key, value in found.items():
        if key in ("networks", "means", "deviations"):
            np.testing.assert_allclose(value, row[key], rtol=1e-6)
        else:
            assert np.all(np.asarray(value) == np.asarray(row[key]))


@pytest.mark.parametrize("output", [pytest.param("centred", marks=pytest.mark.slow), "scaled"])
def test_mean_and_scatter_of_the_size_that_was_asked_for(output, deviation):
    setting, repeats = SMALL.replace(output=output), 300
    predicted = predicted_losses(setting, test_size=1000)
    draws = simulate(setting, np.random.default_rng(4), repeats, test_size=1000).draws
    for k, name in enumerate(LOSSES):
        spread = draws[:, k].std(ddof=1)
        z = (draws[:, k].mean() - predicted.losses[name][0]) / (spread / np.sqrt(repeats))
        print(output, name, f"z = {z:.2f}, spread {spread / predicted.deviation(name):.3f} of the predicted")
        assert abs(z) < 3
        assert abs(spread / predicted.deviation(name) - 1) < 0.13
        deviation("finite_size.predicted_losses", f"mean of 300, {output}", z, 0, 1)


@pytest.mark.parametrize(
    ("changes", "rate"),
    [
        ({}, 0.5),
        ({}, 3),
        ({"activation": "relu", "target": (0, 1, 0.5), "ridge": 0.05}, 1),
        ({"N": 100}, 1),
        ({"target": (0, 1), "ridge": 0.05}, 1),
        pytest.param(
            {"target": (0, 1, 0, 0.3), "N": 120, "d": 300, "ridge": 0.05}, 1, marks=pytest.mark.slow
        ),
    ],
)
def test_a_scaled_output_against_a_centred_one(changes, rate, deviation):
    setting = SMALL.replace(N=50).replace(**changes)
    setting = setting.replace(step=rate * setting.N**0.5)
    both = [
        simulate(setting.replace(output=kind), np.random.default_rng(5), 150, test_size=500).draws
        for kind in ("scaled", "centred")
    ]
    change = both[0] - both[1]
    mean, error = change.mean(axis=0), change.std(axis=0, ddof=1) / np.sqrt(150)
    shift = scaled_output_shift(setting)
    expected = np.array([shift.train, shift.test, shift.objective])
    print(changes, rate, mean, expected, (mean - expected) / error)
    # Of the next order in 1/N.
    assert np.all(np.abs(mean - expected) < 3 * error + 4 / setting.N * np.abs(expected))
    deviation("finite_size.scaled_output_shift", f"pairs, rate {rate}", mean, expected, error)


def test_labels_of_uneven_size_need_the_whole_bulk(deviation):
    """He_3 makes rows long along the spike, M larger, and the shift by a fifth: for the isotropic bulk it
    would be -0.231, -0.280, -0.252 here."""
    shift = scaled_output_shift(scaled_output_pairs.SETTING)
    found = scaled_output_pairs.SETTING.N * np.array([shift.train, shift.test, shift.objective])
    changes = np.reshape(PAIRS["changes"], (-1, len(LOSSES)))
    expected, error = mean_and_error(changes)
    print(found, expected, error)
    # Four per cent are the curvature in the numbers of the batch.
    assert np.all(np.abs(found - expected) < 2 * error + 0.04 * np.abs(expected))
    route = f"{len(changes)} stored pairs, He_1 + 0.3 He_3"
    deviation("finite_size.scaled_output_shift", route, found, expected, error)


@pytest.mark.parametrize("k", [0, 117])
def test_stored_pairs_are_drawn_afresh(k):
    np.testing.assert_allclose(scaled_output_pairs.block(k), PAIRS["changes"][k], atol=1e-3)


@pytest.mark.parametrize(("labels", "rate"), [((0, 1), 1), ((0, 1, 0, 0.3), 1), ("sin", 2)])
def test_a_vector_that_all_rows_share_is_a_longer_spike(labels, rate, deviation):
    """In a random direction: r^2 grows by its squared length, and the alignment falls."""
    setting = SMALL.replace(N=40_000, d=80_000, n=200_000, target=labels, step=rate * 200, ridge=0.05)
    model = stepped_features(setting, float(setting.steps), "isotropic")
    at, noise = (setting.phi, setting.psi, 0.05, setting.d), 5.0
    longer = np.sqrt(1 + noise / setting.N / model.spikes[0] ** 2)
    spiked = replace(model, spikes=model.spikes * longer, alignment=model.alignment / longer)
    base, other = solve_spiked(model, *at), solve_spiked(spiked, *at)
    noisy = solve_spiked(model, *at, mean_noise=noise / np.outer(model.scales, model.scales))
    found, expected = (
        np.array([one.train - base.train, one.test - base.test, one.objective - base.objective])
        for one in (noisy, other)
    )
    print(labels, rate, found / expected)
    # What is of second order in the vector: its part in the rows' lengths, and in their squares.
    np.testing.assert_allclose(found, expected, rtol=0.07)
    deviation("losses.solve_spiked", "noise of the means, as a longer spike", found, expected)


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


def test_a_wide_network_needs_no_shift():
    shifts = [scaled_output_shift(SMALL.replace(N=N, step=2 * N**0.5)).test for N in (100, 1000, 10_000)]
    assert abs(shifts[1]) < 0.3 * abs(shifts[0])
    assert abs(shifts[2]) < 0.3 * abs(shifts[1])


def test_what_it_does_not_cover_is_refused():
    for changes, message in (
        ({"readout": "gaussian"}, "readout must be 'signs' or a vocabulary"),
        ({"step": [1, 2]}, "step and ridge must be one number each"),
        ({"target": (0.3, 1)}, "target must"),
        ({"inputs": "student"}, "inputs must be"),
    ):
        with pytest.raises(ValueError, match=message):
            predicted_losses(SMALL.replace(**changes))
    with pytest.raises(ValueError, match="level must lie in"):
        predicted_losses(SMALL).interval("test", 1.0)
