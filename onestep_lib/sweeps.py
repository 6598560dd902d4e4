r"""Long simulations whose results are stored: the one-curve table.

.. code-block:: console

   python -m onestep_lib.sweeps one-curve tests/data/one_curve.json

simulates the true network (`onestep_lib.simulate`) over the step sizes
:math:`\log\eta/\log n\in\{0,0.2,0.35,0.45,0.55,0.62,0.7,0.8\}` and 0 for every case of `ONE_CURVE`, and
writes means and standard errors. A case runs in chunks of ten repeats; finished chunks are kept in the
library's cache folder (``ONESTEP_CACHE``), so that a killed run goes on where it stopped. Chunk k of a
case draws from ``numpy.random.default_rng([seed, k])`` and can be repeated alone (`one_curve_chunk`).

Changes are differences to step 0 repeat by repeat, which share their draws.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from tqdm.auto import tqdm

from onestep_lib._cache import memory
from onestep_lib.activations import Activation
from onestep_lib.settings import Setting
from onestep_lib.simulation import simulate

__all__ = ["CHUNK", "EXPONENTS", "ONE_CURVE", "one_curve_chunk", "one_curve_row", "one_curve_setting"]

CHUNK = 10
EXPONENTS = (0.0, 0.2, 0.35, 0.45, 0.55, 0.62, 0.7, 0.8)
LOSSES = ("train", "test", "objective")

_HE12 = (0.0, 1.0, 2**-0.5)
_SMALL = {"n": 800, "d": 400, "N": 600}
_LARGE = {"n": 1600, "d": 800, "N": 1200}
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


def _mixed(x: np.ndarray) -> np.ndarray:
    return np.tanh(x) + 0.3 * (np.exp(-np.square(x) / 2) - 2**-0.5)


def _mixed_slope(x: np.ndarray) -> np.ndarray:
    return 1 - np.tanh(x) ** 2 - 0.3 * x * np.exp(-np.square(x) / 2)


def one_curve_setting(name: str) -> Setting:
    """Return the setting of a case of `ONE_CURVE`; its first step size is 0."""
    fields = {key: value for key, value in ONE_CURVE[name].items() if key not in ("repeats", "seed")}
    if fields["activation"] == "mixed":
        fields["activation"] = Activation("mixed", _mixed, (), _mixed_slope)
    steps = np.append(0.0, float(fields["n"]) ** np.array(EXPONENTS))
    return Setting(**fields, step=steps)


def one_curve_chunk(name: str, chunk: int) -> np.ndarray:
    """Simulate chunk k of a case: shape (10, 3, step sizes), order train, test, objective."""
    rng = np.random.default_rng([ONE_CURVE[name]["seed"], chunk])
    return np.asarray(simulate(one_curve_setting(name), rng, CHUNK).draws)


@memory.cache
def _kept_chunk(name: str, chunk: int, case: dict[str, Any]) -> np.ndarray:
    # The case is an argument so that a changed one is simulated anew.
    return one_curve_chunk(name, chunk)


def one_curve_row(name: str, draws: np.ndarray) -> dict[str, Any]:
    """Return a case's entry of the table from its draws."""
    levels, changes = draws[:, :, 0], draws[:, :, 1:] - draws[:, :, :1]
    row: dict[str, Any] = {**ONE_CURVE[name], "level": {}, "change": {}}
    for key, level, change in zip(LOSSES, levels.T, np.moveaxis(changes, 1, 0), strict=True):
        row["level"][key] = _mean_and_error(level)
        row["change"][key] = [_mean_and_error(column) for column in change.T]
    return row


def _mean_and_error(values: np.ndarray) -> dict[str, float]:
    return {"mean": float(values.mean()), "se": float(values.std(ddof=1) / np.sqrt(values.size))}


def one_curve_table(path: Path, names: list[str], jobs: int) -> None:
    """Simulate cases and write them into the table at `path`, one after the other."""
    from onestep_lib import __version__

    table = json.loads(path.read_text()) if path.exists() else {"cases": {}}
    table["command"] = "python -m onestep_lib.sweeps one-curve tests/data/one_curve.json"
    table["library"], table["exponents"] = __version__, EXPONENTS
    for name in names:
        case = ONE_CURVE[name]
        tasks = [delayed(_kept_chunk)(name, chunk, case) for chunk in range(case["repeats"] // CHUNK)]
        results = Parallel(n_jobs=jobs, return_as="generator")(tasks)
        chunks = list(tqdm(results, total=len(tasks), desc=name, unit="chunk"))
        table["cases"][name] = one_curve_row(name, np.concatenate(chunks))
        path.write_text(json.dumps(table, indent=1) + "\n")


def main(arguments: list[str] | None = None) -> None:
    """Run the command line of the module's docstring."""
    parser = argparse.ArgumentParser(prog="python -m onestep_lib.sweeps", description=__doc__.splitlines()[0])
    parser.add_argument("sweep", choices=["one-curve"])
    parser.add_argument("path", type=Path, help="the JSON file to write")
    parser.add_argument("--cases", nargs="+", choices=list(ONE_CURVE), default=list(ONE_CURVE))
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args(arguments)
    one_curve_table(options.path, options.cases, options.jobs)


if __name__ == "__main__":
    main()
