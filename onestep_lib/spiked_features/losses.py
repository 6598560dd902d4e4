r"""Ridge regression on spiked random features: the losses for any finite vocabulary of spikes.

A feature is :math:`\phi_j(x)=\sigma(w_j\cdot x+u_j\kappa)` with :math:`\kappa=v\cdot x`, :math:`|v|=1`,
random bulk rows w_j (their component along v included) and a spike :math:`u_j\in\{u_1,\dots,u_G\}` with
fractions :math:`\pi_g`, independent of w_j. Labels are any function of :math:`\kappa` and one more
direction. The fit is the ridge regression of :mod:`onestep_lib.settings`, n = d/phi, N = d/psi.

Given the resolvent of :mod:`onestep_lib.spiked_features.fixed_point` (its c, D, Lambda, K_k, J_k and
:math:`a=n/N`), with :math:`\nu=\frac d2\mathrm{Var}|w|^2/(\mathbb E|w|^2)^2` and the shares
:math:`v_k=v\cdot e_k`, :math:`\theta_k=\theta_\perp\cdot e_k` of the two directions in the basis of the bulk,

.. math:: K_{vv}=\sum_kv_k^2K_k,\quad K_{v\theta}=\sum_kv_k\theta_kK_k,\quad
          K_{\theta\theta}=\sum_k\theta_k^2K_k,\quad \hat m_g=a\langle D\mu_{1,g}h_1\rangle,

the *mean part* of the fit, 3G coefficients :math:`x=(s_1,s_v,s_\ell)` of the functions :math:`\Psi`, is

.. math:: \bar f=\sum_g\big[s_{1,g}\mu_{0,g}+s_{v,g}\,\kappa\,\mu_{1,g}
          +s_{\ell,g}\sqrt{\nu_g/2}\,m_{2,g}\big]=x\cdot\Psi,

   x=\arg\min\ a\langle D(h_0-\bar f)^2\rangle+x^\top Px-2s_v^\top K_{vv}^{-1}K_{v\theta}\hat m,

   P=\mathrm{diag}\Big(\frac1{d\,c},\ K_{vv}^{-1}-\Lambda,\ \frac1c\Big),

   \upsilon=K_{vv}^{-1}(s_v-K_{v\theta}\hat m),\quad s_\perp=K_{v\theta}^\top\upsilon+K_{\theta\theta}\hat m .

Where the length of a row is correlated with its component along v, :math:`\kappa\mu_1` becomes
:math:`\kappa\mu_1+\frac12\lambda m_2` with the slope :math:`\lambda` of the one on the other; an initial
length that both know is G coefficients more in :math:`s_\ell` (`kappa_table`).

The entry 1/(d c) is the penalty of the means at finite d; without d it is 0. Isotropic rows have
:math:`K_{vv}=K_{\theta\theta}=(c^{-1}+\Lambda)^{-1}`, :math:`K_{v\theta}=0` and :math:`P_{vv}=1/c`. With
:math:`A_g=|\hat a_g|^2` the sum of :math:`\hat a_j^2` over group g, and :math:`Q_{gh}` the product of the
groups' directions :math:`\sum_{j\in g}\hat a_jw_j` beyond :math:`s_{v,g}s_{v,h}`, (Q, A) solves a linear
system: the derivative :math:`t'` of the resolvent's map, with the sources

.. math:: Q_0=\sum_kK_kf_kf_k^\top K_k-s_vs_v^\top,\qquad f_k=v_k\upsilon+\theta_k\hat m,

   A_{0,g}=\frac{c_g^2}{\beta\pi_g}\Big(\sum_ks_g(k)\,[J_k^\top f_k]_g^2
          +\frac{s_{\ell,g}^2+s_{1,g}^2/d}{c_g^2}\Big),

and the error itself as the force on both,

.. math:: \mathbb E[(y-f)^2|\kappa]=E=(h_0-\bar f)^2+\mathrm{Var}(y|\kappa)-2h_1\,s_\perp\cdot\mu_1
          +\mu_1^\top Q\,\mu_1+\sum_g\mu_{2,g}^2A_g ,

   \text{test}=\langle E\rangle,\qquad \text{train}=\langle D^2E\rangle,\qquad
   \text{objective}=\text{train}+\text{ridge}\sum_gA_g .

Without the second moments, and so a check on them,

.. math:: \text{objective}=\langle D\,[h_0(h_0-\bar f)+\mathrm{Var}(y|\kappa)-h_1\,s_\perp\cdot\mu_1]\rangle ,

because the objective is :math:`\frac1ny\cdot(y-F\hat a)`, and D takes an error on new data to the one on the
training data.

(Cui et al., arXiv 2402.04980, for a uniform or finite vocabulary; with the channels s_v and s_l, the finite-d
penalty and the bulk spectra derived here by a cavity argument.)

**The floor** is the smallest test loss that any readout can reach, with all data and all neurons. Given
:math:`\kappa`, a readout :math:`a` makes of the features of group g the function

.. math:: s_{1,g}\,\mu_{0,g}(\kappa)+s_{v,g}\,\kappa\,\mu_{1,g}(\kappa)+s_{\ell,g}\,m_{2,g}(\kappa)
          +s_{\perp,g}\,\mu_{1,g}(\kappa)\,z_\perp,

with :math:`s_{1,g}=\sum_ja_j`, :math:`s_{v,g}=\sum_ja_j\langle w_j,v\rangle`,
:math:`s_{\perp,g}=\sum_ja_j\langle w_j,\beta_\perp\rangle` and, here with its factor,
:math:`s_{\ell,g}=\frac12\sum_ja_j(|w_j|^2-1)` (bulk rows :math:`w_j` in units of their scale, spike direction
v, :math:`z_\perp` the input along :math:`\beta_\perp`, the part of the target's direction that is orthogonal
to v), plus what averages out over more and more neurons. All four can be chosen freely once N exceeds d by
far, so the labels :math:`h_0(\kappa)+h_1(\kappa)z_\perp+\dots` cost at least

.. math:: \mathbb E\big[\mathrm{Var}(y|\kappa)-h_1^2\big]
          +\min\mathbb E\big(h_0-\textstyle\sum_g
           (s_{1,g}\mu_{0,g}+s_{v,g}\kappa\mu_{1,g}+s_{\ell,g}m_{2,g})\big)^2

          +\min\mathbb E\big(h_1-\textstyle\sum_gs_{\perp,g}\mu_{1,g}\big)^2

(:eq:`eq-learns-span`). Rows of one length have no :math:`s_{\ell,g}`.

Functions
---------
spiked_losses   losses at one or many (phi, psi, ridge)
free_losses     the same for any overlap of spike and target, and any size of the spikes
solve_spiked    one point, with every order parameter
span_floor      the smallest test loss of any readout
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from onestep_lib._checks import (
    check_broadcast,
    check_count,
    check_instance,
    check_number,
    check_positive,
    check_size,
)
from onestep_lib._threads import one_thread
from onestep_lib.convergence import ConvergenceError
from onestep_lib.settings import Losses
from onestep_lib.spiked_features.fit import CANCELLED, SpikedSolution, solve_fit
from onestep_lib.spiked_features.fixed_point import Start, combine, solve_fixed_point, sweep_fixed_point
from onestep_lib.spiked_features.model import Ratios, SpikedModel, SpikedTable, joint_grid, kappa_tables
from onestep_lib.two_index import TwoIndexTarget

__all__ = [
    "free_losses",
    "solve_spiked",
    "span_floor",
    "spiked_losses",
]

_TOLERANCE = 1e-12
# Vocabularies larger than this are solved by accelerated sweeps, smaller ones by Newton's method.
_FEW = 8
# Points times squared groups that are solved together, of the smaller ones.
_TOGETHER = 128
_MOST_NODES = 6000


def spiked_losses(
    model: SpikedModel,
    phi: ArrayLike,
    psi: ArrayLike,
    ridge: ArrayLike,
    d: int | None = None,
    tolerance: float = _TOLERANCE,
) -> Losses:
    r"""Return the losses of ridge regression on spiked random features; phi, psi, ridge broadcast.

    Parameters
    ----------
    model : SpikedModel
    phi, psi : array_like
        d/n and d/N, > 0.
    ridge : array_like
        The penalty > 0, in the normalisation of :mod:`onestep_lib.settings`.
    d : int, optional
        Keep the leading effect of finite d, the penalty :math:`\sum_gM_g^2/(d\,c_g)` on the mean part.
    tolerance : float
        Of every fixed point and of every average over kappa, relative; a loss that is itself rounding
        (1e-15 of the labels' power) counts as resolved.

    Returns
    -------
    Losses
        Arrays of the broadcast shape (floats for scalars).

    Raises
    ------
    ValueError, TypeError
        For arguments outside these ranges.
    ConvergenceError
        If a fixed point or a quadrature does not reach its tolerance.

    Examples
    --------
    >>> from onestep_lib import Setting, random_features
    >>> from onestep_lib.spiked_features import SpikedModel, spiked_losses
    >>> setting = Setting(n=2000, d=1000, N=4000)
    >>> model = SpikedModel(setting.activation, spikes=[0], fractions=[1], target=setting.target)
    >>> losses = spiked_losses(model, setting.phi, setting.psi, setting.ridge)
    >>> print(f"{losses.test:.4f} {random_features(setting).test:.4f}")
    0.0876 0.0876
    """
    check_instance("model", model, SpikedModel)
    points = check_broadcast(
        phi=check_positive("phi", phi), psi=check_positive("psi", psi), ridge=check_positive("ridge", ridge)
    )
    for name, values in zip(("phi", "psi", "ridge"), points, strict=True):
        check_size(name, values)
    inverse_d = 0.0 if d is None else 1 / check_count("d", d)
    tolerance = check_number("tolerance", tolerance, check_positive)
    flat = zip(*(values.ravel().tolist() for values in points), strict=True)
    found = point_losses(
        [(model, Ratios(1 / phi, 1 / psi, ridge, inverse_d, tolerance)) for phi, psi, ridge in flat]
    )
    return Losses.from_values(found.reshape(3, *points[0].shape))


@one_thread()
def point_losses(points: Sequence[tuple[SpikedModel, Ratios]]) -> np.ndarray:
    """Train, test and objective at each point, shape (3, points).

    Points of one activation and as many groups are solved together, as long as they fit into a processor's
    cache. Where one of them does not converge, their halves are, so that the error names it.
    """
    if not points:
        return np.empty((3, 0))
    models, ratios = zip(*points, strict=True)
    groups = models[0].spikes.size
    alike = [one.spikes.size == groups and one.activation is models[0].activation for one in models]
    if len(points) == 1 or (all(alike) and groups <= _FEW and len(points) <= _TOGETHER // groups**2):
        try:
            solution = _solve(models, _joined(ratios))
            return np.reshape([solution.train, solution.test, solution.objective], (3, -1))
        except ConvergenceError:
            if len(points) == 1:
                raise
    cut = len(points) // 2 if all(alike) else alike.index(False)
    return np.hstack([point_losses(points[:cut]), point_losses(points[cut:])])


def free_losses(
    model: SpikedModel,
    alignment: ArrayLike,
    strength: ArrayLike,
    phi: ArrayLike,
    psi: ArrayLike,
    ridge: ArrayLike,
    d: int | None = None,
) -> Losses:
    r"""Return `spiked_losses` with the overlap :math:`\gamma` and the spike's size r as free parameters.

    After a step both follow from the step size and its batch
    (:mod:`onestep_lib.large_step.stepped_model`). Freed of it, they say where a good direction helps, how
    much of it, and what the network must write with it (Cui et al., arXiv 2402.04980, on the influence of the
    spike's overlap).

    Parameters
    ----------
    model : SpikedModel
        Its spikes are multiplied by r; its alignment is not used.
    alignment, strength : array_like
        :math:`\gamma` in [-1, 1], and r; they broadcast.
    phi, psi, ridge, d
        As in `spiked_losses`.

    Returns
    -------
    Losses
        Of the shape of the first two, then that of the ratios and penalties.

    Examples
    --------
    >>> from onestep_lib.activations import activation, target
    >>> from onestep_lib.spiked_features import SpikedModel, free_losses
    >>> model = SpikedModel(activation("tanh"), [1, -1], [0.5, 0.5], target("sin"))
    >>> losses = free_losses(model, [0, 0.5, 1], 2.0, phi=0.5, psi=0.5, ridge=0.1)
    >>> print((losses.test[1:] < losses.test[:-1]).all())  # a spike nearer to the target is better
    True
    """
    if isinstance(model.target, TwoIndexTarget):
        raise ValueError(
            "model must have a single-index target to vary its overlap, got one of two directions"
        )
    pairs = np.broadcast(alignment, strength)
    each = [
        spiked_losses(replace(model, alignment=gamma, spikes=r * model.spikes), phi, psi, ridge, d)
        for gamma, r in pairs
    ]
    return Losses.joined(each, pairs.shape + np.shape(each[0].test))


def solve_spiked(
    model: SpikedModel,
    phi: float,
    psi: float,
    ridge: float,
    d: int | None = None,
    near: SpikedSolution | None = None,
    tolerance: float = _TOLERANCE,
) -> SpikedSolution:
    r"""Solve one point; the arguments are those of `spiked_losses`.

    `near` is the solution of a neighbouring point of the same model, whose grid and fixed point start
    this one. The grid of kappa is refined until every average is good to the tolerance.

    Examples
    --------
    >>> from onestep_lib.activations import activation, target
    >>> from onestep_lib.spiked_features import SpikedModel, solve_spiked
    >>> model = SpikedModel(activation("tanh"), spikes=[1, 3], fractions=[0.5, 0.5], target=target((0, 1)))
    >>> solution = solve_spiked(model, phi=0.5, psi=0.5, ridge=0.1)
    >>> print(f"{solution.objective:.4f} {solution.train + 0.1 * solution.a_sq.sum():.4f}")
    0.3619 0.3619
    """
    inverse_d = 0.0 if d is None else 1 / d
    return _solve([model], Ratios(1 / phi, 1 / psi, float(ridge), inverse_d, tolerance), near)


def _joined(ratios: Sequence[Ratios]) -> Ratios:
    """One number, or as many as there are points."""
    if len(ratios) == 1:
        return ratios[0]
    alpha, beta, ridge, inverse_d = np.transpose([(r.alpha, r.beta, r.ridge, r.inverse_d) for r in ratios])
    return Ratios(alpha, beta, ridge, inverse_d, min(r.tolerance for r in ratios))


def _solve(
    models: Sequence[SpikedModel], ratios: Ratios, near: SpikedSolution | None = None
) -> SpikedSolution:
    """The solution of a model at one point or at many, or of one model a point."""
    at = {"spikes": models[0].spikes.tolist(), "ratios": ratios}
    different = list(dict.fromkeys(models))
    rows = [different.index(model) for model in models] if len(different) > 1 else 0
    if near is not None:
        table, start = near.table, (near.point.c, near.point.V)
    else:
        table = kappa_tables(different, joint_grid(different), rows) if rows else models[0].table
        start = None
    while table.grid.nodes.size <= _MOST_NODES:
        try:
            solution = _solve_on(table, ratios, start)
        except np.linalg.LinAlgError as error:
            why = ratios.difficulty(table.features)
            raise ConvergenceError("spiked_features", np.inf, at, why) from error
        coarse = _unresolved(solution, ratios.tolerance)
        if not np.any(coarse):
            return solution
        grid = table.grid.split(coarse)
        V = np.apply_along_axis(partial(np.interp, grid.nodes, table.grid.nodes), -1, solution.point.V)
        start = solution.point.c, V
        table = kappa_tables(different, grid, rows)
    reason = f"averages over kappa need over {_MOST_NODES} nodes: take a smaller step or a larger tolerance"
    raise ConvergenceError("spiked_features (quadrature over kappa)", float(np.sum(coarse)), at, reason)


def _unresolved(solution: SpikedSolution, tolerance: float) -> np.ndarray:
    """The panels of kappa on which some average is not good to the tolerance."""
    table, D = solution.table, solution.point.D
    means = table.features.means
    power = combine(table.features.fractions, means.mu1**2 + means.mu2_sq)
    values = np.stack([D * power, solution.error, D**2 * solution.error], axis=-2)
    limit = tolerance * np.abs(values @ table.grid.weights)[..., None]
    panels = tuple(range(values.ndim - 1))
    coarse = np.any(table.grid.errors(values) > limit, axis=panels)
    if not np.any(coarse):
        return coarse
    # The error is a difference of terms of the size of E[y^2|kappa].
    power = CANCELLED * table.labels.H
    rounding = np.stack([np.zeros_like(D), power * np.ones_like(D), power * D**2], axis=-2)
    return np.any(table.grid.errors(values, rounding) > limit, axis=panels)


def _solve_on(table: SpikedTable, ratios: Ratios, start: Start | None) -> SpikedSolution:
    if table.features.pairs.groups > _FEW and np.all(ratios.inverse_d):
        try:
            return solve_fit(table, ratios, sweep_fixed_point(table.features, ratios, start))
        except (ConvergenceError, np.linalg.LinAlgError):
            start = None
    return solve_fit(table, ratios, solve_fixed_point(table.features, ratios, start))


# Columns that agree to this share of the longest are one function.
_RANK = 1e-9


def span_floor(model: SpikedModel) -> float:
    r"""Return the smallest test loss of any readout, in the limit :math:`d\ll N\ll n` without a penalty.

    Parameters
    ----------
    model : SpikedModel
        Its bulk is not used: directions that are stretched can be fitted all the same.

    Returns
    -------
    float
        With the label noise.

    Examples
    --------
    >>> from onestep_lib.activations import activation, target
    >>> from onestep_lib.spiked_features import SpikedModel, span_floor
    >>> sigma, labels = activation("tanh"), target("sin")
    >>> one = SpikedModel(sigma, spikes=[3], fractions=[1], target=labels, alignment=0.9)
    >>> two = SpikedModel(sigma, spikes=[1, 3], fractions=[0.5, 0.5], target=labels, alignment=0.9)
    >>> print(f"{span_floor(one):.3f} {span_floor(two):.3f}")  # more values of the spike, more functions
    0.028 0.012
    """
    table = model.table
    weights, labels = table.grid.weights, table.labels
    apart = weights @ (labels.variance - labels.h1**2)
    even = _left_over(table.columns, labels.h0, weights)
    return float(apart + even + _left_over(table.features.means.mu1, labels.h1, weights))


def _left_over(columns: np.ndarray, values: np.ndarray, weights: np.ndarray) -> float:
    """The smallest mean square of the values less a combination of the columns."""
    root = np.sqrt(weights)
    fit, *_ = np.linalg.lstsq((columns * root).T, values * root, rcond=_RANK)
    return float(np.sum((values * root - fit @ columns * root) ** 2))
