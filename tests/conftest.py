"""The fixture `deviation`: how far a formula is from another way to the same numbers.

Tests call it beside their assertion. It does nothing unless ONESTEP_DEVIATIONS names a file, to which each
call then adds a line; `tests/tools/deviations.py` makes the table `tests/DEVIATIONS.md` of them.
"""

import json
import os
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import settings
from numpy.typing import ArrayLike

if mutant := os.environ.get("ONESTEP_MUTANT"):
    from tools import mutants

    mutants.apply(mutant)

# The same examples in every run, on every machine.
settings.register_profile("reproducible", derandomize=True, deadline=None)
settings.load_profile("reproducible")

TINY = float(np.finfo(float).tiny)


def deviation_of(
    found: ArrayLike, expected: ArrayLike, error: ArrayLike | None, scale: ArrayLike
) -> dict[str, float]:
    """The worst relative deviation, or with standard errors the z: their number, squares and largest."""
    gap = np.abs(np.asarray(found) - np.asarray(expected))
    if error is None:
        size = np.maximum(np.abs(expected), scale)
        return {"deviation": float(np.max(gap / size, initial=0.0))}
    z = gap / np.asarray(error)
    return {"cells": z.size, "squares": float(np.sum(z**2)), "largest": float(np.max(z))}


def record(
    formula: str,
    route: str,
    found: ArrayLike,
    expected: ArrayLike,
    error: ArrayLike | None = None,
    scale: ArrayLike = TINY,
) -> None:
    """Note the deviation of `module.function` from a route, relative to |expected|, at least to `scale`.

    With `error`, the standard errors of a simulation, the deviation is z instead.
    """
    path = os.environ.get("ONESTEP_DEVIATIONS")
    if not path:
        return
    test = os.environ["PYTEST_CURRENT_TEST"].rsplit(" ", 1)[0]
    line = {"formula": formula, "route": route, "test": test} | deviation_of(found, expected, error, scale)
    # Unbuffered: one write a line, so that lines of parallel workers do not mix.
    with open(path, "ab", buffering=0) as file:
        file.write(json.dumps(line, allow_nan=False).encode() + b"\n")


@pytest.fixture(scope="session")
def deviation() -> Callable[..., None]:
    """deviation(formula, route, found, expected, error=None, scale=tiny), see `record`."""
    return record
