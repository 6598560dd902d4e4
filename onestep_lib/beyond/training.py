r"""Training of both layers until convergence: the far end of the bridge that starts with one step.

.. math:: L(W,a)=\tfrac1n|y-\sigma(XW^\top)a|^2+\lambda|a|^2+\mu\,\|W-W_0\|_F^2 ,

minimised from the random-features fit, :math:`W=W_0` with its ridge readout, by L-BFGS (full batch, SciPy).
The second penalty makes the minimum exist (for relu without it :math:`W\to cW,\ a\to a/c` lowers the first
for ever) and spans the bridge: for large mu the rows stay and the fit is that of random features. The default
:math:`\mu=\lambda/N` charges a change of every row by a unit vector as much as ``|a| = 1``. The problem is
not convex: what is found is a stationary point below the random-features fit.

Functions
---------
train_to_convergence   train both layers on one batch
trained_losses         the losses of trained networks on the draws of `.simulate`
training_loss          L and its gradient
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from onestep_lib._checks import (
    check_count,
    check_flag,
    check_generator,
    check_instance,
    check_matrix,
    check_nonnegative,
    check_number,
    check_positive,
    check_vector,
    shown,
)
from onestep_lib._threads import one_thread
from onestep_lib.convergence import ConvergenceError
from onestep_lib.experiment.network import Network, feature_matrix
from onestep_lib.experiment.ridge import ridge_path
from onestep_lib.experiment.simulation import Draws
from onestep_lib.settings import Losses, Setting

__all__ = [
    "train_to_convergence",
]


@dataclass(frozen=True, eq=False)
class TrainedNetwork(Network):
    """A network whose layers were trained together.

    Parameters
    ----------
    weights, readout, activation
        As in `onestep_lib.experiment.network.Network`.
    train : float
        ``(1/n)|y - f|^2`` on its batch.
    loss : float
        L, both penalties included.
    evaluations : int
        Evaluations of L and its gradient.
    """

    train: float
    loss: float
    evaluations: int


def training_loss(
    network: Network, start: np.ndarray, X: np.ndarray, y: np.ndarray, ridge: float, decay: float
) -> tuple[float, np.ndarray, np.ndarray]:
    r"""Return L and its gradients in W, shape (N, d), and in a, shape (N,).

    Parameters
    ----------
    network : Network
    start : ndarray, shape (N, d)
        :math:`W_0`.
    X : ndarray, shape (n, d)
    y : ndarray, shape (n,)
    ridge, decay : float
        The penalties lambda and mu, >= 0.

    Examples
    --------
    >>> import numpy as np
    >>> from onestep_lib.activations import activation
    >>> from onestep_lib.beyond.training import training_loss
    >>> from onestep_lib.experiment.network import Network
    >>> network = Network(np.eye(2), np.array([1.0, -1.0]), activation("identity"))
    >>> loss, of_weights, of_readout = training_loss(network, np.eye(2), np.eye(2), np.ones(2), 0.5, 0.1)
    >>> print(loss, of_weights.tolist(), of_readout)
    3.0 [[0.0, -2.0], [0.0, 2.0]] [ 1. -3.]
    """
    check_instance("network", network, Network)
    slope = network.activation.require_slope()
    start = check_matrix("start", start, network.weights.shape[1])
    if start.shape != network.weights.shape:
        raise ValueError(f"start must have the shape {network.weights.shape}, got {start.shape}")
    X = check_matrix("X", X, start.shape[1])
    y = check_vector("y", y, X.shape[0])
    ridge = check_number("ridge", ridge, check_nonnegative)
    decay = check_number("decay", decay, check_nonnegative)
    a, n = network.readout, y.size
    preactivations = X @ network.weights.T
    F = network.activation(preactivations)
    missed = F @ a - y
    moved = network.weights - start
    loss = float(missed @ missed / n + ridge * (a @ a) + decay * np.sum(moved**2))
    of_readout = 2 / n * (F.T @ missed) + 2 * ridge * a
    slopes = slope(preactivations)
    slopes *= missed[:, None]
    of_weights = 2 / n * a[:, None] * (slopes.T @ X) + 2 * decay * moved
    return loss, of_weights, of_readout


def train_to_convergence(
    network: Network,
    X: np.ndarray,
    y: np.ndarray,
    ridge: float,
    decay: float | None = None,
    tolerance: float = 1e-4,
    most: int = 20_000,
) -> TrainedNetwork:
    r"""Train both layers on one batch until the gradient is small.

    Parameters
    ----------
    network : Network
        Where the first layer starts, :math:`W_0`; its readout is replaced by the ridge fit on :math:`W_0`.
    X : ndarray, shape (n, d)
    y : ndarray, shape (n,)
    ridge : float
        lambda > 0.
    decay : float, optional
        mu > 0; by default lambda/N.
    tolerance : float
        The largest entry of the gradient, in a and in :math:`(W-W_0)/\sqrt N`, at the end over that at the
        start.
    most : int
        Most evaluations of L.

    Returns
    -------
    TrainedNetwork

    Raises
    ------
    ValueError, TypeError
        If a shape does not fit, a penalty is not positive, or the activation has no slope.
    ConvergenceError
        If the gradient is not as small after `most` evaluations, or the line search fails (at a kink).

    Examples
    --------
    >>> import numpy as np
    >>> from onestep_lib import Setting
    >>> from onestep_lib.beyond import train_to_convergence
    >>> from onestep_lib.experiment import initial_network, sample_batch
    >>> setting, rng = Setting(n=40, d=3, N=10, target="he2"), np.random.default_rng(0)
    >>> X, y = sample_batch(setting, 40, np.eye(3)[0], rng)
    >>> trained = train_to_convergence(initial_network(setting, rng), X, y, ridge=0.01, decay=0.001)
    >>> print(trained.train < 0.3 * np.mean(y**2))
    True
    """
    # Imported where it is used, as everywhere: it is a large part of SciPy.
    from scipy.optimize import minimize

    check_instance("network", network, Network)
    X = check_matrix("X", X, network.weights.shape[1])
    y = check_vector("y", y, X.shape[0])
    ridge = check_number("ridge", ridge, check_positive)
    width = network.readout.size
    decay = ridge / width if decay is None else check_number("decay", decay, check_positive)
    tolerance = check_number("tolerance", tolerance, check_positive)
    most = check_count("most", most)
    start, shape = network.weights, network.weights.shape
    fit = ridge_path(feature_matrix(start, X, network.activation), y, ridge)

    # A row matters |a_j|, about 1/sqrt(N), as much as its readout: this unit conditions the problem.
    unit = float(np.sqrt(width))

    def at(flat: np.ndarray) -> Network:
        moved = unit * flat[: start.size].reshape(shape)
        return Network(start + moved, flat[start.size :], network.activation)

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        value, of_weights, of_readout = training_loss(at(flat), start, X, y, ridge, decay)
        return value, np.concatenate([unit * of_weights.ravel(), of_readout])

    first = np.concatenate([np.zeros(start.size), fit.coefficients])
    goal = tolerance * float(np.max(np.abs(loss(first)[1])))
    options = {"maxfun": most, "maxiter": most, "gtol": goal, "ftol": 0.0, "maxcor": 20}
    found = minimize(loss, first, jac=True, method="L-BFGS-B", options=options)
    left = float(np.max(np.abs(found.jac)))
    if left > goal:
        raise ConvergenceError(
            "train_to_convergence",
            left / goal * tolerance,
            {"ridge": ridge, "decay": decay, "evaluations": found.nfev},
            "more evaluations, larger penalties or a smoother activation",
        )
    end = at(found.x)
    train = float(
        found.fun - ridge * (end.readout @ end.readout) - decay * np.sum((end.weights - start) ** 2)
    )
    return TrainedNetwork(end.weights, end.readout, end.activation, train, float(found.fun), int(found.nfev))


def trained_losses(
    setting: Setting,
    rng: np.random.Generator,
    repeats: int = 4,
    decays: Sequence[float | None] = (None,),
    both: bool = True,
    test_size: int | None = None,
    tolerance: float = 1e-4,
) -> list[Losses]:
    """Return the losses of networks trained to convergence, on the draws of `.simulate`.

    Parameters
    ----------
    setting : Setting
        Its steps do not matter; one penalty > 0.
    rng : numpy.random.Generator
    repeats : int
        Independent repeats, at least 2; repeat i has the draws of repeat i of `simulate`.
    decays : sequence of float or None
        Penalties mu of `train_to_convergence`.
    both : bool
        Train on the batches of the step and of the ridge fit together, or on the second alone.
    test_size : int, optional
        As in `simulate`.
    tolerance : float
        As in `train_to_convergence`.

    Returns
    -------
    list of Losses
        One a decay; ``objective`` is ``train + ridge |a|^2``, without the penalty on the first layer.

    Raises
    ------
    ValueError, TypeError, ConvergenceError
        As in `train_to_convergence`.

    Examples
    --------
    >>> import numpy as np
    >>> from onestep_lib import Setting
    >>> from onestep_lib.beyond.training import trained_losses
    >>> setting = Setting(n=60, d=5, N=15, target=(0, 0, 1), activation="softplus", ridge=0.01)
    >>> (trained,) = trained_losses(setting, np.random.default_rng(0), 2, (0.001,), test_size=500)
    >>> print(trained.test < 1.0)  # random features of this width have 2 or more
    True
    """
    check_instance("setting", setting, Setting)
    check_generator(rng)
    if setting.ridges.ndim:
        raise ValueError(f"ridge must be one number for training, got {setting.ridge}")
    repeats, both = check_count("repeats", repeats, minimum=2), check_flag("both", both)
    penalties = _penalties(decays)
    size = max(2000, 2 * setting.n) if test_size is None else check_count("test_size", test_size)
    rows = [_repeat(setting, child, penalties, both, size, tolerance) for child in rng.spawn(repeats)]
    return [Losses.from_draws(one) for one in np.stack(rows, axis=1)]


def _penalties(decays: Sequence[float | None]) -> list[float | None]:
    if not isinstance(decays, list | tuple | np.ndarray) or len(decays) == 0:
        raise ValueError(f"decays must be a sequence of penalties, at least one, got {shown(decays)}")
    return [None if decay is None else check_number("decays", decay, check_positive) for decay in decays]


@one_thread()
def _repeat(
    setting: Setting,
    rng: np.random.Generator,
    decays: Sequence[float | None],
    both: bool,
    test_size: int,
    tolerance: float,
) -> np.ndarray:
    """Train, test and objective at each decay, shape (decays, 3)."""
    streams = Draws(setting, rng)
    network, (X, y) = streams.initial(), streams.data(both)
    rows = []
    for decay in decays:
        trained = train_to_convergence(network, X, y, float(setting.ridges), decay, tolerance)
        rows.append([trained.train, own_loss(streams, trained, test_size), _objective(trained, setting)])
    return np.array(rows)


def _objective(network: TrainedNetwork, setting: Setting) -> float:
    return network.train + float(setting.ridges) * float(network.readout @ network.readout)


def own_loss(streams: Draws, network: Network, size: int) -> float:
    """The test loss of a network with its own readout, the noise included."""
    missed = 0.0
    for X, clean in streams.test_batches(size):
        fitted = feature_matrix(network.weights, X, network.activation) @ network.readout
        missed += float(np.sum((clean - fitted) ** 2))
    return missed / size + streams.setting.noise**2
