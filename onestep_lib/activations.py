r"""Scalar functions of a Gaussian: the activation :math:`\sigma` and the target :math:`\sigma_*`.

Both are described by the same numbers (see :mod:`onestep_lib.hermite`):

.. math:: c_k=\frac{\mathbb E[\sigma(Z)He_k(Z)]}{k!},\qquad
          c_{>1}^2=\mathbb E\,\sigma(Z)^2-c_0^2-c_1^2 .

(:eq:`eq-hermite-coefficients`, :eq:`eq-hermite-nonlinear`). The power :math:`c_{>1}^2` of the non-linear
part comes from :math:`\mathbb E\sigma^2`, never from a truncated sum.

Functions
---------
centred      \sigma-c_0, the activation without its mean
activation   activation of that name, or wrap a callable
target       a target from a name, Hermite coefficients c_{*,k} or a smooth callable
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, TypeVar

import numpy as np
from numpy.polynomial import hermite_e
from scipy.special import erf, expit, ndtr

from onestep_lib._checks import check_callable, check_count, check_size, check_text, check_vector, shown
from onestep_lib.hermite import hermite_coefficients
from onestep_lib.quadrature import ScalarFunction, evaluate, gaussian_quadrature, require_resolved

__all__ = [
    "Activation",
    "Target",
    "activation",
    "centred",
    "target",
]

Entry = TypeVar("Entry", bound="_GaussianFunction")
_TAIL = 13.0
_WIDTH = 5e-3


@dataclass(frozen=True)
class _GaussianFunction:
    """A function of a standard Gaussian, with its Hermite coefficients."""

    name: str
    function: ScalarFunction
    kinks: tuple[float, ...] = ()

    def __call__(self, x: np.ndarray) -> np.ndarray:
        return self.function(x)

    def __post_init__(self) -> None:
        object.__setattr__(self, "kinks", tuple(check_vector("kinks", self.kinks).tolist()))
        check_callable("function", self.function, "a callable of an array")
        object.__setattr__(self, "name", check_text("name", self.name))
        name = f"{type(self).__name__.lower()} {shown(self.name)}"
        nodes, weights = gaussian_quadrature(self.kinks)
        values = evaluate(self.function, nodes, name)
        with np.errstate(over="ignore"):  # what overflows is not of a size below
            power = weights * values**2
        if np.sum(power[np.abs(nodes) > _TAIL]) > 1e-8 * np.sum(power):
            raise ValueError(
                f"{name} must have a second moment E f(Z)^2 that comes from |Z| < {_TAIL:g}: "
                "it grows too fast"
            )
        check_size(name, np.abs(values).max())
        require_resolved(name, lambda z: self.function(z) ** 2, self.kinks)

    def coefficients(self, order: int) -> np.ndarray:
        r"""Return the Hermite coefficients :math:`c_0,\dots,c_{\text{order}}`."""
        return hermite_coefficients(self.function, order, self.kinks)

    def coefficient(self, k: int) -> float:
        """Return the Hermite coefficient :math:`c_k`."""
        return float(self.coefficients(check_count("k", k, minimum=0))[k])

    @cached_property
    def _low(self) -> np.ndarray:
        # Rounding leaves 1e-17 where parity says 0; later tests for "c_k is absent" need the 0.
        low = self.coefficients(2)
        return np.where(np.abs(low) < 1e-14 * np.sqrt(self.second_moment), 0.0, low)

    @property
    def c0(self) -> float:
        """The mean :math:`c_0`."""
        return float(self._low[0])

    @property
    def c1(self) -> float:
        """The linear coefficient :math:`c_1`."""
        return float(self._low[1])

    @property
    def c2(self) -> float:
        """The quadratic coefficient :math:`c_2`."""
        return float(self._low[2])

    @cached_property
    def second_moment(self) -> float:
        """The second moment, E f(Z)^2."""
        nodes, weights = gaussian_quadrature(self.kinks)
        return float(weights @ self.function(nodes) ** 2)

    @cached_property
    def nonlinear_power(self) -> float:
        r"""The power beyond the linear part, :math:`\mathbb E(f(Z)-c_0-c_1Z)^2`."""
        nodes, weights = gaussian_quadrature(self.kinks)
        rest = self.function(nodes) - self.c0 - self.c1 * nodes
        power = float(weights @ rest**2)
        return 0.0 if power < 1e-28 * self.second_moment else power


@dataclass(frozen=True)
class Activation(_GaussianFunction):
    """An activation function.

    Parameters
    ----------
    name : str
    function : callable
        Takes and returns an array; finite everywhere.
    kinks : tuple of float
        Every point where the function or its slope jumps.
    derivative : callable or None
        The slope; None where a gradient step makes no sense (a step function).

    Examples
    --------
    >>> import numpy as np
    >>> from onestep_lib import Activation
    >>> leaky = Activation("leaky relu", lambda x: np.maximum(x, 0.1 * x), kinks=(0.0,))
    >>> print(f"{leaky.c1:.4f}")  # the mean of its slopes
    0.5500
    """

    derivative: ScalarFunction | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.derivative is None:
            return
        check_callable("derivative", self.derivative, "a callable of an array or None")
        # Stein's lemma: E f'(Z) = c_1, unless the slope is wrong or a jump is hidden in it.
        nodes, weights = gaussian_quadrature(self.kinks)
        mean = weights @ evaluate(self.derivative, nodes, name=f"derivative of {shown(self.name)}")
        if abs(mean - self.c1) > 1e-8 * np.sqrt(self.second_moment):
            raise ValueError(
                f"derivative must be the slope of {shown(self.name)}: its mean is {mean:.9g}, but E f(Z) Z "
                f"is {self.c1:.9g}; if f jumps, set derivative=None, and if its slope jumps, list the kinks"
            )

    @cached_property
    def slope_variance(self) -> float:
        r"""The variance of :math:`\sigma'(Z)`, whose mean is :math:`c_1`."""
        nodes, weights = gaussian_quadrature(self.kinks)
        return float(weights @ (self.require_slope()(nodes) - self.c1) ** 2)

    def require_linear_part(self) -> None:
        """Raise where :math:`c_1=0`: then the gradient has no part of rank one."""
        if self.c1 == 0:
            raise ValueError(f"activation must have c_1 != 0: the gradient of {self.name!r} has no spike")

    def require_slope(self) -> ScalarFunction:
        """Return the derivative, or raise where there is none."""
        if self.derivative is None:
            name = shown(self.name)
            raise ValueError(f"activation must have a derivative to take a gradient step, got {name}")
        return self.derivative


@dataclass(frozen=True)
class Target(_GaussianFunction):
    r"""A single-index target :math:`\sigma_*`: :math:`y=\sigma_*(\langle\beta_*,x\rangle)` + noise.

    `polynomial` holds the Hermite coefficients where the target was given by them.

    Examples
    --------
    >>> import numpy as np
    >>> from onestep_lib import Target
    >>> jump = Target("jump", np.sign, kinks=(0.0,))
    >>> print(f"{jump.linear:.4f} {jump.power:.4f}")  # sqrt(2/pi) and 1
    0.7979 1.0000
    """

    polynomial: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.polynomial is not None:
            polynomial = tuple(check_vector("polynomial", self.polynomial).tolist())
            object.__setattr__(self, "polynomial", polynomial)

    @property
    def linear(self) -> float:
        r"""The linear coefficient :math:`c_{*,1}`."""
        return self.c1

    @property
    def power(self) -> float:
        r"""The power without the mean, :math:`c_*^2=\mathbb E\sigma_*^2-c_{*,0}^2`."""
        return self.c1**2 + self.nonlinear_power


# Classes, so that two are equal by value, also after a pickle; partials and closures are not.
@dataclass(frozen=True)
class _Shifted:
    function: ScalarFunction
    mean: float

    def __call__(self, x: np.ndarray) -> np.ndarray:
        return self.function(x) - self.mean


@dataclass(frozen=True)
class _Series:
    coefficients: tuple[float, ...]

    def __call__(self, x: np.ndarray) -> np.ndarray:
        return hermite_e.hermeval(x, self.coefficients)


@dataclass(frozen=True)
class _Slope:
    """Six-point central differences."""

    function: ScalarFunction

    def __call__(self, x: np.ndarray) -> np.ndarray:
        x = np.asarray(x, dtype=np.float64)
        pairs = [self.function(x + j * _WIDTH) - self.function(x - j * _WIDTH) for j in (1, 2, 3)]
        return (45 * pairs[0] - 9 * pairs[1] + pairs[2]) / (60 * _WIDTH)


def _normal_density(x: np.ndarray) -> np.ndarray:
    return np.exp(-np.square(x) / 2) / np.sqrt(2 * np.pi)


def _identity(x: np.ndarray) -> np.ndarray:
    return np.asarray(x, dtype=np.float64)


def _relu(x: np.ndarray) -> np.ndarray:
    return np.maximum(x, 0.0)


def _step(x: np.ndarray) -> np.ndarray:
    return np.heaviside(x, 0.5)


def _softplus(x: np.ndarray) -> np.ndarray:
    # The same digits as np.logaddexp(0, x) in half its time.
    return np.maximum(x, 0.0) + np.log1p(np.exp(-np.abs(x)))


def _sigmoid_slope(x: np.ndarray) -> np.ndarray:
    return expit(x) * expit(-x)


def _tanh_slope(x: np.ndarray) -> np.ndarray:
    return 1 - np.tanh(x) ** 2


def _erf_slope(x: np.ndarray) -> np.ndarray:
    return 2 / np.sqrt(np.pi) * np.exp(-np.square(x))


def _gelu(x: np.ndarray) -> np.ndarray:
    return x * ndtr(x)


def _gelu_slope(x: np.ndarray) -> np.ndarray:
    return ndtr(x) + x * _normal_density(x)


def _silu(x: np.ndarray) -> np.ndarray:
    return x * expit(x)


def _silu_slope(x: np.ndarray) -> np.ndarray:
    return expit(x) * (1 + x * expit(-x))


class _Table(Mapping[str, Entry]):
    """Entries by name, each made when it is first asked for: its checks are quadratures."""

    def __init__(self, kind: Callable[..., Entry], *entries: tuple[Any, ...]) -> None:
        self._kind = kind
        self._fields: dict[str, tuple[Any, ...]] = {fields[0]: fields for fields in entries}
        self._made: dict[str, Entry] = {}

    def __getitem__(self, name: str) -> Entry:
        if name not in self._made:
            self._made[name] = self._kind(*self._fields[name])
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)


ACTIVATIONS: Mapping[str, Activation] = _Table(
    Activation,
    ("identity", _identity, (), np.ones_like),
    ("tanh", np.tanh, (), _tanh_slope),
    ("erf", erf, (), _erf_slope),
    ("sin", np.sin, (), np.cos),
    ("relu", _relu, (0.0,), _step),
    ("abs", np.abs, (0.0,), np.sign),
    ("sign", np.sign, (0.0,), None),
    ("softplus", _softplus, (), expit),
    ("sigmoid", expit, (), _sigmoid_slope),
    ("gelu", _gelu, (), _gelu_slope),
    ("silu", _silu, (), _silu_slope),
    ("he2", _Series((0.0, 0.0, 1.0)), (), _Series((0.0, 2.0))),
    ("he3", _Series((0.0, 0.0, 0.0, 1.0)), (), _Series((0.0, 0.0, 3.0))),
)
"""The named activations. A prefix "centred " subtracts the mean: "centred relu"."""
TARGETS: Mapping[str, Target] = _Table(
    Target,
    ("tanh", np.tanh),
    ("sin", np.sin),
    ("sign", np.sign, (0.0,)),
    ("he1", _identity, (), (0.0, 1.0)),
    ("he2", _Series((0.0, 0.0, 1.0)), (), (0.0, 0.0, 1.0)),
    ("he3", _Series((0.0, 0.0, 0.0, 1.0)), (), (0.0, 0.0, 0.0, 1.0)),
)
"""The named targets; any other is a sequence of Hermite coefficients, a callable or a `Target`."""


def centred(sigma: Activation | str) -> Activation:
    r"""Return :math:`\sigma-c_0`, the activation without its mean.

    Examples
    --------
    >>> from onestep_lib.activations import activation, centred
    >>> for sigma in (activation("relu"), centred("relu")):
    ...     print(f"{sigma.name}: c_0 = {sigma.c0:.4f}, c_1 = {sigma.c1:.4f}")
    relu: c_0 = 0.3989, c_1 = 0.5000
    centred relu: c_0 = 0.0000, c_1 = 0.5000
    """
    sigma = activation(sigma)
    return replace(sigma, name=f"centred {sigma.name}", function=_Shifted(sigma.function, sigma.c0))


@lru_cache
def _named(name: str) -> Activation:
    bare = name.removeprefix("centred ")
    if bare not in ACTIVATIONS:
        raise ValueError(
            f"activation must be one of {', '.join(ACTIVATIONS)} (with or without the prefix "
            f"'centred '), an Activation or a callable, got {shown(name)}"
        )
    return ACTIVATIONS[bare] if bare == name else centred(ACTIVATIONS[bare])


def activation(value: Activation | str | ScalarFunction) -> Activation:
    """Return the activation of that name, or wrap a callable.

    A callable must be smooth: its slope is computed by a six-point central difference (error about
    1e-11). Build an `Activation` to state kinks and the exact slope.

    Examples
    --------
    >>> import numpy as np
    >>> from onestep_lib.activations import activation
    >>> print(f"{activation('relu').c1:.4f} {activation(np.sin).c1:.4f}")  # 1/2 and exp(-1/2)
    0.5000 0.6065
    """
    if isinstance(value, Activation):
        return value
    if isinstance(value, str):
        return _named(value)
    check_callable("activation", value, "a name, an Activation or a callable")
    return Activation(getattr(value, "__name__", "callable"), value, (), _Slope(value))


def target(value: Target | str | Sequence[float] | ScalarFunction) -> Target:
    r"""Return a target from a name, Hermite coefficients :math:`c_{*,k}` or a smooth callable.

    ``target((0, 1, 2**-0.5))`` is :math:`He_1+He_2/\sqrt2`.

    Examples
    --------
    >>> from onestep_lib.activations import target
    >>> sum_of_two = target((0, 1, 2**-0.5))
    >>> print(f"{sum_of_two.name}: {sum_of_two.power:.4f}")  # 1 + 2!/2
    1 He1 + 0.707107 He2: 2.0000
    """
    if isinstance(value, Target):
        return value
    if isinstance(value, str):
        if value not in TARGETS:
            raise ValueError(
                f"target must be one of {', '.join(TARGETS)}, Hermite coefficients, a Target or a "
                f"callable, got {shown(value)}"
            )
        return TARGETS[value]
    if callable(value):
        return Target(getattr(value, "__name__", "callable"), value)
    polynomial = tuple(check_vector("target", value).tolist())
    if not polynomial:
        raise ValueError("target must have at least one Hermite coefficient, got an empty sequence")
    return _polynomial(polynomial)


@lru_cache(maxsize=256)
def _polynomial(polynomial: tuple[float, ...]) -> Target:
    name = " + ".join(f"{c:.6g} He{k}" for k, c in enumerate(polynomial) if c) or "0"
    return Target(name, _Series(polynomial), (), polynomial)
