r"""Long simulations whose results are stored: one curve, two batch sizes, beyond the theory, three sizes.

.. code-block:: console

   python -m onestep_lib.experiment.sweeps one-curve onestep_lib/datasets/one_curve.json
   python -m onestep_lib.experiment.sweeps two-batches onestep_lib/datasets/two_batches.json
   python -m onestep_lib.experiment.sweeps beyond onestep_lib/datasets/beyond.json
   python -m onestep_lib.experiment.sweeps three-sizes onestep_lib/datasets/three_sizes.json

simulate the true network (`onestep_lib.simulate`) at step 0 and over the step sizes of a case's
``exponents``, :math:`\log\eta/\log n`, for every case of `ONE_CURVE`, `THREE_SIZES` and `TWO_BATCHES` (what
the theory covers; in the last the gradient's batch has from a fifth to ten times the samples of the ridge
batch) and `BEYOND` (inputs that are not Gaussian, one batch used twice, several steps), and write means and
standard errors, one case after the other. A case runs in chunks of ten repeats; chunk k draws from
``numpy.random.default_rng([seed, k])`` and can be repeated alone (`sweep_chunk`).

Changes are differences to step 0 repeat by repeat, which share their draws. The theory beside a case of
`BEYOND` is that of `onestep_lib.large_step.one_curve.nearest_setting`.

Functions
---------
sweep_setting   setting of a case; its first step size is 0, and several updates share a step size
sweep_chunk     simulate chunk k of a case: shape (10, 3, step sizes), order train, test, objective
sweep_row       a case's entry of the table from its draws
stored_table    the table of a sweep that comes with the library
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
from contextlib import closing
from importlib import resources
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
from joblib import Parallel, delayed, parallel_config
from tqdm.auto import tqdm

from onestep_lib._checks import check_choice, check_count, check_instance, check_real, shown
from onestep_lib.activations import Activation
from onestep_lib.experiment.simulation import simulate
from onestep_lib.repeats import mean_and_error
from onestep_lib.settings import LOSSES, Setting

CHUNK = 10
_EXPONENTS = (0.0, 0.2, 0.35, 0.45, 0.55, 0.62, 0.7, 0.8)
_FEW = (0.3, 0.5, 0.62)
# Seconds after which a worker without work ends by itself, where the sweep was killed too hard to stop it.
_IDLE = 60
_HE12 = (0.0, 1.0, 2**-0.5)
_SMALL = {"n": 800, "d": 400, "N": 600, "exponents": _EXPONENTS}
_LARGE = {"n": 1600, "d": 800, "N": 1200, "exponents": _EXPONENTS}
_ODD = {"activation": "tanh", "target": (0.0, 1.0, 0.0, 0.3), "noise": 0.3, "ridge": 0.02}
_RELU = {"activation": "centred relu", "target": _HE12, "noise": 0.3, "ridge": 0.02}
_SOFTPLUS = {"activation": "centred softplus", "target": _HE12, "noise": 0.3, "ridge": 0.02}
_MIXED = {"activation": "mixed", "target": _HE12, "noise": 0.5, "ridge": 0.1}
ONE_CURVE: dict[str, dict[str, Any]] = {
    "tanh-800": {**_SMALL, **_ODD, "repeats": 240, "seed": 11},
    "relu-800": {**_SMALL, **_RELU, "repeats": 240, "seed": 12},
    "softplus-800": {**_SMALL, **_SOFTPLUS, "repeats": 200, "seed": 13},
    "mixed-800": {**_SMALL, **_MIXED, "repeats": 200, "seed": 14},
    "tanh-1600": {**_LARGE, **_ODD, "repeats": 60, "seed": 15},
    "relu-1600": {**_LARGE, **_RELU, "repeats": 60, "seed": 16},
}
"""The cases of the one-curve table: fields of `onestep_lib.Setting`, repeats and seed."""


def _to_giant(n: int, fraction: float) -> dict[str, Any]:
    """Sizes, with steps from 0.15 to 3 times sqrt(N), and a gradient's batch of so many n."""
    steps = np.array([0.15, 0.4, 1.0, 1.6, 3.0]) * np.sqrt(0.75 * n)
    exponents = tuple((np.log(steps) / np.log(n)).round(4).tolist())
    sizes = {"n": n, "d": n // 2, "N": 3 * n // 4, "n_0": round(fraction * n), "exponents": exponents}
    return {**sizes, "noise": 0.3, "ridge": 0.1, "repeats": 150}


_SIN = {"activation": "tanh", "target": "sin"}
_RELU_SIN = {"activation": "centred relu", "target": "sin"}
_RELU_12 = {"activation": "centred relu", "target": _HE12}
_SIGNS = {"readout": "signs"}
TWO_BATCHES: dict[str, dict[str, Any]] = {
    "tanh, 0.2": {**_to_giant(800, 0.2), **_SIN, "seed": 41},
    "tanh, 0.5, signs": {**_to_giant(800, 0.5), **_SIN, **_SIGNS, "seed": 42},
    "tanh, 1": {**_to_giant(800, 1), **_SIN, "seed": 43},
    "tanh, 2, signs": {**_to_giant(800, 2), **_SIN, **_SIGNS, "seed": 44},
    "tanh, 5": {**_to_giant(800, 5), **_SIN, "seed": 45},
    "tanh, 10, signs": {**_to_giant(800, 10), **_SIN, **_SIGNS, "seed": 46},
    "relu, 0.2, signs": {**_to_giant(800, 0.2), **_RELU_SIN, **_SIGNS, "seed": 51},
    "relu, 0.5": {**_to_giant(800, 0.5), **_RELU_12, "seed": 52},
    "relu, 1, signs": {**_to_giant(800, 1), **_RELU_12, **_SIGNS, "seed": 53},
    "relu, 2": {**_to_giant(800, 2), **_RELU_12, "seed": 54},
    "relu, 5, signs": {**_to_giant(800, 5), **_RELU_12, **_SIGNS, "seed": 55},
    "relu, 10": {**_to_giant(800, 10), **_RELU_12, "seed": 56},
    "few and heavy, d = 200": {**_to_giant(400, 0.2), **_RELU_12, **_SIGNS, "seed": 61},
    "few and heavy, d = 400": {**_to_giant(800, 0.2), **_RELU_12, **_SIGNS, "repeats": 120, "seed": 62},
    "few and heavy, d = 800": {**_to_giant(1600, 0.2), **_RELU_12, **_SIGNS, "repeats": 40, "seed": 63},
}
"""The cases of two batch sizes, by activation and n_0/n.

The last three are far from the limit: on few samples, unbounded labels leave the bulk of the rows in few
directions.
"""
_BESIDE = {**_SMALL, **_RELU, "exponents": _FEW, "repeats": 60}
_DIGITS = {**_BESIDE, "n": 80, "d": 40, "N": 60, "repeats": 400}
BEYOND: dict[str, dict[str, Any]] = {
    "gaussian": {**_BESIDE, "seed": 21},
    "spherical": {**_BESIDE, "inputs": "spherical", "seed": 22},
    "rademacher": {**_BESIDE, "inputs": "rademacher", "seed": 23},
    "uniform": {**_BESIDE, "inputs": "uniform", "seed": 24},
    "student": {**_BESIDE, "inputs": "student", "seed": 25},
    "correlated": {**_BESIDE, "inputs": "correlated", "seed": 26},
    "gaussian, d = 40": {**_DIGITS, "seed": 27},
    "digits, d = 40": {**_DIGITS, "inputs": "digits", "seed": 28},
    "same batch": {**_BESIDE, "fresh": False, "seed": 29},
    "two steps": {**_BESIDE, "updates": 2, "seed": 30},
    "four steps": {**_BESIDE, "updates": 4, "seed": 31},
}
"""The cases beside the theory: one assumption is given up in each."""
_EVERY = tuple(round(0.1 * k, 1) for k in range(9))
_EIGHTFOLD = {**_SOFTPLUS, "ridge": 0.1, "exponents": _EVERY}
THREE_SIZES: dict[str, dict[str, Any]] = {
    "d = 50": {**_EIGHTFOLD, "n": 400, "d": 50, "N": 100, "repeats": 400, "seed": 71},
    "d = 150": {**_EIGHTFOLD, "n": 1200, "d": 150, "N": 300, "repeats": 120, "seed": 72},
    "d = 450": {**_EIGHTFOLD, "n": 3600, "d": 450, "N": 900, "repeats": 30, "seed": 73},
}
"""The cases of the book's one curve: one setting at three sizes (n = 8d, N = 2d), steps from 0 to n^0.8."""
SWEEPS = {"one-curve": ONE_CURVE, "two-batches": TWO_BATCHES, "beyond": BEYOND, "three-sizes": THREE_SIZES}
"""The sweeps by name."""


def _mixed(x: np.ndarray) -> np.ndarray:
    return np.tanh(x) + 0.3 * (np.exp(-np.square(x) / 2) - 2**-0.5)


def _mixed_slope(x: np.ndarray) -> np.ndarray:
    return 1 - np.tanh(x) ** 2 - 0.3 * x * np.exp(-np.square(x) / 2)


def sweep_setting(case: dict[str, Any]) -> Setting:
    """Return the setting of a case; its first step size is 0, and several updates share a step size.

    Examples
    --------
    >>> from onestep_lib.experiment.sweeps import ONE_CURVE, sweep_setting
    >>> setting = sweep_setting(ONE_CURVE["tanh-800"])
    >>> setting.n, setting.shape, [round(step, 1) for step in setting.step[:3]]
    (800, (9,), [0.0, 1.0, 3.8])
    """
    check_instance("case", case, dict)
    if missing := {"n", "d", "N", "activation", "exponents"} - set(case):
        raise ValueError(f"case must hold {', '.join(sorted(missing))} too, got {shown(case)}")
    fields = {key: value for key, value in case.items() if key not in ("exponents", "repeats", "seed")}
    if fields["activation"] == "mixed":
        fields["activation"] = Activation("mixed", _mixed, (), _mixed_slope)
    steps = np.append(0.0, float(fields["n"]) ** np.array(case["exponents"]))
    return Setting(**fields, step=steps / fields.get("updates", 1))


def sweep_chunk(case: dict[str, Any], chunk: int) -> np.ndarray:
    """Simulate chunk k of a case: shape (10, 3, step sizes), order train, test, objective.

    Examples
    --------
    >>> from onestep_lib.experiment.sweeps import sweep_chunk
    >>> case = {"n": 40, "d": 20, "N": 30, "activation": "tanh", "exponents": [0.5], "seed": 1}
    >>> sweep_chunk(case, 0).shape
    (10, 3, 2)
    """
    setting = sweep_setting(case)
    if "seed" not in case:
        raise ValueError(f"case must hold a seed, got {shown(case)}")
    rng = np.random.default_rng([case["seed"], check_count("chunk", chunk, minimum=0)])
    return np.asarray(simulate(setting, rng, CHUNK).draws)


def sweep_row(case: dict[str, Any], draws: np.ndarray) -> dict[str, Any]:
    """Return a case's entry of the table from its draws.

    Examples
    --------
    >>> import numpy as np
    >>> from onestep_lib.experiment.sweeps import sweep_row
    >>> draws = np.array([[[1.0, 0.5]] * 3, [[3.0, 1.5]] * 3])  # two repeats, three losses, two steps
    >>> row = sweep_row({"seed": 1}, draws)
    >>> row["level"]["test"], row["change"]["test"]
    ({'mean': 2.0, 'se': 1.0}, [{'mean': -1.0, 'se': 0.5}])
    """
    check_instance("case", case, dict)
    draws = check_real("draws", draws)
    if draws.ndim != 3 or draws.shape[0] < 2 or draws.shape[1] != len(LOSSES) or draws.shape[2] == 0:
        raise ValueError(f"draws must have the shape (2 or more, 3, step sizes), got {draws.shape}")
    levels, changes = draws[:, :, 0], draws[:, :, 1:] - draws[:, :, :1]
    row: dict[str, Any] = {**case, "level": {}, "change": {}}
    for key, level, change in zip(LOSSES, levels.T, np.moveaxis(changes, 1, 0), strict=True):
        row["level"][key] = _as_entry(level)
        row["change"][key] = [_as_entry(column) for column in change.T]
    return row


def _as_entry(values: np.ndarray) -> dict[str, float]:
    mean, error = mean_and_error(values)
    return {"mean": float(mean), "se": float(error)}


def stored_table(sweep: str) -> dict[str, Any]:
    """Return the table of a sweep that comes with the library: command, version and the entries of its cases.

    Parameters
    ----------
    sweep : {"one-curve", "two-batches", "beyond", "three-sizes"}

    Examples
    --------
    >>> from onestep_lib.experiment.sweeps import stored_table
    >>> stored_table("one-curve")["cases"]["tanh-800"]["repeats"]
    240
    """
    check_choice("sweep", sweep, SWEEPS)
    name = sweep.replace("-", "_")
    return json.loads(resources.files("onestep_lib").joinpath(f"datasets/{name}.json").read_text("utf-8"))


def write_table(sweep: str, path: Path, names: list[str], jobs: int) -> None:
    """Simulate cases of a sweep and write them into the table at `path`, one after the other."""
    from onestep_lib import __version__

    table = json.loads(path.read_text()) if path.exists() else {"cases": {}}
    table["command"] = f"python -m onestep_lib.experiment.sweeps {sweep} {path.as_posix()}"
    table["library"] = __version__
    for name in names:
        case = SWEEPS[sweep][name]
        table["cases"][name] = sweep_row(case, _draws(name, case, jobs))
        path.write_text(json.dumps(table, indent=1) + "\n")


def _draws(name: str, case: dict[str, Any], jobs: int) -> np.ndarray:
    """All draws of a case, in worker processes that end with it, also when a signal ends it."""
    tasks = [delayed(sweep_chunk)(case, chunk) for chunk in range(case["repeats"] // CHUNK)]
    with (
        parallel_config("loky", idle_worker_timeout=_IDLE),
        closing(Parallel(n_jobs=jobs, return_as="generator")(tasks)) as results,
    ):
        return np.concatenate(list(tqdm(results, total=len(tasks), desc=name, unit="chunk")))


def _raise_on_signals() -> None:
    """Let signals that end Python at once raise SystemExit, on which the workers are stopped."""
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)  # Windows has no SIGHUP
        # Under nohup it is ignored, and stays so.
        if number is not None and signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, _exit)


def _exit(number: int, frame: FrameType | None) -> None:
    sys.exit(128 + number)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line of the module's docstring."""
    parser = argparse.ArgumentParser(
        prog="python -m onestep_lib.experiment.sweeps", description=__doc__.splitlines()[0]
    )
    parser.add_argument("sweep", choices=list(SWEEPS))
    parser.add_argument("path", type=Path, help="the JSON file to write")
    parser.add_argument("--cases", nargs="+", metavar="CASE", help="some of the sweep's cases")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args(arguments)
    names = options.cases or list(SWEEPS[options.sweep])
    if unknown := [name for name in names if name not in SWEEPS[options.sweep]]:
        parser.error(f"--cases must be among {list(SWEEPS[options.sweep])}, got {unknown}")
    _raise_on_signals()
    write_table(options.sweep, options.path, names, options.jobs)


if __name__ == "__main__":
    main()
