"""A reader's own activation and target on the page: the library's numbers, or why a formula is none."""

import json

import numpy as np
import pytest

from onestep_lib import Setting, random_features, staircase
from onestep_lib.formulas import formula_activation, formula_target

PAIRS = [
    ("tanh(z)", "He_1 + 0.7*He_2"),
    ("log(1 + exp(z)) - 0.8", "sin(z)"),
    ("max(z, 0) - 0.4", "z + He_3/6"),
    ("erf(z) + 0.3*z^2", "He_1 + cos(2*z) - exp(-2)"),
    ("exp(-z^2/2)*z + He_2(z/2)/2", "tanh(2*z) - -He_2/2"),
]
REFUSED = {
    "2**z": "not known",
    "exp(z^2)": "grows too fast",
    "log(z)": "not finite",
    "tanh(z": "missing",
    "foo(z)": "foo",
    "He_99": "20",
    "": "from 1 to 200",
    "z z": "cannot be read",
    "3": "constant",
}


@pytest.fixture
def own(open_page):
    """own(activation, target) -> the page's numbers, or what it says instead."""
    page = open_page("book/lab.html")
    figure = page.locator(".os-own")

    def ask(activation: str, target: str = "z") -> dict | str:
        figure.locator("[name=activation]").fill(activation)
        figure.locator("[name=target]").fill(target)
        numbers = figure.get_attribute("data-numbers")
        return json.loads(numbers) if numbers else figure.locator("[role=status]").inner_text()

    return ask


def test_numbers_of_the_page_are_those_of_the_library(own):
    for pair in PAIRS:
        found = own(*pair)
        activation, target = formula_activation(pair[0]), formula_target(pair[1])
        for name, read in (("activation", activation), ("target", target)):
            np.testing.assert_allclose(found[name]["c"], read.coefficients(4), atol=1e-9, err_msg=pair)
        for k in (0, 16, 32):
            N = round(found["widths"][k] * 1000)
            setting = Setting(n=1000, d=200, N=N, activation=activation, target=target, noise=0.3, ridge=0.05)
            levels = [staircase(setting, level).test for level in found["powers"]]
            wanted = [random_features(setting).test, *levels]
            np.testing.assert_allclose(found["curves"][k], wanted, rtol=1e-6, err_msg=pair)
        assert len(found["powers"]) >= 2


def test_what_is_no_formula_is_told_and_leaves_no_number(own):
    for text, words in REFUSED.items():
        said = own(text)
        assert isinstance(said, str), text
        assert words in said
