r"""The penalty at which random features have their smallest test loss.

The test loss of :func:`onestep_lib.no_step.gaussian_equivalence.ridge_losses` is minimised over lambda >= 0.
For infinitely many neurons the answer is known in closed form (:eq:`eq-ge-best-penalty`): the effective
penalty is

.. math:: \mu=\max\Big(0,\ c_1^2\,\frac{c_{*,>1}^2+\sigma_\varepsilon^2}{c_{*,1}^2}-c_{>1}^2\Big).

Functions
---------
best_ridge   the best penalty for given ratios and powers
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar

from onestep_lib.convergence import ConvergenceError
from onestep_lib.no_step.gaussian_equivalence import checked, ridge_losses

__all__ = [
    "best_ridge",
]

# Penalties that are tried first, in the size of the features' eigenvalues. We have seen one minimum only, but
# know no proof: a search inside one bracket might end in another.
_GRID = np.geomspace(1e-16, 1e5, 337)
_ROUNDING = 1e-13


def best_ridge(
    phi: float, psi: float, c1_sq: float, nonlinear_sq: float, linear_power: float, other_power: float
) -> float:
    r"""Return the penalty with the smallest test loss in the limit.

    A grid of penalties over 21 powers of ten, then Brent's search between the two neighbours of the
    best one.

    Parameters
    ----------
    phi, psi : float
        d/n and d/N, > 0.
    c1_sq : float
        :math:`c_1^2` > 0 of the activation: features without a linear part learn nothing.
    nonlinear_sq : float
        :math:`c_{>1}^2` >= 0 of the activation.
    linear_power : float
        :math:`c_{*,1}^2` > 0: without it the best fit is zero, at an infinite penalty.
    other_power : float
        :math:`c_{*,>1}^2` plus the noise variance, >= 0.

    Returns
    -------
    float
        The penalty lambda, in the normalisation of :mod:`onestep_lib.settings`, to about seven digits (the
        loss at a minimum is flat, so it has all of its digits). 0 where the loss rises with every penalty.

    Raises
    ------
    ValueError, TypeError
        For numbers outside these ranges.
    ConvergenceError
        If the powers lie so far apart that the best penalty is larger than any that is tried.

    Examples
    --------
    >>> from onestep_lib.no_step import best_ridge
    >>> print(f"{best_ridge(0.6, 0.75, 0.37, 0.03, linear_power=1, other_power=0.5):.3f}")
    0.165
    >>> best_ridge(0.6, 0.1, 0.37, 0.3, linear_power=1, other_power=0.01)  # the activation is penalty enough
    0.0
    """
    positive = {"phi": phi, "psi": psi, "c1_sq": c1_sq, "linear_power": linear_power}
    given = positive | (nonnegative := {"nonlinear_sq": nonlinear_sq, "other_power": other_power})
    arrays = checked(positive, nonnegative)
    if arrays[0].ndim:
        raise ValueError(f"{', '.join(given)} must be one number each, got the shape {arrays[0].shape}")
    phi, psi, a, linear, b, other = map(float, arrays)
    # The weaker the features' linear part and the louder the noise, the stronger the best penalty.
    grid = (a + b) * (1 + b / a) * (1 + phi / psi) * (1 + other / linear) * _GRID

    def loss(ridge: float | np.ndarray) -> np.ndarray:
        return np.asarray(ridge_losses(phi, psi, ridge, a, b, linear, other).test)

    tried = loss(grid)
    best = int(np.flatnonzero(tried <= tried.min() * (1 + _ROUNDING))[0])
    if best == 0:
        return 0.0
    if best == grid.size - 1:
        reason = "the best penalty is beyond those that are tried"
        raise ConvergenceError("best_ridge", float(tried[-1]), given, reason)
    bounds = np.log(grid[best - 1]), np.log(grid[best + 1])
    found = minimize_scalar(
        lambda y: float(loss(np.exp(y))), bounds=bounds, method="bounded", options={"xatol": 1e-10}
    )
    return float(np.exp(found.x))
