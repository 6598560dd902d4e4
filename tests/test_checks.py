"""The checks of input: what counts as a number, and what an error prints."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from onestep_lib import Losses, Setting
from onestep_lib import _checks as checks
from onestep_lib.experiment import ridge_path
from onestep_lib.hermite import hermite_powers, hermite_series, overlap_moment
from onestep_lib.no_step import marchenko_pastur_edges, marchenko_pastur_means

MASKED = np.ma.array([1.0, 2.0], mask=[False, True])


def _kind(value):
    """A test's name: Python does not print integers of more than 4300 digits."""
    return type(value).__name__


class Broken:
    """An object whose repr and whose conversion fail."""

    def __repr__(self):
        raise RuntimeError

    def __array__(self, dtype=None, copy=None):
        raise RuntimeError


@pytest.mark.parametrize(
    "value",
    [
        2,
        2.0,
        np.float32(2),
        np.int8(2),
        Fraction(2),
        [2],
        (2.0,),
        np.array([2], object),
        range(2, 3),
        np.uint8([2]),
    ],
    ids=repr,
)
def test_numbers_of_every_kind_are_read(value):
    found = checks.check_real("a", value)
    assert found.dtype == np.float64
    assert found.ravel().tolist() == [2.0]


@pytest.mark.parametrize(
    "value",
    [None, "1", ["1"], np.array(["1"], object), np.array(["1"]), b"1", True, [1.0, True], np.True_,
     [[1], [True]], np.array([True]), np.array([1, True], object), 1j, [1j], np.array([1j]), object(), {1.0},
     {"a": 1.0}, [[1.0], [1.0, 2.0]], np.datetime64("2020-01-01"), Decimal(1), MASKED,
     np.ma.masked, [MASKED], [1, np.ma.masked], Broken()],
    ids=_kind,
)  # fmt: skip
@pytest.mark.filterwarnings("error")
def test_what_is_no_real_number_is_refused(value):
    for check in (checks.check_real, checks.check_positive, checks.check_number, checks.check_vector):
        with pytest.raises(TypeError, match="^width must"):
            check("width", value)


@pytest.mark.parametrize(
    "value",
    [np.nan, np.inf, [1.0, -np.inf], 10**400, [10**400], 10**5000, np.longdouble(10) ** 400],
    ids=_kind,
)
@pytest.mark.filterwarnings("error")
def test_what_is_not_finite_is_refused(value):
    for check in (checks.check_real, checks.check_nonnegative):
        with pytest.raises(ValueError, match="^width must be finite"):
            check("width", value)


@pytest.mark.parametrize(
    "call",
    [
        lambda a: hermite_series([0.0, 1.0], a),
        hermite_powers,
        lambda a: overlap_moment(1, a),
        lambda a: marchenko_pastur_means(a, 1.0),
        lambda a: ridge_path(np.ones((2, 1)), a, 0.1),
        marchenko_pastur_edges,
        lambda a: Setting(n=2, d=2, N=2, ridge=a),
        lambda a: Setting(n=2, d=2, N=2, target=a),
        lambda a: Losses.from_draws(np.ma.array(np.ones((2, 3)), mask=a.mask[:, None] * np.ones(3))),
    ],
)
def test_a_mask_is_never_dropped(call):
    with pytest.raises(TypeError, match="must not be a masked array"):
        call(MASKED)


def test_booleans_are_numbers_only_as_flags():
    assert checks.check_real("a", [True, False], flags=True).tolist() == [1.0, 0.0]
    for wrong in (True, np.array([True, False])):
        with pytest.raises(TypeError, match="ridge must be a real number"):
            Setting(n=2, d=2, N=2, ridge=wrong)


@pytest.mark.parametrize(
    "value",
    [[0.5] * 100_000 + ["x"], np.full(100_000, np.nan), "x" * 100_000, 10**5000, Broken()],
    ids=_kind,
)
def test_a_message_stays_short(value):
    with pytest.raises((TypeError, ValueError), match="^width must") as error:
        checks.check_real("width", value)
    assert len(str(error.value)) < 200


def test_a_long_path_is_cut_in_every_message():
    long = list(range(100_000))
    for change in (
        {"ridge": [*long, -1.0]},
        {"n": long},
        {"rows": long},
        {"fresh": long},
        {"activation": long},
    ):
        with pytest.raises((TypeError, ValueError), match="must") as error:
            Setting(**({"n": 2, "d": 2, "N": 2} | change))
        assert len(str(error.value)) < 400


@pytest.mark.parametrize(
    ("value", "error"), [(True, TypeError), (1.0, TypeError), (0, ValueError), (2**53 + 1, ValueError)]
)
def test_counts(value, error):
    assert checks.check_count("n", np.int8(5)) == 5
    assert type(checks.check_count("n", np.int8(5))) is int
    with pytest.raises(error, match="n must be an integer"):
        checks.check_count("n", value)


def test_checks_return_float64_arrays_as_they_are():
    array = np.ones((2, 3))
    assert checks.check_real("a", array) is array
    assert checks.check_matrix("a", array, 3) is array
    assert checks.check_broadcast(a=array, b=array)[0] is array
