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

import math
import numbers
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

# Beyond it a double does not hold every integer.
_LARGEST_COUNT = 2**53
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
    if type(value) is int and minimum <= value <= maximum:
        return value
    wanted = f">= {minimum}" if maximum == _LARGEST_COUNT else f"from {minimum} to {maximum}"
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} must be an integer {wanted}, got {shown(value)}")
    count = int(value)
    if count > _LARGEST_COUNT:
        wanted = "of at most 2**53"
    if not minimum <= count <= maximum:
        raise ValueError(f"{name} must be an integer {wanted}, got {shown(value)}")
    return count


def check_flag(name: str, value: object) -> bool:
    """Return `value` if it is True or False, or raise."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, got {shown(value)}")
    return bool(value)


def check_text(name: str, value: object) -> str:
    """Return `value` if it is a string, or raise."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a string, got {shown(value)}")
    return value


def check_callable(name: str, value: Any, what: str = "a callable") -> Any:
    """Return `value` if it can be called, or raise."""
    if not callable(value):
        raise TypeError(f"{name} must be {what}, got {shown(value)}")
    return value


def check_real(name: str, value: ArrayLike, infinite: bool = False, flags: bool = False) -> np.ndarray:
    """Return `value` as a float64 array of finite numbers (or also infinite ones), or raise.

    With `flags`, booleans count as 0 and 1; otherwise they are no numbers.
    """
    if type(value) is float and math.isfinite(value):
        return np.asarray(value)
    array = as_floats(name, value, "a real number or an array of them", flags)
    wrong = np.isnan(array) if infinite else ~np.isfinite(array)
    if wrong.any():
        raise ValueError(f"{name} must {'not be nan' if infinite else 'be finite'}, got {shown(value)}")
    return array


def check_complex(name: str, value: object) -> np.ndarray:
    """Return `value` as a complex array of finite numbers, or raise."""
    array = _as_array(name, value, "a complex number or an array of them", "iufc")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite, got {shown(value)}")
    return array


def as_floats(name: str, value: ArrayLike, wanted: str, flags: bool = False) -> np.ndarray:
    """Return `value` as a float64 array of any numbers (no copy of one), or raise."""
    if type(value) is np.ndarray and value.dtype == np.float64:
        return value
    return _as_array(name, value, wanted, "biuf" if flags else "iuf")


def _as_array(name: str, value: object, wanted: str, kinds: str) -> np.ndarray:
    """A double array, or raise: NumPy alone reads strings as numbers and drops masks and imaginary parts."""
    types = _types(value)
    if str in types:  # spares a long list the conversion to strings
        raise TypeError(f"{name} must be {wanted}, got {shown(value)}")
    try:
        # A list with np.ma.masked in it would warn.
        given = np.asanyarray(value) if not _masked(types) else np.ma.masked
    except Exception:  # what an object's __array__ raises is not ours to know
        raise TypeError(f"{name} must be {wanted}, got {shown(value)}") from None
    if _masked({type(given)}):
        raise TypeError(
            f"{name} must not be a masked array, whose mask would be dropped: fill or compress it, "
            f"got {shown(value)}"
        )
    if not _numeric(given, types, kinds):
        raise TypeError(f"{name} must be {wanted}, got {shown(value)}")
    try:
        with np.errstate(over="ignore"):  # an infinite result is refused by the caller
            return np.asarray(given, dtype=np.complex128 if "c" in kinds else np.float64)
    except OverflowError:
        raise ValueError(f"{name} must be finite, below 1.8e308, got {shown(value)}") from None


def _types(value: object) -> set[type]:
    """The types of the items of nested lists and tuples, which an array no longer shows."""
    if not isinstance(value, list | tuple):
        return {type(value)}
    found = set(map(type, value))
    if any(issubclass(kind, list | tuple) for kind in found):
        found = found.union(*(_types(item) for item in value if isinstance(item, list | tuple)))
    return found


def _masked(types: set[type]) -> bool:
    return any(issubclass(kind, np.ma.MaskedArray) for kind in types)


def _numeric(given: np.ndarray, types: set[type], kinds: str) -> bool:
    """Whether all are numbers of these kinds of NumPy's ("b" for booleans, which else are none)."""
    booleans = {bool, np.bool_}
    if types & booleans and "b" not in kinds:
        return False
    if given.dtype != object:
        return given.dtype.kind in kinds
    number = numbers.Complex if "c" in kinds else numbers.Real
    found = set(map(type, given.ravel().tolist()))
    if "b" not in kinds and found & booleans:
        return False
    return all(issubclass(kind, number) for kind in found - booleans)


def check_nonnegative(name: str, value: ArrayLike) -> np.ndarray:
    """Return `value` as a float64 array of finite numbers >= 0, or raise."""
    array = check_real(name, value)
    if (array < 0).any():
        raise ValueError(f"{name} must be >= 0, got {shown(value)}")
    return array


def check_positive(name: str, value: ArrayLike) -> np.ndarray:
    """Return `value` as a float64 array of finite numbers > 0, or raise."""
    array = check_real(name, value)
    if (array <= 0).any():
        raise ValueError(f"{name} must be > 0, got {shown(value)}")
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
    if len({array.shape for array in arrays.values()}) == 1:
        return list(arrays.values())
    try:
        return list(np.broadcast_arrays(*arrays.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise ValueError(f"{', '.join(arrays)} must broadcast to one shape, got {shapes}") from None


def check_number(
    name: str, value: ArrayLike, check: Callable[[str, ArrayLike], np.ndarray] = check_real
) -> float:
    """Return `value` as one finite float that passes `check` (`check_positive`, ...), or raise."""
    lowest = _LOWEST.get(check, np.inf)
    if isinstance(value, float | int) and not isinstance(value, bool) and lowest <= value <= _GREATEST:
        return float(value)
    array = as_floats(name, value, "one real number")
    if array.ndim:
        raise ValueError(f"{name} must be one number, got {shown(value)}")
    return float(check(name, value))


# What a check wants of a plain number, which is the usual case and needs no array.
_GREATEST = float(np.finfo(float).max)
_LOWEST: dict[Callable[..., np.ndarray], float] = {
    check_real: -_GREATEST,
    check_nonnegative: 0.0,
    check_positive: float(np.nextafter(0, 1)),
}


def check_shape(name: str, value: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return the array broadcast to the shape, or raise."""
    try:
        return np.broadcast_to(value, shape)
    except ValueError:
        raise ValueError(f"{name} must broadcast to the shape {shape}, got shape {value.shape}") from None


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
        raise ValueError(f"{name} must be one of {', '.join(map(repr, options))}, got {shown(value)}")
    return value


def check_generator(rng: object) -> np.random.Generator:
    """Return `rng` if it is a numpy Generator; a seed is refused, so that draws are never hidden."""
    if not isinstance(rng, np.random.Generator):
        raise TypeError(
            f"rng must be a numpy.random.Generator, for example numpy.random.default_rng(7), got {shown(rng)}"
        )
    return rng


def check_items(name: str, value: object, kind: type | tuple[type, ...], what: str = "") -> tuple[Any, ...]:
    """Return `value` as a tuple if it is a sequence of instances of the class, or raise."""
    items = tuple(value) if isinstance(value, Iterable) and not isinstance(value, str) else (None,)
    if not all(isinstance(item, kind) for item in items):
        raise TypeError(f"{name} must hold {what or _class_names(kind)} only, got {shown(value)}")
    return items


def check_instance(name: str, value: object, kind: type | tuple[type, ...]) -> None:
    """Raise unless `value` is an instance of the class, or of one of them."""
    if not isinstance(value, kind):
        raise TypeError(f"{name} must be of the class {_class_names(kind)}, got {shown(value)}")


def _class_names(kind: type | tuple[type, ...]) -> str:
    return " or ".join(one.__name__ for one in (kind if isinstance(kind, tuple) else (kind,)))


def check_vector(name: str, value: ArrayLike, length: int | None = None, flags: bool = False) -> np.ndarray:
    """Return `value` as a finite 1-D float64 array (of the given length), or raise; `flags`: `check_real`."""
    array = check_real(name, value, flags=flags)
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


def check_matrix(name: str, value: ArrayLike, columns: int | None = None, flags: bool = False) -> np.ndarray:
    """Return `value` as a finite 2-D float64 array (of so many columns), or raise; `flags`: `check_real`."""
    array = check_real(name, value, flags=flags)
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
