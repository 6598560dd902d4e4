"""Wrong arguments of public functions: each error names the argument, its value and what is allowed."""

import numpy as np
import pytest

from onestep_lib import Losses, Setting, simulate
from onestep_lib.experiment import (
    feature_matrix,
    first_layer_gradient,
    gradient_direction,
    gradient_step,
    initial_network,
    measured_outliers,
    rank_one_error,
    ridge_path,
    sample_batch,
    sample_direction,
    take_steps,
)
from onestep_lib.experiment.measured import distribution_distance, spike_error
from onestep_lib.experiment.network import Network
from onestep_lib.experiment.steps import SteppedNetwork, residual
from onestep_lib.large_step import grouped_rows, stepped_features, stepped_vocabulary
from onestep_lib.large_step.batch_signed import signed_covariance, signed_spectrum
from onestep_lib.large_step.batch_squared import squared_covariance, squared_resolvents
from onestep_lib.no_step import (
    feature_law,
    marchenko_pastur_density,
    marchenko_pastur_means,
    resolvent_traces,
    spectral_density,
)
from onestep_lib.small_step import label_moments, power_basis, spike_level
from onestep_lib.small_step.gradient import Spike
from onestep_lib.small_step.spikes import sample_side, spike_matrix
from onestep_lib.spiked_features import SpikedModel, solve_spiked, spiked_losses

S = Setting(n=20, d=6, N=8, activation="softplus", step=1.0, noise=0.2)
RNG = np.random.default_rng(0)
NETWORK, BETA = initial_network(S, RNG), sample_direction(S.d, RNG)
X, Y = sample_batch(S, S.n, BETA, RNG)
(STEPPED,) = take_steps(NETWORK, X, Y, 1.0)
GRADIENT = first_layer_gradient(NETWORK, X, Y)
F = feature_matrix(NETWORK.weights, X, NETWORK.activation)
KAPPA, LAW = X[:, 0], feature_law(S)
PARTS = NETWORK.weights, NETWORK.readout, NETWORK.activation
SPIKED = SpikedModel(S.activation, np.ones(1), np.ones(1), S.target)
RESOLVENT = resolvent_traces(0.5, 0.5, 0.1, 0.3, 0.2)

# A call with one wrong argument, and the error.
WRONG = {
    "gradient_step: a path of steps": (
        lambda: gradient_step(NETWORK, X, Y, [1.0, 2.0]),
        ValueError,
        r"step must be one number, got \[1\.0, 2\.0\]",
    ),
    "gradient_step: no step": (
        lambda: gradient_step(NETWORK, X, Y, None),
        TypeError,
        "step must be one real number, got None",
    ),
    "gradient_step: network": (
        lambda: gradient_step(None, X, Y, 1.0),
        TypeError,
        "network must be of the class Network, got None",
    ),
    "first_layer_gradient: network": (
        lambda: first_layer_gradient(None, X, Y),
        TypeError,
        "network must be of the class Network, got None",
    ),
    "residual: network": (
        lambda: residual(S, X, Y),
        TypeError,
        "network must be of the class Network, got Setting",
    ),
    "features: a name": (
        lambda: feature_matrix(NETWORK.weights, X, "tanh"),
        TypeError,
        "sigma must be of the class Activation, got 'tanh'",
    ),
    "Network: a name": (
        lambda: Network(*PARTS[:2], "tanh"),
        TypeError,
        "activation must be of the class Activation, got 'tanh'",
    ),
    "SteppedNetwork: direction": (
        lambda: SteppedNetwork(*PARTS, NETWORK, BETA[:-1], 1.0),
        ValueError,
        r"direction must be a 1-D array of length 6, got shape \(5,\)",
    ),
    "SteppedNetwork: initial": (
        lambda: SteppedNetwork(*PARTS, NETWORK.weights, BETA, 1.0),
        TypeError,
        "initial must be of the class Network",
    ),
    "SteppedNetwork: step": (
        lambda: SteppedNetwork(*PARTS, NETWORK, BETA, -1.0),
        ValueError,
        r"step must be >= 0, got -1\.0",
    ),
    "gradient_direction: X": (
        lambda: gradient_direction(NETWORK, X[0], Y),
        ValueError,
        r"X must be a 2-D array, got shape \(6,\)",
    ),
    "rank_one_error: network": (
        lambda: rank_one_error(GRADIENT, X, BETA),
        TypeError,
        "network must be of the class Network",
    ),
    "label_moments: coefficients": (
        lambda: label_moments((0, 1), 0.1),
        TypeError,
        r"target must be of the class Target or TwoIndexTarget, got \(0, 1\)",
    ),
    "label_moments: noise": (
        lambda: label_moments(S.target, -0.1),
        ValueError,
        r"noise must be >= 0, got -0\.1",
    ),
    "Spike: power": (lambda: Spike([1.0], 0.5), ValueError, r"power must be one number, got \[1\.0\]"),
    "Spike: alignment": (lambda: Spike(1.0, None), TypeError, "alignment must be one real number, got None"),
    "spike_level: None": (
        lambda: spike_level(None),
        TypeError,
        "exponent must be one real number, got None",
    ),
    "spike_level: an array": (lambda: spike_level(np.ones(2)), ValueError, "exponent must be one number"),
    "power_basis: a string": (
        lambda: power_basis("2"),
        TypeError,
        "level must be an integer from 0 to 150, got '2'",
    ),
    "power_basis: widening": (lambda: power_basis(2, -2), ValueError, "widening must be >= -1, got -2"),
    "spike_matrix: spike": (
        lambda: spike_matrix(S, 1, 0.5),
        TypeError,
        "spike must be of the class Spike, got 0.5",
    ),
    "spike_matrix: a step of a step function": (
        lambda: spike_matrix(S.replace(activation="sign"), 1, Spike(1.0, 0.5)),
        ValueError,
        "activation must have a derivative",
    ),
    "sample_side: k": (lambda: sample_side(RESOLVENT, 0.0, 2), ValueError, r"k must be > 0, got 0\.0"),
    "sample_side: level": (lambda: sample_side(RESOLVENT, 1.0, None), TypeError, "level must be an integer"),
    "spike_error: a plain network": (
        lambda: spike_error(NETWORK, X, 1),
        TypeError,
        "network must be of the class SteppedNetwork, got Network",
    ),
    "spike_error: level": (lambda: spike_error(STEPPED, X, 0), ValueError, "level must be an integer from 1"),
    "measured_outliers: kappa": (
        lambda: measured_outliers(F, KAPPA[:-1], 2, 2),
        ValueError,
        r"kappa must be a 1-D array of length 20, got shape \(19,\)",
    ),
    "measured_outliers: F": (
        lambda: measured_outliers(F[0], KAPPA, 2, 2),
        ValueError,
        r"F must be a 2-D array, got shape \(8,\)",
    ),
    "measured_outliers: count": (
        lambda: measured_outliers(F, KAPPA, 9, 2),
        ValueError,
        r"count must be at most min\(n, N\) = 8, got 9",
    ),
    "measured_outliers: level": (
        lambda: measured_outliers(F, KAPPA, 2, [1, 2]),
        TypeError,
        r"level must be an integer >= 0, got \[1, 2\]",
    ),
    "simulate: a list of maps": (
        lambda: simulate(S, RNG, feature_map=["network"]),
        ValueError,
        r"feature_map must be one of 'network', .* got \['network'\]",
    ),
    "sample_batch: a long direction": (
        lambda: sample_batch(S, 3, 2 * BETA, RNG),
        ValueError,
        "direction must be a unit vector, got one of length 2",
    ),
    "ridge_path: no penalty": (
        lambda: ridge_path(F, Y, []),
        ValueError,
        r"ridges must be a number or a non-empty 1-D sequence, got shape \(0,\)",
    ),
    "marchenko_pastur_density: ratio": (
        lambda: marchenko_pastur_density(1.0, [0.5, 1.0]),
        ValueError,
        r"ratio must be one number, got \[0\.5, 1\.0\]",
    ),
    "distribution: points": (
        lambda: LAW.distribution(1.0, None),
        TypeError,
        "points must be an integer >= 1, got None",
    ),
    "distribution_distance: none": (
        lambda: distribution_distance([], LAW),
        ValueError,
        r"eigenvalues must not be empty or all 0, got \[\]",
    ),
    "distribution_distance: law": (
        lambda: distribution_distance([1.0], None),
        TypeError,
        "law must be of the class Law, got None",
    ),
    "bulk_means: shapes": (
        lambda: marchenko_pastur_means([1.0, 2.0], [1.0, 2.0, 3.0]),
        ValueError,
        r"v, c must broadcast to one shape, got v \(2,\), c \(3,\)",
    ),
    "resolvent: shapes": (
        lambda: resolvent_traces([0.5, 1.0], 0.5, [0.1, 0.2, 0.3], 0.3, 0.2),
        ValueError,
        r"must broadcast to one shape, got phi \(2,\), psi \(\), ridge \(3,\)",
    ),
    "spectral_density: phi": (
        lambda: spectral_density(1.0, [0.5, 1.0], 0.5, 0.3, 0.2),
        ValueError,
        r"phi must be one number, got \[0\.5, 1\.0\]",
    ),
    "batch_spectrum: alpha": (
        lambda: squared_resolvents(S.target, 0.2, None, np.ones(2)),
        TypeError,
        "alpha must be one real number, got None",
    ),
    "squared_covariance: strengths": (
        lambda: squared_covariance(S.target, 0.2, 2.0, [0.0]),
        ValueError,
        r"strengths must not be empty or all 0, got \[0\.0\]",
    ),
    "signed_spectrum: alpha": (
        lambda: signed_spectrum(S.target, 0.2, [1.0]),
        ValueError,
        r"alpha must be one number, got \[1\.0\]",
    ),
    "signed_covariance: lengths": (
        lambda: signed_covariance(S.target, 0.2, 2.0, [0.1, 0.2], [0.1]),
        ValueError,
        r"strengths must be a 1-D array of length 2, got shape \(1,\)",
    ),
    "stepped_features: a path": (
        lambda: stepped_features(S.replace(readout="signs"), [1.0, 2.0]),
        ValueError,
        r"step must be one number, got \[1\.0, 2\.0\]",
    ),
    "stepped_features: bulk": (
        lambda: stepped_features(S.replace(readout="signs"), 1.0, "round"),
        ValueError,
        "bulk must be one of 'full', 'isotropic', got 'round'",
    ),
    "grouped_rows: fractions": (
        lambda: grouped_rows(S, 1.0, [1.0, -1.0], [1.0]),
        ValueError,
        r"fractions must be a 1-D array of length 2, got shape \(1,\)",
    ),
    "stepped_vocabulary: step": (
        lambda: stepped_vocabulary(S, None),
        TypeError,
        "step must be one real number, got None",
    ),
    "SpikedModel: alignment": (
        lambda: SpikedModel(S.activation, np.ones(1), np.ones(1), S.target, alignment=None),
        TypeError,
        "alignment must be one real number, got None",
    ),
    "spiked_losses: shapes": (
        lambda: spiked_losses(SPIKED, [0.5, 1.0], 0.5, [0.1, 0.2, 0.3]),
        ValueError,
        r"phi, psi, ridge must broadcast to one shape, got phi \(2,\), psi \(\), ridge \(3,\)",
    ),
    "solve_spiked: phi": (
        lambda: solve_spiked(SPIKED, [0.5, 1.0], 0.5, 0.1),
        ValueError,
        r"phi must be one number, got \[0\.5, 1\.0\]",
    ),
    "solve_spiked: mean_noise without d": (
        lambda: solve_spiked(SPIKED, 0.5, 0.5, 0.1, mean_noise=[[1.0]]),
        ValueError,
        r"mean_noise needs d, and leverage=False",
    ),
    "solve_spiked: mean_noise of another shape": (
        lambda: solve_spiked(SPIKED, 0.5, 0.5, 0.1, d=100, mean_noise=[[1.0, 0.5, 0.1]] * 2),
        ValueError,
        r"mean_noise must",
    ),
    "Losses: draws": (lambda: Losses.from_draws(None), TypeError, "draws must be a real number or an array"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_arguments_are_named(case):
    call, error, message = WRONG[case]
    with pytest.raises(error, match=message):
        call()
