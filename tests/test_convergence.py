"""What a theory cannot solve is refused before any warning, with the reason and what to change."""

import pickle

import numpy as np
import pytest

from onestep_lib import ConvergenceError, Setting
from onestep_lib.activations import activation
from onestep_lib.large_step import giant_step, one_step
from onestep_lib.no_step import resolvent_traces, ridge_losses
from onestep_lib.spiked_features import SpikedModel, feature_means, spiked_losses

S = Setting(n=400, d=200, N=300, target=(0, 1, 0.5), noise=0.3, ridge=0.1, step=1.0)
SIGNS = S.replace(readout="signs")
MODEL = SpikedModel(S.activation, np.ones(1), np.ones(1), S.target)


def test_the_error_says_why_and_survives_a_worker_process():
    error = ConvergenceError("solver", 0.5, {"x": list(range(1000))}, "n is too small: take a larger n")
    copy = pickle.loads(pickle.dumps(error))
    assert str(copy) == str(error)
    assert (copy.solver, copy.residual, copy.parameters, copy.reason) == (
        "solver", 0.5, error.parameters, "n is too small: take a larger n",
    )  # fmt: skip
    assert str(error).startswith(
        "solver did not converge (n is too small: take a larger n): residual 0.5 at x=[0"
    )
    assert len(str(error)) < 250
    assert str(ConvergenceError("solver", 0.5, {"x": 1})) == "solver did not converge: residual 0.5 at x=1"


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: S.replace(ridge=[0.1, 1e-300]), "ridge"),
        (lambda: S.replace(step=1e300), "step"),
        (lambda: S.replace(noise=1e200), "noise"),
        (lambda: ridge_losses(0.5, 0.5, 1e300, 0.4, 0.1, 1.0, 0.1), "ridge"),
        (lambda: resolvent_traces(0.5, 0.5, 0.1, 1e200, 0.1), "c1_sq"),
        (lambda: spiked_losses(MODEL, 0.5, 0.5, 1e-300), "ridge"),
        (lambda: SpikedModel(S.activation, np.array([1e200]), np.ones(1), S.target), "spikes"),
    ],
)
def test_sizes_are_named_by_every_solver(call, name):
    with pytest.raises(ValueError, match=f"{name} must be 0 or from 1e-60"):
        call()


@pytest.mark.parametrize("theory", [one_step, giant_step])
def test_the_largest_and_smallest_sizes_are_solved(theory):
    setting = S if theory is one_step else SIGNS
    power = setting.target.second_moment + setting.noise**2
    found = theory(setting.replace(ridge=1e60))
    # Nothing is fitted.
    np.testing.assert_allclose([found.train, found.test, found.objective], power, rtol=1e-12)
    limit = theory(setting.replace(ridge=1e-12))
    small = theory(setting.replace(ridge=1e-60))
    np.testing.assert_allclose([small.train, small.test], [limit.train, limit.test], rtol=1e-8)
    # tanh saturates: features are signs, whatever the step.
    large, larger = (theory(setting.replace(step=step)) for step in (1e12, 1e60))
    np.testing.assert_allclose([large.train, large.test], [larger.train, larger.test], rtol=1e-7)


def test_features_whose_squares_are_no_numbers_are_named():
    with pytest.raises(ValueError, match=r"activation 'he3' must stay below 1e\+75 .* smaller step"):
        giant_step(SIGNS.replace(activation="he3", step=1e60), bulk="isotropic")


def test_a_penalty_below_rounding_is_the_reason():
    # n = N, and a cubic activation of rows 2e4 long.
    setting = Setting(
        n=1, d=21, N=1, activation="he3", target=(0.7, 2, -1.3), ridge=0.2, step=380.0, readout="signs"
    )
    with pytest.raises(
        ConvergenceError, match=r"the penalty is only .*e-\d\d of the features' power.*larger ridge"
    ):
        giant_step(setting)


def test_oscillations_beyond_the_nodes_are_the_reason():
    with pytest.raises(ConvergenceError, match="varies too fast between its kinks: take a smaller step"):
        feature_means(activation("sin"), [1e7], [-1.0, 0.0, 1.0], 1e6)
