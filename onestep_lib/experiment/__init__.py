"""Whatever draws: inputs, batches, networks, gradient steps, ridge regression, and the simulator.

Everything public is imported from here: ``from onestep_lib.experiment import sample_batch, take_steps``.
"""

from onestep_lib.experiment.baseline_fits import BASELINES, baselines
from onestep_lib.experiment.batches import sample_batch, sample_direction, sample_inputs, target_directions
from onestep_lib.experiment.costs import Cost, compare_costs, ridge_flops, step_flops, training_flops
from onestep_lib.experiment.feature_maps import one_step_map
from onestep_lib.experiment.free_model import simulate_model
from onestep_lib.experiment.inputs import SAMPLERS
from onestep_lib.experiment.kernels import kernel_matrix
from onestep_lib.experiment.measured import (
    distribution_distance,
    measured_outliers,
    measured_spike,
    measured_spike_constant,
    measured_weight_spectrum,
    operator_norm,
    rank_one_error,
    spike_error,
)
from onestep_lib.experiment.network import Network, feature_matrix, initial_network
from onestep_lib.experiment.portraits import Portrait, step_portrait
from onestep_lib.experiment.profiles import Profile, learned_profile, plane_profile
from onestep_lib.experiment.ridge import (
    RidgePath,
    least_squares_inflation,
    leave_one_out,
    ridge_path,
    smoother,
    streamed_ridge_path,
)
from onestep_lib.experiment.simulation import simulate, simulate_spectrum
from onestep_lib.experiment.spike_maps import infinite_spike_features, rank_one_features, spike_features
from onestep_lib.experiment.steps import (
    SteppedNetwork,
    first_layer_gradient,
    gradient_direction,
    gradient_step,
    gradient_steps,
    residual,
    scheduled_steps,
    take_steps,
)
from onestep_lib.experiment.surrogates import (
    FEATURE_MAPS,
    conditional_gaussian_features,
    gaussian_equivalent_features,
    network_features,
)
from onestep_lib.experiment.training import (
    TrainedNetwork,
    train_to_convergence,
    trained_losses,
    training_loss,
)

__all__ = [
    "BASELINES",
    "FEATURE_MAPS",
    "SAMPLERS",
    "Cost",
    "Network",
    "Portrait",
    "Profile",
    "RidgePath",
    "SteppedNetwork",
    "TrainedNetwork",
    "baselines",
    "compare_costs",
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
    "kernel_matrix",
    "learned_profile",
    "least_squares_inflation",
    "leave_one_out",
    "measured_outliers",
    "measured_spike",
    "measured_spike_constant",
    "measured_weight_spectrum",
    "network_features",
    "one_step_map",
    "operator_norm",
    "plane_profile",
    "rank_one_error",
    "rank_one_features",
    "residual",
    "ridge_flops",
    "ridge_path",
    "sample_batch",
    "sample_direction",
    "sample_inputs",
    "scheduled_steps",
    "simulate",
    "simulate_model",
    "simulate_spectrum",
    "smoother",
    "spike_error",
    "spike_features",
    "step_flops",
    "step_portrait",
    "streamed_ridge_path",
    "take_steps",
    "target_directions",
    "train_to_convergence",
    "trained_losses",
    "training_flops",
    "training_loss",
]
