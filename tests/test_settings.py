"""Setting and Losses: what they accept, what they refuse, and the shapes they promise."""

import numpy as np
import pytest

from onestep_lib import Activation, Losses, Setting, Target

GOOD = {"n": 100, "d": 60, "N": 80}


def test_ratios_and_shapes():
    s = Setting(**GOOD)
    assert (s.phi, s.psi) == (0.6, 0.75)
    assert s.shape == s.ridges.shape == s.steps.shape == ()
    assert s.replace(ridge=[0.1, 1]).shape == (2,)
    assert s.replace(ridge=[0.1, 1], step=np.arange(3)).shape == (3, 2)
    assert s.replace(step=[0.5]).shape == (1,)


def test_the_two_batches():
    s = Setting(**GOOD)
    assert (s.n_0, s.step_samples, s.phi_0) == (None, 100, 0.6)
    # As many as n, whatever n becomes.
    assert s.replace(n=300).phi_0 == 0.2
    own = s.replace(n_0=30)
    assert (own.phi, own.step_samples, own.phi_0, own.replace(n=300).phi_0) == (0.6, 30, 2.0, 2.0)
    assert s.replace(n_0=100) != s
    assert s.replace(n_0=100, fresh=False).step_samples == s.replace(fresh=False).step_samples == 100
    with pytest.raises(ValueError, match="n_0 must be None or n = 100 with fresh=False, got 30"):
        own.replace(fresh=False)


def test_names_become_functions():
    s = Setting(**GOOD, activation="relu", target="sin")
    assert isinstance(s.activation, Activation)
    assert isinstance(s.target, Target)
    assert s.activation(np.array([-1.0, 2.0])).tolist() == [0.0, 2.0]
    assert Setting(**GOOD, activation=np.tanh).activation.c1 == pytest.approx(
        s.replace(activation="tanh").activation.c1
    )


def test_later_changes_of_an_array_do_not_reach_the_setting():
    ridges = np.array([0.1, 1.0])
    s = Setting(**GOOD, ridge=ridges)
    ridges[0] = 7
    assert s.ridges.tolist() == [0.1, 1.0]


def test_losses_from_draws():
    rng = np.random.default_rng(0)
    draws = rng.standard_normal((9, 3, 4, 2))
    losses = Losses.from_draws(draws)
    for k, name in enumerate(("train", "test", "objective")):
        mean, se = losses[name]
        assert mean is getattr(losses, name)
        np.testing.assert_allclose(mean, draws[:, k].mean(axis=0))
        np.testing.assert_allclose(se, np.std(draws[:, k], axis=0, ddof=1) / 3)
    assert losses.draws is draws
    scalar = Losses.from_draws(draws[:, :, 0, 0])
    assert isinstance(scalar.test, float)
    assert isinstance(scalar.test_se, float)
