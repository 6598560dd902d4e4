"""The simulator: streams, pairing, errors, memory, and agreement with the random-features theory."""

import tracemalloc

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from onestep_lib import Setting, simulate, simulate_spectrum
from onestep_lib.experiment import (
    feature_matrix,
    gradient_step,
    initial_network,
    sample_batch,
    sample_direction,
)
from onestep_lib.experiment.feature_maps import FEATURE_MAPS
from onestep_lib.experiment.simulation import Draws
from onestep_lib.settings import LOSSES

SMALL = Setting(n=40, d=20, N=30, target=(0, 1, 0.5), noise=0.3, ridge=0.1)


def rng(seed=0):
    return np.random.default_rng(seed)


def assert_same_losses(first, second, rtol=1e-10):
    for kind in LOSSES:
        np.testing.assert_allclose(first[kind][0], second[kind][0], rtol=rtol)
    np.testing.assert_allclose(first.draws, second.draws, rtol=rtol)


@pytest.mark.parametrize("kind", ["network", "gaussian_equivalent"])
def test_a_seed_reproduces(kind):
    first, second = (simulate(SMALL, rng(), repeats=3, feature_map=kind) for _ in range(2))
    np.testing.assert_array_equal(first.draws, second.draws)
    assert first.test != simulate(SMALL, rng(1), repeats=3, feature_map=kind).test


def test_jobs_do_not_change_the_draws():
    s = SMALL.replace(step=[0.0, 1.0])
    assert_same_losses(simulate(s, rng(), repeats=4), simulate(s, rng(), repeats=4, jobs=2))


def test_more_repeats_keep_the_first_ones():
    few, many = (simulate(SMALL, rng(), repeats=repeats) for repeats in (3, 5))
    np.testing.assert_array_equal(few.draws, many.draws[:3])


@pytest.mark.parametrize("kind", ["network", "gaussian_equivalent"])
def test_a_path_equals_its_single_runs(kind):
    """Draws are shared along penalties and steps, whatever else is in the path: losses are paired."""
    ridges, steps = (0.01, 0.1, 1.0), (0.0, 0.5, 3.0)
    path = simulate(
        SMALL.replace(ridge=ridges, step=steps), rng(), repeats=3, feature_map=kind, test_size=5000
    )
    assert path.test.shape == (3, 3)
    assert path.draws.shape == (3, 3, 3, 3)
    for i, step in enumerate(steps):
        for j, ridge in enumerate(ridges):
            one = SMALL.replace(ridge=ridge, step=step)
            single = simulate(one, rng(), repeats=3, feature_map=kind, test_size=5000)
            assert isinstance(single.test, float)
            np.testing.assert_allclose(path.draws[:, :, i, j], single.draws, rtol=1e-9)


def test_noise_and_step_leave_the_other_streams_alone():
    """The weights, inputs and direction are the same: only what the change touches moves."""
    seen = []

    def spy(network, X, generator):
        seen.append((network.weights.copy(), X.copy()))
        return feature_matrix(network.weights, X, network.activation)

    simulate(SMALL, rng(), repeats=2, feature_map=spy)
    simulate(SMALL.replace(noise=2.0, ridge=5.0, target="sin"), rng(), repeats=2, feature_map=spy)
    half = len(seen) // 2
    for (W, X), (W2, X2) in zip(seen[:half], seen[half:], strict=True):
        np.testing.assert_array_equal(W, W2)
        np.testing.assert_array_equal(X, X2)


def test_the_step_uses_its_own_batch():
    """The first repeat by hand from its streams: direction, network, gradient batch, ridge batch."""
    seen = []

    def spy(network, X, generator):
        seen.append((network.weights.copy(), X))
        return feature_matrix(network.weights, X, network.activation)

    s = SMALL.replace(step=2.0)
    simulate(s, rng(), repeats=2, feature_map=spy, test_size=10)
    children = rng().spawn(2)[0].spawn(6)
    direction = sample_direction(s.d, children[0])
    network = initial_network(s, children[1])
    X, y = sample_batch(s, s.n, direction, children[2])
    np.testing.assert_allclose(seen[0][0], gradient_step(network, X, y, 2.0).weights, rtol=1e-12)
    np.testing.assert_array_equal(seen[0][1], sample_batch(s, s.n, direction, children[3])[0])
    assert np.abs(np.corrcoef(X.ravel(), seen[0][1].ravel())[0, 1]) < 0.2


def test_the_gradient_s_batch_may_have_its_own_size():
    """Only the gradient's batch changes, and it is the first stream's: by hand from the streams."""
    s = SMALL.replace(step=2.0, n_0=300)
    children = rng().spawn(6)
    direction, network = sample_direction(s.d, children[0]), initial_network(s, children[1])
    X, y = sample_batch(s, 300, direction, children[2])
    draws, equal = Draws(s, rng()), Draws(SMALL.replace(step=2.0), rng())
    (stepped,) = draws.networks()
    np.testing.assert_allclose(stepped.weights, gradient_step(network, X, y, 2.0).weights, rtol=1e-12)
    np.testing.assert_array_equal(stepped.initial.weights, next(equal.networks()).initial.weights)
    for own, other in zip(draws.ridge_batch, equal.ridge_batch, strict=True):
        assert own.shape[0] == s.n
        np.testing.assert_array_equal(own, other)


def test_the_test_set_is_streamed():
    """A hundred times the test set takes the same memory, up to one chunk."""

    def peak(size):
        tracemalloc.start()
        simulate(SMALL.replace(N=200), rng(), repeats=2, test_size=size)
        _, top = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return top

    small, large = peak(3000), peak(300_000)
    chunk = 2048 * 200 * 8
    print(f"peak {small / 1e6:.1f} MB and {large / 1e6:.1f} MB; all features at once would be 480 MB")
    assert large < small + chunk
    assert large < 8 * chunk


def test_test_loss_against_its_closed_form():
    """For linear features the test loss is |beta_* - W^T a|^2 + noise^2, without any test set."""
    fits = []

    def spy(network, X, generator):
        fits.append((network.weights, X))
        return X @ network.weights.T

    s = SMALL.replace(activation="identity", target=(0, 1), N=8)
    losses = simulate(s, rng(), repeats=2, feature_map=spy, test_size=400_000)
    children = rng().spawn(2)[0].spawn(6)
    direction = sample_direction(s.d, children[0])
    X, y = sample_batch(s, s.n, direction, children[3])
    W = fits[0][0]
    np.testing.assert_array_equal(X, fits[0][1])
    F = X @ W.T
    a = np.linalg.solve(F.T @ F + 0.1 * s.n * np.eye(8), F.T @ y)
    exact = np.sum((direction - W.T @ a) ** 2) + 0.3**2
    assert losses.draws[0, 1] == pytest.approx(exact, rel=5 * np.sqrt(2 / 400_000))
    assert losses.draws[0, 0] == pytest.approx(np.mean((y - F @ a) ** 2), rel=1e-10)
    assert losses.draws[0, 2] == pytest.approx(losses.draws[0, 0] + 0.1 * a @ a, rel=1e-10)


def test_nothing_to_learn_costs_nothing():
    losses = simulate(SMALL.replace(target=(0.0,), noise=0.0), rng(), repeats=2)
    assert losses.train == losses.test == losses.objective == 0


def test_the_spectrum_is_that_of_the_features_of_the_first_draw():
    s = SMALL.replace(N=25, step=0.5)
    eigenvalues = simulate_spectrum(s, rng(2))
    assert eigenvalues.shape == (40,)
    assert np.all(np.diff(eigenvalues) >= 0)
    assert np.abs(eigenvalues[:15]).max() < 1e-12
    assert eigenvalues[15] > 1e-6
    assert eigenvalues.sum() == pytest.approx(25 * s.activation.second_moment, rel=0.15)
    np.testing.assert_array_equal(eigenvalues, simulate_spectrum(s, rng(2)))


def test_progress_bar_shows_the_repeats(capsys):
    simulate(SMALL, rng(), repeats=2, progress=True)
    assert "2/2" in capsys.readouterr().err
    simulate(SMALL, rng(), repeats=2)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("feature_map", "message"),
    [
        ("kernel", "feature_map must be one of 'network', 'gaussian_equivalent'.* got 'kernel'"),
        (3, "feature_map must be one of .* got 3"),
        (lambda net, X, g: X[:5], "must have the same number of rows"),
        (lambda net, X, g: X * np.nan, "F must be finite"),
    ],
)
def test_refusals_of_feature_maps(feature_map, message):
    with pytest.raises(ValueError, match=message):
        simulate(SMALL, rng(), 2, feature_map)


def test_refusals_of_settings():
    with pytest.raises(ValueError, match=r"step must be one number for a spectrum, got \(0\.0, 1\.0\)"):
        simulate_spectrum(SMALL.replace(step=[0, 1]), rng())
    with pytest.raises(ValueError, match="activation must have a derivative to take a gradient step"):
        simulate(SMALL.replace(activation="sign", step=0.1), rng())


def blas_threads():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


@pytest.mark.parametrize("jobs", [1, 2])
def test_blas_runs_on_one_thread_and_as_before_afterwards(jobs):
    """Threads that wait for each other cost a simulation up to ten times its time on a busy machine."""

    def feature_map(network, X, rng):
        assert blas_threads() == {1}
        return feature_matrix(network.weights, X, network.activation)

    with threadpool_limits(2, user_api="blas"):
        simulate(SMALL, rng(), repeats=2, feature_map=feature_map, jobs=jobs)
        simulate_spectrum(SMALL, rng(), feature_map)
        assert blas_threads() == {2}


@pytest.mark.parametrize("N", [25, 40, 60])
@pytest.mark.parametrize("kind", ["network", "gaussian_equivalent"])
def test_the_spectrum_is_that_of_the_large_gram_matrix(N, kind):
    s = SMALL.replace(N=N)
    streams = Draws(s, rng(3))
    network = next(streams.networks())
    F = FEATURE_MAPS[kind](network, streams.ridge_batch[0], streams.noise)
    expected = np.linalg.eigvalsh(F @ F.T / s.n)
    np.testing.assert_allclose(simulate_spectrum(s, rng(3), kind), expected, atol=1e-12)
