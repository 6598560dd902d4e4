"""Before the step: random features, their losses and their spectrum.

Each module is the formula page of one idea; every public name is imported from here:
``from onestep_lib.no_step import ridge_losses``.
"""

from onestep_lib.no_step.best_penalty import best_ridge
from onestep_lib.no_step.decomposition import ErrorParts, error_parts
from onestep_lib.no_step.density import spectral_density, stieltjes
from onestep_lib.no_step.edges import Averages, LawShape, bulk_edges, outer_traces, top_distance
from onestep_lib.no_step.floors import explained_share, fixed_feature_floor, representable_share
from onestep_lib.no_step.gaussian_equivalence import Traces, random_features, resolvent_traces, ridge_losses
from onestep_lib.no_step.laws import FeatureLaw, Law, WeightLaw, feature_law, weight_law
from onestep_lib.no_step.marchenko_pastur import (
    MarchenkoPasturMeans,
    marchenko_pastur_density,
    marchenko_pastur_edges,
    marchenko_pastur_means,
)

__all__ = [
    "Averages",
    "ErrorParts",
    "FeatureLaw",
    "Law",
    "LawShape",
    "MarchenkoPasturMeans",
    "Traces",
    "WeightLaw",
    "best_ridge",
    "bulk_edges",
    "error_parts",
    "explained_share",
    "feature_law",
    "fixed_feature_floor",
    "marchenko_pastur_density",
    "marchenko_pastur_edges",
    "marchenko_pastur_means",
    "outer_traces",
    "random_features",
    "representable_share",
    "resolvent_traces",
    "ridge_losses",
    "spectral_density",
    "stieltjes",
    "top_distance",
    "weight_law",
]
