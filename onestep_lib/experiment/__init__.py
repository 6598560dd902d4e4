"""Whatever draws: inputs, batches, networks, gradient steps, ridge regression, and the simulator.

Everything public is imported from here: ``from onestep_lib.experiment import sample_batch, take_steps``.
"""

from onestep_lib.experiment.batches import *
from onestep_lib.experiment.feature_maps import *
from onestep_lib.experiment.measured import *
from onestep_lib.experiment.network import *
from onestep_lib.experiment.profiles import *
from onestep_lib.experiment.ridge import *
from onestep_lib.experiment.simulation import *
from onestep_lib.experiment.sweep import *
