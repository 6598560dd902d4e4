"""Rows with a common component: the limit of none, simulation, and refusals."""

import numpy as np
import pytest

from onestep_lib import Setting, random_features, simulate
from onestep_lib.beyond import shared_features
from onestep_lib.beyond.shared_rows import shared_model
from onestep_lib.settings import LOSSES

S = Setting(n=400, d=200, N=300, target=(0, 1, 0.5), noise=0.3, ridge=[0.01, 0.1])


def test_without_a_common_component_they_are_random_features(deviation):
    for activation in ("tanh", "relu"):
        s = S.replace(activation=activation)
        found, expected = shared_features(s), random_features(s)
        for kind in LOSSES:
            np.testing.assert_allclose(found[kind][0], expected[kind][0], rtol=1e-8)
        deviation("shared_rows.shared_features", "random_features at s = 0", found.test, expected.test)


def test_a_linear_network_sees_shorter_rows():
    """Features X W^T: what is left of a row is sqrt(1 - s) long, which is a penalty 1/(1 - s) larger."""
    s = S.replace(activation="identity", shared=0.6)
    same = random_features(s.replace(shared=0.0, ridge=S.ridges / 0.4))
    np.testing.assert_allclose(shared_features(s).test, same.test, rtol=1e-8)
    np.testing.assert_allclose(shared_features(s).objective, same.objective, rtol=1e-8)


@pytest.mark.parametrize(
    ("activation", "rows", "shared", "seed"),
    [("tanh", "gaussian", 0.5, 1), ("relu", "spherical", 0.1, 2), ("abs", "gaussian", 0.9, 3)],
)
def test_against_simulation(activation, rows, shared, seed, deviation):
    s = S.replace(activation=activation, rows=rows, shared=shared)
    found, theory = simulate(s, np.random.default_rng(seed), repeats=40, test_size=2000), shared_features(s)
    z = [(found[kind][0] - theory[kind][0]) / found[kind][1] for kind in LOSSES]
    print(f"{activation} {rows} s = {shared}: z {np.round(z, 1).tolist()}")
    assert np.abs(z).max() < 4
    deviation("shared_rows.shared_features", f"{activation}, s = {shared}, n = 400, 40 repeats", z, 0, 1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"step": 1.0}, "step must be 0 for rows with a common component, got 1.0"),
        ({"inputs": "spherical"}, "inputs must be 'gaussian' here"),
        ({"target": (1.0, 1.0)}, "target must have mean zero"),
    ],
)
def test_refusals(change, message):
    with pytest.raises(ValueError, match=message):
        shared_model(S.replace(shared=0.2, **change))
