"""Each paper's experiment, written out literally in its own notation, against the library's."""

from dataclasses import replace

import numpy as np
import pytest

from onestep_lib import Setting, random_features
from onestep_lib.conventions import (
    CONVENTIONS,
    PaperLosses,
    PaperProblem,
    losses_from,
    losses_in,
    problem_in,
    setting_from,
)
from onestep_lib.experiment import (
    feature_matrix,
    gradient_step,
    initial_network,
    ridge_path,
    sample_batch,
    sample_direction,
)

SETTING = Setting(
    n=120, d=40, N=60, activation="tanh", target=(0, 1, 0.5), noise=0.4, ridge=0.3, step=0.7, output="scaled"
)


def setting_for(convention):
    fixed = CONVENTIONS[convention].fixed
    return SETTING.replace(**fixed, **({"step": 0.0} if convention == "mei" else {}))


@pytest.mark.parametrize("convention", CONVENTIONS)
@pytest.mark.parametrize("paths", [{}, {"ridge": (0.1, 1.0), "step": (0.0, 0.0, 0.0)}])
def test_round_trip(convention, paths, deviation):
    setting = setting_for(convention).replace(**paths)
    problem = problem_in(convention, setting)
    back = setting_from(problem, setting.d, activation="tanh", target=(0, 1, 0.5), noise=0.4)
    for name in ("n", "d", "N", "rows", "inputs"):
        assert getattr(back, name) == getattr(setting, name)
    np.testing.assert_allclose(back.ridges, setting.ridges, rtol=1e-14)
    np.testing.assert_allclose(back.steps, setting.steps, rtol=1e-14)
    deviation("conventions.setting_from", "round trip", back.ridges, setting.ridges)
    again = problem_in(convention, back)
    assert again.ratios == pytest.approx(problem.ratios)
    np.testing.assert_allclose(again.penalty, problem.penalty, rtol=1e-14)


def test_the_gradient_s_batch_of_cui(deviation):
    setting = setting_for("cui").replace(n_0=200)
    problem = problem_in("cui", setting)
    assert problem.ratios == {"alpha": 3.0, "beta": 1.5, "alpha_0": 5.0}
    back = setting_from(problem, setting.d, activation="tanh", target=(0, 1, 0.5), noise=0.4)
    assert (back.n, back.n_0, back.N) == (120, 200, 60)
    assert problem_in("cui", back).ratios == problem.ratios
    # The penalty belongs to the ridge batch, the step to the width: neither changes.
    alike = problem_in("cui", setting.replace(n_0=None))
    assert (problem.penalty, problem.step) == (alike.penalty, alike.step)
    assert "alpha_0" not in alike.ratios
    deviation("conventions.setting_from", "round trip", back.phi_0, setting.phi_0)
    with pytest.raises(TypeError, match="n_0"):
        setting_from(problem, setting.d, n_0=10)


def test_alpha_0_is_cui_s_alone():
    ratios = {"phi": 0.5, "psi": 0.5, "alpha_0": 5.0}
    with pytest.raises(ValueError, match="ratios must be phi and psi in the convention 'moniri'"):
        setting_from(PaperProblem("moniri", ratios, 0.1, 1.0), 40)
    with pytest.raises(ValueError, match=r"ratios must be alpha and beta \(and alpha_0\)"):
        setting_from(PaperProblem("cui", {"alpha": 1.0, "alpha_0": 5.0}, 0.1, 1.0), 40)
    with pytest.raises(ValueError, match="alpha_0 must be > 0"):
        setting_from(PaperProblem("cui", {"alpha": 1.0, "beta": 1.0, "alpha_0": 0.0}, 0.1, 1.0), 40)
    assert problem_in("moniri", setting_for("moniri").replace(n_0=120)).ratios.keys() == {"phi", "psi"}


def draw(convention):
    rng = np.random.default_rng(7)
    setting = setting_for(convention)
    direction = sample_direction(setting.d, rng)
    X, y = sample_batch(setting, setting.n, direction, rng)
    return setting, initial_network(setting, rng), X, y, *sample_batch(setting, setting.n, direction, rng)


def numerical_step(loss, W, size):
    """W - size grad loss(W), by central differences."""
    gradient = np.empty_like(W)
    for index in np.ndindex(*W.shape):
        h = np.zeros_like(W)
        h[index] = 1e-5
        gradient[index] = (loss(W + h) - loss(W - h)) / 2e-5
    return W - size * gradient


@pytest.mark.parametrize(("convention", "root"), [("cui", 1.0), ("ba", np.sqrt(60.0))])
def test_the_first_layer_step_written_as_in_the_paper(convention, root, deviation):
    setting, network, X, y, *_ = draw(convention)
    a, N = network.readout, setting.N

    def loss(W):
        return np.sum((y - np.tanh(X @ W.T) @ a / np.sqrt(N)) ** 2) / (2 * y.size)

    stepped = numerical_step(loss, network.weights, root * problem_in(convention, setting).step)
    expected = gradient_step(network, X, y, setting.step, "scaled").weights
    np.testing.assert_allclose(stepped, expected, atol=1e-8)
    deviation("conventions.problem_in", "the paper's step, by differences", expected, stepped, scale=1)


def literal_fit(convention, problem, F, y, d):
    """Coefficients on F and the training loss, from the paper's own problem."""
    n, N = F.shape
    if convention == "moniri":
        a = np.linalg.solve(F.T @ F / n + problem.penalty * np.eye(N), F.T @ y / n)
        return a, np.mean((y - F @ a) ** 2) + problem.penalty * a @ a
    if convention == "cui":
        phi = F / np.sqrt(N)
        a = np.linalg.solve(phi.T @ phi + problem.penalty * np.eye(N), phi.T @ y)
        return a / np.sqrt(N), np.mean((y - phi @ a) ** 2)
    if convention == "ba":
        phi = F / np.sqrt(N)
        a = np.linalg.solve(phi.T @ phi / n + problem.penalty / N * np.eye(N), phi.T @ y / n)
        return a / np.sqrt(N), np.mean((y - phi @ a) ** 2)
    a = np.linalg.solve(F.T @ F / n + N * problem.penalty / d * np.eye(N), F.T @ y / n)
    return a, np.mean((y - F @ a) ** 2) + N * problem.penalty / d * a @ a


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_the_second_layer_written_as_in_the_paper(convention, deviation):
    setting, network, X, y, X2, y2 = draw(convention)
    F = feature_matrix(gradient_step(network, X, y, setting.step, "scaled").weights, X2, setting.activation)
    if convention == "mei":
        # Their rows have length sqrt(d), divided by sqrt(d) in the activation.
        theta = np.sqrt(setting.d) * network.weights
        np.testing.assert_allclose(np.tanh(X2 @ theta.T / np.sqrt(setting.d)), F, atol=1e-14)
    path = ridge_path(F, y2, setting.ridge)
    coefficients, training = literal_fit(convention, problem_in(convention, setting), F, y2, setting.d)
    np.testing.assert_allclose(coefficients, path.coefficients, atol=1e-11)
    deviation("conventions.problem_in", "the paper's ridge fit", path.coefficients, coefficients, scale=1e-3)
    ours = random_features(setting.replace(step=0.0, target=(0, 1, 0.5)))
    measured = type(ours)(float(path.train), ours.test, float(path.objective))
    found = losses_in(convention, measured, setting).training
    assert found == pytest.approx(training, rel=1e-11)
    deviation("conventions.losses_in", "the paper's training loss", found, training)


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_losses_both_ways(convention, deviation):
    setting = setting_for(convention).replace(step=0.0)
    ours = random_features(setting)
    theirs = losses_in(convention, ours, setting)
    assert ours.test - theirs.test == pytest.approx(0.0 if convention in ("moniri", "cui") else 0.16)
    power = (ours.objective - ours.train) / setting.ridge
    back = losses_from(convention, PaperLosses(theirs.training, theirs.test), setting, power)
    for name in ("train", "test", "objective"):
        found, expected = back[name][0], ours[name][0]
        assert float(found) == pytest.approx(expected, rel=1e-13)
        deviation("conventions.losses_from", "round trip", found, expected)


def test_mei_and_montanari_name_the_ratios_the_other_way_round():
    # psi1, psi2 swap their roles against Ba et al.: a transposed setting must not go unnoticed.
    mei, ba = (problem_in(name, setting_for(name).replace(step=0.0)) for name in ("mei", "ba"))
    assert mei.ratios == pytest.approx({"psi1": 1.5, "psi2": 3.0})
    assert ba.ratios == pytest.approx({"psi1": 3.0, "psi2": 1.5})


def back_and_forth(convention, setting):
    """Every function of the module, on a setting that may break the convention's rules."""
    good = problem_in(convention, setting_for(convention))
    ours = random_features(setting_for(convention).replace(step=0.0))
    fields = {
        name: getattr(setting, name) for name in ("rows", "inputs", "output", "fresh", "updates", "n_0")
    }
    return {
        "problem_in": lambda: problem_in(convention, setting),
        "setting_from": lambda: setting_from(replace(good, step=setting.step), 40, **fields),
        "losses_in": lambda: losses_in(convention, ours, setting),
        "losses_from": lambda: losses_from(convention, PaperLosses(1.0, 1.0), setting, 1.0),
    }


@pytest.mark.parametrize("call", ["problem_in", "setting_from", "losses_in", "losses_from"])
@pytest.mark.parametrize(
    ("convention", "change", "message"),
    [
        ("moniri", {"updates": 2}, "updates must be 1 in the convention 'moniri', got 2"),
        ("moniri", {"n_0": 60}, "n_0 must be None or n = 120 in the convention 'moniri', got 60"),
        ("ba", {"n_0": 60}, "n_0 must be None or n = 120 in the convention 'ba', got 60"),
        ("moniri", {"fresh": False}, "fresh must be True in the convention 'moniri', got False"),
        ("cui", {"output": "raw"}, "output must be 'scaled' in the convention 'cui', got 'raw'"),
        ("cui", {"rows": "gaussian"}, "rows must be 'spherical' in the convention 'cui', got 'gaussian'"),
        ("ba", {"output": "centred"}, "output must be 'scaled' in the convention 'ba', got 'centred'"),
        ("mei", {"step": 0.5}, "step must be 0 in the convention 'mei', got 0.5"),
        ("mei", {"inputs": "gaussian"}, "inputs must be 'spherical' in the convention 'mei', got 'gaussian'"),
    ],
)
def test_what_a_paper_cannot_express_is_refused_both_ways(convention, change, message, call):
    good = setting_for(convention)
    back_and_forth(convention, good)[call]()
    with pytest.raises(ValueError, match=message):
        back_and_forth(convention, good.replace(**change))[call]()


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"convention": "rahimi"}, ValueError, "convention must be one of .* got 'rahimi'"),
        ({"ratios": {"psi1": 1.0}}, ValueError, "ratios must be psi1 and psi2 in the convention 'ba', got"),
        ({"ratios": {"psi1": 1.0, "phi": 2.0}}, ValueError, "ratios must be psi1 and psi2"),
        ({"ratios": None}, ValueError, "ratios must be psi1 and psi2 .* got None"),
        ({"ratios": {"psi1": 1.0, "psi2": -2.0}}, ValueError, r"psi2 must be > 0, got -2\.0"),
        ({"ratios": {"psi1": 1.0, "psi2": [2.0]}}, ValueError, r"psi2 must be one number, got \[2\.0\]"),
        ({"penalty": -0.5}, ValueError, r"penalty must be >= 0, got -0\.5"),
        ({"step": None}, TypeError, "step must be a real number or an array of them, got None"),
    ],
)
def test_a_wrong_problem_is_refused(change, error, message):
    with pytest.raises(error, match=message):
        setting_from(replace(PaperProblem("ba", {"psi1": 3.0, "psi2": 1.5}, 0.3, 0.7), **change), 40)


@pytest.mark.parametrize(
    ("losses", "power", "error", "message"),
    [
        ((0.4, 0.5), -1.0, ValueError, r"power must be >= 0, got -1\.0"),
        ((0.4, 0.5), [1.0, 2.0], ValueError, r"power must have the shape \(\) of .* got shape \(2,\)"),
        (([0.4, 0.1], 0.5), 1.0, ValueError, r"training must have the shape \(\)"),
        ((0.4, np.nan), 1.0, ValueError, "test must not be nan"),
        ((None, 0.5), 1.0, TypeError, "training must be a real number"),
    ],
)
def test_wrong_losses_are_refused(losses, power, error, message):
    with pytest.raises(error, match=message):
        losses_from("ba", PaperLosses(*losses), SETTING, power)


def test_an_infinite_test_loss_goes_both_ways():
    setting = SETTING.replace(N=SETTING.n, ridge=0.0, step=0.0)
    theirs = losses_in("ba", random_features(setting), setting)
    assert losses_from("ba", theirs, setting, 1.0).test == np.inf
