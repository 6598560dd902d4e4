"""Hermite polynomials, coefficients and Gaussian averages, against integers, closed forms and mpmath."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate
from scipy.special import factorial

from onestep_lib import hermite as h
from onestep_lib import quadrature

POINTS = np.linspace(-6, 6, 41)


def exact_polynomials(order):
    """Integer coefficients of He_0, ..., He_order from He_{k+1} = x He_k - He_k', not the library's rule."""
    rows = [[1]]
    for _ in range(order):
        last = rows[-1]
        raised = [0, *last]
        slope = [j * c for j, c in enumerate(last)][1:]
        rows.append([c - (slope[j] if j < len(slope) else 0) for j, c in enumerate(raised)])
    return rows


def gaussian_moment(p):
    """E Z^p, an integer."""
    return 0 if p % 2 else math.prod(range(1, p, 2))


def exact_inner(p, q):
    """E[p(Z) q(Z)] for two lists of integer coefficients."""
    return sum(a * b * gaussian_moment(i + j) for i, a in enumerate(p) for j, b in enumerate(q))


def test_orthogonality_in_exact_integers():
    rows = exact_polynomials(12)
    for j, p in enumerate(rows):
        for k, q in enumerate(rows):
            assert exact_inner(p, q) == (math.factorial(k) if j == k else 0)


def test_inverse_table_is_exact(deviation):
    order = 20
    rows = exact_polynomials(order)
    table = h.monomial_to_hermite(order)
    for p in range(order + 1):
        total = [0] * (order + 1)
        for i in range(p + 1):
            for j, c in enumerate(rows[i]):
                total[j] += int(table[p, i]) * c
        assert np.array_equal(table[p], np.round(table[p]))
        assert total == [int(j == p) for j in range(order + 1)]
        deviation("hermite.monomial_to_hermite", "exact integers", total, np.eye(order + 1)[p], scale=1)


@pytest.mark.parametrize("order", [0, 1, 2, 7, 30])
def test_values_match_mpmath(order, deviation):
    """mpmath's hermite is the physicists': He_k(x) = 2^(-k/2) H_k(x/sqrt 2)."""
    values = h.hermite(order, POINTS)
    for k in range(order + 1):
        exact = [float(mpmath.hermite(k, x / mpmath.sqrt(2)) / mpmath.mpf(2) ** (k / 2)) for x in POINTS]
        np.testing.assert_allclose(values[k], exact, rtol=1e-11, atol=1e-11 * math.sqrt(math.factorial(k)))
        deviation("hermite.hermite", "mpmath", values[k], exact, scale=math.sqrt(math.factorial(k)))


# Coefficients near the smallest float would vanish beside the Gaussian's weights.
@given(coefficients=st.lists(st.floats(-3, 3).map(lambda c: round(c, 100)), min_size=1, max_size=12))
def test_coefficients_of_a_series_come_back(coefficients):
    found = h.hermite_coefficients(lambda x: h.hermite_series(coefficients, x), 13)
    padded = np.pad(coefficients, (0, 14 - len(coefficients)))
    scale = max(1e-3, np.sqrt(np.sum(h.hermite_powers(coefficients))))
    # In the natural scale sqrt(k!) c_k the error is rounding, relative to the root mean square.
    np.testing.assert_allclose((found - padded) * np.sqrt(factorial(np.arange(14))), 0, atol=1e-13 * scale)


@pytest.mark.parametrize("p", [0, 1, 2, 6, 15, 30])
def test_gaussian_moments(p, deviation):
    found, size = quadrature.gaussian_mean(lambda z: z**p), math.sqrt(gaussian_moment(2 * p))
    assert found == pytest.approx(gaussian_moment(p), rel=1e-13, abs=1e-10)
    deviation(
        "quadrature.gaussian_mean", "exact moments, to degree 30", found, gaussian_moment(p), scale=size
    )


@given(kink=st.floats(-4, 4))
def test_mean_of_a_kinked_function(kink):
    """E max(Z - c, 0) = density(c) - c (1 - Phi(c))."""
    exact = mpmath.npdf(kink) - kink * mpmath.ncdf(-kink)
    found = quadrature.gaussian_mean(lambda z: np.maximum(z - kink, 0), kinks=(kink,))
    assert found == pytest.approx(float(exact), rel=1e-12, abs=1e-17)


def test_quadrature_is_shared_but_cannot_be_changed():
    nodes, weights = quadrature.gaussian_quadrature()
    assert quadrature.gaussian_quadrature(())[0] is nodes
    assert math.isclose(weights.sum(), 1.0, rel_tol=1e-15)
    for array in (nodes, weights):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0


def test_high_orders_of_a_jump(deviation):
    """c_k of sign is 2 He_{k-1}(0) density(0)/k! for odd k; sqrt(k!) c_k falls like k^(-3/4)."""
    orders = np.arange(1, h.MAX_ORDER + 1, 2)
    found = h.hermite_coefficients(np.sign, h.MAX_ORDER, (0.0,))
    assert np.abs(found[::2]).max() < 1e-16
    for k in orders:
        at_zero = (-1) ** (k // 2) * mpmath.fac2(int(k) - 2)
        exact = 2 * at_zero / mpmath.sqrt(2 * mpmath.pi * mpmath.factorial(int(k)))
        natural = found[k] * math.sqrt(math.factorial(k))
        assert natural == pytest.approx(float(exact), rel=1e-13)
        deviation("hermite.hermite_coefficients", "sign: closed form to degree 149", natural, float(exact))


@pytest.mark.parametrize("rho", [-0.7, 0.0, 0.2, 0.5])
def test_correlated_mean_of_signs(rho, deviation):
    """Sheppard: E[sign Z sign Z'] = (2/pi) arcsin rho; the truncated tail is below rho^151."""
    c = h.hermite_coefficients(np.sign, h.MAX_ORDER, (0.0,))
    found, exact = h.correlated_mean(c, c, rho), 2 / math.pi * math.asin(rho)
    assert found == pytest.approx(exact, rel=1e-12, abs=1e-15)
    deviation("hermite.correlated_mean", "closed forms of sines and signs", found, exact, scale=1e-3)


@pytest.mark.parametrize("rho", [-0.7, 0.4])
def test_correlated_mean_of_different_functions_by_double_integral(rho, deviation):
    def integrand(u, z):
        density = math.exp(-(z * z + u * u) / 2) / (2 * math.pi)
        return math.tanh(z) * max(rho * z + math.sqrt(1 - rho**2) * u, 0.0) ** 2 * density

    # The inner integral starts at the kink, where rho z + sqrt(1 - rho^2) u = 0.
    def kink(z):
        return -rho * z / math.sqrt(1 - rho**2)

    exact = integrate.dblquad(integrand, -9, 9, kink, 12, epsabs=1e-11)[0]
    f = h.hermite_coefficients(np.tanh, 60)
    g = h.hermite_coefficients(lambda x: np.maximum(x, 0) ** 2, 80, (0.0,))
    found = h.correlated_mean(f, g, rho)
    assert found == pytest.approx(exact, abs=1e-8)
    deviation("hermite.correlated_mean", "double integral", found, exact)


@pytest.mark.parametrize("rho", [-0.8, 0.3, 1.0])
def test_conditional_mean_by_direct_integration(rho, deviation):
    """Given Z' = x, Z is N(rho x, 1 - rho^2): average tanh over that law."""
    c = h.hermite_coefficients(np.tanh, 80)
    for x in (-1.5, 0.0, 0.4, 2.0):
        exact = quadrature.gaussian_mean(lambda u, x=x: np.tanh(rho * x + math.sqrt(1 - rho**2) * u))
        tolerance = 1e-12 if abs(rho) < 1 else 2e-3  # at rho = 1 nothing damps the truncated tail
        found = h.conditional_mean(c, rho, x)
        assert found == pytest.approx(exact, abs=tolerance)
        if rho < 1:
            deviation("hermite.conditional_mean", "direct integration", found, exact, scale=1)


def test_powers_add_up_to_the_second_moment(deviation):
    powers = h.hermite_powers(h.hermite_coefficients(np.sin, 40))
    assert powers.sum() == pytest.approx((1 - math.exp(-2)) / 2, rel=1e-14)
    deviation("hermite.hermite_powers", "second moment of sin", powers.sum(), (1 - math.exp(-2)) / 2)
    np.testing.assert_allclose(powers[1::2], math.exp(-1) / factorial(np.arange(1, 41, 2)), atol=1e-15)


@pytest.mark.parametrize("d", [2, 3, 7])
@pytest.mark.parametrize("k", [0, 1, 2, 5])
def test_overlap_moment_by_its_density(d, k, deviation):
    """One coordinate of a uniform unit vector has density (1 - u^2)^((d-3)/2); put u = sin(angle)."""

    def weight(angle, power):
        return math.sin(angle) ** power * math.cos(angle) ** (d - 2)

    moment, total = (integrate.quad(weight, -math.pi / 2, math.pi / 2, args=(p,))[0] for p in (2 * k, 0))
    assert h.overlap_moment(k, d) == pytest.approx(moment / total, rel=1e-12)
    deviation("hermite.overlap_moment", "quadrature", h.overlap_moment(k, d), moment / total)


@pytest.mark.parametrize("degree", [30, 40, 50, 80, 100, 150])
def test_means_of_high_powers(degree, deviation):
    """E Z^p = (p - 1)!!, whose integrand peaks at sqrt(p), beyond 12 for p = 150."""
    found, exact = quadrature.gaussian_mean(lambda z: z**degree), gaussian_moment(degree)
    assert found == pytest.approx(exact, rel=1e-14)
    deviation("quadrature.gaussian_mean", "exact moments, to degree 150", found, float(exact))


@pytest.mark.parametrize("rate", [6.0, 10.0])
def test_means_of_exponentials_beyond_the_first_range(rate):
    """E exp(a Z) = exp(a^2/2) comes from around a."""
    assert quadrature.gaussian_mean(lambda z: np.exp(rate * z)) == pytest.approx(
        math.exp(rate**2 / 2), rel=1e-13
    )


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda z: np.exp(0.499 * z**2), "function must have an average that comes from"),
        (lambda z: np.exp(z**2), "function must return finite values, got inf"),
        (lambda z: z + 0j, "the values of function must be real numbers"),
        (lambda z: np.ma.array(z, mask=z > 0), "the values of function must be real numbers"),
        (lambda z: None, "the values of function must be real numbers"),
    ],
)
def test_averages_that_do_not_converge_are_refused(function, message):
    for average in (quadrature.gaussian_mean, lambda f: h.hermite_coefficients(f, 3)):
        with pytest.raises((ValueError, TypeError), match=message):
            average(function)


def test_values_beyond_a_double_are_refused():
    with pytest.raises(ValueError, match="order and x must be so small that"):
        h.hermite(400, [10.0])


@pytest.mark.parametrize(
    "fast",
    [lambda z: np.cos(100 * z) ** 2, lambda z: np.cos(50 * z) ** 2, lambda z: np.sin(100 * z),
     lambda z: np.exp(-(((z - 0.21) / 0.01) ** 2)), lambda z: np.abs(z - 0.1)],
)  # fmt: skip
def test_what_the_nodes_cannot_follow_is_refused(fast):
    """Averages of these were wrong by up to a half."""
    for call in (quadrature.gaussian_mean, lambda f: h.hermite_coefficients(f, 3)):
        with pytest.raises(ValueError, match="function must have no kink or jump but those in kinks"):
            call(fast)


def test_series_beyond_a_double_are_refused():
    for call in (
        lambda x: h.hermite_series(np.ones(151), x),
        lambda x: h.conditional_mean(np.ones(151), 1.0, x),
    ):
        assert np.isfinite(call(1.0))
        with pytest.raises(ValueError, match="coefficients and x must be so small"):
            call(1000.0)
