"""Edges, laws and empirical spectra, against the quartic, against quadrature and against simulation."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_activations import reference_activation
from scipy.integrate import quad
from stored_numbers import one_step_entries

from onestep_lib import Activation, Setting, simulate_spectrum
from onestep_lib.experiment import (
    initial_network,
    operator_norm,
    sample_batch,
    sample_direction,
    take_steps,
)
from onestep_lib.no_step import (
    feature_law,
    marchenko_pastur_density,
    marchenko_pastur_edges,
)
from onestep_lib.no_step.spectrum import outer_traces, stieltjes
from onestep_lib.small_step import weight_spectrum

BULKS = one_step_entries("bulk_F0F0t_over_n")


def distribution_distance(eigenvalues, distribution):
    """The Kolmogorov-Smirnov distance; rounding below 1e-10 of the largest counts as 0."""
    values = np.sort(eigenvalues)
    positive = values[values > 1e-10 * values[-1]]
    expected = distribution(positive)
    above = np.arange(values.size - positive.size + 1, values.size + 1) / values.size - expected
    return max(np.abs(above).max(), np.abs(above - 1 / values.size).max())


def weight_distribution(psi):
    """That of W^T W, N/d times X^T X/N, by the midpoint rule in an angle."""
    low, high = marchenko_pastur_edges(psi)
    angles = np.linspace(0, np.pi, 40_001)
    middle = (angles[1:] + angles[:-1]) / 2
    x = low + (high - low) * np.sin(middle / 2) ** 2
    mass = marchenko_pastur_density(x, psi) * (high - low) / 2 * np.sin(middle) * angles[1]
    total = max(0.0, 1 - 1 / psi) + np.cumsum(mass)
    assert total[-1] == pytest.approx(1, abs=1e-6)
    return lambda y: np.interp(psi * y, x, total)


def of_entry(entry):
    return Setting(
        n=entry["n"],
        d=entry["d"],
        N=entry["N"],
        activation=reference_activation(entry["act"]),
        rows=entry["rows"],
    )


def mixture(slope, rest):
    """An activation with c_1 = slope and c_{>1} = rest."""
    return Activation("mixture", lambda x: slope * x + rest * (x**2 - 1) / np.sqrt(2))


@pytest.mark.parametrize("ratio", [0.2, 1.0, 3.0])
def test_marchenko_pastur(ratio, deviation):
    low, high = marchenko_pastur_edges(ratio)
    angle = np.pi * (np.arange(4000) + 0.5) / 4000
    x = (low + high) / 2 - (high - low) / 2 * np.cos(angle)
    mass = marchenko_pastur_density(x, ratio) * (high - low) / 2 * np.sin(angle) * np.pi / 4000
    assert mass.sum() == pytest.approx(min(1, 1 / ratio), abs=1e-6)
    assert mass @ x == pytest.approx(1, abs=1e-6)
    found, exact = [mass.sum(), mass @ x], [min(1, 1 / ratio), 1]
    deviation("marchenko_pastur.marchenko_pastur_density", "mass and mean, midpoint rule", found, exact)
    assert marchenko_pastur_density([high + 1e-3], ratio) == 0


@pytest.mark.parametrize("rows", ["gaussian", "spherical"])
@pytest.mark.parametrize(("d", "N"), [(300, 700), (500, 500), (700, 300)])
def test_weights_have_their_law(d, N, rows):
    s = Setting(n=2, d=d, N=N, rows=rows)
    W = initial_network(s, np.random.default_rng(0)).weights
    distance = distribution_distance(np.linalg.eigvalsh(W.T @ W), weight_distribution(s.psi))
    print(f"d = {d}, N = {N}, {rows}: Kolmogorov-Smirnov distance {distance:.4f}")
    assert np.sqrt(marchenko_pastur_edges(s.psi)[1] / s.psi) == pytest.approx(
        weight_spectrum(s.replace(step=1.0)).edge
    )
    assert distance < 4 / d


def test_a_step_leaves_the_law_of_the_weights_and_adds_one_outlier():
    s = Setting(n=800, d=400, N=600, target=(0, 1), step=8.0)
    rng = np.random.default_rng(1)
    network, direction = initial_network(s, rng), sample_direction(s.d, rng)
    W = next(take_steps(network, *sample_batch(s, s.n, direction, rng), [8.0])).weights
    eigenvalues = np.linalg.eigvalsh(W.T @ W)
    edge = marchenko_pastur_edges(s.psi)[1] / s.psi
    # Where the outlier is: test_step.
    assert eigenvalues[-1] > 3 * edge
    assert eigenvalues[-2] == pytest.approx(edge, rel=0.05)
    assert distribution_distance(eigenvalues, weight_distribution(s.psi)) < 6 / s.d


def test_linear_features_with_few_columns_are_marchenko_pastur(deviation):
    # sigma(x) = sqrt(b) (x^2 - 1)/sqrt(2): no linear part, and F is b times a Wishart matrix.
    law = feature_law(Setting(n=300, d=200, N=600, activation=mixture(0.0, 2.0)))
    low, high = marchenko_pastur_edges(0.5)
    assert law.support[0] == pytest.approx([4 * 2 * low, 4 * 2 * high])
    x = np.linspace(8 * low + 0.01, 8 * high - 0.01, 7)
    # N x n data of variance 4, normalised by n: twice the law of X^T X/N.
    expected = marchenko_pastur_density(x / 8, 0.5) / 8
    assert law.density(x) == pytest.approx(expected, rel=1e-5)
    route = "Marchenko–Pastur law, no linear part"
    deviation("spectrum.feature_law", route, law.density(x), expected)
    deviation("spectrum.bulk_edges", route, law.support[0], [8 * low, 8 * high])


@pytest.mark.parametrize("entry", BULKS, ids=lambda e: f"{e['act']}-{e['d']}-{e['N']}")
def test_support_reference(entry, deviation):
    law = feature_law(of_entry(entry))
    np.testing.assert_allclose(law.support, entry["support"], rtol=1e-9, atol=1e-12)
    assert law.atom == pytest.approx(entry["atom_at_0"], abs=1e-14)
    assert law.distribution(law.edge + 1) == pytest.approx(1, abs=1e-7)
    deviation("spectrum.bulk_edges", "stored, 12 digits", law.support, entry["support"], scale=1e-3)
    deviation("spectrum.feature_law", "mass of the distribution", law.distribution(law.edge + 1), 1)


@pytest.mark.parametrize("entry", BULKS, ids=lambda e: f"{e['act']}-{e['d']}-{e['N']}")
def test_spectrum_simulation(entry):
    s = of_entry(entry)
    s = s.replace(n=s.n // 2, d=s.d // 2, N=s.N // 2)
    distance = distribution_distance(
        simulate_spectrum(s, np.random.default_rng(2)), feature_law(s).distribution
    )
    print(f"{entry['act']} {s.n, s.d, s.N}: Kolmogorov-Smirnov distance {distance:.4f}")
    # One eigenvalue is 1/n of mass; with c_2 != 0 equivalence needs N << d^2/2, and N = d^2/15 here.
    assert distance < (12 if s.d == 150 else 6) / s.n


def test_distribution_distance_sees_another_law():
    s = Setting(n=300, d=200, N=400)
    eigenvalues = simulate_spectrum(s, np.random.default_rng(0))
    assert distribution_distance(eigenvalues, feature_law(s.replace(activation="relu")).distribution) > 0.05


@pytest.mark.parametrize("entry", BULKS, ids=lambda e: f"{e['act']}-{e['d']}-{e['N']}")
def test_outer_resolvent_is_the_stieltjes_transform(entry, deviation):
    s = of_entry(entry)
    z, bulk = outer_traces(np.array([0.03, 0.3, 1.0, 30.0]), s)
    at = (s.phi, s.psi, s.activation.c1**2, s.activation.nonlinear_power)
    k = s.n / s.N
    g, slope = stieltjes(z + 1e-12j, *at).real, stieltjes(z + 1e-7j * z, *at).imag / (1e-7 * z)
    assert k * bulk.m1 == pytest.approx(g, rel=1e-8)
    # d/dlambda = -d/dz, by a complex step of the quartic's root.
    assert k * bulk.dm1 == pytest.approx(-slope, rel=1e-5)
    deviation("spectrum.outer_traces", "root of the quartic", k * bulk.m1, g)
    deviation("spectrum.outer_traces", "complex step of the quartic's root", k * bulk.dm1, -slope)
    a, b = at[2:]
    # tr R (a X X^T/d + b) = k (a m_2 + b m_1) is tau itself.
    assert bulk.tau == pytest.approx(k * (a * bulk.m2 + b * bulk.m1))
    assert bulk.dtau == pytest.approx(k * (a * bulk.dm2 + b * bulk.dm1))


def test_outer_resolvent_without_linear_part(deviation):
    s = Setting(n=300, d=200, N=600, activation=mixture(0.0, 2.0))
    z, bulk = outer_traces(np.array([1e-9, 0.1, 1.0]), s)
    assert z[0] == pytest.approx(feature_law(s).edge)
    deviation("spectrum.top_distance", "the edge it leads to", z[0], feature_law(s).edge)
    at = (s.phi, s.psi, 0.0, s.activation.nonlinear_power)
    assert s.n / s.N * bulk.m1[1:] == pytest.approx(stieltjes(z[1:] + 1e-12j, *at).real, rel=1e-8)


sizes = st.floats(0, 1).map(lambda u: round(10 ** (3 + 6 * (u - 0.5))))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    n=sizes,
    d=sizes,
    N=sizes,
    slope=st.sampled_from([0.0, 1e-3, 1.0, 30.0]),
    rest=st.sampled_from([0.0, 1e-3, 1.0, 30.0]),
    same=st.sampled_from(["", "n = N", "n = d"]),
)
def test_edges_at_extremes(n, d, N, slope, rest, same):
    n, d, N = (max(value, 1) for value in (n, d, N))
    N, d = n if same == "n = N" else N, n if same == "n = d" else d
    if slope == rest == 0:
        rest = 1.0
    s = Setting(n=n, d=d, N=N, activation=mixture(slope, rest))
    law = feature_law(s)
    edges = law.support.ravel()
    assert np.all(np.isfinite(edges))
    assert edges[0] >= 0
    assert np.all(np.diff(edges) >= -1e-12 * edges[-1])
    z, bulk = outer_traces(np.geomspace(1e-9, 1e6, 31), s)
    assert z[0] == pytest.approx(law.edge, rel=1e-6)
    # Next to the edge z moves by the square of the distance, less than rounding.
    assert np.all(np.diff(z) >= -1e-14 * z[1:])
    assert np.all(np.diff(z[12:]) > 0)
    assert np.all(np.diff(bulk.m1) > 0)
    assert np.all(bulk.m1 < 0)
    assert np.all(bulk.tau > -1)


@pytest.mark.parametrize("shape", [(40, 70), (70, 40), (1, 5), (5, 1)])
def test_operator_norm(shape, deviation):
    matrix = np.random.default_rng(0).standard_normal(shape)
    found, exact = operator_norm(matrix), np.linalg.norm(matrix, 2)
    assert found == pytest.approx(exact, rel=1e-10)
    deviation("measured.operator_norm", "numpy.linalg.norm", found, exact)
    assert operator_norm(0 * matrix) == 0


# The law integrates to 1, also where its density is infinite at 0.


def fuss_catalan(x):
    """The density of the squared singular values of the product of two square Gaussian matrices."""
    root = np.cbrt(27 + 3 * np.sqrt(81 - 12 * x))
    return (
        np.cbrt(2) * np.sqrt(3) * (np.cbrt(2) * root**2 - 6 * np.cbrt(x)) / (12 * np.pi * x ** (2 / 3) * root)
    )


def test_linear_features_at_n_d_n_are_a_product_of_two_square_matrices(deviation):
    law = feature_law(Setting(n=7, d=7, N=7, activation="identity"))
    assert law.edge == pytest.approx(27 / 4)
    x = np.array([1e-6, 1e-3, 0.1, 1.0, 5.0, 6.74])
    # x = t^3 takes the singularity away.
    exact = [quad(lambda t: 3 * t**2 * fuss_catalan(t**3), 0, np.cbrt(end), epsabs=1e-12)[0] for end in x]
    np.testing.assert_allclose(law.distribution(x), exact, atol=2e-6)
    assert law.distribution(law.edge) == pytest.approx(1, abs=2e-7)
    deviation("spectrum.feature_law", "Fuss–Catalan law, by quadrature", law.distribution(x), exact)


@pytest.mark.parametrize("shape", [(300, 300, 300), (300, 150, 300), (150, 300, 150), (300, 299, 301)])
@pytest.mark.parametrize("name", ["identity", "tanh"])
def test_a_density_infinite_at_0_against_simulated_eigenvalues(name, shape):
    n, d, N = shape
    setting = Setting(n=n, d=d, N=N, activation=name)
    law = feature_law(setting)
    assert law.distribution(law.edge) == pytest.approx(1, abs=3e-7)
    distance = distribution_distance(simulate_spectrum(setting, np.random.default_rng(5)), law.distribution)
    print(f"{name} {shape}: Kolmogorov-Smirnov distance {distance:.4f}")
    assert distance < 6 / n


def test_linear_features_of_any_shape_have_a_law():
    sizes = (1, 2, 3, 10, 50, 100, 200, 400, 800)
    for n, d, N in itertools.product(sizes, repeat=3):
        law = feature_law(Setting(n=n, d=d, N=N, activation="identity"))
        assert law.atom == max(0.0, 1 - min(n, d, N) / n)
        assert np.all(np.diff(law.support.ravel()) > 0)
        # The mean of all eigenvalues is N/n.
        assert law.support[0, 0] < N / n / (1 - law.atom) < law.edge
