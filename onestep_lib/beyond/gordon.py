r"""A second derivation of the losses of spiked random features: Gordon's comparison, for one spike.

Ridge regression is a minimum over readouts a of a maximum over dual variables u of an expression that is
bilinear in two Gaussian matrices: that of the inputs across the spike, and that of what the features are
beyond :math:`\mu_0` and :math:`\mu_1`. Gordon's inequality (in its convex form; Thrampoulidis, Oymak and
Hassibi, 2015) puts Gaussian vectors in the place of the matrices. What is left depends on a and u through
their lengths and overlaps, and becomes a saddle point in scalars, with
:math:`D=1/(1+\chi_1\mu_1^2+\chi_2\mu_2^2)` and :math:`\omega` the eigenvalues of :math:`W^\top W`:

.. math:: \Phi=\mathbb E[D\,S]+\chi_1B_1+\chi_2B_2-\phi B_1T_W-\tfrac\phi\psi B_2T_A
          -\zeta_1P-(\zeta_2-\lambda)Q+|t|^2\big(1/T_W-\zeta_1\big),

.. math:: S=(h_0-M\mu_0-t_v\kappa\mu_1)^2+(h_1-t_z\mu_1)^2+\mathrm{Var}(y|\kappa)-h_1^2+P\mu_1^2+Q\mu_2^2,

.. math:: T_W=\int\frac{\omega}{\zeta_1\omega+\zeta_2},\qquad
          T_A=\frac1N\operatorname{tr}(\zeta_1WW^\top+\zeta_2)^{-1},

stationary in all its variables (:eq:`eq-open-gordon`). P and Q are the squared lengths of :math:`W^\top a`
(less :math:`|t|^2`) and of a; the test loss is E S, the training loss :math:`\mathbb E D^2S`.

The comparison itself is a theorem for Gaussian features of this form; that the features of a network may be
replaced by them is the conditional Gaussian equivalence, and the exchange of limits is not proved here.

Functions
---------
gordon_losses     losses from the saddle point
gordon_residuals  squared residuals given kappa, there
gordon_saddle     its variables
gordon_value      the potential at any values of them
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import root

from onestep_lib._checks import check_instance, check_number, check_positive
from onestep_lib.convergence import ConvergenceError
from onestep_lib.settings import Losses
from onestep_lib.spiked_features.model import SpikedModel

__all__ = [
    "gordon_losses",
    "gordon_residuals",
    "gordon_saddle",
    "gordon_value",
]

_NODES = 2000
_TOLERANCE = 1e-11


@dataclass(frozen=True, eq=False)
class GordonSaddle:
    r"""The scalars of the saddle point (module docstring).

    Parameters
    ----------
    mean, along, across : float
        :math:`M`, :math:`t_v` and :math:`t_z`: the sum of a, and what :math:`W^\top a` has along the spike
        and along the target's other part.
    P, Q : float
    B1, B2 : float
        Squared lengths of u over n, weighted with :math:`\mu_1^2` and :math:`\mu_2^2`.
    chi1, chi2, zeta1, zeta2 : float
        The multipliers of B1, B2, P and Q.
    """

    mean: float
    along: float
    across: float
    P: float
    Q: float
    B1: float
    B2: float
    chi1: float
    chi2: float
    zeta1: float
    zeta2: float


@dataclass(frozen=True, eq=False)
class _Scalars:
    """What the potential is made of: functions of kappa, and the eigenvalues of W^T W."""

    weights: np.ndarray
    kappa: np.ndarray
    mu0: np.ndarray
    mu1: np.ndarray
    power: np.ndarray
    h0: np.ndarray
    h1: np.ndarray
    rest: np.ndarray
    omega: np.ndarray
    mass: np.ndarray
    phi: float
    psi: float
    ridge: float

    def mean(self, values: np.ndarray) -> float:
        return float(self.weights @ values)

    def traces(self, zeta1: float, zeta2: float) -> tuple[float, float]:
        inverse = self.mass / (zeta1 * self.omega + zeta2)
        outside = max(0.0, 1 - self.psi) / zeta2
        return float(self.omega @ inverse), float(self.psi * np.sum(inverse) + outside)


def _scalars(model: SpikedModel, phi: float, psi: float, ridge: float) -> _Scalars:
    check_instance("model", model, SpikedModel)
    lengths = np.stack([model.row_variance, model.slope, *np.asarray(model.initial)])
    if model.spikes.size != 1 or model.bulk is not None or np.any(lengths):
        raise ValueError(
            "model must have one spike, an isotropic bulk and rows of one length (row_variance=0), "
            f"got {model.spikes.size} spikes, row_variance {model.row_variance} and "
            f"{'an isotropic bulk' if model.bulk is None else 'the bulk of a step'}"
        )
    phi, psi, ridge = (
        check_number(name, value, check_positive)
        for name, value in (("phi", phi), ("psi", psi), ("ridge", ridge))
    )
    table, labels = model.table, model.table.labels
    means = table.features.means
    # The law of Marchenko and Pastur for W^T W, by the trapezoidal rule in the angle: exact to rounding.
    angle = (np.arange(_NODES) + 0.5) * np.pi / _NODES
    x = 1 + psi + 2 * np.sqrt(psi) * np.cos(angle)
    mass = 4 * psi * np.sin(angle) ** 2 / (2 * psi * x * _NODES)
    return _Scalars(
        table.grid.weights, table.grid.nodes, means.mu0[0], means.mu1[0], means.mu2_sq[0],
        labels.h0, labels.h1, labels.variance - labels.h1**2, x / psi, mass, phi, psi, ridge,
    )  # fmt: skip


def gordon_value(model: SpikedModel, phi: float, psi: float, ridge: float, at: GordonSaddle) -> float:
    r"""Return the potential :math:`\Phi` at any values of its variables.

    At the saddle point it is the objective of ridge regression, and its derivatives vanish.

    Examples
    --------
    >>> from onestep_lib.activations import activation, target
    >>> from onestep_lib.beyond import gordon_saddle, gordon_value
    >>> from onestep_lib.spiked_features import SpikedModel, spiked_losses
    >>> model = SpikedModel(activation("tanh"), [2], [1], target("sin"), 0.8, 0.1, row_variance=0)
    >>> saddle = gordon_saddle(model, phi=0.5, psi=0.7, ridge=0.1)
    >>> value = gordon_value(model, 0.5, 0.7, 0.1, saddle)
    >>> print(f"{value:.6f} {spiked_losses(model, 0.5, 0.7, 0.1).objective:.6f}")
    0.088369 0.088369
    """
    s = _scalars(model, phi, psi, ridge)
    check_instance("at", at, GordonSaddle)
    D = 1 / (1 + at.chi1 * s.mu1**2 + at.chi2 * s.power)
    TW, TA = s.traces(at.zeta1, at.zeta2)
    square = at.along**2 + at.across**2
    value = s.mean(D * _error(s, at)) + at.chi1 * at.B1 + at.chi2 * at.B2
    value -= s.phi * at.B1 * TW + s.phi / s.psi * at.B2 * TA
    value -= at.zeta1 * at.P + (at.zeta2 - s.ridge) * at.Q
    return float(value + square * (1 / TW - at.zeta1))


def _error(s: _Scalars, at: GordonSaddle) -> np.ndarray:
    """The mean square of a new residual given kappa."""
    even = s.h0 - at.mean * s.mu0 - at.along * s.kappa * s.mu1
    odd = s.h1 - at.across * s.mu1
    return even**2 + odd**2 + s.rest + at.P * s.mu1**2 + at.Q * s.power


def gordon_saddle(model: SpikedModel, phi: float, psi: float, ridge: float) -> GordonSaddle:
    r"""Solve for the saddle point.

    The multipliers decouple from the rest: two equations, then two linear systems.

    Parameters
    ----------
    model : SpikedModel
        One spike, an isotropic bulk, ``row_variance=0``.
    phi, psi, ridge : float
        d/n, d/N and the penalty, > 0.

    Raises
    ------
    ValueError
        For another model.
    ConvergenceError
        If the equations of the multipliers are not solved to 1e-11.

    Examples
    --------
    >>> from onestep_lib.activations import activation, target
    >>> from onestep_lib.beyond import gordon_saddle
    >>> from onestep_lib.spiked_features import SpikedModel
    >>> model = SpikedModel(activation("tanh"), [2], [1], target((0, 1)), 1.0, row_variance=0)
    >>> saddle = gordon_saddle(model, phi=0.5, psi=0.7, ridge=0.1)
    >>> print(f"{abs(saddle.across):.3f}")  # nothing is to be learned across the spike
    0.000
    """
    s = _scalars(model, phi, psi, ridge)

    def multipliers(logs: np.ndarray) -> tuple[float, float, np.ndarray]:
        chi1, chi2 = np.exp(logs)
        D = 1 / (1 + chi1 * s.mu1**2 + chi2 * s.power)
        return s.mean(D * s.mu1**2), s.ridge + s.mean(D * s.power), D

    def residual(logs: np.ndarray) -> np.ndarray:
        TW, TA = s.traces(*multipliers(logs)[:2])
        return logs - np.log([s.phi * TW, s.phi / s.psi * TA])

    start = np.log([s.phi / s.ridge, s.phi / s.psi / s.ridge])
    for _ in range(60):
        start = start - residual(start) / 2
    found = root(residual, start, tol=1e-14)
    gap = float(np.max(np.abs(residual(found.x))))
    if not gap < _TOLERANCE:
        raise ConvergenceError("gordon_saddle", gap, {"phi": phi, "psi": psi, "ridge": ridge})
    chi1, chi2 = np.exp(found.x)
    zeta1, zeta2, D = multipliers(found.x)
    TW, _ = s.traces(zeta1, zeta2)
    held = 1 / TW - zeta1
    mean, along = _fit(s, D, held)
    across = s.mean(D * s.h1 * s.mu1) / (s.mean(D * s.mu1**2) + held)
    lengths = _lengths(s, D, zeta1, zeta2, mean, along, across)
    return GordonSaddle(mean, along, float(across), *lengths, float(chi1), float(chi2), zeta1, zeta2)


def _fit(s: _Scalars, D: np.ndarray, held: float) -> tuple[float, float]:
    """M and t_v: weighted least squares of h_0, with a penalty on t_v alone."""
    columns = np.stack([s.mu0, s.kappa * s.mu1])
    gram = (columns * (s.weights * D)) @ columns.T + np.diag([0.0, held])
    # The first column vanishes without a spike for an odd activation.
    solution, *_ = np.linalg.lstsq(gram, (columns * (s.weights * D)) @ s.h0, rcond=1e-13)
    return float(solution[0]), float(solution[1])


def _lengths(
    s: _Scalars, D: np.ndarray, zeta1: float, zeta2: float, mean: float, along: float, across: float
) -> tuple[float, float, float, float]:
    """P, Q, B1, B2: the equations of the four multipliers, linear in them."""
    bare = _error(s, GordonSaddle(mean, along, across, 0, 0, 0, 0, 0, 0, 0, 0))
    slopes = s.mu1**2, s.power
    # dPhi/dchi = 0: B_i = E[D^2 slope_i S].
    A, b = np.eye(4), np.zeros(4)
    for i, slope in enumerate(slopes):
        A[2 + i, :2] = [-s.mean(D**2 * slope * other) for other in slopes]
        b[2 + i] = s.mean(D**2 * slope * bare)
    # dPhi/dzeta = 0, with the derivatives of the traces.
    inverse = s.mass / (zeta1 * s.omega + zeta2) ** 2
    first, second = s.omega**2 @ inverse, s.omega @ inverse
    plain = s.psi * np.sum(inverse) + max(0.0, 1 - s.psi) / zeta2**2
    TW = s.traces(zeta1, zeta2)[0]
    square = along**2 + across**2
    A[0, 2:] = -s.phi * first, -s.phi * second
    A[1, 2:] = -s.phi * second, -s.phi / s.psi * plain
    b[:2] = square * (first / TW**2 - 1), square * second / TW**2
    P, Q, B1, B2 = np.linalg.solve(A, b).tolist()
    return P, Q, B1, B2


def gordon_losses(model: SpikedModel, phi: float, psi: float, ridge: float) -> Losses:
    """Return the losses at the saddle point; the arguments are those of `gordon_saddle`.

    Examples
    --------
    >>> from onestep_lib.activations import activation, target
    >>> from onestep_lib.beyond import gordon_losses
    >>> from onestep_lib.spiked_features import SpikedModel, spiked_losses
    >>> model = SpikedModel(activation("relu"), [1.5], [1], target((0, 1, 0.5)), 0.9, 0.3, row_variance=0)
    >>> pair = gordon_losses(model, 0.5, 0.7, 0.1), spiked_losses(model, 0.5, 0.7, 0.1)
    >>> print(*(f"{losses.test:.6f}" for losses in pair))
    0.901150 0.901150
    """
    s, at = _scalars(model, phi, psi, ridge), gordon_saddle(model, phi, psi, ridge)
    _, error, D = gordon_residuals(model, phi, psi, ridge, at)
    train = s.mean(D**2 * error)
    return Losses(train, s.mean(error), train + s.ridge * at.Q)


def gordon_residuals(
    model: SpikedModel, phi: float, psi: float, ridge: float, at: GordonSaddle
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    r"""Return nodes of :math:`\kappa`, the mean square S of a new residual, and what D a fit leaves of it.

    The formulas are :eq:`eq-open-error`.

    Parameters
    ----------
    model, phi, psi, ridge
        As for `gordon_saddle`.
    at : GordonSaddle

    Returns
    -------
    kappa, S, D : ndarray, shape (nodes,)

    Examples
    --------
    >>> from onestep_lib.activations import activation, target
    >>> from onestep_lib.beyond import gordon_residuals, gordon_saddle
    >>> from onestep_lib.spiked_features import SpikedModel
    >>> model = SpikedModel(activation("tanh"), [2], [1], target("sin"), 0.8, 0.1, row_variance=0)
    >>> kappa, S, D = gordon_residuals(model, 0.5, 0.7, 1e4, gordon_saddle(model, 0.5, 0.7, 1e4))
    >>> print(f"{D.min():.3f}")  # under a large penalty nothing is fitted
    1.000
    """
    s = _scalars(model, phi, psi, ridge)
    return s.kappa, _error(s, at), 1 / (1 + at.chi1 * s.mu1**2 + at.chi2 * s.power)
