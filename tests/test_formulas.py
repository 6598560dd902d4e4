"""Formulas as a reader types them: what they mean, their slopes, and what is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import erf

from onestep_lib import Activation
from onestep_lib.activations import activation
from onestep_lib.formulas import formula_activation, formula_target

Z = np.linspace(-3.1, 3.3, 41)
MEANT = {
    "-z^2": lambda z: -(z**2),
    "2^-1*z": lambda z: z / 2,
    "2^3^2*z/512": lambda z: z,
    "6/2/3*z": lambda z: z,
    "1 - 2 - z": lambda z: -1 - z,
    "tanh(z) + He_3/6": lambda z: np.tanh(z) + (z**3 - 3 * z) / 6,
    "He_2(2*z)": lambda z: 4 * z**2 - 1,
    "max(z, 0) - 0.1*abs(z - 1)": lambda z: np.maximum(z, 0) - 0.1 * np.abs(z - 1),
    "erf(z)*exp(-z^2/2) + .5e0*cos(3*z)": lambda z: erf(z) * np.exp(-(z**2) / 2) + 0.5 * np.cos(3 * z),
    "log(1 + exp(z))": lambda z: np.log1p(np.exp(z)),
    "(2 + sin(z))^(z/4)": lambda z: (2 + np.sin(z)) ** (z / 4),
    "z/(1 + z^2)": lambda z: z / (1 + z**2),
}


@pytest.mark.parametrize("text", MEANT)
def test_a_formula_means_what_algebra_says_and_has_its_slope(text):
    sigma = formula_activation(text)
    np.testing.assert_allclose(sigma(Z), MEANT[text](Z), rtol=1e-13, atol=1e-13)
    # `Activation` itself compares the slope's mean with c_1; here every point.
    step = 1e-5
    numeric = (MEANT[text](Z + step) - MEANT[text](Z - step)) / (2 * step)
    np.testing.assert_allclose(sigma.derivative(Z), numeric, rtol=1e-7, atol=1e-8)


def test_kinks_are_found_where_they_are():
    assert formula_activation("max(z, 0)").kinks == (0.0,)
    found = formula_activation("abs(z^2 - 2) - max(z, 0.3)").kinks
    np.testing.assert_allclose(found, [-np.sqrt(2), 0.3, np.sqrt(2)], atol=1e-12)


def test_typed_relu_is_the_named_one():
    typed, named = formula_activation("max(z, 0)"), activation("relu")
    assert isinstance(typed, Activation)
    np.testing.assert_allclose(typed.coefficients(12), named.coefficients(12), atol=1e-15)
    assert formula_target("He_1 + He_3/2").power == pytest.approx(1 + 6 / 4, rel=1e-12)


REFUSED = {
    "": "characters",
    "z" * 201: "characters",
    "2z": "no formula",
    "z**2": "no formula",
    "z//2": "no formula",
    "z +": "no formula",
    "x + 1": "not known",
    "__import__('os')": "cannot be read",
    "z.real": "cannot be read",
    "lambda": "no formula",
    "z if z else z": "not known|no formula",
    "max(z)": "not known",
    "sin(z, z)": "not known",
    "He_99": "up to",
    "1/z": "finite|jump",
    "log(z)": "finite",
    "exp(z^2)": "too fast|finite",
    "9^9^9*z": "finite",
    "abs(z)/z": "finite|slope",
    "[z]": "cannot be read",
    "z; z": "cannot be read",
    "True": "cannot be read",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_cannot_be_read_is_said(text):
    with pytest.raises(ValueError, match=REFUSED[text]):
        formula_activation(text)


@given(st.text(alphabet="z0123456789.+-*/^()e xpsinHe_,ma", max_size=24))
def test_any_text_gives_an_activation_or_a_message(text):
    try:
        values = formula_activation(text)(Z)
    except ValueError as error:
        assert len(str(error)) > 20
    else:
        assert np.isfinite(values).all()
