r"""Inputs, target directions and labelled batches.

A batch is n rows x_i with labels :math:`y_i=\sigma_*(\langle\beta_*,x_i\rangle)` + noise eps_i, in the
conventions of :mod:`onestep_lib.settings`.

Every input distribution has mean 0 and covariance I_d (for ``"correlated"``: unit variances, correlation
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

Functions
---------
sample_direction   draw a target direction beta_* uniformly on the unit sphere, shape (d,)
target_directions  the direction of a setting's target, shape (d,), or its two, shape (d, 2)
sample_inputs      draw `count` inputs of the setting's distribution, shape (count, d)
sample_batch       draw a labelled batch for one target direction
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import resources

import numpy as np

from onestep_lib._checks import check_count, check_generator, check_instance, check_real, shown
from onestep_lib._values import read_only
from onestep_lib.settings import Setting
from onestep_lib.two_index import TwoIndexTarget

__all__ = [
    "SAMPLERS",
    "sample_batch",
    "sample_direction",
    "sample_inputs",
    "target_directions",
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


def sample_direction(d: int, rng: np.random.Generator) -> np.ndarray:
    r"""Draw a target direction :math:`\beta_*` uniformly on the unit sphere, shape (d,).

    Examples
    --------
    >>> import numpy as np
    >>> from onestep_lib.experiment import sample_direction
    >>> direction = sample_direction(20, np.random.default_rng(0))
    >>> print(direction.shape, f"{direction @ direction:.4f}")
    (20,) 1.0000
    """
    direction = check_generator(rng).standard_normal(check_count("d", d))
    return direction / np.linalg.norm(direction)


def target_directions(setting: Setting, rng: np.random.Generator) -> np.ndarray:
    """Draw the direction of the setting's target, shape (d,), or its two, orthonormal, shape (d, 2).

    Examples
    --------
    >>> import numpy as np
    >>> from onestep_lib import Setting
    >>> from onestep_lib.experiment import target_directions
    >>> from onestep_lib.two_index import TwoIndexTarget
    >>> setting = Setting(n=50, d=20, N=30, target=TwoIndexTarget(np.multiply))
    >>> plane = target_directions(setting, np.random.default_rng(0))
    >>> print(plane.shape, np.allclose(plane.T @ plane, np.eye(2)))
    (20, 2) True
    """
    check_instance("setting", setting, Setting)
    if not isinstance(setting.target, TwoIndexTarget):
        return sample_direction(setting.d, rng)
    if setting.d < 2:
        raise ValueError(f"d must be at least 2 for a target of two directions, got {setting.d}")
    # The first is the direction that a single-index target has for the same draw.
    first = sample_direction(setting.d, rng)
    second = rng.standard_normal(setting.d)
    second -= (second @ first) * first
    return np.stack([first, second / np.linalg.norm(second)], axis=1)


def sample_inputs(setting: Setting, count: int, rng: np.random.Generator) -> np.ndarray:
    """Draw `count` inputs of the setting's distribution, shape (count, d).

    Examples
    --------
    >>> import numpy as np
    >>> from onestep_lib import Setting
    >>> from onestep_lib.experiment import sample_inputs
    >>> setting = Setting(n=50, d=20, N=30, inputs="spherical")
    >>> X = sample_inputs(setting, 4, np.random.default_rng(0))
    >>> print(np.sum(X**2, axis=1).round(4))
    [20. 20. 20. 20.]
    """
    check_instance("setting", setting, Setting)
    return SAMPLERS[setting.inputs](check_count("count", count), setting.d, check_generator(rng))


def sample_batch(
    setting: Setting, count: int, direction: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    r"""Draw a labelled batch for given directions of the target.

    Parameters
    ----------
    setting : Setting
    count : int
        Number of samples.
    direction : ndarray, shape (d,) or (d, 2)
        The unit vector :math:`\beta_*`, or the two of a target of two directions.
    rng : numpy.random.Generator

    Returns
    -------
    X : ndarray, shape (count, d)
    y : ndarray, shape (count,)

    Examples
    --------
    >>> import numpy as np
    >>> from onestep_lib import Setting
    >>> from onestep_lib.experiment import sample_batch
    >>> beta = np.eye(20)[0]
    >>> X, y = sample_batch(Setting(n=50, d=20, N=30), 50, beta, np.random.default_rng(0))
    >>> print(X.shape, np.allclose(y, X @ beta))  # sigma_* = He_1, no noise
    (50, 20) True
    """
    check_instance("setting", setting, Setting)
    direction = check_real("direction", direction)
    wanted, gram = (
        ((setting.d, 2), np.eye(2)) if isinstance(setting.target, TwoIndexTarget) else ((setting.d,), 1)
    )
    if direction.shape != wanted or not np.allclose(direction.T @ direction, gram, atol=1e-8):
        raise ValueError(f"direction must be orthonormal, of shape {wanted}, got {shown(direction)}")
    X = sample_inputs(setting, count, rng)
    y = setting.target(X @ direction)
    return X, y + setting.noise * rng.standard_normal(count)
