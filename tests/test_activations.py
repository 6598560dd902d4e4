"""Activations and targets: constants to 12 digits, closed forms, refusals, pickling."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.special import erf, factorial
from stored_numbers import stored_data

from onestep_lib.activations import ACTIVATIONS, Activation, Target, activation, centred, target

REFERENCE = stored_data("hermite")


def _gelu_tanh(x):
    return x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))) / 2


def _erf_over_sqrt2(x):
    return erf(x / np.sqrt(2))


CALLABLES = {"gelu_tanh": _gelu_tanh, "erf_over_sqrt2": _erf_over_sqrt2}


@pytest.mark.parametrize("entry", REFERENCE["activations"], ids=lambda entry: entry["activation"])
def test_constants_to_twelve_digits(entry, deviation):
    """The error is measured in the natural scale sqrt(k!) c_k; E sigma^2 is of order one."""
    sigma = activation(CALLABLES.get(entry["activation"], entry["activation"]))
    exact = np.array(entry["coefficients"], dtype=float)
    natural = np.sqrt(factorial(np.arange(exact.size)))
    found = sigma.coefficients(exact.size - 1) * natural
    np.testing.assert_allclose(found, exact * natural, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose([sigma.c0, sigma.c1, sigma.c2], exact[:3], rtol=1e-12, atol=0)
    assert sigma.second_moment == pytest.approx(float(entry["second_moment"]), rel=1e-13)
    assert sigma.nonlinear_power == pytest.approx(float(entry["nonlinear_power"]), rel=1e-12)
    deviation("activations.Activation.coefficients", "stored, 20 digits", found, exact * natural, scale=1e-3)
    for name in ("second_moment", "nonlinear_power"):
        value = getattr(sigma, name)
        deviation(f"activations.Activation.{name}", "stored, 20 digits", value, float(entry[name]))


def _half_line_moment(p):
    """E[Z^p; Z > 0]."""
    return (
        mpmath.mpf(2) ** (p / mpmath.mpf(2))
        * mpmath.gamma((p + 1) / mpmath.mpf(2))
        / (2 * mpmath.sqrt(mpmath.pi))
    )


def _on_half_line(power, k):
    """E[Z^power He_k(Z); Z > 0] from the monomials of He_k."""
    row = np.polynomial.hermite_e.herme2poly(np.eye(k + 1)[k])
    return mpmath.fsum(int(c) * _half_line_moment(j + power) for j, c in enumerate(row))


@pytest.mark.parametrize("k", range(13))
def test_closed_forms_by_half_line_moments(k, deviation):
    """relu, sign and abs are monomials on each half line."""
    mirrored = (-1) ** k
    with mpmath.workdps(40):
        exact = {
            "relu": _on_half_line(1, k),
            "abs": (1 + mirrored) * _on_half_line(1, k),
            "sign": (1 - mirrored) * _on_half_line(0, k),
        }
    for name, value in exact.items():
        found = activation(name).coefficient(k) * math.sqrt(math.factorial(k))
        expected = float(value / mpmath.factorial(k)) * math.sqrt(math.factorial(k))
        assert found == pytest.approx(expected, rel=1e-12, abs=1e-15)
        route = "half-line moments, 40 digits"
        deviation("activations.Activation.coefficient", route, found, expected, scale=1e-3)


@pytest.mark.parametrize("name", ["tanh", "softplus", "sigmoid", "gelu", "silu"])
def test_smooth_ones_by_mpmath(name, deviation):
    functions = {
        "tanh": mpmath.tanh,
        "softplus": lambda z: mpmath.log1p(mpmath.exp(z)),
        "sigmoid": lambda z: 1 / (1 + mpmath.exp(-z)),
        "gelu": lambda z: z * mpmath.ncdf(z),
        "silu": lambda z: z / (1 + mpmath.exp(-z)),
    }
    for k in (0, 1, 2, 5):
        row = [int(c) for c in np.polynomial.hermite_e.herme2poly(np.eye(k + 1)[k])]

        def integrand(z, row=row):
            return functions[name](z) * sum(c * z**j for j, c in enumerate(row)) * mpmath.npdf(z)

        with mpmath.workdps(25):
            exact = mpmath.quad(integrand, [-12, -6, -3, 0, 3, 6, 12]) / mpmath.factorial(k)
        found, route = activation(name).coefficient(k), "quadrature by mpmath, 25 digits"
        assert found == pytest.approx(float(exact), rel=1e-12, abs=1e-15)
        deviation("activations.Activation.coefficient", route, found, float(exact), scale=1e-3)


@pytest.mark.parametrize("name", [name for name in ACTIVATIONS if ACTIVATIONS[name].derivative])
def test_slopes_match_finite_differences(name, deviation):
    sigma = ACTIVATIONS[name]
    x = np.linspace(-6, 6, 50)  # no point within 0.1 of the kink at 0
    step = 1e-3
    five_point = (
        8 * (sigma(x + step) - sigma(x - step)) - sigma(x + 2 * step) + sigma(x - 2 * step)
    ) / (12 * step)  # fmt: skip
    np.testing.assert_allclose(sigma.derivative(x), five_point, rtol=1e-9, atol=1e-10)
    found = sigma.derivative(x)
    deviation("activations.Activation.derivative", "five-point differences", found, five_point, scale=0.1)


def test_odd_activations_have_exact_zeros():
    for name in ("identity", "tanh", "erf", "sin", "sign", "he3"):
        assert (activation(name).c0, activation(name).c2) == (0.0, 0.0)
    assert activation("identity").nonlinear_power == 0.0


@given(scale=st.floats(1e-9, 1e9))
def test_zeros_are_zero_at_every_scale(scale):
    linear = Target("scaled", lambda x: scale * x)
    assert (linear.c0, linear.c2, linear.nonlinear_power) == (0.0, 0.0, 0.0)
    curved = Target("scaled", lambda x: scale * np.tanh(x))
    assert curved.nonlinear_power == pytest.approx(scale**2 * activation("tanh").nonlinear_power, rel=1e-12)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_centring_moves_the_mean_and_nothing_else(name):
    plain, moved = activation(name), activation(f"centred {name}")
    assert moved.c0 == 0.0
    assert moved.name == f"centred {name}"
    assert moved.derivative is plain.derivative
    assert moved.kinks == plain.kinks
    assert (moved.c1, moved.c2) == pytest.approx((plain.c1, plain.c2), abs=1e-15)
    assert moved.nonlinear_power == pytest.approx(plain.nonlinear_power, rel=1e-12)
    assert activation(f"centred {name}") is moved
    assert centred(name)(0.3) == moved(0.3)


def test_callables_are_accepted():
    sigma = activation(np.arctan)
    assert sigma.name == "arctan"
    x = np.linspace(-3, 3, 31)
    np.testing.assert_allclose(sigma.derivative(x), 1 / (1 + x**2), atol=1e-9)
    assert activation(sigma) is sigma
    assert target(np.arctan).linear == sigma.c1


def test_kinks_at_hand_are_exact_and_hidden_ones_are_refused():
    def shifted(x):
        return np.maximum(x - 0.3, 0)

    def shifted_slope(x):
        return np.heaviside(x - 0.3, 0.5)

    sigma = Activation("shifted relu", shifted, [0.3], shifted_slope)
    assert sigma.kinks == (0.3,)
    assert sigma.c0 == pytest.approx(float(mpmath.npdf(0.3) - 0.3 * mpmath.ncdf(-0.3)), rel=1e-13)
    assert sigma.c1 == pytest.approx(float(mpmath.ncdf(-0.3)), rel=1e-13)
    with pytest.raises(ValueError, match=r"'shifted' must have no kink or jump but those in kinks=\(\)"):
        activation(shifted)
    with pytest.raises(ValueError, match=r"no kink or jump but those in kinks=\(0\.0,\)"):
        Target("shifted", shifted, (0.0,))


@given(kink=st.floats(-3, 3))
@example(kink=0.0)
@example(kink=1e-5)
@example(kink=0.2)
def test_hidden_jumps_are_refused_wherever_they_are(kink):
    with pytest.raises(ValueError, match="must have no kink or jump"):
        Target("jump", lambda x: np.where(x > kink, 1.0, 0.0))


@given(kink=st.floats(-3, 3))
@example(kink=0.0)
def test_hidden_kinks_are_refused_wherever_they_are(kink):
    with pytest.raises(ValueError, match="must have no kink or jump"):
        Target("kink", lambda x: np.maximum(x - kink, 0))


def test_wrong_slopes_are_refused():
    with pytest.raises(ValueError, match=r"derivative must be the slope of 'wrong': its mean is 0\.3"):
        Activation("wrong", np.tanh, (), lambda x: 0.3 * np.ones_like(x))
    with pytest.raises(ValueError, match="if f jumps, set derivative=None"):
        Activation("jump", np.sign, (0.0,), np.zeros_like)


def test_targets_know_their_powers(deviation):
    quadratic = target((0, 1, 2**-0.5))
    assert quadratic.name == "1 He1 + 0.707107 He2"
    assert (quadratic.linear, quadratic.power, quadratic.nonlinear_power) == pytest.approx(
        (1, 2, 1), rel=1e-13
    )
    shifted = target((0.7, 1.0))
    assert shifted.power == pytest.approx(1.0, rel=1e-13)  # the mean is not power
    assert target("sign").power == pytest.approx(1.0, rel=1e-13)
    assert target("sign").linear == pytest.approx(math.sqrt(2 / math.pi), rel=1e-13)
    powers = [quadratic.power, shifted.power, target("sign").power]
    deviation("activations.Target.power", "closed forms", powers, [2, 1, 1])
    assert target(quadratic) is quadratic
    assert target((0.0,)).name == "0"
