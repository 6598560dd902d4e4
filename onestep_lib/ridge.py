r"""Ridge regression on features, for a whole path of penalties from one factorisation.

.. math:: \hat a(\lambda)=\arg\min_a\ \tfrac1n|y-Fa|^2+\lambda|a|^2
          =(F^\top F+\lambda nI)^{-1}F^\top y=F^\top(FF^\top+\lambda nI)^{-1}y .

The penalty is lambda n in the unnormalised form, see :mod:`onestep_lib.settings`. The smaller of the two
Gram matrices is diagonalised once; each penalty then costs a matrix-vector product (derived in chapter 3:
:eq:`eq-primal-dual`, :eq:`eq-ridge-path`).

Functions
---------
ridge_path                coefficients, losses and generalised cross-validation along a path
smoother                  the matrix from labels to fitted values
leave_one_out             the residual of each sample under the fit without it, from one fit
least_squares_inflation   what estimation costs least squares on Gaussian features
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import eigh, solve

from onestep_lib._checks import (
    check_count,
    check_matrix,
    check_nonnegative,
    check_positive,
    check_same_length,
    check_vector,
)

__all__ = ["RidgePath", "least_squares_inflation", "leave_one_out", "ridge_path", "smoother"]


@dataclass(frozen=True)
class RidgePath:
    """Ridge fits at every penalty; L is () for one penalty, (L,) for a path.

    Parameters
    ----------
    coefficients : ndarray, shape (N,) + L
    train : ndarray, shape L
        (1/n)|y - F a|^2, without the penalty.
    objective : ndarray, shape L
        train + ridge |a|^2.
    degrees_of_freedom : ndarray, shape L
        tr S of the smoother S = F (F^T F + ridge n I)^{-1} F^T.
    gcv : ndarray, shape L
        Generalised cross-validation, train/(1 - tr S/n)^2: an estimate of the test loss
        (Golub, Heath and Wahba 1979; derived in chapter 3, :eq:`eq-gcv`); inf where the fit interpolates.
    """

    coefficients: np.ndarray
    train: np.ndarray
    objective: np.ndarray
    degrees_of_freedom: np.ndarray
    gcv: np.ndarray


def ridge_path(F: np.ndarray, y: np.ndarray, ridges: ArrayLike) -> RidgePath:
    r"""Fit ridge regression at one penalty or along a path.

    Parameters
    ----------
    F : ndarray, shape (n, N)
        Features, one sample a row; no intercept is added.
    y : ndarray, shape (n,)
        Labels.
    ridges : array_like, shape () or (L,)
        Penalties lambda >= 0. At 0 the fit is the least-squares solution of smallest norm.

    Returns
    -------
    RidgePath

    Raises
    ------
    ValueError, TypeError
        If a shape does not fit or a penalty is negative.
    """
    F = check_matrix("F", F)
    y = check_vector("y", y)
    check_same_length("y", y, "F", F)
    ridges = check_nonnegative("ridges", ridges)
    if ridges.ndim > 1:
        raise ValueError(f"ridges must be a number or a 1-D sequence, got shape {ridges.shape}")
    n, width = F.shape
    primal = width <= n
    gram = F.T @ F if primal else F @ F.T
    values, vectors = eigh(gram, driver="evd", overwrite_a=True, check_finite=False)
    # The Gram matrix resolves eigenvalues only down to this level; below it they are rounding.
    values = np.where(values > values[-1] * max(n, width) * np.finfo(float).eps, values, 0.0)
    inverse = _safe_inverse(values[:, None] + n * np.atleast_1d(ridges))
    rotated = vectors.T @ (F.T @ y if primal else y)
    solution = vectors @ (inverse * rotated[:, None])
    coefficients = solution if primal else F.T @ solution
    residual = y[:, None] - F @ coefficients
    train = np.mean(residual**2, axis=0)
    freedom = values @ inverse
    with np.errstate(divide="ignore"):
        gcv = np.where(freedom < n * (1 - 1e-12), train / (1 - freedom / n) ** 2, np.inf)
    objective = train + ridges * np.sum(coefficients**2, axis=0)
    shape = ridges.shape
    return RidgePath(
        coefficients.reshape(width, *shape),
        train.reshape(shape),
        objective.reshape(shape),
        freedom.reshape(shape),
        gcv.reshape(shape),
    )


def smoother(F: np.ndarray, ridge: float) -> np.ndarray:
    r"""Return :math:`S=F(F^\top F+\lambda nI)^{-1}F^\top`, which maps labels to fitted values, shape (n, n).

    Parameters
    ----------
    F : ndarray, shape (n, N)
    ridge : float
        The penalty lambda > 0, in the normalisation of :mod:`onestep_lib.settings`.

    Raises
    ------
    ValueError, TypeError
        If F is not a matrix or the penalty is not one positive number.
    """
    F = check_matrix("F", F)
    penalty = F.shape[0] * _one_positive("ridge", ridge)
    if F.shape[1] <= F.shape[0]:
        return F @ solve(F.T @ F + penalty * np.eye(F.shape[1]), F.T, assume_a="pos")
    gram = F @ F.T
    return solve(gram + penalty * np.eye(F.shape[0]), gram, assume_a="pos")


def leave_one_out(F: np.ndarray, y: np.ndarray, ridge: float) -> np.ndarray:
    r"""Return the residual of each sample under the fit that leaves it out, shape (n,).

    From the one fit on all samples (derived in chapter 3, :eq:`eq-leave-one-out`):

    .. math:: y_i-f^{(-i)}_i=\frac{y_i-(Sy)_i}{1-S_{ii}},

    where the fit without sample i keeps the penalty lambda n of all n samples. S is `smoother`'s.

    Parameters
    ----------
    F : ndarray, shape (n, N)
    y : ndarray, shape (n,)
    ridge : float
        The penalty lambda > 0, in the normalisation of :mod:`onestep_lib.settings`.

    Raises
    ------
    ValueError, TypeError
        If a shape does not fit or the penalty is not one positive number.
    """
    y = check_vector("y", y)
    S = smoother(F, ridge)
    check_same_length("y", y, "F", S)
    return (y - S @ y) / (1 - np.diag(S))


def least_squares_inflation(n: int, width: int) -> float:
    r"""Return :math:`(n-1)/(n-N-1)`: what estimation costs least squares on N < n - 1 Gaussian features.

    With feature rows and labels jointly Gaussian (mean 0, any covariance), the expected test loss of the
    fit on n samples without a penalty is the smallest loss of any linear predictor times this factor
    (derived in chapter 3, :eq:`eq-least-squares-inflation`).

    Raises
    ------
    ValueError, TypeError
        If width or n is not a positive integer, or width >= n - 1, where the expectation is infinite.
    """
    check_count("width", width)
    check_count("n", n)
    if width >= n - 1:
        raise ValueError(f"width must be < n - 1 = {n - 1} for a finite expectation, got {width}")
    return (n - 1) / (n - width - 1)


def _one_positive(name: str, value: float) -> float:
    number = check_positive(name, value)
    if number.ndim:
        raise ValueError(f"{name} must be one number, got {value!r}")
    return float(number)


def _safe_inverse(values: np.ndarray) -> np.ndarray:
    """1/values, and 0 where a value is 0 (the pseudo-inverse)."""
    return np.divide(1.0, values, out=np.zeros_like(values), where=values > 0)
