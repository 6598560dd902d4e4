"""The stepped network's theories at extreme settings: sane losses, or an error that says how far they got."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from onestep_lib import ConvergenceError, Setting
from onestep_lib.large_step import giant_step, one_step
from onestep_lib.large_step.stepped_model import expected_lengths
from onestep_lib.small_step import gradient_of

# So large that n and N are at least 100.
DIMENSION = 100_000
RATIOS = (1e-3, 0.03, 0.5, 1.0, 2.0, 30.0, 1e3)
LABELS = ((0, 1), (0, 1, 0, 0.3), (0, 1, 2**-0.5))
HE12 = LABELS[-1]
# What the averages, fixed points and their differences leave.
SLACK = 1e-7


@st.composite
def extremes(draw):
    """Settings with a path of penalties; set-ups that take seconds (c_2 != 0) only at a few points."""
    if draw(st.sampled_from(("odd", "odd", "any"))) == "odd":
        activation, labels = draw(st.sampled_from(("tanh", "erf"))), draw(st.sampled_from(LABELS))
        phi, noise = draw(st.sampled_from(RATIOS)), draw(st.sampled_from((0.0, 1e-4, 1.0, 1e3)))
    else:
        activation, labels, phi, noise = "relu", HE12, 0.5, draw(st.sampled_from((0.0, 1e3)))
    n = round(DIMENSION / phi)
    exponents = draw(st.lists(st.floats(-8, 1.477), min_size=3, max_size=3, unique=True))
    step = draw(st.sampled_from((0.0, 1e-3, n**0.3, n**0.5, n**0.7, float(n))))
    return Setting(
        n=n,
        d=DIMENSION,
        N=round(DIMENSION / draw(st.sampled_from(RATIOS))),
        activation=activation,
        target=labels,
        noise=noise,
        ridge=10.0 ** np.sort(exponents),
        step=step,
        rows=draw(st.sampled_from(("gaussian", "spherical"))),
        readout=draw(st.sampled_from(("gaussian", "signs"))),
    )


def power(setting):
    return setting.target.second_moment + setting.noise**2


def check_losses(found, setting):
    total = power(setting)
    train, test, objective = (np.asarray(part) / total for part in (found.train, found.test, found.objective))
    for part in (train, test, objective):
        assert part.shape == setting.shape
        assert np.all(np.isfinite(part))
    assert np.all(test >= setting.noise**2 / total - SLACK)
    assert np.all(train >= -SLACK)
    assert np.all(train <= objective + SLACK)
    assert np.all(objective <= 1 + SLACK)
    assert np.all(np.diff(objective) >= -SLACK)


def is_hard(setting):
    """Where rounding leaves a solver fewer digits than it asks for, so that it may refuse."""
    several = setting.readout == "gaussian"
    singular_batch = setting.n == setting.d and setting.noise > 100
    narrow = several and setting.d / 100 > setting.N
    wide = several and 100 * setting.d < setting.N and min(setting.ridge) < 1e-5
    return singular_batch or narrow or wide


def check_theories(setting):
    for theory in (one_step, giant_step) if setting.readout == "signs" else (one_step,):
        try:
            found = theory(setting)
        except ConvergenceError as error:
            assert is_hard(setting), error
            assert error.residual < 1e-5
        else:
            check_losses(found, setting)


@settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow])
@given(extremes())
def test_losses_are_sane_at_an_extreme(setting):
    check_theories(setting)


@given(extremes(), st.floats(-1e4, 1e4))
def test_row_lengths_are_finite_at_any_extreme(setting, tau):
    lengths = expected_lengths(gradient_of(setting), setting.rows == "gaussian")
    nu = lengths.nu([tau, 0.0])
    assert np.all(np.isfinite(nu))
    assert np.all(nu >= 0)
    assert nu[1] == float(setting.rows == "gaussian")
    assert lengths.mean @ [1, tau, tau**2] > 0


@pytest.mark.parametrize("readout", ["gaussian", "signs"])
@pytest.mark.parametrize(("noise", "steps"), [(0.5, (1e4, 1e5, 1e6)), (1e3, (1.0, 30.0, 800.0))])
@pytest.mark.parametrize(
    "activation",
    ["tanh", pytest.param("relu", marks=pytest.mark.slow), pytest.param("softplus", marks=pytest.mark.slow)],
)
def test_steps_far_beyond_n_and_labels_of_noise_are_solved(activation, noise, steps, readout):
    s = Setting(
        n=800, d=400, N=640, activation=activation, target=(0, 1), noise=noise, ridge=(0.01, 0.1, 1),
        step=steps, readout=readout, rows="spherical",
    )  # fmt: skip
    found = one_step(s)
    check_losses(found, s)
    if readout == "signs":
        check_losses(giant_step(s), s)
