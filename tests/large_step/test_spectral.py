"""The outlier of the weights along an even target: against networks, Lu and Li's formula, and refusals."""

import numpy as np
import pytest
from scipy.optimize import brentq

from onestep_lib import Setting
from onestep_lib.experiment import gradient_step, initial_network, sample_batch, sample_direction
from onestep_lib.large_step.spectral import even_outlier
from onestep_lib.quadrature import gaussian_mean, gaussian_quadrature
from onestep_lib.repeats import mean_and_error

MEAN = gaussian_mean(lambda z: np.tanh(z**2 - 1))
HE_2 = (0.0, 0.0, 2**-0.5)


def bump(z):
    return 2.5 * (np.tanh(z**2 - 1) - MEAN)


def made(activation, target, d, alpha, width, step, **changes):
    """n = alpha d, N = width d, a step in units of sqrt(N)."""
    N = width * d
    changes = {"readout": "signs", **changes}
    return Setting(alpha * d, d, N, activation, target, step=step * np.sqrt(N), **changes)


def drawn(setting, seed, repeats):
    """Singular value and squared overlap of the vector closest to beta_*, shape (repeats, 2)."""
    found = []
    for rng in np.random.default_rng(seed).spawn(repeats):
        beta = sample_direction(setting.d, rng)
        network = initial_network(setting, rng)
        weights = gradient_step(network, *sample_batch(setting, setting.n, beta, rng), setting.step).weights
        values, vectors = np.linalg.eigh(weights.T @ weights)
        # The first is the noise spike, the last ones are the edge of the bulk.
        overlaps = (vectors[:, -4:].T @ beta) ** 2
        found.append((np.sqrt(values[-4 + np.argmax(overlaps)]), overlaps.max()))
    return np.array(found)


@pytest.mark.parametrize(
    ("activation", "target", "alpha", "width", "step", "changes"),
    [
        ("relu", bump, 16, 4, 2, {}),
        ("relu", bump, 16, 4, 4, {"noise": 0.5, "rows": "spherical"}),
        ("relu", bump, 8, 2, 2, {"readout": "gaussian"}),
        ("softplus", bump, 16, 4, 6, {}),
        ("relu", HE_2, 16, 4, 2, {}),
        # The row's noise alone carries the direction of an odd activation's target.
        ("tanh", bump, 16, 4, 30, {}),
    ],
)
def test_networks_have_the_outlier(activation, target, alpha, width, step, changes, deviation):
    setting = made(activation, target, 120, alpha, width, step, **changes)
    theory = even_outlier(setting)
    mean, error = mean_and_error(drawn(setting, 5, 12))
    print(mean, error, theory.outlier, theory.overlap)
    deviation(
        "spectral.even_outlier", "networks, d = 120, 12 draws", mean, (theory.outlier, theory.overlap), error
    )
    # The largest label moves from batch to batch.
    assert abs(mean[0] / theory.outlier - 1) < 3.5 * error[0] / mean[0] + 0.01
    assert abs(mean[1] - theory.overlap) < 3.5 * error[1] + 0.01


@pytest.mark.slow
@pytest.mark.parametrize(("d", "repeats"), [(60, 24), (240, 8)])
@pytest.mark.parametrize(
    ("activation", "target", "step"), [("relu", bump, 2), ("softplus", bump, 4), ("relu", HE_2, 2)]
)
def test_the_overlap_does_not_fall_with_the_size(activation, target, step, d, repeats):
    setting = made(activation, target, d, 16, 4, step)
    theory = even_outlier(setting)
    mean, error = mean_and_error(drawn(setting, 6, repeats))
    print(mean, error, theory.outlier, theory.overlap)
    assert abs(mean[1] - theory.overlap) < 3.5 * error[1] + 1 / d
    assert abs(mean[0] / theory.outlier - 1) < 3.5 * error[0] / mean[0] + 3 / d


def test_the_threshold_is_crossed():
    """Below it the vectors of networks know nothing that grows with d; above they do."""
    setting = made("relu", bump, 200, 16, 4, 1)
    threshold = even_outlier(setting).threshold
    below, above = (drawn(setting.replace(step=x * threshold), 7, 4)[:, 1].mean() for x in (0.5, 1.7))
    print(below, above)
    assert below < 0.06
    assert abs(above - even_outlier(setting.replace(step=1.7 * threshold)).overlap) < 0.1
    found = even_outlier(setting.replace(step=[0.99 * threshold, 1.01 * threshold]))
    assert found.outlier[0] == found.edge[0]
    assert found.overlap[0] == 0
    assert found.outlier[1] > found.edge[1]
    assert 0 < found.overlap[1] < 0.1


def test_many_neurons_see_the_batch_matrix_itself():
    r"""With N >> n and a linear slope, W^T W/c is (I + t H-hat)^2: Lu and Li's eigenvalue and overlap."""
    alpha, c = 8, 10**6
    setting = Setting(8 * 50, 50, c * 50, "he2", bump, readout=[1], step=0.3 * np.sqrt(c * 50))
    zeta, weights = gaussian_quadrature()
    y = bump(zeta)

    def dressed(s):
        return y / (1 - y * s)

    def place(s):  # Lu and Li: where the bulk's equation puts s
        return weights @ dressed(s) + 1 / (alpha * s)

    def along(s):
        return weights @ (zeta**2 * dressed(s)) - place(s)

    s = brentq(along, 1e-3 / y.max(), 0.6 / y.max())
    step = 1e-6 * s
    overlap = -(place(s + step) - place(s - step)) / (along(s + step) - along(s - step))
    found = even_outlier(setting)
    tilt = 0.3 * 2  # sigma' = 2 zeta
    np.testing.assert_allclose(found.outlier / np.sqrt(c), 1 + tilt * place(s), rtol=2e-3)
    np.testing.assert_allclose(found.overlap, overlap, rtol=2e-3)


def test_the_batch_matrix_has_its_threshold():
    """Draws of H-hat at a third of n/d and at three times as many."""
    d, setting = 400, made("relu", bump, 400, 16, 4, 2)
    ratio = even_outlier(setting).ratio
    known = []
    for share in (1 / 3, 3):
        overlaps = []
        for rng in np.random.default_rng(8).spawn(4):
            X = rng.standard_normal((int(share * ratio * d), d))
            vectors = np.linalg.eigh(X.T @ (bump(X[:, 0])[:, None] * X))[1]
            overlaps.append(vectors[0, -1] ** 2)
        known.append(np.mean(overlaps))
    print(ratio, known)
    assert known[0] < 0.05
    assert known[1] > 0.3


def test_what_it_refuses():
    with pytest.raises(ValueError, match="target must be even"):
        even_outlier(made("relu", (0, 1), 100, 4, 2, 1))
    with pytest.raises(ValueError, match="output must be"):
        even_outlier(made("relu", bump, 100, 4, 2, 1, output="raw"))
    # A linear activation's step moves no row along an even target.
    none = even_outlier(made("identity", bump, 100, 4, 2, 4))
    assert none.threshold == np.inf
    assert none.overlap == 0
    np.testing.assert_allclose(none.edge, 1 + np.sqrt(2), rtol=1e-4)
