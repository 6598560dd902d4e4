"""Spiked random features: stored numbers, a slow independent solver, exact limits, simulation, extremes."""

import contextlib

import numpy as np
import pytest
from cavity_by_sweeps import cavity_losses
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from stored_numbers import SRF_TARGETS, srf_ratios, stored_data

from onestep_lib import ConvergenceError
from onestep_lib.activations import activation, target
from onestep_lib.no_step import ridge_losses
from onestep_lib.spiked_features import (
    SpikedModel,
    feature_means,
    solve_spiked,
    spiked_losses,
    target_means,
)
from onestep_lib.spiked_features.model import BulkCovariance
from onestep_lib.two_index import TwoIndexTarget

REFERENCE = stored_data("srf")
POINTS = [p for p in REFERENCE["points"] if "theory" in p]
TWO_INDEX = TwoIndexTarget(lambda k, z: np.tanh(k) + 0.7 * k * z + 0.3 * (z * z - 1))
HE12 = target((0, 1, 2**-0.5))


def reference_model(p):
    name = p["target"].split(":")[0]
    labels = TWO_INDEX if name.startswith("y=") else target(SRF_TARGETS[name])
    nu = 1.0 if p["rows"] == "gauss" else 0.0
    return SpikedModel(activation(p["sigma"]), p["u"], p["pi"], labels, p["gamma"], p["sigma_eps"], 1.0, nu)


@pytest.mark.parametrize("rare", [1e-4, 1e-8, 1e-12])
def test_a_rare_group_is_known_as_well_as_a_large_one(rare):
    """By elimination of the other group. The outer nodes of a Gaussian readout are such groups."""
    model = SpikedModel(activation("tanh"), [1.0, 3.0], [1 - rare, rare], target((0, 1)))
    solution = solve_spiked(model, 0.5, 2.0, 0.01)
    ratios, means, (c, c_rare) = solution.ratios, solution.table.features.means, solution.point.c
    mass = ratios.a * solution.table.features.weights * solution.point.D
    (own, cross), (_, other) = (means.mu1 * mass) @ means.mu1.T
    left = other - cross**2 / (1 / c + own)
    left /= 1 + c_rare * left
    expected = ratios.b * rare / (ratios.penalty + means.mu2_sq[1] @ mass + left)
    np.testing.assert_allclose(c_rare, expected, rtol=1e-12)


@pytest.mark.parametrize("p", POINTS, ids=lambda p: f"{p['kind']}-{p['sigma']}-{p['target'][:5]}-{p['lam']}")
def test_stored_theory_to_nine_digits(p, deviation):
    model = reference_model(p)
    found = spiked_losses(model, *srf_ratios(p))
    assert found.train == pytest.approx(p["theory"]["train"], rel=1e-9)
    assert found.test == pytest.approx(p["theory"]["test"], rel=1e-9)
    note_stored(deviation, found, p["theory"])
    for d, stored in p["theory_finite_d"].items():
        found = spiked_losses(model, *srf_ratios(p), d=int(d))
        assert found.train == pytest.approx(stored["train"], rel=1e-9)
        assert found.test == pytest.approx(stored["test"], rel=1e-9)
        note_stored(deviation, found, stored)


def note_stored(deviation, found, stored):
    values, expected = [found.train, found.test], [stored["train"], stored["test"]]
    deviation("losses.spiked_losses", "stored, 9 digits", values, expected)


def test_every_intermediate_of_the_worked_example(deviation):
    example = REFERENCE["worked_example"]
    model = reference_model(example["params"])
    kappa = np.array(example["kappa"])
    means = feature_means(model.activation, model.spikes, kappa)
    for name, stored in (("mu0", "mu0"), ("mu1", "mu1"), ("m2", "m2"), ("mu2_sq", "mu2sq")):
        np.testing.assert_allclose(getattr(means, name), example[stored], rtol=1e-9)
    labels = target_means(model.target, kappa, model.alignment, model.noise)
    for name in ("h0", "h1", "H"):
        np.testing.assert_allclose(getattr(labels, name), example[name], rtol=1e-9)
    solution = solve_spiked(model, *srf_ratios(example["params"]))
    names = {"s_1": "M", "s_v": "S", "s_length": "T", "s_perp": "m", "Q": "Q", "a_sq": "N"}
    for name, stored in (names | {"train": "train", "test": "test"}).items():
        np.testing.assert_allclose(getattr(solution, name), example[stored], rtol=1e-9)
        found = getattr(solution, name)
        deviation("losses.solve_spiked", "stored example", found, example[stored])
    for name in ("c", "Lambda"):
        np.testing.assert_allclose(getattr(solution.point, name), example[name], rtol=1e-9)
        found = getattr(solution.point, name)
        deviation("fixed_point.solve_fixed_point", "stored example", found, example[name])


def test_stored_simulations_lie_within_their_errors(capsys, deviation):
    scores = []
    for p in POINTS:
        sizes = [d for d in p["sim"] if int(d) == max(map(int, p["sim"]))]
        found = spiked_losses(reference_model(p), *srf_ratios(p), d=int(sizes[0]))
        simulated = p["sim"][sizes[0]]
        for name in ("train", "test"):
            z = (simulated[name]["mean"] - found[name][0]) / simulated[name]["se"]
            scores.append(z)
            with capsys.disabled():
                print(
                    f"\n{p['kind']} {p['sigma']} {p['target'][:8]} d={sizes[0]} {name}: z = {z:+.2f}", end=""
                )
    rms = np.sqrt(np.mean(np.square(scores)))
    with capsys.disabled():
        print(f"\nrms z = {rms:.2f} over {len(scores)}, largest {np.max(np.abs(scores)):.1f}")
    # The stored runs are at d = 600 and 1200; sampling alone gives 1, what is left is O(1/d).
    assert rms < 1.35
    assert np.max(np.abs(scores)) < 4.5
    deviation("losses.spiked_losses", "stored, d = 600 and 1200", scores, 0, 1)


def random_bulk(rng, groups, bins=5):
    weights = rng.dirichlet(np.ones(bins))
    v, t = np.linalg.qr(rng.standard_normal((bins, 2)))[0].T
    scales = rng.uniform(0.3, 2, (groups, bins))
    return BulkCovariance(weights, v * v, v * t, t * t, scales / (scales @ weights)[:, None])


@pytest.mark.parametrize("name", ["tanh", "softplus"])
@pytest.mark.parametrize("anisotropic", [False, True])
@pytest.mark.parametrize("d", [None, 200])
@pytest.mark.parametrize(
    ("spikes", "fractions", "scales"),
    [
        ((1.0,), (1.0,), 1.0),
        ((1.0, -0.5), (0.3, 0.7), 1.1),
        ((1.0, -0.5, 0.2), (0.3, 0.4, 0.3), (1.2, 1.0, 0.9)),
    ],
)
def test_against_plain_sweeps(name, anisotropic, d, spikes, fractions, scales, deviation):
    # The sweeps use a trapezoid rule, no Newton and no linear solve: another route to the same equations.
    G, alpha, beta, ridge, nu = len(spikes), 2.0, 1.5, 0.05, 0.7
    sigma = activation(name)
    bulk = random_bulk(np.random.default_rng(3), G) if anisotropic else None

    def labels(kappa):
        means = target_means(HE12, kappa, 0.7, 0.3)
        return means.h0, means.h1, means.variance

    bins = None if bulk is None else (bulk.weights, bulk.vv, bulk.vt, bulk.tt, bulk.scales)
    train, test, power = cavity_losses(
        sigma.function, spikes, fractions, labels, alpha, beta, ridge * alpha / beta, bins=bins,
        scales=np.broadcast_to(scales, G), nu=nu, inverse_d=0.0 if d is None else 1 / d,
        nodes=801,
    )  # fmt: skip
    model = SpikedModel(sigma, spikes, fractions, HE12, 0.7, 0.3, scales, nu, bulk)
    found = spiked_losses(model, 1 / alpha, 1 / beta, ridge, d)
    assert found.train == pytest.approx(train, rel=2e-11)
    assert found.test == pytest.approx(test, rel=2e-11)
    assert found.objective == pytest.approx(train + ridge * power, rel=2e-11)
    losses = [found.train, found.test, found.objective]
    swept, route = [train, test, train + ridge * power], "plain sweeps of the equations"
    deviation("losses.spiked_losses", route, losses, swept)


# Exact checks.


@pytest.mark.parametrize("name", ["tanh", "relu", "centred softplus"])
@pytest.mark.parametrize("gamma", [0.0, 0.6, 1.0])
@pytest.mark.parametrize(("phi", "psi", "ridge"), [(0.5, 0.8, 0.1), (1.5, 1.5, 1e-3), (2.0, 0.4, 5.0)])
def test_without_spikes_it_is_random_features(name, gamma, phi, psi, ridge, deviation):
    sigma = activation(name)
    expected = ridge_losses(phi, psi, ridge, sigma.c1**2, sigma.nonlinear_power, 1.0, 1.0 + 0.09)
    for nu in (0.0, 1.0):
        model = SpikedModel(sigma, [0.0], [1.0], HE12, gamma, 0.3, 1.0, nu)
        found = spiked_losses(model, phi, psi, ridge)
        for loss in ("train", "test", "objective"):
            value, limit = found[loss][0], float(expected[loss][0])
            assert value == pytest.approx(limit, rel=1e-10)
            deviation("losses.spiked_losses", "ridge_losses without spikes", value, limit)


@pytest.mark.parametrize("name", ["tanh", "erf", "sign", "he3"])
@pytest.mark.parametrize("minus", [0.2, 0.5])
def test_an_odd_activation_does_not_see_the_sign_of_a_spike(name, minus):
    one = SpikedModel(activation(name), [1.3], [1.0], HE12, 0.7, 0.3)
    two = SpikedModel(activation(name), [1.3, -1.3], [1 - minus, minus], HE12, 0.7, 0.3)
    a, b = (spiked_losses(model, 0.5, 0.7, [0.01, 1.0], 300) for model in (one, two))
    for loss in ("train", "test", "objective"):
        np.testing.assert_allclose(a[loss][0], b[loss][0], rtol=1e-10)


def population_error(model, beta, d, ridge, rng):
    """The ridge fit on infinitely many samples, for realised Gaussian rows, spike along the first axis."""
    fractions = model.fractions
    rows = rng.standard_normal((round(beta * d), d)) / np.sqrt(d)
    group = np.arange(len(rows)) * model.spikes.size // len(rows)
    assert np.allclose(np.bincount(group) / len(rows), fractions)
    across, length = rows[:, 1:], np.linalg.norm(rows[:, 1:], axis=1)
    nodes, weights = np.polynomial.hermite_e.hermegauss(24)
    weights /= weights.sum()
    labels = target_means(model.target, nodes, model.alignment, model.noise)
    gram, cross = ridge * np.eye(len(rows)), np.zeros(len(rows))
    for kappa, weight, h0, h1 in zip(nodes, weights, labels.h0, labels.h1, strict=True):
        shift = kappa * (rows[:, 0] + model.spikes[group])
        zeta, mass = np.polynomial.hermite_e.hermegauss(64)
        values = model.activation.function(length[:, None] * zeta + shift[:, None])
        mean, slope = values @ mass / mass.sum(), values @ (mass * zeta) / mass.sum()
        rest = values**2 @ mass / mass.sum() - mean**2 - slope**2
        tilted = slope[:, None] * across / length[:, None]
        gram += weight * (np.outer(mean, mean) + tilted @ tilted.T + np.diag(rest))
        cross += weight * (mean * h0 + tilted[:, 0] * h1)
    power = weights @ labels.H
    readout = np.linalg.solve(gram, cross)
    return power - 2 * cross @ readout + readout @ (gram - ridge * np.eye(len(rows))) @ readout


@pytest.mark.parametrize("name", ["tanh", "softplus"])
def test_infinitely_many_samples_give_the_best_fit_of_the_population(name, capsys, deviation):
    beta, ridge, d = 1.0, 0.02, 150
    model = SpikedModel(activation(name), [1.2, -0.4], [0.5, 0.5], HE12, 0.7, 0.3)
    few, many = (spiked_losses(model, phi, 1 / beta, ridge, d) for phi in (1e-5, 1e-6))
    assert few.test - few.train == pytest.approx(10 * (many.test - many.train), rel=1e-3)
    assert many.train == pytest.approx(many.test, rel=1e-4)
    rng = np.random.default_rng(11)
    draws = [population_error(model, beta, d, ridge, rng) for _ in range(10)]
    error = np.std(draws, ddof=1) / np.sqrt(len(draws))
    z = (np.mean(draws) - many.test) / error
    deviation("losses.spiked_losses", "fit of the population, d = 150, 10 draws", z, 0, 1)
    with capsys.disabled():
        print(
            f"\nalpha -> infinity, {name}: {np.mean(draws):.4f} +- {error:.4f}, "
            f"theory {many.test:.4f}, z {z:+.1f}"
        )
    assert abs(z) < 3.5


@pytest.mark.parametrize("name", ["tanh", "softplus"])
def test_infinitely_many_neurons_give_kernel_ridge_regression(name, capsys, deviation):
    alpha, d, penalty = 2.0, 150, 0.1
    n = round(alpha * d)
    model = SpikedModel(activation(name), [1.2, -0.4], [0.5, 0.5], HE12, 0.7, 0.3)
    # With |y - F a/sqrt(N)|^2 + penalty |a|^2 the limit exists, and is approached as 1/N.
    beta = np.array([1e4, 2e4, 4e4])
    curve = spiked_losses(model, 1 / alpha, 1 / beta, penalty * beta / alpha, d)
    assert np.diff(curve.test)[0] / np.diff(curve.test)[1] == pytest.approx(2, rel=2e-3)
    limit = {loss: 2 * curve[loss][0][2] - curve[loss][0][1] for loss in ("train", "test")}
    rng = np.random.default_rng(5)
    draws = np.array([kernel_ridge(model, n, d, penalty, rng) for _ in range(14)])
    mean, error = draws.mean(0), draws.std(0, ddof=1) / np.sqrt(len(draws))
    for i, loss in enumerate(("train", "test")):
        z = (mean[i] - limit[loss]) / error[i]
        deviation("losses.spiked_losses", "kernel ridge regression, d = 150, 14 draws", z, 0, 1)
        with capsys.disabled():
            print(
                f"\nbeta -> infinity, {name} {loss}: {mean[i]:.4f} +- {error[i]:.4f}, "
                f"theory {limit[loss]:.4f}, z {z:+.1f}"
            )
        assert abs(z) < 3.5


def kernel_ridge(model, n, d, penalty, rng, tests=1000):
    """Train and test error of kernel ridge regression with the conditional-Gaussian kernel."""
    X = rng.standard_normal((n + tests, d))
    theta = rng.standard_normal(d)
    theta[0] = 0.0
    theta *= np.sqrt(1 - model.alignment**2) / np.linalg.norm(theta)
    theta[0] = model.alignment
    y = model.target(X @ theta) + model.noise * rng.standard_normal(n + tests)
    means = feature_means(model.activation, model.spikes, X[:, 0])
    kernel = np.einsum("g,gi,gj->ij", model.fractions, means.mu0, means.mu0[:, :n])
    kernel += np.einsum("g,gi,gj->ij", model.fractions, means.mu1, means.mu1[:, :n]) * (X @ X[:n].T) / d
    kernel += np.einsum("g,gi,gj->ij", model.fractions, means.m2, means.m2[:, :n]) / (2 * d)
    kernel[:n] += np.diag(model.fractions @ means.mu2_sq[:, :n])
    dual = np.linalg.solve(kernel[:n] + penalty * np.eye(n), y[:n])
    return np.mean((penalty * dual) ** 2), np.mean((y[n:] - kernel[n:] @ dual) ** 2)


# Faults, extremes, warm starts.


@st.composite
def problems(draw, wide):
    names = ["tanh", "erf", "relu", "softplus", "gelu", "sin", "sign", "abs", "he2", "he3", "identity"]
    sigma = activation(draw(st.sampled_from(names)))
    spikes = draw(
        st.lists(st.sampled_from([0.0, 1e-8, 1e-3, 0.5, 1.0, -1.0, 3.0, 10.0]), min_size=1, max_size=4)
    )
    fractions = np.array(draw(st.lists(st.floats(0.05, 1), min_size=len(spikes), max_size=len(spikes))))
    labels = target(draw(st.sampled_from(["tanh", "sign", (0, 1, 2**-0.5), (0, 0, 1)])))
    gamma = draw(st.sampled_from([0.0, 1e-6, 0.5, 0.9999, 1.0]))
    noise = draw(st.sampled_from([0.0, 0.3, 1e3]))
    reach = 3 if wide else 0.7
    alpha, beta = (10.0 ** draw(st.floats(-reach, reach)) for _ in range(2))
    if draw(st.integers(0, 4)) == 0:
        beta = alpha
    ridge = 10.0 ** draw(st.floats(-8, 1.5))
    d = draw(st.sampled_from([None, 300]))
    model = SpikedModel(
        sigma,
        spikes,
        fractions / fractions.sum(),
        labels,
        gamma,
        noise,
        1.0,
        draw(st.sampled_from([0.0, 1.0])),
    )
    return model, 1 / alpha, 1 / beta, ridge, d


def check_losses(model, phi, psi, ridge, d):
    found = spiked_losses(model, phi, psi, ridge, d)
    assert np.isfinite([found.train, found.test, found.objective]).all()
    assert found.test >= model.noise**2 * (1 - 1e-9)
    assert 0 <= found.train <= found.objective * (1 + 1e-9)


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(problems(wide=False))
def test_extremes_converge(problem):
    check_losses(*problem)


@settings(max_examples=80, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(problems(wide=True))
def test_wilder_extremes_converge_or_say_so(problem):
    with contextlib.suppress(ConvergenceError):
        check_losses(*problem)


def random_problem(rng):
    name = rng.choice(["tanh", "erf", "relu", "softplus", "gelu", "sin", "sigmoid", "silu", "abs", "sign"])
    spikes = rng.uniform(-3, 3, rng.integers(1, 5))
    if rng.random() < 0.3:
        spikes = np.array([1.0, -1.0]) * spikes[0]
    fractions = 0.95 * rng.dirichlet(np.ones(spikes.size)) + 0.05 / spikes.size
    labels = target([(0, 1, 2**-0.5), "tanh", "sign", "sin", (0, 0, 1)][rng.integers(5)])
    gamma, noise = rng.choice([0.0, 1.0, rng.uniform(-1, 1)]), rng.choice([0.0, 0.3, 3.0])
    model = SpikedModel(
        activation(str(name)), spikes, fractions, labels, gamma, noise, 1.0, float(rng.integers(2))
    )
    alpha, beta = np.exp(rng.uniform(np.log(0.2), np.log(8), 2))
    if rng.random() < 0.2:
        beta = alpha
    return model, 1 / alpha, 1 / beta, np.exp(rng.uniform(np.log(1e-8), np.log(30))), rng.choice([None, 300])


@pytest.mark.parametrize("count", [100, pytest.param(2000, marks=pytest.mark.slow)])
def test_no_random_problem_fails(count):
    rng = np.random.default_rng(count)
    for _ in range(count):
        check_losses(*random_problem(rng))


def test_the_solver_gives_up_loudly(monkeypatch):
    monkeypatch.setattr("onestep_lib.spiked_features.fixed_point._ITERATIONS", 2)
    model = SpikedModel(activation("tanh"), [3.0], [1.0], target("tanh"), 0.5)
    with pytest.raises(ConvergenceError, match="spiked_resolvent") as caught:
        spiked_losses(model, 1.0, 1.0, 1e-8)
    assert caught.value.residual > 1e-11
