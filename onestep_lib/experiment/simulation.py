r"""The simulator: draw the experiment of a `Setting`, fit it, and return its losses.

Each repeat draws a target direction, a network, a gradient batch, a ridge batch and test data from its
own child of the Generator, so repeats are independent, do not depend on `jobs`, and share their draws
across step sizes and penalties (differences along a path are then paired).

Functions
---------
peak_bytes, seconds   what a repeat costs on this machine
simulate            simulate the losses of a setting, with standard errors over independent repeats
simulate_spectrum   eigenvalues of F F^T/n for one draw of the setting (one step), ascending, shape (n,)
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import cache

import numpy as np

from onestep_lib._checks import check_count, check_flag, check_generator, check_instance, shown
from onestep_lib._threads import one_thread
from onestep_lib.experiment.batches import sample_batch, sample_inputs, target_directions
from onestep_lib.experiment.feature_maps import FEATURE_MAPS, FeatureMap, network_features, require_covered
from onestep_lib.experiment.network import (
    Network,
    initial_network,
    scheduled_steps,
    take_steps,
)
from onestep_lib.experiment.ridge import ridge_path
from onestep_lib.schedules import Schedule
from onestep_lib.settings import Losses, Setting

__all__ = [
    "simulate",
    "simulate_spectrum",
]

# Test inputs drawn at once, and those whose features are computed at once: few fit into a processor's cache.
_CHUNK, _ROWS = 2048, 256


def simulate(
    setting: Setting,
    rng: np.random.Generator,
    repeats: int = 8,
    feature_map: str | FeatureMap = "network",
    test_size: int | None = None,
    jobs: int = 1,
    progress: bool = False,
) -> Losses:
    """Simulate the losses of a setting, with standard errors over independent repeats.

    Parameters
    ----------
    setting : Setting
    rng : numpy.random.Generator
    repeats : int
        Independent repeats, at least 2.
    feature_map : str or callable
        A name in ``experiment.feature_maps.FEATURE_MAPS``, or a feature map of the same signature.
        One that ``experiment.feature_maps.one_step_map`` marks is refused for the settings that
        it does not describe.
    test_size : int, optional
        Number of test inputs a repeat (default: the larger of 2000 and 2n). They are streamed, and the
        step sizes taken one by one, so that memory grows with neither. The label noise enters the test
        loss by its exact variance.
    jobs : int
        Worker processes (joblib). Each runs BLAS on one thread, here too: that is faster than threads on
        these matrices, and far faster beside another busy program.
    progress : bool
        Show a progress bar.

    Returns
    -------
    Losses
        In the normalisation of :mod:`onestep_lib.settings`, with the repeats in ``draws``.

    Examples
    --------
    >>> import numpy as np
    >>> from onestep_lib import Setting, simulate
    >>> setting = Setting(n=50, d=20, N=30, ridge=[0.01, 0.1, 1])
    >>> losses = simulate(setting, np.random.default_rng(0), repeats=2, test_size=200)
    >>> print((losses.train < losses.test).all(), (np.diff(losses.train) > 0).all(), losses.draws.shape)
    True True (2, 3, 3)
    """
    # Imported where they are used: together they take a third of the time of `import onestep_lib`.
    from joblib import Parallel, delayed
    from tqdm.auto import tqdm

    check_instance("setting", setting, Setting)
    check_generator(rng)
    progress = check_flag("progress", progress)
    repeats, jobs = check_count("repeats", repeats, minimum=2), check_count("jobs", jobs)
    chosen = _chosen(feature_map, setting)
    size = None if test_size is None else check_count("test_size", test_size)
    tasks = (delayed(one_repeat)(setting, child, chosen, size) for child in rng.spawn(repeats))
    results = Parallel(n_jobs=jobs, return_as="generator")(tasks)
    bar = tqdm(results, total=repeats, desc="simulate", unit="repeat", disable=not progress)
    return Losses.from_draws(np.stack(list(bar)))


@one_thread()
def simulate_spectrum(
    setting: Setting, rng: np.random.Generator, feature_map: str | FeatureMap = "network"
) -> np.ndarray:
    """Return the eigenvalues of F F^T/n for one draw of the setting (one step), ascending, shape (n,).

    For N < n they are those of F^T F/n, and n - N zeros.

    Examples
    --------
    >>> import numpy as np
    >>> from onestep_lib import Setting, simulate_spectrum
    >>> setting = Setting(n=50, d=20, N=30)
    >>> eigenvalues = simulate_spectrum(setting, np.random.default_rng(0))
    >>> print(eigenvalues.shape, np.sum(eigenvalues < 1e-9))  # n - N zeros
    (50,) 20
    """
    check_instance("setting", setting, Setting)
    check_generator(rng)
    if setting.steps.ndim:
        raise ValueError(f"step must be one number for a spectrum, got {shown(setting.step)}")
    streams = Draws(setting, rng)
    F = _chosen(feature_map, setting)(next(streams.networks()), streams.ridge_batch[0], streams.noise)
    values = np.linalg.eigvalsh((F @ F.T if setting.n <= F.shape[1] else F.T @ F) / setting.n)
    return np.append(np.zeros(setting.n - values.size), np.maximum(values, 0.0))


def _chosen(feature_map: str | FeatureMap, setting: Setting) -> FeatureMap:
    if not callable(feature_map) and not (isinstance(feature_map, str) and feature_map in FEATURE_MAPS):
        raise ValueError(
            f"feature_map must be one of {', '.join(map(repr, FEATURE_MAPS))} or a feature map, "
            f"got {shown(feature_map)}"
        )
    chosen = feature_map if callable(feature_map) else FEATURE_MAPS[feature_map]
    require_covered(chosen, setting)
    return chosen


class Draws:
    """The independent draws of one repeat."""

    def __init__(self, setting: Setting, rng: np.random.Generator) -> None:
        # One stream a purpose: changing one of them (a longer test set, a larger step) leaves the
        # others as they were.
        direction, self._network, self._gradient, ridge, self.test, self.noise = rng.spawn(6)
        self.setting = setting
        self.direction = target_directions(setting, direction)
        self.ridge_batch = sample_batch(setting, setting.n, self.direction, ridge)
        self._only: tuple[np.ndarray, np.ndarray] | None = None  # the test set, if it is one chunk

    def networks(self) -> Iterator[Network]:
        """The network after each step size."""
        setting = self.setting
        network = self.initial()
        steps = np.atleast_1d(setting.steps)
        if not steps.any():
            yield from (network for _ in steps)
            return
        if isinstance(setting.updates, Schedule):
            factors, batches = np.array(setting.updates.factors), self._batches(setting.updates)
            for step in steps:
                yield scheduled_steps(network, batches(), step * factors, setting.output)
            return
        X, y = self.gradient_batch()
        if setting.updates == 1:
            yield from take_steps(network, X, y, steps, setting.output)
            return
        for step in steps:
            yield scheduled_steps(
                network, setting.updates * [(X, y)], setting.updates * [step], setting.output
            )

    def initial(self) -> Network:
        """The network before any step."""
        return initial_network(self.setting, deepcopy(self._network))

    def data(self, both: bool) -> tuple[np.ndarray, np.ndarray]:
        """The batch of the ridge fit, after that of the gradient where both are wanted and are two."""
        if not both or not self.setting.fresh:
            return self.ridge_batch
        X, y = (np.concatenate(pair) for pair in zip(self.gradient_batch(), self.ridge_batch, strict=True))
        return X, y

    def gradient_batch(self, count: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """The batch of the (first) gradient step, or its first `count` samples where they are more."""
        setting = self.setting
        count = setting.step_samples if count is None else count
        if not setting.fresh:
            X, y = self.ridge_batch
            return X[:count], y[:count]
        # From a copy: whoever asks gets the same batch.
        return sample_batch(setting, count, self.direction, deepcopy(self._gradient))

    def _batches(self, schedule: Schedule) -> Callable[[], Iterator[tuple[np.ndarray, np.ndarray]]]:
        """The batches of a schedule, the same at every call; fresh ones are drawn one by one."""
        sizes = schedule.sizes(self.setting.step_samples)
        if schedule.batches == "same":
            X, y = self.gradient_batch(max(sizes))
            parts = {size: (X[:size], y[:size]) for size in sizes}
            return lambda: (parts[size] for size in sizes)
        streams = [self._gradient, *deepcopy(self._gradient).spawn(len(sizes) - 1)]
        return lambda: (
            sample_batch(self.setting, size, self.direction, deepcopy(stream))
            for size, stream in zip(sizes, streams, strict=True)
        )

    def test_batches(self, size: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Test inputs and their labels without noise, in chunks, the same at every call."""
        inputs = deepcopy(self.test)
        if size > _CHUNK:
            for start in range(0, size, _CHUNK):
                yield self._test_batch(min(_CHUNK, size - start), inputs)
            return
        # A single chunk serves all networks of the repeat: it takes no more memory than any chunk does.
        if self._only is None or self._only[1].size != size:
            self._only = self._test_batch(size, inputs)
        yield self._only

    def _test_batch(self, size: int, inputs: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        X = sample_inputs(self.setting, size, inputs)
        return X, self.setting.target(X @ self.direction)


@one_thread()
def one_repeat(
    setting: Setting,
    rng: np.random.Generator,
    feature_map: FeatureMap = network_features,
    test_size: int | None = None,
) -> np.ndarray:
    """Return train, test and objective of one repeat of `simulate`, shape (3,) + setting.shape."""
    size = max(2000, 2 * setting.n) if test_size is None else test_size
    streams = Draws(setting, rng)
    losses = [_losses(streams, network, feature_map, size) for network in streams.networks()]
    return np.stack(losses, axis=1).reshape(3, *setting.shape)


def _losses(streams: Draws, network: Network, feature_map: FeatureMap, test_size: int) -> np.ndarray:
    """The three losses of one network of the repeat, shape (3, penalties)."""
    # Test inputs, and the noise of a feature map, are the same after every step size: paths stay paired, and
    # one network at a time is in memory.
    noise, (X, y) = deepcopy(streams.noise), streams.ridge_batch
    path = ridge_path(feature_map(network, X, noise), y, np.atleast_1d(streams.setting.ridges), gcv=False)
    missed = np.zeros(path.train.size)
    for X, clean in streams.test_batches(test_size):
        for rows in (slice(start, start + _ROWS) for start in range(0, clean.size, _ROWS)):
            fitted = feature_map(network, X[rows], noise) @ path.coefficients
            missed += np.sum((clean[rows, None] - fitted) ** 2, axis=0)
    return np.stack([path.train, missed / test_size + streams.setting.noise**2, path.objective])


def operations(setting: Setting) -> np.ndarray:
    """Flops of products and Cholesky factors, of diagonalisations, and elements drawn or passed on."""
    n, d, N, steps, ridges = setting.n, setting.d, setting.N, setting.steps.size, setting.ridges.size
    tests, small = max(2000, 2 * n), min(n, N)
    taken = 0 if not np.any(setting.steps) else setting.step_samples
    updates = setting.updates if isinstance(setting.updates, int) else len(setting.updates.factors)
    products = 4 * taken * N * d * (updates if updates == 1 else updates * steps)
    products += 2 * steps * ((n + tests) * N * d + small * n * N + (tests + n) * N * ridges)
    dense = steps * ridges * small**3 / 3 if ridges <= 4 else 0.0
    elements = (n + taken + tests + N) * d + steps * (n + tests) * N + taken * N
    return np.array([products + dense, 9.0 * steps * small**3 if ridges > 4 else 0.0, elements])


def flops(setting: Setting) -> float:
    """Flops of one repeat."""
    return float(operations(setting)[:2].sum())


def peak_bytes(setting: Setting) -> float:
    """What is held at once: batches, features or slopes, a chunk of the test set, two Gram matrices."""
    n, d, N, small = setting.n, setting.d, setting.N, min(setting.n, setting.N)
    tests = max(2000, 2 * n)
    return 8.0 * (
        (n + min(tests, 2048)) * d + 4 * N * d + n * N + max(n * N, 2 * small**2)
        + setting.step_samples * d
    )  # fmt: skip


@cache
def _seconds_each() -> np.ndarray:
    """Seconds of a flop in a product, of one in a diagonalisation, and of an element, on one thread."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((400, 400))
    actions = (
        (lambda: A @ A, 2 * 400**3),
        (lambda: np.linalg.eigh(A), 9 * 400**3),
        (lambda: rng.standard_normal(400**2), 400**2),
    )
    times = []
    with one_thread():
        for action, count in actions:
            action()
            start = time.process_time()
            for _ in range(3):
                action()
            times.append((time.process_time() - start) / (3 * count))
    return np.array(times)


def seconds(setting: Setting) -> float:
    """CPU seconds of one repeat on this machine, by a model whose three prices are measured once."""
    return float(operations(setting) @ _seconds_each())
