"""Does a test fail when a function is wrong by one per cent? Every public function of the library is tried.

    python tests/tools/mutants.py [--jobs 2] [name ...]

A mutant is the library with one function whose numbers are all 1.01 times what they are (with `--negate`, of
the other sign). The test files that name the function are run until one fails; what no test notices is
printed, with the reason where one is known (`REASONS`), and the exit code is 1 if a survivor has none.
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
REASONS: dict[str, str] = {}
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
    if isinstance(value, Iterator):
        return (scaled(part, factor) for part in value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        numbers = {f.name: getattr(value, f.name) for f in dataclasses.fields(value) if f.init}
        return dataclasses.replace(value, **{name: scaled(part, factor) for name, part in numbers.items()})
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


def files_that_name(function: str) -> list[str]:
    """Test files in which the function is called, the one named like its module first."""
    called = re.compile(rf"\b{function}\(")
    found = [path for path in (ROOT / "tests").rglob("test_*.py") if called.search(path.read_text("utf-8"))]
    own = [path for path in found if "book" not in path.parts and "assignments" not in path.parts]
    return [str(path.relative_to(ROOT)) for path in sorted(own, key=lambda path: path.stat().st_size)]


def survives(name: str, factor: float) -> bool:
    files = files_that_name(name.split(":")[1])
    if not files:
        return True
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-m", "not slow", *files]
    environment = os.environ | {VARIABLE: f"{name}*{factor}", "OMP_NUM_THREADS": "1"}
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=False)
    return ended.returncode != 1  # 1: a test failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="functions (all)")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--negate", action="store_true")
    options = parser.parse_args()
    names = [name for name in public() if not options.names or name.split(":")[1] in options.names]
    tasks = (delayed(survives)(name, -1.0 if options.negate else 1.01) for name in names)
    results = list(
        tqdm(Parallel(options.jobs, return_as="generator")(tasks), total=len(names), unit="mutant")
    )
    alive = [name for name, lives in zip(names, results, strict=True) if lives]
    for name in alive:
        print(f"survives: {name}  {REASONS.get(name.split(':')[1], 'NO REASON KNOWN')}")
    print(f"{len(names) - len(alive)} of {len(names)} mutants die")
    return int(any(name.split(":")[1] not in REASONS for name in alive))


if __name__ == "__main__":
    sys.exit(main())
