"""Values: settings are equal by what they hold, also in another process; kept arrays are locked."""

import pickle
from dataclasses import FrozenInstanceError, fields, replace

import numpy as np
import pytest
from joblib import Parallel, delayed, parallel_config

from onestep_lib import Losses, Setting, giant_step, simulate
from onestep_lib.activations import activation, centred, target
from onestep_lib.experiment import initial_network
from onestep_lib.initialisation import Vocabulary
from onestep_lib.large_step.batch_signed import signed_spectrum
from onestep_lib.quadrature import gauss_legendre, gaussian_quadrature
from onestep_lib.schedules import Schedule
from onestep_lib.two_index import TwoIndexTarget

# Another value of each field.
CHANGES = {
    "n": 50, "d": 21, "N": 31, "activation": "relu", "target": (0, 1), "noise": 0.4, "ridge": 0.2,
    "step": (0.0, 2.0), "rows": "spherical", "readout": (1, -2), "inputs": "digits", "output": "scaled",
    "fresh": False, "updates": Schedule([0.5, 0.2]), "shared": 0.1, "n_0": 30,
}  # fmt: skip


def setting(**changes):
    start = {"n": 40, "d": 20, "N": 30, "activation": "centred relu", "target": (0, 1, 0.5), "noise": 0.3}
    return Setting(**start | {"ridge": (0.1, 1.0), "step": (0.0, 1.0)} | changes)


def test_settings_are_equal_and_hashed_by_value():
    assert set(CHANGES) == {field.name for field in fields(Setting)}
    first, second = setting(), setting(activation=centred("relu"), target=[0.0, 1.0, 0.5])
    assert first == second == replace(first)
    assert {first: 1}[second] == 1
    others = [first.replace(**{name: value}) for name, value in CHANGES.items()]
    assert len({first, *others}) == 1 + len(CHANGES)
    for name, other in zip(CHANGES, others, strict=True):
        assert other.replace(**{name: getattr(first, name)}) == first
    with pytest.raises(FrozenInstanceError):
        first.n = 3


@pytest.mark.parametrize("changes", [{name: value} for name, value in CHANGES.items()], ids=list(CHANGES))
def test_a_setting_that_was_sent_is_the_same(changes):
    sent = setting(**changes)
    found = pickle.loads(pickle.dumps(sent))
    assert found == sent
    assert hash(found) == hash(sent)


@pytest.mark.parametrize(
    "value",
    [activation("tanh"), activation(np.sin), centred("relu"), target((0, 1, 0.5)), target(np.tanh),
     Vocabulary((1, -2), (0.8, 0.2)), TwoIndexTarget(np.multiply), Schedule([0.5, 0.2], "fresh", [30, 40])],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_parts_of_a_setting_that_were_sent_are_the_same(value):
    assert pickle.loads(pickle.dumps(value)) == value


def test_rows_by_hand_are_a_copy_that_is_sent_along():
    rows = np.ones((30, 20))
    given = setting(rows=rows)
    rows[:] = 2.0
    found = pickle.loads(pickle.dumps(given))
    np.testing.assert_array_equal(found.rows.weights, np.ones((30, 20)))
    np.testing.assert_array_equal(initial_network(given, np.random.default_rng(1)).weights, 1.0)


def test_results_reach_and_leave_worker_processes():
    calls = (giant_step, simulate)
    case = setting(readout="signs")
    with parallel_config("loky"):
        theory, drawn = Parallel(n_jobs=2)(
            delayed(call)(case, *arguments)
            for call, arguments in zip(calls, ((), (np.random.default_rng(5), 2)), strict=True)
        )
    for found, expected in (
        (theory, giant_step(case)),
        (drawn, simulate(case, np.random.default_rng(5), 2)),
    ):
        assert type(found) is Losses
        for field in fields(Losses):
            np.testing.assert_array_equal(getattr(found, field.name), getattr(expected, field.name))


@pytest.mark.parametrize(
    "kept",
    [lambda: gaussian_quadrature()[0], lambda: gauss_legendre(8)[1],
     lambda: setting(rows=np.ones((30, 20))).rows.weights,
     lambda: signed_spectrum(target("sign"), 1.0, 4.0).h],
)  # fmt: skip
def test_arrays_that_are_kept_cannot_be_written_to(kept):
    with pytest.raises(ValueError, match="read-only"):
        kept()[0] = 1.0
