"""Ridge regression on spiked random features, whatever their spikes come from.

A model (`model`) has functions of kappa (`conditional_means`, on the grid of `kappa`), a resolvent
(`fixed_point`) and the moments of its fit (`fit`); `losses` puts them together.
"""

from onestep_lib.spiked_features.conditional_means import *
from onestep_lib.spiked_features.fixed_point import *
from onestep_lib.spiked_features.losses import *
from onestep_lib.spiked_features.model import *
