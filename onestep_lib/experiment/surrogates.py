r"""Feature maps to simulate: the network's own, and the simpler ones that are equivalent to it.

A feature map takes a network, inputs and a Generator and returns the matrix F, one sample a row. After a
step the network is a `onestep_lib.experiment.steps.SteppedNetwork`, which remembers its initial weights and
the gradient's direction. `FEATURE_MAPS` names them for ``simulate(..., feature_map=...)``.

Given the coordinate :math:`\kappa=v\cdot x` along the direction of the gradient, the features after a large
step are equivalent to their conditional mean, a linear part and independent noise: conditional Gaussian
features (the equivalence behind Cui et al., arXiv 2402.04980, and Dandi et al., arXiv 2410.18938).

Functions
---------
conditional_gaussian_features   conditional Gaussian equivalent of the features after one step
network_features                \sigma(XW^\top); `rng` is not used
gaussian_equivalent_features    c_0+c_1XW^\top+c_{>1}Z, Z a fresh standard Gaussian matrix
"""

from __future__ import annotations

import numpy as np

from onestep_lib._checks import check_generator, check_instance, check_matrix, shown
from onestep_lib.experiment.feature_maps import FeatureMap, one_step_map
from onestep_lib.experiment.network import Network, feature_matrix
from onestep_lib.experiment.spike_maps import infinite_spike_features, spike_features
from onestep_lib.experiment.steps import SteppedNetwork
from onestep_lib.quadrature import gaussian_mean
from onestep_lib.spiked_features.conditional_means import feature_means

__all__ = [
    "conditional_gaussian_features",
    "gaussian_equivalent_features",
    "network_features",
]

# A cubic spline through the means, analytic on the scale 1, is good to 1e-8 at this spacing.
_SPACING = 0.05


@one_step_map
def conditional_gaussian_features(network: Network, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    r"""Return the conditional Gaussian equivalent of the features after one step.

    With :math:`v=b/|b|` the gradient's direction, spikes :math:`u_j=\eta c_1|b|a_j`, bulk rows
    :math:`w_j=W_j-u_jv` of the mean square length c^2, :math:`\kappa_i=v\cdot x_i` and Z standard Gaussian,

    .. math:: F_{ij}=\mu_0+\mu_1\frac{w_j\cdot x_i}c+\frac{m_2}2\Big(\frac{|w_j|^2}{c^2}-1\Big)+\mu_2Z_{ij}
              \quad\text{at }t=u_j\kappa_i .

    Without a step the spikes are 0 and this is the Gaussian equivalent of random features, with the
    lengths of the rows kept.

    Returns
    -------
    ndarray, shape (n, N)

    Examples
    --------
    >>> import numpy as np
    >>> from onestep_lib.activations import activation
    >>> from onestep_lib.experiment import conditional_gaussian_features, take_steps
    >>> from onestep_lib.experiment.network import Network
    >>> network = Network(np.eye(2), np.array([1.0, -1.0]), activation("identity"))
    >>> (stepped,) = take_steps(network, np.eye(2), np.array([1.0, 2.0]), 5)
    >>> F = conditional_gaussian_features(stepped, np.eye(2), np.random.default_rng(0))
    >>> print(np.allclose(F, stepped.weights.T))  # exact for a linear network
    True
    """
    # Imported where it is used: 4 % of the time of `import onestep_lib`.
    from scipy.interpolate import CubicSpline

    check_instance("network", network, Network)
    sigma, X = network.activation, check_matrix("X", X, network.weights.shape[1])
    check_generator(rng)
    kappa, spikes, bulk = _split(network, X)
    lengths = np.sum(bulk**2, axis=1)
    scale = float(np.sqrt(np.mean(lengths)))
    t = np.multiply.outer(kappa, spikes)
    grid = np.arange(t.min() - 2 * _SPACING, t.max() + 3 * _SPACING, _SPACING)
    table = feature_means(sigma, [1.0], grid, scale)
    columns = np.stack([table.mu0[0], table.mu1[0], table.m2[0], np.sqrt(table.mu2_sq[0])], axis=-1)
    spline = CubicSpline(grid, columns)
    mu0, mu1, m2, mu2 = np.moveaxis(spline(t), -1, 0)
    linear = X @ bulk.T / scale
    return mu0 + mu1 * linear + m2 / 2 * (lengths / scale**2 - 1) + mu2 * rng.standard_normal(t.shape)


def _split(network: Network, X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The coordinates kappa, the spikes u_j and the bulk rows."""
    if not isinstance(network, SteppedNetwork) or network.step == 0 or not network.direction.any():
        return np.zeros(X.shape[0]), np.zeros(network.readout.size), network.weights
    sigma, size = network.activation, float(np.linalg.norm(network.direction))
    if sigma.derivative is None:
        raise ValueError(f"activation must have a derivative, got {shown(sigma.name)}")
    v = network.direction / size
    spikes = network.step * gaussian_mean(sigma.derivative, sigma.kinks) * size * network.readout
    return X @ v, spikes, network.weights - np.multiply.outer(spikes, v)


def network_features(network: Network, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    r"""Return :math:`\sigma(XW^\top)`; `rng` is not used.

    Examples
    --------
    >>> import numpy as np
    >>> from onestep_lib.activations import activation
    >>> from onestep_lib.experiment import network_features
    >>> from onestep_lib.experiment.network import Network
    >>> network = Network(np.eye(2), np.array([1.0, -1.0]), activation("abs"))
    >>> print(network_features(network, np.array([[1.0, -2.0]]), np.random.default_rng(0)))
    [[1. 2.]]
    """
    check_instance("network", network, Network)
    return feature_matrix(network.weights, X, network.activation)


def gaussian_equivalent_features(network: Network, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    r"""Return :math:`c_0+c_1XW^\top+c_{>1}Z`, Z a fresh standard Gaussian matrix.

    The Gaussian equivalent of random features: the mean, the linear part, and independent noise with the
    power of everything else (:eq:`eq-ge-surrogate`; Moniri et al., arXiv 2310.07891,
    section 2).

    Examples
    --------
    >>> import numpy as np
    >>> from onestep_lib.activations import activation
    >>> from onestep_lib.experiment import gaussian_equivalent_features
    >>> from onestep_lib.experiment.network import Network
    >>> network = Network(np.eye(20), np.ones(20), activation("relu"))
    >>> F = gaussian_equivalent_features(network, np.zeros((2000, 20)), np.random.default_rng(0))
    >>> print(f"{F.mean():.2f} {F.var():.2f}")  # c_0 and c_{>1}^2
    0.40 0.09
    """
    check_instance("network", network, Network)
    sigma = network.activation
    X = check_matrix("X", X, network.weights.shape[1])
    noise = check_generator(rng).standard_normal((X.shape[0], network.weights.shape[0]))
    noise *= np.sqrt(sigma.nonlinear_power)
    return sigma.c0 + sigma.c1 * (X @ network.weights.T) + noise


FEATURE_MAPS: dict[str, FeatureMap] = {
    "network": network_features,
    "gaussian_equivalent": gaussian_equivalent_features,
    "conditional_gaussian": conditional_gaussian_features,
    **{f"spikes_{level}": spike_features(level) for level in range(1, 5)},
    **{f"infinite_spikes_{level}": infinite_spike_features(level) for level in range(1, 5)},
}
"""The feature maps by name; "spikes_2" are those of F_2 (:mod:`onestep_lib.small_step.spikes`)."""
