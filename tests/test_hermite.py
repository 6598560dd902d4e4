"""Hermite polynomials, coefficients and Gaussian averages, against integers, closed forms and mpmath."""

import math
from fractions import Fraction

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


@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 5)])
def test_shapes_follow_the_points(shape):
    assert h.hermite(4, np.ones(shape)).shape == (5, *shape)
    assert h.hermite_series([1.0, 2.0], np.ones(shape)).shape == shape


@given(x=st.floats(-8, 8), t=st.floats(-1, 1))
def test_generating_function(x, t):
    series = np.sum(h.hermite(60, x) * t ** np.arange(61) / factorial(np.arange(61)))
    assert series == pytest.approx(math.exp(t * x - t * t / 2), rel=1e-11, abs=1e-11)


@given(k=st.integers(1, 20), x=st.floats(-5, 5))
def test_derivative_rule(k, x):
    """He_k' = k He_{k-1}, the derivative taken from the exact monomial coefficients."""
    coefficients = exact_polynomials(k)[k]
    slope = sum(Fraction(x) ** (j - 1) * j * c for j, c in enumerate(coefficients) if j)
    scale = math.sqrt(math.factorial(k)) * math.exp(x * x / 4)
    assert k * h.hermite(k, x)[k - 1] == pytest.approx(float(slope), rel=1e-12, abs=1e-12 * scale)


@given(k=st.integers(0, 40), x=st.floats(0, 6))
def test_parity(k, x):
    assert h.hermite(k, -x)[k] == (-1) ** k * h.hermite(k, x)[k]


@given(coefficients=st.lists(st.floats(-3, 3), min_size=1, max_size=12))
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


def test_mean_of_analytic_function():
    assert quadrature.gaussian_mean(np.cos) == pytest.approx(math.exp(-0.5), rel=1e-15)
    assert quadrature.gaussian_mean(np.exp) == pytest.approx(math.exp(0.5), rel=1e-15)


@given(kink=st.floats(-4, 4))
def test_mean_of_a_kinked_function(kink):
    """E max(Z - c, 0) = density(c) - c (1 - Phi(c))."""
    exact = mpmath.npdf(kink) - kink * mpmath.ncdf(-kink)
    found = quadrature.gaussian_mean(lambda z: np.maximum(z - kink, 0), kinks=(kink,))
    assert found == pytest.approx(float(exact), rel=1e-12, abs=1e-17)


def test_kinks_outside_the_range_are_harmless():
    assert quadrature.gaussian_mean(np.cos, kinks=(-40.0, 0.25, 0.25, 99.0)) == pytest.approx(
        math.exp(-0.5), rel=1e-15
    )


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


@pytest.mark.parametrize("rho", [-1.0, -0.6, 0.0, 0.3, 0.9, 1.0])
def test_correlated_mean_of_sines(rho, deviation):
    """E[sin Z sin Z'] = sinh(rho)/e, from the characteristic function."""
    c = h.hermite_coefficients(np.sin, 40)
    found, exact = h.correlated_mean(c, c, rho), math.sinh(rho) / math.e
    assert found == pytest.approx(exact, rel=1e-13, abs=1e-16)
    deviation("hermite.correlated_mean", "closed forms of sines and signs", found, exact, scale=1e-3)


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


@given(rho=st.floats(-1, 1), j=st.integers(0, 8), k=st.integers(0, 8))
def test_correlated_mean_of_two_polynomials(rho, j, k):
    mean = h.correlated_mean(np.eye(9)[j], np.eye(9)[k], rho)
    assert mean == pytest.approx(math.factorial(k) * rho**k if j == k else 0.0, rel=1e-13)


def test_correlated_mean_is_vectorised_and_takes_unequal_lengths():
    rho = np.linspace(-1, 1, 6).reshape(2, 3)
    np.testing.assert_allclose(h.correlated_mean([1, 2, 3], [4, 5], rho), 4 + 10 * rho, rtol=1e-14)


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


@given(rho=st.floats(-0.9, 0.9))
def test_tower_property(rho):
    """E[E[f(Z)|Z'] g(Z')] = E[f(Z) g(Z')]."""
    f, g = h.hermite_coefficients(np.tanh, 50), h.hermite_coefficients(np.sin, 50)
    joint = quadrature.gaussian_mean(lambda x: h.conditional_mean(f, rho, x) * np.sin(x))
    assert joint == pytest.approx(h.correlated_mean(f, g, rho), abs=1e-12)


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


def test_overlap_moment_is_vectorised():
    assert h.overlap_moment(2, [[1, 4]]).tolist() == [[1.0, 3 / 24]]


WRONG = [
    (lambda: h.monomial_to_hermite(151), r"order must be an integer from 0 to 150, got 151"),
    (lambda: quadrature.gaussian_mean(lambda z: z[:3]), r"one value for each point: got shape \(3,\)"),
    (
        lambda: quadrature.gaussian_mean(lambda z: z * np.nan),
        r"return finite values, got nan at -13\.99",
    ),
    (lambda: h.correlated_mean([1], [1], 1.2), r"rho must lie in \[-1, 1\], got 1\.2"),
    (lambda: h.overlap_moment(1, 0), r"d must be >= 1, got array\(0\.\)"),
]


@pytest.mark.parametrize(("call", "message"), WRONG)
def test_wrong_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("degree", [30, 40, 50, 80, 100, 150])
def test_means_of_high_powers(degree, deviation):
    """E Z^p = (p - 1)!!, whose integrand peaks at sqrt(p), beyond 12 for p = 150."""
    found, exact = quadrature.gaussian_mean(lambda z: z**degree), gaussian_moment(degree)
    assert found == pytest.approx(exact, rel=1e-14)
    deviation("quadrature.gaussian_mean", "exact moments, to degree 150", found, float(exact))


@pytest.mark.parametrize("degree", [10, 40, 50, 100, 150])
def test_coefficients_of_high_hermite_polynomials(degree):
    """He_k has one coefficient, 1, and sqrt(k!) is the unit."""
    found = h.hermite_coefficients(lambda z: h.hermite(degree, z)[degree], degree)
    natural = found * np.sqrt(factorial(np.arange(degree + 1)) / factorial(degree))
    np.testing.assert_allclose(natural, np.eye(degree + 1)[degree], atol=1e-14)


@pytest.mark.parametrize("power", [40, 80])
def test_coefficients_of_high_powers(power):
    """z^p = sum_m p!/(2^m m! (p - 2m)!) He_{p - 2m}, in exact integers."""
    exact = np.zeros(power + 1)
    for m in range(power // 2 + 1):
        below = 2**m * math.factorial(m) * math.factorial(power - 2 * m)
        exact[power - 2 * m] = math.factorial(power) // below
    unit = np.sqrt(factorial(np.arange(power + 1)) / gaussian_moment(2 * power))
    found = h.hermite_coefficients(lambda z: z**power, power)
    np.testing.assert_allclose(found * unit, exact * unit, atol=1e-14)


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


def test_a_degree_of_any_integer_type():
    found = h.hermite(np.int8(127), [0.5])
    np.testing.assert_array_equal(found, h.hermite(127, [0.5]))


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
