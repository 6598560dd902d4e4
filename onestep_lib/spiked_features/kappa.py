r"""The grid for averages over the spike coordinate :math:`\kappa\sim N(0,1)`, with its own error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from onestep_lib._values import read_only
from onestep_lib.quadrature import gauss_legendre

__all__ = [
    "kappa_grid",
]

_KAPPA_EDGES = (0.0, 0.75, 1.5, 2.25, 3.0, 3.75, 4.5, 5.5, 7.0, 9.0, 12.0)
_PANEL_ORDER = 16
# Spikes above which the panels within |kappa| < 4.5 are halved, once and twice.
_HALVE_ABOVE = (1.5, 5.0)


@dataclass(frozen=True, eq=False)
class KappaGrid:
    """Gauss-Legendre panels for averages over kappa ~ N(0, 1).

    Parameters
    ----------
    edges : ndarray, shape (panels + 1,)
    nodes, weights : ndarray, shape (16 panels,)
        The weights sum to 1.
    """

    edges: np.ndarray
    nodes: np.ndarray
    weights: np.ndarray

    def split(self, panels: np.ndarray) -> KappaGrid:
        """Return the grid with the marked panels (boolean, one a panel) halved."""
        middle = (self.edges[1:] + self.edges[:-1]) / 2
        return _grid(np.union1d(self.edges, middle[panels]))

    def errors(self, values: np.ndarray, rounding: np.ndarray | None = None) -> np.ndarray:
        """Return, panel by panel, an estimate of the error of the average of `values`, (..., panels).

        What varies by less than `rounding` (of the shape of the values) counts as smooth.
        """
        coefficients = self._coefficients(values)
        top = np.max(coefficients, axis=-1)
        last = np.max(coefficients[..., -2:], axis=-1)
        if rounding is not None:
            noise = np.broadcast_to(rounding, values.shape) * np.exp(-(self.nodes**2) / 2)
            last = np.where(last > np.max(noise.reshape(*last.shape, _PANEL_ORDER), axis=-1), last, 0.0)
        # Gauss-Legendre is exact to twice the degree of the last coefficient, so its error is the square.
        return np.diff(self.edges) / np.sqrt(2 * np.pi) * last**2 / np.where(top > 0, top, 1.0)

    def _coefficients(self, values: np.ndarray) -> np.ndarray:
        """Sizes of the Legendre coefficients of values times the Gaussian weight, panel by panel."""
        weighted = (values * np.exp(-(self.nodes**2) / 2)).reshape(*values.shape[:-1], -1, _PANEL_ORDER)
        return np.abs(weighted @ _legendre_transform().T)


@lru_cache(maxsize=1)
def _legendre_transform() -> np.ndarray:
    points, weights = gauss_legendre(_PANEL_ORDER)
    vandermonde = np.polynomial.legendre.legvander(points, _PANEL_ORDER - 1)
    return read_only((np.arange(_PANEL_ORDER) + 0.5)[:, None] * (vandermonde * weights[:, None]).T)


def _grid(edges: np.ndarray) -> KappaGrid:
    points, weights = gauss_legendre(_PANEL_ORDER)
    half = np.diff(edges)[:, None] / 2
    nodes = ((edges[:-1] + edges[1:])[:, None] / 2 + half * points).ravel()
    mass = (half * weights).ravel() * np.exp(-(nodes**2) / 2)
    return KappaGrid(edges, nodes, mass / mass.sum())


def kappa_grid(kinks: Sequence[float] = (), width: float = 0.0, spike: float = 1.0) -> KappaGrid:
    """Return panels on [-12, 12] for averages over kappa.

    Parameters
    ----------
    kinks : sequence of float
        Points where the functions of kappa jump, bend or (with `width` > 0) turn within that width:
        panels there shrink geometrically down to `width`.
    width : float
        0 for a true kink.
    spike : float
        The largest spike strength: functions of spike * kappa need shorter panels.

    Examples
    --------
    >>> from onestep_lib.spiked_features import kappa_grid
    >>> grid = kappa_grid()
    >>> print(f"{grid.weights @ grid.nodes**2:.6f} {grid.weights @ abs(grid.nodes):.6f}")
    1.000000 0.797885
    """
    points = np.asarray(kinks, dtype=float)
    limit = _KAPPA_EDGES[-1]
    levels = np.arange(1 + np.log(1 / min(width, 1)) / np.log(3)) if width > 0 else np.empty(0)
    near = width * 3.0**levels
    offsets = np.concatenate([-near, [0.0], near])
    extra = np.add.outer(points, offsets).ravel()
    edges = np.unique(np.concatenate([np.negative(_KAPPA_EDGES), _KAPPA_EDGES, extra[np.abs(extra) < limit]]))
    grid = _grid(edges[np.append(np.diff(edges) > 1e-12, True)])
    for threshold in _HALVE_ABOVE:
        if spike > threshold:
            grid = grid.split(np.abs(grid.edges[1:] + grid.edges[:-1]) < 9.0)
    return grid
