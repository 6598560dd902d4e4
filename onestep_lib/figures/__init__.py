"""figures"""

from onestep_lib.figures.explorer import Explorer, Panel, Readout
from onestep_lib.figures.kernel import live
from onestep_lib.figures.look import COLOURS, DARK_COLOURS, DASHES, ERROR_BARS, MARKERS
from onestep_lib.figures.plotting import (
    STYLE,
    Picture,
    figure,
    gap_table,
    histogram_and_density,
    legend,
    picture,
    theory_and_simulation,
    use_style,
)
from onestep_lib.figures.series import Bars, Column, Dots, HLine, Line, Mark, Series, VLine, numbers
from onestep_lib.figures.sliders import Slider, tabulate, value_text

__all__ = [
    "COLOURS",
    "DARK_COLOURS",
    "DASHES",
    "ERROR_BARS",
    "MARKERS",
    "STYLE",
    "Bars",
    "Column",
    "Dots",
    "Explorer",
    "HLine",
    "Line",
    "Mark",
    "Panel",
    "Picture",
    "Readout",
    "Series",
    "Slider",
    "VLine",
    "figure",
    "gap_table",
    "histogram_and_density",
    "legend",
    "live",
    "numbers",
    "picture",
    "tabulate",
    "theory_and_simulation",
    "use_style",
    "value_text",
]
