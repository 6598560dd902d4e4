"""Random features in the limit: reference digits, mpmath, quadrature, limits, simulation."""

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import factorial
from stored_numbers import stored_data

from onestep_lib import ConvergenceError, Setting, random_features, simulate_spectrum
from onestep_lib.no_step import (
    gaussian_equivalence,
    marchenko_pastur_means,
    resolvent_traces,
    ridge_losses,
    spectral_density,
)
from onestep_lib.no_step.spectrum import stieltjes

REFERENCE = stored_data("random_features")
POWERS = {e["activation"]: (float(e["c1_sq"]), float(e["nonlinear_sq"])) for e in REFERENCE["m1_m2"]}
TARGETS = {  # linear power, everything else
    "He1, noise var 1": (1.0, 1.0),
    "He1+He2/sqrt2": (1.0, 1.0),
    "He1+He3/sqrt6, noise var 0.25": (1.0, 1.25),
    "0.5 He1+He2/sqrt2": (0.25, 1.0),
}


def column(entries, name):
    return np.array([float(entry[name]) for entry in entries])


def relative(value, reference):
    return np.max(np.abs(value / reference - 1))


# --- reference digits ---------------------------------------------------------------------------


def test_reference_resolvent(deviation):
    entries = REFERENCE["m1_m2"]
    arguments = [column(entries, name) for name in ("phi", "psi", "ridge", "c1_sq", "nonlinear_sq")]
    found = resolvent_traces(*arguments)
    worst = {
        name: relative(getattr(found, name), column(entries, name)) for name in ("m1", "m2", "dm1", "dm2")
    }
    for name in worst:
        expected = column(entries, name)
        deviation(
            "gaussian_equivalence.resolvent_traces", "stored, 18 digits", getattr(found, name), expected
        )
    worst["q"] = relative(arguments[2] / found.mu, column(entries, "q"))
    print(len(entries), "points, largest relative errors", worst)
    assert max(worst.values()) < 1e-12


def test_reference_losses(deviation):
    worst = 0.0
    for entry in REFERENCE["losses"]:
        a, b = POWERS[entry["activation"]]
        for name, expected in entry["targets"].items():
            arguments = (float(entry[key]) for key in ("phi", "psi", "ridge"))
            found = ridge_losses(*arguments, a, b, *TARGETS[name])
            for loss in ("test", "objective"):
                value, stored = found[loss][0], float(expected[loss])
                worst = max(worst, relative(value, stored))
                deviation("gaussian_equivalence.ridge_losses", "stored, 16 digits", value, stored)
    print("largest relative error of a loss", worst)
    assert worst < 1e-12


def test_reference_stieltjes(deviation):
    worst = 0.0
    for entry in REFERENCE["spectrum"]:
        z, g = (np.array(entry[f"{x}_re"]) + 1j * np.array(entry[f"{x}_im"]) for x in "zg")
        ratios = entry["d"] / entry["n"], entry["d"] / entry["N"]
        found = stieltjes(z, *ratios, entry["c1_sq"], entry["nonlinear_sq"])
        worst = max(worst, relative(found, g))
        deviation("spectrum.stieltjes", "stored, 16 digits", found, g)
    print("largest relative error of g", worst)
    assert worst < 1e-11


# --- independent routes -------------------------------------------------------------------------


def exact(phi, psi, ridge, a, b):
    """m_1 and m_2 in 80 digits, from the rational parametrisation in e = E[x/(x + w)] by bisection."""
    phi, psi, ridge, a, b = (mpmath.mpf(value) for value in (phi, psi, ridge, a, b))
    c, k = 1 / phi, psi / phi
    if a == 0:  # lambda = q b (1 - kq)/(kq) ... the quadratic b q^2 + (b - b/k + lambda) q - lambda/k = 0
        half = (b - b / k + ridge) / (2 * b)
        q = -half + mpmath.sqrt(half**2 + ridge / (k * b))
        q = q if half <= 0 else (ridge / (k * b)) / (half + mpmath.sqrt(half**2 + ridge / (k * b)))
        m1 = 1 / (b * q + ridge) / k
        return m1, m1  # E x = 1

    def parts(e):
        q = 1 / k - e - b / a * e / (1 - c * e)
        return q, a * (1 - e) * (1 - c * e) - b * e

    low, high = mpmath.mpf(0), 1 / max(c, mpmath.mpf(1))
    for _ in range(300):
        e = (low + high) / 2
        q, rest = parts(e)
        if q > 0 and rest > 0 and q * rest / e > ridge:
            low = e
        else:
            high = e
    e = low
    q, _ = parts(e)
    return e / ((1 - c * e) * q * a) / k, e / (q * a) / k


EXTREMES = [
    (0.6, 0.75, 0.1, 0.37, 0.03),
    (1.0, 1.0, 1e-8, 0.37, 0.03),
    (0.2, 0.2, 1e-8, 1.0, 1e-6),
    (1e-3, 1e-3, 1e-8, 0.5, 0.1),
    (1e3, 1e3, 1e-8, 0.5, 0.1),
    (1e-3, 1e3, 1e-4, 0.5, 0.1),
    (1e3, 1e-3, 1e-4, 0.5, 0.1),
    (0.5, 2.0, 1e-8, 1e-12, 1.0),
    (0.5, 0.5, 1e-8, 1e-8, 1.0),
    (0.5, 0.3, 1e-8, 1.0, 1e-12),
    (0.5, 0.5, 1e-4, 1.0, 0.0),
    (2.0, 0.5, 1e-8, 1.0, 0.0),
    (0.5, 2.0, 1e6, 0.3, 0.2),
    (0.7, 0.5, 1e-3, 0.0, 0.7),
    (0.7, 0.7, 1e-8, 0.0, 0.7),
]


@pytest.mark.parametrize("point", EXTREMES)
def test_resolvent_against_mpmath_at_extreme_parameters(point, deviation):
    phi, psi, ridge, a, b = point
    found = resolvent_traces(*point)
    with mpmath.workdps(80):
        m1, m2 = exact(*point)
        step = mpmath.mpf(ridge) * mpmath.mpf("1e-15")
        above, below = exact(phi, psi, ridge + step, a, b), exact(phi, psi, ridge - step, a, b)
        dm1, dm2 = ((up - down) / (2 * step) for up, down in zip(above, below, strict=True))
        pairs = zip((found.m1, found.m2, found.dm1, found.dm2), (m1, m2, dm1, dm2), strict=True)
        errors = [float(abs(mpmath.mpf(float(value)) / expected - 1)) for value, expected in pairs]
    print(point, errors)
    deviation(
        "gaussian_equivalence.resolvent_traces", "mpmath, 80 digits, extreme parameters", errors, 0, scale=1
    )
    assert max(errors) < 2e-12


def test_textbook_pair_of_equations(deviation):
    rng = np.random.default_rng(0)
    phi, psi = 10 ** rng.uniform(-1, 1, (2, 2000))
    ridge, a, b = 10 ** rng.uniform(-4, 1, 2000), *(10 ** rng.uniform(-2, 0, (2, 2000)))
    r = resolvent_traces(phi, psi, ridge, a, b)
    last = a * r.m1 * r.m2 * ridge * psi * r.m1 / phi, -a * r.m1 * r.m2
    first = (phi * r.m1 * b * r.m1, phi * r.m1 * a * r.m2, -phi * r.m2 * b * r.m1, -phi * r.m2 * a * r.m2)
    second = (phi / psi * a * r.m1 * r.m2, phi / psi * phi * r.m2, -phi / psi * phi * r.m1)
    for equation in (first, second):
        terms = np.array([*equation, *last])
        total, largest = terms.sum(axis=0), np.abs(terms).max(axis=0)
        assert np.max(np.abs(total) / largest) < 1e-12
        route = "residual of the two equations of Moniri et al."
        deviation("gaussian_equivalence.resolvent_traces", route, total, 0, scale=largest)


def marchenko_pastur_mean(function, c):
    """E f(x) by quadrature over the density of X X^T/d, X n by d, c = n/d, atom included."""
    low, high = (1 - np.sqrt(c)) ** 2, (1 + np.sqrt(c)) ** 2

    def integrand(angle):  # x = middle - half-width cos(angle) removes the square roots at the edges
        x = (low + high) / 2 - (high - low) / 2 * np.cos(angle)
        weight = ((high - low) / 2 * np.sin(angle)) ** 2 / (2 * np.pi * c * x) if x > 0 else 0.0
        return weight * function(x)

    continuous = quad(integrand, 0, np.pi, epsabs=1e-13, epsrel=1e-12, limit=400)[0]
    return continuous + max(0.0, 1 - 1 / c) * function(0.0)


@pytest.mark.parametrize("c", [0.2, 1.0, 1.7, 30.0])
@pytest.mark.parametrize("v", [0.0, 0.01, 1.0, 50.0])
def test_marchenko_pastur_means_by_quadrature(c, v, deviation):
    means = marchenko_pastur_means(v, c)
    for name, j, i in (("p", 0, 1), ("g", 1, 1), ("p2", 0, 2), ("g2", 1, 2), ("h2", 2, 2)):
        expected = marchenko_pastur_mean(lambda x, j=j, i=i: x**j / (1 + v * x) ** i, c)
        np.testing.assert_allclose(getattr(means, name), expected, rtol=1e-9, err_msg=name)
        deviation("marchenko_pastur.marchenko_pastur_means", "quadrature", getattr(means, name), expected)


@pytest.mark.parametrize(
    ("phi", "psi", "ridge"), [(0.6, 0.75, 0.1), (0.6, 0.4, 1e-3), (2.0, 2.0, 1e-2), (1.5, 0.3, 5.0)]
)
def test_scalar_equation_and_traces_by_quadrature(phi, psi, ridge, deviation):
    a, b, c, k = 0.37, 0.03, 1 / phi, psi / phi
    r = resolvent_traces(phi, psi, ridge, a, b)
    kept = marchenko_pastur_mean(lambda x: (a * x + b) / (a * x + b + r.mu), c)
    np.testing.assert_allclose(ridge / r.mu, 1 / k - kept, rtol=1e-8)
    q = ridge / r.mu
    for value, function in (
        (r.m1, lambda x: 1 / (a * x + b + r.mu)),
        (r.m2, lambda x: x / (a * x + b + r.mu)),
    ):
        expected = marchenko_pastur_mean(function, c) / q
        np.testing.assert_allclose(k * value, expected, rtol=1e-8)
        deviation("gaussian_equivalence.resolvent_traces", "quadrature", k * value, expected)


def test_test_loss_is_the_derivative_of_the_objective(deviation):
    arguments = (0.6, np.array([0.3, 0.6, 0.9, 4.0]))
    powers = (0.37, 0.03, 0.8, 0.9)
    ridge, h = 0.05, 1e-3

    def objective(x):
        return ridge_losses(*arguments, x, *powers).objective

    def slope(function):  # error of order h^6
        pairs = [function(ridge * (1 + j * h)) - function(ridge * (1 - j * h)) for j in (1, 2, 3)]
        return (45 * pairs[0] - 9 * pairs[1] + pairs[2]) / (60 * h * ridge)

    losses = ridge_losses(*arguments, ridge, *powers)
    trace = arguments[1] / arguments[0] * resolvent_traces(*arguments, ridge, 0.37, 0.03).m1
    test, power = -slope(lambda x: objective(x) / x) / trace**2, slope(objective)
    np.testing.assert_allclose(losses.test, test, rtol=1e-9)
    # Envelope theorem: the derivative of a minimum in the penalty is |a|^2 = (objective - train)/ridge.
    np.testing.assert_allclose(power, (losses.objective - losses.train) / ridge, rtol=1e-9)
    route = "cross-validation and envelope theorem, by differences"
    deviation("gaussian_equivalence.ridge_losses", route, losses.test, test)
    deviation("gaussian_equivalence.ridge_losses", route, losses.train, losses.objective - ridge * power)


# --- limits -------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [0.1, 0.5, 0.99, 1.01, 2.0, 50.0])
def test_ridgeless_limit_is_continuous(width):
    arguments = (0.6, 0.6 / width)
    powers = (0.37, 0.03, 0.8, 0.9)
    at_zero, near = ridge_losses(*arguments, 0.0, *powers), ridge_losses(*arguments, 1e-10, *powers)
    np.testing.assert_allclose(near.test, at_zero.test, rtol=1e-4)
    np.testing.assert_allclose(near.objective, at_zero.objective, rtol=1e-4, atol=1e-6)
    if width > 1:
        assert at_zero.train == at_zero.objective == 0
    else:
        assert at_zero.train == pytest.approx(float(at_zero.objective), rel=1e-12)
        assert at_zero.train > 0


def test_interpolation_threshold_diverges_as_the_root_of_the_penalty():
    assert ridge_losses(0.6, 0.6, 0.0, 0.37, 0.03, 1.0, 0.5).test == np.inf
    near = ridge_losses(0.6, 0.6, np.array([4e-12, 1e-12]), 0.37, 0.03, 1.0, 0.5).test
    assert near[1] / near[0] == pytest.approx(2, rel=1e-3)


def test_least_squares_without_a_linear_part_is_classical(deviation):
    # Pure noise features: test/power is 1/(1 - N/n) below n, 1/(1 - n/N) above.
    below = ridge_losses(0.6, 0.6 / 0.4, 0.0, 0.0, 0.7, 0.6, 0.4)
    above = ridge_losses(0.6, 0.6 / 2.5, 0.0, 0.0, 0.7, 0.6, 0.4)
    assert float(below.test) == pytest.approx(1 / (1 - 0.4), rel=1e-13)
    assert float(below.train) == pytest.approx(1 - 0.4, rel=1e-13)
    assert float(above.test) == pytest.approx(1 / (1 - 1 / 2.5), rel=1e-13)
    found, exact = [below.test, below.train, above.test], [1 / 0.6, 0.6, 1 / 0.6]
    deviation("gaussian_equivalence.ridge_losses", "classical least squares", found, exact)


def test_linear_features_of_full_width_are_linear_regression(deviation):
    # Identity activation, N -> infinity: W W^T/N -> I/d, so the fit is ridge on x with penalty lambda d/N.
    psi, phi, scaled = 1e-9, 0.5, 0.2
    found = ridge_losses(phi, psi, scaled / psi, 1.0, 0.0, 1.0, 0.25)
    # Ridge with (1/n)|y - X b|^2 + scaled |b|^2: s = E 1/(t + scaled) for t an eigenvalue of X X^T/n.
    c = 1 / phi
    mean = marchenko_pastur_mean(lambda x: 1 / (x * phi + scaled), c)
    signal = marchenko_pastur_mean(lambda x: x / (x * phi + scaled), c)
    expected, route = scaled * (signal + 0.25 * mean), "linear regression, the limit of infinite width"
    assert float(found.objective) == pytest.approx(expected, rel=1e-7)
    deviation("gaussian_equivalence.ridge_losses", route, found.objective, expected)


# --- properties ---------------------------------------------------------------------------------

ratios = st.floats(-3, 3).map(lambda x: 10.0**x)
penalties = st.floats(-8, 6).map(lambda x: 10.0**x)
powers = st.one_of(st.just(0.0), st.floats(-6, 1).map(lambda x: 10.0**x))


@settings(deadline=None, max_examples=200)
@given(ratios, ratios, penalties, powers, powers, powers, powers)
def test_losses_are_ordered_and_monotone(phi, psi, ridge, a, b, linear, other):
    if a + b == 0:
        return
    low, high = (ridge_losses(phi, psi, x, a, b, linear, other) for x in (ridge, 1.5 * ridge))
    total = linear + other
    room = 1 + 1e-11
    for losses in (low, high):
        assert np.isfinite([losses.train, losses.test, losses.objective]).all()
        assert 0 <= losses.train <= losses.objective * room <= total * room**2
        assert losses.test >= other / room
    assert low.objective <= high.objective * room
    assert low.train <= high.train * room
    first, second = (resolvent_traces(phi, psi, x, a, b) for x in (ridge, 1.5 * ridge))
    for name in ("m1", "m2", "tau"):
        assert 0 <= getattr(second, name) <= getattr(first, name) * room
    assert first.dm1 < 0
    assert first.dm2 < 0


def test_arguments_broadcast_and_a_setting_keeps_its_shape():
    r = resolvent_traces(np.full((3, 1), 0.6), 0.75, np.array([0.1, 1.0]), 0.37, 0.03)
    assert r.m1.shape == (3, 2)
    s = Setting(n=100, d=60, N=80)
    assert isinstance(random_features(s).test, float)
    assert random_features(s.replace(ridge=[0.1, 1.0])).test.shape == (2,)
    assert random_features(s.replace(ridge=[0.1, 1.0], step=[0.0, 0.0, 0.0])).test.shape == (3, 2)


# --- errors -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ridge_losses(1, 1, 0.0, 1, 0, 1, 0), "ridge must be > 0 for a linear activation"),
        (lambda: random_features(Setting(n=9, d=9, N=9, step=1.0)), "step must be 0"),
        (lambda: random_features(Setting(n=9, d=9, N=9, target=(0.5, 1))), "target must have mean zero"),
    ],
)
def test_what_the_theory_does_not_cover_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_solver_that_stops_early_raises(monkeypatch):
    monkeypatch.setattr(gaussian_equivalence, "_ITERATIONS", 1)
    with pytest.raises(ConvergenceError):
        resolvent_traces(0.6, 0.75, 1e-6, 0.37, 0.03)


# --- spectrum -----------------------------------------------------------------------------------

SPECTRA = [
    (0.6, 0.4, 0.37, 0.03),
    (0.6, 0.75, 0.25, 0.02),
    (2.0, 3.0, 0.37, 0.06),
    (0.2, 0.1, 0.27, 0.04),
    (0.6, 0.4, 0.0, 1.0),
    (0.6, 0.9, 0.0, 1.0),
    (0.6, 0.4, 1.0, 1e-6),
    (3.0, 1.0, 1e-6, 1.0),
    (0.5, 0.3, 1.0, 0.0),
    (2.0, 3.0, 1.0, 0.0),
]


@pytest.mark.parametrize("point", SPECTRA)
def test_density_has_the_right_mass_and_moments(point, deviation):
    phi, psi, a, b = point
    c, k = 1 / phi, psi / phi
    x = np.geomspace(1e-10, 60, 30001)
    weight = spectral_density(x, *point) * x  # per unit of ln x
    mass, mean, square = (np.trapezoid(weight * x**power, np.log(x)) for power in (0, 1, 2))
    rank = min(1, 1 / k) if b > 0 else min(1, 1 / k, phi)
    np.testing.assert_allclose(mass, rank, rtol=1e-4)
    np.testing.assert_allclose(mean, (a + b) / k, rtol=1e-4)
    # (1/n) tr (F F^T/n)^2 for independent Gaussian columns of covariance a X X^T/d + b
    second = (a**2 * (1 + c) + 2 * a * b + b**2) / k**2 + (a + b) ** 2 / k
    np.testing.assert_allclose(square, second, rtol=1e-4)
    route = "mass and two moments, trapezoid rule"
    deviation("spectrum.spectral_density", route, [mass, mean, square], [rank, (a + b) / k, second])


def test_density_vanishes_outside_the_reference_support():
    for entry in REFERENCE["spectrum"]:
        x = np.geomspace(1e-3, 30, 2000)
        arguments = entry["d"] / entry["n"], entry["d"] / entry["N"], entry["c1_sq"], entry["nonlinear_sq"]
        density = spectral_density(x, *arguments)
        inside = np.zeros(x.size, dtype=bool)
        for low, high in entry["support"]:
            inside |= (x > 1.001 * low) & (x < 0.999 * high)
        outside = np.ones(x.size, dtype=bool)
        for low, high in entry["support"]:
            outside &= (x < 0.999 * low) | (x > 1.001 * high)
        assert density[inside].min() > 1e-3
        assert density[outside].max() < 1e-5


def test_stieltjes_transform_on_the_negative_axis_is_the_resolvent(deviation):
    ridge = np.logspace(-4, 2, 13)
    for point in SPECTRA:
        phi, psi, a, b = point
        expected = psi / phi * resolvent_traces(phi, psi, ridge, a, b).m1
        found = stieltjes(-ridge + 1e-12j * ridge, *point).real
        np.testing.assert_allclose(found, expected, rtol=1e-9)
        deviation("spectrum.stieltjes", "resolvent at negative z", found, expected)


def test_exactly_one_root_is_a_stieltjes_transform(deviation):
    """The quartic in e = a/h by numpy.roots: one root has Im g > 0 and Im zg > 0, and it is the library's."""
    rng = np.random.default_rng(2)
    counts = []
    for _ in range(500):
        phi, psi = (10 ** rng.uniform(-1, 1, 2)).tolist()
        a, b = (10 ** rng.uniform(-1.5, 0, 2)).tolist()
        z = rng.uniform(-1, 3) + 1j * 10 ** rng.uniform(-3, 0.5)
        c, k = 1 / phi, psi / phi
        one, e = np.poly1d([1.0]), np.poly1d([1.0, 0.0])
        shrink = one - c * e
        first = a * (1 / k - e) * shrink - b * e
        quartic = first * (a * (one - e) * shrink - b * e) + a * e * shrink * complex(z)
        roots = np.roots(quartic.coeffs)
        g = roots / first(roots)
        right = (g.imag > 0) & ((z * g).imag > 0)
        counts.append(right.sum())
        if counts[-1] == 1:
            found = stieltjes(z, phi, psi, a, b)
            np.testing.assert_allclose(found, g[right][0], rtol=1e-7)
            deviation("spectrum.stieltjes", "numpy.roots of the quartic", found, g[right][0])
    assert set(counts) == {1}


def kolmogorov_smirnov(eigenvalues, setting):
    sigma = setting.activation
    x = np.geomspace(1e-6, 40, 6000)
    density = spectral_density(x, setting.phi, setting.psi, sigma.c1**2, sigma.nonlinear_power)
    mass = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2 * np.diff(x))])
    cdf = np.interp(
        eigenvalues, x, mass + max(0.0, 1 - setting.N / setting.n), left=max(0.0, 1 - setting.N / setting.n)
    )
    positive = eigenvalues > 1e-9
    rank = np.arange(eigenvalues.size)
    steps = np.stack([rank, rank + 1]) / eigenvalues.size
    return np.max(np.abs(steps - cdf)[:, positive])


@pytest.mark.parametrize(
    ("name", "d", "N", "features"),
    [
        ("tanh", 360, 900, "network"),
        ("tanh", 360, 360, "network"),
        ("sin", 800, 360, "network"),
        ("tanh", 360, 900, "gaussian_equivalent"),
        ("softplus", 360, 480, "network"),
    ],
)
def test_density_against_simulated_eigenvalues(name, d, N, features):
    s = Setting(n=600, d=d, N=N, activation=name)
    distance = kolmogorov_smirnov(simulate_spectrum(s, np.random.default_rng(1), features), s)
    print(name, d, N, features, distance)
    assert distance < 6 / s.n  # rigid eigenvalues: a few 1/n; independent draws would give 0.04


# --- simulation ---------------------------------------------------------------------------------


def reference_scores(entry):
    target = np.array(entry["target"])
    other = np.sum(factorial(np.arange(2, target.size)) * target[2:] ** 2) + entry["noise_sq"]
    arguments = entry["d"] / entry["n"], entry["d"] / entry["N"], entry["ridge"], entry["c1"] ** 2
    theory = ridge_losses(*arguments, entry["nonlinear_sq"], target[1] ** 2, other)
    return [(entry[name] - float(theory[name][0])) / entry[f"{name}_se"] for name in ("objective", "test")]


def test_theory_against_independent_simulations(deviation):
    """80 seeds each at n = 800, not made by this library; the cubic with heavy tails is the next test."""
    scores = np.array([reference_scores(e) for e in REFERENCE["simulated"] if e["activation"] != "he3h"])
    deviation("gaussian_equivalence.ridge_losses", "stored, n = 800, 80 seeds", scores, 0, 1)
    print(
        len(scores),
        "settings; rms of objective and test in standard errors",
        np.sqrt((scores**2).mean(axis=0)),
    )
    assert np.abs(scores).max() < 4
    assert np.sqrt((scores**2).mean(axis=0)).max() < 1.5


def test_heavy_tailed_features_are_off_at_small_penalties():
    heavy = [e for e in REFERENCE["simulated"] if e["activation"] == "he3h" and e["ridge"] <= 0.01]
    assert len(heavy) >= 3
    assert min(reference_scores(e)[1] for e in heavy) > 4


def test_one_point_alone_is_a_point_of_a_path():
    """Floats and arrays take the same formulas."""
    rng = np.random.default_rng(8)
    for _ in range(200):
        n, d, N = (int(size) for size in 10 ** rng.uniform(0, 4, 3))
        noise, ridge = 2 * rng.random(), 10 ** rng.uniform(-8, 3)
        s = Setting(n=n, d=d, N=N, target=(0, 1, 0.5), noise=noise, ridge=(ridge, 1.0))
        path, alone = random_features(s), random_features(s.replace(ridge=ridge))
        np.testing.assert_allclose([alone.train, alone.test], [path.train[0], path.test[0]], rtol=1e-12)
