r"""Ridge regression on spiked random features: the losses for any finite vocabulary of spikes.

A feature is :math:`\phi_j(x)=\sigma(w_j\cdot x+u_j\kappa)` with :math:`\kappa=v\cdot x`, :math:`|v|=1`,
random bulk rows w_j (their component along v included) and a spike :math:`u_j\in\{u_1,\dots,u_G\}` with
fractions :math:`\pi_g`, independent of w_j. Labels are any function of :math:`\kappa` and one more
direction. The fit is the ridge regression of :mod:`onestep_lib.settings`, n = d/phi, N = d/psi.

Given the resolvent of :mod:`onestep_lib.spiked_resolvent` (its c, D, Lambda, K_k, J_k and
:math:`a=n/N`), with :math:`\nu=\frac d2\mathrm{Var}|w|^2` and the shares :math:`v_k=v\cdot e_k`,
:math:`\theta_k=\theta_\perp\cdot e_k` of the two directions in the basis of the bulk,

.. math:: K_{vv}=\sum_kv_k^2K_k,\quad K_{v\theta}=\sum_kv_k\theta_kK_k,\quad
          K_{\theta\theta}=\sum_k\theta_k^2K_k,\quad \hat m_g=a\langle D\mu_{1,g}h_1\rangle,

the *mean part* of the fit, 3G coefficients x = (M, S, T) of the functions :math:`\Psi`, is

.. math:: F_0=\sum_g\big[M_g\mu_{0,g}+S_g\,\kappa\,\mu_{1,g}+T_g\sqrt{\nu_g/2}\,m_{2,g}\big]=x\cdot\Psi,

   x=\arg\min\ a\langle D(h_0-F_0)^2\rangle+x^\top Px-2S^\top K_{vv}^{-1}K_{v\theta}\hat m,

   P=\mathrm{diag}\Big(\frac1{d\,c},\ K_{vv}^{-1}-\Lambda,\ \frac1c\Big),

   \tau=K_{vv}^{-1}(S-K_{v\theta}\hat m),\qquad m=K_{v\theta}^\top\tau+K_{\theta\theta}\hat m .

The entry 1/(d c) is the penalty of the means at finite d; without d it is 0. Isotropic rows have
:math:`K_{vv}=K_{\theta\theta}=(c^{-1}+\Lambda)^{-1}`, :math:`K_{v\theta}=0` and :math:`P_{SS}=1/c`. With
N_g the sum of :math:`\hat a_j^2` over group g, and :math:`Q_{gh}` the product of the groups' directions
:math:`\sum_{j\in g}\hat a_jw_j` beyond :math:`S_gS_h`, (Q, N) solves a linear system: the derivative
:math:`t'` of the resolvent's map, with the sources

.. math:: Q_0=\sum_kK_kf_kf_k^\top K_k-SS^\top,\qquad f_k=v_k\tau+\theta_k\hat m,

   N_{0,g}=\frac{c_g^2}{\beta\pi_g}\Big(\sum_ks_g(k)\,[J_k^\top f_k]_g^2+\frac{T_g^2+M_g^2/d}{c_g^2}\Big),

and the error itself as the force on both,

.. math:: \mathbb E[(y-f)^2|\kappa]=E=(h_0-F_0)^2+\mathrm{Var}(y|\kappa)-2h_1\,m\cdot\mu_1
          +\mu_1^\top Q\,\mu_1+\sum_g\mu_{2,g}^2N_g ,

   \text{test}=\langle E\rangle,\qquad \text{train}=\langle D^2E\rangle,\qquad
   \text{objective}=\text{train}+\text{ridge}\sum_gN_g .

Without the second moments, and so a check on them,

.. math:: \text{objective}=\langle D\,[h_0(h_0-F_0)+\mathrm{Var}(y|\kappa)-h_1\,m\cdot\mu_1]\rangle ,

because the objective is :math:`\frac1ny\cdot(y-F\hat a)`, and D takes an error on new data to the one on the
training data.

The *leverage* of the mean part is of order 1/d: V gains
:math:`\frac1{\beta d}\Psi^\top A^{-1}\Psi`, :math:`A=a\langle D\Psi\Psi^\top\rangle+P`, and E the variance of
:math:`F_0` that goes with it.

(Cui et al., arXiv 2402.04980, for a uniform or finite vocabulary; with the channels S and T, the finite-d
penalty, the leverage and the bulk spectra derived in chapter 10.)

Functions
---------
spiked_losses       losses at one or many (phi, psi, ridge)
solve_spiked        one point, with every order parameter
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import lu_factor, lu_solve, solve_triangular

from onestep_lib._checks import (
    check_broadcast,
    check_count,
    check_nonnegative,
    check_number,
    check_positive,
    check_real,
    check_vector,
)
from onestep_lib._threads import one_thread
from onestep_lib.activations import Activation, Target
from onestep_lib.conditional_means import (
    KappaGrid,
    TargetMeans,
    TwoIndexTarget,
    feature_means,
    kappa_grid,
    target_means,
)
from onestep_lib.convergence import ConvergenceError
from onestep_lib.settings import Losses
from onestep_lib.spiked_resolvent import (
    Bulk,
    FeatureTable,
    Resolvent,
    Sweep,
    isotropic_bulk,
    solve_resolvent,
    swept_resolvent,
)

__all__ = ["SpikedFeatures", "SpikedSolution", "SpikedTable", "solve_spiked", "spiked_losses", "tabulate"]

_TOLERANCE = 1e-12
# Vocabularies larger than this are solved by accelerated sweeps, smaller ones by Newton's method.
_FEW = 8
_MOST_NODES = 6000
_PASSES = 60
# Directions of the mean part weaker than this against the activation are dropped: to learn them takes
# d > 1e16, and to resolve them more digits than there are (r -> 0, or nearly collinear spikes).
_WEAK = 1e-8
# The objective without the second moments agrees to this, or rounding has taken them.
_ENVELOPE = 1e-6


@dataclass(frozen=True)
class SpikedFeatures:
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
    bulk: Bulk | None = None

    def __post_init__(self) -> None:
        spikes = np.atleast_1d(check_real("spikes", self.spikes))
        fractions = np.atleast_1d(check_positive("fractions", self.fractions))
        check_vector("fractions", fractions, spikes.size)
        if abs(fractions.sum() - 1) > 1e-9:
            raise ValueError(f"fractions must sum to 1, got {self.fractions!r}")
        alignment = check_number("alignment", self.alignment)
        if not -1 <= alignment <= 1:
            raise ValueError(f"alignment must lie in [-1, 1], got {self.alignment!r}")
        scales = np.broadcast_to(check_positive("scales", self.scales), spikes.shape)
        variance = np.broadcast_to(check_nonnegative("row_variance", self.row_variance), spikes.shape)
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
        return tabulate(self, kappa_grid([kink / gamma for kink in kinks], width, spike))


@dataclass(frozen=True)
class SpikedTable:
    r"""A model's functions of :math:`\kappa` on a grid.

    Parameters
    ----------
    grid : KappaGrid
    features : FeatureTable
    labels : TargetMeans
    columns : ndarray, shape (3G, K)
        :math:`\mu_{0,g}`, then :math:`\kappa\mu_{1,g}`, then :math:`\sqrt{\nu_g/2}\,m_{2,g}`.
    """

    grid: KappaGrid
    features: FeatureTable
    labels: TargetMeans
    columns: np.ndarray


def tabulate(model: SpikedFeatures, grid: KappaGrid) -> SpikedTable:
    """Return the model's functions of kappa on a grid."""
    kappa = grid.nodes
    means = feature_means(model.activation, model.spikes, kappa, model.scales)
    labels = target_means(model.target, kappa, model.alignment, model.noise)
    rows = np.sqrt(model.row_variance / 2)[:, None] * means.m2
    columns = np.concatenate([means.mu0, kappa * means.mu1, rows])
    bulk = isotropic_bulk(model.spikes.size) if model.bulk is None else model.bulk
    features = FeatureTable(means, grid.weights, model.fractions, bulk)
    return SpikedTable(grid, features, labels, columns)


@dataclass(frozen=True)
class SpikedSolution:
    r"""One point, with its order parameters.

    Parameters
    ----------
    train, test, objective : float
    M, S, T, m, N : ndarray, shape (G,)
        :math:`M_g=\frac1{\sqrt N}\sum_{j\in g}a_j`, S and m the parts of
        :math:`s_g=\frac1{\sqrt N}\sum_{j\in g}a_jw_j` along v and :math:`\theta_\perp`, T the one along the
        row lengths, :math:`N_g=\frac1N\sum_{j\in g}a_j^2`, for :math:`a=\sqrt N\hat a`.
    Q : ndarray, shape (G, G)
        Overlaps of the :math:`s_g` across v.
    error : ndarray, shape (K,)
        :math:`E(\kappa)` on the grid of `table`.
    resolvent : Resolvent
    table : SpikedTable
        With the grid that the solution needed.
    """

    train: float
    test: float
    objective: float
    M: np.ndarray
    S: np.ndarray
    T: np.ndarray
    m: np.ndarray
    Q: np.ndarray
    N: np.ndarray
    error: np.ndarray
    resolvent: Resolvent
    table: SpikedTable


@dataclass(frozen=True)
class _Ratios:
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


def spiked_losses(
    model: SpikedFeatures,
    phi: ArrayLike,
    psi: ArrayLike,
    ridge: ArrayLike,
    d: int | None = None,
    leverage: bool = False,
    tolerance: float = _TOLERANCE,
) -> Losses:
    r"""Return the losses of ridge regression on spiked random features; phi, psi, ridge broadcast.

    Parameters
    ----------
    model : SpikedFeatures
    phi, psi : array_like
        d/n and d/N, > 0.
    ridge : array_like
        The penalty > 0, in the normalisation of :mod:`onestep_lib.settings`.
    d : int, optional
        Keep the leading correction of finite d, the penalty :math:`\sum_gM_g^2/(d\,c_g)` on the mean part.
    leverage : bool
        With `d`, keep also the O(1/d) leverage of the mean part.
    tolerance : float
        Of every fixed point and of every average over kappa, relative.

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
    """
    points = check_broadcast(
        phi=check_positive("phi", phi), psi=check_positive("psi", psi), ridge=check_positive("ridge", ridge)
    )
    values = np.empty((3, points[0].size))
    solution = None
    with one_thread():
        for i, (one_phi, one_psi, one_ridge) in enumerate(zip(*(p.ravel() for p in points), strict=True)):
            solution = solve_spiked(model, one_phi, one_psi, one_ridge, d, leverage, solution, tolerance)
            values[:, i] = solution.train, solution.test, solution.objective
    if points[0].ndim == 0:
        values = values[:, 0]
        return Losses(float(values[0]), float(values[1]), float(values[2]))
    train, test, objective = values.reshape(3, *points[0].shape)
    return Losses(train, test, objective)


def solve_spiked(
    model: SpikedFeatures,
    phi: float,
    psi: float,
    ridge: float,
    d: int | None = None,
    leverage: bool = False,
    near: SpikedSolution | None = None,
    tolerance: float = _TOLERANCE,
) -> SpikedSolution:
    """Solve one point; the arguments are those of `spiked_losses`.

    `near` is the solution of a neighbouring point of the same model, whose grid and fixed point start
    this one. The grid of kappa is refined until every average is good to the tolerance.
    """
    named = (("phi", phi), ("psi", psi), ("ridge", ridge))
    phi, psi, ridge = (check_number(name, value, check_positive) for name, value in named)
    if leverage and d is None:
        raise ValueError("leverage=True needs d: the leverage of the mean part is O(1/d)")
    tolerance = check_number("tolerance", tolerance, check_positive)
    inverse_d = 0.0 if d is None else 1 / check_count("d", d)
    ratios = _Ratios(1 / phi, 1 / psi, ridge, inverse_d, leverage, tolerance)
    table = model.table if near is None else near.table
    start = None if near is None else (near.resolvent.c, near.resolvent.V)
    while table.grid.nodes.size <= _MOST_NODES:
        solution = _solve_on(table, ratios, start)
        coarse = _unresolved(solution, tolerance)
        if not np.any(coarse):
            return solution
        grid = table.grid.split(coarse)
        start = (solution.resolvent.c, np.interp(grid.nodes, table.grid.nodes, solution.resolvent.V))
        table = tabulate(model, grid)
    at = {"spikes": model.spikes.tolist(), "phi": phi, "psi": psi, "ridge": ridge}
    raise ConvergenceError("spiked_features (quadrature over kappa)", float(np.sum(coarse)), at)


def _unresolved(solution: SpikedSolution, tolerance: float) -> np.ndarray:
    """The panels of kappa on which some average is not good to the tolerance."""
    table, D = solution.table, solution.resolvent.D
    power = table.features.fractions @ (table.features.means.mu1**2 + table.features.means.mu2_sq)
    values = np.stack([D * power, solution.error, D**2 * solution.error])
    total = np.abs(values @ table.grid.weights)
    errors = table.grid.errors(values)
    return np.any(errors > tolerance * total[:, None], axis=0)


def _solve_on(
    table: SpikedTable, ratios: _Ratios, start: tuple[np.ndarray, np.ndarray] | None
) -> SpikedSolution:
    if table.features.fractions.size > _FEW and ratios.inverse_d > 0:
        try:
            return _solve_swept(table, ratios, start)
        except (ConvergenceError, np.linalg.LinAlgError):
            start = None
    if not ratios.leverage:
        resolvent = solve_resolvent(
            table.features, ratios.alpha, ratios.beta, ratios.penalty, start, tolerance=ratios.tolerance
        )
        return _second_moments(table, ratios, resolvent, _mean_part(table, ratios, resolvent))
    # The leverage of the mean part adds to V; each pass changes it by a factor O(1/d).
    bulk = table.features.bulk
    weights = bulk.weights - bulk.vv * ratios.inverse_d
    extra = np.zeros_like(table.grid.weights)
    change = np.inf
    for _ in range(_PASSES):
        resolvent = solve_resolvent(
            table.features, ratios.alpha, ratios.beta, ratios.penalty, start, extra, weights, ratios.tolerance
        )
        mean = _mean_part(table, ratios, resolvent)
        new = ratios.inverse_d / ratios.beta * np.sum((mean.half_inverse @ table.columns) ** 2, axis=0)
        change = float(np.max(np.abs(new - extra) * resolvent.D))
        if change < ratios.tolerance:
            return _second_moments(table, ratios, resolvent, mean)
        extra, start = new, (resolvent.c, resolvent.V)
    raise ConvergenceError("spiked_features (leverage)", change, {"ratios": ratios})


def _solve_swept(
    table: SpikedTable, ratios: _Ratios, start: tuple[np.ndarray, np.ndarray] | None
) -> SpikedSolution:
    """The same fixed point with the leverage swept along: for many groups."""
    bulk = table.features.bulk
    weights = bulk.weights - bulk.vv * ratios.inverse_d if ratios.leverage else bulk.weights

    def lift(sweep: Sweep) -> np.ndarray:
        return _leverage(table, ratios, sweep) if ratios.leverage else np.zeros_like(sweep.D)

    resolvent = swept_resolvent(
        table.features, ratios.alpha, ratios.beta, ratios.penalty, lift, weights, ratios.tolerance, start
    )
    return _second_moments(table, ratios, resolvent, _mean_part(table, ratios, resolvent))


def _leverage(table: SpikedTable, ratios: _Ratios, sweep: Sweep) -> np.ndarray:
    r"""The leverage :math:`\Psi^\top A^{-1}\Psi/(\beta d)` of the mean part, a function of kappa."""
    penalty = _mean_penalty(table, ratios, sweep).matrix
    mass = ratios.alpha / ratios.beta * table.grid.weights * sweep.D
    A = (table.columns * mass) @ table.columns.T + penalty
    scale = 1 / np.sqrt(np.diag(A))
    factor = np.linalg.cholesky(scale[:, None] * A * scale)
    solved = solve_triangular(factor, scale[:, None] * table.columns, lower=True, check_finite=False)
    return ratios.inverse_d / ratios.beta * np.sum(solved**2, axis=0)


@dataclass(frozen=True)
class _MeanPart:
    """Steps B and C: coefficients (3G,), F_0, tau and m, the penalty matrix, and A^-1 = half^T half."""

    coefficients: np.ndarray
    fitted: np.ndarray
    tau: np.ndarray
    m_hat: np.ndarray
    m: np.ndarray
    penalty: np.ndarray
    half_inverse: np.ndarray


def _mean_part(table: SpikedTable, ratios: _Ratios, resolvent: Resolvent) -> _MeanPart:
    c, D = resolvent.c, resolvent.D
    mass = ratios.alpha / ratios.beta * table.grid.weights * D
    m_hat = table.features.means.mu1 @ (mass * table.labels.h1)
    known = _mean_penalty(table, ratios, resolvent)
    inverse, K_vt, K_tt = known.inverse, known.K_vt, known.K_tt
    G = c.size
    pull = np.zeros(3 * G)
    pull[G : 2 * G] = inverse @ K_vt @ m_hat
    means = table.features.means
    power = table.features.fractions @ (means.mu0**2 + means.mu1**2 + means.mu2_sq)
    weak = _WEAK * np.sqrt(mass @ power)
    coefficients, half_inverse = _least_squares(
        table.columns, table.labels.h0, mass, known.matrix, pull, weak
    )
    tau = inverse @ (coefficients[G : 2 * G] - K_vt @ m_hat)
    m = K_vt.T @ tau + K_tt @ m_hat
    return _MeanPart(coefficients, coefficients @ table.columns, tau, m_hat, m, known.matrix, half_inverse)


@dataclass(frozen=True)
class _MeanPenalty:
    """The penalty matrix of the mean part, the inverse of K_vv, K_vt and K_tt."""

    matrix: np.ndarray
    inverse: np.ndarray
    K_vt: np.ndarray
    K_tt: np.ndarray


def _mean_penalty(table: SpikedTable, ratios: _Ratios, point: Resolvent | Sweep) -> _MeanPenalty:
    bulk, c = table.features.bulk, point.c
    K_vv, K_vt, K_tt = (np.tensordot(part, point.K, 1) for part in (bulk.vv, bulk.vt, bulk.tt))
    if bulk.weights.size == 1:
        along = np.diag(1 / (c * bulk.scales[:, 0]))
        inverse = along + point.Lambda
    else:
        inverse = np.linalg.inv(K_vv)
        along = (inverse + inverse.T) / 2 - point.Lambda
    G = c.size
    matrix = np.zeros((3 * G, 3 * G))
    matrix[:G, :G] = np.diag(ratios.inverse_d / c)
    matrix[G : 2 * G, G : 2 * G] = along
    matrix[2 * G :, 2 * G :] = np.diag(1 / c)
    return _MeanPenalty(matrix, inverse, K_vt, K_tt)


def _least_squares(
    columns: np.ndarray,
    values: np.ndarray,
    mass: np.ndarray,
    penalty: np.ndarray,
    pull: np.ndarray,
    weak: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Minimise sum mass (values - x columns)^2 + x P x - 2 x pull; return x and half with half^T half = A^-1.

    Columns may be collinear (r = 0, or an odd activation with spikes +-r): the fit is unique, x is the
    one of smallest scaled norm.
    """
    root = np.sqrt(mass)
    levels, vectors = np.linalg.eigh(penalty)
    levels = np.sqrt(np.maximum(levels, 0.0))
    design = np.concatenate([(root * columns).T, levels[:, None] * vectors.T])
    pulled = np.divide(vectors.T @ pull, levels, out=np.zeros_like(pull), where=levels > 0)
    aim = np.concatenate([root * values, pulled])
    norms = np.linalg.norm(design, axis=0)
    norms = np.where(norms > weak, norms, weak / _WEAK)
    left, singular, right = np.linalg.svd(design / norms, full_matrices=False)
    kept = singular > _WEAK * singular[0]
    inverse = np.divide(1.0, singular, out=np.zeros_like(singular), where=kept)
    half = inverse[:, None] * right / norms
    return (left.T @ aim) @ half, half


def _second_moments(
    table: SpikedTable, ratios: _Ratios, resolvent: Resolvent, mean: _MeanPart
) -> SpikedSolution:
    r"""Step D: (Q, N) solve :math:`(I-t')y=` source, and the losses follow."""
    pairs, means = table.features.pairs, table.features.means
    labels, weights, D = table.labels, table.grid.weights, resolvent.D
    M, S, T = np.split(mean.coefficients, 3)
    pulled = mean.m @ means.mu1
    fixed = (labels.h0 - mean.fitted) ** 2 + labels.variance - 2 * labels.h1 * pulled
    Q0, T0 = _sources(table, ratios, resolvent, mean)
    gain = resolvent.c**2 / (ratios.beta * table.features.fractions)
    source = np.concatenate([pairs.vector(Q0), gain * T0])
    forcing = ratios.alpha / ratios.beta**2 * resolvent.response @ (table.features.moments * weights * D**2)
    factors = lu_factor(resolvent.jacobian)
    extra = np.zeros_like(D)
    for _ in range(_PASSES):
        y = lu_solve(factors, source + forcing @ (fixed + extra))
        error = fixed + extra + y @ table.features.counted
        new = _extra_error(table, ratios, D, mean, y[pairs.size :], error) if ratios.leverage else extra
        change = float(np.max(np.abs(new - extra) / np.abs(error)))
        if change < ratios.tolerance:
            break
        extra = new
    else:
        raise ConvergenceError("spiked_features (leverage of the error)", change, {"ratios": ratios})
    Q, N = pairs.matrix(y[: pairs.size]), y[pairs.size :]
    train, test = float(weights @ (D**2 * error)), float(weights @ error)
    objective = train + ratios.ridge * float(N.sum())
    if not ratios.leverage:
        product = labels.h0 * (labels.h0 - mean.fitted) + labels.variance - labels.h1 * pulled
        envelope = weights @ (D * product)
        gap = float(np.abs(objective / envelope - 1))
        if not gap < _ENVELOPE:
            at = {"spikes": table.features.fractions.size, "ratios": ratios}
            raise ConvergenceError("spiked_features (second moments)", gap, at)
    return SpikedSolution(train, test, objective, M, S, T, mean.m, Q, N, error, resolvent, table)


def _sources(
    table: SpikedTable, ratios: _Ratios, resolvent: Resolvent, mean: _MeanPart
) -> tuple[np.ndarray, np.ndarray]:
    """The parts of Q and of T_gg (the variance of the dual field) that do not depend on Q and N."""
    bulk = table.features.bulk
    M, S, T = np.split(mean.coefficients, 3)
    forces = np.stack([mean.tau, mean.m_hat])
    overlaps = np.array([[bulk.vv, bulk.vt], [bulk.vt, bulk.tt]])
    moved = np.einsum("kgh,ah->kag", resolvent.K, forces)
    pulled = np.einsum("khg,ah->kag", resolvent.J, forces)
    Q0 = np.einsum("abk,kag,kbh->gh", overlaps, moved, moved) - np.outer(S, S)
    T0 = np.einsum("abk,gk,kag,kbg->g", overlaps, bulk.scales, pulled, pulled)
    return Q0, T0 + (T**2 + ratios.inverse_d * M**2) / resolvent.c**2


def _extra_error(
    table: SpikedTable, ratios: _Ratios, D: np.ndarray, mean: _MeanPart, N: np.ndarray, error: np.ndarray
) -> np.ndarray:
    """The variance of the mean part at finite d, a function of kappa."""
    bulk = table.features.bulk
    sampled = ratios.alpha / ratios.beta**2 * ratios.inverse_d * table.grid.weights * D**2 * error
    inner = (table.columns * sampled) @ table.columns.T
    variances = np.concatenate([N, N * (bulk.scales @ bulk.vv) * ratios.inverse_d, N * ratios.inverse_d])
    inner += (mean.penalty * variances) @ mean.penalty
    projected = mean.half_inverse.T @ (mean.half_inverse @ table.columns)
    return np.sum(projected * (inner @ projected), axis=0)
