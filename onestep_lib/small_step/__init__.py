"""Steps n^alpha, alpha < 1/2: the gradient, spikes in the weights and in the features, the staircase.

Each module is the formula page of one idea; every public name is imported from here:
``from onestep_lib.small_step import weight_spectrum``.
"""

from onestep_lib.small_step.bilinear_forms import FORM_VECTORS, bilinear_form
from onestep_lib.small_step.gradient import (
    Gradient,
    LabelMoments,
    SecondDirection,
    Spike,
    direction_floor,
    exact_spike,
    gradient_of,
    gradient_spike,
    label_direction_error,
    label_moments,
    second_direction,
    seen_directions,
)
from onestep_lib.small_step.outliers import Outliers, feature_outliers
from onestep_lib.small_step.second_step import SecondGradient, second_gradient
from onestep_lib.small_step.spiked_noise import OneSpike, noise_resolvents, one_spike
from onestep_lib.small_step.spikes import (
    power_basis,
    sample_side,
    spike_constant,
    spike_level,
    spike_matrix,
    spike_norms,
)
from onestep_lib.small_step.stairs import (
    Gain,
    finite_gain,
    finite_staircase,
    first_stairs,
    staircase,
    staircase_gain,
)
from onestep_lib.small_step.weights import WeightSpectrum, weight_spectrum
from onestep_lib.small_step.whole_spikes import whole_spike_matrix

__all__ = [
    "FORM_VECTORS",
    "Gain",
    "Gradient",
    "LabelMoments",
    "OneSpike",
    "Outliers",
    "SecondDirection",
    "SecondGradient",
    "Spike",
    "WeightSpectrum",
    "bilinear_form",
    "direction_floor",
    "exact_spike",
    "feature_outliers",
    "finite_gain",
    "finite_staircase",
    "first_stairs",
    "gradient_of",
    "gradient_spike",
    "label_direction_error",
    "label_moments",
    "noise_resolvents",
    "one_spike",
    "power_basis",
    "sample_side",
    "second_direction",
    "second_gradient",
    "seen_directions",
    "spike_constant",
    "spike_level",
    "spike_matrix",
    "spike_norms",
    "staircase",
    "staircase_gain",
    "weight_spectrum",
    "whole_spike_matrix",
]
