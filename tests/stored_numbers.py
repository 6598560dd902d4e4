"""What other code computed once and tests/data keeps: numbers that the library must find again."""

import json
from pathlib import Path

import numpy as np

# The labels of srf.json by its own names.
SRF_TARGETS = {"tanh": "tanh", "sign": "sign", "sin": "sin", "he12": (0, 1, 2**-0.5)}


def stored_data(name: str) -> dict:
    return json.loads((Path(__file__).parent / "data" / f"{name}.json").read_text("utf-8"))


def stored_cells(table: dict, point: str, loss: str) -> tuple[np.ndarray, np.ndarray]:
    """A loss of a point of `stored_table` without a step, and its changes: means and errors."""
    rows = table["point"] == point
    level, changes = (table[f"{loss}{end}"][rows] for end in ("", "_change"))
    level_se, changes_se = (table[f"{loss}{end}_se"][rows] for end in ("", "_change"))
    return np.append(level[0], changes[1:]), np.append(level_se[0], changes_se[1:])


def one_step_entries(kind: str) -> list[dict]:
    """The entries of one_step.json that hold numbers of one kind."""
    return [entry for entry in stored_data("one_step")["entries"] if entry["kind"] == kind]


def srf_ratios(p: dict) -> tuple[float, float, float]:
    """phi, psi and the library's penalty from alpha, beta and the penalty of a point of srf.json."""
    return 1 / p["alpha"], 1 / p["beta"], p["lam"] * p["beta"] / p["alpha"]
