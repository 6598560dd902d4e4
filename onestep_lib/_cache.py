"""Set-ups that take seconds are kept on disk, in the user's cache folder or in ONESTEP_CACHE.

Functions
---------
version_of   A key that an edit of the module changes, so that it never meets a stale file
values_of    A key for a function of one Gaussian variable: its values, so that a lambda has one too
"""

from __future__ import annotations

import hashlib
import inspect
import os
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
from joblib import Memory

__all__ = [
    "memory",
    "values_of",
    "version_of",
]


def _location() -> Path:
    default = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "onestep_lib"
    return Path(os.environ.get("ONESTEP_CACHE", default))


memory = Memory(_location(), verbose=0)


def version_of(module: ModuleType) -> str:
    """A key that an edit of the module changes, so that it never meets a stale file."""
    return hashlib.sha256(inspect.getsource(module).encode()).hexdigest()


def values_of(function: Callable[[np.ndarray], np.ndarray]) -> str:
    """A key for a function of one Gaussian variable: its values, so that a lambda has one too."""
    values = np.ascontiguousarray(function(np.linspace(-9, 9, 4001)), dtype=np.float64)
    return hashlib.sha256(values.tobytes()).hexdigest()
