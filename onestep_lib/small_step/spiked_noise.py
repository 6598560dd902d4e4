r"""One spike in a random matrix: a rank-one part of strength :math:`\theta` in N rows of noise.

.. math:: M=Z+\theta\,uv^\top,\qquad Z_{ij}\sim N(0,1/d)\ \text{independent},\quad |u|=|v|=1,
          \quad c=N/d ,

with u (N,) and v (d,) independent of Z. The resolvent of the symmetric matrix that has Z in its corners has
the averages :math:`g_N=\frac sN\operatorname{tr}(s^2-ZZ^\top)^{-1}` and
:math:`g_d=\frac sd\operatorname{tr}(s^2-Z^\top Z)^{-1}`, for which leaving one row or one column out gives
(:eq:`eq-spike-pair`)

.. math:: g_N=\frac1{s-g_d},\qquad g_d=\frac1{s-c\,g_N} .

Their product :math:`P=g_Ng_d` solves :math:`s^2=(1+P)(1+cP)/P` (:eq:`eq-spike-product`). It grows from 0 at
:math:`s=\infty` to :math:`1/\sqrt c` at the edge :math:`1+\sqrt c` of the singular values of Z, and M has a
singular value to the right of the edge where :math:`\theta^2P=1` (:eq:`eq-spike-condition`): iff
:math:`\theta>c^{1/4}`, at (:eq:`eq-spike-outlier`)

.. math:: s^2=\frac{(1+\theta^2)(c+\theta^2)}{\theta^2},\qquad
          \langle u,p\rangle^2=\frac{\theta^4-c}{\theta^2(\theta^2+c)},\qquad
          \langle v,q\rangle^2=\frac{\theta^4-c}{\theta^2(\theta^2+1)}

for its singular vectors p and q (:eq:`eq-spike-overlaps`; Baik, Ben Arous and Peche 2005;
Benaych-Georges and Nadakuditi 2012, for rectangular matrices).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from onestep_lib._checks import check_complex, check_nonnegative, check_number, check_positive, shown
from onestep_lib._values import plain

__all__ = [
    "noise_resolvents",
    "one_spike",
]

# Of a point that lies on the edge, relative.
_ROUNDING = 1e-15


@dataclass(frozen=True, eq=False)
class OneSpike:
    """The largest singular value of noise with one spike; arrays of the shape of the strengths.

    Parameters
    ----------
    edge : float
        The right end of the singular values of the noise.
    threshold : float
        The strength at which a singular value leaves them.
    outlier : float or ndarray
        The largest singular value; the edge where nothing has left.
    left, right : float or ndarray
        Squared overlaps of its left vector with u, and of its right vector with v.
    """

    edge: float
    threshold: float
    outlier: float | np.ndarray
    left: float | np.ndarray
    right: float | np.ndarray


def one_spike(strength: ArrayLike, ratio: float) -> OneSpike:
    r"""Return edge, threshold, outlier and overlaps of noise with one spike, in the limit.

    Parameters
    ----------
    strength : array_like
        :math:`\theta\ge0`, the singular value of the rank-one part.
    ratio : float
        c = N/d > 0, rows over columns; the entries of the noise have variance 1/d.

    Returns
    -------
    OneSpike
        Arrays of the shape of `strength`; overlaps are 0 where nothing has left the bulk.

    Raises
    ------
    ValueError
        For a negative strength or a ratio that is not positive.

    Examples
    --------
    >>> from onestep_lib.small_step import one_spike
    >>> found = one_spike([0.5, 2], ratio=1)
    >>> print(found.threshold, found.outlier, found.left)  # square: theta + 1/theta and 1 - 1/theta^2
    1.0 [2.  2.5] [0.   0.75]
    """
    strength = check_nonnegative("strength", strength)
    ratio = check_number("ratio", ratio, check_positive)
    outlier, left, right = outlier_at(np.square(strength), ratio)
    return OneSpike(float(1 + ratio**0.5), ratio**0.25, *map(plain, (outlier, left, right)))


def outlier_at(square: np.ndarray, ratio: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The outlier and both squared overlaps for the square of the strength (below the threshold: edge, 0)."""
    T = np.maximum(square, ratio**0.5)
    gap = np.where(square > ratio**0.5, T**2 - ratio, 0.0)
    return np.sqrt((1 + T) * (ratio + T) / T), gap / (T * (T + ratio)), gap / (T * (T + 1))


def noise_resolvents(s: ArrayLike, ratio: float) -> tuple[np.ndarray, np.ndarray]:
    r"""Return :math:`g_N,g_d` of the noise at points to the right of its singular values, or off the axis.

    Parameters
    ----------
    s : array_like
        Real points s >= 1 + sqrt(ratio), or complex ones with Im s > 0 and Re s > 0. Just above the axis
        :math:`-\operatorname{Im}g_N/\pi` is half the density of the singular values (the other half lies at
        -s).
    ratio : float
        c = N/d > 0.

    Raises
    ------
    ValueError
        For a real point inside the bulk, or a complex one that is not in the upper right quadrant.

    Examples
    --------
    >>> from onestep_lib.small_step import noise_resolvents
    >>> rows, columns = noise_resolvents(2.5, ratio=1)
    >>> print(rows, columns, rows * columns)  # the product is 1/theta^2 for the outlier of theta = 2
    0.5 0.5 0.25
    """
    s, ratio = check_complex("s", s), check_number("ratio", ratio, check_positive)
    edge = 1 + ratio**0.5
    outside = (s.imag == 0) & (s.real >= edge * (1 - _ROUNDING))
    if not np.all(outside | ((s.imag > 0) & (s.real > 0))):
        raise ValueError(
            f"s must be real and >= {edge:.6g}, the edge of the noise, or lie in the upper right quadrant, "
            f"got {shown(s)}"
        )
    # c P^2 - (s^2 - 1 - c) P + 1 = 0; the root that vanishes far out, in the form without a difference.
    half = (s**2 - 1 - ratio) / 2
    above = np.where(outside, np.maximum((s**2 - edge**2).real, 0.0), s**2 - edge**2)
    P = 1 / (half + np.sqrt(s**2 - (1 - ratio**0.5) ** 2) * np.sqrt(above) / 2)
    rows, columns = (1 + P) / s, (1 + ratio * P) / s
    return (rows.real, columns.real) if np.all(outside) else (rows, columns)
