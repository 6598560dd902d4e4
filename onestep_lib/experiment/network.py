r"""The two-layer network :math:`f(x)=a^\top\sigma(Wx)` at initialisation, and its features.

Functions
---------
feature_matrix    F=\sigma(XW^\top), shape (n, N); no factor 1/\sqrt N
initial_network   draw the network at initialisation (rows and readout as the setting says)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onestep_lib._checks import check_generator
from onestep_lib.activations import Activation
from onestep_lib.initialisation import GivenRows, Vocabulary
from onestep_lib.settings import Setting

__all__ = [
    "feature_matrix",
    "initial_network",
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
