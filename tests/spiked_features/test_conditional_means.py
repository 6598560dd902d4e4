"""Conditional means against closed forms, derivatives in t, multiple precision and direct averages."""

import mpmath
import numpy as np
import pytest
from scipy.special import erf, log_ndtr, ndtr, voigt_profile

from onestep_lib import ConvergenceError
from onestep_lib.activations import Activation, activation, target
from onestep_lib.spiked_features import feature_means, kappa_grid, target_means
from onestep_lib.spiked_features.conditional_means import _inner_panels, _node_count
from onestep_lib.two_index import TwoIndexTarget

KAPPA = np.array([-3.0, -1.0, -0.2, 0.0, 0.5, 2.0, 4.0])
SMOOTH_AND_KINKED = ("tanh", "erf", "relu", "softplus", "sign", "abs", "gelu", "he3")


def density(t):
    return np.exp(-(t**2) / 2) / np.sqrt(2 * np.pi)


@pytest.mark.parametrize("scale", [0.6, 1.0, 1.4])
@pytest.mark.parametrize("spike", [0.0, 1.0, -3.0])
def test_relu_has_its_closed_forms(spike, scale, deviation):
    means = feature_means(activation("relu"), [spike], KAPPA, scale)
    t = spike * KAPPA / scale
    np.testing.assert_allclose(means.mu0[0], scale * (density(t) + t * ndtr(t)), atol=1e-14)
    np.testing.assert_allclose(means.mu1[0], scale * ndtr(t), atol=1e-14)
    np.testing.assert_allclose(means.m2[0], scale * density(t), atol=1e-14)
    second = scale**2 * ((1 + t**2) * ndtr(t) + t * density(t))
    rest = second - means.mu0[0] ** 2 - means.mu1[0] ** 2
    np.testing.assert_allclose(means.mu2_sq[0], rest, rtol=1e-11, atol=1e-14 * second.max())
    closed = [scale * (density(t) + t * ndtr(t)), scale * ndtr(t), scale * density(t), rest]
    found, size = [means.mu0[0], means.mu1[0], means.m2[0], means.mu2_sq[0]], max(1, second.max())
    deviation("conditional_means.feature_means", "closed forms of relu and erf", found, closed, scale=size)


@pytest.mark.parametrize("scale", [0.6, 1.0, 1.4])
def test_erf_has_its_closed_mean(scale, deviation):
    means = feature_means(activation("erf"), [2.0], KAPPA, scale)
    spread = np.sqrt(1 + 2 * scale**2)
    np.testing.assert_allclose(means.mu0[0], erf(2 * KAPPA / spread), atol=1e-14)
    slope = 2 / np.sqrt(np.pi) * np.exp(-((2 * KAPPA / spread) ** 2)) / spread
    np.testing.assert_allclose(means.mu1[0], scale * slope, atol=1e-14)
    found, closed = [means.mu0[0], means.mu1[0]], [erf(2 * KAPPA / spread), scale * slope]
    deviation("conditional_means.feature_means", "closed forms of relu and erf", found, closed, scale=1)


@pytest.mark.parametrize("scale", [2.0, 6.0, 60.0, 1e3, 1e5])
def test_wide_bulks_keep_their_digits(scale, deviation):
    # Spikes and bulks of large steps and much noise: all of the activation's bend is a narrow piece.
    t = scale * np.array([-12.0, -3.0, -0.5, -1e-3, 0.0, 2.0, 8.0, 40.0])
    x = t / scale
    found = feature_means(activation("relu"), [1.0], t, scale)
    closed = scale * np.array([density(x) + x * ndtr(x), ndtr(x), density(x)])
    size = scale * (1 + np.abs(x))
    np.testing.assert_allclose(np.vstack([found.mu0, found.mu1, found.m2]) / size, closed / size, atol=2e-15)
    spread = np.sqrt(1 + 2 * scale**2)
    mean = feature_means(activation("erf"), [1.0], t, scale).mu0[0]
    np.testing.assert_allclose(mean, erf(t / spread), atol=1e-14)
    # A Laplace activation, E e^{-|c zeta + t|}, is a sharp bend with an exponential tail.
    laplace = Activation("laplace", lambda x: np.exp(-np.abs(x)), (0.0,))
    left, right = log_ndtr(x - scale), log_ndtr(-x - scale)
    exact = np.exp(scale**2 / 2 - t + left) + np.exp(scale**2 / 2 + t + right)
    seen = feature_means(laplace, [1.0], t, scale).mu0[0]
    # e^{c^2/2 - t} cancels against the distribution function: the closed form loses digits like c^2.
    np.testing.assert_allclose(seen, exact, rtol=1e-14 * (10 + scale**2), atol=1e-15)
    deviation("conditional_means.feature_means", "closed forms, wide bulks", mean, erf(t / spread), None, 1)


@pytest.mark.parametrize("name", ["tanh", "relu", "softplus", "abs", "kink at 1/2"])
def test_a_symmetric_grid_gives_what_its_points_give_alone(name):
    if name == "kink at 1/2":
        sigma = Activation(name, lambda x: np.abs(x - 0.5) + np.tanh(x), (0.5,))
    else:
        sigma = activation(name)
    half = np.array([0.3, 1.0, 2.5, 7.0])
    for kappa in (np.concatenate([-half[::-1], half]), np.concatenate([-half[::-1], [0.0], half])):
        for spike, scale in ((1.0, 1.0), (-4.0, 3.0)):
            together = feature_means(sigma, [spike], kappa, scale)
            alone = [feature_means(sigma, [spike], [k], scale) for k in kappa]
            for field in ("mu0", "mu1", "m2", "mu2_sq"):
                one = np.array([getattr(means, field)[0, 0] for means in alone])
                np.testing.assert_allclose(getattr(together, field)[0], one, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("step", [1e4, 1e6, 1e8])
def test_rounding_is_not_taken_for_a_lack_of_nodes(step):
    # Values of the size of t: E zeta sigma cancels to c.
    means = feature_means(activation("identity"), [step], KAPPA, 1.0)
    np.testing.assert_allclose(means.mu0[0], step * KAPPA, rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(means.mu1[0], 1.0, atol=1e-14 * step)
    feature_means(activation("sin"), [step], KAPPA, 1.0)


@pytest.mark.parametrize("count", [32, 48, 96, 192, 384, 768])
def test_nodes_integrate_a_gaussian_to_rounding(count):
    t = np.array([0.0, 3.0, 200.0])
    panels = _inner_panels((-4.0, 4.0), t, 6.0, count)
    powers = [panels.total(panels.mass, panels.zeta**k) for k in range(5)]
    expected = np.array([1.0, 0.0, 1.0, 0.0, 3.0])[:, None] * np.ones(3)
    if count >= 48:
        np.testing.assert_allclose(powers, expected, atol=4e-15)
    np.testing.assert_array_equal(np.diff(panels.owner) >= 0, True)
    assert np.bincount(panels.owner).tolist() == [3, 3, 1]


@pytest.mark.parametrize(
    ("name", "t", "scale"), [("tanh", 1.3, 1.2), ("softplus", -3.0, 0.8), ("relu", 0.4, 1.2)]
)
def test_multiple_precision(name, t, scale, deviation):
    functions = {
        "tanh": mpmath.tanh,
        "softplus": lambda x: mpmath.log1p(mpmath.exp(x)),
        "relu": lambda x: max(x, mpmath.mpf(0)),
    }
    sigma = functions[name]
    kink = -mpmath.mpf(t) / mpmath.mpf(scale)
    points = sorted([mpmath.mpf(p) for p in (-14, -4, -1, 1, 4, 14)] + [kink])

    def mean(f):
        def integrand(z):
            return f(z, sigma(scale * z + t)) * mpmath.npdf(z)

        return mpmath.quad(integrand, points)

    with mpmath.workdps(20):
        mu0 = mean(lambda z, s: s)
        mu1 = mean(lambda z, s: z * s)
        m2 = mean(lambda z, s: (z * z - 1) * s)
        mu2_sq = mean(lambda z, s: (s - mu0 - mu1 * z) ** 2)
    means = feature_means(activation(name), [t], [1.0], scale)
    found = [means.mu0, means.mu1, means.m2, means.mu2_sq]
    expected = np.array([mu0, mu1, m2, mu2_sq], float)
    np.testing.assert_allclose(np.ravel(found), expected, atol=2e-14, rtol=1e-13)
    deviation("conditional_means.feature_means", "mpmath, 20 digits", np.ravel(found), expected, scale=0.2)


@pytest.mark.parametrize("name", SMOOTH_AND_KINKED)
def test_means_are_derivatives_of_the_mean(name, deviation):
    # Gaussian integration by parts: mu_1 = c d mu_0/dt and m_2 = c^2 d^2 mu_0/dt^2.
    scale, h = 1.2, 1e-2
    steps = h * np.arange(-4, 5)
    first = np.array([1 / 280, -4 / 105, 1 / 5, -4 / 5, 0, 4 / 5, -1 / 5, 4 / 105, -1 / 280]) / h
    second = np.array([-1 / 560, 8 / 315, -1 / 5, 8 / 5, -205 / 72, 8 / 5, -1 / 5, 8 / 315, -1 / 560]) / h**2
    for t in (-2.0, 0.1, 1.5):
        mu0 = feature_means(activation(name), [1.0], t + steps, scale).mu0[0]
        means = feature_means(activation(name), [1.0], [t], scale)
        assert means.mu1[0, 0] == pytest.approx(scale * (first @ mu0), abs=1e-10)
        assert means.m2[0, 0] == pytest.approx(scale**2 * (second @ mu0), abs=1e-8)
        found, expected = [means.mu1[0, 0], means.m2[0, 0]], [scale * first @ mu0, scale**2 * second @ mu0]
        route = "differences of the mean in t"
        deviation("conditional_means.feature_means", route, found, expected, scale=1)


def test_without_a_spike_the_means_are_the_hermite_coefficients():
    sigma = activation("softplus")
    means = feature_means(sigma, [0.0], KAPPA)
    np.testing.assert_allclose(means.mu0, sigma.c0, rtol=1e-13)
    np.testing.assert_allclose(means.mu1, sigma.c1, rtol=1e-13)
    np.testing.assert_allclose(means.m2, 2 * sigma.c2, rtol=1e-12)
    np.testing.assert_allclose(means.mu2_sq, sigma.nonlinear_power, rtol=1e-12)


def test_far_in_the_saturated_tail_nothing_cancels(deviation):
    # tanh: Var is about 4 E e^{-4(t + zeta)} = 4 e^{8 - 4t} far out, ten digits below mu_0^2 = 1.
    t = 11.0
    means = feature_means(activation("tanh"), [t], [1.0])
    with mpmath.workdps(30):
        points = [-12, -8, -6, -4, -2, 0, 3, 12]
        mu0 = mpmath.quad(lambda z: mpmath.tanh(z + t) * mpmath.npdf(z), points)
        mu1 = mpmath.quad(lambda z: z * mpmath.tanh(z + t) * mpmath.npdf(z), points)
        exact = mpmath.quad(lambda z: (mpmath.tanh(z + t) - mu0 - mu1 * z) ** 2 * mpmath.npdf(z), points)
    assert means.mu2_sq[0, 0] == pytest.approx(float(exact), rel=1e-6, abs=1e-20)
    found, route = means.mu2_sq[0, 0], "mpmath, 30 digits, saturated tail"
    deviation("conditional_means.feature_means", route, found, float(exact))


@pytest.mark.parametrize("gamma", [0.0, 0.3, -0.9, 0.999])
@pytest.mark.parametrize("name", ["tanh", "sign", (0, 1, 2**-0.5), (0, 0, 0, 1)])
def test_label_means_average_back_to_the_hermite_coefficients(name, gamma, deviation):
    # By the tower property, E h_0 = c_0, E[kappa h_0] = gamma c_1, E h_1 = rho c_1, E H = E y^2.
    labels = target(name)
    rho = np.sqrt(1 - gamma**2)
    width = rho / abs(gamma) if gamma else 0.0
    grid = kappa_grid(labels.kinks if gamma else (), width)
    means = target_means(labels, grid.nodes, gamma, 0.5)
    weights = grid.weights
    assert weights @ means.h0 == pytest.approx(labels.c0, abs=1e-11)
    assert weights @ (grid.nodes * means.h0) == pytest.approx(gamma * labels.c1, abs=1e-11)
    assert weights @ means.h1 == pytest.approx(rho * labels.c1, abs=1e-11)
    assert weights @ means.H == pytest.approx(labels.second_moment + 0.25, rel=1e-11)
    assert np.all(means.variance >= 0.25)
    averages = [weights @ values for values in (means.h0, grid.nodes * means.h0, means.h1, means.H)]
    expected = [labels.c0, gamma * labels.c1, rho * labels.c1, labels.second_moment + 0.25]
    route = "Hermite coefficients, by the tower property"
    deviation("conditional_means.target_means", route, averages, expected, scale=1)


def test_polynomial_labels_have_polynomial_means(deviation):
    gamma, rho = 0.7, np.sqrt(1 - 0.49)
    means = target_means(target((0, 1, 2**-0.5)), KAPPA, gamma, 0.2)
    h0 = gamma * KAPPA + 2**-0.5 * gamma**2 * (KAPPA**2 - 1)
    h1 = rho + np.sqrt(2) * gamma * rho * KAPPA
    np.testing.assert_allclose(means.h0, h0, atol=1e-13)
    np.testing.assert_allclose(means.h1, h1, atol=1e-13)
    variance = h1**2 + rho**4 + 0.04
    np.testing.assert_allclose(means.variance, variance, rtol=1e-13)
    found, route = [means.h0, means.h1, means.variance], "polynomial and two-index labels"
    deviation("conditional_means.target_means", route, found, [h0, h1, variance], scale=1)


def test_aligned_labels_are_functions_of_kappa():
    means = target_means(target("sign"), KAPPA, 1.0, 0.3)
    np.testing.assert_array_equal(means.h0, np.sign(KAPPA))
    np.testing.assert_array_equal(means.h1, 0.0)
    np.testing.assert_allclose(means.variance, 0.09)


def test_two_index_labels(deviation):
    labels = TwoIndexTarget(lambda k, z: np.tanh(k) + 0.7 * k * z + 0.3 * (z * z - 1))
    means = target_means(labels, KAPPA, noise=0.2)
    np.testing.assert_allclose(means.h0, np.tanh(KAPPA), atol=1e-14)
    np.testing.assert_allclose(means.h1, 0.7 * KAPPA, atol=1e-14)
    variance = (0.7 * KAPPA) ** 2 + 2 * 0.09 + 0.04
    np.testing.assert_allclose(means.variance, variance, rtol=1e-13)
    found, expected = [means.h0, means.h1, means.variance], [np.tanh(KAPPA), 0.7 * KAPPA, variance]
    deviation("conditional_means.target_means", "polynomial and two-index labels", found, expected, scale=1)


def test_the_grid_integrates_and_sees_what_it_cannot(deviation):
    grid = kappa_grid()
    moments = [grid.weights @ grid.nodes**k for k in (0, 2, 4, 8, 16)]
    np.testing.assert_allclose(moments, [1, 1, 3, 105, 2027025], rtol=1e-13)
    deviation("model.kappa_grid", "Gaussian moments, a Voigt profile", moments, [1, 1, 3, 105, 2027025])
    sharp = 1 / (1 + (grid.nodes - 0.3) ** 2 / 1e-4)
    coarse = grid.errors(sharp) > 1e-12
    assert coarse.sum() == 1
    for _ in range(8):
        grid = grid.split(grid.errors(1 / (1 + (grid.nodes - 0.3) ** 2 / 1e-4)) > 1e-14)
    value = grid.weights @ (1 / (1 + (grid.nodes - 0.3) ** 2 / 1e-4))
    # E[w^2/(w^2 + (k - 0.3)^2)] is a Voigt profile.
    exact = np.pi * 0.01 * voigt_profile(0.3, 1.0, 0.01)
    assert value == pytest.approx(exact, rel=1e-12)
    deviation("model.kappa_grid", "Gaussian moments, a Voigt profile", value, exact)


def test_kinks_of_the_labels_split_the_grid():
    grid = kappa_grid([0.4])
    assert grid.weights @ np.sign(grid.nodes - 0.4) == pytest.approx(1 - 2 * ndtr(0.4), abs=1e-14)


@pytest.mark.parametrize("scale", [1.0, 100.0])
@pytest.mark.parametrize("slope", [0.0, 1.0])
def test_a_hidden_jump_is_refused(slope, scale):
    t = scale * np.linspace(-3, 3, 7)
    with pytest.raises(ConvergenceError, match="conditional_means"):
        _node_count(lambda x: slope * x + np.heaviside(x - 0.123, 0.5), (), t, np.full(7, scale))


@pytest.mark.parametrize("kink", [0.0, 0.3])
def test_kinks_of_a_two_index_target(kink, deviation):
    def labels(k, z):
        return np.tanh(k) + k * np.abs(z - kink)

    with pytest.raises(ConvergenceError, match="kinks"):
        target_means(TwoIndexTarget(labels), KAPPA)
    means = target_means(TwoIndexTarget(labels, kinks=(kink,)), KAPPA, noise=0.2)
    mean = 2 * density(kink) + kink * (2 * ndtr(kink) - 1)
    response = 1 - 2 * ndtr(kink)
    variance = KAPPA**2 * (1 + kink**2 - mean**2) + 0.04
    found = [means.h0, means.h1, means.variance]
    expected = [np.tanh(KAPPA) + KAPPA * mean, KAPPA * response, variance]
    np.testing.assert_allclose(found, expected, atol=1e-13)
    deviation("conditional_means.target_means", "a two-index target with a kink", found, expected, scale=1)


def test_a_two_index_target_takes_the_nodes_it_needs():
    # E z sin(a z) = a e^{-a^2/2}, and Var sin(a z) = (1 - e^{-2 a^2})/2.
    for a in (1.0, 5.0, 20.0):
        means = target_means(TwoIndexTarget(lambda k, z, a=a: k * np.sin(a * z)), KAPPA)
        np.testing.assert_allclose(means.h1, KAPPA * a * np.exp(-(a**2) / 2), atol=1e-14)
        np.testing.assert_allclose(means.variance, KAPPA**2 * (1 - np.exp(-2 * a**2)) / 2, atol=1e-13)
    with pytest.raises(ConvergenceError, match="g\\(z_1, z_2\\)"):
        target_means(TwoIndexTarget(lambda k, z: np.sin(1e4 * z) + 0 * k), KAPPA)


def test_a_wave_within_a_wide_bulk_is_refused():
    with pytest.raises(ConvergenceError, match="varies too fast between its kinks: take a smaller step"):
        feature_means(activation("sin"), [500.0], [-1.0, 0.0, 1.0], 1e3)
