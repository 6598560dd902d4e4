"""Small matrices are faster on one thread: handing them to more costs up to three times their product."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import lru_cache

from threadpoolctl import ThreadpoolController

__all__ = [
    "one_thread",
]


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def one_thread() -> AbstractContextManager[object]:
    """A context in which BLAS uses one thread."""
    return _controller().limit(limits=1, user_api="blas")
