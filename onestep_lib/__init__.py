"""One Gradient Step: what a two-layer network learns from one gradient step, in formulas and simulation.

Start from a `Setting`; `simulate` draws it, and each theory answers in the same form, `Losses`.
The normalisation is stated once, in :mod:`onestep_lib.settings`.

Modules
-------
settings              Setting, Losses, and the normalisation
hermite               Hermite polynomials, coefficients and Gaussian averages
activations           named activations and targets with their constants
inputs                input distributions, also those beyond the theories
data                  directions and labelled batches
network               the two-layer network and its exact first-layer gradient
ridge                 ridge regression along a path of penalties
simulation            the simulator
surrogates            feature maps to simulate beside the network's own
profiles, floors      the learned function, and what fixed features cannot pass

gaussian_equivalence  random features (step 0): losses and resolvent
spectrum, spectra     their spectrum: transform and density; edges, atom and distribution function
step                  the gradient's rank-one part, and the spectrum of the stepped weights
spikes, outliers      low-rank parts of the stepped features, and their outlying singular values
staircase             losses for steps n^alpha, level by level and at finite n
spiked_features       ridge regression on spiked random features
giant_step            steps of order sqrt(N) with a readout of signs
one_curve             every step size, with a Gaussian readout
conventions           the papers' parameters and losses, translated both ways

explorers, plotting   interactive figures that need no kernel; the book's figures
sweeps                long simulations that survive being killed
"""

from onestep_lib._cache import cache_folder, clear_cache
from onestep_lib.activations import Activation, Target
from onestep_lib.convergence import ConvergenceError
from onestep_lib.gaussian_equivalence import random_features
from onestep_lib.one_curve import one_step
from onestep_lib.settings import Losses, Setting
from onestep_lib.simulation import simulate, simulate_spectrum

__version__ = "0.1.0"

__all__ = [
    "Activation",
    "ConvergenceError",
    "Losses",
    "Setting",
    "Target",
    "cache_folder",
    "clear_cache",
    "one_step",
    "random_features",
    "simulate",
    "simulate_spectrum",
]
