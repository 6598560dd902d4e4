r"""What a network has learned, seen along the target's direction.

The learned function f depends on all of x; its average over a bin of :math:`z=\langle\beta_*,x\rangle` can be
drawn beside the target :math:`\sigma_*(z)`. For a target of two directions the average is over squares of
their plane.

Functions
---------
learned_profile   the learned function along the target's direction
plane_profile     the learned function on the plane of a target's two directions
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from onestep_lib._checks import shown
from onestep_lib._threads import one_thread
from onestep_lib.experiment.batches import sample_inputs
from onestep_lib.experiment.network import feature_matrix
from onestep_lib.experiment.ridge import ridge_path
from onestep_lib.experiment.simulation import Draws
from onestep_lib.repeats import mean_and_error
from onestep_lib.settings import Setting
from onestep_lib.two_index import TwoIndexTarget

__all__ = [
    "learned_profile",
    "plane_profile",
]


@dataclass(frozen=True, eq=False)
class Profile:
    r"""Means of the learned function in bins of :math:`\langle\beta_*,x\rangle`, or of a plane.

    Parameters
    ----------
    centres : ndarray, shape (bins,)
        Middles of the bins, for the plane along either axis.
    mean, se : ndarray, shape setting.shape + (bins,) or, for the plane, + (bins, bins)
        Mean over repeats of the bin's average of f, and its standard error.
    """

    centres: np.ndarray
    mean: np.ndarray
    se: np.ndarray


def learned_profile(
    setting: Setting, rng: np.random.Generator, edges: ArrayLike, repeats: int = 4, test_size: int = 5000
) -> Profile:
    """Average the fitted network over bins of the target's projection.

    Parameters
    ----------
    setting : Setting
        Steps and penalties may be paths; they share their draws, as in `.simulate`.
    rng : numpy.random.Generator
    edges : array_like, shape (bins + 1,)
        Increasing edges of the bins.
    repeats : int
        Independent repeats, at least 2.
    test_size : int
        Inputs a repeat over which f is averaged; every bin must receive one.

    Returns
    -------
    Profile

    Raises
    ------
    ValueError
        If a bin stays empty.

    Examples
    --------
    >>> import numpy as np
    >>> from onestep_lib import Setting
    >>> from onestep_lib.experiment import learned_profile
    >>> setting = Setting(n=50, d=5, N=50, activation="identity", ridge=1e-6)
    >>> profile = learned_profile(setting, np.random.default_rng(0), [-2, -1, 0, 1, 2], 2, 1000)
    >>> print(profile.centres, profile.mean.round(1))
    [-1.5 -0.5  0.5  1.5] [-1.4 -0.4  0.5  1.4]
    """
    setting.single_index()
    return _profile(setting, rng, edges, repeats, test_size)


def plane_profile(
    setting: Setting, rng: np.random.Generator, edges: ArrayLike, repeats: int = 4, test_size: int = 20_000
) -> Profile:
    """Average the fitted network over squares of the plane of the target's two directions.

    Parameters
    ----------
    setting : Setting
        With a `onestep_lib.two_index.TwoIndexTarget`. Steps and penalties may be paths.
    rng : numpy.random.Generator
    edges : array_like, shape (bins + 1,)
        Increasing edges of the bins, the same along both directions.
    repeats : int
        Independent repeats, at least 2.
    test_size : int
        Inputs a repeat over which f is averaged; every square must receive one.

    Returns
    -------
    Profile
        The first of the last two axes is along beta_1.

    Raises
    ------
    ValueError
        If the target has one direction, or a square stays empty.

    Examples
    --------
    >>> import numpy as np
    >>> from onestep_lib import Setting
    >>> from onestep_lib.experiment import plane_profile
    >>> from onestep_lib.two_index import TwoIndexTarget
    >>> setting = Setting(50, 5, 50, "identity", TwoIndexTarget(lambda s, t: s - t), ridge=1e-6)
    >>> plane_profile(setting, np.random.default_rng(0), [-2, 0, 2], 2, 1000).mean.round(1)
    array([[ 0. , -1.4],
           [ 1.5,  0. ]])
    """
    if not isinstance(setting.target, TwoIndexTarget):
        raise ValueError(f"target must have two directions here, got {shown(setting.target.name)} of one")
    return _profile(setting, rng, edges, repeats, test_size)


def _profile(
    setting: Setting, rng: np.random.Generator, edges: ArrayLike, repeats: int, test_size: int
) -> Profile:
    edges = np.asarray(edges)
    draws = np.stack([_one_profile(setting, child, edges, test_size) for child in rng.spawn(repeats)])
    return Profile((edges[:-1] + edges[1:]) / 2, *mean_and_error(draws))


@one_thread()
def _one_profile(setting: Setting, rng: np.random.Generator, edges: np.ndarray, test_size: int) -> np.ndarray:
    """Bin averages of f for one repeat, shape setting.shape + (bins,) an axis of the target."""
    streams = Draws(setting, rng)
    X, y = streams.ridge_batch
    inputs = sample_inputs(setting, test_size, streams.test)
    z = inputs @ streams.direction
    bins, shape = np.digitize(z.reshape(test_size, -1), edges) - 1, (edges.size - 1,) * z[0].ravel().size
    inside = np.all((bins >= 0) & (bins < edges.size - 1), axis=1)
    place = np.where(inside, np.ravel_multi_index(tuple(bins.T), shape, mode="clip"), -1)
    member = (place == np.arange(np.prod(shape))[:, None]).astype(float)
    counts = member.sum(axis=1)
    if not counts.all():
        where = np.unravel_index(int(np.argmin(counts)), shape)
        empty = " x ".join(f"[{edges[k]:.3g}, {edges[k + 1]:.3g}]" for k in where)
        raise ValueError(
            f"edges leave the bin {empty} empty with test_size = {test_size}: use wider bins or more inputs"
        )
    rows = []
    for network in streams.networks():
        F = feature_matrix(network.weights, X, network.activation)
        coefficients = ridge_path(F, y, np.atleast_1d(setting.ridges)).coefficients
        fitted = feature_matrix(network.weights, inputs, network.activation) @ coefficients
        rows.append((member @ fitted / counts[:, None]).T)
    return np.stack(rows).reshape(*setting.shape, *shape)
