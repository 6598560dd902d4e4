"""One Gradient Step: what a two-layer network learns from one gradient step, in formulas and simulation.

Start from a `Setting`; `simulate` draws it, and each theory answers in the same form, `Losses`.
The normalisation is stated once, in :mod:`onestep_lib.settings`.

Modules
-------
settings          Setting, Losses, and the normalisation
hermite           Hermite polynomials, coefficients and Gaussian averages
activations       named activations and targets with their constants
inputs            input distributions, also those beyond the theories
data              directions and labelled batches
network           the two-layer network and its exact first-layer gradient
ridge             ridge regression along a path of penalties
simulation        the simulator
surrogates        feature maps to simulate beside the network's own
gaussian_equivalence  ridge regression on random features (step 0): losses and resolvent
spectrum          the spectrum of random features
bulk_edges        its edges
spectra           its law as a whole, the resolvent outside it, empirical spectra
marchenko_pastur  averages over the Marchenko-Pastur law
step              the rank-one part of the gradient, and the spectrum of the weights after a step
spikes            what a step below the giant one adds to the features
outliers          the eigenvalues it pushes out of their bulk
staircase         the losses on spiked features: infinite spikes, and the curve in the step size
explorers         interactive figures that need no kernel
plotting          the book's figures
"""

from onestep_lib.activations import Activation, Target
from onestep_lib.convergence import ConvergenceError
from onestep_lib.gaussian_equivalence import random_features
from onestep_lib.settings import Losses, Setting
from onestep_lib.simulation import simulate, simulate_spectrum

__version__ = "0.1.0"

__all__ = [
    "Activation",
    "ConvergenceError",
    "Losses",
    "Setting",
    "Target",
    "random_features",
    "simulate",
    "simulate_spectrum",
]
