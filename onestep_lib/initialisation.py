r"""What a network may start from beside a law with a name: readouts from a vocabulary, and rows by hand.

A readout :math:`a_j=z_j/\sqrt N` draws every :math:`z_j` independently from finitely many values with given
shares (the vocabularies of Dandi et al., arXiv 2410.18938, and Cui et al., arXiv 2402.04980). Signs are the
vocabulary (1, -1), and (1,) is the readout of all ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from onestep_lib._checks import (
    check_matrix,
    check_positive,
    check_vector,
    shown,
)
from onestep_lib._values import read_only

__all__ = [
    "Vocabulary",
]


@dataclass(frozen=True, init=False)
class Vocabulary:
    r"""A finite law of the readout's entries, in units of :math:`1/\sqrt N`.

    Parameters
    ----------
    values : sequence of float
        The values of :math:`z=\sqrt N\,a_j`, no two equal, not all 0.
    shares : sequence of float, optional
        The probability of each, > 0, summing to 1 (to 1e-9); equal shares by default.

    Raises
    ------
    TypeError, ValueError
        Naming the argument, its value and what is allowed.

    Examples
    --------
    >>> from onestep_lib.initialisation import Vocabulary
    >>> words = Vocabulary((1, -2), shares=(0.8, 0.2))
    >>> print(f"{words.moment(1):.1f} {words.moment(2):.1f}")  # 0.8 - 0.4 and 0.8 + 0.8
    0.4 1.6
    """

    values: tuple[float, ...]
    shares: tuple[float, ...]

    # Written out, so that the shares may be left out and are numbers in the field.
    def __init__(self, values: ArrayLike, shares: ArrayLike | None = None) -> None:
        numbers = check_vector("values", values)
        if not numbers.any():
            raise ValueError(f"values must not be empty or all 0, got {shown(values)}")
        if np.unique(numbers).size < numbers.size:
            raise ValueError(f"values must be different from each other, got {shown(values)}")
        if shares is None:
            parts = np.full(numbers.size, 1 / numbers.size)
        else:
            parts = check_vector("shares", check_positive("shares", shares), numbers.size)
            if abs(parts.sum() - 1) > 1e-9:
                raise ValueError(f"shares must sum to 1, got {shown(shares)}")
        object.__setattr__(self, "values", tuple(numbers.tolist()))
        object.__setattr__(self, "shares", tuple(parts.tolist()))

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """Values and shares as arrays."""
        return np.array(self.values), np.array(self.shares)

    def moment(self, k: int) -> float:
        r"""Return :math:`\mathbb Ez^k`."""
        return float(np.dot(self.shares, np.power(self.values, k)))

    def draw(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """Draw `count` independent values of z, shape (count,)."""
        shares = np.divide(self.shares, np.sum(self.shares))
        return rng.choice(self.values, size=count, p=shares)


@dataclass(frozen=True, eq=False, init=False)
class GivenRows:
    """First-layer rows that are not drawn: every repeat of a simulation starts from them.

    Parameters
    ----------
    weights : array_like, shape (N, d)
        The rows w_j; a copy is kept, which cannot be written to.

    Examples
    --------
    >>> import numpy as np
    >>> from onestep_lib import Setting
    >>> setting = Setting(n=50, d=2, N=3, rows=np.ones((3, 2)))
    >>> print(setting.rows.weights.shape)
    (3, 2)
    """

    weights: np.ndarray

    def __init__(self, weights: ArrayLike) -> None:
        object.__setattr__(self, "weights", read_only(check_matrix("weights", weights).copy()))
