r"""The two-layer network :math:`f(x)=a^\top\sigma(Wx)` at initialisation, its features and its steps.

With the residual r of :mod:`onestep_lib.settings` the negative gradient of half the mean squared error is

.. math:: G=\frac1n\big[(a\,r^\top)\circ\sigma'(WX^\top)\big]X,\qquad W_1=W_0+\eta\,G

(Moniri et al., arXiv 2310.07891, section 2; Ba et al., arXiv 2205.01445, section 2).

Functions
---------
feature_matrix         F=\sigma(XW^\top), shape (n, N); no factor 1/\sqrt N
initial_network        draw the network at initialisation (rows and readout as the setting says)
gradient_direction     b = X^T r/n of a batch
take_steps             networks after one step, that remember where they came from
first_layer_gradient   G=\frac1n[(a\,r^\top)\circ\sigma'(WX^\top)]X, the exact negative gradient
residual               residual r at initialisation, shape (n,): what the gradient is taken of
gradient_step          network with W_1=W_0+\eta G: `take_steps` for a single size
scheduled_steps        network after steps of any sizes, each on its own batch
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
from numpy.typing import ArrayLike

from onestep_lib._checks import (
    check_choice,
    check_generator,
    check_instance,
    check_matrix,
    check_path,
    check_same_length,
    check_vector,
)
from onestep_lib.activations import Activation
from onestep_lib.initialisation import GivenRows, Vocabulary
from onestep_lib.settings import OUTPUTS, Setting

__all__ = [
    "feature_matrix",
    "first_layer_gradient",
    "gradient_direction",
    "gradient_step",
    "initial_network",
    "scheduled_steps",
    "take_steps",
]


@dataclass(frozen=True, eq=False)
class Network:
    """A two-layer network.

    Parameters
    ----------
    weights : ndarray, shape (N, d)
        The first layer W, one neuron a row.
    readout : ndarray, shape (N,)
        The second layer a.
    activation : Activation
    """

    weights: np.ndarray
    readout: np.ndarray
    activation: Activation


def feature_matrix(weights: np.ndarray, X: np.ndarray, sigma: Activation) -> np.ndarray:
    r"""Return :math:`F=\sigma(XW^\top)`, shape (n, N); no factor :math:`1/\sqrt N`.

    Examples
    --------
    >>> import numpy as np
    >>> from onestep_lib.activations import activation
    >>> from onestep_lib.experiment import feature_matrix
    >>> print(feature_matrix(np.eye(2), np.array([[1.0, -2.0], [3.0, 4.0]]), activation("abs")))
    [[1. 2.]
     [3. 4.]]
    """
    return sigma(X @ weights.T)


def initial_network(setting: Setting, rng: np.random.Generator) -> Network:
    """Draw the network at initialisation (rows and readout as the setting says).

    Examples
    --------
    >>> import numpy as np
    >>> from onestep_lib import Setting
    >>> from onestep_lib.experiment import initial_network
    >>> setting = Setting(n=50, d=20, N=30, rows="spherical", readout="signs")
    >>> network = initial_network(setting, np.random.default_rng(0))
    >>> print(np.sum(network.weights**2, axis=1)[:3].round(3), f"{np.sum(network.readout**2):.3f}")
    [1. 1. 1.] 1.000
    """
    check_generator(rng)
    rows = setting.rows
    weights = rows.weights if isinstance(rows, GivenRows) else _drawn_rows(setting, rng)
    if isinstance(setting.readout, Vocabulary):
        readout = setting.readout.draw(setting.N, rng)
    elif setting.readout == "gaussian":
        readout = rng.standard_normal(setting.N)
    else:
        readout = rng.choice([-1.0, 1.0], size=setting.N)
    return Network(weights, readout / np.sqrt(setting.N), setting.activation)


def _drawn_rows(setting: Setting, rng: np.random.Generator) -> np.ndarray:
    """The rows, by their law and with their common component."""
    weights = rng.standard_normal((setting.N, setting.d))
    if setting.shared == 0:
        return _scaled(weights, setting.rows)
    # The common component of the rows has its own stream: readouts stay the same for every strength.
    common = _scaled(rng.spawn(1)[0].standard_normal((1, setting.d)), setting.rows)[0]
    if setting.rows == "spherical":
        weights -= np.outer(weights @ common, common)
    own = np.sqrt(1 - setting.shared) * _scaled(weights, setting.rows)
    return own + np.sqrt(setting.shared) * common


def _scaled(weights: np.ndarray, rows: str | GivenRows) -> np.ndarray:
    """Standard Gaussian rows as the law of the rows has them, in place."""
    if rows == "gaussian":
        weights /= np.sqrt(weights.shape[1])
    else:
        weights /= np.linalg.norm(weights, axis=1, keepdims=True)
    return weights


@dataclass(frozen=True, eq=False)
class SteppedNetwork(Network):
    """A network after one gradient step, with what the step started from.

    Parameters
    ----------
    weights, readout, activation
        As in `onestep_lib.experiment.network.Network`; the weights are :math:`W_1`.
    initial : Network
        The network before the step.
    direction : ndarray, shape (d,)
        The direction b = X^T r/n of its batch.
    step : float
        The step size eta.
    """

    initial: Network
    direction: np.ndarray
    step: float


def gradient_direction(network: Network, X: np.ndarray, y: np.ndarray, output: str = "centred") -> np.ndarray:
    r"""Return :math:`b=X^\top r/n`, shape (d,), r the residual of ``residual``.

    For a centred network :eq:`eq-batch-direction`.

    Examples
    --------
    >>> import numpy as np
    >>> from onestep_lib.activations import activation
    >>> from onestep_lib.experiment import gradient_direction
    >>> from onestep_lib.experiment.network import Network
    >>> network = Network(np.eye(2), np.array([1.0, -1.0]), activation("identity"))
    >>> print(gradient_direction(network, X=np.eye(2), y=np.array([1.0, 2.0])))
    [0.5 1. ]
    """
    return X.T @ residual(network, X, y, output) / y.size


def take_steps(
    network: Network, X: np.ndarray, y: np.ndarray, steps: ArrayLike, output: str = "centred"
) -> Iterator[SteppedNetwork]:
    """Yield the network after a step of each size, from one gradient of one batch.

    Parameters
    ----------
    network : Network
    X : ndarray, shape (n, d)
    y : ndarray, shape (n,)
    steps : array_like
        Step sizes eta >= 0.
    output : {"centred", "scaled", "raw"}

    Yields
    ------
    SteppedNetwork

    Examples
    --------
    >>> import numpy as np
    >>> from onestep_lib.activations import activation
    >>> from onestep_lib.experiment import take_steps
    >>> from onestep_lib.experiment.network import Network
    >>> network = Network(np.eye(2), np.array([1.0, -1.0]), activation("identity"))
    >>> X, y = np.eye(2), np.array([1.0, 2.0])
    >>> for stepped in take_steps(network, X, y, steps=[0, 2]):
    ...     print(stepped.step, stepped.weights.tolist())
    0.0 [[1.0, 0.0], [0.0, 1.0]]
    2.0 [[2.0, 2.0], [-1.0, -1.0]]
    """
    check_instance("network", network, Network)
    check_choice("output", output, OUTPUTS)
    X = check_matrix("X", X, network.weights.shape[1])
    y = check_vector("y", y)
    check_same_length("y", y, "X", X)
    sizes = np.atleast_1d(check_path("steps", steps))
    gradient = first_layer_gradient(network, X, y, output)
    direction = gradient_direction(network, X, y, output)
    for step in sizes:
        weights = step * gradient
        weights += network.weights
        yield SteppedNetwork(weights, network.readout, network.activation, network, direction, float(step))


# Samples treated at once, and N times samples: memory stays below both for any batch and width.
_BLOCK = 4096
_BLOCK_VALUES = 2**25


def first_layer_gradient(
    network: Network, X: np.ndarray, y: np.ndarray, output: str = "centred"
) -> np.ndarray:
    r"""Return :math:`G=\frac1n[(a\,r^\top)\circ\sigma'(WX^\top)]X`, the exact negative gradient.

    For ``output="raw"`` this is minus the gradient in W of :math:`\frac1{2n}|y-\sigma(XW^\top)a|^2`.
    For ``"scaled"`` the output is divided by :math:`\sqrt N` and the gradient multiplied by it, so that
    the step size means the same in all three cases. For ``"centred"`` the initial output is subtracted
    from the network, and the residual at initialisation is y.

    Parameters
    ----------
    network : Network
    X : ndarray, shape (n, d)
    y : ndarray, shape (n,)
    output : {"centred", "scaled", "raw"}
        What the residual subtracts from y, see :mod:`onestep_lib.settings`.

    Returns
    -------
    ndarray, shape (N, d)

    Raises
    ------
    ValueError
        If a shape does not fit, or the activation has no useful slope (a step function).

    Examples
    --------
    >>> import numpy as np
    >>> from onestep_lib.activations import activation
    >>> from onestep_lib.experiment import first_layer_gradient
    >>> from onestep_lib.experiment.network import Network
    >>> network = Network(np.eye(2), np.array([1.0, -1.0]), activation("identity"))
    >>> print(first_layer_gradient(network, X=np.eye(2), y=np.array([1.0, 2.0])))  # a b^T
    [[ 0.5  1. ]
     [-0.5 -1. ]]
    """
    slope, parts = network.activation.require_slope(), []
    block = max(1, min(_BLOCK, _BLOCK_VALUES // network.readout.size))
    for start in range(0, y.size, block):
        rows = slice(start, start + block)
        preactivations = X[rows] @ network.weights.T
        r = y[rows]
        if output != "centred":
            r = r - _initial_output(network, preactivations, output)
        # Row j is (a_j/n) sum_i r_i sigma'(w_j.x_i) x_i: one product after scaling the slopes by r.
        slopes = slope(preactivations)
        slopes *= r[:, None] / y.size
        parts.append(slopes.T @ X[rows])
    total = reduce(np.add, parts)
    total *= network.readout[:, None]
    return total


def residual(network: Network, X: np.ndarray, y: np.ndarray, output: str = "centred") -> np.ndarray:
    """Return the residual r at initialisation, shape (n,): what the gradient is taken of.

    Parameters are those of `first_layer_gradient`.

    Examples
    --------
    >>> import numpy as np
    >>> from onestep_lib.activations import activation
    >>> from onestep_lib.experiment.network import Network
    >>> from onestep_lib.experiment.network import residual
    >>> network = Network(np.eye(2), np.array([1.0, -1.0]), activation("identity"))
    >>> X, y = np.eye(2), np.array([1.0, 2.0])
    >>> print(residual(network, X, y), residual(network, X, y, output="raw"))
    [1. 2.] [0. 3.]
    """
    return y if output == "centred" else y - _initial_output(network, X @ network.weights.T, output)


def _initial_output(network: Network, preactivations: np.ndarray, output: str) -> np.ndarray:
    check_choice("output", output, OUTPUTS)
    raw = network.activation(preactivations) @ network.readout
    return raw if output == "raw" else raw / np.sqrt(network.readout.size)


def gradient_step(
    network: Network, X: np.ndarray, y: np.ndarray, step: float, output: str = "centred"
) -> SteppedNetwork:
    r"""Return the network with :math:`W_1=W_0+\eta G`: `take_steps` for a single size.

    Examples
    --------
    >>> import numpy as np
    >>> from onestep_lib.activations import activation
    >>> from onestep_lib.experiment import gradient_step
    >>> from onestep_lib.experiment.network import Network
    >>> network = Network(np.eye(2), np.array([1.0, -1.0]), activation("identity"))
    >>> X, y = np.eye(2), np.array([1.0, 2.0])
    >>> print(gradient_step(network, X, y, step=2).weights)  # I + 2 a b^T
    [[ 2.  2.]
     [-1. -1.]]
    """
    return next(take_steps(network, X, y, step, output))


def scheduled_steps(
    network: Network,
    batches: Iterable[tuple[np.ndarray, np.ndarray]],
    steps: Iterable[float],
    output: str = "centred",
) -> Network:
    r"""Return the network after gradient steps, each of its own size and on its own batch.

    The readout stays as it is; the residual of a centred network is :math:`y-(f_k-f_0)`.

    Parameters
    ----------
    network : Network
    batches : iterable of (X, y)
        One a step, of any numbers of samples; one batch at a time is in memory if they are made one by one.
    steps : array_like, shape (k,)
        Step sizes >= 0.
    output : {"centred", "scaled", "raw"}

    Raises
    ------
    ValueError
        If the numbers of batches and steps differ.

    Examples
    --------
    >>> import numpy as np
    >>> from onestep_lib.activations import activation
    >>> from onestep_lib.experiment.network import Network
    >>> from onestep_lib.experiment.network import scheduled_steps
    >>> network = Network(np.eye(2), np.array([1.0, -1.0]), activation("identity"))
    >>> batches = [(np.eye(2), np.array([1.0, 2.0])), (np.eye(2)[:1], np.array([1.0]))]
    >>> print(scheduled_steps(network, batches, steps=[0.5, 0.1]).weights - np.eye(2))
    [[ 0.3  0.5]
     [-0.3 -0.5]]
    """
    start, seen, before = network, None, np.zeros(0)
    for taken, ((X, y), step) in enumerate(zip(batches, steps, strict=True)):
        labels = y
        # The first residual of a centred network is y.
        if output == "centred" and taken:
            if X is not seen:
                seen, before = X, feature_matrix(start.weights, X, start.activation) @ start.readout
            labels = y + before - feature_matrix(network.weights, X, network.activation) @ network.readout
        gradient = first_layer_gradient(network, X, labels, output)
        network = replace(network, weights=network.weights + step * gradient)
    return network
