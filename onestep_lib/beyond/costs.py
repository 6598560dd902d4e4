r"""What a network's losses cost: floating-point operations and seconds, beside the losses themselves.

Counted are products of matrices and the eigenvalues of the Gram matrix, each multiplication and addition as
one operation; m is the smaller of n and N. All else is of lower order.

* a gradient step on n samples: :math:`4nNd` (preactivations, and slopes times inputs);
* the residual of a later step of a centred network: :math:`2nNd`, and as much for the initial output on each
  batch;
* a ridge fit: :math:`2nNd` for the features, :math:`2nNm` for their Gram matrix, about :math:`9m^3` to
  diagonalise it;
* an evaluation in training: :math:`4nNd`, as a gradient step.

Functions
---------
step_flops       operations of the setting's gradient steps
ridge_flops      operations of a ridge fit
training_flops   operations of training both layers
compare_costs    random features, the setting's steps, and training, on the same data
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter

import numpy as np

from onestep_lib._checks import check_count, check_generator, check_instance
from onestep_lib._threads import one_thread
from onestep_lib.beyond.training import own_loss, train_to_convergence
from onestep_lib.experiment.network import Network, feature_matrix
from onestep_lib.experiment.ridge import ridge_path
from onestep_lib.experiment.simulation import Draws
from onestep_lib.schedules import Schedule
from onestep_lib.settings import Losses, Setting

__all__ = [
    "compare_costs",
]


@dataclass(frozen=True, eq=False)
class Cost:
    """The losses of a method and what it took to reach them.

    Parameters
    ----------
    losses : Losses
    flops : float
        Operations of a repeat (mean).
    seconds : float
        Time of a repeat (mean), drawing and testing left out.
    """

    losses: Losses
    flops: float
    seconds: float


def step_flops(setting: Setting) -> float:
    """Return the operations of the setting's gradient steps; 0 if all sizes are 0.

    Examples
    --------
    >>> from onestep_lib import Setting
    >>> from onestep_lib.beyond.costs import step_flops
    >>> print(f"{step_flops(Setting(n=100, d=50, N=80, step=1.0)):.3g}")  # 4 n N d
    1.6e+06
    """
    check_instance("setting", setting, Setting)
    if not np.any(setting.steps):
        return 0.0
    updates = setting.updates
    schedule = updates if isinstance(updates, Schedule) else Schedule([1.0] * updates)
    sizes = np.array(schedule.sizes(setting.step_samples), dtype=float)
    passes = np.full(sizes.size, 4.0)
    if setting.output == "centred":
        passes[1:] += 4.0 if schedule.batches == "fresh" else 2.0
        if schedule.batches == "same" and sizes.size > 1:
            passes[1] += 2.0  # the initial output, once
    return float(passes @ sizes * setting.N * setting.d)


def ridge_flops(setting: Setting) -> float:
    """Return the operations of a ridge fit on n samples, :math:`2nNd+2nNm+9m^3`, m = min(n, N).

    Examples
    --------
    >>> from onestep_lib import Setting
    >>> from onestep_lib.beyond.costs import ridge_flops
    >>> print(ridge_flops(Setting(n=10, d=5, N=20)))  # 2000 + 4000 + 9000
    15000.0
    """
    check_instance("setting", setting, Setting)
    n, N, m = setting.n, setting.N, min(setting.n, setting.N)
    return float(2 * n * N * setting.d + 2 * n * N * m + 9 * m**3)


def training_flops(setting: Setting, evaluations: int, samples: int) -> float:
    """Return the operations of training, :math:`4nNd` an evaluation and a ridge fit to start from.

    Examples
    --------
    >>> from onestep_lib import Setting
    >>> from onestep_lib.beyond.costs import ridge_flops, training_flops
    >>> setting = Setting(n=10, d=5, N=20)
    >>> print(training_flops(setting, evaluations=100, samples=10) - ridge_flops(setting))
    400000.0
    """
    check_instance("setting", setting, Setting)
    evaluations, samples = check_count("evaluations", evaluations), check_count("samples", samples)
    one = 4 * samples * setting.N * setting.d
    return float(evaluations * one + ridge_flops(setting.replace(n=samples, fresh=True, updates=1, n_0=None)))


def compare_costs(
    setting: Setting,
    rng: np.random.Generator,
    repeats: int = 4,
    decay: float | None = None,
    test_size: int | None = None,
) -> dict[str, Cost]:
    """Return losses and costs of random features, of the setting's steps, and of training to convergence.

    All see the same draws, those of `.simulate`; training sees both batches.

    Parameters
    ----------
    setting : Setting
        With one step size > 0 and one penalty > 0.
    rng : numpy.random.Generator
    repeats : int
        At least 2.
    decay : float, optional
        As in `onestep_lib.beyond.training.train_to_convergence`.
    test_size : int, optional
        As in `simulate`.

    Returns
    -------
    dict of Cost
        "random features", "steps" and "training".

    Raises
    ------
    ValueError, TypeError, ConvergenceError
        For a path, or as in `train_to_convergence`.

    Examples
    --------
    >>> import numpy as np
    >>> from onestep_lib import Setting
    >>> from onestep_lib.beyond import compare_costs
    >>> setting = Setting(n=60, d=5, N=15, step=3.0, ridge=0.01)
    >>> costs = compare_costs(setting, np.random.default_rng(0), 2, 0.001, test_size=500)
    >>> print(*costs, costs["training"].flops > 10 * costs["steps"].flops)
    random features steps training True
    """
    check_instance("setting", setting, Setting)
    check_generator(rng)
    if setting.shape or not setting.step:
        raise ValueError(
            f"setting must have one step size > 0 and one penalty, got the shape {setting.shape}"
        )
    repeats = check_count("repeats", repeats, minimum=2)
    size = max(2000, 2 * setting.n) if test_size is None else check_count("test_size", test_size)
    found = [_repeat(setting, child, decay, size) for child in rng.spawn(repeats)]
    names = ("random features", "steps", "training")
    draws = np.moveaxis(np.array([[row[:3] for row in rows] for rows in found]), 1, 0)
    means = np.mean([[row[3:] for row in rows] for rows in found], axis=0)
    return {
        name: Cost(Losses.from_draws(one), float(flops), float(seconds))
        for name, one, (flops, seconds) in zip(names, draws, means, strict=True)
    }


@one_thread()
def _repeat(
    setting: Setting, rng: np.random.Generator, decay: float | None, test_size: int
) -> list[list[float]]:
    """Train, test, objective, operations and seconds of the three methods."""
    streams, ridge = Draws(setting, rng), float(setting.ridges)
    initial, fit = streams.initial(), ridge_flops(setting)
    rows = []
    for steps in (False, True):
        begun = perf_counter()
        network = next(streams.networks()) if steps else initial
        fitted, losses = _ridge_readout(network, *streams.ridge_batch, ridge)
        seconds = perf_counter() - begun
        flops = fit + (step_flops(setting) if steps else 0.0)
        rows.append([losses[0], own_loss(streams, fitted, test_size), losses[1], flops, seconds])
    X, y = streams.data(both=True)
    begun = perf_counter()
    trained = train_to_convergence(initial, X, y, ridge, decay)
    seconds = perf_counter() - begun
    objective = trained.train + ridge * float(trained.readout @ trained.readout)
    flops = training_flops(setting, trained.evaluations, y.size)
    rows.append([trained.train, own_loss(streams, trained, test_size), objective, flops, seconds])
    return rows


def _ridge_readout(
    network: Network, X: np.ndarray, y: np.ndarray, ridge: float
) -> tuple[Network, tuple[float, float]]:
    """The network with the readout of a ridge fit, and its train and objective."""
    path = ridge_path(feature_matrix(network.weights, X, network.activation), y, ridge)
    fitted = Network(network.weights, path.coefficients, network.activation)
    return fitted, (float(path.train), float(path.objective))
