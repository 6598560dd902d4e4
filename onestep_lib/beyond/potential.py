r"""One function whose stationary point is the ridge fit on spiked features, and its value the objective.

For groups g of neurons with the conditional means of
:mod:`onestep_lib.spiked_features.conditional_means`, in the letters of the chapter on errors after a giant
step,

.. math::
   \Phi=\mathbb E[(D+h)\,E]+\sum_g\Big[\lambda-\frac{N_g}{d\,\varrho_g}+R_g\Big]|\hat a_g|^2
        -\mathrm{tr}\,D_1Q

        +\begin{pmatrix}s_v\\s_\perp\end{pmatrix}^{\!\top}
        \begin{pmatrix}K_{vv}&K_{v\perp}\\K_{v\perp}&K_{\perp\perp}\end{pmatrix}^{-1}
        \begin{pmatrix}s_v\\s_\perp\end{pmatrix}-s_v^\top D_1s_v

        +\sum_g\frac{s_{1,g}^2/d+s_{\ell,g}^2}{\varrho_g},

   \frac1D=1+\phi\Big[\mu_1^\top\sum_kw_kK_k\,\mu_1+\sum_g\varrho_g\mu_{2,g}^2\Big],\qquad
   E=(h_0-\bar f)^2+\mathrm{Var}(y|\kappa)-2h_1\,s_\perp\cdot\mu_1+\mu_1^\top Q\mu_1
     +\sum_g\mu_{2,g}^2|\hat a_g|^2,

   K_k=J_kC_k,\quad J_k=(I+C_kD_1)^{-1},\quad C_k=\mathrm{diag}(\varrho_gs_g(k)),\quad
   R_g=\sum_kw_ks_g(k)[D_1J_k]_{gg},

with the mean part :math:`\bar f` and the bins k of the bulk as in :mod:`onestep_lib.spiked_features.losses`.
For one group and isotropic rows it is :eq:`eq-giant-potential`. The unknowns are
:math:`s_1,s_v,s_\ell,s_\perp`, the overlaps Q of the groups' directions across v, the squared lengths
:math:`|\hat a_g|^2`, the responses :math:`\varrho_g` and the matrix :math:`D_1`. The groups of a Gaussian
readout are its nodes; without a step the spike is 0.

The source h adds h times the test loss to what ridge regression minimises: at the stationary point

.. math:: \Phi=\text{objective},\qquad\partial_h\Phi=\text{test},\qquad
          (1-\lambda\,\partial_\lambda)\Phi=\text{train}.

Derived by a cavity argument, by replicas (Cui et al., arXiv 2402.04980), by Gordon's comparison; not proved.

Functions
---------
potential            Phi, at the solution or away from it
potential_unknowns   its variables at the solution
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from onestep_lib._checks import check_instance
from onestep_lib.spiked_features.fit import SpikedSolution

__all__ = [
    "potential",
    "potential_unknowns",
]


def potential_unknowns(solution: SpikedSolution) -> dict[str, np.ndarray]:
    r"""Return the unknowns of :math:`\Phi` at a solution, by name.

    Parameters
    ----------
    solution : SpikedSolution

    Returns
    -------
    dict
        "s_1", "s_v", "s_length", "s_perp", "a_sq", "rho", one entry a group, and the matrices "Q", "D_1".

    Examples
    --------
    >>> from onestep_lib.activations import activation, target
    >>> from onestep_lib.beyond import potential_unknowns
    >>> from onestep_lib.spiked_features import SpikedModel, solve_spiked
    >>> model = SpikedModel(activation("tanh"), [2], [1], target((0, 1)), alignment=1)
    >>> at = potential_unknowns(solve_spiked(model, phi=0.5, psi=0.7, ridge=0.1))
    >>> print(f"{abs(at['s_perp'][0]):.3f}")  # nothing is to be learned across the spike
    0.000
    """
    check_instance("solution", solution, SpikedSolution)
    names = "s_1", "s_v", "s_length", "s_perp", "Q", "a_sq"
    share, point = solution.ratios.a, solution.point
    unknowns = {name: getattr(solution, name) for name in names}
    return unknowns | {"rho": share * point.c, "D_1": point.Lambda / share}


def potential(
    solution: SpikedSolution, source: float = 0.0, ridge: float | None = None, **changed: ArrayLike
) -> float:
    r"""Return :math:`\Phi` where some of its unknowns are changed.

    Parameters
    ----------
    solution : SpikedSolution
    source : float
        The weight h on the test loss.
    ridge : float, optional
        The penalty; that of the solution if omitted.
    **changed : array_like
        Unknowns by their names in `potential_unknowns`; the others stay at the solution.

    Raises
    ------
    TypeError, ValueError
        For something else than a solution, and for another name.

    Examples
    --------
    >>> from onestep_lib.activations import activation, target
    >>> from onestep_lib.beyond import potential
    >>> from onestep_lib.spiked_features import SpikedModel, solve_spiked
    >>> model = SpikedModel(activation("tanh"), [2], [1], target("sin"), 0.8, 0.1)
    >>> solution = solve_spiked(model, phi=0.5, psi=0.7, ridge=0.1)
    >>> slope = (potential(solution, source=1e-3) - potential(solution)) / 1e-3
    >>> print(f"{abs(potential(solution) - solution.objective):.6f} {abs(slope - solution.test):.6f}")
    0.000000 0.000000
    """
    at = potential_unknowns(solution)
    if unknown := set(changed) - set(at):
        raise ValueError(f"changed must name unknowns among {sorted(at)}, got {sorted(unknown)}")
    at |= {name: np.broadcast_to(value, at[name].shape) for name, value in changed.items()}
    table, ratios = solution.table, solution.ratios
    means, bulk, labels = table.features.means, table.features.bulk, table.labels
    rho, D_1, a_sq, s_v = at["rho"], at["D_1"], at["a_sq"], at["s_v"]

    C = (rho[:, None] * bulk.scales).T
    J = np.linalg.inv(np.eye(rho.size) + C[:, :, None] * D_1)
    K = J * C[:, None, :]
    along_rows = np.sum(means.mu1 * (np.tensordot(bulk.weights, K, 1) @ means.mu1), axis=0)
    D = 1 / (1 + (along_rows + rho @ means.mu2_sq) / ratios.alpha)
    fitted = np.concatenate([at["s_1"], s_v, at["s_length"]]) @ table.columns
    error = (labels.h0 - fitted) ** 2 + labels.variance - 2 * labels.h1 * (at["s_perp"] @ means.mu1)
    error = error + np.sum(means.mu1 * (at["Q"] @ means.mu1), axis=0) + a_sq @ means.mu2_sq

    K_vv, K_vt, K_tt = (np.tensordot(part, K, 1) for part in (bulk.vv, bulk.vt, bulk.tt))
    lines = np.concatenate([s_v, at["s_perp"]])
    cost = lines @ np.linalg.solve(np.block([[K_vv, K_vt], [K_vt, K_tt]]), lines) - s_v @ D_1 @ s_v
    rest = np.sum(at["s_length"].reshape(-1, rho.size) ** 2, axis=0) + ratios.inverse_d * at["s_1"] ** 2
    stiff = np.einsum("k,gk,kgg->g", bulk.weights, bulk.scales, D_1 @ J)
    penalty = ratios.ridge if ridge is None else ridge
    held = penalty - ratios.beta * table.features.fractions / rho + stiff
    value = table.grid.weights @ ((D + source) * error) + cost + np.sum(rest / rho)
    return float(value + held @ a_sq - np.sum(D_1 * at["Q"]))
