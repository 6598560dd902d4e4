"""Single networks of random settings, and the intervals predicted for them: `datasets/single_networks.json`.

    python tests/experiments/single_networks.py onestep_lib/datasets/single_networks.json

200 settings of one family (`drawn_setting`): n from 100 to 1000, d from n/5 to n, N from 0.15 n to 1.5 n,
steps from 0.2 to 4 sqrt(N), four activations, five targets, both laws of the rows; two
networks each. Setting and networks k come from `numpy.random.default_rng([SEED, k])`. Two and a quarter
minutes of one core.
"""

import json
import sys
from pathlib import Path

import numpy as np

from onestep_lib import Setting, simulate
from onestep_lib.beyond import predicted_losses
from onestep_lib.settings import LOSSES

SEED, COUNT = 2027, 200
ACTIVATIONS = ("tanh", "erf", "relu", "softplus")
TARGETS = ((0, 1), (0, 1, 0.5), (0, 1, 0, 0.3), "sin", "tanh")


def drawn_setting(rng: np.random.Generator) -> tuple[Setting, dict]:
    """A setting of the family, and its fields."""

    def between(low: float, high: float) -> float:
        return float(np.exp(rng.uniform(np.log(low), np.log(high))))

    n = round(between(100, 1000))
    d, N = round(n * between(0.2, 1)), round(n * between(0.15, 1.5))
    fields = {
        "n": n, "d": d, "N": N, "activation": str(rng.choice(ACTIVATIONS)),
        "target": TARGETS[rng.integers(len(TARGETS))], "noise": float(rng.uniform(0, 0.5)),
        "ridge": between(0.003, 0.3), "step": between(0.2, 4) * N**0.5,
        "rows": str(rng.choice(["gaussian", "spherical"])), "readout": "signs",
    }  # fmt: skip
    return Setting(**fields), fields


def entry(k: int) -> dict:
    """Fields of setting k; train, test, objective of two networks; predicted means and deviations."""
    rng = np.random.default_rng([SEED, k])
    setting, fields = drawn_setting(rng)
    predicted = predicted_losses(setting)
    return fields | {
        "networks": simulate(setting, rng, repeats=2).draws.tolist(),
        "means": [predicted.losses[name][0] for name in LOSSES],
        "deviations": [predicted.deviation(name) for name in LOSSES],
    }


if __name__ == "__main__":
    entries = [entry(k) for k in range(COUNT)]
    lines = ",\n".join(json.dumps(one) for one in entries)
    Path(sys.argv[1]).write_text(f"[\n{lines}\n]\n")
