"""Anderson's acceleration of a fixed-point iteration, for maps too large for Newton's method."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from onestep_lib._checks import (
    check_callable,
    check_count,
    check_nonnegative,
    check_number,
    check_positive,
    check_vector,
)
from onestep_lib.convergence import ConvergenceError


def anderson(
    sweep: Callable[[np.ndarray], np.ndarray],
    start: np.ndarray,
    weights: np.ndarray,
    tolerance: float,
    depth: int = 8,
    iterations: int = 200,
) -> np.ndarray:
    r"""Return x with :math:`|F(x)-x|_\infty\le` tolerance, where F contracts.

    Every step is the combination of the last sweeps whose residual, in the weighted norm, is least
    (Anderson 1965; Walker and Ni, SIAM J. Numer. Anal. 49, 1715, 2011).

    Parameters
    ----------
    sweep : callable
        F, from and to arrays of shape (size,).
    start : ndarray, shape (size,)
    weights : ndarray, shape (size,)
        Weights of the squared residuals.
    tolerance : float
    depth : int
        Sweeps remembered.
    iterations : int

    Raises
    ------
    ConvergenceError
        If the sweeps run out or leave the finite numbers.
    """
    check_callable("sweep", sweep)
    start = check_vector("start", start)
    weights = check_vector("weights", check_nonnegative("weights", weights), start.size)
    tolerance = check_number("tolerance", tolerance, check_positive)
    depth, iterations = check_count("depth", depth), check_count("iterations", iterations)
    if start.size == 0:
        raise ValueError("start must hold at least one number, got none")
    x, root = start, np.sqrt(weights)
    moves: list[np.ndarray] = []
    falls: list[np.ndarray] = []
    last_x = last_residual = None
    size = np.inf
    for _ in range(iterations):
        residual = sweep(x) - x
        size = float(np.max(np.abs(residual)))
        if size <= tolerance:
            return x
        if not np.isfinite(size):
            break
        if last_x is not None:
            moves, falls = [*moves, x - last_x][-depth:], [*falls, residual - last_residual][-depth:]
        last_x, last_residual = x, residual
        x = x + residual
        if falls:
            mix = np.linalg.lstsq((root * falls).T, root * residual, rcond=1e-12)[0]
            x = x - mix @ (np.array(moves) + np.array(falls))
    raise ConvergenceError("anderson", size, {"unknowns": start.size, "iterations": iterations})
