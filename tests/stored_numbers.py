"""What other code computed once and tests/data keeps: numbers that the library must find again."""

import json
from pathlib import Path

# The labels of srf.json by its own names.
SRF_TARGETS = {"tanh": "tanh", "sign": "sign", "sin": "sin", "he12": (0, 1, 2**-0.5)}


def stored_data(name: str) -> dict:
    return json.loads((Path(__file__).parent / "data" / f"{name}.json").read_text("utf-8"))


def one_step_entries(kind: str) -> list[dict]:
    """The entries of one_step.json that hold numbers of one kind."""
    return [entry for entry in stored_data("one_step")["entries"] if entry["kind"] == kind]


def srf_ratios(p: dict) -> tuple[float, float, float]:
    """phi, psi and the library's penalty from alpha, beta and the penalty of a point of srf.json."""
    return 1 / p["alpha"], 1 / p["beta"], p["lam"] * p["beta"] / p["alpha"]
