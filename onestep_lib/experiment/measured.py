"""One draw in the theory's own terms: norms, overlaps, outliers and distances, to put beside the limits.

Functions
---------
rank_one_error             the relative error of c_1 a b^T, measured
measured_spike             |b|^2 and the alignment of b with beta_*
measured_weight_spectrum   largest singular value of the stepped weights, and its overlaps
operator_norm              the largest singular value of a matrix
measured_outliers          largest eigenvalues of F F^T/n, and their overlaps with He_q(kappa)
spike_error                |F - F_l|/sqrt(n), measured
measured_spike_constant    the coefficient of 1 (a o a)^T in F - F_2
"""

from __future__ import annotations

import numpy as np
from scipy.sparse.linalg import svds
from scipy.special import factorial

from onestep_lib._checks import (
    check_matrix,
)
from onestep_lib.experiment.feature_maps import spike_terms
from onestep_lib.experiment.network import Network, SteppedNetwork, feature_matrix
from onestep_lib.hermite import hermite
from onestep_lib.small_step.gradient import Spike
from onestep_lib.small_step.outliers import Outliers
from onestep_lib.small_step.weights import WeightSpectrum

__all__ = [
    "measured_outliers",
    "measured_spike",
    "measured_spike_constant",
    "measured_weight_spectrum",
    "operator_norm",
    "rank_one_error",
]


def rank_one_error(gradient: np.ndarray, network: Network, direction: np.ndarray) -> float:
    r"""Return :math:`\|G-c_1ab^\top\|/\|G\|` in operator norm.

    It falls like n^{-1/2} with b from `gradient_direction` (observed; the split is :eq:`eq-rank-one`).

    Parameters
    ----------
    gradient : ndarray, shape (N, d)
    network : Network
        The network before the step.
    direction : ndarray, shape (d,)
        The direction b.

    Examples
    --------
    >>> import numpy as np
    >>> from onestep_lib.activations import activation
    >>> from onestep_lib.experiment import rank_one_error
    >>> from onestep_lib.experiment.network import Network
    >>> network = Network(np.eye(2), np.array([1.0, -1.0]), activation("identity"))
    >>> b = np.array([0.5, 1.0])
    >>> gradient = np.outer(network.readout, b)
    >>> print(f"{rank_one_error(gradient, network, b):.3f} {rank_one_error(gradient, network, b / 2):.3f}")
    0.000 0.500
    """
    rank_one = network.activation.c1 * np.outer(network.readout, direction)
    return operator_norm(gradient - rank_one) / operator_norm(gradient)


def measured_spike(direction: np.ndarray, target_direction: np.ndarray) -> Spike:
    r"""Return :math:`|b|^2` and the alignment of one draw of b with :math:`\beta_*`, both of shape (d,).

    Examples
    --------
    >>> from onestep_lib.experiment import measured_spike
    >>> spike = measured_spike([3.0, 4.0], [1.0, 0.0])
    >>> print(spike)
    Spike(power=25.0, alignment=0.6, widening=0.0)
    """
    power = float(np.dot(direction, direction))
    return Spike(power, float(np.dot(direction, target_direction) / np.sqrt(power)))


def measured_weight_spectrum(network: SteppedNetwork, target_direction: np.ndarray) -> WeightSpectrum:
    r"""Return the quantities of `onestep_lib.small_step.weights.weight_spectrum` of one draw.

    Parameters
    ----------
    network : SteppedNetwork
    target_direction : ndarray, shape (d,)
        :math:`\beta_*`, a unit vector.

    Examples
    --------
    >>> import numpy as np
    >>> from onestep_lib.activations import activation
    >>> from onestep_lib.experiment import measured_weight_spectrum, take_steps
    >>> from onestep_lib.experiment.network import Network
    >>> network = Network(np.eye(2), np.array([1.0, -1.0]), activation("identity"))
    >>> (stepped,) = take_steps(network, np.eye(2), np.array([1.0, 2.0]), 1000)
    >>> found = measured_weight_spectrum(stepped, np.array([1.0, 0.0]))
    >>> print(f"{found.outlier:.0f} {found.readout:.2f} {found.direction:.2f} {found.target:.2f}")
    1581 1.00 1.00 0.20
    """
    left, values, right = _top_singular(network.weights, 2)
    return WeightSpectrum(
        edge=float(values[1]) if values.size > 1 else 0.0,
        threshold=np.nan,
        outlier=float(values[0]),
        readout=_overlap(left[:, 0], network.readout),
        direction=_overlap(right[0], network.direction),
        target=_overlap(right[0], target_direction),
    )


# Lanczos asks for few of a matrix's vectors; so small a matrix, for each of them, costs nothing whole.
_WHOLE = 10


def _top_singular(matrix: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The largest singular values, at least `count` where there are, in falling order, and their vectors."""
    if min(matrix.shape) <= _WHOLE * count:
        return np.linalg.svd(matrix, full_matrices=False)
    start = np.random.default_rng(0).standard_normal(min(matrix.shape))
    left, values, right = svds(matrix, k=count, v0=start)
    order = np.argsort(-values)
    return left[:, order], values[order], right[order]


def _overlap(u: np.ndarray, v: np.ndarray) -> float:
    """The squared cosine of a unit vector u and v."""
    return float((u @ v) ** 2 / (v @ v))


def operator_norm(matrix: np.ndarray) -> float:
    """Return the largest singular value of a matrix (Lanczos from a fixed start).

    Examples
    --------
    >>> import numpy as np
    >>> from onestep_lib.experiment import operator_norm
    >>> print(f"{operator_norm(np.diag([3.0, -5.0, 1.0])):.4f}")
    5.0000
    """
    matrix = check_matrix("matrix", matrix)
    if min(matrix.shape) == 1 or not matrix.any():
        return float(np.linalg.norm(matrix))
    start = np.random.default_rng(0).standard_normal(min(matrix.shape))
    return float(svds(matrix, k=1, v0=start, return_singular_vectors=False)[0])


def measured_outliers(F: np.ndarray, kappa: np.ndarray, count: int, level: int) -> Outliers:
    r"""Return the largest eigenvalues of :math:`FF^\top/n` of one draw, and their overlaps.

    Parameters
    ----------
    F : ndarray, shape (n, N)
    kappa : ndarray, shape (n,)
        ``X b/|b|`` for the same inputs.
    count : int
        How many eigenvalues.
    level : int
        The highest degree l of :math:`He_q(\kappa)`; the overlap is :math:`\langle u,h_q\rangle^2/n`.

    Examples
    --------
    >>> import numpy as np
    >>> from onestep_lib.experiment import measured_outliers
    >>> kappa = np.array([1.0, -1.0, 1.0, -1.0])
    >>> found = measured_outliers(np.outer(kappa, [3.0, 4.0]), kappa, count=1, level=1)
    >>> print(found.values.round(3), found.overlaps.round(3))  # |(3, 4)|^2, all along He_1
    [25.] [[0. 1.]]
    """
    n = F.shape[0]
    left, singular, _ = _top_singular(F, count)
    scale = np.sqrt(n * factorial(np.arange(level + 1)))
    basis = hermite(level, kappa) / scale[:, None]
    return Outliers(singular[:count] ** 2 / n, (left[:, :count].T @ basis.T) ** 2)


def _remainder(network: SteppedNetwork, X: np.ndarray, level: int, widened: bool) -> np.ndarray:
    samples, neurons = spike_terms(network, X, level, widened)
    stepped = feature_matrix(network.weights, X, network.activation)
    before = feature_matrix(network.initial.weights, X, network.activation)
    return stepped - before - samples @ neurons.T


def spike_error(network: SteppedNetwork, X: np.ndarray, level: int, widened: bool = False) -> float:
    r"""Return :math:`\|F-F_l\|/\sqrt n` in operator norm for fresh inputs X, shape (n, d).

    Parameters
    ----------
    network : SteppedNetwork
    X : ndarray, shape (n, d)
    level, widened
        As in `spike_features`.

    Examples
    --------
    >>> import numpy as np
    >>> from onestep_lib.activations import activation
    >>> from onestep_lib.experiment import take_steps
    >>> from onestep_lib.experiment.measured import spike_error
    >>> from onestep_lib.experiment.network import Network
    >>> network = Network(np.eye(2), np.array([1.0, -1.0]), activation("identity"))
    >>> (stepped,) = take_steps(network, np.eye(2), np.array([1.0, 2.0]), 5)
    >>> print(f"{spike_error(stepped, np.eye(2), level=1):.4f}")  # a linear network has one spike
    0.0000
    """
    return operator_norm(_remainder(network, X, level, widened)) / np.sqrt(len(X))


def measured_spike_constant(network: SteppedNetwork, X: np.ndarray, widened: bool = False) -> float:
    r"""Return the coefficient of :math:`\mathbf 1(a\circ a)^\top` in F - :math:`F_2`: a projection.

    :math:`\mathbf 1^\top(F-F_2)(a\circ a)\,/\,(n|a\circ a|^2)` for fresh inputs. Times
    :math:`|a\circ a|` it is the size of that part of F - :math:`F_2` over :math:`\sqrt n`.

    Parameters
    ----------
    network : SteppedNetwork
    X : ndarray, shape (n, d)
    widened : bool
        As in `spike_features`: take the term out before, to see what is left.

    Examples
    --------
    >>> import numpy as np
    >>> from onestep_lib.activations import activation
    >>> from onestep_lib.experiment import measured_spike_constant, take_steps
    >>> from onestep_lib.experiment.network import Network
    >>> network, X = Network(np.eye(2), np.ones(2), activation("he2")), np.sqrt(2) * np.eye(2)
    >>> (stepped,) = take_steps(network, X, np.array([1.0, 2.0]), 1)
    >>> growth = np.sum(stepped.weights**2, axis=1).mean() - 1  # of the rows: all that He_2 sees
    >>> print(f"{measured_spike_constant(stepped, X):.3f} {growth:.3f}")
    16.000 16.000
    """
    means, square = _remainder(network, X, 2, widened).mean(axis=0), network.readout**2
    return float(means @ square / (square @ square))
