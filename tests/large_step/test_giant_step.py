"""The giant step: the map, the batch covariance, stored and own simulations, the surrogate."""

import math
from functools import cache

import mpmath
import numpy as np
import pytest
from cavity_by_sweeps import cavity_losses
from scipy.optimize import brentq
from stored_numbers import SRF_TARGETS, srf_ratios, stored_data

from onestep_lib import ConvergenceError, Setting
from onestep_lib.activations import target
from onestep_lib.experiment import gradient_step, initial_network, sample_batch
from onestep_lib.large_step import (
    batch_squared,
    giant_step,
    stepped_model,
)
from onestep_lib.large_step.batch_squared import squared_covariance, squared_resolvents
from onestep_lib.spiked_features import SpikedModel, solve_spiked, spiked_losses, target_means

NETWORKS = [p for p in stored_data("srf")["points"] if p["kind"] == "one-gradient-step network"]


def stored_setting(p, N=10_000):
    d = 1000
    return Setting(
        n=round(p["alpha0"] * d), d=d, N=N, activation=p["sigma"], target=SRF_TARGETS[p["target"]],
        rows="spherical", readout="signs", step=p["eta_tilde"] * np.sqrt(N), ridge=0.1,
    )  # fmt: skip


def stored_model(p):
    """Spiked features at the stored r, gamma and bulk scales."""
    setting = stored_setting(p)
    signs = np.array([1.0, -1.0]) if p["balanced_signs"] else np.array([1.0])
    scales = np.sqrt([p["c_bulk2_plus"], p["c_bulk2_minus"]])[: signs.size]
    return SpikedModel(
        setting.activation, p["r"] * signs, np.full(signs.size, 1 / signs.size), setting.target, p["gamma"],
        0.0, scales, 0.0,
    )  # fmt: skip


def test_the_map_agrees_with_the_stored_one(deviation):
    for p in NETWORKS:
        if p["balanced_signs"]:
            minus, plus = (
                stepped_model(stored_setting(p).replace(readout=[z]), stored_setting(p).step, "isotropic")
                for z in (-1, 1)
            )
            stored = [p["r"], p["gamma"], p["c_bulk2_plus"], p["c_bulk2_minus"]]
            values = [*plus.spikes, plus.alignment, *plus.scales**2, *minus.scales**2]
            np.testing.assert_allclose(values, stored, rtol=1e-10)
            deviation("stepped_model.stepped_model", "stored, 10 digits", values, stored)


@pytest.mark.parametrize("p", NETWORKS, ids=lambda p: f"{p['sigma']}-{p['target']}-{p['alpha']}-{p['lam']}")
def test_stored_isotropic_theory_to_nine_digits(p, deviation):
    found = spiked_losses(stored_model(p), *srf_ratios(p))
    stored = p["theory_isotropic_c"]
    if (p["eta_tilde"], p["alpha"], p["beta"], p["lam"]) == (5.0, 1, 2.0, 0.001):
        # The stored value is 5.6e-9 off here: a separate, slow solution decides.
        def labels(kappa):
            means = target_means(target(SRF_TARGETS[p["target"]]), kappa, p["gamma"])
            return means.h0, means.h1, means.variance

        model = stored_model(p)
        train, test, _ = cavity_losses(
            np.tanh, model.spikes, model.fractions, labels, p["alpha"], p["beta"], p["lam"],
            scales=model.scales, nodes=4001,
        )  # fmt: skip
        stored = {"train": train, "test": test}
    assert found.train == pytest.approx(stored["train"], rel=1e-9)
    assert found.test == pytest.approx(stored["test"], rel=1e-9)
    values, expected = [found.train, found.test], [stored["train"], stored["test"]]
    deviation("losses.spiked_losses", "stored, 9 digits", values, expected)


@pytest.mark.parametrize("activation", ["odd", "relu"])
def test_stored_networks_by_standard_errors(activation, capsys, deviation):
    scores = []
    for p in NETWORKS:
        if (p["sigma"] == "relu") != (activation == "relu") or not p["balanced_signs"]:
            continue
        setting = stored_setting(p)
        model = stepped_model(setting, setting.step)
        for d, simulated in p["sim"].items():
            found = spiked_losses(model, *srf_ratios(p), d=int(d))
            for name in ("train", "test"):
                z = (simulated[name]["mean"] - found[name][0]) / simulated[name]["se"]
                scores.append(z)
                with capsys.disabled():
                    print(
                        f"\n{p['sigma']} {p['target']} alpha={p['alpha']} d={d} {name}: z = {z:+.2f}", end=""
                    )
    rms = np.sqrt(np.mean(np.square(scores)))
    with capsys.disabled():
        print(f"\nrms z = {rms:.2f} over {len(scores)}")
    # The largest, -5.3, is a train loss at alpha = 1, beta = 2 and lambda = 1e-3: a gap of finite size. Own
    # simulations give 0.0058 +- 0.0005 at d = 300 (800 draws), 0.0069 +- 0.0009 at d = 1200; theory 0.0087.
    assert rms < 1.5
    deviation("stepped_model.stepped_model", f"stored, d = 300 and 600, {activation}", scores, 0, 1)


@pytest.mark.parametrize("activation", ["odd", "relu"])
@pytest.mark.parametrize("name", ["train", "test"])
def test_the_isotropic_bulk_is_an_approximation(activation, name):
    scores = {"full": [], "isotropic": []}
    for p in NETWORKS:
        if (p["sigma"] == "relu") != (activation == "relu") or not p["balanced_signs"]:
            continue
        for bulk, z in scores.items():
            model = stepped_model(stored_setting(p), stored_setting(p).step, bulk)
            for d, simulated in p["sim"].items():
                found, _ = spiked_losses(model, *srf_ratios(p), d=int(d))[name]
                z.append((simulated[name]["mean"] - found) / simulated[name]["se"])
    full, isotropic = (np.sqrt(np.mean(np.square(z))) for z in scores.values())
    print(f"{activation}, {name}: rms z {full:.2f}, with the isotropic bulk {isotropic:.2f}")
    assert full < 1.4
    assert isotropic > 2


@pytest.mark.parametrize(
    ("name", "labels"), [("tanh", (0, 1, 2**-0.5)), ("relu", (0.3, 1.0)), ("gelu", (0, 1, 0, 0.3))]
)
def test_the_map_describes_a_realised_step(name, labels, deviation):
    d = 400
    setting = Setting(
        n=2 * d, d=d, N=300, activation=name, target=labels, noise=0.3, rows="spherical", readout="signs",
        output="centred",
    )  # fmt: skip
    step = 1.2 * np.sqrt(setting.N)
    minus, plus = (stepped_model(setting.replace(readout=[z]), step, "isotropic") for z in (-1, 1))
    rows = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        theta = np.eye(d)[0]
        X, y = sample_batch(setting, setting.n, theta, rng)
        network = initial_network(setting, rng)
        stepped = gradient_step(network, X, y, step, "centred").weights
        v = X.T @ y / np.linalg.norm(X.T @ y)
        signs = np.sign(network.readout)
        along = (stepped - network.weights) @ v
        across = stepped - np.outer(stepped @ v, v)
        lengths = [np.mean(np.sum(across[signs == s] ** 2, axis=1)) for s in (1, -1)]
        rows.append([np.mean(signs * along), v @ theta, *lengths])
    mean, error = np.mean(rows, 0), np.std(rows, axis=0, ddof=1) / np.sqrt(len(rows))
    expected = np.array([*plus.spikes, plus.alignment, *plus.scales**2, *minus.scales**2])
    assert np.all(np.abs(mean - expected) < 4 * error + 0.015 * np.abs(expected)), (mean, expected, error)
    deviation("stepped_model.stepped_model", "d = 400, 6 draws", mean, expected, error)


# The batch covariance.


@pytest.mark.parametrize("strength", [0.05, 1.0, 20.0])
@pytest.mark.parametrize(
    ("labels", "noise", "alpha"), [((0, 1, 2**-0.5), 0.3, 2.0), ("tanh", 0.0, 1.0), ((0, 0, 1), 0.0, 0.5)]
)
def test_the_gauss_quadrature_reproduces_resolvents_it_was_not_fitted_to(
    labels, noise, alpha, strength, deviation
):
    bulk = squared_covariance(target(labels), noise, alpha, [strength])
    x = np.geomspace(1.01, 60, 31) / strength
    exact = squared_resolvents(target(labels), noise, alpha, x)
    assert np.all(bulk.weights >= 0)
    assert np.all(bulk.vv * bulk.tt >= bulk.vt**2 * (1 - 1e-12))
    np.testing.assert_allclose(
        [bulk.weights.sum(), bulk.vv.sum(), bulk.vt.sum(), bulk.tt.sum()], [1, 1, 0, 1], atol=1e-10
    )
    h = (bulk.scales[0] * (1 + strength * exact.mean_trace) - 1) / strength
    poles = 1 / (h + x[:, None])
    np.testing.assert_allclose(poles @ bulk.weights, exact.trace, rtol=3e-8)
    np.testing.assert_allclose(poles @ bulk.vv, exact.forms[:, 0, 0], rtol=3e-8)
    np.testing.assert_allclose(poles @ bulk.tt, exact.forms[:, 1, 1], rtol=3e-8)
    np.testing.assert_allclose(poles @ bulk.vt, exact.forms[:, 0, 1], atol=3e-8 / x.min())
    route, expected = "resolvents it was not fitted to", [exact.trace, exact.forms[:, 0, 0]]
    found = [poles @ bulk.weights, poles @ bulk.vv]
    deviation("batch_squared.squared_covariance", route, found, expected)
    found, expected = [poles @ bulk.tt, poles @ bulk.vt], [exact.forms[:, 1, 1], exact.forms[:, 0, 1]]
    deviation("batch_squared.squared_covariance", route, found, expected, scale=1 / x.min())


def test_the_resolvents_have_the_stated_derivatives(deviation):
    x, h = np.array([0.3, 2.0]), 1e-4
    at, low, high = (squared_resolvents(target((0, 1, 0.5)), 0.3, 2.0, x + s * h) for s in (0, -1, 1))
    dtrace, dforms = (high.trace - low.trace) / (2 * h), (high.forms - low.forms) / (2 * h)
    np.testing.assert_allclose(at.dtrace, dtrace, rtol=1e-6)
    np.testing.assert_allclose(at.dforms, dforms, rtol=1e-5, atol=1e-7)
    deviation("batch_squared.squared_resolvents", "central differences", at.dtrace, dtrace)
    deviation("batch_squared.squared_resolvents", "central differences", at.dforms, dforms, scale=1e-2)


def test_the_trace_of_h_at_n_equal_to_d_and_enormous_noise(deviation):
    # The root m of m^2 x/c + m x = 1 for y^2 = c: labels +-1 scaled, n = d.
    x = np.geomspace(1e-9, 1e3, 25)
    found = squared_resolvents(target("sign"), 0.0, 1.0, x).trace
    exact = 2 / (x + np.sqrt(x**2 + 4 * x))
    np.testing.assert_allclose(found, exact, rtol=1e-10)
    deviation("batch_squared.squared_resolvents", "closed form for labels +-1, n = d", found, exact)
    loud = squared_resolvents(target((0, 1, 0.5)), 1e3, 1.0, 1e6 * x).trace
    assert np.all(np.diff(loud) < 0)


@cache
def interpolation_error(power):
    """The largest error, over its value, of q^power on a panel of ln|y| in exact arithmetic, for any mu."""
    count, worst = batch_squared._PANEL_NODES, 0.0
    with mpmath.workdps(40):
        angles = [mpmath.pi * (2 * j + 1) / (2 * count) for j in range(count)]
        for shift in np.linspace(-2, 2, 17):
            # With ln|y| = (panel/2) t + constant, mu y^2 is exp(panel (t - shift)).
            f = [(1 + mpmath.exp(batch_squared._PANEL * (mpmath.cos(a) - shift))) ** -power for a in angles]
            for t in np.linspace(-1, 1, 9):
                exact = (1 + mpmath.exp(batch_squared._PANEL * (mpmath.mpf(t) - shift))) ** -power
                weights = [(-1) ** j * mpmath.sin(a) / (t - mpmath.cos(a)) for j, a in enumerate(angles)]
                found = mpmath.fdot(weights, f) / mpmath.fsum(weights)
                worst = max(worst, float(abs(found / exact - 1)))
    return worst


@pytest.mark.parametrize("labels", [(0, 1, 0.7), (0.5, 1, 0, 0.3), "tanh", "sign", (1.7, 0.17)])
@pytest.mark.parametrize("noise", [0.0, 1e-3, 0.5, 3.0])
def test_a_few_hundred_labels_serve_for_their_law_at_every_mu(labels, noise, deviation):
    zeta, y, weights = batch_squared._label_quadrature(target(labels), noise)
    square, masses = batch_squared._label_law(target(labels), noise)
    assert square.size < 500
    mu = np.geomspace(1e-9, 1e12, 43) / (weights @ y**2)
    q = 1 / (1 + np.multiply.outer(mu, y**2))
    unit = np.finfo(float).eps / 2
    for found, part in zip(masses, (y**2, (y * zeta) ** 2, y * zeta), strict=True):
        for power, few in ((1, found), (2, found * square)):
            part = part * y ** (2 * power - 2)
            few_q = 1 / (1 + np.multiply.outer(square, mu)) ** power
            # BLAS would add 20,000 terms with an error of its own, another one on every processor: `fsum`
            # adds them exactly, and what is left is the rounding of the terms, of 12 operations each.
            terms = weights * part * q**power
            exact, size = np.array([math.fsum(row) for row in terms.tolist()]), np.abs(terms).sum(axis=1)
            moved, condition = few @ few_q, np.abs(few) @ few_q
            # The short sum rounds by its length at most; the sums that made its terms by the root of theirs,
            # since their roundings are independent. Both relative to the terms, not to what they cancel to.
            rounding = unit * (12 * size + (few.size + np.sqrt(y.size)) * condition)
            assert np.all(np.abs(moved - exact) < rounding + interpolation_error(power) * size)
            route = "averages over the law of the labels node by node"
            deviation("batch_squared.squared_resolvents", route, moved, exact, scale=size)


def test_resolvents_of_realised_batches(deviation):
    setting = Setting(n=600, d=300, N=1, target=(0, 1, 0.3), noise=0.3)
    x, rows = np.array([0.5, 3.0]), []
    for seed in range(12):
        theta = np.eye(setting.d)[0]
        X, y = sample_batch(setting, setting.n, theta, np.random.default_rng(seed))
        H = (X * (y**2)[:, None]).T @ X / setting.n
        v = X.T @ y / np.linalg.norm(X.T @ y)
        across = theta - (v @ theta) * v
        across /= np.linalg.norm(across)
        values, vectors = np.linalg.eigh(H)
        a, b = vectors.T @ v, vectors.T @ across
        poles = 1 / (values + x[:, None])
        rows.append([poles.mean(1), poles @ a**2, poles @ (a * b), poles @ b**2])
    mean, error = np.mean(rows, 0), np.std(rows, axis=0, ddof=1) / np.sqrt(len(rows))
    exact = squared_resolvents(setting.target, setting.noise, 2.0, x)
    expected = np.array([exact.trace, exact.forms[:, 0, 0], exact.forms[:, 0, 1], exact.forms[:, 1, 1]])
    assert np.all(np.abs(mean - expected) < 4.5 * error + 2e-3 * np.abs(expected)), (mean, expected, error)
    deviation("batch_squared.squared_resolvents", "d = 300, 12 batches", mean, expected, error)


# Limits, simulation, the surrogate, faults.


def test_a_linear_activation_is_one_group():
    """Two groups of a linear activation are collinear; at a tiny ridge their second moments are rounding."""
    s = Setting(
        n=33_333, d=1000, N=2000, activation="identity", target=(0, 1, 0.7), noise=1e-4, readout="signs",
        rows="spherical", ridge=(1e-8, 1e-7, 1e-6, 1e-4), step=5.0,
    )  # fmt: skip
    found = giant_step(s)
    assert np.all(np.diff(found.objective) > 0)
    assert found.objective[0] == pytest.approx(found.train[0], rel=1e-6)
    with pytest.raises(ConvergenceError, match="second moments"):
        solve_spiked(SpikedModel(s.activation, [0.0, 0.0], [0.5, 0.5], s.target), s.phi, s.psi, 1e-8, s.d)


@pytest.mark.parametrize("labels", [(0, 1, 0.5), (0, 0, 1)])
@pytest.mark.parametrize("alpha", [0.01, 0.5, 2.0, 100.0])
@pytest.mark.parametrize("strength", [1e-9, 1e-6, 1e-4, 1e-2, 1.0, 1e2, 1e4, 1e8, 1e60])
def test_the_batch_covariance_at_any_strength(labels, alpha, strength, deviation):
    """Averages of 1/(1 + cs) over the normalised covariance are resolvents of H, at every c."""
    bulk = squared_covariance(target(labels), 0.3, alpha, [strength])
    power = target(labels).second_moment + 0.09
    c = np.array([1e-3, 0.1, 1.0, 10.0, 1e3, 1e6])
    step = (1 / strength + power) / c
    exact = squared_resolvents(target(labels), 0.3, alpha, 1 / strength + step)
    values = 1 / (1 + np.multiply.outer(c, bulk.scales[0]))
    found = np.stack([values @ bulk.weights, values @ bulk.vv, values @ bulk.vt, values @ bulk.tt])
    forms = exact.forms
    expected = step * np.stack([exact.trace, forms[:, 0, 0], forms[:, 0, 1], forms[:, 1, 1]])
    size = expected[0].max()
    # A weak covariance is nearly the identity, and its correction has to keep its digits.
    limit = 3e-10 if strength < 1 else 3e-7
    np.testing.assert_allclose(found, expected, atol=limit * size, rtol=limit)
    deviation("batch_squared.squared_covariance", "resolvents, any strength", found, expected, scale=size)


def test_an_error_of_rounding_is_enough():
    """A linear target without noise is learned to 1e-14, where nothing is left to resolve."""
    setting = Setting(
        n=36219, d=799, N=2846, activation="identity", target=(0, 1), ridge=1.3e-6, step=60.0, readout="signs"
    )
    assert 0 < giant_step(setting).test < 1e-13
    # Exactly, whatever the step: only the penalty is left of the objective.
    for step in (1.0, 1e3, 2.7e4):
        found = giant_step(setting.replace(n=429, d=12, N=824, ridge=3.4e-7, step=step))
        assert abs(found.test) < 1e-14
        assert 0 < found.objective < 1e-8


@pytest.mark.parametrize("alpha", [0.5, 1.65, 4.0])
def test_the_trace_of_h_where_the_equation_is_flat(alpha, deviation):
    """Labels that are almost a constant: in log m the equation is a step, with its root on the slope."""
    labels, x = target((-1.7, -0.17)), np.geomspace(1e-8, 10, 12)
    points, weights = np.polynomial.hermite_e.hermegauss(80)
    square, weights = labels(points) ** 2, weights / weights.sum()

    def excess(log_m, x):
        return np.exp(log_m) * (x + weights @ (square / (1 + square * np.exp(log_m) / alpha))) - 1

    roots = [np.exp(brentq(excess, -np.log(at + 10), -np.log(at), args=(at,), xtol=1e-14)) for at in x]
    found = squared_resolvents(labels, 0.0, alpha, x).trace
    np.testing.assert_allclose(found, roots, rtol=1e-8)
    deviation("batch_squared.squared_resolvents", "scalar roots, almost constant labels", found, roots)
