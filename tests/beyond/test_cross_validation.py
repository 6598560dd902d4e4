"""Cross-validation after a step: both limits against networks, and where the generalised form fails."""

import numpy as np
import pytest

from onestep_lib import Setting, one_step
from onestep_lib.beyond import validation_losses
from onestep_lib.experiment import leave_one_out, network_features, ridge_path
from onestep_lib.experiment.simulation import Draws

ROOT = np.sqrt(800.0)
SIGNS = Setting(
    n=400, d=200, N=800, activation="tanh", target=(0, 1, 0.7), noise=0.3, ridge=0.1, readout="signs",
    step=[0.0, ROOT, 2 * ROOT], rows="spherical",
)  # fmt: skip
CASES = {
    "tanh, signs": SIGNS,
    "tanh, Gaussian readout": SIGNS.replace(readout="gaussian", step=[0.0, 2 * ROOT, 5 * ROOT]),
    "softplus, N < n": SIGNS.replace(activation="centred softplus", readout="gaussian", N=300, ridge=0.01),
}


def drawn(s, repeats, seed):
    """Leave-one-out, generalised cross-validation and tr S/n of networks, shape (repeats, 3, steps)."""
    rows = []
    for rng in np.random.default_rng(seed).spawn(repeats):
        draws = Draws(s, rng)
        X, y = draws.ridge_batch
        one = []
        for network in draws.networks():
            F = network_features(network, X, rng)
            path = ridge_path(F, y, s.ridge)
            left_out = leave_one_out(F, y, s.ridge)
            one.append([np.mean(left_out**2), path.gcv, 1 - np.sqrt(path.train / path.gcv)])
        rows.append(np.transpose(one))
    return np.array(rows)


# The others take six seconds each.
QUICK = "softplus, N < n"


@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=[pytest.mark.slow] * (case != QUICK)) for case in CASES]
)
def test_networks(case, deviation):
    s = CASES[case]
    rows, theory = drawn(s, 16, 1), validation_losses(s)
    expected = np.array([theory.leave_one_out, theory.generalised])
    mean, error = rows.mean(axis=0), rows.std(axis=0, ddof=1) / np.sqrt(len(rows))
    z = (mean[:2] - expected) / error[:2]
    print(
        f"{case}: leave-one-out {mean[0].round(3)}, generalised {mean[1].round(3)}, z {z.round(1).tolist()}"
    )
    deviation("cross_validation.validation_losses", f"networks, n = 400: {case}", z, 0, 1)
    assert np.all(np.abs(z) < 4.5)
    np.testing.assert_allclose(mean[2], theory.degrees_of_freedom, atol=0.01)


def test_generalised_cross_validation_fails_after_a_giant_step():
    """Paired: on the same networks it is twice the leave-one-out loss, and equal to it without a step."""
    rows, theory = drawn(SIGNS, 16, 2), validation_losses(SIGNS)
    ratio = rows[:, 1] / rows[:, 0]
    mean, error = ratio.mean(axis=0), ratio.std(axis=0, ddof=1) / np.sqrt(len(ratio))
    expected = theory.generalised / theory.leave_one_out
    print(f"ratio {mean.round(3)} +- {error.round(3)}, theory {expected.round(3)}")
    assert abs(mean[0] - 1) < 0.05
    assert mean[2] > 1.7
    np.testing.assert_allclose(mean, expected, rtol=0.1)


def test_leave_one_out_is_the_test_loss(deviation):
    s = SIGNS.replace(ridge=[0.01, 0.1], step=ROOT)
    found, expected = validation_losses(s).leave_one_out, one_step(s).test
    np.testing.assert_allclose(found, expected, rtol=1e-7)
    deviation("cross_validation.validation_losses", "test loss of one_step", found, expected)


@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_without_a_step_both_are_the_test_loss(activation, deviation):
    s = SIGNS.replace(activation=activation, step=0.0, ridge=[0.01, 0.1])
    # So large that nothing of order 1/d is left.
    found = validation_losses(s.replace(n=10**9 * s.n, d=10**9 * s.d, N=10**9 * s.N))
    np.testing.assert_allclose(found.generalised, found.leave_one_out, rtol=1e-8)
    deviation(
        "cross_validation.validation_losses", "gcv without a step", found.generalised, found.leave_one_out
    )
