"""Research that chapters 9 and 11 to 16 and the appendices use: the core never imports it."""

from onestep_lib.beyond.baseline_fits import *
from onestep_lib.beyond.bilinear_forms import *
from onestep_lib.beyond.costs import *
from onestep_lib.beyond.cross_validation import *
from onestep_lib.beyond.even_targets import *
from onestep_lib.beyond.finite_size import *
from onestep_lib.beyond.free_model import *
from onestep_lib.beyond.potential import *
from onestep_lib.beyond.scatter import *
from onestep_lib.beyond.second_step import *
from onestep_lib.beyond.shared_rows import *
from onestep_lib.beyond.training import *
