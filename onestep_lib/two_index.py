r"""Targets of two directions, :math:`y=g(z_1,z_2)+` noise with two independent standard Gaussians.

In a `.Setting` :math:`z_k=\langle\beta_k,x\rangle` for two orthonormal directions; in a
`onestep_lib.spiked_features.model.SpikedModel` z_1 is the spike coordinate and z_2 one direction across it.

**What a linear fit or one gradient step sees.** Both see the target through its mean slopes
:math:`s_k=\mathbb E[g\,z_k]`, that is, through the single direction
:math:`\beta_{lin}=(s_1\beta_1+s_2\beta_2)/|s|`, along which its linear coefficient is :math:`c_{*,1}=|s|`.
Along that direction the target has the Hermite coefficients
:math:`c_{*,q}=\mathbb E[g\,He_q(t)]/q!`, :math:`t=\langle\beta_{lin},x\rangle`; all that is not linear in it
acts as noise on what sees linear parts alone. (For s = 0 there is no such direction; beta_1 stands for it,
and every overlap is 0.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.polynomial import hermite_e
from numpy.typing import ArrayLike
from scipy.special import factorial

from onestep_lib._checks import check_callable, check_count, check_size, check_text, check_vector, shown
from onestep_lib._values import read_only
from onestep_lib.quadrature import evaluate, gaussian_quadrature

__all__ = [
    "TwoIndexTarget",
]

# Beyond it the Gaussian weight is 1e-17 in all; a smooth target needs no more nodes than these hold.
_REACH = 8.5


@dataclass(frozen=True)
class TwoIndexTarget:
    r"""A target :math:`y=g(z_1,z_2)+` noise of two directions.

    Parameters
    ----------
    function : callable
        g, vectorised over two arrays of one shape.
    name : str
    kinks : tuple of float
        Every z_2 where g jumps or bends, at any z_1. (A jump in z_1 elsewhere than at multiples of 1/2 costs
        the numbers of a gradient some digits.)

    Examples
    --------
    >>> import numpy as np
    >>> from onestep_lib.two_index import TwoIndexTarget
    >>> both = TwoIndexTarget(lambda s, t: 3 * s + 4 * t + s * t)
    >>> print(both.slopes.round(6), f"{both.linear:.4f} {both.nonlinear_power:.4f}")
    [3. 4.] 5.0000 1.0000
    """

    function: Callable[[np.ndarray, np.ndarray], np.ndarray]
    name: str = "g(z_1, z_2)"
    kinks: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        check_callable("function", self.function, "a callable of two arrays")
        object.__setattr__(self, "name", check_text("name", self.name))
        object.__setattr__(self, "kinks", tuple(check_vector("kinks", self.kinks).tolist()))

    def __call__(self, z: np.ndarray) -> np.ndarray:
        """The target at points whose last axis holds the two projections."""
        return self.function(z[..., 0], z[..., 1])

    @cached_property
    def _moments(self) -> np.ndarray:
        """E g, E g z_1, E g z_2 and E g^2, rounding set to 0."""
        points, weights, values = _averages(self)
        power = float(weights @ values**2)
        found = np.array([weights @ values, *((weights * values) @ points)])
        return np.append(np.where(np.abs(found) < 1e-13 * np.sqrt(power), 0.0, found), power)

    @property
    def c0(self) -> float:
        """The mean E g."""
        return float(self._moments[0])

    @property
    def second_moment(self) -> float:
        """E g^2."""
        return float(self._moments[3])

    @property
    def slopes(self) -> np.ndarray:
        """The mean slopes E[g z_k] along the two directions, shape (2,)."""
        return self._moments[1:3].copy()

    @property
    def linear(self) -> float:
        r"""The linear coefficient :math:`c_{*,1}=|s|`."""
        return float(np.linalg.norm(self.slopes))

    @property
    def power(self) -> float:
        r"""The power without the mean, :math:`c_*^2`."""
        return self.second_moment - self.c0**2

    @property
    def nonlinear_power(self) -> float:
        """The power beyond mean and linear part."""
        left = self.power - self.linear**2
        return left if left > 1e-13 * self.second_moment else 0.0

    def along_slopes(self, z: ArrayLike) -> np.ndarray:
        """The projection on beta_lin of points whose last axis holds the two projections."""
        return np.asarray(z) @ (self.slopes / self.linear if self.linear else np.array([1.0, 0.0]))

    def coefficients(self, order: int) -> np.ndarray:
        r"""Return the Hermite coefficients along beta_lin, :math:`c_0,\dots,c_{\text{order}}`."""
        points, weights, values = _averages(self)
        polynomials = hermite_e.hermevander(self.along_slopes(points), order)
        return (weights * values) @ polynomials / factorial(np.arange(order + 1))

    def coefficient(self, k: int) -> float:
        """Return the Hermite coefficient :math:`c_k` along beta_lin."""
        return float(self.coefficients(check_count("k", k, minimum=0, maximum=40))[k])

    def label_samples(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Projections on beta_lin, weights and values, for averages of labels; read-only."""
        points, weights, values = _averages(self)
        return read_only((self.along_slopes(points), weights, values))


@lru_cache(maxsize=8)
def _averages(target: TwoIndexTarget) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points (K, 2), weights and values for averages over the two Gaussians, read-only."""
    axes = [gaussian_quadrature(kinks) for kinks in ((), target.kinks)]
    axes = [(z[np.abs(z) < _REACH], weights[np.abs(z) < _REACH]) for z, weights in axes]
    first, second = (axis.ravel() for axis in np.meshgrid(axes[0][0], axes[1][0], indexing="ij"))
    weights = np.multiply.outer(axes[0][1], axes[1][1]).ravel()
    name = f"target {shown(target.name)}"
    values = evaluate(lambda z: target.function(first, z), second, name)
    check_size(name, np.abs(values).max())
    return read_only((np.stack([first, second], axis=-1), weights, values))
