"""Spikes in the features: the expansion, the rank-one parts, the outliers and their eigenvectors."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_activations import reference_activation
from scipy.special import factorial, factorial2
from stored_numbers import one_step_entries

from onestep_lib import Activation, Setting, simulate, simulate_spectrum
from onestep_lib.experiment import (
    conditional_gaussian_features,
    feature_matrix,
    infinite_spike_features,
    initial_network,
    measured_outliers,
    measured_spike,
    measured_spike_constant,
    ridge_path,
    sample_batch,
    sample_direction,
    sample_inputs,
    spike_features,
    take_steps,
)
from onestep_lib.experiment.feature_maps import measured_widening
from onestep_lib.experiment.measured import spike_error
from onestep_lib.hermite import hermite, monomial_to_hermite
from onestep_lib.no_step import feature_law
from onestep_lib.quadrature import gaussian_mean
from onestep_lib.small_step import (
    exact_spike,
    feature_outliers,
    gradient_spike,
    power_basis,
    spike_level,
    spike_norms,
)
from onestep_lib.small_step.spikes import spike_constant, spike_matrix

OUTLIERS = one_step_entries("outliers_FFt_over_n")
COMMON = {"target": (0, 1, 2**-0.5), "noise": 0.5}


def of_config(config):
    return Setting(
        n=config["n"],
        d=config["d"],
        N=config["N"],
        activation=reference_activation(config["act"]),
        target=config["cs"],
        noise=np.sqrt(config["sig2"]),
        step=config["eta"],
        rows=config["rows"],
        inputs="spherical" if config.get("xsph") else "gaussian",
    )


def draw(s, rng):
    """A stepped network, its fresh inputs, kappa for them, and the spike."""
    network, direction = initial_network(s, rng), sample_direction(s.d, rng)
    X, y = sample_batch(s, s.step_samples, direction, rng)
    (stepped,) = take_steps(network, X, y, s.steps, s.output)
    fresh = sample_inputs(s, s.n, rng)
    kappa = fresh @ stepped.direction / np.linalg.norm(stepped.direction)
    return stepped, fresh, kappa, measured_spike(stepped.direction, direction)


@pytest.mark.parametrize(
    ("exponent", "level"),
    [(0, 1), (0.2, 1), (0.25, 2), (0.3, 2), (0.34, 3), (0.375, 4), (0.485, 33), (0.49, 50)],
)
def test_spike_level(exponent, level, deviation):
    assert spike_level(exponent) == level
    assert level == 1 or (level - 1) / (2 * level) <= exponent
    assert exponent < level / (2 * level + 2)
    deviation("spikes.spike_level", "intervals of the theorem", spike_level(exponent), level)


@pytest.mark.parametrize(
    "entry", OUTLIERS, ids=lambda e: f"{e['cfg']['act']}-{e['cfg']['eta']}-{e['cfg']['n']}"
)
def test_outliers_reference(entry, deviation):
    s, level = of_config(entry["cfg"]), entry["cfg"]["l"]
    found = feature_outliers(s, level, gradient_spike(s)).values
    np.testing.assert_allclose(found, entry["outliers_theory"], rtol=1e-10)
    assert feature_law(s).edge == pytest.approx(entry["edge"], rel=1e-10)
    deviation("outliers.feature_outliers", "stored, 12 digits", found, entry["outliers_theory"])
    deviation("spectrum.bulk_edges", "stored, 12 digits", feature_law(s).edge, entry["edge"])
    # With the realised readouts the reference scatters by 3 to 5 % a draw at n = 1000.
    simulated = np.array(entry["sim_mean"][: found.size])
    expected = np.array(entry["theory_realised_S_mean"][: found.size])
    np.testing.assert_allclose(simulated, expected, rtol=0.06)


def test_outliers_are_those_of_the_exact_step_by_default():
    s = Setting(n=1000, d=500, N=400, activation="softplus", step=6.0, **COMMON)
    exact, rank_one = (feature_outliers(s, 2, spike).values for spike in (exact_spike(s), gradient_spike(s)))
    np.testing.assert_array_equal(feature_outliers(s, 2).values, exact)
    assert abs(exact[0] / rank_one[0] - 1) > 1e-3
    # Without a step there is none, and an activation that has no slope is covered.
    assert feature_outliers(s.replace(activation="sign", step=0.0), 1).values.size == 0


def test_gram_matrix_of_the_notes(deviation):
    # S = T T^T with P = H^T T, H the Hermite side: entries written out one by one.
    s = Setting(n=700, d=300, N=500, activation="softplus", step=6.0, **COMMON)
    level, sigma = 4, s.activation
    c, r = sigma.coefficients(level), sigma.c1 * 6.0 * np.sqrt(gradient_spike(s).power)
    S = np.zeros((level + 2, level + 2))
    for i in range(level + 1):
        for j in range(i % 2, level + 1, 2):
            S[i, j] = r ** (i + j) * c[i] * c[j] * s.N ** (1 - (i + j) / 2) * factorial2(max(i + j - 1, 0))
        if i % 2 == 0:
            one = s.N ** (1 - i / 2) * factorial2(max(i - 1, 0))
            S[i, -1] = S[-1, i] = c[i] * r**i * one * sigma.c2 * np.sqrt(2 / s.d)
    S[0, 0] += 2 * sigma.c2**2 * s.N / s.d
    S[-1, -1] = 2 * sigma.c2**2 * s.N / s.d
    H = np.eye(level + 2)
    H[:-1, :-1] = monomial_to_hermite(level) * np.sqrt([1, 1, 2, 6, 24])
    P = spike_matrix(s, level)
    np.testing.assert_allclose(P @ P.T, H.T @ S @ H, rtol=1e-11, atol=1e-13)
    deviation("spikes.spike_matrix", "entries one by one", P @ P.T, H.T @ S @ H, scale=1e-2)


@pytest.mark.parametrize("readout", ["gaussian", "signs"])
def test_spike_matrix_tends_to_the_moments(readout):
    s = Setting(n=10, d=10, N=400_000, activation="softplus", readout=readout, step=[0.0, 400.0], **COMMON)
    a = initial_network(s.replace(d=1), np.random.default_rng(0)).readout
    law, realised = spike_matrix(s, 3), spike_matrix(s, 3, readout=a)
    assert law.shape[0] == 2
    for one, other in zip(law, realised, strict=True):
        gram = one @ one.T
        size = np.sqrt(np.diag(gram))
        assert np.all(np.abs(other @ other.T - gram) <= 0.03 * size[:, None] * size)


def test_identity_has_one_exact_spike(deviation):
    s = Setting(n=80, d=30, N=40, activation="identity", step=3.0, noise=0.3)
    network, X, _, _ = draw(s, np.random.default_rng(0))
    for level in (1, 3):
        error = spike_error(network, X, level)
        assert error < 1e-12
        deviation("feature_maps.spike_features", "exact features, linear activation", error, 0, scale=1)


def test_spikes_take_over_as_n_grows():
    # eta = n^0.1: F_1 suffices, F_0 does not, and the second power falls like n^{-0.3}.
    errors, seeds = [], 4
    for n in (250, 1500):
        s = Setting(n=n, d=n // 2, N=3 * n // 4, activation="softplus", step=n**0.1, **COMMON)
        both = []
        for rng in np.random.default_rng(1).spawn(seeds):
            network, X, _, _ = draw(s, rng)
            difference = spike_error(network, X, 1)
            both.append([difference, spike_norms(s, 1)[0]])
        errors.append(np.mean(both, axis=0))
    (small, first), (large, second) = errors
    print(f"|F - F_1|/sqrt n: {small:.3f} at n = 250, {large:.3f} at 1500; spike {first:.2f}, {second:.2f}")
    assert large < 0.7 * small
    assert second > first > 3 * small


@pytest.mark.parametrize("readout", ["gaussian", "signs"])
def test_spike_norms_simulation(readout, deviation):
    s = Setting(n=1000, d=400, N=1500, activation="softplus", readout=readout, step=6.0, **COMMON)
    ratios = []
    for rng in np.random.default_rng(2).spawn(12):
        network, X, _, _ = draw(s, rng)
        c = s.activation.coefficients(2)
        along = c[1] * s.step * (X @ network.direction)
        norms = [np.linalg.norm(along**k) * np.abs(c[k]) * np.linalg.norm(network.readout**k) for k in (1, 2)]
        ratios.append(norms / np.sqrt(s.n) / spike_norms(s, 2))
    ratios = np.array(ratios)
    z = (ratios.mean(axis=0) - 1) / (ratios.std(axis=0, ddof=1) / np.sqrt(len(ratios)))
    print(f"{readout}: norms of spikes over theory {ratios.mean(axis=0)}, z {z}")
    deviation("spikes.spike_norms", "n = 1000, 12 draws", z, 0, 1)
    assert np.all(np.abs(z) < 4)
    assert ratios.mean(axis=0) == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize(
    ("changes", "level"),
    [
        ({"activation": "relu", "rows": "spherical", "step": 15.0}, 2),
        ({"activation": "softplus", "step": 10.0}, 2),
        ({"activation": "tanh", "step": 3.0, "readout": "signs"}, 3),
        ({"activation": "softplus", "step": 3.5, "n_0": 140}, 2),
        ({"activation": "softplus", "step": 10.0, "n_0": 4200}, 2),
    ],
)
def test_outliers_simulation(changes, level, deviation):
    s = Setting(n=700, d=420, N=560, **COMMON, **changes)
    count = feature_outliers(s, level).values.size
    rows = []
    for rng in np.random.default_rng(4).spawn(10):
        network, X, kappa, spike = draw(s, rng)
        found = measured_outliers(spike_features(level)(network, X, rng), kappa, count, level)
        theory = feature_outliers(s, level, spike, network.readout)
        own = np.argmax(theory.overlaps, axis=1)
        overlap = [(one.overlaps[range(count), own] for one in (found, theory))]
        rows += [[found.values / theory.values - 1, *(a - b for a, b in overlap)]]
    rows = np.array(rows)
    z = rows.mean(axis=0) / (rows.std(axis=0, ddof=1) / np.sqrt(len(rows)))
    values = feature_outliers(s, level).values
    print(f"{s.activation.name}: outliers {values}; z of values and overlaps {z.round(2)}")
    deviation("outliers.feature_outliers", "spiked features, n = 700, 10 draws", z, 0, 1)
    assert np.all(np.abs(z) < 4)
    assert np.all(np.abs(rows.mean(axis=0)) < 0.08)


def test_network_itself_has_the_outlier(deviation):
    s = Setting(n=700, d=420, N=560, activation="tanh", step=3.0, **COMMON)
    rows = []
    for rng in np.random.default_rng(5).spawn(10):
        network, X, kappa, spike = draw(s, rng)
        F = feature_matrix(network.weights, X, s.activation)
        found = measured_outliers(F, kappa, 1, 3)
        theory = feature_outliers(s, 3, spike, network.readout)
        rows.append([found.values[0] / theory.values[0] - 1, found.overlaps[0, 1] - theory.overlaps[0, 1]])
    rows = np.array(rows)
    z = rows.mean(axis=0) / (rows.std(axis=0, ddof=1) / np.sqrt(len(rows)))
    print(f"network: relative gap of the outlier {rows[:, 0].mean():.3f}, z {z.round(2)}")
    deviation("outliers.feature_outliers", "network, n = 700, 10 draws", z, 0, 1)
    assert np.all(np.abs(z) < 4)


def test_the_network_has_the_constant_that_f_2_lacks(deviation):
    # The mean of a row's features grows with its length; for relu it is |w|/sqrt(2 pi).
    s = Setting(n=700, d=420, N=560, activation="relu", rows="spherical", step=5.0, **COMMON)
    spike = exact_spike(s)
    sizes = s.activation.c1**2 * s.step**2 * spike.power / s.N
    rows = []
    for rng in np.random.default_rng(7).spawn(12):
        network, X, _, _ = draw(s, rng)
        z = network.readout * np.sqrt(s.N)
        a, b = network.readout, network.direction
        rank_one = network.initial.weights + s.step * s.activation.c1 * np.outer(a, b)
        excess = feature_matrix(network.weights, X, s.activation) - feature_matrix(rank_one, X, s.activation)
        lengths = [np.sqrt(1 + sizes * z**2 * (1 + q)) for q in (0.0, spike.widening)]
        expected = (lengths[1] - lengths[0]) / np.sqrt(2 * np.pi)
        rows.append([excess.mean(axis=0) @ z**2 / (expected @ z**2), measured_widening(network)])
    (constant, widening), error = np.mean(rows, axis=0), np.std(rows, axis=0, ddof=1) / np.sqrt(len(rows))
    print(f"constant over theory {constant:.3f} +- {error[0]:.3f}; q {widening:.3f} +- {error[1]:.3f}")
    assert abs(constant - 1) < 4 * error[0]
    assert error[0] < 0.1
    assert abs(widening - spike.widening) < 4 * error[1]
    route = "widening and its constant, n = 700, 12 draws"
    deviation("gradient.exact_spike", route, [constant, widening], [1, spike.widening], error)
    assert error[1] < 0.1 * spike.widening


def constant_part(s, rng):
    """Constant part along a∘a that F_2 leaves of the network, over sqrt(n): without and with widening."""
    network, X, _, _ = draw(s, rng)
    neurons = network.readout**2 / np.linalg.norm(network.readout**2)
    F = feature_matrix(network.weights, X, s.activation)
    rests = [F - spike_features(2, widened)(network, X, rng) for widened in (False, True)]
    return [rest.mean(axis=0) @ neurons for rest in rests]


@pytest.mark.slow
def test_widened_spikes_are_closer_to_the_network():
    # The constant that F_2 leaves does not fall with n; that of the widened one does, like eta^2/N.
    s = Setting(n=400, d=240, N=320, activation="relu", rows="spherical", step=1.0, **COMMON)
    parts = []
    for n in (400, 1600):
        large = s.replace(n=n, d=3 * n // 5, N=4 * n // 5, step=n**0.29)
        parts.append(
            np.mean([constant_part(large, rng) for rng in np.random.default_rng(8).spawn(8)], axis=0)
        )
    (small, small_wide), (large, large_wide) = np.abs(parts)
    print(f"constant part of F - F_2 over sqrt n: {small:.3f}, {large:.3f}; widened {small_wide:.3f}, "
          f"{large_wide:.3f}")  # fmt: skip
    assert large > 0.8 * small
    assert large_wide < 0.5 * large
    assert large_wide < small_wide


# Every printed condition of the theorem: c_k of all degrees, c_0 = 0, bounded derivatives of every order.
WAVE = Activation(
    "sin x + cos x, centred",
    lambda x: np.sin(x) + np.cos(x) - np.exp(-0.5),
    (),
    lambda x: np.cos(x) - np.sin(x),
)


def wave_setting(n):
    return Setting(
        n=n, d=3 * n // 5, N=4 * n // 5, activation=WAVE, target=(0, 1), noise=0.5, rows="spherical",
        step=n**0.27,
    )  # fmt: skip


def wave_constant(s, readout):
    """The projection in closed form: a row of length v has mean e^{-v^2/2} - e^{-1/2}, and F_2's is added."""
    c, spike = s.activation.coefficients(2), exact_spike(s)
    square = readout**2
    along = (c[1] * s.step) ** 2 * spike.power * square
    means = np.exp(-0.5) * np.expm1(-along * (1 + spike.widening) / 2) - c[2] * along
    return means @ square / (square @ square)


@pytest.mark.slow
def test_the_exact_step_has_one_more_term_than_f_2(deviation):
    """Its size grows like n^{2 alpha - 1/2}; the whole norm of F - F_2 is larger and still falls."""
    rows = []
    for n, repeats in ((400, 16), (1600, 8)):
        s, ratios, sizes, left, norms = wave_setting(n), [], [], [], []
        for rng in np.random.default_rng(3).spawn(repeats):
            network, X, _, _ = draw(s, rng)
            # Opposite inputs: the odd part of the features, which has mean 0, drops out exactly.
            both = np.vstack([X, -X])
            constant = measured_spike_constant(network, both)
            ratios.append(constant / wave_constant(s, network.readout))
            left.append(measured_spike_constant(network, both, widened=True) / constant)
            sizes.append(np.abs(constant) * np.linalg.norm(network.readout**2))
            norms.append(spike_error(network, X, 2))
        error = np.std(ratios, ddof=1) / np.sqrt(repeats)
        leading = spike_constant(s) / wave_constant(s, network.readout)
        print(f"n = {n}: projection {np.mean(ratios):.3f} +- {error:.3f} of the closed form (leading "
              f"{leading:.3f}), size {np.mean(sizes):.3f}, |F - F_2| {np.mean(norms):.3f}")  # fmt: skip
        z = (np.mean(ratios) - 1) / error
        deviation("spikes.spike_constant", "network, n = 400 and 1600", z, 0, 1)
        assert abs(z) < 4
        assert error < 0.05
        assert abs(np.mean(left)) < 0.3
        rows.append([np.mean(sizes), np.mean(norms)])
    (small, small_norm), (large, large_norm) = rows
    assert large > small
    assert large_norm < 0.9 * small_norm
    assert large < large_norm


def test_spike_constant_is_the_closed_form_s_limit(deviation):
    s = wave_setting(10**12)
    found = wave_constant(s, np.random.default_rng(0).standard_normal(10**5) / np.sqrt(s.N))
    # 2e-9: of relative order eta^2/N.
    assert spike_constant(s) == pytest.approx(found, rel=1e-4)
    deviation("spikes.spike_constant", "closed form at n = 10^12", spike_constant(s), found)
    path = spike_constant(s.replace(step=(0.0, 2.0)))
    assert path.tolist() == [0, spike_constant(s.replace(step=2.0))]
    rows = power_basis(2, exact_spike(s).widening)
    assert rows[2, 0] == pytest.approx(1 + exact_spike(s).widening)


@pytest.mark.slow
def test_rows_normalised_again_have_no_constant():
    """The coefficient of F_2 minus that of He_2 is then all that is left: q = -1."""
    s, ratios = wave_setting(1600), []
    for rng in np.random.default_rng(4).spawn(4):
        network, X, _, _ = draw(s, rng)
        unit = network.weights / np.linalg.norm(network.weights, axis=1, keepdims=True)
        both = np.vstack([X, -X])
        ratios.append(measured_spike_constant(replace(network, weights=unit), both))
    expected = -spike_constant(s) / exact_spike(s).widening
    mean, error = np.mean(ratios) / expected, np.std(ratios, ddof=1) / 2 / abs(expected)
    print(f"normalised again: {mean:.3f} +- {error:.3f} of q = -1")
    assert mean == pytest.approx(1, abs=4 * error)
    assert error < 0.05


@pytest.mark.parametrize("widening", [0.0, 0.57, 3.0])
def test_power_basis_by_quadrature(widening):
    level, kappa = 6, np.linspace(-2, 2, 5)
    average = [
        gaussian_mean(lambda x, k=k, at=at: (at + np.sqrt(widening) * x) ** k)
        for at in kappa
        for k in range(7)
    ]
    scale = np.sqrt(factorial(np.arange(level + 1)))
    found = power_basis(level, widening) / scale @ hermite(level, kappa)
    np.testing.assert_allclose(found.T.ravel(), average, rtol=1e-11, atol=1e-11)


def test_large_outliers_are_those_of_the_spike_alone(deviation):
    # Far outside the bulk F is a sum of rank-one matrices: the top value is |F_l - F_0|^2/n.
    s = Setting(n=900, d=400, N=500, activation="identity", step=300.0, **COMMON)
    found = feature_outliers(s, 1)
    assert found.values == pytest.approx(spike_norms(s, 1) ** 2, rel=1e-3)
    deviation("outliers.feature_outliers", "norm of one huge spike", found.values, spike_norms(s, 1) ** 2)
    assert found.overlaps[0, 1] == pytest.approx(1, abs=1e-4)


def test_feature_maps_in_simulate():
    s = Setting(n=60, d=30, N=40, activation="softplus", step=[0.0, 2.0], noise=0.3)
    rng = [np.random.default_rng(3) for _ in range(4)]
    network = simulate(s, rng[0], repeats=2)
    spiked = simulate(s, rng[1], repeats=2, feature_map=spike_features(2))
    np.testing.assert_allclose(spiked.draws[..., 0], network.draws[..., 0])
    widened = simulate(s, np.random.default_rng(3), repeats=2, feature_map=spike_features(2, widened=True))
    np.testing.assert_allclose(widened.draws[..., 0], network.draws[..., 0])
    assert np.all(spiked.train[1] != network.train[1])
    still = simulate(s.replace(step=0.0), rng[2], repeats=2, feature_map=spike_features(1))
    np.testing.assert_allclose(still.draws, network.draws[..., 0])
    few = simulate(
        s.replace(step=[1.0, 2.0]), rng[3], repeats=2, feature_map=infinite_spike_features(2), jobs=2
    )
    np.testing.assert_allclose(few.train[0], few.train[1])


@pytest.mark.parametrize("features", [spike_features(2), infinite_spike_features(1),
                                      "conditional_gaussian", conditional_gaussian_features])  # fmt: skip
@pytest.mark.parametrize("call", [partial(simulate, repeats=2), simulate_spectrum])
def test_maps_of_one_step_refuse_several(call, features):
    s = Setting(n=20, d=10, N=15, step=1.0)
    call(s, np.random.default_rng(0), feature_map=features)
    with pytest.raises(ValueError, match="updates must be 1 for features that describe .* got 2"):
        call(s.replace(updates=2), np.random.default_rng(0), feature_map=features)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"step": 0.0}, "step must be > 0"),
        ({"step": [0.0, 2.0]}, "step must be > 0"),
        ({"target": (0.0,)}, "step must be > 0, on labels not all 0"),
        ({"readout": "signs"}, "readout must be 'gaussian'"),
        ({"activation": "he2"}, "activation must have c_1 != 0"),
    ],
)
def test_infinite_spikes_refuse(changes, message):
    s = Setting(n=20, d=10, N=15, step=1.0).replace(**changes)
    with pytest.raises(ValueError, match=message):
        simulate(s, np.random.default_rng(0), repeats=2, feature_map=infinite_spike_features(2))


@pytest.mark.parametrize("features", [spike_features(2, widened=True), conditional_gaussian_features])
def test_without_labels_there_is_no_spike(features):
    s = Setting(n=20, d=10, N=15, step=1.0)
    network, X, _, _ = draw(s, np.random.default_rng(0))
    still = replace(network, weights=network.initial.weights, direction=np.zeros(s.d))
    expected = features(network.initial, X, np.random.default_rng(1))
    np.testing.assert_array_equal(features(still, X, np.random.default_rng(1)), expected)


@pytest.mark.parametrize("level", [1, 2, 4])
def test_infinite_spikes_are_free_of_penalty(level):
    # Ridge on F_0 without its part along a^k, after the powers of kappa are projected out.
    s = Setting(n=300, d=150, N=200, activation="softplus", step=3.0, ridge=0.01, **COMMON)
    network, X, kappa, _ = draw(s, np.random.default_rng(9))
    y = np.sin(3 * X[:, 0]) + X[:, 1]
    orders = np.flatnonzero(np.abs(s.activation.coefficients(level)[1:]) > 1e-12) + 1
    neurons, _ = np.linalg.qr(network.readout[:, None] ** orders)
    powers, _ = np.linalg.qr(kappa[:, None] ** orders)
    F = feature_matrix(network.initial.weights, X, s.activation)
    F = F - F @ neurons @ neurons.T
    left, rest = F - powers @ (powers.T @ F), y - powers @ (powers.T @ y)
    expected = ridge_path(left, rest, [s.ridge]).objective[0]
    found = ridge_path(infinite_spike_features(level)(network, X, None), y, [s.ridge]).objective[0]
    assert found == pytest.approx(expected, rel=1e-6)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    sizes=st.tuples(*[st.integers(1, 10**6)] * 3),
    slope=st.sampled_from([0.0, 1e-4, 1.0]),
    rest=st.sampled_from([1e-4, 1.0]),
    mean=st.sampled_from([0.0, 0.3, 30.0]),
    step=st.sampled_from([0.0, 1e-3, 1.0, 50.0]),
    level=st.integers(1, 4),
)
def test_outliers_at_extremes(sizes, slope, rest, mean, step, level):
    n, d, N = sizes
    sigma = Activation(
        "mixture",
        lambda x: mean + slope * x + rest * (x**2 + x**3 / 4 - 1),
        (),
        lambda x: slope + rest * (2 * x + 3 / 4 * x**2),
    )
    s = Setting(n=n, d=d, N=N, activation=sigma, step=step, **COMMON)
    found = feature_outliers(s, level)
    assert np.all(found.values > feature_law(s).edge * (1 - 1e-9))
    assert np.all(np.diff(found.values) <= 1e-9 * found.values[1:])
    assert np.all(np.isfinite(found.overlaps))
    assert np.all((found.overlaps >= -1e-9) & (found.overlaps.sum(axis=1, keepdims=True) <= 1 + 1e-6))
