"""Row lengths: every entry against rows drawn at finite d, traces of the batch matrix, closed averages."""

from dataclasses import replace
from zlib import crc32

import numpy as np
import pytest

from onestep_lib import Setting
from onestep_lib.activations import Activation, Target, activation
from onestep_lib.experiment import gradient_step, initial_network, sample_batch, sample_direction
from onestep_lib.large_step.stepped_model import expected_lengths, stepped_model
from onestep_lib.quadrature import gaussian_mean
from onestep_lib.repeats import mean_and_error
from onestep_lib.small_step import gradient_of
from onestep_lib.spiked_features import spiked_losses

ROUTE = "rows drawn at two finite d, extrapolated"
UPPER = np.triu_indices(3)
HE12 = (0, 1, 2**-0.5)


def _bounded(mean):
    """Bounded labels, so that a batch's own moments stay near their means; no moment vanishes by parity."""
    centre = np.exp(-1 / 2)
    return Target("bounded", lambda x: 1.2 * np.sin(x) - 0.9 * (np.cos(x) - centre) + mean)


CENTRED, SHIFTED = _bounded(0.0), _bounded(0.7)
MIXED = Activation(
    "mixed", lambda x: np.tanh(x) + 0.3 * np.square(x) - 0.3, (), lambda x: 1 - np.tanh(x) ** 2 + 0.6 * x
)
ACTIVATIONS = {name: activation(name) for name in ("tanh", "relu", "softplus")} | {"mixed": MIXED}


def setting(sigma, target, phi, **changes):
    return Setting(n=10**6, d=round(phi * 10**6), N=10, activation=sigma, target=target, **changes)


def drawn_entries(s, d, count, batches, rng):
    """Mean q, the upper triangle of d/2 Cov q and three covariances with w.v and g.v, one row a batch."""
    n, slope, entries = round(d / s.phi), s.activation.derivative, []
    for _ in range(batches):
        X = rng.standard_normal((n, d))
        y = s.target(X[:, 0]) + s.noise * rng.standard_normal(n)
        rows = rng.standard_normal((count, d)) / np.sqrt(d)
        if s.rows == "spherical":
            rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        g = ((slope(rows @ X.T) - s.activation.c1) * y) @ X / n
        q = np.stack([np.sum(rows**2, axis=1), 2 * np.sum(rows * g, axis=1), np.sum(g**2, axis=1)])
        v = y @ X / np.linalg.norm(y @ X)
        along = d * np.cov(np.stack([*q, rows @ v, g @ v]))[[1, 2, 0], [3, 4, 4]]
        entries.append(np.concatenate([q.mean(axis=1), d / 2 * np.cov(q)[UPPER], along]))
    return np.array(entries)


def lengths_of(s):
    return expected_lengths(gradient_of(s), s.rows == "gaussian")


def scores(s, d, count, batches, seed):
    """Theory, extrapolation in 1/d at fixed d/n and its standard error, without entries that are exact."""
    rng = np.random.default_rng(seed)
    small, large = (drawn_entries(s, size, count, batches, rng) for size in (d, 2 * d))
    found = 2 * large.mean(axis=0) - small.mean(axis=0)
    error = np.hypot(2 * large.std(axis=0, ddof=1), small.std(axis=0, ddof=1)) / np.sqrt(batches)
    lengths = lengths_of(s)
    # |g|^2 and g.v both know the initial length of a Gaussian row.
    common = 2 * lengths.lean * lengths.covariance[0, 2]
    along = [lengths.along[1], lengths.along[3] + common, 2 * lengths.lean]
    expected = np.concatenate([lengths.mean, lengths.covariance[UPPER], along])
    # Of labels that are not odd the covariance of |g|^2 and g.v is known for activations of a parity.
    left_out = [10] if s.activation is MIXED else []
    if s.rows == "spherical":
        exact = [0, 3, 4, 5, 11]
        np.testing.assert_array_equal(expected[exact], [1.0, 0.0, 0.0, 0.0, 0.0])
        left_out += exact
    return tuple(np.delete(part, left_out) for part in (found, expected, error))


def check(s, d, count, batches, deviation):
    # A seed of its own for each case, so that the cases are independent.
    seed = crc32(repr((s.activation.name, s.target.c0, s.rows, s.phi)).encode())
    found, expected, error = scores(s, d, count, batches, seed)
    deviation("stepped_model.expected_lengths", ROUTE, found, expected, error)
    z = (found - expected) / error
    assert np.max(np.abs(z)) < 4, z.round(1)


@pytest.mark.parametrize("phi", [0.6, 2.0])
@pytest.mark.parametrize("rows", ["gaussian", "spherical"])
@pytest.mark.parametrize("labels", [CENTRED, SHIFTED], ids=["mean 0", "mean 0.7"])
@pytest.mark.parametrize("sigma", ACTIVATIONS.values(), ids=ACTIVATIONS)
def test_every_entry_against_drawn_rows(sigma, labels, rows, phi, deviation):
    check(setting(sigma, labels, phi, noise=0.3, rows=rows), 80, 700, 40, deviation)


@pytest.mark.parametrize(("phi", "d", "batches"), [(0.008, 32, 40), (300.0, 2400, 60)])
@pytest.mark.parametrize("name", ["tanh", pytest.param("mixed", marks=pytest.mark.slow)])
def test_many_and_few_samples_against_drawn_rows(name, phi, d, batches, deviation):
    check(setting(ACTIVATIONS[name], CENTRED, phi, noise=0.3), d, 200, batches, deviation)


@pytest.mark.parametrize("rows", ["gaussian", "spherical"])
def test_networks_have_the_rows_along_v(rows, deviation):
    """d times the variance along v, and d times the covariance with the length across v."""
    s = Setting(2400, 300, 600, target=(0, 1), step=4 * 600**0.5, noise=0.3, rows=rows, readout="signs")
    found = []
    for rng in np.random.default_rng(5).spawn(8):
        beta = sample_direction(s.d, rng)
        network = initial_network(s, rng)
        X, y = sample_batch(s, s.n, beta, rng)
        v = y @ X / np.linalg.norm(y @ X)
        stepped = gradient_step(network, X, y, s.step).weights * np.sign(network.readout)[:, None]
        along = stepped @ v
        found.append(s.d * np.cov(along, np.sum(stepped**2, axis=1) - along**2)[0])
    model = stepped_model(s, s.step)
    scale, (slope,), (longer, further) = model.scales[0], model.slope, model.initial[:, 0]
    spread = model.bulk.scales[0] @ model.bulk.vv
    expected = scale**2 * np.array([spread + 2 * further**2, scale * (slope * spread + 2 * longer * further)])
    mean, error = mean_and_error(np.array(found))
    deviation("stepped_model.stepped_model", "rows of networks along v, d = 300", mean, expected, error)
    assert np.all(np.abs(mean - expected) < 3.5 * error), (mean, error, expected)
    # Without the terms the first of Gaussian rows, and the second of all, would be seen to be off.
    assert abs(mean[1]) > 20 * error[1]
    assert rows == "spherical" or mean[0] - scale**2 * spread > 5 * error[0]


def test_what_they_are_worth():
    """The page of results, and appendix C: 4 to 6 per cent of the test loss, at any d."""
    for d in (200, 3000):
        worth = {}
        for rows in ("gaussian", "spherical"):
            s = Setting(8 * d, d, 2 * d, target=(0, 1), noise=0.3, readout="signs", ridge=0.05, rows=rows)
            model = stepped_model(s, 4 * s.N**0.5)
            spread = model.bulk.scales @ model.bulk.vv
            whole = model.row_variance + model.initial[0] ** 2 + model.slope**2 * spread / 2
            without = replace(model, slope=0.0, initial=0.0, row_variance=whole)
            losses = [spiked_losses(one, s.phi, s.psi, s.ridge, d).test for one in (model, without)]
            worth[rows] = 1 - losses[0] / losses[1]
        assert worth == pytest.approx({"gaussian": 0.058, "spherical": 0.045}, abs=0.001)


def free_moments(cumulants):
    """The moments 0 to 4 of a law with the free cumulants 1 to 4."""
    a, b, c, e = cumulants
    return np.array([1, a, a**2 + b, a**3 + 3 * a * b + c, a**4 + 6 * a**2 * b + 4 * a * c + 2 * b**2 + e])


@pytest.mark.parametrize("phi", [1e-3, 0.6, 1e3])
@pytest.mark.parametrize("labels", [HE12, (0.6, 1, 0.5), "sign"], ids=str)
def test_a_linear_slope_gives_traces_of_the_batch_matrix(labels, phi, deviation):
    r"""For :math:`He_2` g = 2 H-hat w: q has the quadratic forms 1, 4 H-hat and 4 H-hat^2 of w."""
    noise, factors = 0.4, np.array([1.0, 4.0, 4.0])
    s = setting("he2", labels, phi, noise=noise)
    # H-hat is a free compound Poisson law: its cumulants are E y^k phi^(k - 1).
    points, mass = np.polynomial.hermite_e.hermegauss(20)
    mass = mass / mass.sum()

    def power(k):
        return gaussian_mean(lambda x: (s.target(x)[:, None] + noise * points) ** k @ mass, s.target.kinks)

    moments = free_moments([power(k) * phi ** (k - 1) for k in (1, 2, 3, 4)])
    order = np.arange(3)
    scale = np.outer(factors, factors)
    for rows in ("gaussian", "spherical"):
        found = lengths_of(s.replace(rows=rows))
        covariance = moments[order[:, None] + order]
        if rows == "spherical":
            covariance = covariance - np.outer(moments[:3], moments[:3])
        size = np.sqrt(np.outer(moments[2 * order], moments[2 * order])) * scale
        np.testing.assert_allclose(found.mean, factors * moments[:3], rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(found.covariance / size, covariance * scale / size, atol=1e-12)
        route = "free cumulants of the signed batch matrix"
        deviation(
            "stepped_model.expected_lengths",
            route,
            found.covariance / size,
            covariance * scale / size,
            None,
            1,
        )


def test_the_mean_is_the_squared_bulk_scale():
    for labels in (CENTRED, SHIFTED):
        s = setting("softplus", labels, 0.6, noise=0.3)
        tilt, variance = 2 * s.activation.c2, s.activation.slope_variance
        tau = np.array([-2.0, 0.5, 30.0])
        squared = (1 + tau * tilt * labels.c0) ** 2 + tau**2 * variance * 0.6 * (labels.second_moment + 0.09)
        powers = tau[:, None] ** np.arange(3)
        np.testing.assert_allclose(powers @ lengths_of(s).mean, squared, rtol=1e-12)


def test_a_linear_activation_keeps_the_lengths_of_the_rows():
    for rows, nu in (("gaussian", 1.0), ("spherical", 0.0)):
        lengths = lengths_of(setting("identity", HE12, 0.6, noise=0.5, rows=rows))
        np.testing.assert_allclose(lengths.nu([0.0, 1.0, 1e3]), nu, rtol=1e-12)


def test_nu_takes_a_number_a_list_or_an_array():
    lengths = lengths_of(setting("relu", HE12, 0.6, noise=0.5))
    tau = np.array([[0.0, 0.5], [-2.0, 3.0]])
    values = lengths.nu(tau)
    assert values.shape == (2, 2)
    assert values[0, 0] == 1.0
    assert lengths.nu(3) == values[1, 1]
    np.testing.assert_array_equal(lengths.nu([0, 0.5]), values[0])
    # nu is d/2 Var|b|^2/(E|b|^2)^2 of b = w + tau g, written out.
    variance = lengths.covariance[0, 0] + 2 * 3 * lengths.covariance[0, 1]
    variance += 9 * (2 * lengths.covariance[0, 2] + lengths.covariance[1, 1])
    variance += 2 * 27 * lengths.covariance[1, 2] + 81 * lengths.covariance[2, 2]
    mean = lengths.mean @ [1, 3, 9]
    assert lengths.nu(3) == pytest.approx(variance / mean**2, rel=1e-13)
