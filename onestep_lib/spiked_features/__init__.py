"""Ridge regression on spiked random features, whatever their spikes come from.

A model (`model`) has functions of kappa (`conditional_means`, `inner_average`, `kappa`), a fixed point
(`fixed_point`, `acceleration`), the mean part of its fit (`mean_part`) and second moments
(`second_moments`); `losses` puts them together, `replica` and `gordon` have the same solution as a saddle
point, and `scatter` says how far one draw falls from them.
"""

from onestep_lib.spiked_features.conditional_means import (
    FeatureMeans,
    TargetMeans,
    feature_means,
    target_means,
)
from onestep_lib.spiked_features.fixed_point import FixedPoint, Sweep, solve_fixed_point, sweep_fixed_point
from onestep_lib.spiked_features.free_spikes import free_losses
from onestep_lib.spiked_features.gordon import GordonSaddle, gordon_losses, gordon_saddle, gordon_value
from onestep_lib.spiked_features.kappa import KappaGrid, kappa_grid
from onestep_lib.spiked_features.losses import solve_spiked, spiked_losses
from onestep_lib.spiked_features.model import (
    BulkCovariance,
    GroupTable,
    SpikedModel,
    SpikedTable,
    isotropic_covariance,
    kappa_table,
)
from onestep_lib.spiked_features.replica import replica_energy, replica_gradient, replica_variables
from onestep_lib.spiked_features.scatter import LossScatter, loss_scatter, shared_error
from onestep_lib.spiked_features.second_moments import SpikedSolution
from onestep_lib.spiked_features.shared_rows import shared_features, shared_model
from onestep_lib.spiked_features.span import span_floor

__all__ = [
    "BulkCovariance",
    "FeatureMeans",
    "FixedPoint",
    "GordonSaddle",
    "GroupTable",
    "KappaGrid",
    "LossScatter",
    "SpikedModel",
    "SpikedSolution",
    "SpikedTable",
    "Sweep",
    "TargetMeans",
    "feature_means",
    "free_losses",
    "gordon_losses",
    "gordon_saddle",
    "gordon_value",
    "isotropic_covariance",
    "kappa_grid",
    "kappa_table",
    "loss_scatter",
    "replica_energy",
    "replica_gradient",
    "replica_variables",
    "shared_error",
    "shared_features",
    "shared_model",
    "solve_fixed_point",
    "solve_spiked",
    "span_floor",
    "spiked_losses",
    "sweep_fixed_point",
    "target_means",
]
