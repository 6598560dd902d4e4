"""Equality, hashing and copies of the library's dataclasses, by value also where they hold arrays.

The rules, which are those of a tuple of the fields, with arrays and NaN made usable:

* Two objects are equal if they are of one class and every field is equal: arrays (and lists and tuples)
  by shape and value, NaN equal to NaN in the same place. ``==`` returns a bool and never an array.
* Functions are equal if they are the same object. A `functools.partial` is compared by its function and
  arguments, unless one of these can change (an array, a list); then it too is equal only to itself, so
  that no cache answers for arguments that have changed since.
* An object has a hash if all its fields do. One that holds an array, a list or a dict raises TypeError.
* Pickles and copies carry the fields and nothing else: what an object keeps for itself is computed again.

Arrays in a result belong to its caller and may be written to. Those that a cache hands out again are
read-only, see `read_only`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import FrozenInstanceError, dataclass, field, fields, is_dataclass
from functools import partial
from typing import Any, TypeVar, dataclass_transform, overload

import numpy as np

Class = TypeVar("Class", bound=type)
Object = TypeVar("Object")
_NUMBERS = "biufc"
# What most fields are: compared and hashed as they are, without a look at the rarer kinds.
_PLAIN = {int, str, bool, bytes, type(None)}
_HASH = "_hash"
# Equal NaNs need one hash; Python's own follows the object.
_NAN = object()


@overload
def by_value(cls: Class) -> Class: ...
@overload
def by_value(*, init: bool = ..., kw_only: bool = ...) -> Callable[[Class], Class]: ...
@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def by_value(cls: Any = None, *, init: bool = True, kw_only: bool = False) -> Any:
    """Make a class a dataclass with frozen fields and the equality, hash and pickled state of this module.

    `init` and `kw_only` are those of `dataclass`. What that makes for ``frozen`` and ``repr`` it compiles for
    every class, which took half of the time of importing the library: here the classes share it.
    """
    if cls is None:
        return partial(by_value, init=init, kw_only=kw_only)
    cls = dataclass(init=init, repr=False, eq=False, kw_only=kw_only)(cls)
    names = tuple(field.name for field in fields(cls) if field.compare)

    def equal(self: Any, other: object) -> bool:
        if self is other:
            return True
        if type(other) is not type(self):
            return NotImplemented
        mine, theirs = vars(self), vars(other)
        return all(_same(mine[name], theirs[name]) for name in names)

    def hashed(self: Any) -> int:
        mine = vars(self)
        # Kept, like a cached property: settings are keys of caches that answer in microseconds.
        if _HASH not in mine:
            try:
                mine[_HASH] = hash(tuple([_key(mine[name]) for name in names]))
            except TypeError:
                raise TypeError(
                    f"a {cls.__name__} that holds an array, a list or a dict has no hash: it can be "
                    "compared, but not be a key or lie in a set"
                ) from None
        return mine[_HASH]

    own = {"__eq__": equal, "__hash__": hashed}
    shared = {
        "__getstate__": _state, "__repr__": _text, "__setattr__": _set_once, "__delattr__": _never_deleted,
    }  # fmt: skip
    for name, method in own.items():
        method.__name__, method.__qualname__ = name, f"{cls.__qualname__}.{name}"
    for name, method in (own | shared).items():
        # A class may write its own text.
        if name != "__repr__" or name not in vars(cls):
            setattr(cls, name, method)
    return cls


def _state(self: Any) -> dict[str, Any]:
    mine = vars(self)
    return {field.name: mine[field.name] for field in fields(self)}


def _text(self: Any) -> str:
    shown = (f"{field.name}={getattr(self, field.name)!r}" for field in fields(self) if field.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _set_once(self: Any, name: str, value: object) -> None:
    """What `__init__` assigns is a field that has no value yet."""
    if name in vars(self) or name not in self.__dataclass_fields__:
        raise FrozenInstanceError(f"cannot assign to field {name!r}")
    vars(self)[name] = value


def _never_deleted(self: Any, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def read_only(value: Object) -> Object:
    """Make an array, or every array in a dataclass or a tuple, read-only in place, and return it."""
    if isinstance(value, np.ndarray):
        value.setflags(write=False)
    elif is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            read_only(getattr(value, field.name))
    elif isinstance(value, tuple):
        for item in value:
            read_only(item)
    return value


def _same(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if type(a) in _PLAIN and type(b) in _PLAIN:
        return a == b
    if _is_array(a) or _is_array(b):
        return _same_array(a, b)
    if isinstance(a, tuple | list) and isinstance(b, tuple | list):
        return len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_same(a[key], b[key]) for key in a)
    if type(a) is partial and type(b) is partial:
        return _key(a) == _key(b)
    return bool(a == b) or bool(a != a and b != b)


def _is_array(value: object) -> bool:
    # Also what turns into one, such as a column of a table; NumPy's scalars compare as numbers do.
    return hasattr(value, "__array__") and not isinstance(value, np.generic)


def _same_array(a: Any, b: Any) -> bool:
    a, b = (np.asarray(value) if _is_array(value) else value for value in (a, b))
    if all(isinstance(value, np.ndarray) and value.dtype.kind in _NUMBERS for value in (a, b)):
        return a.shape == b.shape and bool(np.all((a == b) | ((a != a) & (b != b))))
    # Texts, and arrays beside lists, item by item.
    return _same(*(value.tolist() if isinstance(value, np.ndarray) else value for value in (a, b)))


def _key(value: Any) -> Hashable:
    """What a field is hashed by: equal for equal fields; its hash raises TypeError if the field has none."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is tuple:
        return tuple(map(_key, value))
    if isinstance(value, float | np.floating):
        return value if value == value else _NAN
    if kind is partial:
        return _partial_key(value)
    return value


def _partial_key(value: partial) -> Hashable:
    named = frozenset((name, _key(argument)) for name, argument in value.keywords.items())
    key = (_key(value.func), _key(value.args), named)
    try:
        hash(key)
    except TypeError:
        return value
    return key


def plain(value: np.ndarray | float) -> np.ndarray | float:
    """Return a number as a float, an array with axes as it is: what one point and a path of them return."""
    return value if np.ndim(value) else float(value)
