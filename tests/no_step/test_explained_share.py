"""The share of a degree that random features explain: regression on samples, and chapter 1's bound."""

import numpy as np
import pytest

from onestep_lib import Activation
from onestep_lib.activations import activation
from onestep_lib.hermite import hermite
from onestep_lib.no_step import explained_share, representable_share

NEURON = Activation("relu(x + 1/2)", lambda x: np.maximum(x + 0.5, 0), kinks=(-0.5,))


def unit_rows(count, d, rng):
    W = rng.standard_normal((count, d))
    return W / np.linalg.norm(W, axis=1, keepdims=True)


@pytest.mark.parametrize("sigma", [NEURON, activation("tanh")], ids=["relu", "tanh"])
@pytest.mark.parametrize("degree", [1, 2, 3])
def test_against_regression_on_many_samples(sigma, degree, deviation):
    rng = np.random.default_rng(degree)
    W, direction = unit_rows(5, 12, rng), unit_rows(1, 12, rng)[0]
    X = rng.standard_normal((200_000, 12))
    F = sigma(X @ W.T)
    F -= F.mean(axis=0)
    y = hermite(degree, X @ direction)[degree]
    fitted = F @ np.linalg.lstsq(F, y)[0]
    share = explained_share(W, direction, sigma, degree)
    print(f"{sigma.name}, degree {degree}: {share:.5f}, regression {np.mean(fitted**2) / np.mean(y**2):.5f}")
    # Five noise features alone explain 5/200000 of anything; labels of degree three scatter most.
    found = np.mean(fitted**2) / np.mean(y**2)
    assert found == pytest.approx(share, rel=0.06, abs=1e-4)
    deviation("floors.explained_share", "regression on 200 000 samples", share, found, scale=1e-4 / 0.06)


def test_no_features_beat_the_bound_of_chapter_1():
    rng = np.random.default_rng(0)
    for degree in (1, 2, 3):
        shares = [
            explained_share(unit_rows(20, 10, rng), unit_rows(1, 10, rng)[0], NEURON, degree)
            for _ in range(200)
        ]
        se = np.std(shares, ddof=1) / np.sqrt(200)
        assert np.mean(shares) < representable_share(degree, 20, 10) + 3 * se


def test_a_linear_activation_explains_a_projection(deviation):
    rng = np.random.default_rng(1)
    W, direction = unit_rows(3, 8, rng), unit_rows(1, 8, rng)[0]
    basis, _ = np.linalg.qr(W.T)
    expected = np.sum((basis.T @ direction) ** 2)
    found = explained_share(W, direction, activation("identity"), 1)
    assert found == pytest.approx(expected, rel=1e-10)
    deviation("floors.explained_share", "projection, linear activation", found, expected)
    assert explained_share(W, direction, activation("identity"), 2) < 1e-25
