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
`numpy.linalg.lstsq`); `streamed_ridge_path`, which has only the Gram matrix, puts the bound at sqrt(n eps),
5e-7 for n = 1000.

A boolean matrix is one of indicators: True counts as 1.

Functions
---------
ridge_path                coefficients, losses and generalised cross-validation along a path
streamed_ridge_path       the same from blocks of samples, in memory O(N^2)
smoother                  the matrix from labels to fitted values
leave_one_out             the residual of each sample under the fit without it, from one fit
least_squares_inflation   what estimation costs least squares on Gaussian features
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import eigh, svd
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs

from onestep_lib._checks import (
    check_callable,
    check_count,
    check_matrix,
    check_nonnegative,
    check_number,
    check_path,
    check_positive,
    check_same_length,
    check_vector,
    shown,
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
        If there is no sample or no feature, a shape does not fit or a penalty is negative.

    Examples
    --------
    >>> import numpy as np
    >>> from onestep_lib.experiment import ridge_path
    >>> path = ridge_path(np.eye(2), np.array([1.0, 2.0]), ridges=[0, 0.5])
    >>> print(path.coefficients.round(3))
    [[1.  0.5]
     [2.  1. ]]
    >>> print(path.degrees_of_freedom.round(3))
    [2. 1.]
    """
    F, y = _whole(F, y)
    n, width = F.shape
    path = check_path("ridges", ridges)
    penalty = n * np.atleast_1d(path)
    gram, right = (F.T @ F, F.T @ y) if width < n else (F @ F.T, y)
    if _has_factors(gram, penalty):
        solved, degrees, missed = _by_factors(gram, right, penalty)
        if width < n:
            return _from_gram(solved, degrees, missed, [(F, y)], path, n)
        train = np.sum((penalty * solved) ** 2, axis=0) / n
        # train/(1 - tr S/n)^2 without the penalty, which both sides contain.
        gcv = n * np.sum(solved**2, axis=0) / (missed / penalty) ** 2
        return _collect(path, F.T @ solved, train, degrees, gcv)
    values, vectors = _eigen(gram, max(n, width))
    if values[0] + penalty.min() <= _GRAM * values[-1]:
        return _from_singular(F, y, path)
    if width < n:
        return _from_gram(*_by_vectors(values, vectors, right, penalty), [(F, y)], path, n)
    solved, degrees, _ = _by_vectors(values, vectors, right, penalty)
    train, gcv = _losses(n, values, penalty, vectors.T @ y)
    return _collect(path, F.T @ solved, train, degrees, gcv)


def streamed_ridge_path(
    blocks: Callable[[], Iterable[tuple[np.ndarray, np.ndarray]]], ridges: ArrayLike
) -> RidgePath:
    r"""Fit as `ridge_path` on features that come in blocks of samples, in memory :math:`O(N^2)` and a block.

    Parameters
    ----------
    blocks : callable
        Returns an iterable of (F, y) blocks, the same at each of its two calls: the first pass sums the
        Gram matrix (N by N), the second the residuals (or joins the blocks, if n <= N).
    ridges : array_like, shape () or (L,)
        Penalties lambda >= 0.

    Returns
    -------
    RidgePath

    Raises
    ------
    TypeError, ValueError
        If there is no sample or no feature, a block's shape does not fit, or a penalty is negative.

    Examples
    --------
    >>> import numpy as np
    >>> from onestep_lib.experiment import ridge_path
    >>> from onestep_lib.experiment.ridge import streamed_ridge_path
    >>> rng = np.random.default_rng(0)
    >>> F, y = rng.standard_normal((50, 20)), rng.standard_normal(50)
    >>> path = streamed_ridge_path(lambda: [(F[:30], y[:30]), (F[30:], y[30:])], ridges=0.1)
    >>> print(np.allclose(path.coefficients, ridge_path(F, y, 0.1).coefficients))
    True
    """
    path = check_path("ridges", ridges)
    check_callable("blocks", blocks, "a callable that returns (F, y) blocks")
    n, gram, projected = 0, np.zeros(()), np.zeros(())
    for F, y in _checked(blocks):
        n, gram, projected = n + y.size, gram + F.T @ F, projected + F.T @ y
    if n == 0 or projected.size == 0:
        raise ValueError(f"blocks must hold at least one {'feature' if n else 'sample'}, got none")
    if n <= projected.size:
        F, y = (np.concatenate(parts) for parts in zip(*_checked(blocks), strict=True))
        return ridge_path(F, y, path)
    penalty = n * np.atleast_1d(path)
    if _has_factors(gram, penalty):
        solved = _by_factors(gram, projected, penalty)
    else:
        solved = _by_vectors(*_eigen(gram, n), projected, penalty)
    return _from_gram(*solved, _checked(blocks), path, n)


def _samples(F: np.ndarray, y: np.ndarray, width: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return features (of the given width) and labels that fit to each other as float64 arrays, or raise."""
    F = check_matrix("F", F, width, flags=True)
    y = check_vector("y", y, flags=True)
    check_same_length("y", y, "F", F)
    return F, y


def _whole(F: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """`_samples`, at least one."""
    F, y = _samples(F, y)
    if F.size == 0:
        raise ValueError(f"F must hold at least one sample and one feature, got shape {F.shape}")
    return F, y


def _checked(
    blocks: Callable[[], Iterable[tuple[np.ndarray, np.ndarray]]],
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The blocks, each fitting to itself and to the first."""
    width = None
    for pair in blocks():
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise TypeError(f"blocks must hold pairs (F, y), got {shown(pair)}")
        F, y = _samples(*pair, width)
        width = F.shape[1]
        yield F, y


def _filters(values: np.ndarray, penalty: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """1/(s^2 + lambda n), and 1 - s^2/(s^2 + lambda n) without cancellation; 0 and 1 where both are 0."""
    total = values[:, None] + penalty
    inverse = np.divide(1.0, total, out=np.zeros_like(total), where=total > 0)
    return inverse, np.where(total > 0, penalty * inverse, 1.0)


def _losses(
    n: int, values: np.ndarray, penalty: np.ndarray, rotated: np.ndarray, outside: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Train and gcv, from the labels along the eigenvectors and their power outside of them."""
    _, missed = _filters(values, penalty)
    train = (outside + np.sum((missed * rotated[:, None]) ** 2, axis=0)) / n
    if values.size < n:
        return train, _gcv(n, values.size, missed.sum(axis=0), train)
    # Both sides of train/(1 - tr S/n)^2 vanish where the fit interpolates; divided by the largest part that
    # is missed, they do not.
    total = values[:, None] + penalty
    least = total.min(axis=0)
    part = np.where(least > 0, least / np.where(total > 0, total, 1.0), total == 0)
    return train, n * np.sum((part * rotated[:, None]) ** 2, axis=0) / np.sum(part, axis=0) ** 2


def _gcv(n: int, width: int, missed: np.ndarray, train: np.ndarray) -> np.ndarray:
    """train/(1 - tr S/n)^2 for n > N, where neither vanishes."""
    return train / ((n - width + missed) / n) ** 2


def _has_factors(gram: np.ndarray, penalty: np.ndarray) -> bool:
    """Whether the penalties are few, and each is enough beside the largest eigenvalue (at most the trace)."""
    return bool(penalty.size <= _FEW and penalty.min() > _GRAM * np.trace(gram))


def _by_factors(
    gram: np.ndarray, right: np.ndarray, penalty: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(G + p I)^{-1} right, tr G (G + p I)^{-1} and tr p (G + p I)^{-1} at each penalty p, by Cholesky."""
    size = right.size
    solved, degrees, missed = np.empty((size, penalty.size)), np.empty(penalty.size), np.empty(penalty.size)
    for k, one in enumerate(penalty):
        shifted = gram.copy()
        shifted.flat[:: size + 1] += one
        factor, _ = dpotrf(shifted, lower=1, clean=1)
        solved[:, k], _ = dpotrs(factor, right, lower=1)
        inverse, _ = dpotri(factor, lower=1, overwrite_c=1)  # its lower half; the upper one is zero
        degrees[k] = 2 * np.vdot(gram, inverse) - gram.diagonal() @ inverse.diagonal()
        missed[k] = one * np.trace(inverse)
    return solved, degrees, missed


def _by_vectors(
    values: np.ndarray, vectors: np.ndarray, right: np.ndarray, penalty: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same from the eigenvectors; what the right side has along an absent direction is rounding's."""
    inverse, missed = _filters(values, penalty)
    along = np.where(values > 0, vectors.T @ right, 0.0)
    return vectors @ (inverse * along[:, None]), values @ inverse, missed.sum(axis=0)


def _from_gram(
    coefficients: np.ndarray,
    degrees: np.ndarray,
    missed: np.ndarray,
    blocks: Iterable[tuple[np.ndarray, np.ndarray]],
    path: np.ndarray,
    n: int,
) -> RidgePath:
    """The path for n > N from what solves F^T F."""
    missing, train = n, np.zeros(coefficients.shape[1])
    for F, y in blocks:
        missing, train = missing - y.size, train + np.sum((y[:, None] - F @ coefficients) ** 2, axis=0) / n
    if missing:
        raise ValueError(f"blocks must return the same {n} samples at both calls, got {n - missing}")
    return _collect(path, coefficients, train, degrees, _gcv(n, coefficients.shape[0], missed, train))


def _from_singular(F: np.ndarray, y: np.ndarray, path: np.ndarray) -> RidgePath:
    """The path from the singular values of F itself."""
    n, width = F.shape
    penalty = n * np.atleast_1d(path)
    left, singular, right = _singular(F)
    rotated, values = left.T @ y, singular**2
    outside = float(np.sum((y - left @ rotated) ** 2)) if width < n else 0.0
    inverse, _ = _filters(values, penalty)
    coefficients = right.T @ (singular[:, None] * inverse * rotated[:, None])
    train, gcv = _losses(n, values, penalty, rotated, outside)
    return _collect(path, coefficients, train, values @ inverse, gcv)


def _collect(
    path: np.ndarray,
    coefficients: np.ndarray,
    train: np.ndarray,
    degrees: np.ndarray,
    gcv: np.ndarray,
) -> RidgePath:
    objective = train + path * np.sum(coefficients**2, axis=0)
    return RidgePath(
        coefficients.reshape(coefficients.shape[0], *path.shape),
        train.reshape(path.shape),
        objective.reshape(path.shape),
        degrees.reshape(path.shape),
        gcv.reshape(path.shape),
    )


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

    Examples
    --------
    >>> import numpy as np
    >>> from onestep_lib.experiment.ridge import smoother
    >>> print(smoother(np.ones((2, 1)), ridge=1).round(3))
    [[0.25 0.25]
     [0.25 0.25]]
    """
    F = check_matrix("F", F, flags=True)
    if F.size == 0:
        raise ValueError(f"F must hold at least one sample and one feature, got shape {F.shape}")
    penalty = F.shape[0] * check_number("ridge", ridge, check_positive)
    left, singular, _ = _singular(F)
    return (left * (singular**2 / (singular**2 + penalty))) @ left.T


def leave_one_out(F: np.ndarray, y: np.ndarray, ridge: float) -> np.ndarray:
    r"""Return the residual of each sample under the fit that leaves it out, shape (n,).

    From the one fit on all samples (:eq:`eq-leave-one-out`):

    .. math:: y_i-f^{(-i)}_i=\frac{y_i-(Sy)_i}{1-S_{ii}},

    where the fit without sample i keeps the penalty lambda n of all n samples. S is `smoother`'s. Neither
    difference is taken: with :math:`F=U\,\mathrm{diag}(s)V^\top`, :math:`u_i` the i-th row of the complete U
    and s = 0 in its further columns,

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
    F, y = _whole(F, y)
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
        If width or n is not a positive integer, or width >= n - 1, where the expectation is infinite.

    Examples
    --------
    >>> from onestep_lib.experiment import least_squares_inflation
    >>> print(least_squares_inflation(n=101, width=50))
    2.0
    """
    width = check_count("width", width)
    n = check_count("n", n)
    if width >= n - 1:
        raise ValueError(f"width must be < n - 1 = {n - 1} for a finite expectation, got {width}")
    return (n - 1) / (n - width - 1)
