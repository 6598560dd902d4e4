r"""How much the lengths of the rows fluctuate after a gradient step.

Off the spike direction a row becomes :math:`b=w+\delta g`, :math:`\delta=\eta z/\sqrt N` with the readout
:math:`a_j=z/\sqrt N`, and

.. math:: g=\frac1n\sum_iy_if(w\cdot x_i)x_i,\quad f=\sigma'-c_1,\qquad
          \nu=\frac d2\frac{\mathrm{Var}|b|^2}{(\mathbb E|b|^2)^2}
             =\frac{p^\top\mathcal Cp}{(\bar q\cdot p)^2},\quad p=(1,\delta,\delta^2),

with the mean :math:`\bar q` and (d/2 times) the covariance :math:`\mathcal C` of
:math:`q=(|w|^2,2w\cdot g,|g|^2)` over the rows w at a fixed batch. Every entry is closed, in the limit of
large n and d at :math:`\phi=d/n`, n the samples of the gradient's batch (:math:`n_0` of a setting); at finite
size it is off by O(1/n) + O(1/d).

**Derivation.** Let :math:`\xi_i=w\cdot x_i` and :math:`x_i^\perp` the part of :math:`x_i` across w. Then

.. math:: w\cdot g=S=\frac1n\sum_iy_i\xi_if(\xi_i),\qquad |g|^2=\frac{S^2}{|w|^2}+D+O,\qquad
          D=\frac\phi n\sum_iy_i^2f(\xi_i)^2,

and O is the sum over :math:`i\ne j` of :math:`y_iy_jf(\xi_i)f(\xi_j)\,x_i^\perp\cdot x_j^\perp/n^2`. The
:math:`x_i^\perp` do not depend on the :math:`\xi_i`, so that O has mean 0, no covariance with the rest and
the variance :math:`2(\phi\,\mathrm{Var}(\sigma')\,\mathbb Ey^2)^2/d`. Averages over the samples such as S
and D share what all samples have in common: the component of w along the target and, for Gaussian rows,
the length of w. The Hermite expansion in :math:`\xi` with the correlations :math:`x_i\cdot x_j/d` gives

.. math:: d\,\mathrm{Cov}\Big(\frac1n\sum_iA(\xi_i,y_i),\frac1n\sum_iB(\xi_i,y_i)\Big)
          =\phi\,\mathbb E_y\mathrm{Cov}_\zeta(A,B)+\mathbb E[A\zeta\zeta_*]\,\mathbb E[B\zeta\zeta_*]
          +\tfrac12\mathbb E[A\,He_2(\zeta)]\,\mathbb E[B\,He_2(\zeta)],

the last term for Gaussian rows only, :math:`\zeta` independent of :math:`y=\sigma_*(\zeta_*)+` noise;
:math:`|w|^2-1` joins with the value 2 for its :math:`\mathbb E[A\,He_2]` and 0 for the rest. To leading
order :math:`\delta(S^2/|w|^2)=2\bar S\,\delta S-\bar S^2\,\delta|w|^2` with
:math:`\bar S=\mathbb Ey\,\mathbb E[\zeta\sigma']`, which makes

.. math:: \bar q=\big(1,\ 2\bar S,\ \bar S^2+\phi\,\mathrm{Var}(\sigma')\,\mathbb Ey^2\big).

Gaussian rows of the same covariance would give up to nine times too much for relu at eta ~ sqrt(N): w.g
is a quadratic form in w that largely cancels the tilt by :math:`\hat H`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from onestep_lib._values import read_only
from onestep_lib.activations import Activation, Target
from onestep_lib.quadrature import gaussian_quadrature
from onestep_lib.settings import Setting
from onestep_lib.small_step.gradient import label_moments


@dataclass(frozen=True, eq=False)
class RowLengths:
    r"""Moments of the three parts of a row's squared length, :math:`q=(|w|^2,2w\cdot g,|g|^2)`.

    The bulk row is :math:`w+\delta g`, :math:`\delta=\eta z/\sqrt N`,
    :math:`g=\frac1n\sum_iy_i(\sigma'(w\cdot x_i)-c_1)x_i`.

    Parameters
    ----------
    mean : ndarray, shape (3,)
    covariance : ndarray, shape (3, 3)
        (d/2) Cov(q) over rows at a fixed batch.
    """

    mean: np.ndarray
    covariance: np.ndarray

    def nu(self, shift: ArrayLike) -> np.ndarray:
        r"""Return :math:`\nu=\frac d2\mathrm{Var}|b|^2/(\mathbb E|b|^2)^2` at each shift, of any shape."""
        shift = np.asarray(shift, dtype=float)
        powers = np.stack([np.ones_like(shift), shift, shift**2], axis=-1)
        variance = np.sum((powers @ self.covariance) * powers, axis=-1)
        return np.maximum(variance, 0.0) / (powers @ self.mean) ** 2


def expected_lengths(setting: Setting) -> RowLengths:
    r"""Return the row lengths of a setting, one value for all its step sizes, penalties and widths.

    The formulas of this module, in the limit of large n and d.

    Parameters
    ----------
    setting : Setting
        Its activation, target (also with a mean), noise, rows and d/n_0 matter.

    Raises
    ------
    ValueError
        If the activation has no derivative.

    Examples
    --------
    >>> from onestep_lib import Setting
    >>> from onestep_lib.large_step.row_lengths import expected_lengths
    >>> for rows in ("gaussian", "spherical"):
    ...     setting = Setting(n=400, d=200, N=300, rows=rows)
    ...     print(expected_lengths(setting).nu([0, 1]).round(3))
    [1.    1.356]
    [0.    0.409]
    """
    gaussian = setting.rows == "gaussian"
    return _lengths(setting.activation, setting.single_index(), setting.noise, setting.phi_0, gaussian)


@lru_cache(maxsize=32)
def _lengths(sigma: Activation, target: Target, noise: float, phi: float, gaussian: bool) -> RowLengths:
    zeta, weights = gaussian_quadrature(sigma.kinks)
    slope = sigma.require_slope()(zeta)
    rest = slope - weights @ slope
    labels = label_moments(target, noise)
    power = np.array([1.0, labels.mean, labels.square, labels.cube, labels.fourth])
    along = np.array([labels.linear, labels.square_linear])
    # The two averages over the samples, S and D, are products of a power of y and one of these.
    parts = np.stack([zeta * rest, phi * rest**2])
    means = parts @ weights
    centred = parts - means[:, None]
    own = phi * power[[[2, 3], [3, 4]]] * ((centred * weights) @ centred.T)
    shared = along * (parts @ (weights * zeta))
    variances = np.zeros((3, 3))
    variances[1:, 1:] = own + np.outer(shared, shared)
    if gaussian:
        length = np.append(2.0, power[1:3] * (parts @ (weights * (zeta**2 - 1))))
        variances += np.outer(length, length) / 2
    tilt, spread = labels.mean * means[0], labels.square * means[1]
    response = np.array([[1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [-(tilt**2), 2 * tilt, 1.0]])
    covariance = response @ variances @ response.T / 2
    covariance[2, 2] += spread**2
    return read_only(RowLengths(np.array([1.0, 2 * tilt, tilt**2 + spread]), covariance))
