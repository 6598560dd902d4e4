r"""Averages over the bulk, :math:`\mathbb E f(c\,\zeta+t)` given t: the inner quadrature.

The panels are split at the kinks of f, and the number of nodes doubles until the averages no longer change.

Functions
---------
bends          where to split a bulk so wide that what the activation does around 0 is narrow
inner_panels   panels for E f(scale zeta + t), split at the kinks of f
node_count     nodes between two kinks that give E f^2 and E zeta f on a sample of t, to rounding
enough_nodes   the first count of nodes at which the second moment and the response no longer change
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from onestep_lib.convergence import ConvergenceError
from onestep_lib.quadrature import ScalarFunction, gauss_legendre

# The inner weight is 2e-22 of its peak at 10; kappa goes on to 12, because a small residual in the
# middle lets events of probability 1e-20 matter for the training loss.
INNER_RANGE = 10.0
# Activations bend within _BEND of 0, a short piece of a bulk wider than _WIDE, and have their tails beyond:
# panels there grow by _GROWTH up to 1/_FAR of the bulk's scale.
_BEND, _WIDE, _GROWTH, _FAR = 4.0, 1.5, 4.0, 3.0
_GAP = 5e-15
NODE_COUNTS = (32, 48, 64, 96, 128, 192, 384, 768)


def bends(scale: float) -> list[float]:
    """Where to split a bulk so wide that what the activation does around 0 is narrow."""
    if scale < _WIDE:
        return []
    levels = 1 + max(0, int(np.ceil(np.log(scale / _FAR / _BEND) / np.log(_GROWTH))))
    ends = _BEND * _GROWTH ** np.arange(levels)
    return [*-ends, *ends]


@dataclass(frozen=True, eq=False)
class InnerPanels:
    r"""Panels for averages over :math:`\zeta`, given t: only those that are not empty.

    Parameters
    ----------
    zeta, mass : ndarray, shape (panels, nodes), or (1, nodes) if they are the same for every t
        Nodes and Gaussian weights.
    owner : ndarray, shape (panels,)
        The index of the panel's t.
    starts : ndarray, shape (T,)
        The first panel of each t.
    """

    zeta: np.ndarray
    mass: np.ndarray
    owner: np.ndarray
    starts: np.ndarray

    def points(self, t: np.ndarray, scale: float) -> np.ndarray:
        """scale zeta + t, shape (panels, nodes)."""
        return scale * self.zeta + self.spread(t)

    def spread(self, values: np.ndarray) -> np.ndarray:
        """Values at each t (T,) as a column over the panels."""
        return values[self.owner, None]

    def total(self, weights: np.ndarray, values: np.ndarray) -> np.ndarray:
        """The sum of weights (of the shape of zeta) times values (panels, nodes) for each t, (T,)."""
        return np.add.reduceat(np.einsum("ij,ij->i", weights, values), self.starts)


def inner_panels(kinks: Sequence[float], t: np.ndarray, scale: float, count: int) -> InnerPanels:
    """Panels for E f(scale zeta + t), split at the kinks of f."""
    points, weights = gauss_legendre(count)
    limit = np.full((t.size if kinks else 1, 1), INNER_RANGE)
    inside = np.clip((np.sort(kinks) - t[:, None]) / scale, -INNER_RANGE, INNER_RANGE)
    edges = np.hstack([-limit, inside, limit]) if kinks else np.hstack([-limit, limit])
    left, right = edges[:, :-1], edges[:, 1:]
    seen = right > left
    half, middle = ((right - left)[seen] / 2)[:, None], ((right + left)[seen] / 2)[:, None]
    zeta = middle + half * points
    mass = np.exp(-(zeta**2) / 2)
    mass *= half * (weights / np.sqrt(2 * np.pi))
    if not kinks:
        return InnerPanels(zeta, mass, np.arange(t.size), np.arange(t.size))
    panels = seen.sum(axis=1)
    return InnerPanels(zeta, mass, np.repeat(np.arange(t.size), panels), np.cumsum(panels) - panels)


def node_count(function: ScalarFunction, kinks: Sequence[float], t: np.ndarray, scale: float) -> int:
    """The number of nodes between two kinks that gives E f^2 and E zeta f on a sample of t, to rounding."""
    low, high = np.min(t), np.max(t)
    sample = np.concatenate([np.linspace(low, high, 17), np.clip(np.arange(-3.0, 4.0), low, high)])

    def values(inner: InnerPanels) -> np.ndarray:
        return function(inner.points(sample, scale))

    at = {"function": function, "scale": scale, "nodes": NODE_COUNTS[-1]}
    # The points scale zeta + t are themselves rounded, by an error of the size of t.
    rounding = np.finfo(float).eps * np.abs(sample)
    return enough_nodes(
        values, partial(inner_panels, kinks, sample, scale), rounding, "conditional_means", at
    )


def enough_nodes(
    values: Callable[[InnerPanels], np.ndarray],
    inner: Callable[[int], InnerPanels],
    rounding: np.ndarray | float,
    solver: str,
    at: dict[str, object],
) -> int:
    """The first count of nodes at which the second moment and the response no longer change."""
    previous, gap = None, np.inf
    for index, count in enumerate(NODE_COUNTS):
        panels = inner(count)
        found, first = values(panels), panels.mass * panels.zeta
        square = panels.total(panels.mass, found**2)
        current = np.stack([square, panels.total(first, found)])
        # Rounding is relative to the sum of the absolute terms, not to what they cancel to.
        size = 1 + np.stack([square, panels.total(np.abs(first), np.abs(found))])
        if previous is not None:
            excess = np.abs(current - previous) / size
            gap = float(np.max(excess))
            if np.all(excess < _GAP + rounding):
                return NODE_COUNTS[index - 1]
        previous = current
    raise ConvergenceError(solver, gap, at)
