"""What every theory of the losses must keep, whatever the setting: identities, symmetries, bounds, limits.

None of these needs a simulation. The settings are drawn by hypothesis, the same ones in every run.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onestep_lib import Setting, one_step, random_features, staircase
from onestep_lib.activations import Activation, target
from onestep_lib.settings import LOSSES

ODD = ("tanh", "erf", "sin", "identity")
EVEN_TOO = ("relu", "centred softplus", "gelu")
# An activation with c_2 != 0 needs a spectrum of its batch, of up to a second: the same for all examples.
ONE_LAW = (st.just((0.0, 1.0, 0.4, -0.2)), st.just(0.3), st.just(1.5))
# The solvers stop at 1e-8 of a loss.
SOLVED = 3e-8


def plain(low: float, high: float) -> st.SearchStrategy[float]:
    """Numbers of three decimals."""
    return st.integers(round(1000 * low), round(1000 * high)).map(lambda k: k / 1000)


number = plain(-1, 1)
targets = st.tuples(st.just(0.0), plain(0.3, 1.5), number, number)


def drawn(
    activations: tuple[str, ...], steps: bool = True, labels: tuple = (targets, plain(0, 1), plain(0.4, 5))
) -> st.SearchStrategy[Setting]:
    """Settings of moderate ratios, penalties and steps; labels: target, noise and n/d."""
    targets, noise, ratio = labels
    return st.builds(
        lambda d, a, b, sigma, star, noise, ridge, rate, rows, readout: Setting(
            n=round(a * d), d=d, N=round(b * d), activation=sigma, target=star, noise=noise, rows=rows,
            readout=readout, ridge=10.0**ridge, step=rate * np.sqrt(round(b * d)) if steps else 0.0,
        ),
        st.sampled_from((60, 200, 600)), ratio, plain(0.4, 5), st.sampled_from(activations), targets,
        noise, plain(-3, 1), plain(0, 6), st.sampled_from(("gaussian", "spherical")),
        st.sampled_from(("gaussian", "signs", [1.0], [0.5, -1.0, 2.0])),
    )  # fmt: skip


def second_stair(setting: Setting) -> object:
    return staircase(setting, level=2)


FEW, MANY = settings(max_examples=2, deadline=None), settings(max_examples=10, deadline=None)
NAMES = ("theory", "strategy", "examples")
CASES = [
    pytest.param(random_features, drawn(ODD + EVEN_TOO, steps=False), MANY, id="random features"),
    pytest.param(second_stair, drawn(("tanh", "erf", "sin"), steps=False), MANY, id="staircase"),
    pytest.param(one_step, drawn(ODD), MANY, id="odd activations"),
    pytest.param(one_step, drawn(EVEN_TOO, labels=ONE_LAW), FEW, id="other activations"),
]
everywhere = pytest.mark.parametrize(NAMES, CASES)


def over(strategy, examples, check) -> None:
    examples(given(strategy)(check))()


def values(losses) -> np.ndarray:
    return np.array([getattr(losses, loss) for loss in LOSSES])


def same(found, expected, tolerance=SOLVED) -> None:
    """Train, test and objective of a theory are these."""
    np.testing.assert_allclose(values(found), expected, rtol=tolerance)


@everywhere
def test_train_is_the_objective_less_its_slope_in_the_penalty(theory, strategy, examples):
    """At the minimum d objective/d lambda = |a|^2, and objective = train + lambda |a|^2."""
    shifts = 0.03 * np.array([-2, -1, 1, 2])

    def check(setting):
        path = theory(setting.replace(ridge=setting.ridge * np.exp(np.append(shifts, 0.0))))
        objective, train = path.objective, path.train
        slope = (objective[:4] @ [1, -8, 8, -1]) / (12 * 0.03)
        assert train[4] == pytest.approx(objective[4] - slope, abs=2e-6 * objective[4])

    over(strategy, examples, check)


@everywhere
def test_losses_have_the_units_of_the_labels_squared(theory, strategy, examples):
    def check(setting):
        star = target(2.5 * np.array(setting.target.polynomial))
        scaled = setting.replace(target=star, noise=2.5 * setting.noise, step=setting.steps / 2.5)
        same(theory(scaled), 2.5**2 * values(theory(setting)))

    over(strategy, examples, check)


@everywhere
def test_the_unit_of_the_features_is_that_of_the_penalty(theory, strategy, examples):
    def check(setting):
        sigma, expected = setting.activation, values(theory(setting))
        tripled = Activation(
            "tripled", lambda x: 3 * sigma(x), sigma.kinks, lambda x: 3 * sigma.derivative(x)
        )
        other = setting.replace(activation=tripled, ridge=9 * setting.ridge, step=setting.steps / 3)
        same(theory(other), expected)
        # With the labels negated as well the rows move as before.
        negated = Activation("negated", lambda x: -sigma(x), sigma.kinks, lambda x: -sigma.derivative(x))
        star = target(-np.array(setting.target.polynomial))
        same(theory(setting.replace(activation=negated, target=star)), expected)

    over(strategy, examples, check)


@everywhere
def test_mirrored_activations_and_targets_are_the_same_network(theory, strategy, examples):
    def check(setting):
        sigma = setting.activation
        mirrored = Activation("mirrored", lambda x: sigma(-x), sigma.kinks, lambda x: -sigma.derivative(-x))
        star = target(np.array(setting.target.polynomial) * [1, -1, 1, -1])
        expected = values(theory(setting))
        same(theory(setting.replace(activation=mirrored)), expected)
        same(theory(setting.replace(target=star)), expected)

    over(strategy, examples, check)


@everywhere
def test_bounds_and_monotony(theory, strategy, examples):
    ridges = np.geomspace(1e-3, 1e3, 7)

    def check(setting):
        losses = theory(setting.replace(ridge=ridges))
        power = setting.target.second_moment + setting.noise**2
        assert np.all(losses.train > 0)
        assert np.all(losses.train <= losses.objective)
        assert np.all(losses.objective <= power * (1 + SOLVED))
        assert np.all(losses.test >= setting.noise**2)
        for rising in (losses.train, losses.objective):
            assert np.all(np.diff(rising) > -SOLVED * power)
        # Penalties are solved one by one: their order is of no account.
        same(theory(setting.replace(ridge=ridges[::-1])), values(losses)[:, ::-1])

    over(strategy, examples, check)


# The staircase's spikes are infinite: no penalty holds them.
@pytest.mark.parametrize(NAMES, [case for case in CASES if case.id != "staircase"])
def test_an_enormous_penalty_predicts_zero(theory, strategy, examples):
    def check(setting):
        # What is left to fit falls like 1 / penalty, and a large step makes features large.
        losses = theory(setting.replace(ridge=1e10))
        power = setting.target.second_moment + setting.noise**2
        np.testing.assert_allclose(values(losses), power, rtol=1e-5)

    over(strategy, examples, check)


@settings(max_examples=10, deadline=None)
@given(drawn(ODD, steps=False))
def test_without_a_step_the_curve_starts_at_random_features(setting):
    same(one_step(setting), values(random_features(setting)), tolerance=1e-7)


@settings(max_examples=5, deadline=None)
@given(drawn(ODD))
def test_a_path_is_its_points(setting):
    steps, ridges = setting.steps * np.array([0.5, 1.0]), setting.ridge * np.array([1.0, 4.0])
    path = one_step(setting.replace(step=steps, ridge=ridges))
    for i, step in enumerate(steps):
        for j, ridge in enumerate(ridges):
            same(one_step(setting.replace(step=step, ridge=ridge)), values(path)[:, i, j])
    # The gradient's batch is as large as the ridge batch unless something else is said.
    same(one_step(setting.replace(n_0=setting.n)), values(one_step(setting)), tolerance=1e-15)


def test_the_checks_see_a_wrong_loss():
    """One per cent on one loss is enough."""

    def wrong(setting):
        losses = random_features(setting)
        return type(losses)(1.01 * losses.train, losses.test, losses.objective)

    for test in (
        test_train_is_the_objective_less_its_slope_in_the_penalty,
        test_an_enormous_penalty_predicts_zero,
    ):
        with pytest.raises(AssertionError):
            test(wrong, drawn(("tanh",), steps=False), settings(max_examples=2, deadline=None))
