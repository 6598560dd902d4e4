"""Baselines on the network's data: closed forms, limits of the theory, pairing, and the network's kernel."""

import numpy as np
import pytest

from onestep_lib import ConvergenceError, Setting, random_features, simulate
from onestep_lib.beyond import baselines
from onestep_lib.beyond.baseline_fits import BASELINES
from onestep_lib.beyond.kernels import kernel_matrix
from onestep_lib.experiment import feature_matrix, initial_network, least_squares_inflation
from onestep_lib.experiment.simulation import Draws
from onestep_lib.settings import LOSSES
from onestep_lib.two_index import TwoIndexTarget

S = Setting(n=300, d=100, N=200, target=(0, 1, 0.5), noise=0.4, ridge=[0.02, 0.2])


def rng(seed=0):
    return np.random.default_rng(seed)


def z_of(losses, name, expected):
    return float((losses[name][0] - expected) / losses[name][1])


def test_least_squares_has_its_known_risk(deviation):
    """Gaussian noise: noise^2 (1 + d/(n - d - 1)) exactly, on n and on 2 n samples."""
    s = S.replace(target=(0, 1), ridge=0.1, noise=1.0)
    found = baselines(s, rng(1), 60, ("linear", "linear on both"), test_size=4000)
    z = []
    for name, n in (("linear", 300), ("linear on both", 600)):
        # The estimate misses by the noise's share on d inputs, whose mean inverse is 1/(n - d - 1).
        expected = 1 + 100 / (n - 100 - 1)
        assert least_squares_inflation(n, 100) == pytest.approx(expected)
        z += [z_of(found[name], "test", expected), z_of(found[name], "train", 1 - 100 / n)]
    print("least squares: z", np.round(z, 1))
    assert np.abs(z).max() < 4
    deviation("baseline_fits.baselines", "least squares, exact risk, 60 repeats", z, 0, 1)


def test_ridge_on_x_is_random_features_of_a_wide_linear_network(deviation):
    found = baselines(S, rng(3), 40, ("ridge", "ridge on both"), test_size=4000)
    z, wide = [], 10**7
    for name, n in (("ridge", 300), ("ridge on both", 600)):
        # X W^T has the Gram matrix N/d X X^T.
        theory = random_features(S.replace(n=n, N=wide, activation="identity", ridge=S.ridges * wide / S.d))
        z += [(found[name][kind][0] - theory[kind][0]) / found[name][kind][1] for kind in ("train", "test")]
    print("ridge on x: z", np.round(z, 1).tolist())
    assert np.abs(z).max() < 4
    deviation("baseline_fits.baselines", "ridge on x, wide linear network, 40 repeats", z, 0, 1)


@pytest.mark.parametrize("rows", ["gaussian", pytest.param("spherical", marks=pytest.mark.slow)])
def test_kernel_ridge_is_random_features_of_infinite_width(rows, deviation):
    s = S.replace(rows=rows, activation="relu", d=150)
    found = baselines(s, rng(4), 40, ("kernel",), test_size=2000)["kernel"]
    theory = random_features(s.replace(N=10**7, ridge=s.ridges * 10**7 / s.N))
    z = [(found[kind][0] - theory[kind][0]) / found[kind][1] for kind in LOSSES]
    print(f"kernel, {rows}: z", np.round(z, 1).tolist())
    assert np.abs(z).max() < 4
    deviation("baseline_fits.baselines", f"kernel ridge, {rows}, wide network, 40 repeats", z, 0, 1)


def test_oracles(deviation):
    found = baselines(S, rng(5), 40, ("oracle", "fitted oracle"), test_size=4000)
    np.testing.assert_allclose(found["oracle"].test, 0.16)
    assert abs(z_of(found["oracle"].__class__.from_draws(found["oracle"].draws[..., 0]), "train", 0.16)) < 4
    # Three coefficients at least are fitted: noise^2 (1 + 3/n) and what a wrong degree costs.
    fitted = found["fitted oracle"].test[0]
    assert 0.16 * (1 + 3 / 300) - 3 * found["fitted oracle"].test_se[0] < fitted < 0.16 * 1.12
    two = S.replace(target=TwoIndexTarget(lambda s, t: s + s * t), ridge=0.1)
    pair = baselines(two, rng(6), 20, ("oracle", "fitted oracle", "linear"), test_size=2000)
    assert pair["oracle"].test == pytest.approx(0.16)
    assert 0.16 < pair["fitted oracle"].test < 0.16 * 1.2
    assert pair["linear"].test > 1.16


def test_draws_are_those_of_simulate():
    """A wide linear network without penalty is least squares on x, repeat by repeat."""
    s = S.replace(n=60, d=10, N=40, activation="identity", ridge=0.0, step=0.0)
    network = simulate(s, rng(7), repeats=3, test_size=3000)
    linear = baselines(s, rng(7), 3, ("linear",), test_size=3000)["linear"]
    np.testing.assert_allclose(network.draws, linear.draws, rtol=1e-7, atol=1e-12)


def test_both_batches_are_those_of_the_step_and_of_the_ridge_fit():
    s = S.replace(n=60, d=10, N=40, ridge=0.1)
    found = baselines(s, rng(8), 2, ("linear on both", "linear"), test_size=2000)
    streams = Draws(s, rng(8).spawn(2)[0])
    X, y = (np.concatenate(pair) for pair in zip(streams.gradient_batch(), streams.ridge_batch, strict=True))
    b = np.linalg.lstsq(X, y, rcond=None)[0]
    assert found["linear on both"].draws[0, 0] == pytest.approx(np.mean((y - X @ b) ** 2), rel=1e-10)
    same = baselines(s.replace(fresh=False), rng(8), 2, ("linear on both", "linear"), test_size=2000)
    np.testing.assert_array_equal(same["linear on both"].draws, found["linear"].draws)


def test_kernel_ridge_against_a_dense_solve():
    s = S.replace(n=50, d=20, N=40, ridge=0.3)
    draws = baselines(s, rng(9), 2, ("kernel",), test_size=10)["kernel"].draws[0]
    X, y = Draws(s, rng(9).spawn(2)[0]).ridge_batch
    gram = s.N * kernel_matrix(s, X)
    fitted = gram @ np.linalg.solve(gram + 0.3 * s.n * np.eye(s.n), y)
    assert draws[0] == pytest.approx(np.mean((y - fitted) ** 2), rel=1e-9)
    objective = 0.3 * y @ np.linalg.solve(gram + 0.3 * s.n * np.eye(s.n), y)
    assert draws[2] == pytest.approx(objective, rel=1e-9)


def test_the_kernel_of_relu_is_its_closed_form(deviation):
    """Cho and Saul (2009), at inputs of different lengths."""
    X = rng(10).standard_normal((12, 30)) * np.linspace(0.5, 2, 12)[:, None]
    kernel = kernel_matrix(S.replace(d=30, activation="relu"), X)
    lengths = np.linalg.norm(X, axis=1)
    angle = np.arccos(np.clip(X @ X.T / np.multiply.outer(lengths, lengths), -1, 1))
    closed = np.multiply.outer(lengths, lengths) / (2 * np.pi * 30)
    closed *= np.sin(angle) + (np.pi - angle) * np.cos(angle)
    np.testing.assert_allclose(kernel, closed, rtol=1e-9)
    deviation("kernels.kernel_matrix", "relu, closed form", kernel, closed)


@pytest.mark.parametrize("rows", ["gaussian", "spherical"])
@pytest.mark.parametrize("activation", ["softplus", "abs"])
def test_the_kernel_against_many_rows(rows, activation):
    s = Setting(n=6, d=12, N=400_000, rows=rows, activation=activation)
    X, generator = rng(11).standard_normal((6, 12)), rng(12)
    F = feature_matrix(initial_network(s, generator).weights, X, s.activation)
    products = F[:, None, :] * F[None, :, :]
    error = products.std(axis=-1) / np.sqrt(s.N)
    z = (products.mean(axis=-1) - kernel_matrix(s, X)) / error
    assert np.abs(z).max() < 4.5
    # Without the diagonal, which of two equal inputs would need every degree.
    block = kernel_matrix(s, X[:2], X[2:])
    np.testing.assert_allclose(block, kernel_matrix(s, X)[:2, 2:], rtol=1e-9)


def test_spherical_rows_have_exact_moments():
    """He_2's kernel on the sphere: E (w_x^2 r^2 - 1)(w_y^2 q^2 - 1), from E w_1^2 w_2^2 = 1/(d (d + 2))."""
    d, X = 7, rng(13).standard_normal((5, 7))
    kernel = kernel_matrix(Setting(n=5, d=d, N=3, rows="spherical", activation="he2"), X)
    squares, inner = np.sum(X**2, axis=1), X @ X.T
    fourth = (np.multiply.outer(squares, squares) + 2 * inner**2) / (d * (d + 2))
    closed = fourth - (squares[:, None] + squares) / d + 1
    np.testing.assert_allclose(kernel, closed, rtol=1e-9)
    gaussian = kernel_matrix(Setting(n=5, d=d, N=3, activation="he2"), X)
    closed = (
        (np.multiply.outer(squares, squares) + 2 * inner**2) / d**2 - (squares[:, None] + squares) / d + 1
    )
    np.testing.assert_allclose(gaussian, closed, rtol=1e-9)


def test_every_name_and_its_shape():
    s = S.replace(n=40, d=20, N=30, step=[0.0, 1.0])
    found = baselines(s, rng(), 2, test_size=100)
    assert tuple(found) == BASELINES
    for losses in found.values():
        assert losses.draws.shape == (2, 3, 2)
        assert np.isfinite(losses.draws).all()
        assert losses.test.shape == s.ridges.shape


def test_nearly_parallel_inputs_need_too_many_degrees():
    X = rng().standard_normal((2, 5))
    near = np.concatenate([X, X + 1e-4])
    with pytest.raises(ConvergenceError, match="kernel_matrix did not converge .*inputs nearly parallel"):
        kernel_matrix(Setting(n=4, d=5, N=3, activation="sign"), near)
    kernel_matrix(Setting(n=4, d=5, N=3, activation="tanh"), near)
    with pytest.raises(ValueError, match="X must not hold an input of length 0"):
        kernel_matrix(Setting(n=4, d=5, N=3), np.zeros((2, 5)))
