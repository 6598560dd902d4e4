"""Steps up to sqrt(N) and beyond: the stepped network as spiked random features, and one curve for all.

Each module is the formula page of one idea; every public name is imported from here:
``from onestep_lib.large_step import stepped_features``.
"""

from onestep_lib.large_step.batch_signed import SignedSpectrum, signed_covariance, signed_spectrum
from onestep_lib.large_step.batch_squared import SquaredResolvents, squared_covariance, squared_resolvents
from onestep_lib.large_step.best_choice import Best, best_step, best_stepped_ridge
from onestep_lib.large_step.cross_validation import Validation, validation_losses
from onestep_lib.large_step.finite_size import (
    SCATTER_SOURCES,
    PredictedLosses,
    predicted_losses,
    scaled_output_shift,
)
from onestep_lib.large_step.giant import giant_step
from onestep_lib.large_step.labels import LabelLaw, label_law
from onestep_lib.large_step.one_curve import (
    nearest_setting,
    one_step,
    readout_nodes,
    step_regimes,
    stepped_vocabulary,
)
from onestep_lib.large_step.row_lengths import RowLengths, expected_lengths
from onestep_lib.large_step.stepped_model import (
    BULKS,
    SpikeMap,
    grouped_rows,
    is_odd,
    require_stepped,
    spike_map,
    spike_strength,
    stepped_features,
)
from onestep_lib.large_step.two_steps import TwoStepSpectrum, two_step_spectrum

__all__ = [
    "BULKS",
    "SCATTER_SOURCES",
    "Best",
    "LabelLaw",
    "PredictedLosses",
    "RowLengths",
    "SignedSpectrum",
    "SpikeMap",
    "SquaredResolvents",
    "TwoStepSpectrum",
    "Validation",
    "best_step",
    "best_stepped_ridge",
    "expected_lengths",
    "giant_step",
    "grouped_rows",
    "is_odd",
    "label_law",
    "nearest_setting",
    "one_step",
    "predicted_losses",
    "readout_nodes",
    "require_stepped",
    "scaled_output_shift",
    "signed_covariance",
    "signed_spectrum",
    "spike_map",
    "spike_strength",
    "squared_covariance",
    "squared_resolvents",
    "step_regimes",
    "stepped_features",
    "stepped_vocabulary",
    "two_step_spectrum",
    "validation_losses",
]
