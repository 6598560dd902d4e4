"""Many small steps beside a large one of the same total: same batch, fresh batches, and one of all samples.

python tests/experiments/many_small_steps.py
"""

import numpy as np

from onestep_lib import Setting, simulate
from onestep_lib.schedules import Schedule

SIZES = {"n": 400, "d": 200, "N": 300}


def run(count: int = 8, repeats: int = 16, seed: int = 1, total: float = 10.0, **sizes: int) -> dict:
    """Losses by the name of the schedule; the draws of all are paired."""
    setting = Setting(**SIZES | sizes, target=(0, 1, 0, 0.3), noise=0.3, ridge=0.02, step=total)
    schedules = {
        "one step": Schedule([1]),
        f"{count} on the same batch": Schedule.equal(count),
        f"{count} on fresh batches": Schedule.equal(count, "fresh"),
        "one step on all their samples": Schedule([1], samples=count * setting.n),
    }
    return {
        name: simulate(setting.replace(updates=one), np.random.default_rng(seed), repeats)
        for name, one in schedules.items()
    }


if __name__ == "__main__":
    for name, losses in run().items():
        print(f"{name:32s} test {losses.test:.4f} +- {losses.test_se:.4f}")
