"""The error that every iterative solver of the library raises instead of returning a wrong number."""

from __future__ import annotations

from collections.abc import Mapping

from onestep_lib._checks import shown

__all__ = [
    "ConvergenceError",
]


class ConvergenceError(ArithmeticError):
    """A solver stopped before it reached its stated tolerance.

    Attributes
    ----------
    solver : str
    residual : float
        The largest residual at the last iterate.
    parameters : dict
        The parameters of the worst point, enough to call the solver again.
    reason : str
        What about the input the solver could not do, and what to change; empty where it does not know.

    Examples
    --------
    >>> from onestep_lib import ConvergenceError
    >>> print(ConvergenceError("newton", 0.25, {"ridge": 0.1}, "too few iterations"))
    newton did not converge (too few iterations): residual 0.25 at ridge=0.1
    """

    def __init__(
        self, solver: str, residual: float, parameters: Mapping[str, object], reason: str = ""
    ) -> None:
        self.solver = solver
        self.residual = residual
        self.parameters = parameters
        self.reason = reason
        listed = ", ".join(f"{name}={shown(value)}" for name, value in parameters.items())
        why = f" ({reason})" if reason else ""
        super().__init__(f"{solver} did not converge{why}: residual {residual:.3g} at {listed}")

    def __reduce__(self) -> tuple[type[ConvergenceError], tuple[object, ...]]:
        # A worker process sends the error by its arguments, not by its message.
        return type(self), (self.solver, self.residual, self.parameters, self.reason)
