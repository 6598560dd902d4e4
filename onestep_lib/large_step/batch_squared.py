r"""How one gradient batch shapes the bulk of the weights.

After a giant step of a network with an odd activation the bulk rows have the covariance :math:`(I+eH)/d`,
:math:`H=\frac1n\sum_iy_i^2x_ix_i^\top` (see :mod:`onestep_lib.large_step.stepped_model`); the spike
:math:`\hat g=\frac1n\sum_iy_ix_i` and the target direction :math:`\theta` are correlated with H. With
:math:`\alpha=n/d` and :math:`G=(H+x)^{-1}`, x > 0,

.. math:: m=\frac1{x+\mathbb E[y^2q]},\quad \mu=\frac m\alpha,\quad q=\frac1{1+y^2\mu},\qquad
   \tfrac1d\operatorname{tr}G=m,

   \theta^\top G\theta=\frac1{x+\mathbb E[y^2\zeta^2q]},\quad
   \theta^\top G\hat g=\theta^\top G\theta\;\mathbb E[y\zeta q],\quad
   \hat g^\top G\hat g=\mu\,\mathbb E[y^2q]+\theta^\top G\theta\;\mathbb E[y\zeta q]^2,

averages over :math:`y=\sigma_*(\zeta)+` noise (a cavity argument). As functions of :math:`\ln|y|` the
:math:`q` are one curve, shifted by :math:`\ln\mu`, and analytic within :math:`\pi/2` of the axis: polynomials
on panels of fixed length interpolate them for every :math:`\mu`, so that a few hundred values of y serve for
the law of the labels. The solver needs averages of
rational functions of the eigenvalue with poles at x >= 1/e only, so each spectral measure is replaced by
its Gauss quadrature in the space of the functions 1 and 1/(h + x_j): about a dozen nodes.

Functions
---------
squared_resolvents   resolvents of H at points x > 0.
squared_covariance   bulk data of the covariances (I+e_gH)/d, each normalised to mean 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import ArrayLike

from onestep_lib._values import read_only
from onestep_lib.activations import Target
from onestep_lib.convergence import ConvergenceError
from onestep_lib.quadrature import gaussian_quadrature
from onestep_lib.small_step.gradient import label_moments
from onestep_lib.spiked_features.model import BulkCovariance

# The poles x_j e - 1 of the functions that the quadrature integrates exactly lie between the first two, or
# up to _ABOVE times the mean of e H, so many a decade. Eigenvalues below _BELOW times the mean count as 0.
_NEAREST, _FARTHEST = 1e-3, 1e4
_ABOVE, _BELOW = 1e3, 1e-8
# With less than this for the mean of e H the poles stay where they are: beyond, the functions 1/(h + x_j) are
# one but for rounding, which would make the nodes.
_WEAK = 1e-2
_PER_DECADE = 15 / 7
_ITERATIONS = 200
_TOLERANCE = 1e-13
_ROUNDING = 1e-15
_RANK = 1e-11
_NOISE_NODES = 48
# The length of a panel in ln|y| and its nodes: averages to 1e-14, see `_condensed`.
_PANEL, _PANEL_NODES = 1.5, 24
# Labels smaller than this part of their nodes' root mean square are put there: q is 1 for both.
_SMALLEST = 1e-10
# The smallest node of the labels' law that is kept, by its weight and its part of E y^4.
_SEEN = 1e-18


@dataclass(frozen=True, eq=False)
class SquaredResolvents:
    r"""Resolvents of H at points x > 0, with their derivatives in x.

    Parameters
    ----------
    x : ndarray, shape (J,)
    trace, dtrace : ndarray, shape (J,)
        :math:`\frac1d\operatorname{tr}G`.
    forms, dforms : ndarray, shape (J, 2, 2)
        :math:`(v,\theta_\perp)^\top G\,(v,\theta_\perp)` with :math:`v=\hat g/|\hat g|`.
    mean_trace : float
        :math:`\frac1d\operatorname{tr}H`.
    mean_forms : ndarray, shape (2, 2)
        The forms of H itself.
    """

    x: np.ndarray
    trace: np.ndarray
    dtrace: np.ndarray
    forms: np.ndarray
    dforms: np.ndarray
    mean_trace: float
    mean_forms: np.ndarray


# Kept for the next step size: it takes longer than the equation.
@lru_cache(maxsize=8)
def _label_law(target: Target, noise: float) -> tuple[np.ndarray, np.ndarray]:
    """Nodes y^2 (K,) and masses (3, K) of the averages of y^2 q, y^2 zeta^2 q and y zeta q."""
    zeta, y, weights = _label_quadrature(target, noise)
    return read_only(_condensed(y, weights * np.stack([y**2, (y * zeta) ** 2, y * zeta])))


def _label_quadrature(target: Target, noise: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Nodes (zeta, y) and weights for averages over the direction of the target and the noise."""
    zeta, weights = gaussian_quadrature(target.kinks)
    zeta, y, weights = _kept(zeta, target(zeta), weights)
    if noise == 0:
        return zeta, y, weights
    points, noise_weights = np.polynomial.hermite_e.hermegauss(_NOISE_NODES)
    mass = np.multiply.outer(weights, noise_weights / noise_weights.sum())
    return _kept(np.repeat(zeta, points.size), np.add.outer(y, noise * points).ravel(), mass.ravel())


def _kept(zeta: np.ndarray, y: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The nodes with a weight, or a part of E y^4, that counts."""
    square = np.square(y)
    seen = weights * (1 + square * square) > _SEEN
    return zeta[seen], y[seen], weights[seen]


def _condensed(y: np.ndarray, masses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    r"""Move masses (3, I) at the labels y to fewer nodes: y^2 (K,) and their masses (3, K).

    On a panel of ln|y| a function is replaced by its interpolation polynomial at Chebyshev nodes. For
    :math:`q=1/(1+\mu y^2)` and :math:`q^2` the poles are :math:`\pi/2` off the axis, whatever mu: 2.1 times
    half the length of a panel, so that the error falls by :math:`2.1+\sqrt{1+2.1^2}=4.4` a node.
    """
    least = _SMALLEST * np.sqrt(np.mean(y**2))
    place = np.log(np.maximum(np.abs(y), least) / least) / _PANEL
    panels = place.astype(int)
    nodes = chebyshev.chebpts1(_PANEL_NODES)
    to_nodes = np.linalg.inv(chebyshev.chebvander(nodes, _PANEL_NODES - 1))
    squares, moved = [], []
    for panel in np.flatnonzero(np.bincount(panels)):
        inside = panels == panel
        polynomials = chebyshev.chebvander(2 * (place[inside] - panel) - 1, _PANEL_NODES - 1)
        moved.append(masses[:, inside] @ polynomials @ to_nodes)
        squares.append((least * np.exp(_PANEL * (panel + (nodes + 1) / 2))) ** 2)
    return np.concatenate(squares), np.hstack(moved)


def squared_resolvents(target: Target, noise: float, alpha: float, x: np.ndarray) -> SquaredResolvents:
    r"""Return the resolvents of H at points x > 0.

    Parameters
    ----------
    target : Target
        With :math:`c_{*,1}` or a second moment that is not 0.
    noise : float
    alpha : float
        n/d of the gradient's batch (:math:`n_0/d` where the ridge batch has another size).
    x : ndarray, shape (J,)

    Raises
    ------
    ConvergenceError
        If the equation for m does not reach 1e-13 in 200 steps.

    Examples
    --------
    >>> from onestep_lib.activations import target
    >>> from onestep_lib.large_step.batch_squared import squared_resolvents
    >>> found = squared_resolvents(target("sign"), noise=0, alpha=1, x=[0.5, 2])
    >>> print(found.trace.round(4))  # H = X^T X/n, n = d: the roots of x m^2 + x m = 1
    [1.    0.366]
    """
    x = np.asarray(x, dtype=float)
    square, masses = _label_law(target, noise)
    labels = label_moments(target, noise)
    b1, power = labels.linear, labels.square
    m = _solve_trace(square, masses[0], alpha, x)
    q = _quotients(m / alpha, square)
    own, pull, cross = masses @ q.T
    # Each average of q falls with mu as minus the average of y^2 q^2.
    fall = (masses * square) @ (q**2).T
    dm = -1 / (1 / m**2 - fall[0] / alpha)
    down, dpull, dcross = -fall * dm / alpha
    theta = 1 / (x + pull)
    dtheta = -(theta**2) * (1 + dpull)
    spike, dspike = m / alpha * own, (dm * own + m * down) / alpha
    basis = _to_unit(labels.direction_power(1 / alpha), labels.alignment(1 / alpha))
    forms = _pair(theta, theta * cross, spike + theta * cross**2)
    dforms = _pair(
        dtheta, dtheta * cross + theta * dcross, dspike + dtheta * cross**2 + 2 * theta * cross * dcross
    )
    fourth, first, third = masses[0] @ square, masses[1].sum(), masses[2] @ square
    mean = _pair(
        first,
        first * b1 + third / alpha,
        power**2 / alpha + fourth / alpha**2 + first * b1**2 + 2 * b1 * third / alpha,
    )
    return SquaredResolvents(
        x, m, dm, basis @ forms @ basis.T, basis @ dforms @ basis.T, float(power), basis @ mean @ basis.T
    )


def _quotients(mu: np.ndarray, square: np.ndarray) -> np.ndarray:
    """q = 1/(1 + y^2 mu), one row a mu."""
    return 1 / (1 + np.multiply.outer(mu, square))


def _pair(theta: np.ndarray, cross: np.ndarray, spike: np.ndarray) -> np.ndarray:
    """The 2 x 2 forms in the basis (theta, g hat)."""
    return np.moveaxis(np.array([[theta, cross], [cross, spike]]), (0, 1), (-2, -1))


def _to_unit(B: float, gamma: float) -> np.ndarray:
    """The rows (v, theta_perp) in the basis (theta, g hat), |g hat|^2 = B."""
    rho = np.sqrt(1 - gamma**2)
    return np.array([[0.0, 1 / np.sqrt(B)], [1 / rho, -gamma / rho / np.sqrt(B)]])


def _solve_trace(square: np.ndarray, force: np.ndarray, alpha: float, x: np.ndarray) -> np.ndarray:
    r"""The root m of 1/m = x + E[y^2/(1 + y^2 m/alpha)] by Newton in log m, kept inside a bracket.

    The right side lies between x and x + :math:`\mathbb E y^2`. In log m it can be flat on both sides of the
    root.
    """
    power = float(np.sum(force))
    low, high, y = -np.log(x + power), -np.log(x), np.log(_equal_squares(power, alpha, x))
    for _ in range(_ITERATIONS):
        m = np.exp(y)
        q = _quotients(m / alpha, square)
        value = m * (x + q @ force) - 1
        slope = m * (x + q**2 @ force)
        low, high = np.where(value < 0, y, low), np.where(value > 0, y, high)
        step = value / slope
        inside = (y - step >= low) & (y - step <= high)
        # Where the equation is nearly flat (n = d, x small) the residual is rounding while the step is not.
        if np.all((np.abs(step) < _TOLERANCE) | (np.abs(value) < _ROUNDING)):
            return m * np.exp(-np.clip(step, -_TOLERANCE, _TOLERANCE))
        y = np.where(inside | (np.abs(step) < _TOLERANCE), y - step, (low + high) / 2)
    raise ConvergenceError(
        "batch_spectrum",
        float(np.max(np.abs(step))),
        {"alpha": alpha, "x": x.tolist()},
        "the squared labels may span too many orders of magnitude: rescale them, or take a smaller step",
    )


def _equal_squares(power: float, alpha: float, x: np.ndarray) -> np.ndarray:
    """The root if y^2 were its mean everywhere: below the root, and near it."""
    square, linear = x * power / alpha, x + power * (1 - 1 / alpha)
    root = np.sqrt(linear**2 + 4 * square)
    return np.where(linear > 0, 2 / (root + np.abs(linear)), (root + np.abs(linear)) / (2 * square))


def squared_covariance(target: Target, noise: float, alpha: float, strengths: ArrayLike) -> BulkCovariance:
    r"""Return the bulk data of the covariances :math:`(I+e_gH)/d`, each normalised to mean 1.

    Parameters
    ----------
    target, noise, alpha
        As in `squared_resolvents`.
    strengths : array_like, shape (G,)
        :math:`e_g\ge0`, one a group, not all 0.

    Returns
    -------
    BulkCovariance
        All masses are >= 0. Bins of the trace first (vv = vt = tt = 0), then those of the two
        directions (weights 0). Good to about 9 digits for the averages that the theory takes, and to 7
        where eH is large.

    Examples
    --------
    >>> from onestep_lib.activations import target
    >>> from onestep_lib.large_step.batch_squared import squared_covariance
    >>> bulk = squared_covariance(target((0, 1)), noise=0.5, alpha=2, strengths=[0, 1])
    >>> print((bulk.scales @ bulk.weights).round(4), (bulk.scales @ bulk.vv).round(2))
    [1. 1.] [1.   2.89]
    """
    e = np.asarray(strengths, dtype=float)
    spectrum = squared_resolvents(target, noise, alpha, _poles(float(np.max(e)), target, noise))
    x = spectrum.x
    trace, dtrace = spectrum.trace[:, None, None], spectrum.dtrace[:, None, None]
    nodes, parts = _gauss(trace, dtrace, np.full((1, 1), spectrum.mean_trace), x)
    spike_nodes, directions = _gauss(spectrum.forms, spectrum.dforms, spectrum.mean_forms, x)
    zeros, spike_zeros = np.zeros(nodes.size), np.zeros(spike_nodes.size)
    scales = 1 + np.multiply.outer(e, np.append(nodes, spike_nodes))
    return BulkCovariance(
        weights=np.append(parts[:, 0] ** 2, spike_zeros),
        vv=np.append(zeros, directions[:, 0] ** 2),
        vt=np.append(zeros, directions[:, 0] * directions[:, 1]),
        tt=np.append(zeros, directions[:, 1] ** 2),
        scales=scales / (1 + e * spectrum.mean_trace)[:, None],
    )


def _poles(strength: float, target: Target, noise: float) -> np.ndarray:
    r"""The points x_j for the covariance I + eH.

    A function of its normalised eigenvalue, 1/(1 + cs), has its pole at :math:`x=1/e+(1/e+\bar h)/c`, for
    any c > 0 and the mean :math:`\bar h=\mathbb Ey^2` of the eigenvalues.
    """
    mean = target.second_moment + noise**2
    strength = min(max(strength, _WEAK / mean), 1 / (_BELOW * mean))
    farthest = max(_FARTHEST, _ABOVE * strength * mean)
    count = 1 + round(_PER_DECADE * np.log10(farthest / _NEAREST))
    return (1 + np.geomspace(_NEAREST, farthest, count)) / strength


def _gauss(G: np.ndarray, dG: np.ndarray, first: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    r"""Gauss quadrature of a matrix measure from its resolvents G (J, r, r) and first moment (r, r).

    Galerkin in the functions 1/(h + x_j) and 1: the Gram matrix and the one of h are divided differences,
    :math:`\int\frac{d\mu}{(h+x_i)(h+x_j)}=-\frac{G(x_i)-G(x_j)}{x_i-x_j}`. Returns the nodes h (K,) and
    residue vectors (K, r), whose outer products are the masses.
    """
    count, r = G.shape[:2]
    size = count + 1
    gram, moment = np.empty((size, size, r, r)), np.empty((size, size, r, r))
    gap = x[:, None] - x
    np.fill_diagonal(gap, 1.0)
    xG = x[:, None, None] * G
    gram[:count, :count] = -(G[:, None] - G[None]) / gap[:, :, None, None]
    moment[:count, :count] = (xG[:, None] - xG[None]) / gap[:, :, None, None]
    i = np.arange(count)
    gram[i, i], moment[i, i] = -dG, G + x[:, None, None] * dG
    gram[:count, count] = gram[count, :count] = G
    moment[:count, count] = moment[count, :count] = np.eye(r) - xG
    gram[count, count], moment[count, count] = np.eye(r), first
    gram, moment = (a.transpose(0, 2, 1, 3).reshape(size * r, size * r) for a in (gram, moment))
    # Functions are scaled to norm 1; what is left of the Gram matrix below rounding is dropped.
    norms = np.sqrt(np.diag(gram))
    gram, moment = gram / np.outer(norms, norms), moment / np.outer(norms, norms)
    levels, vectors = np.linalg.eigh(gram)
    kept = levels > _RANK * levels[-1]
    white = vectors[:, kept] / np.sqrt(levels[kept])
    nodes, rotation = np.linalg.eigh(white.T @ moment @ white)
    residues = rotation.T @ (white.T @ gram[:, count * r :]) * norms[count * r :]
    return np.maximum(nodes, 0.0), residues
