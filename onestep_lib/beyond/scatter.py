r"""How much the losses of a ridge regression on spiked features vary from draw to draw.

All three losses are derivatives of one minimum. With a source h on the test loss L(a) of a readout a,

.. math:: C=\min_a\ \sum_i(y_i-f(x_i))^2+\lambda|a|^2+hn\,L(a),\qquad

          \text{objective}=\frac Cn,\quad \text{test}=\frac1n\partial_hC,\quad
          \text{train}=\frac1n(1-\lambda\partial_\lambda)C

at h = 0, so that their variances follow from the covariance of two minima C and C' with sources
:math:`(h,\lambda)` and :math:`(h',\lambda')`. Draw the neurons first, one by one, then the samples: the
variance is the sum of the variances of the changes of the conditional mean, and each change is that of
*one* neuron or sample, while what is drawn later is averaged over.

**Samples.** One more sample raises C by :math:`D(\kappa)e^2`, e its error before it was seen. Two copies of
the fit that share the neurons and a fraction t of the samples have jointly Gaussian errors given the label
and kappa, so

.. math:: \mathrm{Cov}_X(C,C')=n\int_0^1\mathrm{Cov}(De^2,D'e'^2)\,dt .

**Neurons.** One more neuron lowers C by :math:`p^2c_g/(\beta\pi_g)`, p the force on its weight, which is
Gaussian over the rows; copies with different samples that share a fraction s of the neurons have
forces of covariance :math:`\beta\mathcal T_g`,

.. math:: \mathrm{Cov}_W(C,C')=N\sum_g\frac{2c_gc'_g}{\pi_g}\int_0^1\mathcal T_g^2\,ds .

**Overlaps.** With the letters of :mod:`onestep_lib.spiked_features.losses` for isotropic rows, D + h in
place of D where it weighs the squared errors of a fit, and primes for the second copy,

.. math:: E=(h_0-\bar f)(h_0-\bar f')+\mathrm{Var}(y|\kappa)-h_1(s_\perp+s_\perp')\cdot\mu_1+\mu_1^\top Q\mu_1
          +\textstyle\sum_g\mu_{2,g}^2A_g,

   Q=s_\perp s_\perp'^\top+J\Big[\mathrm{diag}\,A+\tfrac tbCFC'\Big]J'^\top,\qquad
   F=a\langle DD'E\,\mu_1\mu_1^\top\rangle,

   \mathcal T_g=t_gt'_g+\frac{s_{v,g}s_{v,g}'+s_{\ell,g}s_{\ell,g}'+s_{1,g}s_{1,g}'/d}{c_gc'_g}
   +\Big(J^\top\big[\tfrac tbF+\Lambda\,\mathrm{diag}A\,\Lambda'\big]J'\Big)_{gg},

   A_g=s\,\frac{c_gc'_g}{b^2\pi_g}\big(t\,a\langle DD'E\mu_{2,g}^2\rangle+b\mathcal T_g\big),
   \qquad a=\tfrac nN,\ b=\tfrac Nd,

a linear system. At t = s = 1 and equal sources it is the one of the losses.

What is left out is of a smaller order in 1/n, and the covariance of the bulk rows (the scales :math:`c_g`
are kept). Derived by this argument, with no constant fitted; checked against simulation and two limits;
not proved.

Functions
---------
loss_scatter   the variances of train, test and objective, by neurons, samples and test inputs
shared_error   the mean product of the errors of two fits that share some of their samples
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np
from scipy.optimize import root

from onestep_lib._checks import (
    check_count,
    check_instance,
    check_nonnegative,
    check_number,
    check_positive,
    shown,
)
from onestep_lib._threads import one_thread
from onestep_lib.activations import Target
from onestep_lib.convergence import ConvergenceError
from onestep_lib.quadrature import gauss_legendre
from onestep_lib.spiked_features.fit import SpikedSolution, least_squares
from onestep_lib.spiked_features.losses import solve_spiked
from onestep_lib.spiked_features.model import SpikedModel, SpikedTable

__all__ = [
    "loss_scatter",
    "shared_error",
]

# Sources that the losses are central differences in; the covariance is smooth in them.
_SOURCE = 1e-3
# Of the fixed point with a source, relative.
_TOLERANCE = 1e-8
_SOLVED = 1e-10
# Nodes of the fraction of shared draws, in which the integrands are rational and smooth.
_FRACTIONS = 6
# Hermite nodes for the label's own coordinate.
_LABEL_NODES = 60


@dataclass(frozen=True, eq=False)
class LossScatter:
    """Variances of the losses of single draws, to leading order.

    Parameters
    ----------
    rows, samples : ndarray, shape (3,)
        What the neurons and the samples add to the variances of train, test and objective.
    squared_error : float
        The variance of the squared error at one test input: a test loss that is measured on m inputs has
        1/m of it on top.
    """

    rows: np.ndarray
    samples: np.ndarray
    squared_error: float


@one_thread()
def loss_scatter(model: SpikedModel, n: int, d: int, N: int, ridge: float) -> LossScatter:
    """Return how much the losses of one draw of rows and ridge batch vary.

    Parameters
    ----------
    model : SpikedModel
        With a target of one direction, and without spectral data of the bulk (``bulk=None``).
    n, d, N : int
        Samples, input dimension, width.
    ridge : float
        The penalty > 0, in the normalisation of :mod:`onestep_lib.settings`.

    Returns
    -------
    LossScatter

    Raises
    ------
    ValueError, ConvergenceError
        As in `onestep_lib.spiked_features.losses.solve_spiked`, or for a model outside these conditions.

    Examples
    --------
    >>> from onestep_lib.activations import activation, target
    >>> from onestep_lib.beyond import loss_scatter
    >>> from onestep_lib.spiked_features import SpikedModel
    >>> model = SpikedModel(activation("tanh"), [1], [1], target((0, 1)), alignment=0.8, noise=0.5)
    >>> small, large = (loss_scatter(model, 2 * d, d, d, 0.1) for d in (100, 400))
    >>> print((small.samples / large.samples).round())  # variances fall like 1/d
    [4. 4. 4.]
    """
    n, d, N = int(n), int(d), int(N)  # squares of narrow integers overflow
    problem = _problem(model, n, d, N, ridge)
    # Train, test and objective as combinations of minima with sources.
    low, high = 1 - _SOURCE, 1 + _SOURCE
    fits = [problem.fit()]
    fits += [problem.fit(source=h) for h in (-_SOURCE, _SOURCE)]
    fits += [problem.fit(factor=factor) for factor in (low, high)]
    slope = 1 / (2 * _SOURCE)
    parts = np.array([[1, 0, 0, slope, -slope], [0, -slope, slope, 0, 0], [1, 0, 0, 0, 0]])
    fourth = _FourthMoment(model, problem.table)
    own = [problem.pair(one, one).overlap().error for one in fits]
    rows, samples = np.empty((2, 5, 5))
    for i, k in combinations_with_replacement(range(5), 2):
        pair = problem.pair(fits[i], fits[k])
        rows[i, k] = rows[k, i] = _of_rows(pair) * N / n**2
        samples[i, k] = samples[k, i] = _of_samples(pair, own[i], own[k], fourth) / n
    weights, error = problem.table.grid.weights, own[0]
    squared = weights @ fourth(fits[0], fits[0], error, error, error) - (weights @ error) ** 2
    of_rows, of_samples = (np.einsum("ai,ik,ak->a", parts, one, parts) for one in (rows, samples))
    return LossScatter(of_rows, of_samples, float(squared))


@one_thread()
def shared_error(model: SpikedModel, n: int, d: int, N: int, ridge: float, shared: float) -> float:
    r"""Return :math:`\mathbb E[ee']` at a new input of two fits that have the same rows and share samples.

    At ``shared=1`` it is the test loss, at 0 what the average over many ridge batches would have.

    Parameters
    ----------
    model, n, d, N, ridge
        As in `loss_scatter`.
    shared : float
        The fraction of the samples that both fits have, in [0, 1].

    Examples
    --------
    >>> from onestep_lib.activations import activation, target
    >>> from onestep_lib.beyond import shared_error
    >>> from onestep_lib.spiked_features import SpikedModel
    >>> model = SpikedModel(activation("tanh"), [1], [1], target((0, 1)), alignment=0.8, noise=0.5)
    >>> [round(shared_error(model, 200, 100, 100, 0.1, shared), 3) for shared in (0, 0.5, 1)]
    [0.435, 0.476, 0.526]
    """
    problem, shared = _problem(model, n, d, N, ridge), check_number("shared", shared, check_nonnegative)
    if shared > 1:
        raise ValueError(f"shared must lie in [0, 1], got {shown(shared)}")
    fit = problem.fit()
    return float(problem.table.grid.weights @ problem.pair(fit, fit).overlap(samples=shared).error)


def _problem(model: SpikedModel, n: int, d: int, N: int, ridge: float) -> Problem:
    """The problem of checked arguments."""
    check_instance("model", model, SpikedModel)
    if not isinstance(model.target, Target):
        raise ValueError("model must have a target of one direction for a scatter, got one of two")
    if model.bulk is not None:
        raise ValueError("model must have isotropic bulk rows (bulk=None) for a scatter, got their spectrum")
    n, d, N = (check_count(name, value) for name, value in (("n", n), ("d", d), ("N", N)))
    return Problem.of(model, n, d, N, check_number("ridge", ridge, check_positive))


@dataclass(frozen=True, eq=False)
class Fit:
    """A fit with a source: its fixed point (c, Lambda, D, J), and its mean part."""

    c: np.ndarray
    Lambda: np.ndarray
    D: np.ndarray
    J: np.ndarray
    fitted: np.ndarray
    s_1: np.ndarray
    s_rest: np.ndarray
    s_perp: np.ndarray
    pull: np.ndarray


@dataclass(frozen=True, eq=False)
class Problem:
    """One point of a model whose bulk is isotropic."""

    solution: SpikedSolution
    fractions: np.ndarray
    d: int
    alpha: float
    beta: float
    penalty: float

    @classmethod
    def of(cls, model: SpikedModel, n: int, d: int, N: int, ridge: float) -> Problem:
        """The problem of a model and the sizes of an experiment."""
        solution = solve_spiked(model, d / n, d / N, ridge, d, tolerance=_TOLERANCE)
        return cls(solution, model.fractions, d, n / d, N / d, ridge * n / N)

    @property
    def table(self) -> SpikedTable:
        return self.solution.table

    def fit(self, source: float = 0.0, factor: float = 1.0) -> Fit:
        """The fit with a source on the test loss and a factor on the penalty."""
        features, labels = self.table.features, self.table.labels
        means, weights = features.means, self.table.grid.weights
        a, G = self.alpha / self.beta, self.fractions.size
        c, Lambda, D = self._fixed_point(source, factor)
        mass = a * weights * (D + source)
        J = np.linalg.inv(np.eye(G) + c[:, None] * Lambda)
        parts = len(self.table.columns) // G - 1
        penalty = np.diag(np.concatenate([1 / (self.d * c), np.tile(1 / c, parts)]))
        x = least_squares(self.table, mass, penalty, np.zeros(len(penalty)))
        force = means.mu1 @ (mass * labels.h1)
        s_1, s_rest = x[:G], x[G:].reshape(parts, G)
        s_perp, fitted = J @ (c * force), x @ self.table.columns
        return Fit(c, Lambda, D, J, fitted, s_1, s_rest, s_perp, J.T @ force)

    def pair(self, one: Fit, two: Fit) -> Pair:
        """What the overlaps of two fits have in common, whatever they share."""
        labels, means = self.table.labels, self.table.features.means
        G, a = self.fractions.size, self.alpha / self.beta
        products = (means.mu1[:, None] * means.mu1).reshape(G * G, -1)
        moments = np.concatenate([products, means.mu2_sq])
        mass = a * self.table.grid.weights * one.D * two.D
        fixed = (labels.h0 - one.fitted) * (labels.h0 - two.fitted) + labels.variance
        fixed = fixed - labels.h1 * ((one.s_perp + two.s_perp) @ means.mu1)
        source = one.pull * two.pull
        source = source + (np.sum(one.s_rest * two.s_rest, axis=0) + one.s_1 * two.s_1 / self.d) / (
            one.c * two.c
        )
        weighed = moments * mass
        return Pair(self, one, two, moments, fixed, weighed @ moments.T, weighed @ fixed, source)

    def losses(self) -> np.ndarray:
        """Train, test and objective, shape (3,)."""
        fit = self.fit()
        found = self.pair(fit, fit).overlap()
        weights = self.table.grid.weights
        train, test = weights @ (fit.D**2 * found.error), weights @ found.error
        return np.array([train, test, train + self.penalty * self.beta / self.alpha * found.a_sq.sum()])

    def _fixed_point(self, source: float, factor: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """c, Lambda and D, from the fixed point without a source."""
        features, G = self.table.features, self.fractions.size
        mu1, mu2_sq = features.means.mu1, features.means.mu2_sq
        weights, a = self.table.grid.weights, self.alpha / self.beta
        upper = np.triu_indices(G)

        def unpacked(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            half = np.zeros((G, G))
            half[upper] = x[G:]
            return np.exp(x[:G]), half + np.triu(half, 1).T

        def turn(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            c, Lambda = unpacked(x)
            inner = np.linalg.solve(np.eye(G) + c[:, None] * Lambda, np.diag(c))
            D = 1 / (1 + (np.einsum("gk,gh,hk->k", mu1, inner, mu1) + c @ mu2_sq) / self.beta)
            mass = a * weights * (D + source)
            new = (mu1 * mass) @ mu1.T
            response = np.linalg.solve(np.eye(G) + new * c, new)
            stiff = factor * self.penalty + mu2_sq @ mass + np.diag(response)
            return self.beta * self.fractions / stiff, new, D

        def gap(x: np.ndarray) -> np.ndarray:
            c, Lambda, _ = turn(x)
            return np.append(np.log(c) - x[:G], Lambda[upper] - x[G:])

        point = self.solution.point
        start = np.append(np.log(point.c), point.Lambda[upper])
        found = root(gap, start, tol=1e-13)
        left = float(np.max(np.abs(gap(found.x)) / np.maximum(1.0, np.abs(found.x))))
        if not left < _SOLVED:
            raise ConvergenceError("loss_scatter", left, {"penalty": self.penalty, "source": source})
        return turn(found.x)


@dataclass(frozen=True, eq=False)
class Pair:
    """Two fits: the moments of E and their forces, which are linear in (Q, A), and the sources."""

    problem: Problem
    one: Fit
    two: Fit
    moments: np.ndarray
    fixed: np.ndarray
    forcing: np.ndarray
    forced: np.ndarray
    source: np.ndarray

    def overlap(self, samples: float = 1.0, rows: float = 1.0) -> Overlap:
        """The two fits if they share these fractions of their samples and rows."""
        one, two, beta, G = self.one, self.two, self.problem.beta, self.source.size
        gain = rows * one.c * two.c / (beta**2 * self.problem.fractions)

        def turn(y: np.ndarray, on: float) -> tuple[np.ndarray, np.ndarray]:
            forces = samples * (self.forcing @ y + on * self.forced)
            noise = forces[: G * G].reshape(G, G) / beta
            lengths = np.diag(y[G * G :])
            inner = lengths + one.c[:, None] * noise * two.c
            Q = on * np.outer(one.s_perp, two.s_perp) + one.J @ inner @ two.J.T
            back = one.J.T @ (noise + one.Lambda @ lengths @ two.Lambda) @ two.J
            force = on * self.source + np.diag(back)
            return np.append(Q, gain * (forces[G * G :] + beta * force)), force

        size = G * G + G
        matrix = np.stack([turn(unit, 0.0)[0] for unit in np.eye(size)], axis=1)
        start, _ = turn(np.zeros(size), 1.0)
        y = np.linalg.solve(np.eye(size) - matrix, start)
        return Overlap(self.fixed + y @ self.moments, turn(y, 1.0)[1], y[G * G :])


@dataclass(frozen=True, eq=False)
class Overlap:
    """Two fits: E on the grid, T_g and A_g."""

    error: np.ndarray
    force: np.ndarray
    a_sq: np.ndarray


class _FourthMoment:
    """E[e^2 e'^2 | kappa] of two fits: labels through their own coordinate z, all the rest Gaussian."""

    def __init__(self, model: SpikedModel, table: SpikedTable) -> None:
        z, weights = np.polynomial.hermite_e.hermegauss(_LABEL_NODES)
        gamma = model.alignment
        clean = gamma * table.grid.nodes[:, None] + np.sqrt((1 - gamma) * (1 + gamma)) * z
        self.labels = model.target(clean)
        self.z, self.weights, self.mu1 = z, weights / weights.sum(), table.features.means.mu1

    def __call__(
        self, one: Fit, two: Fit, own: np.ndarray, other: np.ndarray, both: np.ndarray
    ) -> np.ndarray:
        a, b = (self.labels - f.fitted[:, None] - np.outer(f.s_perp @ self.mu1, self.z) for f in (one, two))
        aa, bb, ab = ((p * q) @ self.weights for p, q in ((a, a), (b, b), (a, b)))
        # What is Gaussian given the label: noise, and the fit across z.
        rest, other_rest, shared = own - aa, other - bb, both - ab
        product = (a**2 * b**2) @ self.weights + aa * other_rest + bb * rest + 4 * ab * shared
        return product + rest * other_rest + 2 * shared**2


def _fractions() -> list[tuple[float, float]]:
    nodes, weights = gauss_legendre(_FRACTIONS)
    return list(zip((1 + nodes) / 2, weights / 2, strict=True))


def _of_samples(pair: Pair, own: np.ndarray, other: np.ndarray, fourth: _FourthMoment) -> float:
    """The covariance of two minima over the samples, divided by n."""
    one, two, weights = pair.one, pair.two, pair.problem.table.grid.weights
    total = -float(weights @ (one.D * own)) * float(weights @ (two.D * other))
    for fraction, share in _fractions():
        both = pair.overlap(samples=fraction).error
        total += share * float(weights @ (one.D * two.D * fourth(one, two, own, other, both)))
    return total


def _of_rows(pair: Pair) -> float:
    """The covariance of two minima over the rows, divided by N."""
    scale = 2 * pair.one.c * pair.two.c / pair.problem.fractions
    forces = ((pair.overlap(samples=0.0, rows=fraction).force, share) for fraction, share in _fractions())
    return sum(share * float(scale @ force**2) for force, share in forces)
