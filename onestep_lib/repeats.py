r"""What independent repeats say of a mean: the one place where standard errors come from.

Functions
---------
mean_and_error   the mean over the repeats, and its standard error
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from onestep_lib._checks import check_real

__all__ = [
    "mean_and_error",
]


def mean_and_error(draws: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    r"""Return the mean over the repeats and its standard error, :math:`s/\sqrt R`.

    s is the standard deviation of the R repeats, with R - 1 in its denominator.

    Parameters
    ----------
    draws : array_like, shape (R, ...)
        One row a repeat, R >= 2.

    Returns
    -------
    mean, error : ndarray, shape (...)

    Raises
    ------
    ValueError
        For fewer than two repeats: one has no standard error.

    Examples
    --------
    >>> from onestep_lib.repeats import mean_and_error
    >>> mean, error = mean_and_error([[1.0, 5.0], [3.0, 5.0]])
    >>> print(mean, error)
    [2. 5.] [1. 0.]
    """
    draws = check_real("draws", draws)
    if draws.ndim == 0 or draws.shape[0] < 2:
        raise ValueError(
            f"draws must have shape (repeats >= 2, ...), got {draws.shape}: one repeat has no standard error"
        )
    return draws.mean(axis=0), draws.std(axis=0, ddof=1) / np.sqrt(draws.shape[0])
