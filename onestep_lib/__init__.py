"""One Gradient Step: what a two-layer network learns from one gradient step, in formulas and simulation.

Start from a `Setting`. `simulate` draws it, and three theories answer in the same form, `Losses`:
`random_features` for step 0, `staircase` for steps n^alpha in their limit, and `one_step` for every step size
(`giant_step` is the same function). The normalisation is
stated once, in :mod:`onestep_lib.settings`.

The folders stand in the order of the book; each uses what lies below it and nothing above.

Rooms
-----
settings, activations, two_index, initialisation, schedules, hermite, quadrature, repeats
                   what every room uses
no_step            random features: losses, spectrum, floors
small_step         the gradient, spikes in weights and features, the staircase
spiked_features    ridge regression on spiked random features
large_step         the stepped network as spiked random features, at any step size
experiment         whatever draws: data, networks, steps, ridge regression, simulation
figures            printed figures, and explorers that need no kernel
datasets           images, and the stored tables of long simulations
"""

from onestep_lib.activations import Activation, Target
from onestep_lib.convergence import ConvergenceError
from onestep_lib.experiment.simulation import simulate, simulate_spectrum
from onestep_lib.large_step.one_curve import giant_step, one_step
from onestep_lib.no_step.gaussian_equivalence import random_features
from onestep_lib.settings import Losses, Setting
from onestep_lib.small_step.stairs import staircase

__version__ = "0.2.0"

__all__ = [
    "Activation",
    "ConvergenceError",
    "Losses",
    "Setting",
    "Target",
    "giant_step",
    "one_step",
    "random_features",
    "simulate",
    "simulate_spectrum",
    "staircase",
]
