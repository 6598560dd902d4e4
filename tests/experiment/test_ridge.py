"""Ridge paths against scikit-learn, the normal equations, the pseudo-inverse and leave-one-out by hand."""

import mpmath
import numpy as np
import pytest
from sklearn.linear_model import Ridge

from onestep_lib.experiment import least_squares_inflation, leave_one_out, ridge_path
from onestep_lib.repeats import mean_and_error

SHAPES = [(40, 15), (15, 40), (25, 25), (30, 1), (1, 30)]
RIDGES = np.array([1e-6, 1e-3, 0.1, 10.0])


def problem(n, width, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, width)) + 0.3, rng.standard_normal(n)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("ridge", RIDGES)
def test_agrees_with_scikit_learn(shape, ridge, deviation):
    F, y = problem(*shape)
    other = Ridge(alpha=ridge * shape[0], fit_intercept=False, solver="svd").fit(F, y)
    path = ridge_path(F, y, ridge)
    np.testing.assert_allclose(path.coefficients, other.coef_, rtol=1e-10, atol=1e-10)
    deviation("ridge.ridge_path", "scikit-learn", path.coefficients, other.coef_, scale=1)
    np.testing.assert_allclose(path.train, np.mean((y - other.predict(F)) ** 2), rtol=1e-8, atol=1e-20)


@pytest.mark.parametrize("shape", SHAPES)
def test_primal_equals_dual(shape):
    F, y = problem(*shape)
    n, width = shape
    a = ridge_path(F, y, 0.2).coefficients
    primal = np.linalg.solve(F.T @ F + 0.2 * n * np.eye(width), F.T @ y)
    dual = F.T @ np.linalg.solve(F @ F.T + 0.2 * n * np.eye(n), y)
    np.testing.assert_allclose(a, primal, rtol=1e-9, atol=1e-13)
    np.testing.assert_allclose(a, dual, rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("shape", [(40, 15), (15, 40)])
def test_no_penalty_is_the_smallest_least_squares_solution(shape):
    F, y = problem(*shape)
    path = ridge_path(F, y, 0)
    np.testing.assert_allclose(path.coefficients, np.linalg.lstsq(F, y)[0], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(path.coefficients, np.linalg.pinv(F) @ y, rtol=1e-9, atol=1e-12)
    if shape[1] > shape[0]:
        assert path.train < 1e-20


@pytest.mark.parametrize("shape", SHAPES)
def test_losses_are_those_of_their_definitions(shape):
    F, y = problem(*shape)
    path = ridge_path(F, y, 0.3)
    residual = y - F @ path.coefficients
    assert path.train == pytest.approx(np.mean(residual**2), rel=1e-12)
    assert path.objective == pytest.approx(path.train + 0.3 * np.sum(path.coefficients**2), rel=1e-12)
    R = np.linalg.inv(F @ F.T + 0.3 * shape[0] * np.eye(shape[0]))
    assert path.objective == pytest.approx(0.3 * y @ R @ y, rel=1e-10)


@pytest.mark.parametrize("ridge", [1e-10, 1e-6, 1e-2])
def test_interpolating_fit_keeps_its_digits_at_small_penalties(ridge, deviation):
    """For N > n the residual is of order the penalty; train and gcv must not drown in rounding."""
    F, y = problem(8, 20)
    with mpmath.workdps(50):
        R = (mpmath.matrix(F) * mpmath.matrix(F.T) + 8 * mpmath.mpf(ridge) * mpmath.eye(8)) ** -1
        Ry = R * mpmath.matrix(y)
        square = sum(value**2 for value in Ry)
        train = 8 * mpmath.mpf(ridge) ** 2 * square
        gcv = 8 * square / sum(R[i, i] for i in range(8)) ** 2
    path = ridge_path(F, y, ridge)
    assert path.train == pytest.approx(float(train), rel=1e-9)
    assert path.gcv == pytest.approx(float(gcv), rel=1e-9)
    found, exact = [path.train, path.gcv], [float(train), float(gcv)]
    deviation("ridge.ridge_path", "mpmath, 50 digits, small penalties", found, exact)


@pytest.mark.parametrize("shape", [(25, 10), (20, 35), (18, 18)])
@pytest.mark.parametrize("ridge", [1e-3, 0.5])
def test_leave_one_out_equals_leaving_one_out(shape, ridge, deviation):
    F, y = problem(*shape)
    n = shape[0]
    brute = []
    for i in range(n):
        keep = np.arange(n) != i
        gram = F[keep].T @ F[keep] + ridge * n * np.eye(shape[1])
        brute.append(y[i] - F[i] @ np.linalg.solve(gram, F[keep].T @ y[keep]))
    found = leave_one_out(F, y, ridge)
    np.testing.assert_allclose(found, brute, rtol=1e-7, atol=1e-10)
    deviation("ridge.leave_one_out", "fits without one sample", found, brute, scale=1e-3)


@pytest.mark.parametrize("shape", [(25, 10), (20, 35)])
def test_gcv_is_leave_one_out_with_the_mean_leverage(shape):
    F, y = problem(*shape)
    S = F @ np.linalg.solve(F.T @ F + 0.2 * shape[0] * np.eye(shape[1]), F.T)
    path = ridge_path(F, y, 0.2)
    brute = np.mean(((y - S @ y) / (1 - np.trace(S) / shape[0])) ** 2)
    assert path.gcv == pytest.approx(brute, rel=1e-10)


@pytest.mark.parametrize("shape", [(6, 3), (3, 6), (4, 4)])
@pytest.mark.parametrize("ridge", [0.0, 0.1])
def test_features_that_are_all_zero_fit_nothing(shape, ridge):
    y = np.arange(1.0, shape[0] + 1)
    path = ridge_path(np.zeros(shape), y, ridge)
    assert not path.coefficients.any()
    assert path.train == path.objective == pytest.approx(np.mean(y**2))
    assert path.gcv == pytest.approx(np.mean(y**2))


@pytest.mark.parametrize("shape", [(60, 25), (25, 60), (40, 40)])
@pytest.mark.parametrize("ridge", [1e-6, 0.1, 1e6])
def test_few_penalties_and_many_give_the_same(shape, ridge):
    """A Cholesky factor for each penalty, or one diagonalisation for all."""
    rng = np.random.default_rng(3)
    F, y = rng.standard_normal(shape), rng.standard_normal(shape[0])
    many = [ridge, *np.geomspace(1e-3, 1e3, 12)]
    wide, alone = ridge_path(F, y, many), ridge_path(F, y, ridge)
    for name in ("coefficients", "train", "objective", "gcv"):
        np.testing.assert_allclose(getattr(alone, name), getattr(wide, name)[..., 0], rtol=1e-8, atol=1e-12)
    plain = ridge_path(F, y, ridge, gcv=False)
    np.testing.assert_array_equal(plain.coefficients, alone.coefficients)
    np.testing.assert_array_equal([plain.train, plain.objective], [alone.train, alone.objective])


@pytest.mark.parametrize("shape", SHAPES)
def test_train_is_a_derivative_of_the_objective(shape):
    F, y = problem(*shape)
    step = 1e-4
    above, below = (float(ridge_path(F, y, 0.3 * sign).objective) for sign in (1 + step, 1 - step))
    slope = (above / (1 + step) - below / (1 - step)) / (2 * step)  # lambda^2 d(objective/lambda)/d lambda
    assert float(ridge_path(F, y, 0.3).train) == pytest.approx(-slope, rel=1e-6)


@pytest.mark.parametrize(("n", "width"), [(40, 5), (40, 20), (40, 32)])
def test_least_squares_inflation_by_simulation(n, width, deviation):
    """Gaussian features of any covariance; the loss of the population's best predictor is 1."""
    rng = np.random.default_rng(width)
    mix = rng.standard_normal((width, width)) / np.sqrt(width) + np.eye(width)
    tests, trains = [], []
    for _ in range(1500):
        fit = ridge_path(rng.standard_normal((n, width)) @ mix.T, rng.standard_normal(n), 0)
        tests.append(1 + np.sum((mix.T @ fit.coefficients) ** 2))
        trains.append(float(fit.train))
    train, train_se = mean_and_error(np.array(trains))
    assert abs(train - (n - width) / n) < 4 * train_se
    mean, se = mean_and_error(np.array(tests))
    z = (mean - least_squares_inflation(n, width)) / se
    deviation("ridge.least_squares_inflation", "n = 40, 1500 draws", z, 0, 1)
    print(
        f"n={n}, N={width}: factor {least_squares_inflation(n, width):.4f}, simulated {mean:.4f}, z {z:+.1f}"
    )
    assert abs(z) < 4


def hard_features(kind, n, width):
    """Features that are nearly or exactly singular, or of which one sample alone has a direction."""
    rng = np.random.default_rng(n + 10 * width)
    F = rng.standard_normal((n, width))
    if kind == "condition 1e8":
        left, values, right = np.linalg.svd(F, full_matrices=False)
        return left * np.geomspace(1, 1e-8, values.size) @ right
    if kind == "rank 2":
        return (rng.integers(-3, 4, (n, 2)) @ rng.integers(-3, 4, (2, width))).astype(float)
    if kind == "a feature of one sample":
        F[0], F[:, 0], F[0, 0] = 0.0, 0.0, 2.0
    if kind == "two equal samples":
        F[1] = F[0]
    return F


def fit_in_mpmath(F, y, ridge):
    """Coefficients in as many digits as mpmath is set to; at 0 the smallest least-squares solution."""
    A, b = mpmath.matrix(F.tolist()), mpmath.matrix(y.tolist())
    if ridge:
        return mpmath.lu_solve(A.T * A + ridge * mpmath.eye(A.cols), A.T * b)
    left, values, right = mpmath.svd_r(A)
    kept = [k for k in range(len(values)) if values[k] > values[0] * mpmath.mpf(10) ** -30]
    parts = [right[k, :].T * ((left[:, k].T * b)[0] / values[k]) for k in kept]
    return sum(parts, mpmath.zeros(A.cols, 1))


@pytest.mark.parametrize("shape", [(7, 4), (4, 7), (5, 5)])
@pytest.mark.parametrize(
    "kind", ["condition 1e8", "rank 2", "a feature of one sample", "two equal samples", "plain"]
)
def test_leave_one_out_at_every_penalty(kind, shape, deviation):
    """Against refits in mpmath: neither a small penalty nor a singular F costs digits."""
    n, F = shape[0], hard_features(kind, *shape)
    y = np.random.default_rng(3).standard_normal(n)
    for ridge, digits in ((0.0, 60), (1e-300, 680), (1e-16, 90), (1e-13, 80), (1e-3, 40), (1e3, 40)):
        with mpmath.workdps(digits):
            penalty = n * mpmath.mpf(ridge)
            fits = [fit_in_mpmath(np.delete(F, i, 0), np.delete(y, i), penalty) for i in range(n)]
            brute = [float(y[i] - (mpmath.matrix([F[i].tolist()]) * fit)[0]) for i, fit in enumerate(fits)]
        found = leave_one_out(F, y, ridge)
        size = np.abs(brute).max()
        assert np.abs(found - brute).max() < (1e-7 if kind == "condition 1e8" else 1e-12) * size
        if kind != "condition 1e8":
            deviation("ridge.leave_one_out", "refits in mpmath, penalties 0 to 1e3", found, brute, scale=size)


@pytest.mark.parametrize("shape", [(30, 12), (12, 30), (12, 12)])
@pytest.mark.parametrize("ridge", [0.0, 1e-300])
def test_no_penalty_loses_no_direction_that_a_double_holds(shape, ridge):
    """Condition 1e8 is 1e16 in a Gram matrix: the weakest direction must stay."""
    F = hard_features("condition 1e8", *shape)
    truth = np.random.default_rng(5).standard_normal(shape[1])
    y = F @ truth
    with mpmath.workdps(60):
        exact = np.array(fit_in_mpmath(F, y, 0).T.tolist()[0], dtype=float)
    path = ridge_path(F, y, ridge)
    # The inverse of 1e-8 multiplies rounding of 1e-16.
    np.testing.assert_allclose(path.coefficients, exact, atol=1e-6)


class Table:
    """What pandas and others hand over: an object that NumPy can read."""

    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return np.array(self.values, dtype)


_NUMBERS = np.array([[1, 0], [0, 1], [1, 1], [0, 0], [1, 0]])


@pytest.mark.parametrize(
    "convert",
    [
        lambda a: a.astype(np.uint8),
        lambda a: a.astype(bool),
        lambda a: a.astype(np.float16),
        lambda a: a.astype(np.int8) * 100,
        lambda a: a.tolist(),
        lambda a: Table(a),
    ],
    ids=["uint8", "bool", "float16", "int8", "lists", "tables"],
)
def test_features_of_every_numeric_type(convert):
    """Sums of narrow integers wrap around: what is computed with are doubles."""
    F, y = np.tile(_NUMBERS, (60, 1)), np.tile([1, 0, 1, 0, 1], 60)
    given = convert(F), convert(y)
    doubles = tuple(np.array(part, dtype=float) for part in given)
    np.testing.assert_array_equal(leave_one_out(*given, 0.1), leave_one_out(*doubles, 0.1))
    found, expected = ridge_path(*given, 0.01).coefficients, ridge_path(*doubles, 0.01).coefficients
    np.testing.assert_array_equal(found, expected)
    gram = doubles[0].T @ doubles[0] + 3.0 * np.eye(2)
    np.testing.assert_allclose(found, np.linalg.solve(gram, doubles[0].T @ doubles[1]), rtol=0.01)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0)])
def test_nothing_to_fit_is_refused(shape):
    F, y = np.zeros(shape), np.zeros(shape[0])
    for call in (lambda: ridge_path(F, y, 0.1), lambda: leave_one_out(F, y, 0.1)):
        with pytest.raises(ValueError, match="F must hold at least one sample and one feature"):
            call()


@pytest.mark.parametrize("shape", [(30, 6), (6, 30)])
@pytest.mark.parametrize("ridges", [0.0, 0.1, [0.0, 0.1, 1, 2, 3, 4]])
def test_features_whose_squares_are_no_numbers_are_refused(shape, ridges):
    F, y = problem(*shape)
    with pytest.raises(ValueError, match="F, y and ridges must be so small that their squares"):
        ridge_path(1e154 * F, y, ridges)
    # Where they are numbers, the fit is that of features of the usual size.
    found = ridge_path(1e140 * F, y, 0.0).coefficients
    np.testing.assert_allclose(1e140 * found, ridge_path(F, y, 0.0).coefficients, rtol=1e-9, atol=1e-12)
