"""Input checks: each error names the argument, the value and what is allowed.

They stand at the front doors, the calls with which a reader starts: `Setting` and what it holds
(`Activation`, `Target`, `TwoIndexTarget`, `Vocabulary`, `Schedule`), the functions of a setting (`simulate`,
`random_features`, `staircase`, `one_step`, `giant_step`, `feature_law`, `weight_spectrum`,
`feature_outliers`), of arrays (`ridge_path`, `take_steps`, `sample_batch`), of a model (`SpikedModel`,
`spiked_losses`), of plain numbers (the Hermite functions, `gaussian_mean`, `ridge_losses`), and the figures
(`Explorer`). Below them a check stands only where a wrong number would be returned in silence.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

# Beyond it a double does not hold every integer.
_LARGEST_COUNT = 2**53
# The fourth powers of what lies between are numbers.
_SMALLEST, _LARGEST = 1e-60, 1e60
_SHOWN = 100


def shown(value: object) -> str:
    """The value as an error message prints it: its repr on one line, cut at 100 characters."""
    # A hundred items are more than enough to be cut; the repr of a long list takes time and memory.
    start = value[:_SHOWN] if isinstance(value, list | tuple) else value
    try:
        text = " ".join(repr(start).split())
    except Exception:  # a repr is foreign code, and Python refuses integers of more than 4300 digits
        text = f"an unprintable {type(value).__name__}"
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."


def check_count(name: str, value: object, minimum: int = 1, maximum: int = _LARGEST_COUNT) -> int:
    """Return `value` as an int, or raise if it is not an integer from `minimum` to `maximum`."""
    wanted = f">= {minimum}" if maximum == _LARGEST_COUNT else f"from {minimum} to {maximum}"
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} must be an integer {wanted}, got {shown(value)}")
    if not minimum <= (count := int(value)) <= maximum:
        wanted = "of at most 2**53" if count > _LARGEST_COUNT else wanted
        raise ValueError(f"{name} must be an integer {wanted}, got {shown(value)}")
    return count


def check_instance(name: str, value: object, kind: type | tuple[type, ...], what: str = "") -> Any:
    """Return `value` if it is an instance of the class, or of one of them."""
    if not isinstance(value, kind):
        names = " or ".join(one.__name__ for one in (kind if isinstance(kind, tuple) else (kind,)))
        raise TypeError(f"{name} must be {what or f'of the class {names}'}, got {shown(value)}")
    return value


def check_flag(name: str, value: object) -> bool:
    """Return `value` if it is True or False, or raise."""
    return bool(check_instance(name, value, (bool, np.bool_), "True or False"))


def check_text(name: str, value: object) -> str:
    """Return `value` if it is a string, or raise."""
    return check_instance(name, value, str, "a string")


def check_generator(rng: object) -> np.random.Generator:
    """Return `rng` if it is a numpy Generator; a seed is refused, so that draws are never hidden."""
    return check_instance(
        "rng", rng, np.random.Generator, "a numpy.random.Generator, for example numpy.random.default_rng(7)"
    )


def check_callable(name: str, value: Any, what: str = "a callable") -> Any:
    """Return `value` if it can be called, or raise."""
    return check_instance(name, value, Callable, what)  # type: ignore[arg-type]


def check_items(name: str, value: object, kind: type | tuple[type, ...], what: str = "") -> tuple[Any, ...]:
    """Return `value` as a tuple if it is a sequence of instances of the class, or raise."""
    items = tuple(value) if isinstance(value, Iterable) and not isinstance(value, str) else (None,)
    if not all(isinstance(item, kind) for item in items):
        names = " or ".join(one.__name__ for one in (kind if isinstance(kind, tuple) else (kind,)))
        raise TypeError(f"{name} must hold {what or names} only, got {shown(value)}")
    return items


def check_choice(name: str, value: object, allowed: Iterable[str]) -> str:
    """Return `value` if it is one of the strings in `allowed`, or raise."""
    options = tuple(allowed)
    if not isinstance(value, str) or value not in options:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, options))}, got {shown(value)}")
    return value


def as_floats(name: str, value: object, wanted: str, kinds: str = "iuf") -> np.ndarray:
    """Return `value` as a double array (no copy of one); strings, flags and masks are no numbers."""
    try:
        given = np.asanyarray(value)
    except Exception:  # a ragged list; what an object's __array__ raises is not ours to know
        given = np.asarray(None)
    if given.dtype.kind not in kinds or isinstance(given, np.ma.MaskedArray):
        raise TypeError(f"{name} must be {wanted}, got {shown(value)}")
    with np.errstate(over="ignore"):  # an infinite result is refused by the caller
        return np.asarray(given, dtype=np.float64)


def check_real(name: str, value: ArrayLike, flags: bool = False) -> np.ndarray:
    """Return `value` as a double array of finite numbers; `flags` count as 0 and 1."""
    array = as_floats(name, value, "a real number or an array of them", "biuf" if flags else "iuf")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite, got {shown(value)}")
    return array


def check_nonnegative(name: str, value: ArrayLike) -> np.ndarray:
    """Return `value` as a double array of finite numbers >= 0, or raise."""
    if ((array := check_real(name, value)) < 0).any():
        raise ValueError(f"{name} must be >= 0, got {shown(value)}")
    return array


def check_positive(name: str, value: ArrayLike) -> np.ndarray:
    """Return `value` as a double array of finite numbers > 0, or raise."""
    if ((array := check_real(name, value)) <= 0).any():
        raise ValueError(f"{name} must be > 0, got {shown(value)}")
    return array


def check_size(name: str, value: ArrayLike) -> None:
    """Raise unless every number is 0 or has powers that can be computed with."""
    size = np.abs(value)
    beyond = (size > _LARGEST) | ((size < _SMALLEST) & (size > 0))
    if np.any(beyond):
        raise ValueError(
            f"{name} must be 0 or from {_SMALLEST:g} to {_LARGEST:g} in size, got "
            f"{np.asarray(value)[beyond].flat[0]:g}: its powers are not numbers (take other units)"
        )


def check_number(
    name: str, value: ArrayLike, check: Callable[[str, ArrayLike], np.ndarray] = check_real
) -> float:
    """Return `value` as one finite float that passes `check` (`check_positive`, ...), or raise."""
    array = as_floats(name, value, "one real number")
    if array.ndim:
        raise ValueError(f"{name} must be one number, got {shown(value)}")
    return float(check(name, value))


def check_path(name: str, value: ArrayLike) -> np.ndarray:
    """Return `value`, one number >= 0 or a non-empty sequence of them, as an array of shape () or (L,)."""
    array = check_nonnegative(name, value)
    if array.ndim > 1 or array.size == 0:
        raise ValueError(f"{name} must be a number or a non-empty 1-D sequence, got shape {array.shape}")
    return array


def check_vector(name: str, value: ArrayLike, length: int | None = None, flags: bool = False) -> np.ndarray:
    """Return `value` as a finite 1-D double array (of the given length), or raise; `flags`: `check_real`."""
    array = check_real(name, value, flags=flags)
    if array.ndim != 1 or length not in (None, array.size):
        wanted = "a 1-D array" if length is None else f"a 1-D array of length {length}"
        raise ValueError(f"{name} must be {wanted}, got shape {array.shape}")
    return array


def check_matrix(name: str, value: ArrayLike, columns: int | None = None, flags: bool = False) -> np.ndarray:
    """Return `value` as a finite 2-D double array (of so many columns), or raise; `flags`: `check_real`."""
    array = check_real(name, value, flags=flags)
    if array.ndim != 2 or columns not in (None, array.shape[1]):
        wanted = "a 2-D array" if columns is None else f"a 2-D array with {columns} columns"
        raise ValueError(f"{name} must be {wanted}, got shape {array.shape}")
    return array


def check_same_length(name: str, value: np.ndarray, other: str, reference: np.ndarray) -> None:
    """Raise unless the two arrays have the same number of rows."""
    if value.shape[0] != reference.shape[0]:
        raise ValueError(
            f"{name} and {other} must have the same number of rows, "
            f"got shapes {value.shape} and {reference.shape}"
        )


def check_broadcast(**arrays: np.ndarray) -> list[np.ndarray]:
    """Return the arrays broadcast to one shape, or raise."""
    try:
        return list(np.broadcast_arrays(*arrays.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise ValueError(f"{', '.join(arrays)} must broadcast to one shape, got {shapes}") from None
