"""Rows with a common component: the limit of none, a linear network, more nodes, and refusals."""

import numpy as np
import pytest

from onestep_lib import Setting, one_step, random_features
from onestep_lib.beyond import shared_features, shared_rows
from onestep_lib.settings import LOSSES

S = Setting(n=400, d=200, N=300, target=(0, 1, 0.5), noise=0.3, ridge=[0.01, 0.1])


def test_without_a_common_component_they_are_random_features(deviation):
    # An activation with a mean has the penalty on it, of order 1/d, besides.
    for activation in ("tanh", "centred relu"):
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


@pytest.mark.parametrize("activation", ["tanh", "centred relu", "softplus"])
@pytest.mark.parametrize("rows", ["gaussian", "spherical"])
def test_without_a_common_component_a_step_is_that_of_one_curve(activation, rows, deviation):
    """But for the lengths that the step itself gives to the rows, which grow with it."""
    s = S.replace(activation=activation, rows=rows, readout="signs", step=[0, 4, 9, 35])
    found, expected = shared_features(s), one_step(s)
    for kind in ("train", "test"):
        gap = np.abs(found[kind][0] / expected[kind][0] - 1)
        assert np.all(gap < np.array([1e-8, 2e-3, 5e-3, 1.5e-2])[:, None])
        deviation("shared_rows.shared_features", "one_step at s = 0", found[kind][0], expected[kind][0])


def test_more_nodes_change_little(monkeypatch, deviation):
    s = S.replace(shared=0.75, target="sign", rows="spherical", readout=[1, 2, -0.5], step=[8, 70])
    found = shared_features(s).test
    nodes = np.linspace(-8, 8, 161)
    mass = np.exp(-(nodes**2) / 2)
    monkeypatch.setattr(shared_rows, "_NODES", nodes)
    monkeypatch.setattr(shared_rows, "_MASS", mass / mass.sum())
    finer = shared_features(s).test
    np.testing.assert_allclose(found, finer, rtol=1e-4)
    deviation("shared_rows.shared_features", "more nodes", found, finer)


@pytest.mark.parametrize("change", [{"readout": "gaussian"}, {"output": "raw", "readout": "signs"}])
def test_a_step_needs_few_readouts_and_a_small_output(change):
    with pytest.raises(ValueError, match="output must be 'centred' or 'scaled' and readout 'signs' or a voc"):
        shared_features(S.replace(shared=0.5, step=3.0, **change))
