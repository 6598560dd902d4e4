r"""Ridge regression on features, for a whole path of penalties from one factorisation.

.. math:: \hat a(\lambda)=\arg\min_a\ \tfrac1n|y-Fa|^2+\lambda|a|^2
          =(F^\top F+\lambda nI)^{-1}F^\top y=F^\top(FF^\top+\lambda nI)^{-1}y .

The penalty is lambda n in the unnormalised form, see :mod:`onestep_lib.settings`. The smaller of the two
Gram matrices is diagonalised once; each penalty then costs a matrix-vector product (derived at
:eq:`eq-primal-dual`, :eq:`eq-ridge-path`).

Functions
---------
ridge_path                coefficients, losses and generalised cross-validation along a path
streamed_ridge_path       the same from blocks of samples, in memory O(N^2)
smoother                  the matrix from labels to fitted values
leave_one_out             the residual of each sample under the fit without it, from one fit
least_squares_inflation   what estimation costs least squares on Gaussian features
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import eigh, solve

from onestep_lib._checks import (
    check_count,
    check_matrix,
    check_number,
    check_path,
    check_positive,
    check_same_length,
    check_vector,
)
from onestep_lib._values import by_value

__all__ = [
    "RidgePath",
    "least_squares_inflation",
    "leave_one_out",
    "ridge_path",
    "smoother",
    "streamed_ridge_path",
]


@by_value
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
        (Golub, Heath and Wahba 1979; derived at :eq:`eq-gcv`). Where the fit interpolates
        it is the limit of small penalties.
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
    n, width = F.shape
    if width < n:
        return streamed_ridge_path(lambda: [(F, y)], ridges)
    path, values, vectors = _one_path(ridges), *_eigen(F @ F.T, width)
    inverse, missed = _filters(values, n * path)
    rotated = vectors.T @ y
    scaled = inverse * rotated[:, None]
    train = np.sum((missed * rotated[:, None]) ** 2, axis=0) / n
    return _collect(ridges, n, F.T @ (vectors @ scaled), train, scaled, values, inverse, missed)


def streamed_ridge_path(
    blocks: Callable[[], Iterable[tuple[np.ndarray, np.ndarray]]], ridges: ArrayLike
) -> RidgePath:
    r"""Fit as `ridge_path` on features that come in blocks of samples, in memory :math:`O(N^2)` and a block.

    Parameters
    ----------
    blocks : callable
        Returns an iterable of (F, y) blocks, the same at each of its two calls: the first pass sums the
        Gram matrix (N by N), the second the residuals.
    ridges : array_like, shape () or (L,)
        Penalties lambda >= 0.

    Returns
    -------
    RidgePath

    Raises
    ------
    TypeError, ValueError
        If there is no sample, a block's shape does not fit, or a penalty is negative.
    """
    path = _one_path(ridges)
    if not callable(blocks):
        raise TypeError(f"blocks must be a callable that returns (F, y) blocks, got {blocks!r:.200}")
    n, gram, projected = 0, np.zeros(()), np.zeros(())
    for F, y in blocks():
        _check_block(F, y, gram)
        n, gram, projected = n + y.size, gram + F.T @ F, projected + F.T @ y
    if n == 0:
        raise ValueError("blocks must hold at least one sample, got none")
    values, vectors = _eigen(gram, n)
    inverse, missed = _filters(values, n * path)
    scaled = inverse * (vectors.T @ projected)[:, None]
    coefficients = vectors @ scaled
    train = sum(np.sum((y[:, None] - F @ coefficients) ** 2, axis=0) for F, y in blocks()) / n
    return _collect(ridges, n, coefficients, train, scaled, values, inverse, missed)


def _check_block(F: np.ndarray, y: np.ndarray, gram: np.ndarray) -> None:
    """Raise unless a block fits to itself and to the Gram matrix of those before it."""
    check_matrix("F", F, gram.shape[0] if gram.ndim else None)
    check_same_length("y", check_vector("y", y), "F", F)


def _one_path(ridges: ArrayLike) -> np.ndarray:
    return np.atleast_1d(check_path("ridges", ridges))


def _filters(values: np.ndarray, penalty: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """1/(s^2 + lambda n), and 1 - s^2/(s^2 + lambda n) without cancellation; 0 and 1 where both are 0."""
    total = values[:, None] + penalty
    inverse = np.divide(1.0, total, out=np.zeros_like(total), where=total > 0)
    return inverse, np.where(total > 0, penalty * inverse, 1.0)


def _collect(
    ridges: ArrayLike,
    n: int,
    coefficients: np.ndarray,
    train: np.ndarray,
    scaled: np.ndarray,
    values: np.ndarray,
    inverse: np.ndarray,
    missed: np.ndarray,
) -> RidgePath:
    unfitted = n - values.size + missed.sum(axis=0)
    norms = np.sum(scaled**2, axis=0), np.sum(inverse, axis=0) ** 2
    # Both sides of train/(1 - tr S/n)^2 vanish where the fit interpolates; their ratio does not.
    top, bottom = np.where(unfitted > 0, (train, (unfitted / n) ** 2), (n * norms[0], norms[1]))
    objective = train + np.asarray(ridges) * np.sum(coefficients**2, axis=0)
    shape = np.shape(ridges)
    return RidgePath(
        coefficients.reshape(coefficients.shape[0], *shape),
        train.reshape(shape),
        objective.reshape(shape),
        (values @ inverse).reshape(shape),
        (top / bottom).reshape(shape),
    )


def _eigen(gram: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues and eigenvectors; what a Gram matrix cannot tell from zero is set to zero."""
    values, vectors = eigh(gram, driver="evd", overwrite_a=True, check_finite=False)
    floor = values[-1] * size * np.finfo(float).eps
    return np.where(values > floor, values, 0.0), vectors


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
    penalty = F.shape[0] * check_number("ridge", ridge, check_positive)
    if F.shape[1] <= F.shape[0]:
        return F @ solve(F.T @ F + penalty * np.eye(F.shape[1]), F.T, assume_a="pos")
    gram = F @ F.T
    return solve(gram + penalty * np.eye(F.shape[0]), gram, assume_a="pos")


def leave_one_out(F: np.ndarray, y: np.ndarray, ridge: float) -> np.ndarray:
    r"""Return the residual of each sample under the fit that leaves it out, shape (n,).

    From the one fit on all samples (:eq:`eq-leave-one-out`):

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
    (:eq:`eq-least-squares-inflation`).

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
