r"""Feature maps to simulate: the network's own, and the simpler ones that are equivalent to it.

A feature map takes a network, inputs and a Generator and returns the matrix F, one sample a row. After a
step the network is a `onestep_lib.step.SteppedNetwork`, which remembers its initial weights and the
gradient's direction.
`FEATURES` names them for ``simulate(..., features=...)``.
"""

from __future__ import annotations

import numpy as np

from onestep_lib._checks import check_generator, check_matrix
from onestep_lib.conditional_gaussian import conditional_gaussian_features
from onestep_lib.network import FeatureMap, Network, features
from onestep_lib.spikes import infinite_spike_features, spike_features

__all__ = ["FEATURES", "gaussian_equivalent_features", "network_features"]


def network_features(network: Network, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    r"""Return :math:`\sigma(XW^\top)`; `rng` is not used."""
    return features(network.weights, X, network.activation)


def gaussian_equivalent_features(network: Network, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    r"""Return :math:`c_0+c_1XW^\top+c_{>1}Z`, Z a fresh standard Gaussian matrix.

    The Gaussian equivalent of random features: the mean, the linear part, and independent noise with the
    power of everything else (derived in chapter 4, :eq:`eq-ge-surrogate`; Moniri et al., arXiv 2310.07891,
    section 2).
    """
    sigma = network.activation
    X = check_matrix("X", X, network.weights.shape[1])
    noise = check_generator(rng).standard_normal((X.shape[0], network.weights.shape[0]))
    noise *= np.sqrt(sigma.nonlinear_power)
    return sigma.c0 + sigma.c1 * (X @ network.weights.T) + noise


FEATURES: dict[str, FeatureMap] = {
    "network": network_features,
    "gaussian_equivalent": gaussian_equivalent_features,
    "conditional_gaussian": conditional_gaussian_features,
    **{f"spikes_{level}": spike_features(level) for level in range(1, 5)},
    **{f"infinite_spikes_{level}": infinite_spike_features(level) for level in range(1, 5)},
}
"""The feature maps by name; "spikes_2" are those of F_2 (:mod:`onestep_lib.spikes`)."""
