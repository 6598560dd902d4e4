"""One curve: its limits, its nodes, stored simulations, its conditions."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from stored_numbers import stored_cells

from onestep_lib import ConvergenceError, Setting, random_features
from onestep_lib.activations import Activation
from onestep_lib.experiment import (
    feature_matrix,
    initial_network,
    ridge_path,
    sample_batch,
    sample_direction,
    spec_settings,
    stored_table,
    take_steps,
)
from onestep_lib.initialisation import Vocabulary
from onestep_lib.large_step import (
    batch_squared,
    giant_step,
    one_step,
    readout_nodes,
    stepped_model,
)
from onestep_lib.large_step.one_curve import nearest_setting
from onestep_lib.settings import LOSSES
from onestep_lib.small_step import (
    exact_spike,
    finite_staircase,
    label_moments,
    second_direction,
)
from onestep_lib.spiked_features import SpikedModel, spiked_losses
from onestep_lib.spiked_features import losses as spiked_features
from onestep_lib.spiked_features import model as spiked_model

HE12 = (0, 1, 2**-0.5)

TANH = Setting(
    n=800, d=400, N=600, activation="tanh", target=(0, 1, 0, 0.3), noise=0.3, ridge=0.02, step=800**0.55
)
RELU = TANH.replace(activation="centred relu", target=HE12)


def with_nodes(setting, count):
    """The setting with a readout of these many nodes, in place of a Gaussian one."""
    z, shares = readout_nodes(count)
    return setting.replace(readout=Vocabulary(np.append(-z, z), np.append(shares, shares) / 2))


def powers(n, exponents):
    return tuple(float(n) ** e for e in exponents)


# The readout.


def test_nodes_average_over_the_half_normal_law(deviation):
    z, weights = readout_nodes(16)
    # The law is cut at 4, where 6e-5 of its mass and 1e-3 of its second moment are left.
    assert np.all(np.diff(z) > 0)
    assert weights.sum() == pytest.approx(1, abs=1e-14)
    assert weights @ z == pytest.approx(np.sqrt(2 / np.pi), abs=5e-4)
    assert weights @ z**2 == pytest.approx(1, abs=2e-3)
    assert weights @ z**4 == pytest.approx(3, rel=8e-3)
    moments = [weights @ z**k for k in (0, 1, 2, 4)]
    route = "moments of the half-normal law, cut at 4"
    deviation("stepped_model.readout_nodes", route, moments, [1, np.sqrt(2 / np.pi), 1, 3])


SINE = TANH.replace(n=400, d=200, N=400, activation="sin", ridge=0.01, step=80.0)
STEEP = Setting(n=1000, d=100, N=1000, ridge=0.001, step=120.0)


@pytest.mark.parametrize(
    ("setting", "error"),
    [
        (TANH.replace(step=(3.0, 20.0, 80.0, 400.0)), 4e-4),
        (TANH.replace(step=2000.0), 4e-3),
        (SINE, 4e-4),
        (STEEP, 4e-4),
        (RELU.replace(step=(20.0, 400.0)), 4e-4),
        (RELU.replace(activation="abs", step=(15.0, 150.0)), 4e-4),
    ],
    ids=["tanh", "tanh, u = 70", "sin", "tanh, n = 10 d", "relu", "abs"],
)
def test_twice_the_nodes_change_little(setting, error, deviation):
    """The bound that `one_step` states, for spikes up to 20 and for 100."""
    finer = one_step(with_nodes(setting, 48 if setting.activation.name in ("tanh", "sin") else 28))
    found = one_step(setting)
    for loss in LOSSES:
        np.testing.assert_allclose(getattr(found, loss), getattr(finer, loss), rtol=error)
        deviation("stepped_model.readout_nodes", "more nodes", getattr(found, loss), getattr(finer, loss))


def test_a_call_leaves_nothing_behind_for_another():
    """Bit for bit the same whatever was computed before, with the caches of the labels warm and cold."""
    curve = TANH.replace(step=powers(800, (0.45, 0.62)), ridge=(1e-4, 0.02))
    calls = [
        (one_step, curve),
        (one_step, RELU),
        (giant_step, TANH.replace(readout="signs")),
        (one_step, TANH),
    ]
    first = [theory(setting) for theory, setting in calls]
    batch_squared._label_law.cache_clear()
    spiked_model._labels.cache_clear()
    again = [theory(setting) for theory, setting in reversed(calls)]
    for found, expected in zip(again[::-1], first, strict=True):
        np.testing.assert_equal(vars(found), vars(expected))


# Limits.


@pytest.mark.parametrize("rows", ["gaussian", "spherical"])
def test_the_penalty_of_the_mean_without_a_step_is_of_order_one_over_d(rows):
    start = RELU.replace(step=0.0, rows=rows, ridge=(0.003, 0.02, 1.0))
    expected, gaps = random_features(start), []
    for size in (1, 100):
        found = one_step(start.replace(n=800 * size, d=400 * size, N=600 * size))
        gaps.append(np.abs(found.objective - expected.objective))
    np.testing.assert_array_less(gaps[1], 0.02 * gaps[0] + 1e-12)
    np.testing.assert_array_less(gaps[0], 0.01 * expected.objective)


def mixed():
    def value(x):
        return np.tanh(x) + 0.3 * (np.exp(-np.square(x) / 2) - 2**-0.5)

    def slope(x):
        return 1 - np.tanh(x) ** 2 - 0.3 * x * np.exp(-np.square(x) / 2)

    return Activation("mixed", value, (), slope)


def large(n, activation, exponents, rows="spherical"):
    return Setting(
        n=n, d=6 * n // 10, N=8 * n // 10, activation=activation, target=HE12, noise=0.5, ridge=0.1,
        step=powers(n, exponents), rows=rows,
    )  # fmt: skip


@pytest.mark.parametrize("rows", ["spherical", "gaussian"])
@pytest.mark.parametrize("n", [10**8, 10**10])
@pytest.mark.parametrize(
    ("activation", "tolerance"), [("tanh", 5e-5), ("mixed", 1.5e-4), ("centred relu", 1e-3)]
)
def test_small_steps_of_large_networks_are_the_staircase(n, activation, tolerance, rows, deviation):
    s = large(n, mixed() if activation == "mixed" else activation, (0.06, 0.125, 0.2, 0.29, 0.32), rows)
    found, expected = one_step(s), finite_staircase(s, 4, exact_spike(s))
    # The second spike gains ten times the tolerance and more.
    assert expected.test[0] - expected.test[-1] > 10 * tolerance
    for loss in ("test", "objective"):
        # Left out by the staircase: u ~ 1 effects and the widening of the bulk, of relative size eta^2/N.
        value, limit = found[loss][0], expected[loss][0]
        gap = np.abs(value - limit)
        assert np.all(gap < tolerance + s.steps**2 / s.N)
        deviation("one_curve.one_step", f"finite_staircase at n = 10^{len(str(n)) - 1}", value, limit)


@pytest.mark.parametrize("n", [10**8, 10**10])
def test_a_step_of_rank_one_is_the_staircase_without_widening(n, deviation):
    s = large(n, mixed(), (0.125, 0.2, 0.29, 0.32))
    expected = finite_staircase(s, 4)
    for i, step in enumerate(s.steps):
        rank_one = replace(stepped_model(s, step), bulk=None, scales=1.0, row_variance=0.0)
        found = spiked_features.spiked_losses(rank_one, s.phi, s.psi, s.ridge, s.d, 1e-9)
        # The nodes stop at |z| = 4 and miss 0.7 % of E z^4, the squared length of this spike.
        bound = 2e-4 + step**2 / s.N
        assert abs(found.test - expected.test[i]) < bound
        assert abs(found.objective - expected.objective[i]) < bound
        values, limits = [found.test, found.objective], [expected.test[i], expected.objective[i]]
        route = f"finite_staircase at n = 10^{len(str(n)) - 1}, step of rank one"
        deviation("stepped_model.stepped_model", route, values, limits)
    assert expected.test[0] - expected.test[-1] > 0.1


# The solver of many spikes.


def test_sweeps_find_what_newton_finds(monkeypatch, deviation):
    model = stepped_model(RELU, RELU.step)
    arguments = (model, RELU.phi, RELU.psi, 0.02, 400)
    swept = spiked_features.spiked_losses(*arguments, tolerance=1e-9)
    monkeypatch.setattr(spiked_features, "_FEW", 100)
    newton = spiked_features.spiked_losses(*arguments)
    for loss in LOSSES:
        value, expected = swept[loss][0], newton[loss][0]
        assert value == pytest.approx(expected, rel=1e-8)
        deviation("fixed_point.sweep_fixed_point", "Newton's method", value, expected)


# Conditions.


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"output": "raw"}, "output must be 'centred' or 'scaled'"),
        ({"target": (0.1, 1.0)}, "target must have mean zero"),
        ({"inputs": "spherical"}, "inputs must be 'gaussian'"),
        ({"ridge": 0.0}, "ridge must be > 0"),
        ({"activation": "sign"}, "activation must have a derivative"),
        ({"target": (0.0,), "noise": 0.0}, "target must not be 0"),
    ],
)
def test_refuses_what_the_theory_does_not_cover(changes, message):
    with pytest.raises(ValueError, match=message):
        one_step(TANH.replace(**changes))


def test_a_linear_activation_has_no_bulk_of_its_own():
    s = TANH.replace(activation="identity", step=(0.0, 5.0, 20.0))
    found = one_step(s)
    assert np.all(np.diff(found.test) < 0)
    assert stepped_model(s, 5.0).bulk is None


def test_an_even_activation_without_linear_part_has_no_spike():
    even = Activation("even", lambda x: np.cos(x) - np.exp(-0.5), (), lambda x: -np.sin(x))
    s = TANH.replace(activation=even, target=HE12, step=(0.0, 5.0))
    found = one_step(s)
    assert np.all(np.isfinite(found.test))
    assert np.all(stepped_model(s, 5.0).spikes == pytest.approx(0, abs=1e-12))


# Without a linear part the bulk alone varies with the readout.

ABS = Setting(n=200, d=100, N=150, activation="abs", noise=0.3, ridge=0.1, step=(0.0, 15.0, 150.0))


def with_slope(sigma, slope):
    return Activation(
        "tilted", lambda x: sigma(x) + slope * x, sigma.kinks, lambda x: sigma.derivative(x) + slope
    )


@pytest.mark.parametrize("name", ["abs", "odd"])
def test_the_linear_part_may_vanish(name, deviation):
    odd = Activation("odd", lambda x: np.sin(x) - np.exp(-0.5) * x, (), lambda x: np.cos(x) - np.exp(-0.5))
    s = ABS.replace(activation=odd if name == "odd" else name, target=HE12, step=(0.0, 2.0, 15.0, 150.0))
    found = one_step(s)
    for slope in (1e-12, 1e-7):
        near = one_step(s.replace(activation=with_slope(s.activation, slope)))
        for loss in LOSSES:
            value, limit = getattr(near, loss), getattr(found, loss)
            # The spike that is left shifts the losses by its strength.
            np.testing.assert_allclose(value, limit, rtol=1e-6 + 20 * slope)
            deviation("one_curve.one_step", f"{name}, c_1 = {slope:g} beside c_1 = 0", value, limit)


def test_heavy_labels_with_many_parameters_and_a_large_penalty():
    s = Setting(
        n=1000, d=1000, N=1000, noise=0.5, target=(0, 1, 0, 0, 0, 0, 0.3), ridge=1000.0, step=(0.0, 300.0)
    )
    found = one_step(s)
    power = label_moments(s.target, s.noise).square
    # The penalty leaves almost nothing of the fit, and every loss near the power of the labels.
    for loss in LOSSES:
        np.testing.assert_allclose(getattr(found, loss), power, rtol=3e-3)


@pytest.mark.parametrize("n", [1, 3, 6])
@pytest.mark.parametrize("N", [1, 3, 6])
@pytest.mark.parametrize("d", [1, 2, 3, 60])
def test_tiny_problems_keep_the_bounds(n, N, d):
    for target, activation in (((0, 1), "tanh"), ((0, 0.7, 0, 0.4), "relu")):
        s = Setting(
            n=n, d=d, N=N, activation=activation, target=target, noise=0.3, ridge=0.05, step=(0.0, 3.0)
        )
        found = one_step(s)
        power = label_moments(s.target, s.noise).square
        assert np.all(found.train >= 0)
        assert np.all(found.train <= found.objective)
        assert np.all(found.objective <= power * (1 + 1e-7))
        assert np.all(found.test >= s.noise**2)


# Simulations.


ONE_CURVE, CURVES = spec_settings("one_curve"), stored_table("one_curve")
BEYOND, BESIDE = spec_settings("beyond"), stored_table("beyond")


def scores(setting, table, name):
    """z of the three losses at step 0 and of their changes, (3, 1 + steps), and the theory's changes."""
    found = one_step(nearest_setting(setting))
    z, gains = [], []
    for loss in LOSSES:
        theory, _ = found[loss]
        gains.append(theory[1:] - theory[0])
        means, errors = stored_cells(table, name, loss)
        z.append((means - np.append(theory[0], gains[-1])) / errors)
    return np.array(z), np.array(gains)


def root_mean_square(z):
    return float(np.sqrt(np.mean(np.square(z))))


def test_the_stored_table_agrees_with_the_theory(capsys, deviation):
    every = []
    for name, setting in ONE_CURVE.items():
        z, _ = scores(setting, CURVES, name)
        every.append(z)
        with capsys.disabled():
            print(f"\n{name}: z at step 0, then of the changes; rms", end=" ")
            print(f"{root_mean_square(z):.2f}")
            for loss, one in zip(LOSSES, z, strict=True):
                print(f"  {loss:9}", " ".join(f"{value:+.1f}" for value in one), end="\n")
        deviation("one_curve.one_step", f"stored table, {name}", z, 0, 1)
        assert root_mean_square(z) <= 1.5
    with capsys.disabled():
        print(f"rms z = {root_mean_square(every):.2f}, largest {np.max(np.abs(every)):.1f}")
    assert np.max(np.abs(every)) < 4


COVERED = ("gaussian", "spherical", "rademacher", "uniform")


@pytest.mark.parametrize("name", COVERED)
def test_coordinates_need_not_be_gaussian(name, deviation):
    z, _ = scores(BEYOND[name], BESIDE, name)
    deviation("one_curve.nearest_setting", f"inputs {name}, n = 800, 60 seeds", z, 0, 1)
    assert root_mean_square(z) < 1.5
    assert np.max(np.abs(z)) < 4


@pytest.mark.parametrize(
    "name", [name for name in BEYOND if name not in COVERED and name != "gaussian, d = 40"]
)
def test_where_the_theory_stops(name, capsys):
    """A radius, a covariance, real images, one batch for both, several steps: beside Gaussian simulations."""
    control = "gaussian, d = 40" if "d = 40" in name else "gaussian"
    z = []
    for loss in LOSSES:
        means, errors = zip(*(stored_cells(BESIDE, one, loss) for one in (name, control)), strict=True)
        z.append((means[0] - means[1]) / np.hypot(*errors))
    _, gains = scores(BEYOND[name], BESIDE, name)
    means, errors = stored_cells(BESIDE, name, "test")
    with capsys.disabled():
        print(f"\n{name}: change of the test loss, theory", " ".join(f"{gain:+.3f}" for gain in gains[1]))
        print("simulation", means[1:].round(3), errors[1:].round(3))
    assert np.max(np.abs(z)) > 5


RESULTS = Path(__file__).parents[2] / "book" / "results.yml"


def page_text():
    """The words of the page of results, its lines joined."""
    return " ".join(RESULTS.read_text("utf-8").split())


def test_the_results_say_how_other_inputs_compare():
    every = np.array([scores(BEYOND[name], BESIDE, name)[0] for name in COVERED])
    assert every.size == 48
    assert f"the 48 gaps have an rms of {root_mean_square(every):.1f} standard errors" in page_text()
    means = {name: stored_cells(BESIDE, name, "test")[0] for name in BEYOND}
    level, gain = ({name: one[part] for name, one in means.items()} for part in (0, slice(1, None)))
    theory = one_step(BEYOND["gaussian"]).test
    assert f"random features are off by a factor of {level['student'] / theory[0]:.1f}." in page_text()
    assert level["correlated"] / theory[0] == pytest.approx(0.9, abs=0.01)
    more = 100 * (gain["correlated"] / (theory[1:] - theory[0]) - 1)
    assert f"the gains of the step by {more.min():.0f} to {more.max():.0f} %" in page_text()
    below = 100 * (1 - level["digits, d = 40"] / level["gaussian, d = 40"])
    assert f"lie {below:.0f} % below Gaussian inputs of the same size at step 0" in page_text()
    share = gain["digits, d = 40"] / gain["gaussian, d = 40"]
    assert share == pytest.approx([1, 0.8, 0.8], abs=0.04)
    twice = gain["same batch"] / gain["gaussian"]
    assert f"gains {twice.min():.1f} to {twice.max():.1f} times as much" in page_text()
    for several in ("two steps", "four steps"):
        lost = gain[several] - gain["gaussian"]
        assert 0.2 < lost[0] < 0.45
        assert np.all(lost[1:] > lost[0])


@pytest.mark.slow
def test_the_diagonal_of_h_moves_the_test_loss_of_relu_little():
    """Rows of either covariance from the same Gaussians: w = u v + (I + t H-hat) g + (e H)^{1/2} g'."""
    s = RELU.replace(step=800**0.62)
    slope, linear, variance = s.activation.c1, 2 * s.activation.c2, s.activation.slope_variance
    changes = []
    for rng in np.random.default_rng(0).spawn(16):
        direction, a = sample_direction(s.d, rng), initial_network(s, rng).readout[:, None]
        X, y = sample_batch(s, s.n, direction, rng)
        signed, squared = X.T @ (y[:, None] * X) / s.n, X.T @ (y[:, None] ** 2 * X) / s.n
        first, second = rng.standard_normal((2, s.N, s.d)) / np.sqrt(s.d)
        rows = first + s.step * linear * a * (first @ signed) + s.step * slope * a * (X.T @ y / s.n)
        width = s.step * np.abs(a) * np.sqrt((variance - linear**2) * s.phi)
        values, vectors = np.linalg.eigh(squared)
        dense = (vectors * np.sqrt(values)) @ vectors.T
        basis = np.linalg.eigh(signed)[1]
        diagonal = (basis * np.sqrt(np.sum(basis * (squared @ basis), axis=0))) @ basis.T
        batch, fresh = sample_batch(s, s.n, direction, rng), sample_batch(s, 8000, direction, rng)
        losses = []
        for root in (dense, diagonal):
            weights = rows + width * (second @ root)
            fit = ridge_path(feature_matrix(weights, batch[0], s.activation), batch[1], s.ridge).coefficients
            losses.append(np.mean((fresh[1] - feature_matrix(weights, fresh[0], s.activation) @ fit) ** 2))
        changes.append(losses[1] / losses[0] - 1)
    mean, error = np.mean(changes), np.std(changes, ddof=1) / 4
    print(f"the diagonal changes the test loss by {100 * mean:.2f} +- {100 * error:.2f} %")
    assert abs(mean) < 0.01 + 2 * error
    assert error < 0.008


def test_a_second_step_goes_back():
    """Half of n^0.3 overshoots on its batch, where <b, x_i> holds phi y_i besides the signal."""
    s = BEYOND["two steps"]
    eta, shares = float(s.steps[1]), []
    for rng in np.random.default_rng(0).spawn(8):
        network, direction = initial_network(s, rng), sample_direction(s.d, rng)
        X, y = sample_batch(s, s.n, direction, rng)
        (stepped,) = take_steps(network, X, y, eta)
        moved = feature_matrix(stepped.weights, X, s.activation) - feature_matrix(
            network.weights, X, s.activation
        )
        second = X.T @ (y - moved @ network.readout) / s.n
        b = stepped.direction
        shares.append([second @ b / (b @ b), second @ direction / (b @ direction)])
    mean, error = np.mean(shares, axis=0), np.std(shares, axis=0, ddof=1) / np.sqrt(len(shares))
    print(f"the second direction over the first: along b and beta_* {mean.round(2)} +- {error.round(2)}")
    limit = second_direction(s.replace(updates=1, step=eta))
    # Numbers of 24 draws; the limit has a correction of order eta/sqrt(N) for relu.
    assert np.all(np.abs(mean - [-0.98, -0.74]) < 4 * np.hypot(error, 0.03))
    assert np.all(np.abs(mean - [limit.direction, limit.target]) < eta / np.sqrt(s.N) + 4 * error)
    # eta c_1^2 (1 + phi) + eta phi Var(sigma') = 1 for relu, by hand.
    assert second_direction(s.replace(updates=1, step=2.0)).target == pytest.approx(0, abs=1e-12)
    assert "it turns at $\\eta=2$" in page_text()


@pytest.mark.parametrize("readout", ["signs", "gaussian"])
def test_points_of_one_call_are_those_of_single_calls(readout):
    """Other n, steps with and without a spike, penalties and activations, all at once."""
    start = Setting(300, 200, 250, target=(0, 1, 0.5), noise=0.3, readout=readout)
    start = start if readout == "signs" else start.replace(target=(0, 1, 0, 0.5))
    several = [start.replace(n=n, step=(0.0, 5.0, 40.0), ridge=(0.01, 1.0)) for n in (100, 250, 1000)]
    several.append(several[0].replace(activation="erf", rows="spherical"))
    together = one_step(several)
    for i, setting in enumerate(several):
        for j, step in enumerate(setting.step):
            for k, ridge in enumerate(setting.ridge):
                alone = one_step(setting.replace(step=step, ridge=ridge))
                for name in ("train", "test", "objective"):
                    assert getattr(together, name)[i, j, k] == pytest.approx(getattr(alone, name), rel=1e-7)
    with pytest.raises(ValueError, match="one shape"):
        one_step([several[0], start])


def test_the_error_names_the_point_that_failed():
    s = Setting(300, 200, 250)
    model = SpikedModel(s.activation, [2.0], [1.0], s.target, 0.6, 0.3)
    with pytest.raises(ConvergenceError, match="ridge=1e-40"):
        spiked_losses(model, [0.5, 1.0, 2.0], 1.0, [0.1, 1e-40, 0.2])
