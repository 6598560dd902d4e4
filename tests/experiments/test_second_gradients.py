"""The stored second gradients: whole, and the first of each series drawn again."""

import json
from importlib import resources

import numpy as np
import pytest
from second_gradients import SERIES, series

STORED = json.loads(
    resources.files("onestep_lib").joinpath("datasets/second_gradients.json").read_text("utf-8")
)


@pytest.mark.parametrize("name", SERIES)
def test_the_first_draws_of_a_series_again(name):
    _, orders, settings = SERIES[name]
    assert [np.shape(one) for one in STORED[name]] == [(count, 2, len(orders), 3) for _, count in settings]
    np.testing.assert_allclose(series(name, 2)[0], STORED[name][0][:2], rtol=1e-4, atol=1e-6)
