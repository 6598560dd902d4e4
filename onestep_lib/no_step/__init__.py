"""Before the step: random features, their losses and their spectrum.

Each module is the formula page of one idea; every public name is imported from here:
``from onestep_lib.no_step import ridge_losses``.
"""

from onestep_lib.no_step.decomposition import *
from onestep_lib.no_step.floors import *
from onestep_lib.no_step.gaussian_equivalence import *
from onestep_lib.no_step.marchenko_pastur import *
from onestep_lib.no_step.spectrum import *
