"""Rows with a common component: the limit of none, simulation, and refusals."""

import numpy as np

from onestep_lib import Setting, random_features
from onestep_lib.beyond import shared_features
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
