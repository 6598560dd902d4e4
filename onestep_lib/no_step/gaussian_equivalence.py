r"""Ridge regression on random features: the Gaussian-equivalence formulas.

With a = :math:`c_1^2`, b = :math:`c_{>1}^2` (see :mod:`onestep_lib.activations`), c = n/d, k = n/N and x an
eigenvalue of X X^T/d, one unknown :math:`\mu\ge0` solves (:eq:`eq-ge-scalar` and :eq:`eq-ge-m1-m2`)

.. math:: \frac\lambda\mu=\frac1k-\mathbb E\Big[\frac{ax+b}{ax+b+\mu}\Big],

and with :math:`R=(FF^\top+\lambda nI)^{-1}`, :math:`q=\lambda/\mu`,

.. math:: \operatorname{tr}R\to k\,m_1=\mathbb E\Big[\frac1{q(ax+b+\mu)}\Big],\qquad
          \tfrac1d\operatorname{tr}X^\top RX\to k\,m_2=\mathbb E\Big[\frac x{q(ax+b+\mu)}\Big].

The right side falls and the left side rises as 1/mu grows, so there is exactly one root; the equivalent pair
of equations for :math:`m_1`, :math:`m_2`, :eq:`eq-ge-pair` (Adlam and Pennington 2020; Moniri et al., arXiv
2310.07891), has a second, false root at (0, 0). All averages over x are closed forms of the Marchenko-Pastur
law (:mod:`onestep_lib.no_step.marchenko_pastur`), and every derivative in lambda is exact. The spectrum is in
:mod:`onestep_lib.no_step.spectrum`.

The penalty with the smallest test loss is a numerical minimum over lambda >= 0. For infinitely many neurons
it is known in closed form (:eq:`eq-ge-best-penalty`): the effective penalty is

.. math:: \mu=\max\Big(0,\ c_1^2\,\frac{c_{*,>1}^2+\sigma_\varepsilon^2}{c_{*,1}^2}-c_{>1}^2\Big).

Functions
---------
resolvent_traces   m_1, m_2, tau and their derivatives, vectorised over parameters
ridge_losses       train, test and objective from ratios and powers, vectorised
random_features    the losses of a Setting
best_ridge         the best penalty for given ratios and powers
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar

from onestep_lib._checks import (
    check_broadcast,
    check_instance,
    check_nonnegative,
    check_positive,
    check_size,
    shown,
)
from onestep_lib.convergence import ConvergenceError
from onestep_lib.no_step.marchenko_pastur import (
    MarchenkoPasturMeans,
    closed_means,
)
from onestep_lib.settings import Losses, Setting

__all__ = [
    "best_ridge",
    "random_features",
    "resolvent_traces",
    "ridge_losses",
]

_ITERATIONS = 100
_TOLERANCE = 1e-13


@dataclass(frozen=True, eq=False)
class Traces:
    r"""The limits of the resolvent's traces and their exact derivatives in lambda.

    Parameters
    ----------
    m1, m2 : ndarray
        tr R -> k m1 and (1/d) tr X^T R X -> k m2, with k = psi/phi = n/N.
    dm1, dm2 : ndarray
        Their derivatives in lambda.
    tau, dtau : ndarray
        The limit of f^T R f, f a new column of features; 1 + tau = N mu/(n lambda). And its derivative.
    mu : ndarray
        The root of the scalar equation.
    """

    m1: np.ndarray
    m2: np.ndarray
    dm1: np.ndarray
    dm2: np.ndarray
    tau: np.ndarray
    dtau: np.ndarray
    mu: np.ndarray


def checked(positive: Mapping[str, ArrayLike], nonnegative: Mapping[str, ArrayLike]) -> list[np.ndarray]:
    """The parameters of a formula by name, of one shape, or raise."""
    arrays = {name: check_positive(name, value) for name, value in positive.items()}
    arrays |= {name: check_nonnegative(name, value) for name, value in nonnegative.items()}
    for name, array in arrays.items():
        check_size(name, array)
    return check_broadcast(**arrays)


def _gap(
    mu: np.ndarray, a: np.ndarray, b: np.ndarray, c: np.ndarray, k: np.ndarray, ridge: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """lambda/mu - 1/k + E[(ax+b)/(ax+b+mu)] and its slope in log mu (both terms fall)."""
    u = b + mu
    means = closed_means(a / u, c)
    # The mean is near 1 for small k and near 0 for large k: take the form that does not cancel.
    mean_part = np.where(k < 2, 1 - 1 / k - mu / u * means.p, (a * means.g + b * means.p) / u - 1 / k)
    value = ridge / mu + mean_part
    slope = -ridge / mu - mu * (a * means.g2 + b * means.p2) / u**2
    return value, slope


def _solve_mu(a: np.ndarray, b: np.ndarray, c: np.ndarray, k: np.ndarray, ridge: np.ndarray) -> np.ndarray:
    """The root mu of the scalar equation by Newton in log mu, kept inside a bracket.

    Jensen's inequality for the mean of x (which is 1) gives the upper end, and E[...] >= 0 the lower;
    at ridge = 0 and k > 1 the lower end uses ax + b >= b.
    """
    tilt = (a + b) - k * (ridge + a + b)
    root = (tilt**2 + 4 * k * ridge * (a + b)) ** 0.5
    positive = tilt > 0
    small = 2 * k * ridge * (a + b) / np.where(positive, tilt + root, 1.0)
    upper = np.where(positive, small, (root - tilt) / 2)
    lower = np.where(k * ridge > b * (k - 1), k * ridge, b * (k - 1))
    trivial = upper <= 0
    low, high = (np.log(np.where(trivial, 1.0, end)) for end in (lower, upper))
    high = np.where(high > low, high, low)
    y = high
    for _ in range(_ITERATIONS):
        value, slope = _gap(np.exp(y), a, b, c, k, ridge)
        low, high = np.where(value > 0, y, low), np.where(value > 0, high, y)
        newton = y - value / slope
        inside = (newton >= low) & (newton <= high)
        new = np.where(inside, newton, (low + high) / 2)
        done = trivial | (abs(new - y) < _TOLERANCE * np.maximum(abs(y), 1.0))
        y = new
        if np.all(done):
            return np.where(trivial, 0.0, np.exp(y))
    worst = np.flatnonzero(np.logical_not(done))[0]
    names = ("c1_sq", "nonlinear_sq", "n/d", "n/N", "ridge")
    at = {name: float(np.ravel(v)[worst]) for name, v in zip(names, (a, b, c, k, ridge), strict=True)}
    reason = "the parameters may lie too many orders of magnitude apart"
    raise ConvergenceError("gaussian_equivalence", float(np.ravel(abs(value))[worst]), at, reason)


def resolvent_traces(
    phi: ArrayLike, psi: ArrayLike, ridge: ArrayLike, c1_sq: ArrayLike, nonlinear_sq: ArrayLike
) -> Traces:
    r"""Return :math:`m_1`, :math:`m_2` (:eq:`eq-ge-m1-m2`), tau (:eq:`eq-ge-tau`) and their derivatives.

    Every argument broadcasts.

    Parameters
    ----------
    phi, psi : array_like
        d/n and d/N, > 0.
    ridge : array_like
        The penalty lambda > 0, in the normalisation of :mod:`onestep_lib.settings`.
    c1_sq, nonlinear_sq : array_like
        :math:`c_1^2` and :math:`c_{>1}^2` of the activation, not both 0.

    Returns
    -------
    Traces

    Raises
    ------
    ValueError
        For parameters outside these ranges.
    ConvergenceError
        If Newton's method does not reach 1e-13 in log mu.

    Examples
    --------
    >>> from onestep_lib.no_step import resolvent_traces
    >>> traces = resolvent_traces(1, 1, 0.5, 0, 1)  # without a linear part
    >>> print(f"{traces.m1:.4f}")  # the root 1 of ridge (m^2 + m) = 1
    1.0000
    """
    phi, psi, ridge, a, b = checked(
        {"phi": phi, "psi": psi, "ridge": ridge}, {"c1_sq": c1_sq, "nonlinear_sq": nonlinear_sq}
    )
    require_power(a, b)
    c, k = 1 / phi, psi / phi
    mu = _solve_mu(a, b, c, k, ridge)
    u, q = b + mu, ridge / mu
    means = closed_means(a / u, c)
    dq = _dq(means, a, b, u, mu, q)
    w1, w2 = _second_order(means, a, b, dq)
    scale = q * u
    return Traces(
        m1=means.p / scale / k,
        m2=means.g / scale / k,
        dm1=-w1 / scale**2 / k,
        dm2=-w2 / scale**2 / k,
        # Not 1/(kq) - 1, which cancels where tau is small.
        tau=(b * means.p + a * means.g) / scale,
        dtau=-(b * w1 + a * w2) / scale**2,
        mu=mu,
    )


def require_power(a: np.ndarray | float, b: np.ndarray | float) -> None:
    """Raise where the features would have no power."""
    if np.any(np.add(a, b) <= 0):
        raise ValueError("c1_sq and nonlinear_sq must not both be 0: the features would be constant")


def _dq(
    means: MarchenkoPasturMeans, a: np.ndarray, b: np.ndarray, u: np.ndarray, mu: np.ndarray, q: np.ndarray
) -> np.ndarray:
    """The derivative of q = lambda/mu in lambda, by implicit differentiation."""
    s = (a * means.g2 + b * means.p2) / u**2
    total = q + mu * s
    return np.where(total > 0, s / np.where(total > 0, total, 1.0), np.inf)


def _second_order(
    means: MarchenkoPasturMeans, a: np.ndarray, b: np.ndarray, dq: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """-(q u)^2 times the lambda-derivatives of k :math:`m_1` and k :math:`m_2`."""
    w1 = means.p2 + dq * (a * means.g2 + b * means.p2)
    w2 = means.g2 + dq * (a * means.h2 + b * means.g2)
    return w1, w2


def ridge_losses(
    phi: ArrayLike,
    psi: ArrayLike,
    ridge: ArrayLike,
    c1_sq: ArrayLike,
    nonlinear_sq: ArrayLike,
    linear_power: ArrayLike,
    other_power: ArrayLike,
) -> Losses:
    r"""Return the losses of ridge regression on random features; every argument broadcasts.

    .. math:: \text{objective}=\lambda k\,[c_{*,1}^2m_2+(c_{*,>1}^2+\sigma_\varepsilon^2)m_1],\quad

              \text{test}=-\frac{(\text{objective}/\lambda)'}{(km_1)^2},\quad
              \text{train}=(\lambda km_1)^2\,\text{test},

    the prime a derivative in lambda (:eq:`eq-ge-objective`, :eq:`eq-ge-test`,
    :eq:`eq-ge-train`). The limit lambda = 0 is exact (:eq:`eq-ge-ridgeless`): the ridgeless fit, which
    interpolates for N > n; at n = N its test loss is infinite.

    Parameters
    ----------
    phi, psi : array_like
        d/n and d/N, > 0.
    ridge : array_like
        The penalty lambda >= 0, in the normalisation of :mod:`onestep_lib.settings`.
    c1_sq, nonlinear_sq : array_like
        :math:`c_1^2` and :math:`c_{>1}^2` of the activation; at ridge = 0 the second must be > 0.
    linear_power, other_power : array_like
        :math:`c_{*,1}^2`, and :math:`c_{*,>1}^2` plus the noise variance.

    Returns
    -------
    Losses
        Arrays of the broadcast shape.

    Raises
    ------
    ValueError, ConvergenceError
        As in `resolvent_traces`.

    Examples
    --------
    >>> from onestep_lib.no_step import ridge_losses
    >>> losses = ridge_losses(0.5, [1, 0.5, 0.25], 0, 0, 1, 0, 1)  # noise alone, N/n = 1/2, 1 and 2
    >>> losses.train.round(4), losses.test.round(4)
    (array([0.5, 0. , 0. ]), array([ 2., inf,  2.]))
    """
    powers = {"linear_power": linear_power, "other_power": other_power}
    phi, psi, ridge, a, b, linear, other = checked(
        {"phi": phi, "psi": psi}, {"ridge": ridge, "c1_sq": c1_sq, "nonlinear_sq": nonlinear_sq} | powers
    )
    require_power(a, b)
    if np.any((ridge == 0) & (b == 0)):
        raise ValueError("ridge must be > 0 for a linear activation (c_{>1} = 0), got 0")
    c, k = 1 / phi, psi / phi
    mu = _solve_mu(a, b, c, k, ridge)
    u = b + mu
    q = np.where(mu > 0, ridge / np.where(mu > 0, mu, 1.0), 1 / k - 1)
    means = closed_means(a / u, c)
    singular = (mu == 0) & (q == 0)
    w1, w2 = _second_order(means, a, b, _dq(means, a, b, u, mu, np.where(singular, 1.0, q)))
    power = linear * w2 + other * w1
    test = np.where(singular & (power > 0), np.inf, power / means.p**2)
    objective = mu / u * (linear * means.g + other * means.p)
    return Losses(np.asarray((mu / u) ** 2 * power), test, np.asarray(objective))


def random_features(setting: Setting) -> Losses:
    r"""Return the losses of a setting with untrained weights (step 0), in the limit of large n, d, N.

    Only the linear part of the target is learned; everything else enters as label noise
    (:eq:`eq-ge-label-covariance`; Moniri et al., arXiv 2310.07891, theorem on the equivalence at eta = 0).
    The activation may have :math:`c_0\ne0`, which costs nothing in the limit.

    Raises
    ------
    ValueError
        If a step is not 0, or the target has a mean (:math:`c_{*,0}\ne0`).
    ConvergenceError
        As in `resolvent_traces`.

    Examples
    --------
    >>> from onestep_lib import Setting, random_features
    >>> losses = random_features(Setting(n=500, d=300, N=1000, ridge=[0, 0.1, 1e6]))
    >>> losses.train.round(3), losses.test.round(3)  # from interpolation to no fit at all
    (array([0.  , 0.02, 1.  ]), array([0.106, 0.134, 1.   ]))
    """
    check_instance("setting", setting, Setting)
    if np.any(setting.step):
        raise ValueError(f"step must be 0 for random features, got {shown(setting.step)}")
    setting.require_theory()
    setting.require_centred()
    sigma, target = setting.activation, setting.target
    ridges, other = np.broadcast_to(setting.ridges, setting.shape), target.nonlinear_power + setting.noise**2
    found = ridge_losses(
        setting.phi, setting.psi, ridges, sigma.c1**2, sigma.nonlinear_power, target.linear**2, other
    )
    return Losses.joined([found], setting.shape)


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

    def loss(ridge: np.ndarray) -> np.ndarray:
        return np.asarray(ridge_losses(phi, psi, ridge, a, b, linear, other).test)

    found = smallest(loss, grid, _ROUNDING, 1e-10, "penalty")
    return 0.0 if found == grid[0] else found


def smallest(
    loss: Callable[[np.ndarray], np.ndarray], grid: np.ndarray, rounding: float, width: float, what: str
) -> float:
    """Where a loss is smallest: the best point of a grid, then Brent's search between its neighbours.

    The first point of the grid stands for all below it; values within the rounding count as equal.
    """
    tried = loss(grid)
    best = int(np.flatnonzero(tried <= tried.min() * (1 + rounding))[0])
    if best == grid.size - 1:
        reason = f"the best {what} is beyond those that are tried"
        raise ConvergenceError(f"best {what}", float(tried[-1]), {what: float(grid[-1])}, reason)
    if best == 0:
        return float(grid[0])
    # Next to 0 the neighbour is as far below as the next one is above.
    low = grid[best - 1] or grid[best] ** 2 / grid[best + 1]
    found = minimize_scalar(
        lambda y: float(loss(np.exp([y]))[0]),
        bounds=(np.log(low), np.log(grid[best + 1])),
        method="bounded",
        options={"xatol": width},
    )
    # Where the loss has small stairs, a value of the grid may stay the best.
    return float(np.exp(found.x)) if found.fun <= tried[best] else float(grid[best])
