"""What results and caches hand out: one point as a float, kept arrays read-only."""

from __future__ import annotations

from dataclasses import is_dataclass
from typing import Any

import numpy as np


def read_only(value: Any) -> Any:
    """Make an array, or every array in a tuple or a dataclass, read-only in place, and return it."""
    if isinstance(value, np.ndarray):
        value.setflags(write=False)
    for item in value if isinstance(value, tuple) else vars(value).values() if is_dataclass(value) else ():
        read_only(item)
    return value


def plain(value: np.ndarray | float) -> np.ndarray | float:
    """Return a number as a float, an array with axes as it is: what one point and a path of them return."""
    return value if np.ndim(value) else float(value)
