"""Small matrices are faster on one thread: handing them to more costs up to three times their product."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

# NumPy and SciPy each bring a BLAS of their own: both must be loaded when the controller looks for them.
import scipy.linalg  # noqa: F401


@lru_cache(maxsize=1)
def _controller() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@contextmanager
def one_thread() -> Iterator[None]:
    """A context, or with @ a decorator, in which BLAS uses one thread."""
    with _controller().limit(limits=1, user_api="blas"):
        yield
