"""Steps n^alpha, alpha < 1/2: the gradient, spikes in the weights and in the features, the staircase.

Each module is the formula page of one idea; every public name is imported from here:
``from onestep_lib.small_step import weight_spectrum``.
"""

from onestep_lib.small_step.gradient import *
from onestep_lib.small_step.outliers import *
from onestep_lib.small_step.spikes import *
from onestep_lib.small_step.stairs import *
from onestep_lib.small_step.weights import *
