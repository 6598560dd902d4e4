r"""Schedules of gradient steps: how large each is, on which batch, of how many samples.

With ``Setting(step=eta, updates=Schedule(factors))`` step k has the size ``factors[k]`` times eta, so that a
path of step sizes is still a path of schedules. ``updates=k``, a whole number, is k steps of size eta on one
batch. The readout stays as it is; for ``output="centred"`` the residual of step k is
:math:`y-(f_k-f_0)` on its own batch.

As the number of equal steps on one batch grows at a fixed total, they become the gradient flow of the first
layer, with an error of order 1/k.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from onestep_lib._checks import check_choice, check_count, check_nonnegative, check_vector, shown

__all__ = [
    "Schedule",
]

BATCHES = ("same", "fresh")


@dataclass(frozen=True, init=False)
class Schedule:
    """Several gradient steps on the first layer.

    Parameters
    ----------
    factors : sequence of float
        The size of each step over the setting's step size, >= 0.
    batches : {"same", "fresh"}
        One batch for all steps, or a batch of its own for each.
    samples : int or sequence of int, optional
        Samples of each step's batch, by default those of the setting's gradient. On the same batch a step
        sees the first so many.

    Raises
    ------
    TypeError, ValueError
        Naming the argument, its value and what is allowed.

    Examples
    --------
    >>> from onestep_lib import Setting
    >>> from onestep_lib.schedules import Schedule
    >>> small = Schedule.equal(4, batches="fresh")  # four quarter steps
    >>> print(small.factors, small.total, Setting(n=50, d=20, N=30, updates=small).updates.batches)
    (0.25, 0.25, 0.25, 0.25) 1.0 fresh
    """

    factors: tuple[float, ...]
    batches: str
    samples: tuple[int, ...] | None

    # Written out, so that one number of samples may stand for all.
    def __init__(self, factors: ArrayLike, batches: str = "same", samples: object = None) -> None:
        sizes = check_vector("factors", check_nonnegative("factors", factors))
        if sizes.size == 0:
            raise ValueError(f"factors must not be empty, got {shown(factors)}")
        object.__setattr__(self, "factors", tuple(sizes.tolist()))
        object.__setattr__(self, "batches", check_choice("batches", batches, BATCHES))
        object.__setattr__(self, "samples", _samples(samples, sizes.size))

    @classmethod
    def equal(cls, count: int, batches: str = "same", samples: object = None) -> Schedule:
        """Return `count` equal steps whose total is the setting's step size."""
        count = check_count("count", count)
        return cls(np.full(count, 1 / count), batches, samples)

    @property
    def total(self) -> float:
        """The sum of the factors."""
        return float(np.sum(self.factors))

    def sizes(self, default: int) -> tuple[int, ...]:
        """The samples of each step; `default` where the schedule does not say."""
        return (default,) * len(self.factors) if self.samples is None else self.samples


def _samples(value: object, count: int) -> tuple[int, ...] | None:
    if value is None:
        return None
    if isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.ndim):
        if len(value) != count:
            raise ValueError(f"samples must be one number or {count}, one a step, got {shown(value)}")
        return tuple(check_count("samples", one) for one in value)
    return (check_count("samples", value),) * count
