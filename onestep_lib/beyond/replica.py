r"""The losses of spiked random features by replicas: a function whose saddle point is the solution.

One group, isotropic rows. The mean over data and rows of :math:`Z^s`,
:math:`Z=\int e^{-n\,\text{objective}(a)/T}da`, continued to s = 0, at a saddle point that treats all
replicas alike and for T -> 0, is a function of the fit's overlaps and responses and of the multipliers
that hold them in place,

.. math::
   \Phi=\Big\langle\frac{E(\kappa)}{1+\phi\,(\mu_1^2X_s+\mu_2^2X_a)}\Big\rangle
        -\hat\Omega A-LQ+\hat AX_a+\hat QX_s+2(\hat SS+\hat TT+\hat mm)

   \qquad-(\hat A+\hat S^2+\hat T^2)\,t_a-(\hat Q+\hat m^2)\,t_s,

   E=(h_0-M\mu_0-S\kappa\mu_1-T\sqrt{\nu/2}\,m_2)^2+\mathrm{Var}(y|\kappa)-2h_1m\mu_1+\mu_1^2Q+\mu_2^2A .

Here :math:`A=|\hat a|^2`, Q is the squared length of :math:`s=\sum_j\hat a_jw_j` across v, and M, S, T, m are
those of :class:`~onestep_lib.spiked_features.fit.SpikedSolution`. X_a, X_s are the responses of
A and Q: twice their difference between equal and unequal replicas, divided by phi T. The mean over the
rows, an N x d matrix W with entries of variance 1/d, leaves two traces of Marchenko and Pastur's law, with
:math:`\Omega=\lambda+\hat\Omega`,

.. math:: t_a=\tfrac1d\operatorname{tr}(\Omega I+LWW^\top)^{-1},\quad
          t_s=\tfrac1d\operatorname{tr}W^\top(\Omega I+LWW^\top)^{-1}W,

   \Omega L\,t_a^2+(\Omega+L-L/\psi)\,t_a-1/\psi=0,\qquad t_s=\frac{1/\psi-\Omega t_a}L .

The gradient of :math:`\Phi` vanishes at the solution of :mod:`onestep_lib.spiked_features.losses`, and its
value there is the objective. (After Cui et al., arXiv 2402.04980, who take this route; sketched in the
replica primer of the appendix. Nothing of it is proved.)

Functions
---------
replica_energy      Phi
replica_gradient    its gradient
replica_variables   the 15 variables of a solution
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from onestep_lib._checks import check_instance, check_number, check_positive, check_vector
from onestep_lib.spiked_features.fit import SpikedSolution
from onestep_lib.spiked_features.model import SpikedTable

__all__ = [
    "replica_energy",
    "replica_gradient",
    "replica_variables",
]

_VARIABLES = 15
# A step along the imaginary axis takes no difference, so that it may be as small as one likes.
_STEP = 1e-40


def replica_energy(table: SpikedTable, phi: float, psi: float, ridge: float, variables: ArrayLike) -> float:
    r"""Return :math:`\Phi` (formula above).

    Parameters
    ----------
    table : SpikedTable
        Of a model with one group and isotropic rows.
    phi, psi, ridge : float
        d/n, d/N and the penalty, > 0, in the normalisation of :mod:`onestep_lib.settings`.
    variables : array_like, shape (15,)
        :math:`M,S,T,m,Q,A,X_s,X_a`, then
        :math:`\hat S,\hat T,\hat m,L,\hat\Omega,\hat Q,\hat A`.

    Raises
    ------
    ValueError, TypeError
        For arguments outside these ranges.

    Examples
    --------
    >>> from onestep_lib.activations import activation, target
    >>> from onestep_lib.beyond import replica_energy, replica_variables
    >>> from onestep_lib.spiked_features import SpikedModel, solve_spiked
    >>> model = SpikedModel(activation("tanh"), [1], [1], target("sin"), alignment=0.8)
    >>> solution = solve_spiked(model, phi=0.5, psi=0.4, ridge=0.1)
    >>> variables = replica_variables(solution, phi=0.5, psi=0.4)
    >>> energy = replica_energy(solution.table, 0.5, 0.4, 0.1, variables)
    >>> print(f"{energy:.6f} {solution.objective:.6f}")
    0.043296 0.043296
    """
    phi, psi, ridge = _numbers(table, phi, psi, ridge)
    return _energy(table, phi, psi, ridge, check_vector("variables", variables, _VARIABLES)).real


def replica_gradient(
    table: SpikedTable, phi: float, psi: float, ridge: float, variables: ArrayLike
) -> np.ndarray:
    r"""Return the gradient of :math:`\Phi`, shape (15,), to the last digits.

    Parameters
    ----------
    table, phi, psi, ridge, variables
        As in `replica_energy`.

    Examples
    --------
    >>> import numpy as np
    >>> from onestep_lib.activations import activation, target
    >>> from onestep_lib.beyond import replica_gradient, replica_variables
    >>> from onestep_lib.spiked_features import SpikedModel, solve_spiked
    >>> model = SpikedModel(activation("tanh"), [1], [1], target("sin"), alignment=0.8)
    >>> solution = solve_spiked(model, phi=0.5, psi=0.4, ridge=0.1)
    >>> variables = replica_variables(solution, phi=0.5, psi=0.4)
    >>> print(np.abs(replica_gradient(solution.table, 0.5, 0.4, 0.1, variables)).max() < 1e-9)
    True
    """
    phi, psi, ridge = _numbers(table, phi, psi, ridge)
    x = check_vector("variables", variables, _VARIABLES)
    rises = [_energy(table, phi, psi, ridge, x + 1j * step) for step in _STEP * np.eye(_VARIABLES)]
    return np.imag(rises) / _STEP


def replica_variables(solution: SpikedSolution, phi: float, psi: float) -> np.ndarray:
    """Return the 15 variables of `replica_energy` at a solution, from its fixed point and its errors.

    Parameters
    ----------
    solution : SpikedSolution
        Of a model with one group and isotropic rows, without a correction for finite d.
    phi, psi : float
        Of the same point.

    Raises
    ------
    ValueError, TypeError
        For arguments outside these ranges.

    Examples
    --------
    >>> from onestep_lib.activations import activation, target
    >>> from onestep_lib.beyond import replica_variables
    >>> from onestep_lib.spiked_features import SpikedModel, solve_spiked
    >>> model = SpikedModel(activation("tanh"), [1], [1], target("sin"), alignment=0.8)
    >>> solution = solve_spiked(model, phi=0.5, psi=0.4, ridge=0.1)
    >>> print(replica_variables(solution, phi=0.5, psi=0.4).shape)
    (15,)
    """
    check_instance("solution", solution, SpikedSolution)
    table, D = solution.table, solution.point.D
    phi, psi, _ = _numbers(table, phi, psi, 1.0)
    means = table.features.means
    mu1_sq, mu2_sq = means.mu1[0] ** 2, means.mu2_sq[0]
    rho = float(solution.point.c[0]) * psi / phi
    power, noise = (table.grid.weights * D) @ np.stack([mu1_sq, mu2_sq], axis=1)
    forces = phi * (table.grid.weights * D**2 * solution.error) @ np.stack([mu1_sq, mu2_sq], axis=1)
    along = rho / (1 + rho * power)
    M, S, T, m, A = (float(x[0]) for x in (solution.M, solution.S, solution.T, solution.m, solution.N))
    overlaps = [M, S, T, m, float(solution.Q[0, 0]), A, along, rho]
    return np.array([*overlaps, S / rho, T / rho, m / along, power, noise, *forces])


def _numbers(table: SpikedTable, *values: float) -> tuple[float, ...]:
    """phi, psi and the penalty as floats, for a table that the function covers."""
    check_instance("table", table, SpikedTable)
    shape = len(table.columns), *table.features.bulk.scales.shape
    if shape != (3, 1, 1):
        raise ValueError(
            "table must have one group, isotropic rows and a spike that does not know the rows' initial "
            f"lengths, got (columns, groups, bins) = {shape}"
        )
    names = ("phi", "psi", "ridge")
    return tuple(check_number(name, x, check_positive) for name, x in zip(names, values, strict=True))


def _energy(table: SpikedTable, phi: float, psi: float, ridge: float, variables: np.ndarray) -> complex:
    M, S, T, m, Q, A, X_s, X_a, S_hat, T_hat, m_hat, L, Omega_hat, Q_hat, A_hat = variables
    mu1, mu2_sq = table.features.means.mu1[0], table.features.means.mu2_sq[0]
    fitted = np.array([M, S, T]) @ table.columns
    labels = table.labels
    E = (labels.h0 - fitted) ** 2 + labels.variance - 2 * labels.h1 * m * mu1 + mu1**2 * Q + mu2_sq * A
    data = table.grid.weights @ (E / (1 + phi * (mu1**2 * X_s + mu2_sq * X_a)))
    Omega = ridge + Omega_hat
    slope = Omega + L - L / psi
    t_a = (np.sqrt(slope**2 + 4 * Omega * L / psi) - slope) / (2 * Omega * L)
    t_s = (1 / psi - Omega * t_a) / L
    held = A_hat * X_a + Q_hat * X_s - Omega_hat * A - L * Q + 2 * (S_hat * S + T_hat * T + m_hat * m)
    return data + held - (A_hat + S_hat**2 + T_hat**2) * t_a - (Q_hat + m_hat**2) * t_s
