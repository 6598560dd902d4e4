import numpy as np
import pytest
from scipy.stats import sem

from onestep_lib.repeats import mean_and_error


def test_of_every_entry_as_scipy_has_it():
    draws = np.random.default_rng(0).standard_normal((7, 3, 2))
    mean, error = mean_and_error(draws)
    np.testing.assert_allclose(mean, draws.sum(axis=0) / 7, rtol=1e-13)
    np.testing.assert_allclose(error, sem(draws), rtol=1e-13)


def test_it_covers_the_truth_as_often_as_it_says():
    draws = np.random.default_rng(1).standard_normal((30, 4000))
    mean, error = mean_and_error(draws)
    # Within two standard errors: 0.945 for Student's t with 29 degrees of freedom; 0.0036 is its own error.
    assert abs(np.mean(np.abs(mean) < 2 * error) - 0.945) < 4 * 0.0036


@pytest.mark.parametrize("draws", [1.0, [1.0], np.empty((0, 3))])
def test_one_repeat_has_no_error(draws):
    with pytest.raises(ValueError, match="no standard error"):
        mean_and_error(draws)
