r"""The joint law of a label y and the projection :math:`\zeta=\langle\beta_*,x\rangle`, in panels of y."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from onestep_lib.activations import Target
from onestep_lib.quadrature import gaussian_quadrature


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
    >>> from onestep_lib.large_step.labels import label_law
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
