r"""Feature maps to simulate: the network's own, and the simpler ones that are equivalent to it.

A feature map takes a network, inputs and a Generator and returns the matrix F, one sample a row. After a
step the network is a ``experiment.network.SteppedNetwork``, which remembers its initial weights and
the gradient's direction. `FEATURE_MAPS` names some for ``simulate(..., feature_map=...)``.

Given the coordinate :math:`\kappa=v\cdot x` along the direction of the gradient, the features after a large
step are equivalent to their conditional mean, a linear part and independent noise: conditional Gaussian
features (the equivalence behind Cui et al., arXiv 2402.04980, and Dandi et al., arXiv 2410.18938).

The features of F_l are the network's with its first l spikes in place of the whole step. The spikes are
those of :mod:`onestep_lib.small_step.spikes`, of one draw: b, its length and the row lengths are measured.
The proof of the staircase exchanges the features three times, and each exchange is a feature map here:

.. math:: \sigma(XW_1^\top)\;\to\;\sigma\big(X(W_0+\eta c_1ab^\top)^\top\big)

          \to\;F_l\text{ on }F_0=\sigma(XW_0^\top)\;\to\;F_l\text{ on }F_0=c_1XW_0^\top+c_{>1}Z

(Moniri et al., arXiv 2310.07891, on universality). The first costs the widening q of the rows where l >= 2
and :math:`c_2\ne0`, and the last the lengths of Gaussian rows where :math:`c_2\ne0`: both change the constant
part that the second spike competes with (:mod:`onestep_lib.small_step.stairs`). Those lengths stay with
``base=conditional_gaussian_features``.

Functions
---------
network_features                \sigma(XW^\top); `rng` is not used
gaussian_equivalent_features    c_0+c_1XW^\top+c_{>1}Z, Z a fresh standard Gaussian matrix
conditional_gaussian_features   conditional Gaussian equivalent of the features after one step
rank_one_features               the network with the rank-one part of its gradient
spike_features                  the feature map of F_l
infinite_spike_features         the feature map of the limit of infinite spikes
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial

import numpy as np
from scipy.special import factorial

from onestep_lib._checks import shown
from onestep_lib.activations import Activation
from onestep_lib.experiment.network import Network, SteppedNetwork, feature_matrix
from onestep_lib.hermite import hermite
from onestep_lib.settings import OUTPUTS, Setting
from onestep_lib.small_step.spikes import ABSENT, SPIKED_OUTPUTS, power_basis
from onestep_lib.spiked_features.conditional_means import feature_means

__all__ = [
    "conditional_gaussian_features",
    "gaussian_equivalent_features",
    "infinite_spike_features",
    "network_features",
    "rank_one_features",
    "spike_features",
]

FeatureMap = Callable[[Network, np.ndarray, np.random.Generator], np.ndarray]
# The mark of `one_step_map`: functions and partials carry attributes, and keep them in worker processes.
_MARK = "one_step_outputs"


def one_step_map(feature_map: FeatureMap, outputs: Sequence[str] = OUTPUTS) -> FeatureMap:
    """Mark a feature map that describes the network after exactly one step, and return it.

    Parameters
    ----------
    feature_map : callable
        (network, X, rng) -> F, one sample a row.
    outputs : sequence of str
        What the residual may subtract, see :mod:`onestep_lib.settings`.

    Examples
    --------
    >>> import numpy as np
    >>> from onestep_lib import Setting
    >>> from onestep_lib.experiment import simulate
    >>> from onestep_lib.experiment.feature_maps import one_step_map
    >>> squares = one_step_map(lambda network, X, rng: (X @ network.weights.T) ** 2)
    >>> setting = Setting(n=50, d=20, N=30, step=1, updates=2)
    >>> simulate(setting, np.random.default_rng(0), 2, feature_map=squares)
    Traceback (most recent call last):
        ...
    ValueError: updates must be 1 for features that describe the network after one step, got 2
    """
    setattr(feature_map, _MARK, tuple(outputs))
    return feature_map


def require_covered(feature_map: FeatureMap, setting: Setting) -> None:
    """Raise if the feature map is marked by `one_step_map` and does not describe the setting's network."""
    outputs = getattr(feature_map, _MARK, None)
    if outputs is None:
        return
    if setting.updates != 1:
        raise ValueError(
            f"updates must be 1 for features that describe the network after one step, got "
            f"{shown(setting.updates)}"
        )
    if setting.shared:
        raise ValueError(
            "shared must be 0 for features that describe the network after one step, got "
            f"{setting.shared:.6g}"
        )
    if np.any(setting.steps) and setting.output not in outputs:
        allowed = " or ".join(map(repr, outputs))
        raise ValueError(
            f"output must be {allowed} for features that describe such a step, got {setting.output!r}"
        )


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

    sigma = network.activation
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
    size = float(np.linalg.norm(network.direction))
    v = network.direction / size
    spikes = network.step * network.activation.c1 * size * network.readout
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
    sigma = network.activation
    noise = rng.standard_normal((X.shape[0], network.weights.shape[0]))
    noise *= np.sqrt(sigma.nonlinear_power)
    return sigma.c0 + sigma.c1 * (X @ network.weights.T) + noise


@partial(one_step_map, outputs=SPIKED_OUTPUTS)
def rank_one_features(network: Network, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    r"""Return :math:`\sigma(X(W_0+\eta c_1ab^\top)^\top)`, the network with a gradient of rank one.

    Parameters
    ----------
    network : Network
        Before a step, or a ``experiment.network.SteppedNetwork``.
    X : ndarray, shape (n, d)
    rng : numpy.random.Generator
        Not used.

    Examples
    --------
    >>> import numpy as np
    >>> from onestep_lib import Setting
    >>> from onestep_lib.experiment import rank_one_features, simulate
    >>> setting = Setting(n=50, d=20, N=30, activation="identity", step=5)
    >>> for features in (rank_one_features, "network"):  # the gradient of a linear network has rank one
    ...     losses = simulate(setting, np.random.default_rng(0), 2, features, test_size=200)
    ...     print(f"{losses.train:.4f}")
    0.0116
    0.0116
    """
    if not isinstance(network, SteppedNetwork):
        return feature_matrix(network.weights, X, network.activation)
    spikes = network.step * network.activation.c1 * network.readout
    weights = network.initial.weights + np.multiply.outer(spikes, network.direction)
    return feature_matrix(weights, X, network.activation)


def _rows(network: SteppedNetwork, level: int, widened: bool) -> np.ndarray:
    """Rows k = 1, ..., l of `power_basis`, shape (l, l + 1)."""
    return power_basis(level, measured_widening(network) if widened else 0.0)[1:]


def _powers(network: SteppedNetwork, X: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The polynomials of kappa whose coordinates are the rows, at the inputs, shape (n, len(rows))."""
    level = rows.shape[1] - 1
    # Without labels there is no direction, and a spike of size 0.
    kappa = X @ network.direction / (np.linalg.norm(network.direction) or 1.0)
    return (rows / np.sqrt(factorial(np.arange(level + 1))) @ hermite(level, kappa)).T


def measured_widening(network: SteppedNetwork) -> float:
    """q of one draw, from the lengths of its rows."""
    length, start = (np.sum(w**2, axis=1) for w in (network.weights, network.initial.weights))
    weight = network.readout**2
    along = (network.activation.c1 * network.step) ** 2 * (network.direction @ network.direction)
    if along == 0:
        return 0.0
    widening = float(weight @ (length - start) / (along * weight @ weight)) - 1
    if widening < -1:
        raise ValueError(f"widened must be False where a step shortens the rows (q = {widening:.3g} < -1)")
    return widening


# Test inputs come in many small parts, of one activation.
_coefficients = lru_cache(maxsize=8)(Activation.coefficients)


def spike_terms(
    network: SteppedNetwork, X: np.ndarray, level: int, widened: bool
) -> tuple[np.ndarray, np.ndarray]:
    """The two sides of the spikes k = 1, ..., l: shapes (n, l) and (N, l)."""
    sigma, orders = network.activation, np.arange(1, level + 1)
    c = _coefficients(sigma, level)
    size = c[1] * network.step * np.linalg.norm(network.direction)
    neurons = c[1:] * network.readout[:, None] ** orders
    return size**orders * _powers(network, X, _rows(network, level, widened)), neurons


def _spiked(
    network: Network,
    X: np.ndarray,
    rng: np.random.Generator,
    level: int,
    widened: bool,
    base: FeatureMap,
) -> np.ndarray:
    if not isinstance(network, SteppedNetwork):
        return base(network, X, rng)
    samples, neurons = spike_terms(network, X, level, widened)
    return base(network.initial, X, rng) + samples @ neurons.T


def spike_features(level: int, widened: bool = False, base: FeatureMap = network_features) -> FeatureMap:
    r"""Return the feature map of F_l for ``simulate(..., features=spike_features(l))``.

    Before a step F_l is :math:`F_0`. With ``base=gaussian_equivalent_features`` :math:`F_0` is a Gaussian
    matrix, :math:`c_0+c_1XW_0^\top+c_{>1}Z`.

    Parameters
    ----------
    level : int
        The number of spikes l >= 1.
    widened : bool
        Use the spikes of the exact step, with the widening q measured on the rows of the draw.
    base : callable, optional
        The feature map of :math:`F_0`, called with the network before its step; by default the network's
        features.

    Examples
    --------
    >>> import numpy as np
    >>> from onestep_lib import Setting
    >>> from onestep_lib.experiment import simulate, spike_features
    >>> setting = Setting(n=50, d=20, N=30, activation="identity", step=5)
    >>> for features in (spike_features(1), "network"):  # a linear network has one spike
    ...     losses = simulate(setting, np.random.default_rng(0), 2, features, test_size=200)
    ...     print(f"{losses.train:.4f}")
    0.0116
    0.0116
    """
    return one_step_map(partial(_spiked, level=level, widened=widened, base=base), SPIKED_OUTPUTS)


def _infinitely_spiked(
    network: Network, X: np.ndarray, rng: np.random.Generator, level: int, widened: bool
) -> np.ndarray:
    if not isinstance(network, SteppedNetwork) or network.step == 0 or not network.direction.any():
        raise ValueError("step must be > 0, on labels not all 0: without a step there is no direction")
    if np.ptp(np.abs(network.readout)) == 0:
        raise ValueError("readout must be 'gaussian' for infinite spikes: those of signs share one vector")
    base = feature_matrix(network.initial.weights, X, network.activation)
    c, orders = network.activation.coefficients(level), np.arange(1, level + 1)
    present = np.abs(c[1:]) > ABSENT
    network.activation.require_linear_part()
    powers = (np.sqrt(network.readout.size) * network.readout[:, None]) ** orders[present]
    basis, mixing = np.linalg.qr(powers / np.linalg.norm(powers, axis=0))
    if np.abs(np.diag(mixing)).min() < 1e-9:
        raise ValueError("readout must have linearly independent powers for this many infinite spikes")
    # Ridge charges nothing for a column of infinite scale. Orthonormal columns (in the population) need a
    # scale of 1e3 for 8 digits; a larger one would drown the bulk in its rounding.
    rows = _rows(network, level, widened)[present]
    mix = np.linalg.inv(np.linalg.cholesky(rows @ rows.T))
    free = 1e3 * _powers(network, X, rows) @ mix.T
    return np.hstack([base - (base @ basis) @ basis.T, free])


def infinite_spike_features(level: int, widened: bool = False) -> FeatureMap:
    r"""Return the feature map of the limit of infinite spikes, for ``simulate``.

    The columns :math:`\kappa^{\circ k}`, k = 1, ..., l, become free of penalty, and :math:`F_0` loses its
    part along :math:`a^{\circ k}`: the exact limit of ridge regression on F_l as every spike grows. Powers
    with :math:`c_k=0` have no spike. The step size does not matter, but must be positive; the readout is
    Gaussian, since the powers of signs share one vector.

    Parameters
    ----------
    level, widened
        As in `spike_features`.

    Examples
    --------
    >>> import numpy as np
    >>> from onestep_lib.activations import activation
    >>> from onestep_lib.experiment import infinite_spike_features, take_steps
    >>> from onestep_lib.experiment.network import Network
    >>> network = Network(np.eye(2), np.array([1.0, 2.0]), activation("identity"))
    >>> (stepped,) = take_steps(network, np.eye(2), np.array([1.0, 2.0]), 5)
    >>> F = infinite_spike_features(1)(stepped, np.eye(2), np.random.default_rng(0))
    >>> print(F.shape, np.allclose(F[:, :2] @ network.readout, 0))
    (2, 3) True
    """
    return one_step_map(partial(_infinitely_spiked, level=level, widened=widened), SPIKED_OUTPUTS)


FEATURE_MAPS: dict[str, FeatureMap] = {
    "network": network_features,
    "gaussian_equivalent": gaussian_equivalent_features,
    "conditional_gaussian": conditional_gaussian_features,
}
"""The feature maps by name."""
