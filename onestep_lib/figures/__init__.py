"""Figures: printed ones, and explorers whose sliders work on a page without a kernel.

Everything public is imported from here: ``from onestep_lib.figures import Explorer, Slider``. The figures
do no mathematics.
"""

from onestep_lib.figures.drawings import network_drawing, pipeline_drawing, shared_direction_drawing
from onestep_lib.figures.explorer import Explorer, Panel, Readout
from onestep_lib.figures.kernel import live
from onestep_lib.figures.look import COLOURS, DARK_COLOURS, DASHES, ERROR_BARS, MARKERS
from onestep_lib.figures.plotting import (
    STYLE,
    Picture,
    figure,
    gap_summary,
    gap_table,
    histogram_and_density,
    legend,
    log_axis,
    picture,
    theory_and_simulation,
    use_style,
)
from onestep_lib.figures.series import Bars, Dots, HLine, Line, VLine
from onestep_lib.figures.signature import signature_explorer
from onestep_lib.figures.sliders import Slider, tabulate

__all__ = [
    "COLOURS",
    "DARK_COLOURS",
    "DASHES",
    "ERROR_BARS",
    "MARKERS",
    "STYLE",
    "Bars",
    "Dots",
    "Explorer",
    "HLine",
    "Line",
    "Panel",
    "Picture",
    "Readout",
    "Slider",
    "VLine",
    "figure",
    "gap_summary",
    "gap_table",
    "histogram_and_density",
    "legend",
    "live",
    "log_axis",
    "network_drawing",
    "picture",
    "pipeline_drawing",
    "shared_direction_drawing",
    "signature_explorer",
    "tabulate",
    "theory_and_simulation",
    "use_style",
]
