"""Benchmarks: `make bench` measures everything in one run and writes tests/BENCHMARKS.md.

Times are medians on one thread; what travels between machines is the ratio to the time of a float64
matrix product of two 1000 x 1000 matrices, measured in the same run. Limits are the project's budgets.
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
from functools import partial
from pathlib import Path

import autograd
import autograd.numpy as anp
import numpy as np
from scipy.linalg import eigh
from sklearn.linear_model import Ridge

from onestep_lib import Setting, __version__, simulate
from onestep_lib.activations import activation, target
from onestep_lib.experiment import first_layer_gradient, initial_network, ridge_path, spec_settings
from onestep_lib.large_step import batch_signed, giant_step, one_step
from onestep_lib.large_step.stepped_model import _lengths
from onestep_lib.no_step import random_features, ridge_losses
from onestep_lib.small_step import finite_staircase, staircase
from onestep_lib.spiked_features import SpikedModel, spiked_losses

BYTECODE = tempfile.mkdtemp()
atexit.register(shutil.rmtree, BYTECODE, ignore_errors=True)

RESULTS = Path(__file__).parents[1] / "BENCHMARKS.md"
ROOT = RESULTS.parents[2]


@dataclass(frozen=True)
class Row:
    """One line of the table; `limit` is a budget in the unit of `value`, if there is one."""

    name: str
    value: float
    unit: str
    limit: float | None = None
    note: str = ""


def median_time(action: Callable[[], object], repeats: int = 5) -> float:
    """Median seconds of an action, after one call that warms caches."""
    action()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return float(np.median(times))


# Every part of SciPy that some function of the library calls.
SCIPY = "import scipy.interpolate, scipy.linalg, scipy.optimize, scipy.sparse.linalg, scipy.special"


def import_row() -> Row:
    """The CPU time of `import onestep_lib` against that of the parts of SciPy it needs, in turns."""
    times = [[cpu_time(code) for code in ("import onestep_lib", SCIPY)] for _ in range(10)]
    # The first round writes bytecode.
    ours, theirs = np.median(times[1:], axis=0)
    note = f"{1e3 * ours:.0f} ms against {1e3 * theirs:.0f}"
    return Row("import, in imports of the parts of SciPy it needs", ours / theirs, "", 1.1, note)


def cpu_time(code: str) -> float:
    """CPU seconds of a new interpreter that runs the code."""
    environment = {
        **os.environ,
        "PYTHONDONTWRITEBYTECODE": "",
        "PYTHONPYCACHEPREFIX": BYTECODE,
    }
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def theory_rows() -> list[Row]:
    """Random features, staircase, giant step and one curve."""
    rng = np.random.default_rng(0)
    count = 100_000
    phi, psi = 10 ** rng.uniform(-1, 1, (2, count))
    ridge = 10 ** rng.uniform(-6, 1, count)
    points = partial(ridge_losses, phi, psi, ridge, 0.37, 0.03, 1.0, 0.75)
    rows = [Row("random features, 10^5 points", median_time(points), "s", 0.5)]
    one = Setting(n=1000, d=600, N=800, target=(0, 1, 0.7), noise=0.5)
    hundred = median_time(lambda: [random_features(one) for _ in range(100)])
    rows.append(Row("random features, one point alone", 10 * hundred, "ms", 0.1))
    stairs = Setting(
        n=1000, d=600, N=800, target=(0, 1, 0.7), noise=0.5, ridge=np.geomspace(1e-4, 10, 10_000),
        activation="softplus", step=5.0,
    )  # fmt: skip
    rows.append(Row("staircase l = 2, 10^4 points", median_time(lambda: staircase(stairs, 2), 3), "s", 1.0))
    path = stairs.replace(ridge=np.geomspace(1e-4, 10, 100), step=1000.0 ** np.linspace(0, 0.4, 100))
    finite = median_time(lambda: finite_staircase(path, 2), 3)
    rows.append(Row("finite-n staircase l = 2, 100 steps x 100 penalties", finite, "s", 1.0))
    return rows + giant_rows() + curve_rows()


def giant_rows() -> list[Row]:
    """Set-up and points of spiked random features, new parameters at every point."""
    rng = np.random.default_rng(1)
    rows = []
    for spikes, limit in (
        ((1.5,), 3.0), ((3.0,), 3.0), ((-2.5, -1.0, 1.0, 2.5), 8.0), ((-3.0, -1.0, 1.0, 3.0), 8.0),
    ):  # fmt: skip
        name = f"giant step G = {len(spikes)}, |u| <= {max(spikes):g}"
        model = SpikedModel(
            activation("tanh"), np.array(spikes), np.full(len(spikes), 1 / len(spikes)),
            target((0, 1, 0.7)), alignment=0.8, noise=0.3,
        )  # fmt: skip

        def setup(model: SpikedModel = model) -> object:
            model.__dict__.pop("table", None)
            return model.table

        rows.append(Row(f"{name}, set-up", 1e3 * median_time(setup), "ms", 30.0))
        phi, psi, ridge = (
            1 / rng.uniform(0.5, 5, 40),
            1 / rng.uniform(0.5, 2, 40),
            10 ** rng.uniform(-3, 0, 40),
        )

        def scattered(
            model: SpikedModel = model,
            phi: np.ndarray = phi,
            psi: np.ndarray = psi,
            ridge: np.ndarray = ridge,
        ) -> None:
            for point in zip(phi, psi, ridge, strict=True):
                spiked_losses(model, *point)

        point_time = median_time(scattered, 3) / phi.size
        rows.append(Row(f"{name}, a scattered point", 1e3 * point_time, "ms", limit))
        curve = partial(spiked_losses, model, 0.5, 0.8, np.geomspace(1e-3, 1, 200))
        rows.append(Row(f"{name}, a point of 200", 1e3 * median_time(curve, 3) / 200, "ms"))
    return [*rows, *short_curve_rows()]


def short_curve_rows() -> list[Row]:
    """A curve of five penalties with its set-up: isotropic rows, and the whole bulk after a giant step."""
    setting = Setting(
        n=1000, d=600, N=800, target=(0, 1, 0.7), noise=0.5, ridge=np.geomspace(0.01, 1, 5), step=30.0,
        readout="signs",
    )  # fmt: skip
    names = {"isotropic": "isotropic rows", "full": "whole bulk"}
    times = {bulk: 1e3 * median_time(partial(giant_step, setting, bulk), 15) for bulk in names}
    return [Row(f"giant step, five points with set-up, {names[b]}", times[b], "ms", 6.0) for b in names]


def curve_rows() -> list[Row]:
    """The one-curve theory: set-ups, and the step sizes of the stored table."""
    rows = []
    for name, limit in (("tanh-800", 3.0), ("relu-800", 15.0), ("softplus-800", 15.0), ("mixed-800", 15.0)):
        setting = spec_settings("one_curve")[name]
        start = setting.replace(step=1.0)
        steps = np.array([median_time(partial(one_step, setting.replace(step=s)), 3) for s in setting.steps])
        rows += [
            Row(f"one curve, {name}, set-up", set_up_time(start), "s", limit),
            Row(f"one curve, {name}, a step size, mean of 0 to n^0.8", 1e3 * steps.mean(), "ms", 100.0),
            Row(f"one curve, {name}, the slowest step size", 1e3 * steps.max(), "ms", 100.0),
        ]
    many = spec_settings("one_curve")["relu-800"].replace(n=50_000, step=1.0)
    rows.append(Row("one curve, relu, n = 125 d, set-up", set_up_time(many), "s", 15.0))
    return rows


def set_up_time(setting: Setting) -> float:
    """Seconds of a first point in this process."""
    for known in (batch_signed.kept_spectrum, _lengths):
        known.cache_clear()
    start = time.perf_counter()
    one_step(setting)
    return time.perf_counter() - start


def simulation_rows() -> list[Row]:
    """A whole repeat at n = d = N = 2000 against the products and the factorisation it contains."""
    size = 2000
    rng = np.random.default_rng(2)
    setting = Setting(
        n=size, d=size, N=size, target=(0, 1, 0.7), noise=0.5, step=3.0, ridge=np.geomspace(1e-3, 10, 20)
    )
    A, B = rng.standard_normal((2, size, size))
    product = median_time(lambda: A @ B.T, 3)
    gram = A @ A.T
    factorisation = median_time(lambda: eigh(gram, driver="evd", check_finite=False), 2)
    repeats = 2
    whole = (
        median_time(lambda: simulate(setting, np.random.default_rng(3), repeats=repeats, test_size=size), 2)
        / repeats
    )
    # Pre-activations and slopes of the gradient, pre-activations and Gram matrix of the fit, and the test's.
    floor = 5 * product + factorisation
    rows = [
        Row("simulation at 2000, gradient + ridge path of 20", whole, "s"),
        Row("its 5 products and 1 eigendecomposition", floor, "s"),
        Row("ratio", whole / floor, "", 1.5),
    ]
    return rows + comparison_rows() + [memory_row()]


def comparison_rows() -> list[Row]:
    """What a user would write instead: scikit-learn a penalty at a time, and autograd."""
    rng = np.random.default_rng(4)
    F, y = rng.standard_normal((1000, 800)), rng.standard_normal(1000)
    ridges = np.geomspace(1e-3, 10, 20)

    def with_sklearn() -> None:
        for ridge in ridges:
            Ridge(alpha=ridge * 1000, fit_intercept=False).fit(F, y)

    path, single = median_time(lambda: ridge_path(F, y, ridges)), median_time(with_sklearn, 3)
    setting = Setting(n=1000, d=600, N=800, target=(0, 1))
    network = initial_network(setting, rng)
    X = rng.standard_normal((1000, 600))
    raw = autograd.grad(
        lambda W: anp.sum((y - anp.dot(anp.tanh(anp.dot(X, W.T)), network.readout)) ** 2) / 2000
    )
    ours = median_time(lambda: first_layer_gradient(network, X, y, "raw"))
    theirs = median_time(lambda: raw(network.weights))
    return [
        Row("ridge path of 20 at 1000 x 800", path, "s"),
        Row(
            "the same, scikit-learn's Ridge 20 times", single, "s", note=f"{single / path:.1f} times as long"
        ),
        Row("gradient at 1000, 600, 800", ours, "s"),
        Row("the same, autograd", theirs, "s", note=f"{theirs / ours:.1f} times as long"),
    ]


def memory_row() -> Row:
    """Peak memory of a fit with n = 50,000 and N = 2000, in its own process."""
    done = subprocess.run(
        [sys.executable, __file__, "memory"], check=True, capture_output=True, text=True, env=os.environ
    )
    return Row("memory at n = 50,000, d = 400, N = 2000, one step", float(done.stdout), "GB", 2.0)


def print_memory() -> None:
    """The measured process of `memory_row`."""
    setting = Setting(n=50_000, d=400, N=2000, target=(0, 1, 0.7), noise=0.5, step=3.0)
    simulate(setting, np.random.default_rng(5), repeats=2, test_size=20_000)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6)


def main() -> int:
    """Measure, print and write the table; fail where a time is beyond three times its budget."""
    A = np.random.default_rng(6).standard_normal((1000, 1000))
    unit = median_time(lambda: A @ A.T, 9)
    rows = [import_row(), *theory_rows(), *simulation_rows()]
    lines = [
        "# Benchmarks",
        "",
        f"`make bench`, version {__version__}, Python {platform.python_version()}, NumPy {np.__version__}, "
        f"one thread, {platform.machine()}. Medians; a 1000 x 1000 matrix product takes {1e3 * unit:.1f} ms.",
        "",
        "| what | measured | budget | in matrix products | remark |",
        "| --- | --- | --- | --- | --- |",
    ]
    failed = []
    for row in rows:
        seconds = {"s": row.value, "ms": row.value / 1e3}.get(row.unit)
        ratio = "" if seconds is None else f"{seconds / unit:.3g}"
        limit = "" if row.limit is None else f"{row.limit:g} {row.unit}"
        lines.append(f"| {row.name} | {row.value:.3g} {row.unit} | {limit} | {ratio} | {row.note} |")
        # Times depend on the machine; sizes and ratios do not.
        slack = 3.0 if row.unit in ("s", "ms") else 1.0
        if row.limit is not None and row.value > slack * row.limit:
            failed.append(row.name)
    table = "\n".join(lines) + "\n"
    RESULTS.write_text(table, encoding="utf-8")
    print(table)
    for name in failed:
        print(f"over budget: {name}")
    return 1 if failed else 0


if __name__ == "__main__":
    if sys.argv[1:] == ["memory"]:
        print_memory()
    else:
        sys.exit(main())
