"""Model."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from onestep_lib._checks import (
    check_count,
    check_instance,
    check_nonnegative,
    check_number,
    check_positive,
    check_real,
    check_shape,
    check_vector,
    shown,
)
from onestep_lib.activations import Activation, Target
from onestep_lib.spiked_features.conditional_means import (
    FeatureMeans,
    TargetMeans,
    TwoIndexTarget,
    feature_means,
    target_means,
)
from onestep_lib.spiked_features.kappa import KappaGrid, kappa_grid

__all__ = [
    "BulkCovariance",
    "GroupTable",
    "Pairs",
    "Ratios",
    "SpikedModel",
    "SpikedTable",
    "isotropic_covariance",
    "kappa_table",
]


@dataclass(frozen=True)
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
        :math:`\nu=\frac d2\mathrm{Var}|w|^2/c^4`: 1 for Gaussian rows, 0 for rows on a sphere.
    bulk : Bulk, optional
        Spectral data of the bulk rows; isotropic if omitted.
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

    def __post_init__(self) -> None:
        check_instance("activation", self.activation, Activation)
        check_instance("target", self.target, (Target, TwoIndexTarget))
        if self.bulk is not None:
            check_instance("bulk", self.bulk, BulkCovariance)
        spikes = np.atleast_1d(check_real("spikes", self.spikes))
        fractions = np.atleast_1d(check_positive("fractions", self.fractions))
        fractions = check_vector("fractions", fractions, spikes.size)
        if abs(fractions.sum() - 1) > 1e-9:
            raise ValueError(f"fractions must sum to 1, got {shown(self.fractions)}")
        alignment = check_number("alignment", self.alignment)
        if not -1 <= alignment <= 1:
            raise ValueError(f"alignment must lie in [-1, 1], got {shown(self.alignment)}")
        scales = check_shape("scales", check_positive("scales", self.scales), spikes.shape)
        variance = check_nonnegative("row_variance", self.row_variance)
        variance = check_shape("row_variance", variance, spikes.shape)
        if self.bulk is not None and self.bulk.scales.shape != (spikes.size, self.bulk.weights.size):
            raise ValueError(
                f"bulk.scales must have one row a group and one column a bin, ({spikes.size}, "
                f"{self.bulk.weights.size}), got {self.bulk.scales.shape}"
            )
        checked = {
            "spikes": check_vector("spikes", spikes),
            "fractions": fractions / fractions.sum(),
            "alignment": alignment,
            "noise": check_number("noise", self.noise, check_nonnegative),
            "scales": scales,
            "row_variance": variance,
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    @cached_property
    def table(self) -> SpikedTable:
        """The functions of kappa on the default grid, computed once."""
        gamma = self.alignment
        rho = np.sqrt((1 - gamma) * (1 + gamma))
        kinks = () if isinstance(self.target, TwoIndexTarget) or gamma == 0 else self.target.kinks
        width = rho / abs(gamma) if gamma else 0.0
        # Functions of u kappa smoothed over the bulk scale c vary as fast as u/c says.
        spike = float(np.max(np.abs(self.spikes) / self.scales))
        return kappa_table(self, kappa_grid([kink / gamma for kink in kinks], width, spike))


@dataclass(frozen=True)
class SpikedTable:
    r"""A model's functions of :math:`\kappa` on a grid.

    Parameters
    ----------
    grid : KappaGrid
    features : GroupTable
    labels : TargetMeans
    columns : ndarray, shape (3G, K)
        :math:`\mu_{0,g}`, then :math:`\kappa\mu_{1,g}`, then :math:`\sqrt{\nu_g/2}\,m_{2,g}`.
    """

    grid: KappaGrid
    features: GroupTable
    labels: TargetMeans
    columns: np.ndarray


def kappa_table(model: SpikedModel, grid: KappaGrid) -> SpikedTable:
    """Return the model's functions of kappa on a grid."""
    check_instance("model", model, SpikedModel)
    check_instance("grid", grid, KappaGrid)
    kappa = grid.nodes
    means = feature_means(model.activation, model.spikes, kappa, model.scales)
    labels = target_means(model.target, kappa, model.alignment, model.noise)
    rows = np.sqrt(model.row_variance / 2)[:, None] * means.m2
    columns = np.concatenate([means.mu0, kappa * means.mu1, rows])
    bulk = isotropic_covariance(model.spikes.size) if model.bulk is None else model.bulk
    features = GroupTable(means, grid.weights, model.fractions, bulk)
    return SpikedTable(grid, features, labels, columns)


@dataclass(frozen=True)
class Ratios:
    """alpha = n/d, beta = N/d, the ridge, 1/d (0: infinite d), and the tolerance of the solution."""

    alpha: float
    beta: float
    ridge: float
    inverse_d: float
    leverage: bool
    tolerance: float

    @property
    def penalty(self) -> float:
        return self.ridge * self.alpha / self.beta


@dataclass(frozen=True)
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


def isotropic_covariance(groups: int) -> BulkCovariance:
    """Return the bulk with one bin: covariance I/d for every group."""
    one = np.ones(1)
    return BulkCovariance(one, one, np.zeros(1), one, np.ones((check_count("groups", groups), 1)))


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
        full = np.empty((self.groups, self.groups))
        full[self.rows, self.cols] = vector
        full[self.cols, self.rows] = vector
        return full


@dataclass(frozen=True)
class GroupTable:
    r"""What stays fixed while alpha, beta and lambda vary.

    Parameters
    ----------
    means : FeatureMeans, arrays of shape (G, K)
    weights : ndarray, shape (K,)
        Weights of the averages over kappa.
    fractions : ndarray, shape (G,)
    bulk : Bulk
    moments : ndarray, shape (P + G, K)
        :math:`\mu_{1,g}\mu_{1,h}` for the P = G(G + 1)/2 pairs g <= h, then :math:`\mu_{2,g}^2`; `counted`
        has the pairs g < h twice.
    """

    means: FeatureMeans
    weights: np.ndarray
    fractions: np.ndarray
    bulk: BulkCovariance
    pairs: Pairs = field(init=False, repr=False)
    moments: np.ndarray = field(init=False, repr=False)
    counted: np.ndarray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        pairs = Pairs(self.fractions.size)
        products = self.means.mu1[pairs.rows] * self.means.mu1[pairs.cols]
        moments = np.concatenate([products, self.means.mu2_sq])
        multiplicity = np.append(pairs.multiplicity, np.ones(pairs.groups))
        object.__setattr__(self, "pairs", pairs)
        object.__setattr__(self, "moments", moments)
        object.__setattr__(self, "counted", multiplicity[:, None] * moments)
