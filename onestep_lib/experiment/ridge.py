r"""Ridge regression on features, for a whole path of penalties from one factorisation.

.. math:: \hat a(\lambda)=\arg\min_a\ \tfrac1n|y-Fa|^2+\lambda|a|^2
          =(F^\top F+\lambda nI)^{-1}F^\top y=F^\top(FF^\top+\lambda nI)^{-1}y .

The penalty is lambda n in the unnormalised form, see :mod:`onestep_lib.settings`. The smaller of the two
Gram matrices is diagonalised once; each penalty then costs a matrix-vector product (derived at
:eq:`eq-primal-dual`, :eq:`eq-ridge-path`). For few penalties, all well above rounding, a Cholesky factor for
each costs less.

**Rank.** A Gram matrix squares the singular values of F and keeps half of their digits. Where no penalty
covers the loss, F itself is decomposed, at several times the cost. A direction counts as absent, at every
penalty, where its singular value is below max(n, N) eps of the largest, with eps = 2.2e-16 (the rule of
`numpy.linalg.lstsq`).

A boolean matrix is one of indicators: True counts as 1.

Functions
---------
ridge_path                coefficients, losses and generalised cross-validation along a path
leave_one_out             the residual of each sample under the fit without it, from one fit
least_squares_inflation   what estimation costs least squares on Gaussian features
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import eigh, svd
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs

from onestep_lib._checks import (
    check_flag,
    check_matrix,
    check_nonnegative,
    check_number,
    check_path,
    check_same_length,
    check_vector,
)

__all__ = [
    "least_squares_inflation",
    "leave_one_out",
    "ridge_path",
]

# Where the smallest eigenvalue and the penalty are less than this part of the largest eigenvalue, rounding
# leaves a Gram matrix fewer than about 6 digits of it.
_GRAM = 1e-9
# One diagonalisation costs as much as five to six Cholesky factors with their inverses.
_FEW = 4


@dataclass(frozen=True, eq=False)
class RidgePath:
    """Ridge fits at every penalty; L is () for one penalty, (L,) for a path.

    Parameters
    ----------
    coefficients : ndarray, shape (N,) + L
    train : ndarray, shape L
        ``(1/n)|y - F a|^2``, without the penalty.
    objective : ndarray, shape L
        ``train + ridge |a|^2``.
    gcv : ndarray, shape L
        Generalised cross-validation, train/(1 - tr S/n)^2 with the smoother
        S = F (F^T F + ridge n I)^{-1} F^T: an estimate of the test loss (Golub, Heath and Wahba 1979;
        derived at :eq:`eq-gcv`). Where the fit interpolates it is the limit of small penalties. nan where
        it was not asked for.
    """

    coefficients: np.ndarray
    train: np.ndarray
    objective: np.ndarray
    gcv: np.ndarray


def ridge_path(F: np.ndarray, y: np.ndarray, ridges: ArrayLike, gcv: bool = True) -> RidgePath:
    r"""Fit ridge regression at one penalty or along a path.

    Parameters
    ----------
    F : ndarray, shape (n, N)
        Features, one sample a row; no intercept is added.
    y : ndarray, shape (n,)
        Labels.
    ridges : array_like, shape () or (L,)
        Penalties lambda >= 0. At 0 the fit is the least-squares solution of smallest norm.
    gcv : bool
        Whether cross-validation is wanted: without it a single penalty costs two thirds.

    Returns
    -------
    RidgePath

    Raises
    ------
    ValueError, TypeError
        If there is no sample or no feature, a shape does not fit, a penalty is negative, or the squares of
        the features or labels are too large for a number.

    Examples
    --------
    >>> import numpy as np
    >>> from onestep_lib.experiment import ridge_path
    >>> path = ridge_path(np.eye(2), np.array([1.0, 2.0]), ridges=[0, 0.5])
    >>> print(path.coefficients.round(3))
    [[1.  0.5]
     [2.  1. ]]
    """
    F, y = _samples(F, y)
    path, gcv = check_path("ridges", ridges), check_flag("gcv", gcv)
    n, width = F.shape
    with np.errstate(over="ignore", invalid="ignore"):
        penalty = n * np.atleast_1d(path)
        gram, right = (F.T @ F, F.T @ y) if width < n else (F @ F.T, y)
        if not np.isfinite([np.trace(gram), y @ y, penalty.max() + np.abs(right).max()]).all():
            raise ValueError("F, y and ridges must be so small that their squares and products are numbers")
    if penalty.size <= _FEW and penalty.min() > _GRAM * np.trace(gram):
        solved, traces = _by_factors(gram, right, penalty, gcv)
    else:
        values, vectors = _eigen(gram, max(n, width))
        if values[0] + penalty.min() <= _GRAM * values[-1]:
            return _from_singular(F, y, path)
        inverse = 1 / (values[:, None] + penalty)
        solved, traces = vectors @ (inverse * (vectors.T @ right)[:, None]), inverse.sum(axis=0)
    # Both sides of train/(1 - tr S/n)^2 in terms of the inverse of the smaller Gram matrix.
    if width < n:
        train = np.sum((y[:, None] - F @ solved) ** 2, axis=0) / n
        return _collect(path, solved, train, train / ((n - width + penalty * traces) / n) ** 2)
    train = np.sum((penalty * solved) ** 2, axis=0) / n
    return _collect(path, F.T @ solved, train, n * np.sum((solved / traces) ** 2, axis=0))


def _samples(F: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return features and labels that fit to each other as float64 arrays, at least one, or raise."""
    F = check_matrix("F", F, flags=True)
    y = check_vector("y", y, flags=True)
    check_same_length("y", y, "F", F)
    if F.size == 0:
        raise ValueError(f"F must hold at least one sample and one feature, got shape {F.shape}")
    return F, y


def _by_factors(
    gram: np.ndarray, right: np.ndarray, penalty: np.ndarray, traces: bool
) -> tuple[np.ndarray, np.ndarray]:
    """(G + p I)^{-1} right and, if wanted, tr (G + p I)^{-1} at each penalty p, by Cholesky."""
    size = right.size
    solved, found = np.empty((size, penalty.size)), np.full(penalty.size, np.nan)
    for k, one in enumerate(penalty):
        # A symmetric matrix in the order of LAPACK, which then copies nothing; the last may be overwritten.
        shifted = gram.T if k == penalty.size - 1 else gram.T.copy(order="F")
        shifted[np.diag_indices(size)] += one
        factor, _ = dpotrf(shifted, lower=1, clean=0, overwrite_a=1)
        solved[:, k], _ = dpotrs(factor, right, lower=1)
        if traces:
            found[k] = np.trace(dpotri(factor, lower=1, overwrite_c=1)[0])
    return solved, found


def _from_singular(F: np.ndarray, y: np.ndarray, path: np.ndarray) -> RidgePath:
    """The path from the singular values of F itself."""
    n, width = F.shape
    penalty = n * np.atleast_1d(path)
    left, singular, right = _singular(F)
    rotated, total = left.T @ y, singular[:, None] ** 2 + penalty
    inverse = np.divide(1.0, total, out=np.zeros_like(total), where=total > 0)
    missed = np.where(total > 0, penalty * inverse, 1.0)
    outside = np.sum((y - left @ rotated) ** 2) if width < n else 0.0
    train = (outside + np.sum((missed * rotated[:, None]) ** 2, axis=0)) / n
    coefficients = right.T @ (singular[:, None] * inverse * rotated[:, None])
    if width < n:
        return _collect(path, coefficients, train, train / ((n - width + missed.sum(axis=0)) / n) ** 2)
    # Both sides of train/(1 - tr S/n)^2 vanish where the fit interpolates; divided by the largest part that
    # is missed, they do not.
    least = total.min(axis=0)
    part = np.where(least > 0, least / np.where(total > 0, total, 1.0), total == 0)
    gcv = n * np.sum((part * rotated[:, None]) ** 2, axis=0) / np.sum(part, axis=0) ** 2
    return _collect(path, coefficients, train, gcv)


def _collect(path: np.ndarray, coefficients: np.ndarray, train: np.ndarray, gcv: np.ndarray) -> RidgePath:
    objective = train + path * np.sum(coefficients**2, axis=0)
    losses = (one.reshape(path.shape) for one in (train, objective, gcv))
    return RidgePath(coefficients.reshape(-1, *path.shape), *losses)


def _eigen(gram: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues, ascending, and vectors; what a Gram matrix cannot tell from zero is set to zero."""
    values, vectors = eigh(gram, driver="evd", overwrite_a=True, check_finite=False)
    floor = values[-1] * size * np.finfo(float).eps
    return np.where(values > floor, values, 0.0), vectors


def _singular(F: np.ndarray, complete: bool = False) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The singular value decomposition, absent directions set to zero (see the module)."""
    left, singular, right = svd(F, full_matrices=complete, check_finite=False)
    floor = singular[0] * max(F.shape) * np.finfo(float).eps
    return left, np.where(singular > floor, singular, 0.0), right


def leave_one_out(F: np.ndarray, y: np.ndarray, ridge: float) -> np.ndarray:
    r"""Return the residual of each sample under the fit that leaves it out, shape (n,).

    From the one fit on all samples (:eq:`eq-leave-one-out`):

    .. math:: y_i-f^{(-i)}_i=\frac{y_i-(Sy)_i}{1-S_{ii}},

    where the fit without sample i keeps the penalty lambda n of all n samples, and
    :math:`S=F(F^\top F+\lambda nI)^{-1}F^\top`. Neither difference is taken: with
    :math:`F=U\,\mathrm{diag}(s)V^\top`, :math:`u_i` the i-th row of the complete U and s = 0 in its further
    columns,

    .. math:: y_i-(Sy)_i=\sum_ku_{ik}\frac{\lambda n}{s_k^2+\lambda n}(U^\top y)_k,\qquad
              1-S_{ii}=\sum_ku_{ik}^2\frac{\lambda n}{s_k^2+\lambda n},

    and where the sample has no part in the columns with s = 0, the factor lambda n is left out of both. For
    N >= n and full rank it is :math:`(G^{-1}y)_i/(G^{-1})_{ii}`, :math:`G=FF^\top+\lambda nI`.

    Parameters
    ----------
    F : ndarray, shape (n, N)
    y : ndarray, shape (n,)
    ridge : float
        The penalty lambda >= 0, in the normalisation of :mod:`onestep_lib.settings`. At 0 the fits are the
        least-squares solutions of smallest norm (ranks as the module says).

    Raises
    ------
    ValueError, TypeError
        If there is no sample or no feature, a shape does not fit, or the penalty is not one number >= 0.

    Examples
    --------
    >>> import numpy as np
    >>> from onestep_lib.experiment import leave_one_out
    >>> F, y = np.ones((3, 1)), np.array([1.0, 2.0, 6.0])
    >>> print(leave_one_out(F, y, ridge=0).round(3))  # less the mean of the others
    [-3.  -1.5  4.5]
    """
    F, y = _samples(F, y)
    n, width = F.shape
    penalty = n * check_number("ridge", ridge, check_nonnegative)
    left, singular, _ = _singular(F, complete=n > width)
    present = np.flatnonzero(singular)
    range_ = left[:, present]
    null = np.delete(left, present, axis=1)
    part = 1 / (singular[present] ** 2 + penalty)
    top, bottom = range_ @ (part * (range_.T @ y)), range_**2 @ part
    free = np.sum(null**2, axis=1)
    inside = free <= (n * np.finfo(float).eps) ** 2
    top = np.where(inside, top, null @ (null.T @ y) + penalty * top)
    return top / np.where(inside, bottom, free + penalty * bottom)


def least_squares_inflation(n: int, width: int) -> float:
    r"""Return :math:`(n-1)/(n-N-1)`: what estimation costs least squares on N < n - 1 Gaussian features.

    With feature rows and labels jointly Gaussian (mean 0, any covariance), the expected test loss of the
    fit on n samples without a penalty is the smallest loss of any linear predictor times this factor
    (:eq:`eq-least-squares-inflation`).

    Raises
    ------
    ValueError, TypeError
        If width >= n - 1, where the expectation is infinite.

    Examples
    --------
    >>> from onestep_lib.experiment import least_squares_inflation
    >>> print(least_squares_inflation(n=101, width=50))
    2.0
    """
    if width >= n - 1:
        raise ValueError(f"width must be < n - 1 = {n - 1} for a finite expectation, got {width}")
    return (n - 1) / (n - width - 1)
