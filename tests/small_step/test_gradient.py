"""The step: its rank-one part, the direction of the spike, and the spectrum of the weights."""

from dataclasses import astuple, is_dataclass

import numpy as np
import pytest
from stored_numbers import one_step_entries

from onestep_lib import Setting
from onestep_lib.experiment import (
    feature_matrix,
    first_layer_gradient,
    gradient_direction,
    gradient_step,
    initial_network,
    measured_spike,
    measured_weight_spectrum,
    rank_one_error,
    sample_batch,
    sample_direction,
    take_steps,
)
from onestep_lib.experiment.network import residual
from onestep_lib.large_step import stepped_model
from onestep_lib.large_step.stepped_model import expected_lengths
from onestep_lib.small_step import (
    direction_floor,
    exact_spike,
    gradient_of,
    gradient_spike,
    label_direction_error,
    label_moments,
    second_direction,
    spike_norms,
    weight_spectrum,
)
from onestep_lib.small_step.spikes import spike_constant


def of_entry(entry, **changes):
    return Setting(
        n=entry["n"],
        d=entry["d"],
        N=entry["N"],
        activation=entry["act"],
        target=entry["cs"],
        noise=np.sqrt(entry["sigma_eps2"]),
        **changes,
    )


def draw(s, rng):
    network, direction = initial_network(s, rng), sample_direction(s.d, rng)
    X, y = sample_batch(s, s.step_samples, direction, rng)
    return network, direction, X, y


def z_scores(samples, expected):
    samples = np.asarray(samples)
    error = samples.std(axis=0, ddof=1) / np.sqrt(len(samples))
    return (samples.mean(axis=0) - expected) / error


def test_label_moments_of_batches_whose_target_has_a_mean(deviation):
    s, rng = Setting(n=1200, d=600, N=1, target=(0.7, 1, 0.5), noise=0.4), np.random.default_rng(3)
    samples = []
    for _ in range(40):
        direction = sample_direction(s.d, rng)
        X, y = sample_batch(s, s.n, direction, rng)
        b = X.T @ y / s.n
        samples.append([np.mean(y**2), b @ b, b @ direction / np.linalg.norm(b)])
    found = label_moments(s.target, s.noise)
    expected = [found.square, found.direction_power(s.phi), found.alignment(s.phi)]
    deviation("gradient.label_moments", "batches", np.mean(samples, axis=0), expected)
    assert np.all(np.abs(z_scores(samples, expected)) < 4)


LIMITS = {
    "gradient_of": gradient_of, "gradient_spike": gradient_spike, "exact_spike": exact_spike,
    "second_direction": second_direction, "direction_floor": direction_floor,
    "label_direction_error": lambda s: label_direction_error(s.replace(output="raw")),
    "weight_spectrum": weight_spectrum,
    "raw weight_spectrum": lambda s: weight_spectrum(s.replace(output="raw")),
    "spike_constant": spike_constant, "spike_norms": lambda s: spike_norms(s, 3),
    "expected_lengths": lambda s: expected_lengths(gradient_of(s), s.rows == "gaussian"),
    "stepped_model": lambda s: stepped_model(s, 5.0, "isotropic").spikes,
}  # fmt: skip


def fields(found):
    return astuple(found) if is_dataclass(found) else (found,)


@pytest.mark.parametrize("limit", LIMITS)
def test_limits_of_the_step_know_the_gradient_s_batch_alone(limit):
    s = Setting(n=900, d=400, N=700, activation="softplus", target=(0, 1, 0.5), noise=0.3, step=[1.0, 3.0])
    found, alone = (LIMITS[limit](case) for case in (s.replace(n_0=300), s.replace(n=300)))
    found, alone, whole, same = map(
        fields, (found, alone, LIMITS[limit](s), LIMITS[limit](s.replace(n_0=900)))
    )
    np.testing.assert_equal(found, alone)
    assert not all(map(np.array_equal, found, whole))
    np.testing.assert_equal(whole, same)


@pytest.mark.parametrize("output", ["centred", "raw"])
def test_endless_samples_make_the_population_s_gradient(output, deviation):
    s = Setting(n=40, d=40, N=30, target=(0, 1, 0.5), noise=2.0, output=output, n_0=2**50)
    spike = gradient_spike(s)
    # E[x y] = c_{*,1} beta_*; a raw network subtracts c_1 W_0^T a, of length c_1 and across beta_*.
    own = s.activation.c1**2 if output == "raw" else 0.0
    expected = [1 + own, 1 / np.sqrt(1 + own)]
    assert [spike.power, spike.alignment] == pytest.approx(expected, rel=1e-12)
    deviation("gradient.gradient_spike", "population gradient", [spike.power, spike.alignment], expected)
    if output == "centred":
        assert exact_spike(s).widening == pytest.approx(0, abs=1e-12)


def test_the_widening_of_relu_by_hand():
    # Var(sigma') = c_1^2 = 1/4, so that q = phi E y^2/B = 0.5 (1 + 0.09)/(1 + 0.5 (1 + 0.09)).
    s = Setting(n=600, d=300, N=200, activation="relu", target=(0, 1), noise=0.3)
    assert exact_spike(s).widening == pytest.approx(0.545 / 1.545, rel=1e-12)


def test_noise_is_averaged_by_the_gradient_s_batch():
    for n_0 in (500, 5000, 50_000):
        s = Setting(n=60, d=50, N=40, target="sin", noise=2.0, n_0=n_0)
        found = []
        for rng in np.random.default_rng(2).spawn(12):
            network, direction, X, y = draw(s, rng)
            found.append(measured_spike(gradient_direction(network, X, y), direction).alignment)
        assert abs(z_scores(found, gradient_spike(s).alignment)) < 4
    assert 1 - np.mean(found) < 0.01


def test_label_moments_without_labels_or_noise():
    assert label_moments(Setting(n=1, d=1, N=1, target=(0.0,)).target, 0.0).alignment(0.5) == 0
    linear = label_moments(Setting(n=1, d=1, N=1).target, 0.0)
    assert (linear.direction_power(1e-30), linear.alignment(1e-30)) == pytest.approx((1, 1), rel=1e-15)


@pytest.mark.parametrize(
    "entry", one_step_entries("bbp_weights"), ids=lambda e: f"{e['act']}-{e['theta']:.2f}"
)
def test_weight_spectrum_reference(entry, deviation):
    found, theory = weight_spectrum(of_entry(entry, step=entry["eta"])), entry["theory"]
    assert found.threshold == pytest.approx(entry["threshold_eta"], rel=1e-11)
    assert found.edge == pytest.approx(theory["bulk_edge"], rel=1e-11)
    values = (found.outlier, found.readout, found.direction, found.target)
    names = ("top_sv", "left_overlap2", "right_overlap2", "beta_star_overlap2")
    assert values == pytest.approx([theory[name] for name in names], rel=1e-10, abs=1e-12)
    stored = [theory[name] for name in names]
    deviation("weights.weight_spectrum", "stored, 12 digits", values, stored, scale=1e-2)


def test_raw_weight_spectrum_reference(deviation):
    (entry,) = one_step_entries("bbp_raw_network")
    found = weight_spectrum(of_entry(entry, step=entry["eta"], output="raw"))
    theory = entry["theory"]
    expected = [theory["top_sv"], theory["left_overlap2"], theory["beta_star_overlap2"]]
    values = (found.outlier, found.readout, found.target)
    assert values == pytest.approx(expected, rel=1e-10)
    deviation("weights.weight_spectrum", "stored, 12 digits", values, expected)
    # The overlap with b = X^T r/n was only simulated there (5 seeds).
    right = entry["order"].index("right_sim")
    assert abs(found.direction - entry["mean"][right]) < 3 * entry["se"][right]


@pytest.mark.parametrize("output", ["centred", "raw"])
def test_threshold_is_where_the_outlier_leaves(output):
    s = Setting(n=900, d=400, N=700, target=(0, 1, 0.5), noise=0.3, output=output)
    threshold = weight_spectrum(s).threshold
    below, above = (weight_spectrum(s.replace(step=threshold * f)) for f in (1 - 1e-6, 1 + 1e-6))
    assert below.outlier == below.edge
    assert below.readout == below.direction == below.target == 0
    assert above.edge < above.outlier < above.edge * (1 + 1e-9)
    assert 0 < above.readout < 1e-4


def test_weight_spectrum_of_a_path_and_without_slope():
    s = Setting(n=900, d=400, N=700, step=[0.0, 1.0, 5.0])
    found = weight_spectrum(s)
    single = [weight_spectrum(s.replace(step=step)) for step in s.step]
    for name in ("outlier", "readout", "direction", "target"):
        assert getattr(found, name) == pytest.approx([getattr(one, name) for one in single], rel=1e-15)
    flat = weight_spectrum(s.replace(activation="he2"))
    assert flat.threshold == np.inf
    assert np.all(flat.outlier == flat.edge)


@pytest.mark.parametrize(
    ("output", "activation", "step", "n_0"),
    [
        ("centred", "tanh", 2.5, None),
        ("centred", "softplus", 4.0, None),
        ("scaled", "relu", 4.0, None),
        ("raw", "tanh", 2.3, None),
        ("centred", "tanh", 2.5, 200),
        pytest.param("centred", "tanh", 3.5, 5000, marks=pytest.mark.slow),
        ("raw", "tanh", 2.5, 400),
    ],
)
def test_weight_spectrum_simulation(output, activation, step, n_0, deviation):
    s = Setting(
        n=1000, d=500, N=600, activation=activation, target=(0, 1, 0.3), noise=0.4, step=step, output=output,
        n_0=n_0,
    )  # fmt: skip
    samples = []
    for rng in np.random.default_rng(11).spawn(16):
        network, direction, X, y = draw(s, rng)
        (stepped,) = take_steps(network, X, y, step, output)
        found = measured_weight_spectrum(stepped, direction)
        samples.append([found.outlier, found.readout, found.direction, found.target])
    theory = weight_spectrum(s)
    z = z_scores(samples, [theory.outlier, theory.readout, theory.direction, theory.target])
    case = f"{output} {activation}, n_0 = {s.step_samples}"
    print(f"{case}: z of outlier, overlaps with a, b, beta_* {np.round(z, 2)}")
    deviation("weights.weight_spectrum", "n = 1000, 16 draws", z, 0, 1)
    assert np.all(np.abs(z) < 4)


@pytest.mark.parametrize("inputs", ["gaussian", "spherical"])
@pytest.mark.parametrize("output", ["centred", "raw"])
@pytest.mark.parametrize("n_0", [None, 80, 2000])
def test_spike_simulation(inputs, output, n_0, deviation):
    s = Setting(n=400, d=200, N=300, target=(0, 1, 0.5), noise=0.4, inputs=inputs, output=output, n_0=n_0)
    samples = []
    for rng in np.random.default_rng(3).spawn(60):
        network, direction, X, y = draw(s, rng)
        b = gradient_direction(network, X, y, output)
        samples.append([measured_spike(b, direction).power, b @ direction])
    expected = [gradient_spike(s).power, s.target.linear]
    z = z_scores(samples, expected)
    print(f"{inputs} inputs, {output}, n_0 = {s.step_samples}: z of |b|^2 and <b, beta_*> {np.round(z, 2)}")
    deviation("gradient.gradient_spike", f"n_0 = {s.step_samples}, 60 draws", z, 0, 1)
    assert gradient_spike(s).alignment * np.sqrt(expected[0]) == pytest.approx(s.target.linear)
    assert np.all(np.abs(z) < 4)


def rank_one_errors(s, seeds):
    errors = []
    for rng in np.random.default_rng(5).spawn(seeds):
        network, _, X, y = draw(s, rng)
        gradient = first_layer_gradient(network, X, y, s.output)
        directions = (X.T @ y / s.n, gradient_direction(network, X, y, s.output))
        errors.append([rank_one_error(gradient, network, b) for b in directions])
    return np.array(errors)


def test_labels_alone_miss_half_of_a_raw_gradient(deviation):
    # The small rest of order n^{-1/2} adds to the error in quadrature.
    s = Setting(n=1200, d=600, N=900, target=(0, 1, 2**-0.5), output="raw")
    errors = rank_one_errors(s, 10)
    z = z_scores(np.sqrt(errors[:, 0] ** 2 - errors[:, 1] ** 2), label_direction_error(s))
    print(
        f"raw, b = X^T y/n: error {errors[:, 0].mean():.3f}, limit {label_direction_error(s):.3f}, z {z:.2f}"
    )
    # By hand, with E tanh' = 0.60571 and E tanh^2 = 0.39429: sqrt(0.56403/(1 + 1 + 0.56403)).
    assert label_direction_error(s) == pytest.approx(0.46902, abs=1e-4)
    assert abs(z) < 4
    deviation("gradient.label_direction_error", "n = 1200, 10 draws", z, 0, 1)
    assert label_direction_error(s.replace(output="scaled")) == 0


@pytest.mark.parametrize("output", ["centred", "scaled", "raw"])
def test_rank_one_error_falls_like_the_root_of_n(output):
    s = Setting(n=300, d=150, N=200, target=(0, 1), noise=0.5, output=output)
    small = rank_one_errors(s, 8)[:, 1].mean()
    large = rank_one_errors(s.replace(n=1200, d=600, N=800), 8)[:, 1].mean()
    assert small / large == pytest.approx(2, rel=0.15)


def test_take_steps_is_the_gradient_step():
    s = Setting(n=60, d=30, N=40, noise=0.3, output="raw")
    network, _, X, y = draw(s, np.random.default_rng(0))
    for stepped in take_steps(network, X, y, [0.0, 0.7, 3.0], "raw"):
        expected = gradient_step(network, X, y, stepped.step, "raw")
        np.testing.assert_array_equal(stepped.weights, expected.weights)
        assert stepped.initial is network
        np.testing.assert_allclose(stepped.direction, X.T @ residual(network, X, y, "raw") / s.n)


def test_identity_has_an_exact_rank_one_gradient(deviation):
    s = Setting(n=60, d=30, N=40, activation="identity", noise=0.3, output="raw")
    network, _, X, y = draw(s, np.random.default_rng(0))
    gradient = first_layer_gradient(network, X, y, "raw")
    b = gradient_direction(network, X, y, "raw")
    error = rank_one_error(gradient, network, b)
    assert error < 1e-13
    # A direction of the wrong length misses its share.
    assert rank_one_error(gradient, network, 0.3 * b) == pytest.approx(0.7, rel=1e-10)
    deviation("network.gradient_direction", "exact gradient, linear activation", error, 0, scale=1)


def second_shares(s, rng):
    """<b_2, b>/|b|^2 and <b_2, beta_*>/<b, beta_*> of one draw."""
    network, direction, X, y = draw(s, rng)
    (stepped,) = take_steps(network, X, y, s.steps)
    moved = feature_matrix(stepped.weights, X, s.activation) - feature_matrix(
        network.weights, X, s.activation
    )
    b, second = stepped.direction, X.T @ (y - moved @ network.readout) / s.n
    return second @ b / (b @ b), second @ direction / (b @ direction)


@pytest.mark.parametrize(
    ("activation", "step", "phi"),
    [("tanh", 1.0, 0.6), ("softplus", 3.0, 0.5), ("centred relu", 0.3, 0.5), ("centred relu", 0.3, 1.5)],
)
def test_second_direction_simulation(activation, step, phi, deviation):
    s = Setting(
        n=400, d=int(400 * phi), N=500, activation=activation, target=(0, 1, 2**-0.5), noise=0.3, step=step
    )
    shares = [second_shares(s, rng) for rng in np.random.default_rng(6).spawn(40)]
    theory = second_direction(s)
    z = z_scores(shares, [theory.direction, theory.target])
    print(f"{activation}: {np.mean(shares, axis=0)}, theory {theory}, z {z.round(2)}")
    deviation("gradient.second_direction", "n = 400, 40 draws", z, 0, 1)
    assert np.all(np.abs(z) < 4)
    # Half of what the step changes, or more, would be missed without the sample's own share or gamma.
    error = np.std(shares, axis=0, ddof=1) / np.sqrt(len(shares))
    assert np.all(error < 0.04 * (1 - np.array([theory.direction, theory.target])))


def test_second_direction_of_a_path_and_of_relu():
    s = Setting(n=800, d=400, N=600, activation="relu", target=(0, 1, 2**-0.5), noise=0.3, step=[0.0, 2.0])
    found = second_direction(s)
    np.testing.assert_allclose(found.target, [1, 0], atol=1e-12)  # c_1^2 = Var sigma' = 1/4 by hand
    np.testing.assert_allclose(found.direction, [1, -2 * 0.125 / (1 + 2.09 / 2)], atol=1e-12)


@pytest.mark.parametrize("d", [1, 2, 3, 30])
def test_measured_weight_spectrum_of_any_width(d):
    s = Setting(n=60, d=d, N=40, step=3.0)
    network, direction, X, y = draw(s, np.random.default_rng(0))
    (stepped,) = take_steps(network, X, y, s.step)
    found = measured_weight_spectrum(stepped, direction)
    values, vectors = np.linalg.eigh(stepped.weights.T @ stepped.weights)
    assert found.outlier == pytest.approx(np.sqrt(values[-1]), rel=1e-12)
    assert found.edge == pytest.approx(np.sqrt(values[-2]) if d > 1 else 0, rel=1e-12)
    assert found.target == pytest.approx((vectors[:, -1] @ direction) ** 2, rel=1e-10)
    assert np.isnan(found.threshold)
