"""experiment"""

from onestep_lib.experiment.batches import sample_batch, sample_direction, sample_inputs
from onestep_lib.experiment.feature_maps import one_step_map, require_covered
from onestep_lib.experiment.inputs import INPUTS
from onestep_lib.experiment.measured import (
    distribution_distance,
    measured_outliers,
    measured_spike,
    measured_weight_spectrum,
    operator_norm,
    rank_one_error,
    spike_error,
)
from onestep_lib.experiment.network import Network, feature_matrix, initial_network
from onestep_lib.experiment.profiles import Profile, learned_profile
from onestep_lib.experiment.ridge import (
    RidgePath,
    least_squares_inflation,
    leave_one_out,
    ridge_path,
    smoother,
    streamed_ridge_path,
)
from onestep_lib.experiment.simulation import Draws, simulate, simulate_spectrum
from onestep_lib.experiment.spike_maps import (
    infinite_spike_features,
    measured_widening,
    spike_features,
    spike_terms,
)
from onestep_lib.experiment.steps import (
    SteppedNetwork,
    first_layer_gradient,
    gradient_direction,
    gradient_step,
    gradient_steps,
    residual,
    take_steps,
)
from onestep_lib.experiment.surrogates import (
    FEATURE_MAPS,
    conditional_gaussian_features,
    gaussian_equivalent_features,
    network_features,
)
from onestep_lib.experiment.sweeps import (
    BEYOND,
    CHUNK,
    ONE_CURVE,
    SWEEPS,
    sweep_chunk,
    sweep_row,
    sweep_setting,
)

__all__ = [
    "BEYOND",
    "CHUNK",
    "FEATURE_MAPS",
    "INPUTS",
    "ONE_CURVE",
    "SWEEPS",
    "Draws",
    "Network",
    "Profile",
    "RidgePath",
    "SteppedNetwork",
    "conditional_gaussian_features",
    "distribution_distance",
    "feature_matrix",
    "first_layer_gradient",
    "gaussian_equivalent_features",
    "gradient_direction",
    "gradient_step",
    "gradient_steps",
    "infinite_spike_features",
    "initial_network",
    "learned_profile",
    "least_squares_inflation",
    "leave_one_out",
    "measured_outliers",
    "measured_spike",
    "measured_weight_spectrum",
    "measured_widening",
    "network_features",
    "one_step_map",
    "operator_norm",
    "rank_one_error",
    "require_covered",
    "residual",
    "ridge_path",
    "sample_batch",
    "sample_direction",
    "sample_inputs",
    "simulate",
    "simulate_spectrum",
    "smoother",
    "spike_error",
    "spike_features",
    "spike_terms",
    "streamed_ridge_path",
    "sweep_chunk",
    "sweep_row",
    "sweep_setting",
    "take_steps",
]
