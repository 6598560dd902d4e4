"""The spectrum of the signed batch matrix: moments, realised batches, labels, conditions."""

import time
from functools import lru_cache
from math import factorial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onestep_lib import ConvergenceError
from onestep_lib.activations import target
from onestep_lib.large_step import batch_signed as module
from onestep_lib.large_step.batch_signed import label_law, signed_spectrum
from onestep_lib.quadrature import gaussian_mean

HE12 = (0, 1, 2**-0.5)
HE13 = (0, 1, 0, 0.3)
HE15 = (0, 1, 0, 0, 0, 0.05)
# Many samples, few, as many as dimensions (a singular density at 0) and close to it; a target that jumps, one
# with a heavy tail, one with a mean.
CASES = [
    (HE12, 0.3, 2.0), (HE12, 0.0, 2.0), (HE12, 0.3, 0.5), (HE13, 0.3, 4.0), (HE13, 0.3, 0.7),
    (HE12, 0.3, 1.0), (HE13, 0.0, 1.0), ("sign", 0.3, 1.0), (HE12, 0.0, 0.95), (HE13, 0.3, 1.05),
    (HE13, 0.3, 0.1), (HE12, 0.3, 20.0), (HE15, 0.5, 2.0), ((0.5, 1, 0.5), 0.3, 2.0),
]  # fmt: skip


@lru_cache
def spectrum(coefficients, noise, alpha):
    start = time.process_time()
    found = signed_spectrum(target(coefficients), noise, alpha)
    assert time.process_time() - start < 30  # 5 s on a quiet machine
    return found


# Two to five seconds each.
DEAR = ((HE15, 0.5, 2.0), (HE13, 0.0, 1.0), (HE13, 0.3, 1.05), (HE12, 0.0, 0.95))
PARAMETERS = [pytest.param(case, marks=[pytest.mark.slow] * (case in DEAR), id=str(case)) for case in CASES]


@pytest.fixture(params=PARAMETERS)
def case(request):
    coefficients, noise, alpha = request.param
    return target(coefficients), noise, alpha, spectrum(*request.param)


def test_masses(case):
    _, _, alpha, found = case
    for part, total in ((found.weights, 1), (found.vv, 1), (found.vt, 0), (found.tt, 1)):
        assert part.sum() == pytest.approx(total, abs=2e-5)
    for part in (found.weights, found.vv, found.tt, found.hd):
        assert np.all(part >= -1e-6)
    assert found.weights[np.argmin(np.abs(found.h))] > 1 - alpha


def test_traces_and_forms_of_h_hat(case, deviation):
    labels, noise, alpha, found = case

    def mean(f):
        return gaussian_mean(f, labels.kinks)

    y2 = mean(lambda z: labels(z) ** 2) + noise**2
    assert found.weights @ found.h == pytest.approx(labels.c0, abs=2e-5 * np.sqrt(y2 / alpha))
    h2 = labels.c0**2 + y2 / alpha
    assert found.weights @ found.square == pytest.approx(h2, rel=2e-5)
    assert found.weights @ found.hd == pytest.approx(y2, rel=2e-5)
    traces = [found.weights @ found.square, found.weights @ found.hd]
    deviation("batch_signed.signed_spectrum", "traces by Gaussian averages", traces, [h2, y2])
    b1, first = mean(lambda z: labels(z) * z), mean(lambda z: labels(z) * z**2)
    cross, third = mean(lambda z: labels(z) ** 2 * z), mean(lambda z: labels(z) ** 3)
    B = b1**2 + y2 / alpha
    gamma = b1 / np.sqrt(B)
    vv = (b1**2 * first + 2 * b1 * cross / alpha + third / alpha**2 + labels.c0 * y2 / alpha) / B
    v_star = (b1 * first + cross / alpha) / np.sqrt(B)
    tt = (first - 2 * gamma * v_star + gamma**2 * vv) / (1 - gamma**2)
    vt = (v_star - gamma * vv) / np.sqrt(1 - gamma**2)
    # A bin has one h: its covariance with the directions is lost.
    for part, expected in ((found.vv, vv), (found.vt, vt), (found.tt, tt)):
        assert part @ found.h == pytest.approx(expected, abs=0.015 * (1 + abs(vv)))
        route = "quadratic forms by Gaussian averages"
        deviation("batch_signed.signed_spectrum", route, part @ found.h, expected, scale=1 + abs(vv))


@pytest.mark.parametrize(("coefficients", "noise", "alpha"), CASES, ids=str)
def test_realised_batches(coefficients, noise, alpha, capsys, deviation):
    labels, rng, d, batches = target(coefficients), np.random.default_rng(4), 240, 40
    found = spectrum(coefficients, noise, alpha)
    n = round(alpha * d)
    y2 = labels.second_moment + noise**2
    gamma = labels.linear / np.sqrt(labels.linear**2 + y2 / alpha)

    def functionals(h, weights, vv, vt, tt, hd):
        forms = []
        for f in (1 / (1 + h**2), h / (1 + h**2)):
            forms += [weights @ f, (weights * hd) @ f, vv @ f, vt @ f, tt @ f]
        return np.array(forms)

    draws = []
    for _ in range(batches):
        X = rng.standard_normal((n, d))
        y = labels(X[:, 0]) + noise * rng.standard_normal(n)
        h, vectors = np.linalg.eigh(X.T @ (y[:, None] * X) / n)
        hd = np.sum((X @ vectors) ** 2 * y[:, None] ** 2, axis=0) / n
        g = vectors.T @ (X.T @ y / n)
        v, theta = g / np.linalg.norm(g), vectors[0]
        # The part of theta across v, with the limit of their overlap: the forms are then linear in G.
        across = (theta - gamma * v) / np.sqrt(1 - gamma**2)
        draws.append(functionals(h, np.full(d, 1 / d), v * v, v * across, across * across, hd))
    draws = np.array(draws)
    expected = functionals(found.h, found.weights, found.vv, found.vt, found.tt, found.hd)
    error = draws.std(axis=0, ddof=1) / np.sqrt(batches)
    z = (draws.mean(axis=0) - expected) / np.hypot(error, 2 / d)
    deviation("batch_signed.signed_spectrum", "d = 240, 40 batches, error with 2/d", z, 0, 1)
    with capsys.disabled():
        print(f"\n{coefficients} noise {noise} n/d {alpha}: z", " ".join(f"{value:+.1f}" for value in z))
    # The limit is off by O(1/d) at d = 240.
    assert np.sqrt(np.mean(z**2)) < 1.5
    assert np.max(np.abs(z)) < 4


@pytest.mark.slow
def test_n_equal_to_d_is_the_limit_of_both_sides():
    """Averages of 1/(1 + h^2) fall smoothly through n = d."""
    means = []
    for alpha in (0.95, 1.0, 1.05):
        found = spectrum(HE12, 0.0, alpha)
        means.append([part @ (1 / (1 + found.h**2)) for part in (found.weights, found.vv, found.tt)])
    below, at, above = np.array(means)
    np.testing.assert_allclose(at, (below + above) / 2, atol=1e-3)


@pytest.mark.slow
@settings(max_examples=6)
@given(
    st.tuples(*[st.floats(-1, 1)] * 4),
    st.sampled_from([0.0, 1e-5, 1e-2, 1.0, 1e3]),
    st.floats(-3, 3).map(lambda power: 10.0**power),
)
def test_any_batch_has_a_spectrum(coefficients, noise, alpha):
    """The sums, the traces and the atom, which raise where they are off by 1e-4."""
    labels = target((coefficients[0], 0.3 + abs(coefficients[1]), *coefficients[2:]))
    found = signed_spectrum(labels, noise, alpha)
    for part in (found.weights, found.vv, found.tt, found.hd):
        assert np.all(part >= -1e-6)
    assert found.weights[np.argmin(np.abs(found.h))] > 1 - alpha - 1e-6


def test_an_isolated_eigenvalue_is_one_node():
    # For n = 1000 d and a target with E[y zeta^2] = 2c, H-hat is c theta theta^T 2 and a narrow bulk.
    found = spectrum(HE12, 0.3, 1000.0)
    node = np.argmax(found.tt + found.vv)
    assert found.h[node] == pytest.approx(2 * 2**-0.5, rel=5e-3)
    assert found.weights[node] == 0
    assert (found.tt + found.vv)[node] > 0.99


@pytest.mark.parametrize("noise", [0.0, 1e-6, 1e-4, 1e-3, 1e-2, 0.03, 0.3, 5.0, 1e3])
@pytest.mark.parametrize("coefficients", [HE12, HE13, "sign"], ids=str)
def test_label_law_has_the_moments_of_the_labels(coefficients, noise, deviation):
    labels = target(coefficients)
    law = label_law(labels, noise)

    def mean(f):
        return gaussian_mean(lambda z: f(labels(z), z), labels.kinks)

    y = (law.left + law.right) / 2
    square = (law.left**2 + law.left * law.right + law.right**2) / 3
    mass, first, second = law.masses
    found = [mass.sum(), first.sum(), second.sum(), mass @ y, first @ y, second @ y, mass @ square]
    expected = [1, 0, 1, *(mean(lambda y, z, k=k: y * z**k) for k in range(3)), labels.power + noise**2]
    scale = np.array([1, 1, 1, 1, 1, 1, labels.power + noise**2])
    np.testing.assert_allclose(np.divide(found, scale), np.divide(expected, scale), atol=1e-5)
    deviation("batch_signed.label_law", "moments of the labels", found, expected, scale=scale)


def test_a_bad_reading_raises(monkeypatch):
    # One node does not resolve the poles beside a path.
    monkeypatch.setattr(module, "_POINTS", 1)
    with pytest.raises(ConvergenceError, match="moments"):
        signed_spectrum(target(HE12), 0.31, 2.0)  # asked for nowhere else: a spectrum is kept


@pytest.mark.parametrize("degree", [2, 6, 8, 10])
def test_the_law_of_heavy_tailed_labels_reaches_as_far_as_their_power(degree):
    law = label_law(target((*(0,) * degree, 1)), 0.0)
    square = (law.left**2 + law.left * law.right + law.right**2) / 3
    assert law.masses[0] @ square == pytest.approx(factorial(degree), rel=2e-5)
