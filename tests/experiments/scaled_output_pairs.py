"""A scaled against a centred output where labels of uneven size act: `tests/data/scaled_output_pairs.json`.

    python tests/experiments/scaled_output_pairs.py tests/data/scaled_output_pairs.json

The setting is `SETTING`: its labels He_1 + 0.3 He_3 lengthen the rows along the spike. The ten pairs of
block k take their networks and data from `numpy.random.default_rng([SEED, k])`, the same for both outputs;
stored are N times the changes of train, test and objective. Five minutes of one core.
"""

import json
import sys
from pathlib import Path

import numpy as np

from onestep_lib import Setting, __version__, simulate

SEED, BLOCKS, PAIRS = 67, 210, 10
SETTING = Setting(
    n=1000, d=600, N=240, activation="tanh", target=(0, 1, 0, 0.3), noise=0.1, rows="spherical",
    readout="signs", step=240**0.5, ridge=0.05,
)  # fmt: skip


def block(k: int) -> np.ndarray:
    """N (scaled less centred) of the pairs of block k, shape (PAIRS, 3): train, test, objective."""
    losses = {}
    for output in ("scaled", "centred"):
        rng, setting = np.random.default_rng([SEED, k]), SETTING.replace(output=output)
        losses[output] = simulate(setting, rng, PAIRS, test_size=2000).draws
    return SETTING.N * (losses["scaled"] - losses["centred"])


def table() -> dict[str, object]:
    """All pairs, a list of shape (BLOCKS, PAIRS, 3)."""
    return {
        "command": "python tests/experiments/scaled_output_pairs.py tests/data/scaled_output_pairs.json",
        "library": __version__,
        "seeds": f"default_rng([{SEED}, k])",
        "changes": [block(k).round(4).tolist() for k in range(BLOCKS)],
    }


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(table()) + "\n", encoding="utf-8")
