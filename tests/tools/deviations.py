"""Gather what the tests measure: `make deviations` writes tests/DEVIATIONS.md.

    python tests/tools/deviations.py [--slow]

The library's tests run as in tests/tools/suites.py, with --slow the slow ones too, and their fixture
`deviation` (tests/conftest.py) writes a line for each comparison.
"""

import argparse
import json
import math
import os
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

from suites import SUITES, run

RESULTS = Path(__file__).parents[1] / "DEVIATIONS.md"
INTRODUCTION = """\
# Deviations

Written by `make deviations`: each test that compares a formula of `onestep_lib` with another way to the
same numbers notes how far apart the two are. A deviation is the worst one over all numbers of all tests with
that route, relative to the number (where it may vanish, to its natural size); an inexact route (differences,
samples, a limit not quite reached) shows its own error. z is a gap in standard errors: its rms is near 1
where theory and simulation agree, and cells of one simulation share their draws.
"""
# What is below is rounding, differs from processor to processor, and is said as this.
ROUNDING = 1e-15

Line = dict[str, Any]
Groups = list[tuple[str, str, list[Line]]]


def grouped(lines: list[Line], kind: str) -> Groups:
    """The lines that have the key `kind`, by formula and route, in order."""
    groups = defaultdict(list)
    for line in lines:
        if kind in line:
            groups[*line["formula"].split(".", 1), line["route"]].append(line)
    return [
        (f"{module}.{name}", route, groups[module, name, route]) for module, name, route in sorted(groups)
    ]


def digit(value: float) -> str:
    """One significant digit: what is left of a deviation on another processor."""
    mantissa, exponent = f"{max(value, ROUNDING):.0e}".split("e")
    return f"{mantissa}e{int(exponent)}"


def route_table(groups: Groups) -> list[str]:
    rows = ["| formula | route | worst relative deviation | tests |", "| --- | --- | ---: | ---: |"]
    for formula, route, lines in groups:
        worst = max(line["deviation"] for line in lines)
        rows.append(f"| `{formula}` | {route} | {digit(worst)} | {len({line['test'] for line in lines})} |")
    return rows


def simulation_table(groups: Groups) -> list[str]:
    rows = ["| formula | route | cells | rms z | largest \\|z\\| |", "| --- | --- | ---: | ---: | ---: |"]
    for formula, route, lines in groups:
        cells = sum(line["cells"] for line in lines)
        rms = math.sqrt(math.fsum(line["squares"] for line in lines) / cells)
        largest = max(line["largest"] for line in lines)
        rows.append(f"| `{formula}` | {route} | {cells} | {rms:.2f} | {largest:.2f} |")
    return rows


def report(lines: list[Line]) -> str:
    routes, simulations = grouped(lines, "deviation"), grouped(lines, "cells")
    parts = [
        INTRODUCTION,
        "## Against an independent route\n",
        *route_table(routes),
        "\n## Against simulation\n",
        *simulation_table(simulations),
    ]
    return "\n".join(parts) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--slow", action="store_true", help="the slow tests too, as `make deviations` does")
    chosen = ("-m", "slow or not slow") if parser.parse_args().slow else ()
    with tempfile.TemporaryDirectory() as folder:
        noted = Path(folder) / "deviations.jsonl"
        os.environ["ONESTEP_DEVIATIONS"] = str(noted)
        # The book's tests note nothing; one of them asks for every formula's row: it waits for the table.
        code, _ = run((*SUITES["test"]["library"], "--ignore=tests/book", *chosen))
        if code:
            print(f"{RESULTS.name} is left as it was: a test failed.")
            return code
        lines = [json.loads(line) for line in noted.read_text("utf-8").splitlines()]
    RESULTS.write_text(report(lines), "utf-8")
    print(f"Wrote {RESULTS.name}: {len(lines)} comparisons.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
