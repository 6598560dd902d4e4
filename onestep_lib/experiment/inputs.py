r"""Input distributions: the two that the theories cover, and those that show where they stop.

Every distribution has mean 0 and covariance I_d (for ``"correlated"``: unit variances, correlation
:math:`2^{-|i-j|}` between coordinates i and j), so that only the shape of the law differs.

* ``gaussian``: x ~ N(0, I_d).
* ``spherical``: the same, rescaled to \|x\|^2 = d.
* ``rademacher``, ``uniform``: independent coordinates +-1, or uniform with variance 1. A projection on a
  spread-out direction is nearly Gaussian, and the theories go on to hold.
* ``student``: a Gaussian vector times one heavy-tailed radius (multivariate t with 5 degrees of freedom):
  \|x\|^2/d does not concentrate.
* ``correlated``: Gaussian, covariance :math:`2^{-|i-j|}`.
* ``digits``: the leading principal components (whitened, d at most 40) of images drawn with replacement
  from 1,797 handwritten digits (``datasets/README.md``).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import resources

import numpy as np

from onestep_lib._values import read_only

__all__ = [
    "SAMPLERS",
]

Sampler = Callable[[int, int, np.random.Generator], np.ndarray]
_DEGREES = 5
_CORRELATION = 0.5
# Beyond it the components are a few images' single pixels, with kurtosis 50 to 1000.
_DIGITS_DIMENSION = 40


def _gaussian(count: int, d: int, rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal((count, d))


def _spherical(count: int, d: int, rng: np.random.Generator) -> np.ndarray:
    X = rng.standard_normal((count, d))
    return X * (np.sqrt(d) / np.linalg.norm(X, axis=1, keepdims=True))


def _rademacher(count: int, d: int, rng: np.random.Generator) -> np.ndarray:
    return rng.choice([-1.0, 1.0], size=(count, d))


def _uniform(count: int, d: int, rng: np.random.Generator) -> np.ndarray:
    return rng.uniform(-np.sqrt(3), np.sqrt(3), size=(count, d))


def _student(count: int, d: int, rng: np.random.Generator) -> np.ndarray:
    radii = np.sqrt((_DEGREES - 2) / rng.chisquare(_DEGREES, size=(count, 1)))
    return rng.standard_normal((count, d)) * radii


def _correlated(count: int, d: int, rng: np.random.Generator) -> np.ndarray:
    # A first-order autoregression, started in its stationary law. The loop is as fast as a compiled filter:
    # each turn adds a whole column.
    X = rng.standard_normal((count, d)) * np.sqrt(1 - _CORRELATION**2)
    X[:, 0] /= np.sqrt(1 - _CORRELATION**2)
    for j in range(1, d):
        X[:, j] += _CORRELATION * X[:, j - 1]
    return X


@cache
def _whitened_digits() -> np.ndarray:
    """The images' principal components, variance 1 each, strongest first, shape (1797, 40)."""
    with resources.files("onestep_lib").joinpath("datasets/digits.npz").open("rb") as file:
        images = np.load(file)["images"].astype(np.float64)
    left, _, _ = np.linalg.svd(images - images.mean(axis=0), full_matrices=False)
    return read_only(left[:, :_DIGITS_DIMENSION] * np.sqrt(images.shape[0]))


def _digits(count: int, d: int, rng: np.random.Generator) -> np.ndarray:
    if d > _DIGITS_DIMENSION:
        raise ValueError(f"d must be at most {_DIGITS_DIMENSION} for inputs='digits', got {d}")
    components = _whitened_digits()
    return components[rng.integers(components.shape[0], size=count), :d]


SAMPLERS: dict[str, Sampler] = {
    "gaussian": _gaussian,
    "spherical": _spherical,
    "rademacher": _rademacher,
    "uniform": _uniform,
    "student": _student,
    "correlated": _correlated,
    "digits": _digits,
}
"""Samplers (count, d, rng) -> X by name."""
