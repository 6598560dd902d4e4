"""Averages over a standard Gaussian: every quadrature rule of the library that is not about one model.

One rule: panels of Gauss-Legendre nodes on a wide interval, split at the kinks of the function. The nodes of
any order that panels elsewhere are made of are those of `gauss_legendre`.

Functions
---------
gaussian_quadrature   nodes and weights for E f(Z), split at the kinks of f
gaussian_mean         E f(Z)
gauss_legendre        nodes and weights on (-1, 1)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
from numpy.polynomial import hermite_e
from scipy.special import factorial, roots_legendre

from onestep_lib._checks import as_floats, check_callable, check_vector, shown
from onestep_lib._values import read_only

__all__ = [
    "gaussian_mean",
    "gaussian_quadrature",
]

ScalarFunction = Callable[[np.ndarray], np.ndarray]
# The Gaussian weight is below 1e-42 beyond 14, and panels of length 1/2 with 16 nodes integrate
# every function that is analytic within 0.5 of the axis to machine precision.
_RANGE = 14.0
_PANEL = 0.5
_NODES = 16
# Where more than _BEYOND of an average comes from the outermost unit of the range, it is taken over the
# range in which the weight is a normal double.
_WIDE = 37.0
_BEYOND = 1e-15
# What moving the panels may change.
_MOVED = 1e-10


@lru_cache(maxsize=64)
def _quadrature(
    kinks: tuple[float, ...], shift: float, reach: float = _RANGE
) -> tuple[np.ndarray, np.ndarray]:
    panels = np.arange(-reach, reach + _PANEL / 2, _PANEL) + shift
    inside = [kink for kink in kinks if abs(kink) < reach]
    edges = np.unique(np.concatenate([panels, inside]))
    nodes, weights = panel_rule(edges, _NODES)
    return read_only((nodes, weights * np.exp(-(nodes**2) / 2) / np.sqrt(2 * np.pi)))


def gaussian_quadrature(kinks: Sequence[float] = ()) -> tuple[np.ndarray, np.ndarray]:
    r"""Nodes and weights with :math:`\sum_i w_if(z_i)=\mathbb E f(Z)`, :math:`Z\sim N(0,1)`.

    Composite Gauss-Legendre on [-14, 14], with a panel boundary at every kink or jump of f. What f does
    beyond 14 is not seen: `gaussian_mean` looks whether that counts.

    Parameters
    ----------
    kinks : sequence of float
        Points where f or one of its derivatives jumps.

    Returns
    -------
    nodes, weights : ndarray, read-only
        At least 12 digits for functions that are analytic between the kinks, if their average comes from
        [-13, 13]: polynomials to degree 40.

    Examples
    --------
    >>> import numpy as np
    >>> from onestep_lib.quadrature import gaussian_quadrature
    >>> nodes, weights = gaussian_quadrature(kinks=[0.0])
    >>> print(f"{weights @ nodes**4:.4f} {weights @ np.abs(nodes):.4f}")  # 3 and sqrt(2/pi)
    3.0000 0.7979
    """
    return _quadrature(tuple(check_vector("kinks", kinks).tolist()), 0.0)


def gaussian_mean(function: ScalarFunction, kinks: Sequence[float] = ()) -> float:
    r"""Return :math:`\mathbb E f(Z)` for standard Gaussian Z; `kinks` as in `gaussian_quadrature`.

    The range is [-14, 14], or [-37, 37] where that is not enough: at least 12 digits of E|f(Z)|.

    Raises
    ------
    ValueError
        If the function returns NaN, an infinite value or an array of another shape, has a kink that is not
        listed or varies too fast, or grows so fast that its mean comes from beyond 36.

    Examples
    --------
    >>> import numpy as np
    >>> from onestep_lib.quadrature import gaussian_mean
    >>> print(f"{gaussian_mean(np.cos):.4f} {np.exp(-0.5):.4f}")
    0.6065 0.6065
    """
    return float(gaussian_moments(function, 0, kinks)[0])


def gaussian_moments(function: ScalarFunction, order: int, kinks: Sequence[float]) -> np.ndarray:
    r"""Return :math:`\mathbb E f(Z)He_k(Z)/\sqrt{k!}` for k = 0, ..., K, as far out as needed.

    Raises
    ------
    ValueError
        If no range in double precision does, or as in `require_resolved`.
    """
    checked = tuple(check_vector("kinks", kinks).tolist())
    check_callable("function", function, "a callable of an array")
    for reach in (_RANGE, _WIDE):
        nodes, weights = _quadrature(checked, 0.0, reach)
        values, polynomials = evaluate(function, nodes), _normalised(order, nodes)
        outside = np.abs(nodes) > reach - 1
        tails = np.abs(polynomials[:, outside]) @ np.abs(weights * values)[outside]
        # Coefficients are compared with the root of E f^2, which must be there; a mean with E|f|.
        size, root = np.abs(values) @ weights, np.sqrt(weights) * values
        if order:
            size = np.linalg.norm(root)
            tails = np.append(tails, np.linalg.norm(root[outside]) ** 2 / size if size else 0.0)
        if tails.max() <= _BEYOND * size:
            require_resolved("function", function, checked, order, reach)
            return polynomials @ (weights * values)
    raise ValueError(
        f"function must have an average that comes from |Z| < {_WIDE - 1:g}: it grows too fast, "
        f"{tails.max() / size:.1g} of it comes from beyond"
    )


def _normalised(order: int, nodes: np.ndarray) -> np.ndarray:
    r""":math:`He_k/\sqrt{k!}` for k = 0, ..., order, shape (order + 1, nodes)."""
    return hermite_e.hermevander(nodes, order).T / np.sqrt(factorial(np.arange(order + 1)))[:, None]


def require_resolved(
    name: str, function: ScalarFunction, kinks: tuple[float, ...], order: int = 0, reach: float = _RANGE
) -> None:
    """Raise where the averages of f :math:`He_k` change with the panels.

    A kink that is not listed, and what is narrower or faster than the nodes, spoil them silently; moving the
    panels reveals it. Two rules may miss the same kink by the same amount, four do not.
    """
    found = []
    for shift in (0.0, 0.2, 0.33, 0.41):
        nodes, weights = _quadrature(kinks, shift, reach)
        values = evaluate(function, nodes, name)
        size = np.abs(values) @ weights
        # The root of E f^2 is larger, where it does not underflow.
        size = max(size, np.linalg.norm(np.sqrt(weights) * values)) if order else size
        found.append(_normalised(order, nodes) @ (weights * values))
    if np.abs(np.subtract(found, found[0])).max() > _MOVED * size:
        raise ValueError(
            f"{name} must have no kink or jump but those in kinks={shown(kinks)}, and vary no faster than "
            "within 0.1: its averages change with the nodes"
        )


def evaluate(function: ScalarFunction, points: np.ndarray, name: str = "function") -> np.ndarray:
    """Return function(points), or raise if the values are not finite or have another shape."""
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused below
        values = as_floats(f"the values of {name}", function(points), "real numbers")
    if values.shape != points.shape:
        raise ValueError(
            f"{name} must return one value for each point: got shape {values.shape} for points of "
            f"shape {points.shape}"
        )
    if not np.all(np.isfinite(values)):
        bad = np.flatnonzero(~np.isfinite(values))[0]
        raise ValueError(
            f"{name} must return finite values, got {values.flat[bad]} at {points.flat[bad]:.6g}"
        )
    return values


def panel_rule(edges: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return Gauss-Legendre nodes and weights, so many on each panel between two edges."""
    points, weights = gauss_legendre(count)
    half = np.diff(edges)[:, None] / 2
    return ((edges[:-1] + edges[1:])[:, None] / 2 + half * points).ravel(), (half * weights).ravel()


@lru_cache(maxsize=16)
def gauss_legendre(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return Gauss-Legendre nodes and weights on (-1, 1), read-only.

    A Newton step mends SciPy's weights, of which those of hundreds of nodes have only 9 digits at the ends.
    """
    x = roots_legendre(count)[0].astype(np.longdouble)
    before, value = np.ones_like(x), x
    for k in range(1, count):
        before, value = value, ((2 * k + 1) * x * value - k * before) / (k + 1)
    slope = count * (before - x * value) / (1 - x**2)
    # The slope at the root itself: P'' = 2 x P'/(1 - x^2) where P = 0.
    step = value / slope
    slope -= step * 2 * x * slope / (1 - x**2)
    x = x - step
    return read_only((x.astype(np.float64), (2 / ((1 - x**2) * slope**2)).astype(np.float64)))
