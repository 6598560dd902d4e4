"""Noise with one spike: the resolvents, the outlier and its vectors against matrices and other routes."""

import numpy as np
import pytest

from onestep_lib.no_step import marchenko_pastur_density, marchenko_pastur_means
from onestep_lib.small_step import noise_resolvents, one_spike

RATIOS = (0.4, 1.0, 2.5)


def largest(strength, N, d, rng, entries="normal"):
    """Largest singular value of one draw and its squared overlaps."""
    noise = rng.standard_normal((N, d)) if entries == "normal" else rng.choice([-1.0, 1.0], (N, d))
    u, v = rng.standard_normal(N), rng.standard_normal(d)
    u, v = u / np.linalg.norm(u), v / np.linalg.norm(v)
    left, values, right = np.linalg.svd(noise / np.sqrt(d) + strength * np.outer(u, v), full_matrices=False)
    return values[0], (u @ left[:, 0]) ** 2, (v @ right[0]) ** 2


@pytest.mark.parametrize("ratio", RATIOS)
def test_resolvents_are_those_of_the_marchenko_pastur_law(ratio, deviation):
    # On the imaginary axis the averages of 1/(s^2 - x) are those of 1/(1 + v x), v > 0, in closed form.
    v = np.array([0.01, 0.3, 4.0])
    rows, _ = noise_resolvents(1e-12 + 1j / np.sqrt(v), ratio)
    expected = -1j * np.sqrt(v) * marchenko_pastur_means(v, ratio).p
    np.testing.assert_allclose(rows, expected, rtol=1e-9)
    deviation("weights.noise_resolvents", "closed averages of the law", abs(rows), abs(expected))


@pytest.mark.parametrize("ratio", RATIOS)
def test_imaginary_part_is_half_the_density(ratio):
    low, high = abs(1 - ratio**0.5), 1 + ratio**0.5
    s = np.linspace(low + 0.05, high - 0.05, 7)
    rows, _ = noise_resolvents(s + 1e-10j, ratio)
    np.testing.assert_allclose(-rows.imag / np.pi, s * marchenko_pastur_density(s**2, ratio), rtol=1e-6)


@pytest.mark.parametrize("ratio", RATIOS)
def test_resolvents_are_the_averages_of_a_draw(ratio):
    d = 600
    N = int(ratio * d)
    values = np.linalg.svd(np.random.default_rng(1).standard_normal((N, d)) / np.sqrt(d), compute_uv=False)
    s = 1.4 + ratio**0.5
    total = np.sum(1 / (s**2 - values**2))
    found = [s * (total + max(0, size - values.size) / s**2) / size for size in (N, d)]
    np.testing.assert_allclose(found, noise_resolvents(s, ratio), rtol=3e-3)


@pytest.mark.parametrize("ratio", RATIOS)
def test_outlier_solves_its_equation_and_overlaps_are_residues(ratio, deviation):
    # theta^2 g_N g_d = 1 at the outlier; the residue of the resolvent along u is half the squared overlap.
    # Close to the threshold the resolvent turns as a square root, where differences are poor.
    strengths = ratio**0.25 * np.array([1.3, 1.5, 4.0])
    found = one_spike(strengths, ratio)
    rows, columns = noise_resolvents(found.outlier, ratio)
    np.testing.assert_allclose(strengths**2 * rows * columns, 1, rtol=1e-12)
    h = 1e-5
    after, before = (np.prod(noise_resolvents(found.outlier + shift, ratio), axis=0) for shift in (h, -h))
    slope = -(strengths**2) * (after - before) / (2 * h)
    np.testing.assert_allclose(found.left, 2 * rows / slope, rtol=1e-6)
    np.testing.assert_allclose(found.right, 2 * columns / slope, rtol=1e-6)
    deviation("weights.one_spike", "residues by differences", found.left, 2 * rows / slope)


def test_the_outlier_joins_the_edge_at_the_threshold_as_a_square():
    for ratio in RATIOS:
        at = one_spike(0, ratio).threshold
        gaps = one_spike(at * np.array([1.01, 1.02]), ratio).outlier - (1 + ratio**0.5)
        assert gaps[1] / gaps[0] == pytest.approx(4, rel=0.02)
        below = one_spike(0.99 * at, ratio)
        assert (below.outlier, below.left, below.right) == (below.edge, 0, 0)


@pytest.mark.parametrize("entries", ["normal", "signs"])
@pytest.mark.parametrize("ratio", RATIOS)
def test_draws_follow_the_limit(ratio, entries, deviation):
    rng = np.random.default_rng(2)
    strength, d, repeats = 2 * ratio**0.25, 400, 24
    draws = np.array([largest(strength, int(ratio * d), d, rng, entries) for _ in range(repeats)])
    limit = one_spike(strength, ratio)
    expected = np.array([limit.outlier, limit.left, limit.right])
    error = draws.std(axis=0, ddof=1) / np.sqrt(repeats)
    z = (draws.mean(axis=0) - expected) / error
    # The bias of O(1/d) is below the standard error at these sizes.
    assert np.sqrt(np.mean(z**2)) < 2
    deviation("weights.one_spike", "simulation, d = 400", draws.mean(axis=0), expected, error)


def test_the_noise_transposed_swaps_rows_and_columns():
    # Z^T/sqrt(c) is noise of ratio 1/c: strengths and singular values shrink alike.
    found, other = one_spike(2.0, 2.5), one_spike(2.0 / 2.5**0.5, 1 / 2.5)
    assert found.outlier == pytest.approx(2.5**0.5 * other.outlier)
    assert (found.left, found.right) == pytest.approx((other.right, other.left))
