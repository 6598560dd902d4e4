r"""Spiked random features as a model, and the functions of kappa that stay fixed while the ratios vary.

A `SpikedModel` says what the features and the target are; its `SpikedTable` holds the conditional means on
a grid of kappa (:mod:`onestep_lib.spiked_features.conditional_means`), and the `GroupTable` inside what the
fixed point needs.

The grid for averages over the spike coordinate :math:`\kappa\sim N(0,1)` knows its own error.

Functions
---------
kappa_grid    panels for averages over kappa
kappa_table   a model's functions of kappa on a grid
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache, reduce
from typing import Any

import numpy as np

from onestep_lib._checks import (
    check_instance,
    check_nonnegative,
    check_number,
    check_positive,
    check_real,
    check_size,
    check_vector,
    shown,
)
from onestep_lib._values import read_only
from onestep_lib.activations import Activation, Target
from onestep_lib.quadrature import gauss_legendre, panel_rule
from onestep_lib.spiked_features.conditional_means import (
    FeatureMeans,
    TargetMeans,
    feature_means,
    target_means,
)
from onestep_lib.two_index import TwoIndexTarget

__all__ = [
    "SpikedModel",
    "kappa_grid",
    "kappa_table",
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
        bell = np.exp(-(self.nodes**2) / 2)
        panels = (values * bell).reshape(*values.shape[:-1], -1, _PANEL_ORDER)
        coefficients = np.abs(panels @ _legendre_transform().T)
        top = np.max(coefficients, axis=-1)
        last = np.max(coefficients[..., -2:], axis=-1)
        if rounding is not None:
            noise = np.broadcast_to(rounding, values.shape) * bell
            last = np.where(last > np.max(noise.reshape(*last.shape, _PANEL_ORDER), axis=-1), last, 0.0)
        # Gauss-Legendre is exact to twice the degree of the last coefficient, so its error is the square.
        return np.diff(self.edges) / np.sqrt(2 * np.pi) * last**2 / np.where(top > 0, top, 1.0)


@lru_cache(maxsize=1)
def _legendre_transform() -> np.ndarray:
    points, weights = gauss_legendre(_PANEL_ORDER)
    vandermonde = np.polynomial.legendre.legvander(points, _PANEL_ORDER - 1)
    return read_only((np.arange(_PANEL_ORDER) + 0.5)[:, None] * (vandermonde * weights[:, None]).T)


def _grid(edges: np.ndarray) -> KappaGrid:
    nodes, weights = panel_rule(edges, _PANEL_ORDER)
    mass = weights * np.exp(-(nodes**2) / 2)
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


# A penalty smaller than this share of the features' power is lost in the rounding of their Gram matrix.
_FAINT = 1e-13


@dataclass(frozen=True, eq=False)
class SpikedModel:
    r"""Spiked random features and their target.

    Parameters
    ----------
    activation : Activation
    spikes : array_like, shape (G,)
        The spike strengths u_g.
    fractions : array_like, shape (G,)
        The fractions pi_g > 0 of the neurons, summing to 1.
    target : Target or TwoIndexTarget
    alignment : float
        :math:`\gamma=v\cdot\theta` in [-1, 1], for a single-index target.
    noise : float
        Standard deviation of the label noise.
    scales : array_like, shape () or (G,)
        Bulk scales :math:`c_g`: the limit of :math:`|w_j|`.
    row_variance : array_like, shape () or (G,)
        :math:`\nu=\frac d2\mathrm{Var}|w|^2/c^4`: 1 for Gaussian rows, 0 for rows on a sphere; without what
        `slope` and `initial` explain.
    bulk : BulkCovariance, optional
        Spectral data of the bulk rows; isotropic if omitted.
    slope : array_like, shape () or (G,)
        Of :math:`\ell=|w|^2/c_g^2-1` against the row's component :math:`v\cdot w/c_g`.
    initial : array_like, shape () or (2, G)
        What a length :math:`\ell_0\sim N(0,2/d)` of before the step adds to :math:`\ell` and to
        :math:`v\cdot w/c_g`, as multiples of :math:`\ell_0`.
    """

    activation: Activation
    spikes: np.ndarray
    fractions: np.ndarray
    target: Target | TwoIndexTarget
    alignment: float = 0.0
    noise: float = 0.0
    scales: np.ndarray | float = 1.0
    row_variance: np.ndarray | float = 1.0
    bulk: BulkCovariance | None = None
    slope: np.ndarray | float = 0.0
    initial: np.ndarray | float = 0.0

    def __post_init__(self) -> None:
        check_instance("activation", self.activation, Activation)
        check_instance("target", self.target, (Target, TwoIndexTarget))
        spikes = check_vector("spikes", self.spikes)
        fractions = check_vector("fractions", check_positive("fractions", self.fractions), spikes.size)
        if abs(fractions.sum() - 1) > 1e-9:
            raise ValueError(f"fractions must sum to 1, got {shown(self.fractions)}")
        alignment = check_number("alignment", self.alignment)
        if not -1 <= alignment <= 1:
            raise ValueError(f"alignment must lie in [-1, 1], got {shown(self.alignment)}")
        variance = check_nonnegative("row_variance", self.row_variance)
        checked = {
            "spikes": spikes,
            "fractions": fractions / fractions.sum(),
            "alignment": alignment,
            "noise": check_number("noise", self.noise, check_nonnegative),
            "scales": np.broadcast_to(check_positive("scales", self.scales), spikes.shape),
            "row_variance": np.broadcast_to(variance, spikes.shape),
            "slope": np.broadcast_to(check_real("slope", self.slope), spikes.shape),
            "initial": np.broadcast_to(check_real("initial", self.initial), (2, *spikes.shape)),
        }
        for name in ("spikes", "noise", "scales"):
            check_size(name, checked[name])
        # `table` is kept, so that nothing it was made of may change: copies, which cannot be written to.
        for name, value in deepcopy(checked).items():
            object.__setattr__(self, name, read_only(value))

    @cached_property
    def grid(self) -> KappaGrid:
        """Where averages over kappa are taken first."""
        gamma = self.alignment
        rho = np.sqrt((1 - gamma) * (1 + gamma))
        kinks = () if isinstance(self.target, TwoIndexTarget) or gamma == 0 else self.target.kinks
        width = rho / abs(gamma) if gamma else 0.0
        # Functions of u kappa smoothed over the bulk scale c vary as fast as u/c says.
        spike = float(np.max(np.abs(self.spikes) / self.scales))
        return kappa_grid([kink / gamma for kink in kinks], width, spike)

    @cached_property
    def table(self) -> SpikedTable:
        """The functions of kappa on `grid`, computed once."""
        return read_only(kappa_table(self, self.grid))


@dataclass(frozen=True, eq=False)
class SpikedTable:
    r"""A model's functions of :math:`\kappa` on a grid; those of many points have leading axes.

    Parameters
    ----------
    grid : KappaGrid
    features : GroupTable
    labels : TargetMeans
    columns : ndarray, shape (3G, K) or (4G, K)
        :math:`\mu_{0,g}`, then :math:`\kappa\mu_{1,g}+\frac12\lambda_gm_{2,g}` with the slope
        :math:`\lambda_g`, then :math:`\sqrt{\nu_g/2}\,m_{2,g}`, then, unless both parts of `initial` are 0,
        what it adds: :math:`\sqrt2\,(\frac12p_gm_{2,g}+p'_g\kappa\mu_{1,g})`.
    """

    grid: KappaGrid
    features: GroupTable
    labels: TargetMeans
    columns: np.ndarray


def kappa_table(model: SpikedModel, grid: KappaGrid) -> SpikedTable:
    """Return the model's functions of kappa on a grid.

    Examples
    --------
    >>> from onestep_lib.activations import activation, target
    >>> from onestep_lib.spiked_features import SpikedModel, kappa_grid, kappa_table
    >>> model = SpikedModel(activation("tanh"), [2], [1], target((0, 1)), alignment=0.6, noise=0.5)
    >>> table = kappa_table(model, kappa_grid(spike=2))
    >>> print(f"E y^2 = {table.grid.weights @ table.labels.H:.4f}")
    E y^2 = 1.2500
    """
    return kappa_tables([model], grid, 0)


def kappa_tables(models: Sequence[SpikedModel], grid: KappaGrid, rows: Sequence[int] | int) -> SpikedTable:
    """The `kappa_table` of each row, the index of a model; all have one activation and as many groups."""

    def stacked(name: str, parts: Sequence[object] = models) -> np.ndarray:
        return np.stack([getattr(part, name) for part in parts])[rows]

    def joined(parts: Sequence[Any]) -> Any:
        return type(parts[0])(*(stacked(field.name, parts) for field in fields(parts[0])))

    kappa = grid.nodes
    means = feature_means(models[0].activation, stacked("spikes"), kappa, stacked("scales"))
    places = tuple(kappa.tolist())
    labels = joined([_labels(one.target, places, one.alignment, one.noise) for one in models])
    along, length = kappa * means.mu1, means.m2 / 2
    slope, own = stacked("slope")[..., None], np.sqrt(2 * stacked("row_variance"))[..., None]
    columns = [means.mu0, along + slope * length, own * length]
    initial = np.sqrt(2) * stacked("initial")[..., None]
    if np.any(initial):
        columns.append(initial[..., 0, :, :] * length + initial[..., 1, :, :] * along)
    bulk = joined(_of_one_size([one.bulk or BulkCovariance.isotropic(one.spikes.size) for one in models]))
    features = GroupTable(means, grid.weights, stacked("fractions"), bulk)
    return SpikedTable(grid, features, labels, np.concatenate(columns, axis=-2))


def joint_grid(models: Sequence[SpikedModel]) -> KappaGrid:
    """A grid as fine as that of each model."""
    return _grid(reduce(np.union1d, [model.grid.edges for model in models]))


# Kept for the next step size of a curve: neither the labels nor, as a rule, the grid depends on it.
@lru_cache(maxsize=32)
def _labels(
    target: Target | TwoIndexTarget, kappa: tuple[float, ...], alignment: float, noise: float
) -> TargetMeans:
    return read_only(target_means(target, kappa, alignment, noise))


@dataclass(frozen=True, eq=False)
class Ratios:
    """alpha = n/d, beta = N/d, the ridge, 1/d (0: infinite d), and the tolerance of the solution.

    The first four are numbers, or arrays of one shape for as many points.
    """

    alpha: float | np.ndarray
    beta: float | np.ndarray
    ridge: float | np.ndarray
    inverse_d: float | np.ndarray = 0.0
    tolerance: float = 1e-12

    @property
    def a(self) -> np.ndarray:
        """n/N, with an axis for groups or kappa."""
        return np.divide(self.alpha, self.beta)[..., None]

    @property
    def b(self) -> np.ndarray:
        """beta, with an axis for groups or kappa."""
        return np.asarray(self.beta)[..., None]

    @property
    def penalty(self) -> np.ndarray:
        """The ridge in the normalisation of :mod:`onestep_lib.spiked_features.fixed_point`, likewise."""
        return np.asarray(self.ridge)[..., None] * self.a

    def difficulty(self, features: GroupTable) -> str:
        """Say what about the problem is out of a solver's reach."""
        power = features.means.mu1**2 + features.means.mu2_sq
        share = np.min(self.ridge / np.sum(features.fractions * (power @ features.weights), axis=-1))
        if share < _FAINT:
            return (
                f"the penalty is only {share:.1e} of the features' power, below what rounding leaves of it: "
                "take a larger ridge or a smaller step"
            )
        return "the features may span too many orders of magnitude: take a smaller step or a larger ridge"


@dataclass(frozen=True, eq=False)
class BulkCovariance:
    r"""Spectral data of the bulk rows in one orthonormal basis e_k, gathered in B bins.

    Parameters
    ----------
    weights : ndarray, shape (B,)
        Fractions w_k of the basis, summing to 1.
    vv, vt, tt : ndarray, shape (B,)
        :math:`(v\cdot e_k)^2`, :math:`(v\cdot e_k)(\theta_\perp\cdot e_k)` and
        :math:`(\theta_\perp\cdot e_k)^2`, summing to 1, 0 and 1.
    scales : ndarray, shape (G, B)
        The variances s_g(k) of the groups, :math:`\sum_kw_ks_g(k)=1` (the bulk scale is in the
        conditional means).
    """

    weights: np.ndarray
    vv: np.ndarray
    vt: np.ndarray
    tt: np.ndarray
    scales: np.ndarray

    @classmethod
    def isotropic(cls, groups: int) -> BulkCovariance:
        """Return the identity, for each of so many groups."""
        one = np.ones(1)
        return cls(one, one, 0 * one, one, np.ones((groups, 1)))


def _of_one_size(bulks: Sequence[BulkCovariance]) -> list[BulkCovariance]:
    """The same with as many bins each: those that are added have no weight."""
    most = max(bulk.weights.size for bulk in bulks)
    return [one if one.weights.size == most else _longer(one, most - one.weights.size) for one in bulks]


def _longer(bulk: BulkCovariance, more: int) -> BulkCovariance:
    weights, vv, vt, tt = (np.pad(part, (0, more)) for part in (bulk.weights, bulk.vv, bulk.vt, bulk.tt))
    return BulkCovariance(weights, vv, vt, tt, np.pad(bulk.scales, ((0, 0), (0, more)), constant_values=1.0))


class Pairs:
    """Symmetric G x G matrices as vectors of their P = G(G+1)/2 entries."""

    def __init__(self, groups: int) -> None:
        self.rows, self.cols = np.triu_indices(groups)
        self.multiplicity = np.where(self.rows == self.cols, 1.0, 2.0)
        self.size = self.rows.size
        self.groups = groups

    def vector(self, matrix: np.ndarray) -> np.ndarray:
        return matrix[..., self.rows, self.cols]

    def matrix(self, vector: np.ndarray) -> np.ndarray:
        full = np.empty((*vector.shape[:-1], self.groups, self.groups))
        full[..., self.rows, self.cols] = full[..., self.cols, self.rows] = vector
        return full


@dataclass(frozen=True, eq=False)
class GroupTable:
    r"""What stays fixed while alpha, beta and lambda vary; for many points all but `weights` with more axes.

    Parameters
    ----------
    means : FeatureMeans, arrays of shape (G, K)
    weights : ndarray, shape (K,)
        Weights of the averages over kappa.
    fractions : ndarray, shape (G,)
    bulk : BulkCovariance
    """

    means: FeatureMeans
    weights: np.ndarray
    fractions: np.ndarray
    bulk: BulkCovariance

    @cached_property
    def pairs(self) -> Pairs:
        return Pairs(self.fractions.shape[-1])

    @cached_property
    def moments(self) -> np.ndarray:
        r""":math:`\mu_{1,g}\mu_{1,h}` for the P pairs g <= h, then :math:`\mu_{2,g}^2`, shape (P + G, K)."""
        mu1 = self.means.mu1
        pairs = mu1[..., self.pairs.rows, :] * mu1[..., self.pairs.cols, :]
        return np.concatenate([pairs, self.means.mu2_sq], axis=-2)

    @cached_property
    def counted(self) -> np.ndarray:
        """The moments with the pairs g < h twice."""
        return np.append(self.pairs.multiplicity, np.ones(self.pairs.groups))[:, None] * self.moments
