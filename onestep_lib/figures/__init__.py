"""Figures: printed ones, and explorers whose sliders work on a page without a kernel.

Everything public is imported from here: ``from onestep_lib.figures import Explorer, Slider``. The figures
do no mathematics.
"""

from onestep_lib.figures.explorer import *
from onestep_lib.figures.laboratory import *
from onestep_lib.figures.panels import *
from onestep_lib.figures.plotting import *
from onestep_lib.figures.series import *
from onestep_lib.figures.signature import *
