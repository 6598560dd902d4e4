"""Inputs, directions and batches: their distributions, their streams, their refusals."""

import numpy as np
import pytest

from onestep_lib import Setting
from onestep_lib.experiment import sample_batch, sample_direction, sample_inputs

SETTING = Setting(n=10, d=30, N=20, target=(0, 1, 0.5), noise=0.4)


def test_direction_is_uniform_on_the_sphere():
    rng = np.random.default_rng(0)
    draws = np.array([sample_direction(6, rng) for _ in range(4000)])
    np.testing.assert_allclose(np.linalg.norm(draws, axis=1), 1, rtol=1e-14)
    assert np.abs(draws.mean(axis=0)).max() < 4.5 / np.sqrt(6 * 4000)
    second = draws.T @ draws / 4000
    assert np.abs(second - np.eye(6) / 6).max() < 0.02
    # E b_1^4 = 3/(d(d + 2)) tells the sphere from a cube of the same covariance.
    assert np.mean(draws**4) == pytest.approx(3 / 48, rel=0.03)


def test_spherical_inputs_are_the_gaussian_ones_rescaled():
    spherical = SETTING.replace(inputs="spherical")
    X = sample_inputs(spherical, 500, np.random.default_rng(2))
    np.testing.assert_allclose(np.sum(X**2, axis=1), 30, rtol=1e-13)
    Z = sample_inputs(SETTING, 500, np.random.default_rng(2))
    unit = Z / np.linalg.norm(Z, axis=1, keepdims=True)
    np.testing.assert_allclose(X, np.sqrt(30) * unit, rtol=1e-13)


def test_labels_are_target_plus_noise():
    rng = np.random.default_rng(3)
    direction = sample_direction(30, rng)
    X, y = sample_batch(SETTING, 20_000, direction, rng)
    projection = X @ direction
    noise = y - (projection + (projection**2 - 1) / 2)
    assert abs(noise.mean()) < 4 * 0.4 / np.sqrt(20_000)
    assert noise.std() == pytest.approx(0.4, rel=0.02)
    assert abs(np.corrcoef(noise, projection)[0, 1]) < 0.03


def test_noise_level_does_not_change_the_other_draws():
    direction = sample_direction(30, np.random.default_rng(4))
    (X, y), (X0, y0) = (
        sample_batch(SETTING.replace(noise=noise), 50, direction, np.random.default_rng(5))
        for noise in (0.4, 0.0)
    )
    np.testing.assert_array_equal(X, X0)
    np.testing.assert_allclose(y0, X @ direction + ((X @ direction) ** 2 - 1) / 2, rtol=1e-12, atol=1e-14)
    assert np.std(y - y0) == pytest.approx(0.4, rel=0.4)
