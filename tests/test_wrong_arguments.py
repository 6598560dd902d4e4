"""Every public callable, with every argument replaced by wrong values: it works, or it says what is wrong.

`CALLS` holds one valid call of each public function, method and checked class. Each argument in turn becomes
each of `WRONG`; the call must then return finite numbers, without a warning, or raise a ValueError, TypeError
or ConvergenceError whose message is short and names the argument.
"""

import dataclasses
import importlib
import inspect
import pkgutil
import re
import warnings
from functools import cache

import matplotlib as mpl
import numpy as np
import pytest
from onestep_lib.beyond.two_steps import TwoStepSpectrum
from onestep_lib.small_step.spiked_noise import OneSpike
from onestep_lib.spiked_features.acceleration import anderson
from onestep_lib.spiked_features.second_moments import SpikedSolution

import onestep_lib
from onestep_lib import (
    Activation,
    ConvergenceError,
    Losses,
    Setting,
    Target,
    one_step,
    random_features,
    simulate,
    simulate_spectrum,
)
from onestep_lib import figures as ex
from onestep_lib.activations import activation, centred, target
from onestep_lib.beyond import (
    baselines,
    bilinear_form,
    compare_costs,
    gordon_losses,
    gordon_saddle,
    gordon_value,
    loss_scatter,
    predicted_losses,
    replica_energy,
    replica_gradient,
    replica_variables,
    scaled_output_shift,
    second_gradient,
    shared_error,
    shared_features,
    simulate_model,
    train_to_convergence,
    validation_losses,
)
from onestep_lib.beyond.costs import Cost, ridge_flops, step_flops, training_flops
from onestep_lib.beyond.cross_validation import Validation
from onestep_lib.beyond.finite_size import PredictedLosses
from onestep_lib.beyond.gordon import GordonSaddle
from onestep_lib.beyond.kernels import kernel_matrix
from onestep_lib.beyond.scatter import LossScatter
from onestep_lib.beyond.second_step import SecondGradient
from onestep_lib.beyond.shared_rows import shared_model
from onestep_lib.beyond.training import TrainedNetwork, trained_losses, training_loss
from onestep_lib.conventions import (
    Convention,
    PaperLosses,
    PaperProblem,
    losses_from,
    losses_in,
    problem_in,
    setting_from,
)
from onestep_lib.experiment import (
    conditional_gaussian_features,
    feature_matrix,
    first_layer_gradient,
    gaussian_equivalent_features,
    gradient_direction,
    gradient_step,
    infinite_spike_features,
    initial_network,
    learned_profile,
    least_squares_inflation,
    leave_one_out,
    measured_outliers,
    measured_spike,
    measured_spike_constant,
    measured_weight_spectrum,
    network_features,
    operator_norm,
    plane_profile,
    rank_one_error,
    rank_one_features,
    ridge_path,
    sample_batch,
    sample_direction,
    sample_inputs,
    spike_features,
    step_portrait,
    take_steps,
    target_directions,
)
from onestep_lib.experiment.feature_maps import one_step_map, require_covered
from onestep_lib.experiment.measured import distribution_distance, spike_error
from onestep_lib.experiment.network import Network
from onestep_lib.experiment.portraits import Portrait
from onestep_lib.experiment.profiles import Profile
from onestep_lib.experiment.ridge import RidgePath, smoother, streamed_ridge_path
from onestep_lib.experiment.simulation import Draws
from onestep_lib.experiment.steps import SteppedNetwork, gradient_steps, residual, scheduled_steps
from onestep_lib.experiment.sweeps import sweep_chunk, sweep_row, sweep_setting
from onestep_lib.figures import plotting as pl
from onestep_lib.hermite import (
    conditional_mean,
    correlated_mean,
    hermite,
    hermite_coefficients,
    hermite_powers,
    hermite_series,
    hermite_to_monomial,
    monomial_to_hermite,
    overlap_moment,
)
from onestep_lib.initialisation import GivenRows, Vocabulary
from onestep_lib.large_step import (
    best_step,
    giant_step,
    grouped_rows,
    readout_nodes,
    spike_map,
    spike_strength,
    stepped_features,
    stepped_vocabulary,
    two_step_spectrum,
)
from onestep_lib.large_step.batch_signed import SignedSpectrum, signed_covariance, signed_spectrum
from onestep_lib.large_step.batch_squared import SquaredResolvents, squared_covariance, squared_resolvents
from onestep_lib.large_step.best_choice import Best, best_stepped_ridge
from onestep_lib.large_step.labels import LabelLaw, label_law
from onestep_lib.large_step.one_curve import nearest_setting, step_regimes
from onestep_lib.large_step.row_lengths import RowLengths, expected_lengths
from onestep_lib.large_step.stepped_model import SpikeMap, is_odd, require_stepped
from onestep_lib.no_step import (
    best_ridge,
    error_parts,
    explained_share,
    feature_law,
    fixed_feature_floor,
    marchenko_pastur_density,
    marchenko_pastur_edges,
    marchenko_pastur_means,
    representable_share,
    resolvent_traces,
    ridge_losses,
    spectral_density,
)
from onestep_lib.no_step.decomposition import ErrorParts
from onestep_lib.no_step.density import stieltjes
from onestep_lib.no_step.edges import Averages, LawShape, bulk_edges, outer_traces, top_distance
from onestep_lib.no_step.gaussian_equivalence import Traces
from onestep_lib.no_step.laws import FeatureLaw, Law, WeightLaw, weight_law
from onestep_lib.no_step.marchenko_pastur import MarchenkoPasturMeans
from onestep_lib.quadrature import gauss_legendre, gaussian_mean, gaussian_quadrature
from onestep_lib.repeats import mean_and_error
from onestep_lib.schedules import Schedule
from onestep_lib.small_step import (
    direction_floor,
    exact_spike,
    feature_outliers,
    finite_staircase,
    first_stairs,
    gradient_of,
    gradient_spike,
    label_direction_error,
    label_moments,
    noise_resolvents,
    one_spike,
    power_basis,
    second_direction,
    seen_directions,
    spike_level,
    spike_norms,
    staircase,
    staircase_gain,
    weight_spectrum,
    whole_spike_matrix,
)
from onestep_lib.small_step.gradient import Gradient, LabelMoments, SecondDirection, Spike
from onestep_lib.small_step.outliers import Outliers
from onestep_lib.small_step.spikes import sample_side, spike_constant, spike_matrix
from onestep_lib.small_step.stairs import Gain, finite_gain
from onestep_lib.small_step.weights import WeightSpectrum
from onestep_lib.spiked_features import (
    SpikedModel,
    feature_means,
    free_losses,
    kappa_grid,
    kappa_table,
    solve_fixed_point,
    solve_spiked,
    span_floor,
    spiked_losses,
    target_means,
)
from onestep_lib.spiked_features.conditional_means import FeatureMeans, TargetMeans
from onestep_lib.spiked_features.fixed_point import FixedPoint, Sweep, sweep_fixed_point
from onestep_lib.spiked_features.kappa import KappaGrid
from onestep_lib.spiked_features.model import BulkCovariance, GroupTable, SpikedTable, isotropic_covariance
from onestep_lib.two_index import TwoIndexTarget

mpl.use("Agg")

S = Setting(n=12, d=4, N=6, activation="softplus", step=1.0, noise=0.2)
AT_0, SIGNS, TANH = S.replace(step=0.0), S.replace(readout="signs"), Activation("tanh", np.tanh)
RNG = np.random.default_rng(0)
NETWORK, BETA = initial_network(S, RNG), sample_direction(S.d, RNG)
X, Y = sample_batch(S, S.n, BETA, RNG)
(STEPPED,) = take_steps(NETWORK, X, Y, 1.0)
F = feature_matrix(NETWORK.weights, X, NETWORK.activation)
AT_1 = S.replace(step=1.0, ridge=0.1)
PLANE = S.replace(target=TwoIndexTarget(lambda s, t: s + t**2 - 1))
UNIT_ROWS = NETWORK.weights / np.linalg.norm(NETWORK.weights, axis=1, keepdims=True)
SPIKED = SpikedModel(S.activation, np.ones(1), np.ones(1), S.target)
ONE_SPIKE = SpikedModel(S.activation, np.ones(1), np.ones(1), S.target, row_variance=0)
SADDLE = gordon_saddle(ONE_SPIKE, 0.5, 0.7, 0.1)
TABLE = SPIKED.table.features
SPIKE, GRID = Spike(1.2, 0.5), kappa_grid()
LOSSES = Losses(0.1, 0.3, 0.2)
PREDICTED = PredictedLosses(LOSSES, np.full((4, 3), 0.01))
CASE = {"n": 12, "d": 4, "N": 6, "exponents": (0.5,), "seed": 1, "activation": "tanh"}
PATH = S.replace(step=[1.0, 2.0], ridge=0.1)
PORTRAIT = step_portrait(PATH, RNG, [-5, 0, 5], 2, 200)
SLIDER = ex.Slider("a", [1.0, 2.0])
LINE = ex.Line([0.0, 1.0], [1.0, 2.0])
PANEL = ex.Panel([LINE], "x", "y", "A line.")
READOUT = ex.Readout("value", [1.0, 2.0], "a")
RATIOS = {"phi": 0.5, "psi": 0.4, "ridge": 0.1}
POWERS = {"c1_sq": 0.3, "nonlinear_sq": 0.2}
PARTS = error_parts(**RATIOS, **POWERS, linear_power=1.0, other_power=0.5)


@cache
def _axes():
    return pl.figure()[1]


def _picture(a=1.0):
    return pl.Picture(bytes(16) + 2 * b"\0\0\0\1", "text", 1)


def _bowl(setting):
    """A theory with a best step of 1 and a best ridge of 0.1."""
    steps, ridges = np.log(setting.steps + 1e-9), np.log(setting.ridges / 0.1)
    loss = np.add.outer(steps**2, ridges**2)
    return Losses(loss, loss, loss)


# What functions return: they hold what they are given. Users read them and build none.
RECORDS = {
    Averages, SquaredResolvents, MarchenkoPasturMeans, Convention, FeatureMeans, Gain, KappaGrid, LabelLaw,
    LabelMoments, Losses, Outliers, PaperLosses, Portrait, Profile, Traces, RidgePath, SignedSpectrum,
    GordonSaddle,
    SpikeMap,
    FixedPoint, SpikedSolution, SpikedTable, Sweep, TargetMeans, WeightSpectrum, FeatureLaw, Law, WeightLaw,
    Cost, TrainedNetwork, TwoStepSpectrum,
    pl.Picture, ConvergenceError, PaperProblem, BulkCovariance, GroupTable, Gradient, SecondDirection,
    SecondGradient,
    ErrorParts, OneSpike,
    Best, Validation, LossScatter, PredictedLosses,
}  # fmt: skip

# Steps inside a solver, called thousands of times with what a checked caller hands them.
INNER = {
    onestep_lib.cache_folder, onestep_lib.clear_cache,  # take no argument, and would empty the reader's cache
    ex.tabulate,  # takes its sliders one by one: test_explorers.py
    LawShape.left, LawShape.right, LawShape.beside_atom, LawShape.slope, LawShape.z, KappaGrid.split,
    KappaGrid.errors, sweep_fixed_point, Law.density, ex.Panel.marks, ex.Explorer.paths,
    ex.Explorer.alts, ex.Explorer.readout_texts, ex.Readout.texts, one_step_map,
    *(getattr(kind, name) for kind in (ex.Line, ex.Dots, ex.Bars, ex.VLine, ex.HLine)
      for name in ("columns", "marks", "swatch", "colour_class")),
}  # fmt: skip

CALLS = {
    Activation: {"name": "tanh", "function": np.tanh, "kinks": (), "derivative": None},
    Activation.require_slope: {"self": S.activation},
    Activation.require_linear_part: {"self": S.activation},
    Activation.coefficients: {"self": TANH, "order": 3},
    Activation.coefficient: {"self": TANH, "k": 3},
    Target: {"name": "sin", "function": np.sin, "kinks": (), "polynomial": None},
    Target.require_centred: {"self": S.target},
    activation: {"value": "tanh"},
    centred: {"sigma": "relu"},
    target: {"value": (0.0, 1.0)},
    squared_resolvents: {"target": S.target, "noise": 0.2, "alpha": 2.0, "x": [1.0, 2.0]},
    squared_covariance: {"target": S.target, "noise": 0.2, "alpha": 2.0, "strengths": [0.5]},
    LawShape: {"beta": 0.5, "c": 2.0, "k": 1.5},
    bulk_edges: {"shape": LawShape(0.5, 2.0, 1.5)},
    top_distance: {"shape": LawShape(0.5, 2.0, 1.5)},
    conditional_gaussian_features: {"network": STEPPED, "X": X, "rng": RNG},
    TwoIndexTarget: {"function": np.multiply, "name": "product", "kinks": ()},
    feature_means: {"sigma": S.activation, "spikes": [0.5], "kappa": [0.1, 0.2], "scales": 1.0},
    kappa_grid: {"kinks": (0.1,), "width": 0.0, "spike": 1.0},
    target_means: {"target": S.target, "kappa": [0.1, 0.2], "alignment": 0.4, "noise": 0.2},
    losses_from: {"convention": "moniri", "losses": PaperLosses(0.2, 0.3), "setting": S, "power": 1.0},
    losses_in: {"convention": "moniri", "losses": LOSSES, "setting": S},
    problem_in: {"convention": "moniri", "setting": S},
    setting_from: {"problem": problem_in("moniri", S), "d": 4},
    baselines: {"setting": S, "rng": RNG, "repeats": 2, "names": ("linear", "oracle"), "test_size": 50},
    kernel_matrix: {"setting": S, "X": X, "others": X[:2]},
    training_loss: {"network": NETWORK, "start": NETWORK.weights, "X": X, "y": Y, "ridge": 0.1, "decay": 0.1},
    train_to_convergence: {
        "network": NETWORK, "X": X, "y": Y, "ridge": 0.1, "decay": 0.1, "tolerance": 1e-2, "most": 500,
    },
    trained_losses: {
        "setting": S, "rng": RNG, "repeats": 2, "decays": (1.0,), "both": True, "test_size": 50,
        "tolerance": 1e-2,
    },
    step_flops: {"setting": S},
    ridge_flops: {"setting": S},
    training_flops: {"setting": S, "evaluations": 10, "samples": 12},
    compare_costs: {"setting": AT_1, "rng": RNG, "repeats": 2, "decay": 1.0, "test_size": 50},
    Draws.initial: {"self": Draws(S, np.random.default_rng(1))},
    Draws.data: {"self": Draws(S, np.random.default_rng(1)), "both": True},
    Draws.test_loss: {"self": Draws(S, np.random.default_rng(1)), "network": NETWORK, "size": 30},
    sample_batch: {"setting": S, "count": 3, "direction": BETA, "rng": RNG},
    sample_direction: {"d": 4, "rng": RNG},
    sample_inputs: {"setting": S, "count": 3, "rng": RNG},
    anderson: {"sweep": lambda x: x / 2, "start": np.ones(2), "weights": np.ones(2), "tolerance": 1e-8},
    direction_floor: {"setting": S},
    explained_share: {"weights": UNIT_ROWS, "direction": BETA, "sigma": S.activation, "degree": 2},
    fixed_feature_floor: {"setting": S},
    representable_share: {"degree": 2, "count": 5, "d": 4},
    random_features: {"setting": AT_0},
    resolvent_traces: RATIOS | POWERS,
    ridge_losses: RATIOS | POWERS | {"linear_power": 1.0, "other_power": 0.5},
    error_parts: RATIOS | POWERS | {"linear_power": 1.0, "other_power": 0.5},
    ErrorParts.averaged: {"self": PARTS, "networks": 2.0, "datasets": np.inf},
    best_ridge: {"phi": 0.5, "psi": 0.4, "linear_power": 1.0, "other_power": 0.5} | POWERS,
    best_step: {"setting": AT_0, "theory": _bowl},
    best_stepped_ridge: {"setting": AT_0, "theory": _bowl},
    validation_losses: {"setting": S, "count": 2, "finite_d": True, "leverage": False},
    giant_step: {"setting": SIGNS, "bulk": "isotropic", "finite_d": True, "leverage": False},
    grouped_rows: {"setting": S, "step": 1.0, "z": [1.0], "fractions": [1.0], "bulk": "isotropic"},
    is_odd: {"sigma": S.activation},
    require_stepped: {"setting": S},
    predicted_losses: {"setting": SIGNS, "test_size": 20},
    scaled_output_shift: {"setting": SIGNS},
    PredictedLosses.deviation: {"self": PREDICTED, "name": "test"},
    PredictedLosses.interval: {"self": PREDICTED, "name": "test", "level": 0.9},
    spike_map: {"setting": SIGNS, "step": 1.0},
    spike_strength: {"setting": S, "step": 1.0},
    stepped_features: {"setting": SIGNS, "step": 1.0, "bulk": "isotropic"},
    conditional_mean: {"coefficients": [0.0, 1.0], "rho": 0.5, "x": [1.0, 2.0]},
    correlated_mean: {"f_coefficients": [0.0, 1.0], "g_coefficients": [0.0, 1.0], "rho": 0.5},
    gaussian_mean: {"function": np.tanh, "kinks": ()},
    gaussian_quadrature: {"kinks": (), "shift": 0.0},
    hermite: {"order": 3, "x": [1.0, 2.0]},
    hermite_coefficients: {"function": np.tanh, "order": 3, "kinks": ()},
    hermite_powers: {"coefficients": [0.0, 1.0]},
    hermite_series: {"coefficients": [0.0, 1.0], "x": [1.0, 2.0]},
    hermite_to_monomial: {"order": 3},
    monomial_to_hermite: {"order": 3},
    overlap_moment: {"k": 2, "d": 4},
    marchenko_pastur_means: {"v": 1.0, "c": 2.0},
    Network: {"weights": NETWORK.weights, "readout": NETWORK.readout, "activation": S.activation},
    feature_matrix: {"weights": NETWORK.weights, "X": X, "sigma": S.activation},
    first_layer_gradient: {"network": NETWORK, "X": X, "y": Y, "output": "centred"},
    gradient_step: {"network": NETWORK, "X": X, "y": Y, "step": 1.0, "output": "centred"},
    gradient_steps: {"network": NETWORK, "X": X, "y": Y, "step": 1.0, "updates": 2, "output": "centred"},
    initial_network: {"setting": S, "rng": RNG},
    require_covered: {"feature_map": network_features, "setting": S},
    residual: {"network": NETWORK, "X": X, "y": Y, "output": "centred"},
    one_step: {"setting": SIGNS, "count": 1, "finite_d": True, "leverage": False},
    nearest_setting: {"setting": S},
    readout_nodes: {"count": 3},
    step_regimes: {"setting": S},
    stepped_vocabulary: {"setting": SIGNS, "step": 1.0, "count": 2},
    measured_outliers: {"F": F, "kappa": X[:, 0], "count": 2, "level": 2},
    feature_outliers: {
        "setting": S,
        "level": 1,
        "spike": SPIKE,
        "readout": NETWORK.readout,
        "whole": True,
    },
    plane_profile: {
        "setting": PLANE, "rng": RNG, "edges": [-5, 0, 5], "repeats": 2, "test_size": 200,
    },
    seen_directions: {"setting": PLANE},
    Setting.single_index: {"self": S},
    target_directions: {"setting": S, "rng": RNG},
    TwoIndexTarget.along_slopes: {"self": PLANE.target, "z": np.ones((3, 2))},
    TwoIndexTarget.coefficient: {"self": PLANE.target, "k": 2},
    TwoIndexTarget.coefficients: {"self": PLANE.target, "order": 2},
    TwoIndexTarget.label_samples: {"self": PLANE.target},
    TwoIndexTarget.require_centred: {"self": PLANE.target},
    ex.signature_explorer: {"portrait": PORTRAIT, "title": "T", "caption": "", "initial": 0.0},
    step_portrait: {"setting": PATH, "rng": RNG, "edges": [-5, 0, 5], "repeats": 2, "test_size": 200},
    learned_profile: {"setting": S, "rng": RNG, "edges": [-5, 0, 5], "repeats": 2, "test_size": 200},
    ridge_path: {"F": F, "y": Y, "ridges": 0.1},
    streamed_ridge_path: {"blocks": lambda: [(F, Y)], "ridges": 0.1},
    smoother: {"F": F, "ridge": 0.1},
    leave_one_out: {"F": F, "y": Y, "ridge": 0.1},
    least_squares_inflation: {"n": 9, "width": 3},
    mean_and_error: {"draws": np.ones((2, 3))},
    RowLengths: {"mean": np.ones(3), "covariance": np.eye(3)},
    RowLengths.nu: {"self": RowLengths(np.ones(3), np.eye(3)), "shift": 0.5},
    expected_lengths: {"setting": S},
    Losses.from_steps: {"each": [LOSSES], "setting": S},
    Losses.from_draws: {"draws": np.ones((2, 3))},
    Setting: {"n": 12, "d": 4, "N": 6},
    Setting.require_theory: {"self": S, "stepped": False, "covers": ()},
    Setting.require_independent_rows: {"self": S},
    Setting.replace: {"self": S},
    Vocabulary: {"values": (1.0, -2.0), "shares": (0.5, 0.5)},
    Vocabulary.moment: {"self": Vocabulary((1.0, -2.0)), "k": 2},
    Vocabulary.draw: {"self": Vocabulary((1.0, -2.0)), "count": 3, "rng": RNG},
    GivenRows: {"weights": np.ones((2, 3))},
    label_law: {"target": S.target, "noise": 0.2},
    signed_spectrum: {"target": S.target, "noise": 0.2, "alpha": 2.0},
    signed_covariance: {"target": S.target, "noise": 0.2, "alpha": 2.0, "tilts": [0.1], "strengths": [0.1]},
    simulate: {"setting": S, "rng": RNG, "repeats": 2, "test_size": 50},
    simulate_spectrum: {"setting": S, "rng": RNG, "feature_map": "network"},
    Draws: {"setting": S, "rng": RNG},
    Draws.gradient_batch: {"self": Draws(S, np.random.default_rng(1)), "count": 3},
    Draws.test_batches: {"self": Draws(S, np.random.default_rng(1)), "size": 3},
    Schedule: {"factors": [1.0, 0.5], "batches": "fresh", "samples": 5},
    Schedule.equal: {"count": 2, "batches": "same", "samples": None},
    Schedule.sizes: {"self": Schedule([1.0, 0.5]), "default": 5},
    scheduled_steps: {"network": NETWORK, "batches": ((X, Y),), "steps": [1.0], "output": "centred"},
    Draws.networks: {"self": Draws(S, np.random.default_rng(1))},
    FeatureLaw.density: {"self": feature_law(S), "x": [0.5, 1.0]},
    WeightLaw.density: {"self": weight_law(S), "x": [0.5, 1.0]},
    Law.distribution: {"self": weight_law(S), "x": [0.5, 1.0], "points": 50},
    distribution_distance: {"eigenvalues": [0.5, 1.0], "law": weight_law(S)},
    feature_law: {"setting": S},
    marchenko_pastur_density: {"x": [0.5, 1.0], "ratio": 0.5},
    marchenko_pastur_edges: {"ratio": 0.5},
    operator_norm: {"matrix": F},
    outer_traces: {"distance": [0.5, 1.0], "setting": S},
    weight_law: {"setting": S},
    spectral_density: {"x": [0.5, 1.0], "phi": 0.5, "psi": 0.4} | POWERS,
    stieltjes: {"z": [0.5 + 1j], "phi": 0.5, "psi": 0.4} | POWERS,
    SpikedModel: {"activation": S.activation, "spikes": [1.0], "fractions": [1.0], "target": S.target},
    solve_spiked: {"model": SPIKED, "d": 4, "tolerance": 1e-6} | RATIOS,
    gordon_losses: {"model": ONE_SPIKE, "phi": 0.5, "psi": 0.7, "ridge": 0.1},
    gordon_saddle: {"model": ONE_SPIKE, "phi": 0.5, "psi": 0.7, "ridge": 0.1},
    gordon_value: {"model": ONE_SPIKE, "phi": 0.5, "psi": 0.7, "ridge": 0.1, "at": SADDLE},
    span_floor: {"model": SPIKED},
    free_losses: {"model": SPIKED, "alignment": 0.5, "strength": 1.0, "d": 4, "leverage": False} | RATIOS,
    simulate_model: {
        "model": SPIKED, "n": 6, "d": 4, "N": 5, "ridge": 0.1, "rng": RNG, "repeats": 2, "test_size": 8,
    },
    spiked_losses: {"model": SPIKED, "d": 4, "tolerance": 1e-6} | RATIOS,
    loss_scatter: {"model": SPIKED, "n": 12, "d": 4, "N": 6, "ridge": 0.1},
    shared_error: {"model": SPIKED, "n": 12, "d": 4, "N": 6, "ridge": 0.1, "shared": 0.5},
    kappa_table: {"model": SPIKED, "grid": GRID},
    replica_energy: {"table": SPIKED.table, "variables": np.ones(15)} | RATIOS,
    replica_gradient: {"table": SPIKED.table, "variables": np.ones(15)} | RATIOS,
    replica_variables: {"solution": solve_spiked(SPIKED, **RATIOS), "phi": 0.5, "psi": 0.4},
    shared_features: {"setting": AT_0},
    shared_model: {"setting": AT_0},
    isotropic_covariance: {"groups": 2},
    solve_fixed_point: {"features": TABLE, "alpha": 2.0, "beta": 2.0, "penalty": 0.1},
    infinite_spike_features: {"level": 1, "widened": False},
    bilinear_form: {"setting": S, "first": ("target", 2), "second": ("readout", 1), "spike": SPIKE},
    power_basis: {"level": 2, "widening": 0.1},
    sample_side: {"resolvent": resolvent_traces(**RATIOS, **POWERS), "k": 1.0, "level": 2},
    spike_error: {"network": STEPPED, "X": X, "level": 1, "widened": False},
    rank_one_features: {"network": STEPPED, "X": X, "rng": RNG},
    spike_features: {"level": 1, "widened": False, "base": gaussian_equivalent_features},
    spike_level: {"exponent": 0.3},
    spike_matrix: {"setting": S, "level": 1, "spike": SPIKE, "readout": NETWORK.readout},
    spike_norms: {"setting": S, "level": 2},
    finite_gain: {"setting": S, "level": 1, "spike": SPIKE, "readout": NETWORK.readout},
    finite_staircase: {"setting": S, "level": 1, "spike": SPIKE, "readout": NETWORK.readout},
    first_stairs: {"setting": S, "spike": SPIKE},
    staircase: {"setting": S, "level": 1, "spike": SPIKE},
    staircase_gain: {"setting": S, "level": 1, "spike": SPIKE},
    Spike: {"power": 1.0, "alignment": 0.5, "widening": 0.0},
    SteppedNetwork: {
        "weights": NETWORK.weights, "readout": NETWORK.readout, "activation": S.activation,
        "initial": NETWORK, "direction": BETA, "step": 1.0,
    },
    exact_spike: {"setting": S},
    gradient_direction: {"network": NETWORK, "X": X, "y": Y, "output": "centred"},
    gradient_spike: {"setting": S},
    label_direction_error: {"setting": S},
    label_moments: {"target": S.target, "noise": 0.2},
    LabelMoments.alignment: {"self": label_moments(S.target, 0.2), "phi": 0.5},
    LabelMoments.direction_power: {"self": label_moments(S.target, 0.2), "phi": 0.5},
    gradient_of: {"setting": S},
    second_direction: {"setting": S},
    SecondGradient.chance: {"self": SecondGradient(0.1, 0.1, 1.0), "samples": 10},
    second_gradient: {"setting": S.replace(output="scaled"), "order": 1, "batch": "same"},
    two_step_spectrum: {
        "setting": S.replace(output="scaled", activation="tanh"), "second": 1.0, "batch": "same",
        "readout": NETWORK.readout,
    },
    spike_constant: {"setting": S},
    measured_spike_constant: {"network": STEPPED, "X": X, "widened": False},
    gauss_legendre: {"count": 5},
    measured_spike: {"direction": BETA, "target_direction": BETA},
    measured_weight_spectrum: {"network": STEPPED, "target_direction": BETA},
    rank_one_error: {"gradient": NETWORK.weights, "network": NETWORK, "direction": BETA},
    take_steps: {"network": NETWORK, "X": X, "y": Y, "steps": 1.0, "output": "centred"},
    weight_spectrum: {"setting": S},
    whole_spike_matrix: {"setting": S, "level": 2, "spike": SPIKE, "readout": NETWORK.readout},
    one_spike: {"strength": 2.0, "ratio": 0.5},
    noise_resolvents: {"s": 3.0, "ratio": 0.5},
    gaussian_equivalent_features: {"network": NETWORK, "X": X, "rng": RNG},
    network_features: {"network": NETWORK, "X": X, "rng": RNG},
    sweep_chunk: {"case": CASE, "chunk": 0},
    sweep_row: {"case": CASE, "draws": np.ones((2, 3, 2))},
    sweep_setting: {"case": CASE},
    ex.Slider: {"name": "a", "values": [1.0, 2.0], "label": "", "initial": None, "format": "{:.3g}"},
    ex.Line: {"x": [0.0, 1.0], "y": [1.0, 2.0], "dash": "", "label": "", "sliders": (), "colour": ""},
    ex.Dots: {"x": [0.0, 1.0], "y": [1.0, 2.0], "se": None, "marker": "", "label": "", "colour": ""},
    ex.Bars: {"edges": [0.0, 1.0, 2.0], "heights": [1.0, 2.0], "label": "", "colour": ""},
    ex.VLine: {"x": 1.0, "dash": "dotted", "label": "", "colour": "ink"},
    ex.HLine: {"y": 1.0, "dash": "dotted", "label": "", "colour": "ink"},
    ex.Panel: {"series": [LINE], "x_label": "x", "y_label": "y", "alt": "A line."},
    ex.Readout: {"label": "value", "values": [1.0, 2.0], "sliders": "a", "format": "{:.3g}"},
    ex.Explorer: {"title": "T", "sliders": [SLIDER], "panels": [PANEL], "readouts": [READOUT], "caption": ""},
    ex.live: {"run": _picture, "sliders": [SLIDER], "alt": "A number.", "static": None},
    ex.network_drawing: {"stepped": False, "size": (2.0, 1.0)},
    ex.pipeline_drawing: {"highlight": "", "size": (2.0, 1.0)},
    ex.shared_direction_drawing: {
        "kappa": [0.0, 1.0], "neurons": [[0.0, 1.0], [1.0, 0.0]], "curve": [1.0, 1.0], "size": (2.0, 1.0),
    },
    pl.figure: {"rows": 1, "columns": 1, "size": (1.0, 1.0)},
    pl.gap_table: {"rows": [("a", 1.0, 1.1, 0.1)], "title": ""},
    pl.gap_summary: {"rows": [("a", 1.0, 1.1, 0.1)], "title": ""},
    pl.histogram_and_density: {
        "ax": _axes, "samples": [0.0, 1.0], "x": [0.0, 1.0], "density": [1.0, 1.0], "bins": 3, "label": "",
        "colour": "blue",
    },
    pl.legend: {"ax": _axes},
    pl.log_axis: {"ax": _axes, "ticks": [0.5, 1.0], "label": "x"},
    pl.picture: {"drawn": lambda: pl.figure()[0], "alt": "Nothing."},
    pl.theory_and_simulation: {
        "ax": _axes, "x": [0.0, 1.0], "theory": [0.0, 1.0], "mean": [0.0, 1.0], "se": [0.1, 0.1],
        "label": "a", "x_theory": None,
    },
    pl.use_style: {},
}  # fmt: skip

# These read an argument of `Setting`, and name that.
ALIASES = {(activation, "value"): "activation", (centred, "sigma"): "activation", (target, "value"): "target"}

# With a wrong shape it may be either of the two arguments that do not fit.
SHAPES = {"empty", "no rows", "three axes", "seven"}

WRONG = {
    "None": None,
    "object": object(),
    "text": "x",
    "10**400": 10**400,
    "nan": np.nan,
    "inf": np.inf,
    "-1": -1,
    "0": 0,
    "empty": [],
    "no rows": np.zeros((0, 3)),
    "three axes": np.ones((2, 3, 4)),
    "seven": np.ones(7),
    "masked": np.ma.array([1.0, 2.0], mask=[True, False]),
    "True": True,
    "complex": 1j,
    "complex array": np.array([1 + 1j, 2.0]),
    "another class": SPIKE,
    "strings in an object array": np.array(["1", "2"], dtype=object),
    "dict": {"a": 1},
    "long": [0.5] * 100_000 + ["x"],
    "fraction": 1.5,
    "-0.5": -0.5,
    "bytes": b"x",
    "set": {1.0},
    "generator": (k for k in ()),
    "flags": np.array([True, False]),
    "nan in a list": [1.0, np.nan],
    "inf in an array": np.array([1.0, np.inf]),
    "ragged": [[1.0], [1.0, 2.0]],
    "None in a list": [None, 1.0],
    "a list of masks": [np.ma.array([1.0], mask=[True])],
    "time": np.datetime64("2020-01-01"),
}


def _public():
    """Every callable that a folder or a module beside the folders hands out, and its public methods."""
    found = set()
    for info in pkgutil.iter_modules(onestep_lib.__path__, "onestep_lib."):
        if info.name.split(".")[1].startswith("_"):
            continue
        module = importlib.import_module(info.name)
        for value in (getattr(module, name) for name in getattr(module, "__all__", ())):
            if not callable(value) or not getattr(value, "__module__", "").startswith("onestep_lib"):
                continue
            found.add(value)
            if inspect.isclass(value):
                found |= _methods(value)
    return found


def _methods(kind):
    names = [name for base in kind.__mro__[:-1] for name in vars(base) if not name.startswith("_")]
    members = [getattr(kind, name) for name in names]
    return {member for member in members if inspect.isfunction(member) or inspect.ismethod(member)}


def _named(call):
    return f"{call.__module__.rpartition('.')[2]}.{call.__qualname__}"


def test_every_public_callable_has_a_call():
    inherited = {Network, BaseException.with_traceback, BaseException.add_note}
    missing = _public() - set(CALLS) - RECORDS - INNER - inherited
    assert ", ".join(sorted(map(_named, missing))) == ""


def _finite(value):
    """Whether all numbers in a result are; `threshold` and the like may say that there is none."""
    if isinstance(value, _DRAWN):
        return True
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value) if field.name not in _OPEN]
        return all(_finite(getattr(value, name)) for name in names)
    if isinstance(value, tuple | list):
        return all(map(_finite, value))
    if isinstance(value, np.ndarray | float | complex | np.generic) and np.asarray(value).dtype.kind in "fc":
        return bool(np.isfinite(value).all())
    return True


# Documented: without an outlier there is no threshold, and what is not a number is not drawn.
_OPEN = {"threshold"}
_DRAWN = ex.Line, ex.Dots, ex.Bars, ex.VLine, ex.HLine, ex.Readout


def _run(call, arguments):
    """The result; of a generator, what it yields."""
    result = call(**arguments)
    return list(result) if inspect.isgenerator(result) else result


def _outcome(call, arguments, *names):
    """None if the call works or says what is wrong with one of the names, else what it did."""
    try:
        with warnings.catch_warnings(action="error"):
            result = _run(call, arguments)
    except (ValueError, TypeError, ConvergenceError) as error:
        message = str(error)
        named = type(error) is ConvergenceError or any(
            re.search(rf"\b{name}\b.* must ", message) for name in names
        )
        if type(error) in (ValueError, TypeError, ConvergenceError) and named and len(message) < 400:
            return None
        return f"{type(error).__name__}: {message[:150]}"
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:150]}"
    return None if _finite(result) else f"returned {str(result)[:80]}"


def _valid(call):
    made = {"drawn", "ax"}
    return {key: value() if key in made else value for key, value in CALLS[call].items()}


@pytest.mark.parametrize("call", CALLS, ids=_named)
def test_a_wrong_argument_is_named(call):
    valid = _valid(call)
    assert _outcome(call, valid) is None
    kinds = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD
    parameters = [p.name for p in inspect.signature(call).parameters.values() if p.kind not in kinds]
    wrong = [
        f"{name}={label}: {outcome}"
        for name in parameters
        if name != "self"
        for label, value in WRONG.items()
        if (outcome := _outcome(call, {**valid, name: value}, *_names(call, name, label, parameters)))
    ]
    assert wrong == []


def _names(call, name, label, parameters):
    known = ALIASES.get((call, name), name)
    return [known, *parameters] if label in SHAPES else [known]


# These may be texts.
TEXTS = {(ex.Slider, "values"), (ex.Readout, "values")}


def _arrays():
    """Every argument of a call that is an array or a list of numbers."""
    for call, arguments in CALLS.items():
        for name, value in arguments.items():
            if (
                (call, name) not in TEXTS
                and isinstance(value, np.ndarray | list)
                and np.asarray(value).dtype.kind in "iufc"
            ):
                yield pytest.param(call, name, id=f"{_named(call)}-{name}")


@pytest.mark.parametrize(("call", "name"), list(_arrays()))
def test_hidden_values_and_words_are_never_computed_with(call, name):
    """A mask that would be dropped, and numbers as strings, of the right shape."""
    value = np.asarray(CALLS[call][name])
    masked = np.ma.array(value, mask=np.arange(value.size).reshape(value.shape) == 0)
    for wrong in (masked, value.astype(str), value.astype(str).astype(object)):
        with pytest.raises(TypeError, match=rf"\b{name}\b.* must "):
            _run(call, {**_valid(call), name: wrong})
