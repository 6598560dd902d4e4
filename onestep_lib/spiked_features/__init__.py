"""Ridge regression on spiked random features, whatever their spikes come from.

A model (`model`) has functions of kappa (`conditional_means`, `inner_average`, `kappa`), a fixed point
(`fixed_point`, `acceleration`), the mean part of its fit (`mean_part`) and second moments
(`second_moments`); `losses` puts them together, `replica` and `gordon` have the same solution as a saddle
point, and `scatter` says how far one draw falls from them.
"""

from onestep_lib.spiked_features.conditional_means import *
from onestep_lib.spiked_features.fixed_point import *
from onestep_lib.spiked_features.free_spikes import *
from onestep_lib.spiked_features.kappa import *
from onestep_lib.spiked_features.losses import *
from onestep_lib.spiked_features.model import *
from onestep_lib.spiked_features.span import *
