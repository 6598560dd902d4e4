r"""The two-layer network and its one gradient step.

The network is :math:`f(x)=a^\top\sigma(Wx)`. Its first layer takes one full-batch step on half the mean
squared error; with the residual r of :mod:`onestep_lib.settings` the negative gradient is

.. math:: G=\frac1n\big[(a\,r^\top)\circ\sigma'(WX^\top)\big]X,\qquad W_1=W_0+\eta\,G .

(Moniri et al., arXiv 2310.07891, section 2; Ba et al., arXiv 2205.01445, section 2.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from onestep_lib._checks import (
    check_choice,
    check_count,
    check_generator,
    check_instance,
    check_matrix,
    check_nonnegative,
    check_number,
    check_same_length,
    check_vector,
)
from onestep_lib.activations import Activation
from onestep_lib.settings import OUTPUTS, Setting

__all__ = [
    "Network",
    "features",
    "first_layer_gradient",
    "gradient_step",
    "gradient_steps",
    "initial_network",
    "one_step_map",
    "require_covered",
    "residual",
]

# Samples treated at once: memory stays N x 4096 for any batch.
_BLOCK = 4096


@dataclass(frozen=True)
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

    def __post_init__(self) -> None:
        weights = check_matrix("weights", self.weights)
        readout = check_vector("readout", self.readout, weights.shape[0])
        check_instance("activation", self.activation, Activation)
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "readout", readout)


FeatureMap = Callable[[Network, np.ndarray, np.random.Generator], np.ndarray]

# The mark of `one_step_map`: functions and partials carry attributes, and keep them in worker processes.
_OUTPUTS = "one_step_outputs"


def one_step_map(features: FeatureMap, outputs: Sequence[str] = OUTPUTS) -> FeatureMap:
    """Mark a feature map that describes the network after exactly one step, and return it.

    Parameters
    ----------
    features : callable
        (network, X, rng) -> F, one sample a row.
    outputs : sequence of str
        What the residual may subtract, see :mod:`onestep_lib.settings`.
    """
    setattr(features, _OUTPUTS, tuple(outputs))
    return features


def require_covered(features: FeatureMap, setting: Setting) -> None:
    """Raise if the feature map is marked by `one_step_map` and does not describe the setting's network."""
    outputs = getattr(features, _OUTPUTS, None)
    if outputs is None:
        return
    if setting.updates > 1:
        raise ValueError(
            f"updates must be 1 for features that describe the network after one step, got {setting.updates}"
        )
    if np.any(setting.steps) and setting.output not in outputs:
        allowed = " or ".join(map(repr, outputs))
        raise ValueError(
            f"output must be {allowed} for features that describe such a step, got {setting.output!r}"
        )


def features(weights: np.ndarray, X: np.ndarray, sigma: Activation) -> np.ndarray:
    r"""Return :math:`F=\sigma(XW^\top)`, shape (n, N); no factor :math:`1/\sqrt N`."""
    check_instance("sigma", sigma, Activation)
    weights = check_matrix("weights", weights)
    X = check_matrix("X", X, weights.shape[1])
    return sigma(X @ weights.T)


def initial_network(setting: Setting, rng: np.random.Generator) -> Network:
    """Draw the network at initialisation (rows and readout as the setting says)."""
    check_generator(rng)
    weights = rng.standard_normal((setting.N, setting.d))
    if setting.rows == "gaussian":
        weights /= np.sqrt(setting.d)
    else:
        weights /= np.linalg.norm(weights, axis=1, keepdims=True)
    if setting.readout == "gaussian":
        readout = rng.standard_normal(setting.N)
    else:
        readout = rng.choice([-1.0, 1.0], size=setting.N)
    return Network(weights, readout / np.sqrt(setting.N), setting.activation)


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
    """
    check_instance("network", network, Network)
    check_choice("output", output, OUTPUTS)
    slope = network.activation.require_slope()
    X = check_matrix("X", X, network.weights.shape[1])
    y = check_vector("y", y)
    check_same_length("y", y, "X", X)
    total = np.zeros_like(network.weights)
    for start in range(0, y.size, _BLOCK):
        rows = slice(start, start + _BLOCK)
        preactivations = X[rows] @ network.weights.T
        r = y[rows]
        if output != "centred":
            r = r - _initial_output(network, preactivations, output)
        # Row j is (a_j/n) sum_i r_i sigma'(w_j.x_i) x_i: one product after scaling the slopes by r.
        slopes = slope(preactivations)
        slopes *= r[:, None] / y.size
        total += slopes.T @ X[rows]
    return network.readout[:, None] * total


def residual(network: Network, X: np.ndarray, y: np.ndarray, output: str = "centred") -> np.ndarray:
    """Return the residual r at initialisation, shape (n,): what the gradient is taken of.

    Parameters are those of `first_layer_gradient`.
    """
    check_instance("network", network, Network)
    check_choice("output", output, OUTPUTS)
    X = check_matrix("X", X, network.weights.shape[1])
    y = check_vector("y", y, X.shape[0])
    return y if output == "centred" else y - _initial_output(network, X @ network.weights.T, output)


def _initial_output(network: Network, preactivations: np.ndarray, output: str) -> np.ndarray:
    raw = network.activation(preactivations) @ network.readout
    return raw if output == "raw" else raw / np.sqrt(network.readout.size)


def gradient_step(
    network: Network, X: np.ndarray, y: np.ndarray, step: float, output: str = "centred"
) -> Network:
    r"""Return the network with :math:`W_1=W_0+\eta G`, G from `first_layer_gradient`."""
    eta = check_number("step", step, check_nonnegative)
    check_instance("network", network, Network)
    weights = network.weights + eta * first_layer_gradient(network, X, y, output)
    return replace(network, weights=weights)


def gradient_steps(
    network: Network, X: np.ndarray, y: np.ndarray, step: float, updates: int, output: str = "centred"
) -> Network:
    r"""Return the network after several steps of size eta on one batch.

    The readout stays as it is. For ``output="centred"`` the network's output is that of its weights minus
    that of the initial ones, so that the residual of step k is :math:`y-(f_k-f_0)`.
    """
    check_count("updates", updates)
    check_choice("output", output, OUTPUTS)
    check_instance("network", network, Network)
    initial = features(network.weights, X, network.activation) @ network.readout
    for update in range(updates):
        labels = y
        if output == "centred" and update:
            labels = y + initial - features(network.weights, X, network.activation) @ network.readout
        network = gradient_step(network, X, labels, step, output)
    return network
