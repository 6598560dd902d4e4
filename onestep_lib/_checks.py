"""Input checks shared by the library: each error names the argument, the value and what is allowed.

Functions
---------
check_count         `value` as an int, or raise if it is not an integer >= `minimum`
check_real          `value` as a float64 array of finite numbers (or also infinite ones), or raise
check_nonnegative   `value` as a float64 array of finite numbers >= 0, or raise
check_positive      `value` as a float64 array of finite numbers > 0, or raise
check_broadcast     arrays broadcast to one shape, or raise
check_number        `value` as one finite float that passes `check` (`check_positive`, ...), or raise
check_path          `value`, one number >= 0 or a non-empty sequence of them, as an array of shape () or (L,)
check_choice        `value` if it is one of the strings in `allowed`, or raise
check_generator     `rng` if it is a numpy Generator; a seed is refused, so that draws are never hidden
check_instance      raise unless `value` is an instance of the class
check_vector        `value` as a finite 1-D float64 array (of the given length), or raise
check_unit_vector   `value` as a `check_vector` of length 1 (to 1e-8), or raise
check_matrix        `value` as a finite 2-D float64 array (with the given number of columns), or raise
check_same_length   raise unless the two arrays have the same number of rows
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import ArrayLike

__all__ = [
    "check_broadcast",
    "check_choice",
    "check_count",
    "check_generator",
    "check_instance",
    "check_matrix",
    "check_nonnegative",
    "check_number",
    "check_path",
    "check_positive",
    "check_real",
    "check_same_length",
    "check_size",
    "check_unit_vector",
    "check_vector",
]


def check_count(name: str, value: object, minimum: int = 1) -> int:
    """Return `value` as an int, or raise if it is not an integer >= `minimum`."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} must be an integer >= {minimum}, got {value!r}")
    if value < minimum:
        raise ValueError(f"{name} must be an integer >= {minimum}, got {value!r}")
    return int(value)


def check_real(name: str, value: ArrayLike, infinite: bool = False) -> np.ndarray:
    """Return `value` as a float64 array of finite numbers (or also infinite ones), or raise."""
    array = _as_float(value)
    if array is None:
        raise TypeError(f"{name} must be a real number or an array of them, got {value!r}")
    if np.any(np.isnan(array) if infinite else ~np.isfinite(array)):
        raise ValueError(f"{name} must {'not be nan' if infinite else 'be finite'}, got {value!r}")
    return array


def _as_float(value: ArrayLike) -> np.ndarray | None:
    """A float64 array (no copy of one), or None: NumPy would read strings and drop imaginary parts."""
    try:
        given = np.asarray(value)
        if given.dtype.kind in "biuf" or (given.dtype == object and None not in given.ravel().tolist()):
            return given.astype(np.float64, copy=False)
    except (TypeError, ValueError):
        pass
    return None


def check_nonnegative(name: str, value: ArrayLike) -> np.ndarray:
    """Return `value` as a float64 array of finite numbers >= 0, or raise."""
    array = check_real(name, value)
    if np.any(array < 0):
        raise ValueError(f"{name} must be >= 0, got {value!r}")
    return array


def check_positive(name: str, value: ArrayLike) -> np.ndarray:
    """Return `value` as a float64 array of finite numbers > 0, or raise."""
    array = check_real(name, value)
    if np.any(array <= 0):
        raise ValueError(f"{name} must be > 0, got {value!r}")
    return array


# The fourth powers of what lies between are numbers.
_SMALLEST, _LARGEST = 1e-60, 1e60


def check_size(name: str, value: ArrayLike) -> None:
    """Raise unless every number is 0 or has powers that a theory can compute with."""
    size = abs(value) if isinstance(value, float) else np.abs(value)
    beyond = (size > _LARGEST) | ((size < _SMALLEST) & (size > 0))
    if beyond is False or not np.any(beyond):
        return
    raise ValueError(
        f"{name} must be 0 or from {_SMALLEST:g} to {_LARGEST:g} in size for a theory, got "
        f"{np.asarray(value)[beyond].flat[0]:g}: its powers are not numbers (take the limit, or other units)"
    )


def check_broadcast(**arrays: np.ndarray) -> list[np.ndarray]:
    """Return the arrays broadcast to one shape, or raise."""
    try:
        return list(np.broadcast_arrays(*arrays.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise ValueError(f"{', '.join(arrays)} must broadcast to one shape, got {shapes}") from None


def check_number(
    name: str, value: ArrayLike, check: Callable[[str, ArrayLike], np.ndarray] = check_real
) -> float:
    """Return `value` as one finite float that passes `check` (`check_positive`, ...), or raise."""
    array = _as_float(value)
    if array is None:
        raise TypeError(f"{name} must be one real number, got {value!r}")
    if array.ndim:
        raise ValueError(f"{name} must be one number, got {value!r}")
    return float(check(name, value))


def check_path(name: str, value: ArrayLike) -> np.ndarray:
    """Return `value`, one number >= 0 or a non-empty sequence of them, as an array of shape () or (L,)."""
    array = check_nonnegative(name, value)
    if array.ndim > 1 or array.size == 0:
        raise ValueError(f"{name} must be a number or a non-empty 1-D sequence, got shape {array.shape}")
    return array


def check_choice(name: str, value: object, allowed: Iterable[str]) -> str:
    """Return `value` if it is one of the strings in `allowed`, or raise."""
    options = tuple(allowed)
    if not isinstance(value, str) or value not in options:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, options))}, got {value!r}")
    return value


def check_generator(rng: object) -> np.random.Generator:
    """Return `rng` if it is a numpy Generator; a seed is refused, so that draws are never hidden."""
    if not isinstance(rng, np.random.Generator):
        raise TypeError(
            f"rng must be a numpy.random.Generator, for example numpy.random.default_rng(7), got {rng!r}"
        )
    return rng


def check_instance(name: str, value: object, kind: type) -> None:
    """Raise unless `value` is an instance of the class."""
    if not isinstance(value, kind):
        raise TypeError(f"{name} must be of the class {kind.__name__}, got {value!r:.200}")


def check_vector(name: str, value: ArrayLike, length: int | None = None) -> np.ndarray:
    """Return `value` as a finite 1-D float64 array (of the given length), or raise."""
    array = check_real(name, value)
    wanted = "a 1-D array" if length is None else f"a 1-D array of length {length}"
    if array.ndim != 1 or (length is not None and array.size != length):
        raise ValueError(f"{name} must be {wanted}, got shape {array.shape}")
    return array


def check_unit_vector(name: str, value: ArrayLike, length: int | None = None) -> np.ndarray:
    """Return `value` as a `check_vector` of length 1 (to 1e-8), or raise."""
    array = check_vector(name, value, length)
    size = float(np.linalg.norm(array))
    if abs(size - 1) > 1e-8:
        raise ValueError(f"{name} must be a unit vector, got one of length {size:.9g}")
    return array


def check_matrix(name: str, value: ArrayLike, columns: int | None = None) -> np.ndarray:
    """Return `value` as a finite 2-D float64 array (with the given number of columns), or raise."""
    array = check_real(name, value)
    wanted = "a 2-D array" if columns is None else f"a 2-D array with {columns} columns"
    if array.ndim != 2 or (columns is not None and array.shape[1] != columns):
        raise ValueError(f"{name} must be {wanted}, got shape {array.shape}")
    return array


def check_same_length(name: str, value: np.ndarray, other: str, reference: np.ndarray) -> None:
    """Raise unless the two arrays have the same number of rows."""
    if value.shape[0] != reference.shape[0]:
        raise ValueError(
            f"{name} and {other} must have the same number of rows, "
            f"got shapes {value.shape} and {reference.shape}"
        )
