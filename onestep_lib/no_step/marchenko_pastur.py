r"""Averages over the Marchenko-Pastur law, in closed form.

For X, n by d, with independent standard entries and n/d -> c, let x be an eigenvalue of the n by n
matrix X X^T/d, drawn at random. The average :math:`p=\mathbb E[1/(1+vx)]` solves
(:eq:`eq-ge-marchenko-pastur`; Marchenko and Pastur 1967)

.. math:: cv\,p^2+\big(1+v(1-c)\big)p-1=0 ,

and the other averages follow from it and its derivative in v.

Functions
---------
marchenko_pastur_edges     the law of X^T X/n
marchenko_pastur_density   the law of X^T X/n
marchenko_pastur_means     E[x^j/(1 + v x)^i] for the pairs (j, i) that ridge regression needs
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from onestep_lib._checks import check_broadcast, check_nonnegative, check_number, check_positive

__all__ = [
    "marchenko_pastur_density",
    "marchenko_pastur_edges",
    "marchenko_pastur_means",
]


def marchenko_pastur_edges(ratio: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    r"""Return the edges :math:`(1\mp\sqrt{\text{ratio}})^2` of X^T X/n, ratio = d/n, X n by d.

    Examples
    --------
    >>> from onestep_lib.no_step import marchenko_pastur_edges
    >>> low, high = marchenko_pastur_edges(0.25)
    >>> print(low, high)
    0.25 2.25
    """
    root = np.sqrt(check_positive("ratio", ratio))
    return (1 - root) ** 2, (1 + root) ** 2


def marchenko_pastur_density(x: ArrayLike, ratio: float) -> np.ndarray:
    r"""Return the density of the eigenvalues of :math:`X^\top X/n` at points x > 0.

    :math:`\sqrt{(x_+-x)(x-x_-)}/(2\pi\,\text{ratio}\,x)` between the edges (Marchenko and Pastur 1967). For
    ratio > 1 the law has also an atom 1 - 1/ratio at 0.

    Parameters
    ----------
    x : array_like
    ratio : float
        d/n > 0, for X n by d with independent standard entries.

    Returns
    -------
    ndarray, the shape of x

    Examples
    --------
    >>> import numpy as np
    >>> from onestep_lib.no_step import marchenko_pastur_density, marchenko_pastur_edges
    >>> x = np.linspace(*marchenko_pastur_edges(0.25), 10_000)
    >>> print(f"{np.trapezoid(marchenko_pastur_density(x, 0.25), x):.3f}")
    1.000
    """
    x = check_positive("x", x)
    ratio = check_number("ratio", ratio, check_positive)
    low, high = marchenko_pastur_edges(ratio)
    inside = np.maximum((high - x) * (x - low), 0.0)
    return np.sqrt(inside) / (2 * np.pi * ratio * x)


@dataclass(frozen=True, eq=False)
class MarchenkoPasturMeans:
    """Averages over the Marchenko-Pastur eigenvalue x.

    Parameters
    ----------
    p, g : ndarray
        E[1/(1 + v x)] and E[x/(1 + v x)].
    p2, g2, h2 : ndarray
        E[1/(1 + v x)^2], E[x/(1 + v x)^2] and E[x^2/(1 + v x)^2].
    """

    p: np.ndarray
    g: np.ndarray
    p2: np.ndarray
    g2: np.ndarray
    h2: np.ndarray


def marchenko_pastur_means(v: ArrayLike, c: ArrayLike) -> MarchenkoPasturMeans:
    r"""Return the averages of `MarchenkoPasturMeans`; the arguments broadcast.

    Parameters
    ----------
    v : array_like
        Points v >= 0.
    c : array_like
        The ratio n/d > 0.

    Returns
    -------
    MarchenkoPasturMeans
        Good to 13 digits: no difference of nearly equal numbers is taken.

    Raises
    ------
    ValueError
        For a negative v or a c that is not positive.

    Examples
    --------
    >>> from onestep_lib.no_step import marchenko_pastur_means
    >>> means = marchenko_pastur_means(0, 0.5)
    >>> print(f"{means.g:.4f} {means.h2:.4f}")  # E x = 1 and E x^2 = 1 + c
    1.0000 1.5000
    """
    return closed_means(*check_broadcast(v=check_nonnegative("v", v), c=check_positive("c", c)))


def closed_means(v: np.ndarray, c: np.ndarray) -> MarchenkoPasturMeans:
    """`marchenko_pastur_means` for numbers that were checked before."""
    root_c = c**0.5
    low, high = (1 - root_c) ** 2, (1 + root_c) ** 2
    s = ((1 + v * low) * (1 + v * high)) ** 0.5
    plus, minus = 1 + v * (1 + c), 1 + v * (1 - c)
    g = 2 / (plus + s)
    # Two forms of the same root: each is used where it adds numbers of one sign.
    positive = minus >= 0
    safe = np.where(positive, minus + s, 1.0)
    p_atom = (s - minus) / (2 * c * np.where(positive, 1.0, v))
    p = np.where(positive, 2 / safe, p_atom)
    g2 = g / s
    p2 = np.where(positive, 2 * (1 + plus / s) / safe**2, p - v * g2)
    s_slope = (low * (1 + v * high) + high * (1 + v * low)) / (2 * s)
    h2 = g**2 / 2 * ((1 + c) + s_slope)
    return MarchenkoPasturMeans(p, g, p2, g2, h2)
