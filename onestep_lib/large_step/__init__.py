"""Steps up to sqrt(N) and beyond: the stepped network as spiked random features, and one curve for all.

Each module is the formula page of one idea; every public name is imported from here:
``from onestep_lib.large_step import stepped_model``.
"""

from onestep_lib.large_step.one_curve import *
from onestep_lib.large_step.spectral import *
from onestep_lib.large_step.stepped_model import *
