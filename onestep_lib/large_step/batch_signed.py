r"""The spectrum of the signed batch matrix, which tilts the weights when :math:`c_2\ne0`.

On its batch of n samples (the :math:`n_0` of a setting) one gradient step builds two d by d matrices,

.. math:: \hat H=\frac1n\sum_iy_ix_ix_i^\top,\qquad H=\frac1n\sum_iy_i^2x_ix_i^\top .

:mod:`onestep_lib.large_step.batch_squared` treats H, which is all that an odd activation needs. Here the
basis e_k is that of :math:`\hat H`, whose eigenvalues have both signs, and H enters by its diagonal
:math:`e_k^\top He_k`. With alpha = n/d, :math:`G=(\hat H+x)^{-1}` at complex x and in the limit (a cavity
argument, checked against realised batches),

.. math:: m=\tfrac1d\operatorname{tr}G=\frac1{x+\mathbb E[yq]},\quad q=\frac1{1+ym/\alpha},\quad
          \tfrac1d\operatorname{tr}HG=m\,\mathbb E[y^2q],

   \theta^\top G\theta=\frac1{x+\mathbb E[y\zeta^2q]},\quad
   \theta^\top G\hat g=\theta^\top G\theta\;\mathbb E[y\zeta q],\quad
   \hat g^\top G\hat g=\frac m\alpha\mathbb E[y^2q]+\theta^\top G\theta\;\mathbb E[y\zeta q]^2,

averages over :math:`y=\sigma_*(\zeta)+` noise; theta is the target direction and g-hat the gradient.

Near the axis q has a pole near the real y, which no fixed set of nodes resolves. So the law of y is made of
panels on which y is uniform, where q integrates to a logarithm; every average above follows from
:math:`\mathbb E[q],\mathbb E[\zeta q],\mathbb E[\zeta^2q]`, because :math:`yq=(1-q)\alpha/m`.

Functions
---------
label_law           the law of (y, zeta), in panels of y
signed_spectrum     spectral data in the basis of \hat H, with hd = e_k^\top He_k
signed_covariance   bulk data of the covariances [(I+t_g\hat H)^2+e_gH]/d, each normalised to mean 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from onestep_lib._values import read_only
from onestep_lib.activations import Target
from onestep_lib.convergence import ConvergenceError
from onestep_lib.quadrature import gauss_legendre, gaussian_quadrature
from onestep_lib.small_step.gradient import label_moments
from onestep_lib.spiked_features.model import BulkCovariance


@dataclass(frozen=True, eq=False)
class LabelLaw:
    r"""The joint law of the label y and the projection zeta = :math:`\langle\beta_*,x\rangle`, in panels of
    y.

    Parameters
    ----------
    left, right : ndarray, shape (P,)
        On each panel y is uniform between the two (a point mass where they are equal).
    masses : ndarray, shape (3, P)
        Integrals of 1, zeta and zeta^2 over each panel: sums 1, 0 and 1.
    """

    left: np.ndarray
    right: np.ndarray
    masses: np.ndarray


# 1e-12 of the mass of zeta lies beyond the first; heavier labels ask for more, up to the last.
_ZETAS = (7.1, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0)
# The share of E y^2 that may lie beyond.
_BEYOND = 1e-6
_SPACING = 7.1 / 1200
_CELLS = 2_000


def _zeta_range(target: Target) -> float:
    """How far out the labels' second moment is made."""
    zeta, weights = gaussian_quadrature(target.kinks)
    power = weights * target(zeta) ** 2
    beyond = (limit for limit in _ZETAS if np.sum(power[np.abs(zeta) > limit]) <= _BEYOND * np.sum(power))
    return next(beyond, _ZETAS[-1])


def label_law(target: Target, noise: float) -> LabelLaw:
    r"""Return the law of (y, zeta), :math:`y=\sigma_*(\zeta)+` noise, in panels of y.

    Without noise the panels are those of a uniform grid in zeta, cut at the target's kinks, with y linear on
    each. With noise they are the cells of a uniform grid in y; a noise that such a grid does not resolve
    (2.5e-3 of the range of y) becomes two points, +noise and -noise.

    Examples
    --------
    >>> from onestep_lib.activations import target
    >>> from onestep_lib.large_step.batch_signed import label_law
    >>> law = label_law(target((0, 1)), noise=0.5)
    >>> middle = (law.left + law.right) / 2
    >>> print(f"E y^2 = {law.masses[0] @ middle**2:.3f}, E y zeta = {law.masses[1] @ middle:.3f}")
    E y^2 = 1.250, E y zeta = 1.000
    """
    limit = _zeta_range(target)
    kinks = [kink for kink in target.kinks if abs(kink) < limit]
    panels = 2 * int(np.ceil(limit / _SPACING - 1e-9))
    edges = np.union1d(np.linspace(-limit, limit, panels + 1), kinks)
    low, high = edges[:-1], edges[1:]
    inside = 1e-9 * (high - low)
    # Read inside the panel, so that a jump lies between two panels.
    left, right = target(low + inside), target(high - inside)
    bell_low, bell_high = (np.exp(-(edge**2) / 2) / np.sqrt(2 * np.pi) for edge in (low, high))
    # By symmetry from the lower tail, where the differences keep their digits.
    mass = np.abs(ndtr(-np.abs(high)) - ndtr(-np.abs(low)))
    across = low * high < 0
    mass[across] = (ndtr(high) - ndtr(low))[across]
    masses = np.stack([mass, bell_low - bell_high, low * bell_low - high * bell_high + mass])
    # Each chord is moved to the mean of y on its panel, so that the moments are good to the fourth order.
    bend = left + right - 2 * target((low + high) / 2)
    shift = target(masses[1] / mass) + bend / 6 - (left + right) / 2
    left, right = left + shift, right + shift
    masses /= mass.sum()
    if noise == 0.0:
        return LabelLaw(left, right, masses)
    middle = (left + right) / 2
    span = np.ptp(middle) + 16 * noise
    spacing = max(span / _CELLS, noise / 15)
    if noise < 5 * spacing:
        left, right = (np.concatenate([side + noise, side - noise]) for side in (left, right))
        return LabelLaw(left, right, np.hstack([masses, masses]) / 2)
    centres = middle.min() - 8 * noise + spacing * np.arange(int(span / spacing) + 3)
    place = (middle - centres[0]) / spacing
    cell = np.floor(place).astype(int)
    share = place - cell
    reach = int(np.ceil(8 * noise / spacing))
    # What sharing a mass between two cells and the width of a cell add to the variance.
    spread = noise**2 - spacing**2 * (masses[0] @ (share * (1 - share)) + 1 / 12)
    kernel = np.exp(-((spacing * np.arange(-reach, reach + 1)) ** 2) / (2 * spread))
    smooth = []
    for column in masses:
        spikes = np.bincount(cell, column * (1 - share), centres.size)
        spikes += np.bincount(cell + 1, column * share, centres.size)
        smooth.append(np.convolve(spikes, kernel / kernel.sum(), mode="same"))
    smoothed = np.array(smooth) / np.sum(smooth[0])
    return LabelLaw(centres - spacing / 2, centres + spacing / 2, smoothed)


@dataclass(frozen=True, eq=False)
class SignedSpectrum:
    r"""Spectral data of one gradient batch in the basis of :math:`\hat H`; every array has shape (K,).

    Parameters
    ----------
    h, square : ndarray
        Eigenvalues of :math:`\hat H` and their squares, averages over a bin.
    weights : ndarray
        Spectral weights, sum 1.
    vv, vt, tt : ndarray
        Weights of (v.e_k)^2, (v.e_k)(theta_p.e_k) and (theta_p.e_k)^2, v along the gradient and theta_p
        the part of the target direction across it: sums 1, 0 and 1.
    hd : ndarray
        e_k^T H e_k.
    """

    h: np.ndarray
    square: np.ndarray
    weights: np.ndarray
    vv: np.ndarray
    vt: np.ndarray
    tt: np.ndarray
    hd: np.ndarray


# Bins of h are uniform within _BIN_SCALE of 0 and logarithmic beyond, in units of the spectrum's standard
# deviation.
_BIN_SCALE, _BIN_WIDTH = 0.05, 0.16
_POINTS = 8
_SMALLEST = 1e-7
# A bin with less weight is rounding, and so is the eigenvalue read from it.
_ROUNDED = 1e-15
# Of the bulk, a bin holds shares of v and theta a few times its share of the trace.
_ISOLATED = 100.0
_MOMENTS = 1e-4
# Newton's method ends at the rounding of n/d (1 - E q), unless that would be seen.
_ROOT, _SEEN_ROOT = 1e-12, 1e-8
# Where four terms of a series have as many digits as a difference of logarithms.
_LONG = 0.02
# The rows of the bins' masses that are weights, and how far below 0 rounding may leave them.
_WEIGHTS, _NEGATIVE = [0, 1, 3], 1e-6


@lru_cache(maxsize=32)
def signed_spectrum(target: Target, noise: float, alpha: float) -> SignedSpectrum:
    r"""Return the spectral data in the basis of :math:`\hat H`, with hd = :math:`e_k^\top He_k`.

    What lies in a bin (a, b) of h is :math:`\frac1\pi\operatorname{Im}\int S\,dz` of a Stieltjes transform
    :math:`S(z)=\int d\mu(h)/(h-z)` along any path from a to b in the upper half-plane. The paths meet the
    axis at the edges of the bins only, so that an atom (at 0 for n < d, of mass 1 - alpha), an isolated
    eigenvalue or a singular density (at 0 for n = d) needs no care, and the bins add up to the whole.

    Parameters
    ----------
    target : Target
    noise : float
        Standard deviation of the label noise.
    alpha : float
        n/d of the gradient's batch (:math:`n_0/d` where the ridge batch has another size).

    Returns
    -------
    SignedSpectrum

    Raises
    ------
    ConvergenceError
        If Newton's method stops, or the traces of :math:`\hat H`, its square and H, or the sums of the
        weights are off by 1e-4.

    Examples
    --------
    >>> from onestep_lib.activations import target
    >>> from onestep_lib.large_step.batch_signed import signed_spectrum
    >>> data = signed_spectrum(target("sign"), noise=1, alpha=4)
    >>> print(f"{data.weights @ data.square:.3f} {data.weights @ data.hd:.3f}")  # E y^2/alpha and E y^2
    0.500 2.000
    """
    law = label_law(target, noise)
    labels = label_moments(target, noise)
    power = labels.square
    norm, gamma = labels.direction_power(1 / alpha), labels.alignment(1 / alpha)
    unit = np.sqrt(power / alpha)
    edges = _bin_edges(law, alpha, unit)

    def measures(z: np.ndarray) -> np.ndarray:
        trace, star, cross, gradient, traced = _continued_forms(law, alpha, -z)
        # From beta_* and g, |g|^2 = norm, to the directions v and theta_perp.
        vv, v_star = gradient / norm, cross / np.sqrt(norm)
        tt = (star - 2 * gamma * v_star + gamma**2 * vv) / (1 - gamma**2)
        vt = (v_star - gamma * vv) / np.sqrt(1 - gamma**2)
        return np.stack([trace, vv, vt, tt, traced, trace * z, trace * z**2, (vv + tt) * z])

    spectrum = _nodes(_join(_bin_masses(measures, edges)), unit, power)
    _check_moments(spectrum, target.c0, power, alpha)
    return read_only(spectrum)


def signed_covariance(
    target: Target, noise: float, alpha: float, tilts: ArrayLike, strengths: ArrayLike
) -> BulkCovariance:
    r"""Return the bulk data of the covariances :math:`[(I+t_g\hat H)^2+e_gH]/d`, each normalised to mean 1.

    H enters by its diagonal in the basis of :math:`\hat H`.

    Parameters
    ----------
    target, noise, alpha
        As in `signed_spectrum`, which takes up to a second, and is kept for this process.
    tilts, strengths : array_like, shape (G,)
        t_g and :math:`e_g\ge0`, one a group.

    Examples
    --------
    >>> from onestep_lib.activations import target
    >>> from onestep_lib.large_step.batch_signed import signed_covariance
    >>> bulk = signed_covariance(target("sign"), noise=1, alpha=4, tilts=[0, 0.5], strengths=[0, 0.3])
    >>> print((bulk.scales @ bulk.weights).round(3), bulk.scales.max(axis=1).round(1))
    [1. 1.] [1.  4.3]
    """
    t, e = np.asarray(tilts), np.asarray(strengths)
    data = signed_spectrum(target, noise, alpha)
    scales = 1 + np.outer(2 * t, data.h) + np.outer(t**2, data.square) + np.outer(e, data.hd)
    normalised = scales / (scales @ data.weights)[:, None]
    return BulkCovariance(data.weights, data.vv, data.vt, data.tt, normalised)


def _bin_edges(law: LabelLaw, alpha: float, unit: float) -> np.ndarray:
    # No eigenvalue exceeds max |y| times the largest one of X^T X/n.
    largest = max(np.max(np.abs(law.left)), np.max(np.abs(law.right))) * (1 + 1 / np.sqrt(alpha)) ** 2
    count = int(np.ceil(np.arcsinh(1.1 * largest / unit / _BIN_SCALE) / _BIN_WIDTH))
    # One bin has its middle at 0.
    return unit * _BIN_SCALE * np.sinh(_BIN_WIDTH * (np.arange(-count, count + 1) + 0.5))


def _bin_masses(measures: Callable[[np.ndarray], np.ndarray], edges: np.ndarray) -> np.ndarray:
    """(1/pi) Im of the integrals of the rows of measures(z) from edge to edge, shape (rows, bins)."""
    points, weights = gauss_legendre(_POINTS)
    share, weights = (points + 1) / 2, weights / 2
    tops = edges + 0.5j * np.gradient(edges)
    # Down a leg the nodes crowd towards the axis like s^2.
    legs = edges[:, None] + (tops - edges)[:, None] * share[::-1] ** 2
    across = tops[:-1, None] + np.diff(tops)[:, None] * share
    path = [leg if j == 0 else np.concatenate([across[j - 1], leg]) for j, leg in enumerate(legs)]
    values = measures(np.concatenate(path))
    rows = values.shape[0]
    first, rest = values[:, :_POINTS], values[:, _POINTS:].reshape(rows, edges.size - 1, 2, _POINTS)
    down = np.concatenate([first[:, None], rest[:, :, 1]], axis=1)
    leg_parts = down @ (2 * share * weights)[::-1] * (tops - edges)
    steps = rest[:, :, 0] @ weights * np.diff(tops)
    return (leg_parts[:, :-1] + steps - leg_parts[:, 1:]).imag / np.pi


def _join(masses: np.ndarray) -> np.ndarray:
    """Join bins until no weight is negative.

    An isolated eigenvalue close to an edge is shared wrongly between its two bins; their sum is right.
    """
    while np.min(masses[_WEIGHTS]) < -_NEGATIVE:
        row, j = np.unravel_index(np.argmin(masses[_WEIGHTS]), masses[_WEIGHTS].shape)
        beside = [k for k in (j - 1, j + 1) if 0 <= k < masses.shape[1]]
        largest = max(beside, key=lambda k: masses[_WEIGHTS][row, k])
        masses[:, largest] += masses[:, j]
        masses = np.delete(masses, j, axis=1)
    return masses


def _nodes(masses: np.ndarray, unit: float, power: float) -> SignedSpectrum:
    """One node a bin, and one more for an isolated eigenvalue, which lies along v and theta."""
    w, vv, vt, tt, wd, wh, whh, directed = masses
    # The few labels far out carry a share of the traces that their number does not show.
    traced = (w + whh / unit**2 > _SMALLEST) & (w > _ROUNDED)
    alone = vv + tt > np.maximum(_SMALLEST, _ISOLATED * w)
    h = directed[alone] / (vv + tt)[alone]
    # It has no share of the trace, and takes the mean of e_k H e_k.
    return SignedSpectrum(
        h=np.append(wh[traced] / w[traced], h),
        square=np.append(whh[traced] / w[traced], h**2),
        weights=np.append(w[traced], np.zeros_like(h)),
        vv=np.append(np.where(alone, 0.0, vv)[traced], vv[alone]),
        vt=np.append(np.where(alone, 0.0, vt)[traced], vt[alone]),
        tt=np.append(np.where(alone, 0.0, tt)[traced], tt[alone]),
        hd=np.append(np.maximum(wd[traced], 0.0) / w[traced], np.full_like(h, power)),
    )


def _check_moments(spectrum: SignedSpectrum, mean: float, power: float, alpha: float) -> None:
    r"""Raise unless the sums and the traces of :math:`\hat H`, :math:`\hat H^2` and H are right: a lost
    branch shows there."""
    w, unit = spectrum.weights, np.sqrt(power / alpha)
    sums = w.sum() - 1, spectrum.vv.sum() - 1, spectrum.vt.sum(), spectrum.tt.sum() - 1
    square = power / alpha + mean**2
    traces = (w @ spectrum.h - mean) / unit, w @ spectrum.square / square - 1, w @ spectrum.hd / power - 1
    worst = float(np.max(np.abs(sums + traces)))
    if not worst < _MOMENTS:
        reason = (
            "the bins of the batch matrix miss some of its trace: the labels may be too heavy-tailed, or n/d "
            "too far from 1; an odd activation, or bulk='isotropic' of the giant step, does not need them"
        )
        raise ConvergenceError("signed_spectrum (moments)", worst, {"power": power, "alpha": alpha}, reason)


def _continued_forms(law: LabelLaw, alpha: float, x: np.ndarray) -> np.ndarray:
    """`_quadratic_forms` along a path x below the axis, shape (5, len(x))."""
    forms = np.empty((5, x.size), dtype=np.complex128)
    m, last = _descend(law, alpha, x[0]), x[0]
    for j, point in enumerate(x):
        # Beside an atom at 0 it is x m that changes slowly.
        guess = m * last / point if alpha < 1 else m
        m, last = _follow(law, alpha, point, guess), point
        forms[:, j] = _quadratic_forms(law, alpha, point, m)
    return forms


def _follow(law: LabelLaw, alpha: float, x: complex, guess: complex) -> complex:
    """m at x by Newton from its neighbour; where that leaves the branch, from far below the axis."""
    try:
        m = _newton(law, alpha, x, guess)
    except ConvergenceError:
        return _descend(law, alpha, x)
    return m if m.imag > 0 and abs(m - guess) < 0.5 * abs(guess) else _descend(law, alpha, x)


def _descend(law: LabelLaw, alpha: float, x: complex) -> complex:
    """m at x by continuation from far below the axis, where m = 1/x."""
    depths = np.geomspace(3e3 * (1 + np.max(np.abs(law.right)) + abs(x)), -x.imag, 90)
    m = 1 / complex(x.real, -depths[0])
    for depth in depths:
        m = _newton(law, alpha, complex(x.real, -depth), m)
    if m.imag <= 0:
        raise ConvergenceError("signed_spectrum", float(-m.imag), {"x": x, "alpha": alpha})
    return m


def _newton(law: LabelLaw, alpha: float, x: complex, start: complex) -> complex:
    """The root m of m x + alpha (1 - E q) = 1 next to `start`."""
    m, tolerance = start, min(max(_ROOT, 32 * np.finfo(float).eps * alpha), _SEEN_ROOT)
    for _ in range(100):
        q, square = _panel_means(law, m / alpha)
        mean = complex(law.masses[0] @ q)
        # The derivative of alpha (1 - E q) in m is E[y q^2] = (E q - E q^2) alpha/m.
        fall = (mean - complex(law.masses[0] @ square)) * alpha / m
        change = (m * x + alpha * (1 - mean) - 1) / (x + fall)
        # Below the axis (Im x < 0) the branch has Im m > 0; a full step may cross the cut, so shorten it.
        while (m - change).imag <= 0 < m.imag:
            change /= 2
        m = m - change
        if abs(change) <= tolerance * abs(m):
            return m
    raise ConvergenceError("signed_spectrum", abs(change / m), {"x": x, "alpha": alpha})


def _panel_means(law: LabelLaw, s: complex) -> tuple[np.ndarray, np.ndarray]:
    """Averages of q = 1/(1 + y s) and q^2 over each panel."""
    low, high = 1 + s * law.left, 1 + s * law.right
    square, middle = 1 / (low * high), (low + high) / 2
    half = (high - low) / (2 * middle)
    # atanh(half)/half/middle: as a series, or by logarithms, which cost much more and lose the digits of a
    # small `half`; the segment from low to high never meets the negative axis.
    even = half * half
    q = (1 + even * (1 / 3 + even * (1 / 5 + even / 7))) / middle
    long = np.abs(half) > _LONG
    low, high = low[long], high[long]
    q[long] = (np.log(high) - np.log(low)) / (high - low)
    return q, square


def _quadratic_forms(law: LabelLaw, alpha: float, x: complex, m: complex) -> tuple[complex, ...]:
    r"""tr G/d, :math:`\beta_*` G :math:`\beta_*`, :math:`\beta_*` G g, g G g and tr HG/d at one x."""
    s = m / alpha
    q, _ = _panel_means(law, s)
    mean, first, second = (complex(value) for value in law.masses @ q)
    label = law.masses[0] @ (law.left + law.right) / 2
    power = (label - (1 - mean) / s) / s
    star = 1 / (x + (1 - second) / s)
    overlap = -first / s
    return m, star, star * overlap, s * power + star * overlap**2, m * power
