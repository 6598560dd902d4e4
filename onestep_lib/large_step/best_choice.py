r"""The best penalty at each step size and the best step size at each penalty, for any theory of the step.

What the best penalty is to random features, after a step. A theory is a function from a `Setting` to
`Losses`: `one_step`, `giant_step`, ``partial(finite_staircase, level=2)``, ... Its loss is minimised on a
grid of the penalties or steps first, then by Brent's bounded search between the two neighbours of the best
one. The loss can fall again at large steps, after it has risen beyond its first minimum (observed), so that
one bracket would not do: the grid decides which minimum it is.

The search uses values of the loss only. The derivative of a test loss is one of the linear response around
the fixed point, on a grid of kappa that the solution refines, which costs more than the twenty values that
Brent's method takes; and near its minimum the loss is flat, so that its value has all digits where the
minimiser has half of them.

Functions
---------
best_step           the best step size at each penalty
best_stepped_ridge  the best penalty at each step size
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar

from onestep_lib._values import plain
from onestep_lib.convergence import ConvergenceError
from onestep_lib.large_step.one_curve import one_step
from onestep_lib.settings import Losses, Setting

__all__ = [
    "best_step",
]

Theory = Callable[[Setting], Losses]

# In units of sqrt(N), where a row changes by order one, and of the features' largest eigenvalues.
_STEPS = np.geomspace(3e-3, 30.0, 32)
_RIDGES = np.geomspace(1e-7, 1e3, 61)
# Above the tolerance of a theory's fixed points, below what two choices can be told apart by.
_ROUNDING = 1e-7
_WIDTH = 1e-4


@dataclass(frozen=True, eq=False)
class Best:
    """A best choice and what it gives; arrays along the other choice.

    Parameters
    ----------
    value : float or ndarray
        The step size or the penalty; 0 where the test loss rises with every positive one that is tried.
    losses : Losses
        With it; for a penalty of 0 with the smallest one that is tried.
    """

    value: float | np.ndarray
    losses: Losses


def _search(losses: Callable[[np.ndarray], Losses], grid: np.ndarray, zero: bool, what: str) -> np.ndarray:
    """The best value, then its train, test and objective; `zero`: the grid starts with 0, a choice too."""
    tried = np.asarray(losses(grid).test)
    best = int(np.flatnonzero(tried <= tried.min() * (1 + _ROUNDING))[0])
    if best == grid.size - 1:
        reason = f"the best {what} is beyond those that are tried"
        raise ConvergenceError(f"best {what}", float(tried[-1]), {what: float(grid[-1])}, reason)
    found = float(grid[best])
    if best > 0:
        # Next to 0 the neighbour is as far below as the next one is above.
        low = grid[best] ** 2 / grid[best + 1] if zero and best == 1 else grid[best - 1]
        answer = minimize_scalar(
            lambda y: float(np.ravel(losses(np.exp([y])).test)[0]),
            bounds=(np.log(low), np.log(grid[best + 1])),
            method="bounded",
            options={"xatol": _WIDTH},
        )
        # Where the loss is a number of nodes' staircase, a value of the grid may stay the best.
        found = float(np.exp(answer.x)) if answer.fun <= tried[best] else found
    at = losses(np.array([found]))
    numbers = [np.ravel(one)[0] for one in (at.train, at.test, at.objective)]
    return np.array([found if zero or best > 0 else 0.0, *numbers])


def _gathered(rows: list[np.ndarray], shape: tuple[int, ...]) -> Best:
    value, train, test, objective = (plain(column.reshape(shape)) for column in np.array(rows).T)
    return Best(value, Losses(train, test, objective))


def best_step(setting: Setting, theory: Theory = one_step) -> Best:
    r"""Return the step size with the smallest test loss at each penalty of the setting.

    Formulas and method in :mod:`onestep_lib.large_step.best_choice`; steps from 0 to :math:`30\sqrt N`.

    Parameters
    ----------
    setting : Setting
        Its step sizes do not count.
    theory : callable
        From a setting with a path of steps to its losses.

    Returns
    -------
    Best
        Of the shape of the penalties.

    Raises
    ------
    TypeError, ValueError
        As the theory does.
    ConvergenceError
        If the largest step is the best, or as the theory does.

    Examples
    --------
    >>> from onestep_lib import Setting, one_step
    >>> from onestep_lib.large_step import best_step
    >>> setting = Setting(n=400, d=200, N=300, target="sin", noise=0.3, ridge=0.3)
    >>> best = best_step(setting)
    >>> print(f"{best.value:.0f} {best.losses.test:.3f}")
    31 0.229
    >>> one_step(setting.replace(step=[0, 15, 60])).test.round(3)
    array([0.33 , 0.235, 0.234])
    """
    grid = np.append(0.0, _STEPS * np.sqrt(setting.N))

    def at(ridge: float) -> Callable[[np.ndarray], Losses]:
        return lambda steps: theory(setting.replace(step=steps, ridge=ridge))

    rows = [_search(at(ridge), grid, True, "step") for ridge in np.atleast_1d(setting.ridges)]
    return _gathered(rows, setting.ridges.shape)


def best_stepped_ridge(setting: Setting, theory: Theory = one_step) -> Best:
    r"""Return the penalty with the smallest test loss at each step size of the setting.

    Method in :mod:`onestep_lib.large_step.best_choice`; penalties over ten powers of ten.

    Parameters
    ----------
    setting : Setting
        Its penalties do not count.
    theory : callable
        From a setting with one step and a path of penalties to its losses.

    Returns
    -------
    Best
        Of the shape of the steps.

    Raises
    ------
    TypeError, ValueError
        As the theory does.
    ConvergenceError
        If the largest penalty is the best, or as the theory does.

    Examples
    --------
    >>> from onestep_lib import Setting
    >>> from onestep_lib.large_step.best_choice import best_stepped_ridge
    >>> best = best_stepped_ridge(Setting(n=400, d=200, N=300, noise=0.5, step=[0, 10]))
    >>> print(best.value.round(2), best.losses.test.round(3))
    [0.06 0.17] [0.616 0.462]
    """
    sigma = setting.activation
    grid = _RIDGES * (sigma.c1**2 + sigma.nonlinear_power) * (1 + setting.N / setting.n)

    def at(step: float) -> Callable[[np.ndarray], Losses]:
        return lambda ridges: theory(setting.replace(step=step, ridge=ridges))

    rows = [_search(at(step), grid, False, "ridge") for step in np.atleast_1d(setting.steps)]
    return _gathered(rows, setting.steps.shape)
