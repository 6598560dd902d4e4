"""The error that every iterative solver of the library raises instead of returning a wrong number."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = [
    "ConvergenceError",
]


class ConvergenceError(ArithmeticError):
    """A solver stopped before it reached its stated tolerance.

    Attributes
    ----------
    residual : float
        The largest residual at the last iterate.
    parameters : dict
        The parameters of the worst point, enough to call the solver again.
    """

    def __init__(self, solver: str, residual: float, parameters: Mapping[str, object]) -> None:
        self.residual = residual
        self.parameters = parameters
        listed = ", ".join(f"{name}={value!r}" for name, value in parameters.items())
        super().__init__(f"{solver} did not converge: residual {residual:.3g} at {listed}")
