"""Does a result's test fail when its function is wrong by one per cent? Every result of the book is tried.

    python tests/tools/mutants.py [--jobs 2] [result ...]

`book/results.yml` names the functions and the tests of each result. A mutant is the library with one of those
functions whose numbers are all 1.01 times what they are (with `--negate`, of the other sign); of the tests of
its result, tried in their order, one must fail. What none notices is said, with the reason where one is known
(`REASONS`); the exit code is 1 if a survivor has none. `make check` ends with it.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import importlib
import inspect
import os
import pkgutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from joblib import Parallel, delayed

import onestep_lib

ROOT = Path(__file__).resolve().parents[2]
VARIABLE = "ONESTEP_MUTANT"
REASONS = {
    "onestep_lib.small_step.spikes:spike_level": "a whole number",
    "onestep_lib.beyond.even_targets:even_share": "networks of d = 150 know it to 3 %",
}
"""Functions of which one per cent cannot be seen by the tests of their result, and why."""


def mutants(wanted: list[str]) -> Iterator[tuple[str, str, list[str]]]:
    """Result, function ("module:name") and tests, of what returns numbers and is tested outside a chapter."""
    table = yaml.safe_load((ROOT / "book" / "results.yml").read_text("utf-8"))
    for row in (row for rows in table.values() for row in rows):
        tests = [f"tests/{test}" for test in row["test"] if not test.startswith("book/")]
        for name in row["function"] if tests and (not wanted or row["id"] in wanted) else ():
            module, _, function = name.rpartition(".")
            if inspect.isroutine(getattr(importlib.import_module(f"onestep_lib.{module}"), function)):
                yield row["id"], f"onestep_lib.{module}:{function}", tests


def scaled(value: Any, factor: float) -> Any:
    """The value with every number in it scaled; what holds none stays."""
    if isinstance(value, float | complex | np.floating) or (
        isinstance(value, np.ndarray) and value.dtype.kind in "fc"
    ):
        return value * factor
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return tuple(scaled(part, factor) for part in value)
    if isinstance(value, list):
        return [scaled(part, factor) for part in value]
    if isinstance(value, dict):
        return {key: scaled(part, factor) for key, part in value.items()}
    if isinstance(value, functools.partial):  # what a maker of feature maps hands out
        return functools.update_wrapper(lambda *given: scaled(value(*given), factor), value)
    if isinstance(value, Iterator):
        return (scaled(part, factor) for part in value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        # Without its constructor: what that refuses is not what a test sees.
        copy = object.__new__(type(value))
        for field in dataclasses.fields(value):
            object.__setattr__(copy, field.name, scaled(getattr(value, field.name), factor))
        return copy
    return value


def apply(mutant: str) -> None:
    """Put a wrong function in the place of the right one, wherever it was imported to."""
    name, factor = mutant.rsplit("*", 1)
    module, function = name.split(":")
    right = getattr(importlib.import_module(module), function)

    @functools.wraps(right)
    def wrong(*arguments: Any, **options: Any) -> Any:
        return scaled(right(*arguments, **options), float(factor))

    for info in pkgutil.walk_packages(onestep_lib.__path__, "onestep_lib."):
        importlib.import_module(info.name)
    for loaded in [m for key, m in sys.modules.items() if key.startswith("onestep_lib")]:
        for attribute, value in list(vars(loaded).items()):
            if value is right:
                setattr(loaded, attribute, wrong)
            elif isinstance(value, dict) and not attribute.startswith("__"):
                value.update({key: wrong for key, held in value.items() if held is right})


def survives(name: str, tests: list[str], factor: float) -> tuple[bool, float]:
    """Whether all tests pass, and the seconds it took to know."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "--no-header", *tests]
    environment = os.environ | {VARIABLE: f"{name}*{factor}", "OMP_NUM_THREADS": "1"}
    # Plugins, of which these tests need none, take two seconds to load.
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    start = time.monotonic()
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=False)
    # 1: a test failed; 2: one could not even be collected.
    return ended.returncode not in (1, 2), time.monotonic() - start


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", nargs="*", help="their ids (all)")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--negate", action="store_true")
    options = parser.parse_args()
    tried = list(mutants(options.results))
    factor = -1.0 if options.negate else 1.01
    tasks = (delayed(survives)(name, tests, factor) for _, name, tests in tried)
    results = Parallel(options.jobs, return_as="generator")(tasks)
    alive = []
    for (result, name, _), (lives, seconds) in zip(tried, results, strict=True):
        end = f"survives  {REASONS.get(name, 'NO REASON KNOWN')}" if lives else "dies"
        print(f"{seconds:4.0f} s  {result}: {name} {end}", flush=True)
        alive += [name] * lives
    print(f"{len(tried) - len(alive)} of {len(tried)} mutants die")
    return int(any(name not in REASONS for name in alive))


if __name__ == "__main__":
    sys.exit(main())
