"""The best step and the best penalty after a step: brute force, random features, networks."""

from functools import partial

import numpy as np
import pytest

from onestep_lib import ConvergenceError, Losses, Setting, one_step, random_features, simulate
from onestep_lib.large_step import best_step
from onestep_lib.large_step.one_curve import best_stepped_ridge
from onestep_lib.small_step import finite_staircase

S = Setting(n=400, d=200, N=300, target="sin", noise=0.3, ridge=[0.01, 1.0], step=[0.0, 10.0, 40.0])
TWO_STAIRS = partial(finite_staircase, level=2)


@pytest.mark.slow
def test_no_step_of_a_fine_grid_is_better(deviation):
    s = S
    best = best_step(s)
    steps = np.geomspace(0.05, 15, 60) * np.sqrt(s.N)
    brute = one_step(s.replace(step=steps)).test.min(axis=0)
    print(
        f"best steps {best.value.round(2)}, losses {best.losses.test.round(5)}, brute force {brute.round(5)}"
    )
    assert best.value.shape == best.losses.test.shape == (2,)
    # The readout nodes change with the step, which moves a loss by up to 3e-4 of it.
    assert np.all(best.losses.test <= brute * (1 + 3e-4))
    np.testing.assert_allclose(best.losses.test, brute, rtol=2e-3)
    deviation("one_curve.best_step", "a grid of 60 steps (the loss)", best.losses.test, brute)


@pytest.mark.parametrize(
    "theory",
    [pytest.param(one_step, marks=pytest.mark.slow), TWO_STAIRS],
    ids=["one_step", "finite_staircase"],
)
def test_no_penalty_of_a_fine_grid_is_better(theory, deviation):
    s = S.replace(activation="centred softplus", target=(0, 1, 0.5)) if theory is TWO_STAIRS else S
    best = best_stepped_ridge(s, theory)
    brute = theory(s.replace(ridge=np.geomspace(1e-3, 10, 150))).test.min(axis=1)
    print(f"best penalties {best.value.round(4)}, losses {best.losses.test.round(5)}, brute {brute.round(5)}")
    # A curve shares the nodes of its batch spectrum, which moves a loss by up to 3e-5.
    assert np.all(best.losses.test <= brute * (1 + 3e-5))
    np.testing.assert_allclose(best.losses.test, brute, rtol=1e-4)
    deviation("one_curve.best_stepped_ridge", "a grid of 150 penalties (the loss)", best.losses.test, brute)


def test_spikes_alone_have_no_best_step():
    """The loss of F_l falls with every step: what stops the network is not in it."""
    s = S.replace(activation="centred softplus", target=(0, 1, 0.5))
    with pytest.raises(ConvergenceError, match="the best step is beyond those that are tried"):
        best_step(s, TWO_STAIRS)


def test_without_a_step_it_is_the_best_penalty_of_random_features(deviation):
    s = S.replace(step=0.0)
    best = best_stepped_ridge(s, random_features)
    grid = np.geomspace(1e-3, 10, 20001)
    losses = random_features(s.replace(ridge=grid)).test
    assert best.value == pytest.approx(grid[np.argmin(losses)], rel=2e-3)
    assert isinstance(best.value, float)
    deviation(
        "one_curve.best_stepped_ridge", "a grid of 20,000 (random features)", best.losses.test, losses.min()
    )


def monotone(setting, power):
    """A made-up loss that rises or falls with the step and with the penalty."""
    values = np.multiply.outer(1 + setting.steps, 1 + setting.ridges) ** power
    return Losses(values, values, values)


@pytest.mark.parametrize("best", [best_step, best_stepped_ridge])
def test_smallest_and_largest(best):
    """0 where every positive choice is worse, and an error where the largest one is the best."""
    s = S.replace(step=1.0, ridge=0.1)
    found = best(s, partial(monotone, power=1.0))
    assert found.value == 0.0
    assert found.losses.test == pytest.approx(1.1 if best is best_step else 2.0, rel=1e-5)
    with pytest.raises(ConvergenceError, match="is beyond those that are tried"):
        best(s, partial(monotone, power=-1.0))


@pytest.mark.slow
@pytest.mark.parametrize("activation", ["tanh", "centred relu"])
def test_networks_do_best_there(activation, deviation):
    """Paired: half and twice the best penalty (a factor 8) or step are worse on the same draws, and the
    losses are the theory's."""
    s = S.replace(activation=activation, target=(0, 1, 0.5), n=600, d=300, N=450, ridge=0.1)
    step = best_step(s).value
    ridge = best_stepped_ridge(s.replace(step=step)).value
    z = []
    for change, at, middle in (
        ({"step": step * np.array([0.3, 1, 3.0])}, s, 1),
        ({"ridge": ridge * np.array([0.125, 1, 8.0])}, s.replace(step=step), 1),
    ):
        setting = at.replace(**change)
        runs = simulate(setting, np.random.default_rng(4), 48)
        tests, theory = runs.draws[:, 1], one_step(setting).test
        z.append((runs.test - theory) / runs.test_se)
        gaps = np.delete(tests - tests[:, middle, None], middle, axis=1)
        error = gaps.std(axis=0, ddof=1) / np.sqrt(len(gaps))
        print(f"{activation}, {change}: {runs.test.round(4)}, theory {theory.round(4)}, z {z[-1].round(1)}")
        assert np.all(gaps.mean(axis=0) > 2 * error)
    deviation("one_curve.best_step", f"networks, n = 600, 48 draws, {activation}", z, 0, 1)
    assert np.abs(z).max() < 4
