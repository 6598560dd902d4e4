r"""One network at many step sizes, seen four ways: its weights, its features, what it learned, its losses.

The numbers behind the book's signature figure (:func:`onestep_lib.figures.signature.signature_explorer`):
one draw of the two spectra, averages over repeats of the learned function and of the losses, and the theory
of :mod:`onestep_lib.large_step.one_curve` beside them.

Functions
---------
step_portrait   all of it, for a setting with a path of step sizes
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from onestep_lib._checks import check_count, check_generator, check_instance, shown
from onestep_lib._threads import one_thread
from onestep_lib.experiment.network import feature_matrix
from onestep_lib.experiment.profiles import Profile, learned_profile
from onestep_lib.experiment.simulation import Draws, simulate
from onestep_lib.large_step.one_curve import one_step, step_regimes
from onestep_lib.no_step.laws import feature_law
from onestep_lib.settings import Losses, Setting
from onestep_lib.small_step.weights import weight_spectrum

__all__ = [
    "step_portrait",
]


@dataclass(frozen=True, eq=False)
class Portrait:
    """What one gradient step does, along a path of S step sizes.

    Parameters
    ----------
    setting : Setting
    regimes : ndarray of str, shape (S,)
        Names from `onestep_lib.large_step.one_curve.step_regimes`.
    weights : ndarray, shape (S, min(N, d))
        Singular values of the stepped weights of one draw, the largest first.
    features : ndarray, shape (S, min(n, N))
        Eigenvalues of F F^T/n of the same draw, the largest first, zeros left out.
    weight_edge, feature_edge : float
        Right ends of the two bulks without a step, in the limit.
    profile : Profile
    simulated, theory : Losses
    """

    setting: Setting
    regimes: np.ndarray
    weights: np.ndarray
    features: np.ndarray
    weight_edge: float
    feature_edge: float
    profile: Profile
    simulated: Losses
    theory: Losses


def step_portrait(
    setting: Setting, rng: np.random.Generator, edges: ArrayLike, repeats: int = 4, test_size: int = 2000
) -> Portrait:
    """Return spectra, learned function and losses of a network along a path of step sizes.

    Parameters
    ----------
    setting : Setting
        What `onestep_lib.one_step` covers, with a path of step sizes and one penalty.
    rng : numpy.random.Generator
    edges : array_like, shape (bins + 1,)
        Of the bins of the learned function, as in `learned_profile`.
    repeats : int
        Over which the learned function and the losses are averaged, at least 2.
    test_size : int
        Inputs a repeat for the learned function and the test loss.

    Raises
    ------
    ValueError
        If the step size is a single number, or the penalties are several.

    Examples
    --------
    >>> import numpy as np
    >>> from onestep_lib import Setting
    >>> from onestep_lib.experiment import step_portrait
    >>> setting = Setting(n=200, d=50, N=80, step=[0, 10])
    >>> portrait = step_portrait(setting, np.random.default_rng(0), [-2, 0, 2], repeats=2)
    >>> print(portrait.weights[:, 0].round(1), round(portrait.weight_edge, 1))  # one leaves the bulk
    [2.1 5. ] 2.3
    """
    check_instance("setting", setting, Setting)
    check_generator(rng)
    repeats, test_size = check_count("repeats", repeats, minimum=2), check_count("test_size", test_size)
    if setting.steps.ndim != 1 or setting.ridges.ndim:
        raise ValueError(
            f"step must be a path and ridge one number, got {shown(setting.step)} and {shown(setting.ridge)}"
        )
    theory, regimes = one_step(setting), step_regimes(setting)
    one, profiled, repeated = rng.spawn(3)
    weights, features = _spectra(setting, one)
    return Portrait(
        setting,
        regimes,
        weights,
        features,
        weight_spectrum(setting).edge,
        feature_law(setting.replace(step=0.0)).edge,
        learned_profile(setting, profiled, edges, repeats, test_size),
        simulate(setting, repeated, repeats, test_size=test_size),
        theory,
    )


@one_thread()
def _spectra(setting: Setting, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Singular values of the weights and eigenvalues of F F^T/n of one draw after each step."""
    streams, weights, features = Draws(setting, rng), [], []
    X, _ = streams.ridge_batch
    for network in streams.networks():
        F = feature_matrix(network.weights, X, network.activation)
        gram = F @ F.T if setting.n < setting.N else F.T @ F
        weights.append(np.linalg.svd(network.weights, compute_uv=False))
        features.append(np.linalg.eigvalsh(gram / setting.n)[::-1])
    return np.stack(weights), np.stack(features)
