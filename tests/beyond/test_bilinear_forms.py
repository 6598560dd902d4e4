"""The bilinear forms of the proof: each limit against draws, and against the staircase made of them."""

from itertools import combinations_with_replacement

import numpy as np
import pytest
from scipy.linalg import cho_factor, cho_solve

from onestep_lib import Setting
from onestep_lib.beyond import bilinear_form
from onestep_lib.experiment import feature_matrix, initial_network, sample_direction, sample_inputs
from onestep_lib.hermite import hermite
from onestep_lib.no_step import resolvent_traces
from onestep_lib.small_step import gradient_spike, power_basis, staircase_gain
from onestep_lib.small_step.gradient import Spike
from onestep_lib.small_step.spikes import sample_side, spike_matrix

SPIKE = Spike(power=1.7, alignment=0.8)
VECTORS = [
    *((kind, order) for kind in ("direction", "target") for order in (0, 1, 2, 3)),
    ("gradient", 2),
    ("gradient", 3),
    ("readout", 1),
    ("readout", 2),
]


def setting(n=600, **changes):
    fields = {"activation": "centred softplus", "target": (0, 1, 0.5), "noise": 0.3, "ridge": 0.1}
    return Setting(n=n, d=n // 2, N=4 * n // 5, **fields | changes)


def draw(s, rng):
    """All forms of one draw, shape (vectors, vectors)."""
    beta, other = sample_direction(s.d, rng), sample_direction(s.d, rng)
    across = other - (other @ beta) * beta
    b = SPIKE.alignment * beta + np.sqrt(1 - SPIKE.alignment**2) * across / np.linalg.norm(across)
    X, network = sample_inputs(s, s.n, rng), initial_network(s, rng)
    F = feature_matrix(network.weights, X, s.activation)
    axes = {"direction": X @ b, "gradient": np.sqrt(SPIKE.power) * (X @ b), "target": X @ beta}
    columns = [
        s.N ** ((order - 1) / 2) * F @ network.readout**order
        if kind == "readout"
        else hermite(order, axes[kind])[order]
        for kind, order in VECTORS
    ]
    V = np.column_stack(columns)
    return V.T @ cho_solve(cho_factor(F @ F.T + float(s.ridges) * s.n * np.eye(s.n)), V)


def limits(s):
    return np.array([[bilinear_form(s, v, w, SPIKE) for w in VECTORS] for v in VECTORS])


CASES = {
    "the paper's": {"rows": "spherical", "inputs": "spherical"},
    "Gaussian rows and inputs": {},
    "a mean": {"activation": "softplus"},
    "tanh, signs": {"activation": "tanh", "readout": "signs", "ridge": 0.01},
}


def scores(found, expected):
    """z of the distinct forms, and their sizes relative to the two vectors' own forms."""
    pairs = tuple(np.array(list(combinations_with_replacement(range(len(VECTORS)), 2))).T)
    mean, error = found.mean(axis=0), found.std(axis=0, ddof=1) / np.sqrt(len(found))
    own = np.sqrt(np.diag(expected))
    size = np.outer(own, own)
    return ((mean - expected) / error)[pairs], ((mean - expected) / size)[pairs], (error / size)[pairs]


@pytest.mark.parametrize("case", CASES)
def test_simulation(case, deviation):
    s = setting(500, **CASES[case])
    found = np.array([draw(s, child) for child in np.random.default_rng(1).spawn(60)])
    z, gap, error = scores(found, limits(s))
    print(f"{case}: {z.size} forms, rms z {np.sqrt(np.mean(z**2)):.2f}, largest gap {np.abs(gap).max():.4f}")
    deviation("bilinear_forms.bilinear_form", f"n = 500, 60 draws: {case}", z, 0, 1)
    assert np.all(np.abs(gap) < 4 * error + 0.5 / np.sqrt(s.n))


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_what_is_left_falls_with_n(case):
    """Like n^{-1/2} where 1 meets another vector through a constant part of F_0, faster elsewhere."""
    beyond = []
    for n, draws in ((200, 1500), (800, 150)):
        s = setting(n, **CASES[case])
        found = np.array([draw(s, child) for child in np.random.default_rng(2).spawn(draws)])
        z, gap, error = scores(found, limits(s))
        beyond.append(np.maximum(np.abs(gap) - 3 * error, 0).max())
        print(f"{case}, n = {n}: rms z {np.sqrt(np.mean(z**2)):.2f}, beyond 3 errors {beyond[-1]:.4f}")
    assert beyond[0] < 0.06
    assert beyond[1] < 0.6 * beyond[0]


@pytest.mark.parametrize("case", CASES)
def test_constant_parts_by_the_spike_matrix(case, deviation):
    """1^T R_0 1 by Woodbury with the matrix of all rank-one parts at step 0."""
    s = setting(**CASES[case]).replace(step=0.0)
    bulk = resolvent_traces(s.phi, s.psi, s.ridge, s.activation.c1**2, s.activation.nonlinear_power)
    P, (t, _) = spike_matrix(s, 1), sample_side(bulk, s.n / s.N, 1)
    M = (1 + bulk.tau) * np.eye(P.shape[1]) + P.T @ (t[:, None] * P)
    G = np.diag(t) - np.outer(t, t) * (P @ np.linalg.solve(M, P.T))
    found = bilinear_form(s, ("target", 0), ("direction", 0))
    assert found == pytest.approx(G[0, 0], rel=1e-10)
    deviation("bilinear_forms.bilinear_form", "Woodbury with spike_matrix", found, G[0, 0])


def test_the_gain_of_the_paper_is_made_of_these_forms(deviation):
    """Woodbury by hand for infinite spikes: lambda b^T G^{-1} b, with b and G from the forms."""
    s = setting(rows="spherical", inputs="spherical", target=(0, 1, 0.5, 0.3))
    spike = gradient_spike(s)
    for level in (1, 2):
        powers = power_basis(level)[1:]
        scale = np.sqrt([1.0, 1.0, 2.0][: level + 1])
        G = np.array(
            [
                [bilinear_form(s, ("direction", p), ("direction", q)) / scale[p] / scale[q]
                 for q in range(level + 1)]
                for p in range(level + 1)
            ]
        )  # fmt: skip
        labels = np.array(
            [
                s.target.coefficient(q) * bilinear_form(s, ("target", q), ("direction", q)) / scale[q]
                for q in range(level + 1)
            ]
        )
        b = powers @ labels
        found = s.ridge * b @ np.linalg.solve(powers @ G @ powers.T, b)
        expected = staircase_gain(s, level, spike).objective
        assert found == pytest.approx(expected, rel=1e-12)
        deviation("stairs.staircase_gain", "Woodbury with bilinear_form", expected, found)


def test_a_longer_gradient_mixes_the_lower_orders(deviation):
    # He_2(s x) = s^2 He_2(x) + (s^2 - 1), He_3(s x) = s^3 He_3(x) + 3 s (s^2 - 1) x.
    s, power = setting(ridge=[0.01, 0.1]), SPIKE.power
    form = {q: bilinear_form(s, ("direction", q), ("direction", q), SPIKE) for q in range(4)}
    found = [bilinear_form(s, ("gradient", q), ("gradient", q), SPIKE) for q in (2, 3)]
    expected = [
        power**2 * form[2] + (power - 1) ** 2 * form[0],
        power**3 * form[3] + 9 * power * (power - 1) ** 2 * form[1],
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    deviation("bilinear_forms.bilinear_form", "He_q of a longer argument", found, expected)


def test_the_trace_of_the_hat_matrix(deviation):
    """a^T F_0^T R_0 F_0 a is (1/N) tr F_0^T R_0 F_0 = k (1 - lambda k m_1), k = n/N."""
    s = setting(ridge=[1e-3, 0.1, 10.0])
    bulk = resolvent_traces(s.phi, s.psi, s.ridges, s.activation.c1**2, s.activation.nonlinear_power)
    k = s.n / s.N
    found = bilinear_form(s, ("readout", 1), ("readout", 1))
    np.testing.assert_allclose(found, k * (1 - s.ridges * k * bulk.m1), rtol=1e-11)
    deviation(
        "bilinear_forms.bilinear_form", "trace of the hat matrix", found, k * (1 - s.ridges * k * bulk.m1)
    )
