"""The signature explorer: four panels that follow one slider, and a page that stays light."""

import dataclasses

import numpy as np
import pytest

from onestep_lib import Setting
from onestep_lib.figures import signature_explorer, step_portrait

EXPONENTS = np.array([0.0, 0.3, 0.6])


@pytest.fixture(scope="module")
def portrait():
    setting = Setting(n=300, d=60, N=90, target=(0, 1, 0.5), activation="softplus", step=300**EXPONENTS)
    return step_portrait(setting, np.random.default_rng(0), np.linspace(-2, 2, 9), repeats=2, test_size=1000)


def test_four_panels_follow_one_slider(portrait):
    explorer = signature_explorer(portrait, "One step", "Move it.", initial=0.3)
    assert explorer.start == (1,)
    assert [panel.title for panel in explorer.panels] == [
        "The weights",
        "The features",
        "The learned function",
        "The losses",
    ]
    plain = signature_explorer(portrait, "One step", initial=300**0.3, plain=True)
    assert [panel.title for panel in plain.panels] == ["The learned function", "The losses"]
    assert plain.start == (1,)
    assert plain.readout_texts([2])[-1] == explorer.readout_texts([2])[-1]
    first, last = explorer.paths([0]), explorer.paths([2])
    moved = [a != b for a, b in zip(first, last, strict=True)]
    assert sum(moved) >= 7  # bulk and outside of two spectra, network, two dots on the curves
    assert [explorer.readout_texts([k])[0] for k in range(3)] == portrait.regimes.tolist()
    assert explorer.readout_texts([2])[2] == f"{portrait.theory.test[2]:.2f}"


def test_every_value_is_in_the_bulk_or_outside(portrait):
    explorer = signature_explorer(portrait, "One step")
    for panel, values in zip(explorer.panels[:2], (portrait.weights, portrait.features), strict=True):
        bars, dots, edge = (series.columns() for series in panel.series)
        outside = np.isfinite(dots["x"]).sum(axis=1)
        assert np.all(dots["x"][np.isfinite(dots["x"])] > edge["x"][0])
        below = values < bars["edges"][0]  # the few smallest, off the panel
        assert below.mean() < 0.01
        np.testing.assert_array_equal(
            bars["heights"].sum(axis=1) + outside + below.sum(axis=1), values.shape[1]
        )


def test_it_is_light(portrait):
    assert len(signature_explorer(portrait, "One step")._repr_html_()) < 60_000


def test_a_step_of_zero_is_refused(portrait):
    bad = dataclasses.replace(portrait, setting=portrait.setting.replace(step=[0.0, 1.0, 2.0]))
    with pytest.raises(ValueError, match="portrait must have step sizes > 0"):
        signature_explorer(bad, "One step")
