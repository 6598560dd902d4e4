r"""Baselines on the network's own data: what a reader knows, beside what one gradient step reaches.

Each repeat uses the draws of `.simulate` for the same Generator: the same direction, the same
batches, the same test inputs, so that differences are paired. A baseline sees the batch of the ridge fit; "on
both", also that of the gradient step (all the data that the network saw).

* ``linear``: least squares on x, no intercept (of smallest norm for fewer samples than inputs).
* ``ridge``: :math:`\min_b\frac1n|y-Xb|^2+\lambda|b|^2` at the penalties of the setting.
* ``kernel``: ridge regression with the network's kernel at initialisation
  (:mod:`onestep_lib.beyond.kernels`): random features of infinite width with :math:`FF^\top=NK`, at the
  penalties of the setting.
* ``oracle``: :math:`\sigma_*(\langle\beta_*,x\rangle)` itself, which leaves the noise.
* ``fitted oracle``: knows :math:`\beta_*` and fits the function of one (or two) variables by least squares on
  Hermite polynomials; the degree, at most 12 (6), is that of the smallest generalised cross-validation, and
  inputs beyond the batch's range are moved to its ends.

Functions
---------
baselines   the losses of the baselines of a setting
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.polynomial import hermite_e
from scipy.special import factorial

from onestep_lib._checks import check_choice, check_count, check_generator, check_instance, check_items, shown
from onestep_lib._threads import one_thread
from onestep_lib.beyond.kernels import kernel_matrix
from onestep_lib.experiment.ridge import ridge_path
from onestep_lib.experiment.simulation import Draws
from onestep_lib.settings import Losses, Setting

__all__ = [
    "baselines",
]


@dataclass(frozen=True, eq=False)
class _Batch:
    """What a baseline is fitted on, and what it may know."""

    setting: Setting
    X: np.ndarray
    y: np.ndarray
    direction: np.ndarray


@dataclass(frozen=True, eq=False)
class _Fit:
    """Train and objective, shape (penalties,) or (1,), and a function X -> predictions, (count, the same)."""

    train: np.ndarray
    objective: np.ndarray
    predict: Callable[[np.ndarray], np.ndarray]


def _linear(batch: _Batch) -> _Fit:
    path = ridge_path(batch.X, batch.y, [0.0])
    return _Fit(path.train, path.objective, lambda X: X @ path.coefficients)


def _ridge(batch: _Batch) -> _Fit:
    path = ridge_path(batch.X, batch.y, np.atleast_1d(batch.setting.ridges))
    return _Fit(path.train, path.objective, lambda X: X @ path.coefficients)


def _kernel(batch: _Batch) -> _Fit:
    setting, n = batch.setting, batch.y.size
    ridges = np.atleast_1d(setting.ridges)
    if ridges.min() == 0:
        raise ValueError(f"ridge must be > 0 for the baseline 'kernel', got {shown(setting.ridge)}")
    shift = ridges * n / setting.N
    values, vectors = np.linalg.eigh(kernel_matrix(setting, batch.X))
    duals = vectors @ ((vectors.T @ batch.y)[:, None] / (values[:, None] + shift))
    train = np.mean((shift * duals) ** 2, axis=0)
    objective = ridges / setting.N * (batch.y @ duals)
    return _Fit(train, objective, lambda X: kernel_matrix(setting, X, batch.X) @ duals)


def _oracle(batch: _Batch) -> _Fit:
    def predict(X: np.ndarray) -> np.ndarray:
        return batch.setting.target(X @ batch.direction)[:, None]

    train = np.mean((batch.y[:, None] - predict(batch.X)) ** 2, axis=0)
    return _Fit(train, train, predict)


# The highest degree for one and for two variables.
_DEGREES = {1: 12, 2: 6}


def _polynomials(z: np.ndarray, degree: int) -> np.ndarray:
    """Hermite polynomials of total degree up to `degree`, normalised, by degree, of z with 1 or 2 columns."""
    scale = np.sqrt(factorial(np.arange(degree + 1)))
    tables = [hermite_e.hermevander(column, degree) / scale for column in z.T]
    if len(tables) == 1:
        return tables[0]
    pairs = [(i, total - i) for total in range(degree + 1) for i in range(total + 1)]
    return np.stack([tables[0][:, i] * tables[1][:, j] for i, j in pairs], axis=1)


def _fitted_oracle(batch: _Batch) -> _Fit:
    z = (batch.X @ batch.direction).reshape(batch.y.size, -1)
    low, high, variables = z.min(axis=0), z.max(axis=0), z.shape[1]
    widths = [degree + 1 if variables == 1 else (degree + 1) * (degree + 2) // 2 for degree in range(13)]
    # A polynomial of each degree that leaves half the samples to judge it.
    widths = [width for width in widths[: _DEGREES[variables] + 1] if width <= max(1, batch.y.size // 2)]
    table = _polynomials(z, _DEGREES[variables])
    paths = [ridge_path(table[:, :width], batch.y, [0.0]) for width in widths]
    best = paths[int(np.argmin([path.gcv[0] for path in paths]))]
    width = best.coefficients.shape[0]

    def predict(X: np.ndarray) -> np.ndarray:
        inside = np.clip((X @ batch.direction).reshape(len(X), -1), low, high)
        return _polynomials(inside, _DEGREES[variables])[:, :width] @ best.coefficients

    return _Fit(best.train, best.objective, predict)


_FITS: dict[str, Callable[[_Batch], _Fit]] = {
    "linear": _linear,
    "ridge": _ridge,
    "kernel": _kernel,
    "oracle": _oracle,
    "fitted oracle": _fitted_oracle,
}
_BOTH = " on both"
BASELINES = (*_FITS, *(f"{name}{_BOTH}" for name in ("linear", "ridge", "kernel", "fitted oracle")))
"""The names of the baselines."""


def baselines(
    setting: Setting,
    rng: np.random.Generator,
    repeats: int = 8,
    names: Sequence[str] = BASELINES,
    test_size: int | None = None,
) -> dict[str, Losses]:
    """Return the losses of baselines on the data of `.simulate` for the same Generator.

    Parameters
    ----------
    setting : Setting
        Its steps do not matter. Without a fresh batch, "on both" is the one batch there is.
    rng : numpy.random.Generator
    repeats : int
        Independent repeats, at least 2; repeat i has the draws of repeat i of `simulate`.
    names : sequence of str
        Of ``BASELINES``.
    test_size : int, optional
        As in `simulate`, where the same number gives the same test inputs.

    Returns
    -------
    dict of Losses
        By name, in the order of `names`, each of the shape of the setting's penalties (also where a baseline
        has none), with its repeats in ``draws``.

    Raises
    ------
    ValueError
        For an unknown name, or "kernel" without a penalty or with correlated rows.
    ConvergenceError
        As in `onestep_lib.beyond.kernels.kernel_matrix`.

    Examples
    --------
    >>> import numpy as np
    >>> from onestep_lib import Setting
    >>> from onestep_lib.beyond import baselines
    >>> found = baselines(Setting(n=400, d=20, N=30, noise=0.5), np.random.default_rng(0), repeats=4)
    >>> print(*(f"{name} {found[name].test:.3f}" for name in ("oracle", "linear on both", "linear")))
    oracle 0.250 linear on both 0.258 linear 0.263
    """
    check_instance("setting", setting, Setting)
    check_generator(rng)
    repeats = check_count("repeats", repeats, minimum=2)
    chosen = tuple(check_choice("names", name, BASELINES) for name in check_items("names", names, str))
    if not chosen:
        raise ValueError(f"names must hold at least one of {', '.join(map(repr, BASELINES))}, got none")
    size = max(2000, 2 * setting.n) if test_size is None else check_count("test_size", test_size)
    draws = np.stack([_repeat(setting, child, chosen, size) for child in rng.spawn(repeats)], axis=1)
    return {name: Losses.from_draws(one) for name, one in zip(chosen, draws, strict=True)}


@one_thread()
def _repeat(setting: Setting, rng: np.random.Generator, names: Sequence[str], test_size: int) -> np.ndarray:
    """Train, test and objective of each baseline, shape (names, 3) + penalties."""
    streams = Draws(setting, rng)
    fits = [_FITS[name.removesuffix(_BOTH)](_batch(streams, name.endswith(_BOTH))) for name in names]
    missed = [np.zeros(np.atleast_1d(setting.ridges).size) for _ in fits]
    for X, clean in streams.test_batches(test_size):
        for fit, total in zip(fits, missed, strict=True):
            total += np.sum((clean[:, None] - fit.predict(X)) ** 2, axis=0)
    rows = [
        np.stack(np.broadcast_arrays(fit.train, total / test_size + setting.noise**2, fit.objective))
        for fit, total in zip(fits, missed, strict=True)
    ]
    return np.stack(rows).reshape(len(names), 3, *setting.ridges.shape)


def _batch(streams: Draws, both: bool) -> _Batch:
    return _Batch(streams.setting, *streams.data(both), streams.direction)
