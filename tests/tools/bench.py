"""Benchmarks: `make bench` measures everything in one run and writes tests/BENCHMARKS.md.

Every row is a ratio of CPU times of two actions, taken in turns on one thread: what a machine, or another
program on it, does to one of them it does to the other.
"""

from __future__ import annotations

import os
import tempfile

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import atexit
import platform
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import autograd
import autograd.numpy as anp
import numpy as np
from scipy.linalg import eigh
from sklearn.linear_model import Ridge

from onestep_lib import Setting, __version__, simulate
from onestep_lib.activations import activation, target
from onestep_lib.experiment import first_layer_gradient, initial_network, ridge_path
from onestep_lib.large_step import one_step
from onestep_lib.large_step.batch_signed import signed_spectrum
from onestep_lib.spiked_features import SpikedModel, spiked_losses

BYTECODE = tempfile.mkdtemp()
atexit.register(shutil.rmtree, BYTECODE, ignore_errors=True)

RESULTS = Path(__file__).parents[1] / "BENCHMARKS.md"
ROOT = RESULTS.parents[1]


@dataclass(frozen=True)
class Row:
    """One line of the table: CPU seconds of the library and of what it is held against."""

    what: str
    against: str
    ours: float
    theirs: float
    limit: float | None = None

    @property
    def ratio(self) -> float:
        return self.ours / self.theirs

    def line(self) -> str:
        limit = "" if self.limit is None else f"{self.limit:g}"
        times = f"{shown(self.ours)} | {shown(self.theirs)}"
        return f"| {self.what} | {self.against} | {times} | {self.ratio:.2f} | {limit} |"


def shown(seconds: float) -> str:
    """Two digits of a time, in a unit that fits."""
    scale, unit = (1, "s") if seconds >= 1 else (1e3, "ms") if seconds >= 1e-3 else (1e6, "µs")
    return f"{float(f'{scale * seconds:.2g}'):g} {unit}"


def seconds(action: Callable[[], object], repeats: int = 1) -> float:
    """CPU seconds of one call."""
    start = time.process_time()
    for _ in range(repeats):
        action()
    return (time.process_time() - start) / repeats


def compared(
    what: str, ours: Callable[[], object], against: str, theirs: Callable[[], object],
    limit: float | None = None, rounds: int = 9,
) -> Row:  # fmt: skip
    """The row of two actions: medians over rounds, after a call of each that warms caches."""
    actions = ours, theirs
    repeats = [max(1, round(0.02 / max(seconds(action), 1e-5))) for action in actions]
    times = [[seconds(a, k) for a, k in zip(actions, repeats, strict=True)] for _ in range(rounds)]
    return Row(what, against, *(float(t) for t in np.median(times, axis=0)), limit=limit)


# Every part of SciPy that some function of the library calls.
SCIPY = "import scipy.interpolate, scipy.linalg, scipy.optimize, scipy.sparse.linalg, scipy.special"


def import_row() -> Row:
    """A new interpreter that imports the library, and one that imports what of SciPy it needs."""
    times = [[import_seconds(code) for code in ("import onestep_lib", SCIPY)] for _ in range(10)]
    # The first round writes bytecode.
    ours, theirs = (float(t) for t in np.median(times[1:], axis=0))
    return Row("`import onestep_lib`", "the parts of SciPy it needs", ours, theirs, 1.2)


def import_seconds(code: str) -> float:
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": BYTECODE}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def theory_rows() -> list[Row]:
    """Curves of `one_step`, solved together, against its single points and against other code."""
    curve = Setting(n=1000, d=600, N=800, noise=0.3, readout="signs", step=np.linspace(0, 80, 9))
    point = curve.replace(step=30.0)
    samples = [point.replace(n=n) for n in np.geomspace(200, 5000, 9).round().astype(int).tolist()]
    penalties = point.replace(ridge=np.geomspace(1e-3, 1, 200))
    gaussian = curve.replace(readout="gaussian")
    relu = point.replace(activation="relu")

    def from_nothing() -> None:
        signed_spectrum.cache_clear()
        one_step(relu)

    def each(settings: list[Setting]) -> Callable[[], object]:
        return lambda: [one_step(setting) for setting in settings]

    def along(path: Setting) -> Callable[[], object]:
        return each([path.replace(step=float(step)) for step in path.steps])

    nine = "nine single points"
    return [
        grid_row(),
        compared("`one_step` at nine step sizes", lambda: one_step(curve), nine, along(curve), 0.5),
        compared("`one_step` at nine n", lambda: one_step(samples), nine, each(samples), 0.5),
        compared(
            "`one_step` at nine step sizes, Gaussian readout",
            lambda: one_step(gaussian), nine, along(gaussian), 1.1, rounds=3,
        ),
        compared(
            "`one_step` with 200 penalties", lambda: one_step(penalties),
            "one point", lambda: one_step(point), 25.0,
        ),
        compared(
            "`one_step` for relu, first call", from_nothing,
            "two networks of its size", lambda: simulate(relu, np.random.default_rng(0), repeats=2), rounds=3,
        ),
    ]  # fmt: skip


def grid_row() -> Row:
    """A learning curve of five points with its model, and the same by `grid_losses`."""
    samples, sigma, labels = np.array([0.5, 1.0, 2.0, 3.0, 5.0]), activation("tanh"), target((0, 1))

    def ours() -> np.ndarray:
        model = SpikedModel(sigma, [1.5], [1.0], labels, 0.6, 0.3, row_variance=0.0)
        return np.asarray(spiked_losses(model, 1 / samples, 0.5, 0.01).test)

    def theirs() -> np.ndarray:
        return grid_losses(np.tanh, 1.5, 0.6, 0.3, samples, 2.0, 0.01)

    np.testing.assert_allclose(ours(), theirs(), rtol=1e-8)
    what = "A model of spiked features and its losses at five n"
    return compared(what, ours, "vectorised sweeps on a grid, ten digits", theirs, 2.0)


def grid_losses(
    sigma: Callable[[np.ndarray], np.ndarray], r: float, gamma: float, noise: float, alpha: np.ndarray,
    beta: float, ridge: float,
) -> np.ndarray:  # fmt: skip
    """What one would write first: test losses of one group on spheres with labels He_1, all points at once.

    Trapezoid rules and sweeps of the equations of `onestep_lib.spiked_features.losses`.
    """
    kappa, zeta = np.linspace(-8, 8, 161), np.linspace(-9, 9, 181)
    w, z = (np.exp(-(x**2) / 2) / np.exp(-(x**2) / 2).sum() for x in (kappa, zeta))
    values = sigma(zeta + r * kappa[:, None])
    mu0, mu1 = values @ z, values @ (z * zeta)
    mu2 = (values - mu0[:, None] - mu1[:, None] * zeta) ** 2 @ z
    h0, h1, variance = gamma * kappa, np.sqrt(1 - gamma**2), 1 - gamma**2 + noise**2
    a, penalty = alpha / beta, ridge * alpha / beta
    c, V = beta / (penalty + a), np.ones((alpha.size, kappa.size))
    for _ in range(10_000):
        D = w / (1 + V)
        Lambda, Omega = a * (D @ mu1**2), penalty + a * (D @ mu2)
        J = 1 / (1 + c * Lambda)
        c = beta / (Omega + Lambda * J)
        new = (np.outer(c * J, mu1**2) + np.outer(c, mu2)) / beta
        change, V = np.max(np.abs(new / V - 1)), new
        if change < 1e-11:
            break
    D, K = w / (1 + V), c * J
    columns = np.stack([mu0, kappa * mu1])
    gram = np.einsum("l,lk,ik,jk->lij", a, D, columns, columns)
    gram[:, 1, 1] += 1 / c
    x = np.linalg.solve(gram, np.einsum("l,lk,ik->li", a, D * h0, columns)[..., None])[..., 0]
    force = a * (D @ (mu1 * h1))
    m, along = K * force, x[:, 1] / K
    fixed = (h0 - x @ columns) ** 2 + variance - 2 * h1 * np.outer(m, mu1)
    Q, N = np.zeros(alpha.size), np.ones(alpha.size)
    for _ in range(10_000):
        E = fixed + np.outer(Q, mu1**2) + np.outer(N, mu2)
        seen = D**2 / w * E
        by_mu1, by_mu2 = a * (seen @ mu1**2), a * (seen @ mu2)
        Q = m**2 + J**2 * (N + c**2 * by_mu1 / beta)
        inner = along**2 + force**2 + by_mu1 / beta + Lambda**2 * N
        new = c**2 / beta**2 * (by_mu2 + beta * J**2 * inner)
        change, N = np.max(np.abs(new / N - 1)), new
        if change < 1e-11:
            break
    return E @ w


def simulation_rows() -> list[Row]:
    """Networks, against what a student would write and against the products they can't do without."""
    small = Setting(n=600, d=600, N=600, noise=0.1, ridge=0.1, step=5.0)
    size = 2000
    large = Setting(
        n=size, d=size, N=size, target=(0, 1, 0.7), noise=0.5, step=3.0, ridge=np.geomspace(1e-3, 10, 20)
    )
    A, B = np.random.default_rng(2).standard_normal((2, size, size))
    gram = A @ A.T

    def floor() -> None:
        # The draws; pre-activations and slopes of the gradient, pre-activations and Gram matrix of the fit,
        # and the test's.
        rng = np.random.default_rng(3)
        for _ in range(4):  # weights and three sets of inputs
            rng.standard_normal((size, size))
        for _ in range(5):
            A @ B.T
        eigh(gram, driver="evd", check_finite=False)

    return [
        compared(
            "`simulate` at n = d = N = 600, four networks",
            lambda: simulate(small, np.random.default_rng(3), repeats=4),
            "a student's twenty lines of NumPy",
            lambda: [student(small, np.random.default_rng(3)) for _ in range(4)], 1.05, rounds=15,
        ),
        compared(
            "`simulate` at n = d = N = 2000, 20 penalties, two networks",
            lambda: simulate(large, np.random.default_rng(3), repeats=2, test_size=size),
            "their draws, five products and one diagonalisation each",
            lambda: [floor() for _ in range(2)], 1.1, rounds=3,
        ),
    ]  # fmt: skip


def student(s: Setting, rng: np.random.Generator) -> tuple[float, float]:
    """One network, one step, one fit, as one writes them in an exercise; tanh and He_1."""
    beta = rng.standard_normal(s.d)
    beta /= np.linalg.norm(beta)
    W = rng.standard_normal((s.N, s.d)) / np.sqrt(s.d)
    a = rng.standard_normal(s.N) / np.sqrt(s.N)
    X = rng.standard_normal((s.n, s.d))
    y = X @ beta + s.noise * rng.standard_normal(s.n)
    slopes = 1 - np.tanh(X @ W.T) ** 2
    W = W + s.step * (np.outer(y, a) * slopes).T @ X / s.n
    X = rng.standard_normal((s.n, s.d))
    y = X @ beta + s.noise * rng.standard_normal(s.n)
    F = np.tanh(X @ W.T)
    fit = np.linalg.solve(F.T @ F + s.ridge * s.n * np.eye(s.N), F.T @ y)
    X = rng.standard_normal((2000, s.d))
    test = np.mean((X @ beta - np.tanh(X @ W.T) @ fit) ** 2) + s.noise**2
    return float(np.mean((y - F @ fit) ** 2)), float(test)


def part_rows() -> list[Row]:
    """What a user would call instead: scikit-learn a penalty at a time, and autograd."""
    rng = np.random.default_rng(4)
    F, y = rng.standard_normal((1000, 800)), rng.standard_normal(1000)
    ridges = np.geomspace(1e-3, 10, 20)

    def with_sklearn() -> None:
        for ridge in ridges:
            Ridge(alpha=ridge * 1000, fit_intercept=False).fit(F, y)

    network = initial_network(Setting(n=1000, d=600, N=800), rng)
    X = rng.standard_normal((1000, 600))
    raw = autograd.grad(
        lambda W: anp.sum((y - anp.dot(anp.tanh(anp.dot(X, W.T)), network.readout)) ** 2) / 2000
    )
    return [
        compared(
            "`ridge_path`, 20 penalties, 1000 x 800", lambda: ridge_path(F, y, ridges),
            "scikit-learn's `Ridge` 20 times", with_sklearn, 0.5,
        ),
        compared(
            "The gradient at n, d, N = 1000, 600, 800",
            lambda: first_layer_gradient(network, X, y, "raw"),
            "autograd", lambda: raw(network.weights), 1.1,
        ),
    ]  # fmt: skip


def memory() -> float:
    """Peak gigabytes of networks with n = 50,000, d = 400, N = 2000, in a process of their own."""
    done = subprocess.run(
        [sys.executable, __file__, "memory"], check=True, capture_output=True, text=True, env=os.environ
    )
    return float(done.stdout)


def print_memory() -> None:
    """The measured process of `memory`."""
    setting = Setting(n=50_000, d=400, N=2000, target=(0, 1, 0.7), noise=0.5, step=3.0)
    simulate(setting, np.random.default_rng(5), repeats=2, test_size=20_000)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6)


MOST_MEMORY = 2.5


def main() -> int:
    """Measure, print and write the table; fail where a ratio is above its limit."""
    rows = [*theory_rows(), *simulation_rows(), *part_rows(), import_row()]
    peak = memory()
    lines = [
        f"CPU times on one thread, taken in turns, medians; version {__version__}, Python "
        f"{platform.python_version()}, NumPy {np.__version__}, {platform.machine()}.",
        "",
        "| what | against | its time | the other's | ratio | limit |",
        "| --- | --- | --- | --- | --- | --- |",
        *(row.line() for row in rows),
        "",
        f"Two networks with n = 50,000, d = 400 and N = 2000 take {peak:.2g} GB at their peak (limit "
        f"{MOST_MEMORY:g}).",
    ]
    table = "\n".join(lines) + "\n"
    RESULTS.write_text("# Benchmarks\n\n" + table, encoding="utf-8")
    print(table)
    failed = [row.what for row in rows if row.limit is not None and row.ratio > row.limit]
    failed += ["memory"] if peak > MOST_MEMORY else []
    for name in failed:
        print(f"over its limit: {name}")
    return 1 if failed else 0


if __name__ == "__main__":
    if sys.argv[1:] == ["memory"]:
        print_memory()
    else:
        sys.exit(main())
