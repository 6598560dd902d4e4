r"""Formulas in z as a reader types them: ``max(z, 0) - 0.4``, ``tanh(z) + He_3/6``, ``exp(-z^2/2)``.

The grammar is that of school algebra: numbers, the variable z, ``+ - * / ^``, parentheses, the functions
exp, log, sin, cos, tanh, erf and abs, ``max(a, b)``, and Hermite polynomials, ``He_3`` for :math:`He_3(z)` or
``He_3(2*z)``. A power binds first and from the right, then a sign, then products, then sums, so that ``-z^2``
is :math:`-(z^2)`; a product is always written with ``*``. A formula is parsed and never executed as Python;
the explorers of the website read the same grammar. Slopes are exact: values and slopes are computed together,
by the rules of differentiation.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy.special import erf

from onestep_lib.activations import Activation, Target
from onestep_lib.hermite import hermite

__all__ = ["formula_activation", "formula_target"]

_LONGEST = 200
_HIGHEST = 20
_TOKEN = re.compile(r"\s*(?:\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?|He_\d+|[a-z]+|[-+*/^(),])\s*")
_Function = Callable[[Any], Any]
_SLOPES: dict[str, tuple[_Function, _Function]] = {
    "exp": (np.exp, np.exp),
    "log": (np.log, lambda u: 1 / u),
    "sin": (np.sin, np.cos),
    "cos": (np.cos, lambda u: -np.sin(u)),
    "tanh": (np.tanh, lambda u: 1 - np.tanh(u) ** 2),
    "erf": (erf, lambda u: 2 / np.sqrt(np.pi) * np.exp(-(u**2))),
    "abs": (np.abs, np.sign),
}
_ALLOWED = f"numbers, z, + - * / ^ ( ), {', '.join(_SLOPES)}, max(a, b) and He_k"
# Kinks are looked for where a Gaussian has weight.
_SEEN = np.linspace(-14, 14, 5601)


def formula_activation(text: str) -> Activation:
    """Return the activation that a formula in z describes, with its exact slope.

    Parameters
    ----------
    text : str
        See :mod:`onestep_lib.formulas`.

    Raises
    ------
    ValueError
        Saying what cannot be read, or why it is no activation (it is not finite, grows too fast, jumps).

    Examples
    --------
    >>> from onestep_lib.formulas import formula_activation
    >>> sigma = formula_activation("max(z, 0) - 0.1*He_2")
    >>> print(f"{sigma.c1:.4f} {sigma.kinks} {sigma.derivative(2.0):.4f}")
    0.5000 (0.0,) 0.6000
    """
    formula = _Formula(text)
    slope = partial(_part, formula, 1)
    return Activation(text.strip(), partial(_part, formula, 0), formula.kinks, slope)


def formula_target(text: str) -> Target:
    """Return the target that a formula in z describes, as `formula_activation`.

    Examples
    --------
    >>> from onestep_lib.formulas import formula_target
    >>> print(f"{formula_target('abs(z)').linear:.4f} {formula_target('z^2 - 1').power:.4f}")
    0.0000 2.0000
    """
    formula = _Formula(text)
    return Target(text.strip(), partial(_part, formula, 0), formula.kinks)


def _part(formula: _Formula, part: int, z: np.ndarray) -> np.ndarray:
    z = np.asarray(z, dtype=np.float64)
    with np.errstate(all="ignore"):  # what is not finite is refused where the function is sampled
        value = formula.at(formula.tree, z)[part]
    return np.array(np.broadcast_to(value, z.shape), dtype=np.float64)


@dataclass(frozen=True)
class _Formula:
    """A formula by its text; its tree holds nothing but what the grammar knows."""

    text: str

    @cached_property
    def tree(self) -> ast.expr:
        text = self.text.strip()
        if not text or len(text) > _LONGEST:
            raise ValueError(f"a formula must have from 1 to {_LONGEST} characters, got {len(text)}")
        read = 0
        while read < len(text):
            token = _TOKEN.match(text, read)
            if token is None:
                raise ValueError(f"{text!r} cannot be read from {text[read:]!r} on: use {_ALLOWED}")
            read = token.end()
        try:
            if "**" in text or "//" in text:  # Python's own, and not of this grammar
                raise SyntaxError
            return ast.parse(text.replace("^", "**"), mode="eval").body
        except (SyntaxError, RecursionError):
            raise ValueError(f"{text!r} is no formula: write it with {_ALLOWED}") from None

    @cached_property
    def kinks(self) -> tuple[float, ...]:
        """Where the argument of abs, or the difference of those of max, changes its sign."""
        found: set[float] = set()
        for node in ast.walk(self.tree):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id in ("abs", "max")
            ):
                found |= set(self._changes(node))
        return tuple(sorted(found))

    def _changes(self, node: ast.Call) -> list[float]:
        from scipy.optimize import brentq

        def side(z: np.ndarray) -> np.ndarray:
            with np.errstate(all="ignore"):
                first, *rest = [np.asarray(self.at(argument, z)[0]) for argument in node.args]
                return np.broadcast_to(first - (rest[0] if rest else 0.0), np.shape(z))

        values = side(_SEEN)
        crossed = np.flatnonzero(np.sign(values[:-1]) * np.sign(values[1:]) < 0)
        inner = [brentq(side, _SEEN[i], _SEEN[i + 1], xtol=1e-14) for i in crossed]
        return inner + [round(z, 12) + 0.0 for z in _SEEN[np.flatnonzero(values == 0)]]

    def at(self, node: ast.expr, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The value of a part of the formula at z, and its slope."""
        match node:
            case ast.Constant(value=int() | float() as number):
                return np.asarray(float(number)), np.zeros(())
            case ast.Name(id="z"):
                return z, np.ones_like(z)
            case ast.Name(id=name) if name.startswith("He_"):
                return self._hermite(name, z, np.ones_like(z))
            case ast.UnaryOp(op=ast.USub() | ast.UAdd() as sign, operand=inner):
                value, slope = self.at(inner, z)
                return (-value, -slope) if isinstance(sign, ast.USub) else (value, slope)
            case ast.BinOp(left=left, op=operation, right=right):
                return self._binary(operation, *self.at(left, z), *self.at(right, z))
            case ast.Call(func=ast.Name(id="max"), args=[first, second], keywords=[]):
                (u, du), (v, dv) = self.at(first, z), self.at(second, z)
                return np.maximum(u, v), np.where(u > v, du, np.where(u < v, dv, (du + dv) / 2))
            case ast.Call(func=ast.Name(id=name), args=[inner], keywords=[]):
                value, slope = self.at(inner, z)
                if name.startswith("He_"):
                    return self._hermite(name, value, slope)
                if name in _SLOPES:
                    function, derivative = _SLOPES[name]
                    return function(value), derivative(value) * slope
        raise ValueError(f"{ast.unparse(node).replace('**', '^')!r} is not known: use {_ALLOWED}")

    @staticmethod
    def _binary(
        operation: ast.operator, u: np.ndarray, du: np.ndarray, v: np.ndarray, dv: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        match operation:
            case ast.Add():
                return u + v, du + dv
            case ast.Sub():
                return u - v, du - dv
            case ast.Mult():
                return u * v, du * v + u * dv
            case ast.Div():
                return u / v, (du - u / v * dv) / v
        power = np.power(u, v)
        if not np.any(dv):
            return power, np.where(v == 0, 0.0, v * np.power(u, np.where(v == 0, 1.0, v - 1))) * du
        return power, power * (dv * np.log(u) + v * du / u)

    @staticmethod
    def _hermite(name: str, value: np.ndarray, slope: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        k = int(name.removeprefix("He_"))
        if k > _HIGHEST:
            raise ValueError(f"He_k goes up to k = {_HIGHEST} in a formula, got {name}")
        values = hermite(max(k, 1), value)
        return values[k], k * values[max(k - 1, 0)] * slope
