"""Does a test fail when a function is wrong by one per cent? Every public function of the library is tried.

    python tests/tools/mutants.py [--jobs 2] [name ...]

A mutant is the library with one function whose numbers are all 1.01 times what they are (with `--negate`, of
the other sign). Of the test files that name the function the `MOST` smallest and that of its module are run
until a test fails. What no test notices is printed, with the reason where one is known (`REASONS`); the exit
code is 1 if a survivor has none.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import importlib
import inspect
import os
import pkgutil
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from tqdm import tqdm

import onestep_lib

ROOT = Path(__file__).resolve().parents[2]
VARIABLE = "ONESTEP_MUTANT"
MOST = 6
REASONS = {
    "spike_level": "a whole number",
    "activation": "what it returns is a function, whose numbers are computed when they are asked for",
    "centred": "as activation",
    "target": "as activation",
    "formula_activation": "as activation",
    "formula_target": "as activation",
}
"""Functions of which one per cent cannot be seen, and why."""


def public() -> dict[str, Callable[..., Any]]:
    """The public functions of theory and experiment by their full names."""
    found = {}
    for info in pkgutil.walk_packages(onestep_lib.__path__, "onestep_lib."):
        module = importlib.import_module(info.name)
        for name in getattr(module, "__all__", ()):
            value = getattr(module, name)
            if inspect.isfunction(value) and ".figures." not in info.name:
                found[f"{info.name}:{name}"] = value
    return found


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


def files_that_name(name: str) -> list[str]:
    """Test files to run for a function, the smallest first."""
    module, function = name.rsplit(".", 1)[-1].split(":")
    named = re.compile(rf"\b{function}\b")
    paths = sorted((ROOT / "tests").rglob("test_*.py"), key=lambda path: path.stat().st_size)
    paths = [path for path in paths if not {"book", "assignments"} & set(path.parts)]
    own = [path for path in paths if path.stem == f"test_{module}"]
    naming = [path for path in paths if named.search(path.read_text("utf-8")) and path not in own]
    return [str(path.relative_to(ROOT)) for path in [*naming[:MOST], *own]]


def survives(name: str, factor: float) -> bool:
    files = files_that_name(name)
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-m", "not slow", "--no-header", *files]
    environment = os.environ | {VARIABLE: f"{name}*{factor}", "OMP_NUM_THREADS": "1"}
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=False)
    # 1: a test failed; 2: one could not even be collected.
    return not files or ended.returncode not in (1, 2)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="functions (all)")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--negate", action="store_true")
    options = parser.parse_args()
    names = [name for name in public() if not options.names or name.split(":")[1] in options.names]
    tasks = (delayed(survives)(name, -1.0 if options.negate else 1.01) for name in names)
    results = tqdm(Parallel(options.jobs, return_as="generator")(tasks), total=len(names), unit="mutant")
    alive = []
    for name, lives in zip(names, results, strict=True):
        if lives:
            alive.append(name)
            tqdm.write(f"survives: {name}  {REASONS.get(name.split(':')[1], 'NO REASON KNOWN')}")
    print(f"{len(names) - len(alive)} of {len(names)} mutants die")
    return int(any(name.split(":")[1] not in REASONS for name in alive))


if __name__ == "__main__":
    sys.exit(main())
