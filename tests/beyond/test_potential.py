"""Every loss that the library computes is a value or a slope of one function, which is stationary there."""

from collections.abc import Iterator

import numpy as np
import pytest
from scipy.optimize import root

from onestep_lib import Setting, one_step, random_features
from onestep_lib.activations import activation, target
from onestep_lib.beyond import potential, potential_unknowns
from onestep_lib.beyond.scatter import Problem
from onestep_lib.large_step import stepped_model
from onestep_lib.settings import LOSSES, Losses
from onestep_lib.spiked_features import SpikedModel, solve_spiked, spiked_losses
from onestep_lib.spiked_features.fit import SpikedSolution

ACTIVATIONS = ("tanh", "erf", "sin", "relu", "softplus", "gelu")
TARGETS = ("sin", "tanh", "sign", (0, 1, 0.7), (0, 0.5, -1, 0.4), (0, 0, 1), (0, 0.3, 0, 1))
Case = tuple[SpikedSolution, Losses]


def random_models(rng: np.random.Generator, count: int) -> Iterator[Case]:
    """Models of one to four spikes, rows of any lengths, an infinite or a finite dimension."""
    for _ in range(count):
        groups = int(rng.integers(1, 5))
        model = SpikedModel(
            activation(str(rng.choice(ACTIVATIONS))),
            rng.uniform(-4, 4, groups),
            rng.dirichlet(np.full(groups, 3.0)),
            target(TARGETS[rng.integers(len(TARGETS))]),
            alignment=rng.uniform(-1, 1),
            noise=rng.uniform(0, 1),
            scales=rng.uniform(0.8, 1.6, groups),
            row_variance=rng.uniform(0, 1.5, groups),
            slope=rng.uniform(-0.5, 0.5, groups),
            initial=rng.uniform(0, 0.5, (2, groups)) * rng.integers(2),
        )
        point = *np.exp(rng.uniform(-1.5, 1.5, 2)), 10 ** rng.uniform(-3, 1), rng.choice([None, 60])
        yield solve_spiked(model, *point), spiked_losses(model, *point)


def unspiked(rng: np.random.Generator, count: int) -> Iterator[Case]:
    """Random features: the losses of another module, from traces of another resolvent."""
    for _ in range(count):
        n, d, N = (int(size) for size in rng.integers(50, 800, 3))
        law = {"activation": str(rng.choice(ACTIVATIONS)), "target": TARGETS[rng.integers(len(TARGETS))]}
        setting = Setting(n=n, d=d, N=N, noise=rng.uniform(0, 1), ridge=10 ** rng.uniform(-3, 1), **law)
        model = SpikedModel(
            setting.activation, [0.0], [1.0], setting.target, rng.uniform(-1, 1), setting.noise
        )
        yield solve_spiked(model, setting.phi, setting.psi, float(setting.ridges)), random_features(setting)


def stepped(rng: np.random.Generator, count: int, readouts: tuple, sigma: tuple) -> Iterator[Case]:
    """Networks after a step, with the bulk that the batch has made."""
    for _ in range(count):
        n, d, N = (int(size) for size in rng.integers(100, 800, 3))
        setting = Setting(
            n=n, d=d, N=N, activation=str(rng.choice(sigma)), target=(0, 1, 0.4, -0.2), noise=0.3,
            readout=readouts[rng.integers(len(readouts))], ridge=10 ** rng.uniform(-2, 0),
            step=rng.uniform(0.2, 5) * N**0.5,
        )  # fmt: skip
        model = stepped_model(setting, setting.step, "full")
        yield solve_spiked(model, setting.phi, setting.psi, float(setting.ridges), d), one_step(setting)


CASES = {
    "groups": lambda rng: random_models(rng, 141),
    "no spike": lambda rng: unspiked(rng, 40),
    "signs, vocabularies": lambda rng: stepped(rng, 12, ("signs", [1.0], [0.5, -1.0, 2.0]), ("tanh", "erf")),
    "a tilted bulk": lambda rng: stepped(rng, 1, ("signs",), ("relu", "softplus")),
    "Gaussian readouts": lambda rng: stepped(rng, 6, ("gaussian",), ("tanh", "erf")),
}


def slope(solution: SpikedSolution, name: str, direction: np.ndarray, factor: float = 1.0) -> float:
    """The derivative of the potential along a direction of one unknown, by central differences."""
    at, step = factor * potential_unknowns(solution)[name], 1e-5 * direction
    ends = [potential(solution, **{name: at + sign * step}) for sign in (1, -1)]
    return (ends[0] - ends[1]) / 2e-5


@pytest.mark.parametrize("kind", CASES)
def test_every_loss_is_a_slope_of_the_potential(kind, deviation):
    rng = np.random.default_rng(1)
    found, expected, slopes = [], [], []
    for solution, losses in CASES[kind](rng):
        ridge, ends = solution.ratios.ridge, (1, -1)
        by_source = [potential(solution, source=1e-3 * sign) for sign in ends]
        by_ridge = [potential(solution, ridge=ridge * (1 + 1e-3 * sign)) for sign in ends]
        objective = potential(solution)
        train = objective - (by_ridge[0] - by_ridge[1]) / 2e-3
        found.append((train, (by_source[0] - by_source[1]) / 2e-3, objective))
        expected.append([getattr(losses, name) for name in LOSSES])
        for name, value in potential_unknowns(solution).items():
            direction = value * rng.choice([-1, 1], value.shape)
            slopes.append(slope(solution, name, direction) / objective)
    route = "traces of random features" if kind == "no spike" else "equations of the cavity argument"
    deviation("potential.potential", f"every loss, from the {route}", found, expected)
    print(f"{kind}: {np.max(np.abs(np.divide(found, expected) - 1)):.1e}, slopes {np.abs(slopes).max():.1e}")
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert np.abs(slopes).max() < 1e-6


def test_away_from_the_solution_it_is_not_stationary():
    model = SpikedModel(activation("relu"), [2.0, -1.0], [0.6, 0.4], target("sin"), 0.8, 0.3)
    solution = solve_spiked(model, 0.5, 0.7, 0.1)
    for name in ("s_1", "s_perp", "s_v", "s_length", "rho", "D_1"):
        value = potential_unknowns(solution)[name]
        assert abs(slope(solution, name, value, 1.1)) > 1e-5, name


@pytest.mark.parametrize("source", [0.0, 0.3])
@pytest.mark.parametrize("N", [50, 300])
def test_its_stationary_point_is_found_without_the_cavity(N, source):
    """A root finder on the slopes alone, from unknowns that are off by ten percent.

    Its value is the minimum that the scatter of the losses is made of, with its source on the test loss.
    """
    model = SpikedModel(activation("tanh"), [1.5], [1.0], target("sin"), 0.8, 0.3)
    solution = solve_spiked(model, 0.5, 100 / N, 0.05, 100)
    unknowns = potential_unknowns(solution)
    x = np.array([float(np.squeeze(value)) for value in unknowns.values()])

    def value(x: np.ndarray) -> float:
        return potential(solution, source, **dict(zip(unknowns, x, strict=True)))

    def slopes(x: np.ndarray) -> np.ndarray:
        return np.array([value(x + step) - value(x - step) for step in 1e-5 * np.eye(x.size)]) / 2e-5

    found = root(slopes, x * np.random.default_rng(0).uniform(0.9, 1.1, x.size), tol=1e-12).x
    problem = Problem.of(model, 200, 100, N, 0.05)
    fit = problem.fit(source)
    pair, weights = problem.pair(fit, fit).overlap(), problem.table.grid.weights
    minimum = weights @ ((fit.D**2 + source) * pair.error) + 0.05 * pair.a_sq.sum()
    print(f"{value(found)} {minimum}")
    assert value(found) == pytest.approx(minimum, rel=1e-7)
    at = dict(zip(unknowns, found, strict=True))
    assert [at["s_1"], at["a_sq"]] == pytest.approx([fit.s_1[0], pair.a_sq[0]], rel=1e-5)


def test_it_is_least_in_what_the_readout_chooses():
    model = SpikedModel(activation("tanh"), [2.0], [1.0], target("sin"), 0.8, 0.1)
    solution = solve_spiked(model, 0.5, 0.7, 0.1)
    for name in ("s_1", "s_v", "s_perp", "s_length"):
        assert potential(solution, **{name: potential_unknowns(solution)[name] + 0.05}) > potential(solution)


def test_an_unknown_that_it_does_not_have_is_refused():
    model = SpikedModel(activation("tanh"), [2.0], [1.0], target("sin"), 0.8, 0.1)
    solution = solve_spiked(model, 0.5, 0.7, 0.1)
    with pytest.raises(ValueError, match="changed must name unknowns"):
        potential(solution, chi=1.0)
    with pytest.raises(TypeError):
        potential(model)
