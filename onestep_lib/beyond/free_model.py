r"""Spiked random features drawn from their model, without a network or a step that would lead to them.

Rows :math:`w_j` of length :math:`c_g` (Gaussian with variance :math:`c_g^2/d`, or on a sphere), spikes
:math:`u_g` along one direction v, and labels of a direction whose overlap with v is the model's: what
:mod:`onestep_lib.spiked_features.losses` describes, at finite n, d and N.

Functions
---------
simulate_model   losses of ridge regression, with standard errors over independent draws
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from onestep_lib._checks import check_count, check_generator, check_instance, check_path, shown
from onestep_lib._threads import one_thread
from onestep_lib.activations import Target
from onestep_lib.experiment.ridge import ridge_path
from onestep_lib.settings import Losses
from onestep_lib.spiked_features.model import SpikedModel

__all__ = [
    "simulate_model",
]


def _group_sizes(fractions: np.ndarray, N: int) -> np.ndarray:
    """The whole numbers next to the shares of N that sum to N: the largest remainders are rounded up."""
    sizes = np.floor(fractions * N).astype(int)
    largest = np.argsort(sizes - fractions * N, kind="stable")
    sizes[largest[: N - sizes.sum()]] += 1
    return sizes


def _rows(model: SpikedModel, groups: np.ndarray, d: int, rng: np.random.Generator) -> np.ndarray:
    """The rows with their spikes, shape (N, d); v is the first axis: inputs and rows have no other."""
    rows = rng.standard_normal((groups.size, d))
    on_sphere = np.broadcast_to(model.row_variance, model.spikes.shape)[groups] == 0
    lengths = np.where(on_sphere, np.linalg.norm(rows, axis=1), np.sqrt(d))
    rows *= (np.broadcast_to(model.scales, model.spikes.shape)[groups] / lengths)[:, None]
    rows[:, 0] += model.spikes[groups]
    return rows


def _labels(model: SpikedModel, X: np.ndarray) -> np.ndarray:
    """The labels without their noise; the target's direction lies in the plane of the first two axes."""
    kappa, z = X[:, 0], X[:, 1]
    if isinstance(model.target, Target):
        gamma = model.alignment
        return model.target(gamma * kappa + np.sqrt((1 - gamma) * (1 + gamma)) * z)
    return model.target.function(kappa, z)


@one_thread()
def simulate_model(
    model: SpikedModel,
    n: int,
    d: int,
    N: int,
    ridge: ArrayLike,
    rng: np.random.Generator,
    repeats: int = 8,
    test_size: int | None = None,
) -> Losses:
    """Simulate ridge regression on spiked random features drawn from a model.

    Parameters
    ----------
    model : SpikedModel
        With isotropic rows that are Gaussian (`row_variance` 1) or on a sphere (0).
    n, d, N : int
        Samples, input dimension >= 2, width.
    ridge : array_like
        One penalty > 0 or a path, in the normalisation of :mod:`onestep_lib.settings`.
    rng : numpy.random.Generator
    repeats : int
        Independent draws of data and rows, at least 2.
    test_size : int, optional
        Test inputs a draw (default: the larger of 2000 and 2n). The noise enters the test loss by its
        exact variance.

    Returns
    -------
    Losses
        Of the shape of the penalties, with the repeats in ``draws``.

    Raises
    ------
    TypeError, ValueError
        For arguments outside these ranges, or a model with another bulk.

    Examples
    --------
    >>> import numpy as np
    >>> from onestep_lib.activations import activation, target
    >>> from onestep_lib.beyond import simulate_model
    >>> from onestep_lib.spiked_features import SpikedModel
    >>> model = SpikedModel(activation("tanh"), [1, -1], [0.5, 0.5], target("sin"), alignment=0.9)
    >>> losses = simulate_model(model, 60, 30, 40, [0.1, 1], np.random.default_rng(0), repeats=3)
    >>> print(losses.test.shape, (losses.train < losses.test).all())
    (2,) True
    """
    check_instance("model", model, SpikedModel)
    if model.bulk is not None:
        raise ValueError(f"model must have isotropic rows to be drawn (bulk=None), got {shown(model.bulk)}")
    if not np.isin(model.row_variance, (0.0, 1.0)).all() or np.any(model.slope) or np.any(model.initial):
        raise ValueError(
            "model must have a row_variance of 0 or 1, and slope and initial of 0, to be drawn, "
            f"got {shown(model.row_variance)}, {shown(model.slope)} and {shown(model.initial)}"
        )
    n, d, N = check_count("n", n), check_count("d", d, 2), check_count("N", N)
    ridges = check_path("ridge", ridge)
    check_generator(rng)
    repeats = check_count("repeats", repeats, 2)
    size = max(2000, 2 * n) if test_size is None else check_count("test_size", test_size)
    groups = np.repeat(np.arange(model.spikes.size), _group_sizes(model.fractions, N))
    draws = [_one_draw(model, n, d, groups, ridges, child, size) for child in rng.spawn(repeats)]
    return Losses.from_draws(np.stack(draws))


def _one_draw(
    model: SpikedModel,
    n: int,
    d: int,
    groups: np.ndarray,
    ridges: np.ndarray,
    rng: np.random.Generator,
    size: int,
) -> np.ndarray:
    """Train, test and objective, shape (3,) + ridges.shape."""
    sigma, W = model.activation, _rows(model, groups, d, rng)
    X, test_X = rng.standard_normal((n, d)), rng.standard_normal((size, d))
    y = _labels(model, X) + model.noise * rng.standard_normal(n)
    path = ridge_path(sigma(X @ W.T), y, ridges)
    fitted = sigma(test_X @ W.T) @ path.coefficients
    missed = _labels(model, test_X).reshape(-1, *(1,) * ridges.ndim) - fitted
    return np.stack([path.train, np.mean(missed**2, axis=0) + model.noise**2, path.objective])
