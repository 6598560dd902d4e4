"""Floors: against exact moments of the sphere, brute projections, and regression on simulated pairs."""

from collections import Counter
from itertools import product
from math import prod

import numpy as np
import pytest

from onestep_lib import Setting, random_features
from onestep_lib.hermite import hermite
from onestep_lib.no_step import fixed_feature_floor, representable_share
from onestep_lib.small_step import direction_floor, gradient_spike


def setting(**changes):
    values = {
        "n": 1000,
        "d": 100,
        "N": 200,
        "activation": "softplus",
        "target": (0, 1, 2**-0.5),
        "noise": 0.5,
    }
    return Setting(**(values | changes))


def sphere_moment_matrix(k, d):
    """E[b^{(k)} b^{(k)T}] for b uniform on the sphere, from the moments of a Gaussian vector."""
    index = list(product(range(d), repeat=k))

    def moment(positions):
        counts = Counter(positions).values()
        return 0.0 if any(c % 2 for c in counts) else prod(prod(range(1, c, 2)) for c in counts)

    norm = prod(d + 2 * j for j in range(k))
    return np.array([[moment(i + j) for j in index] for i in index]) / norm


@pytest.mark.parametrize(("k", "d"), [(1, 4), (2, 4), (3, 3), (4, 3), (3, 2)])
def test_share_is_the_sum_of_the_largest_eigenvalues(k, d, deviation):
    largest = np.sort(np.linalg.eigvalsh(sphere_moment_matrix(k, d)))[::-1]
    counts = range(1, 20)
    shares = [representable_share(k, m, d) for m in counts]
    sums = [largest[:m].sum() for m in counts]
    np.testing.assert_allclose(shares, sums, atol=1e-12)
    deviation("floors.representable_share", "eigenvalues of exact moments", shares, sums)


def test_share_has_the_closed_forms_of_the_chapter():
    d, total = 50, 50 * 51 // 2
    for m in (1, 7, 400, total):
        assert representable_share(1, m, d) == pytest.approx(min(m, d) / d)
        assert representable_share(2, m, d) == pytest.approx(1 / d + (1 - 1 / d) * (m - 1) / (total - 1))
    assert representable_share(2, total + 5, d) == 1.0


def test_random_subspaces_stay_below_the_share():
    # Exact average over beta_* of the share in the span of N matrices w w^T.
    rng, d = np.random.default_rng(3), 12
    average = sphere_moment_matrix(2, d)
    for count in (1, 5, 20, 60):
        W = rng.standard_normal((count, d))
        spans = np.einsum("ji,jk->jik", W, W).reshape(count, d * d)
        basis = np.linalg.svd(spans, full_matrices=False)[2]
        share = np.trace(basis @ average @ basis.T)
        assert share <= representable_share(2, count, d) + 1e-12
        assert share > representable_share(2, count, d) - 2 / d


def test_floor_of_fixed_features_is_below_their_theory_and_above_the_noise(deviation):
    s = setting()
    assert s.noise**2 < fixed_feature_floor(s) < random_features(s).test
    quadratic = 1 - representable_share(2, 200, 100)
    assert fixed_feature_floor(s) == pytest.approx(0.25 + quadratic)
    found = fixed_feature_floor(s)
    deviation("floors.fixed_feature_floor", "share of a quadratic target", found, 0.25 + quadratic)
    many = setting(n=10_000, d=10, N=10_000)
    assert fixed_feature_floor(many) == pytest.approx(many.noise**2)


def test_direction_floor_is_the_residual_of_a_regression(deviation):
    s = setting(target=np.tanh)
    rho = gradient_spike(s).alignment
    rng = np.random.default_rng(5)
    z, other = rng.standard_normal((2, 400_000))
    kappa = rho * z + np.sqrt(1 - rho**2) * other
    seen = hermite(9, kappa)[2:].T
    rest = s.target(z) - s.target.linear * z
    fit = seen @ np.linalg.lstsq(seen, rest, rcond=None)[0]
    squares = (rest - fit) ** 2 + s.noise**2
    error = squares.std() / np.sqrt(squares.size)
    assert abs(squares.mean() - direction_floor(s)) < 4 * error
    floor, route = direction_floor(s), "regression on 400 000 samples"
    deviation("gradient.direction_floor", route, squares.mean(), floor, error)


def test_direction_floor_without_and_with_a_perfect_direction():
    nothing = setting(target=(0, 0, 1))
    assert direction_floor(nothing) == pytest.approx(0.25 + nothing.target.power)
    assert direction_floor(setting(n=10**9)) == pytest.approx(0.25, abs=1e-6)
