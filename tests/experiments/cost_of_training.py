"""Operations and seconds of random features, one step and training to convergence, beside their losses.

python tests/experiments/cost_of_training.py
"""

import numpy as np

from onestep_lib import Setting
from onestep_lib.beyond import compare_costs
from onestep_lib.beyond.costs import Cost

SIZES = {"n": 120, "d": 30, "N": 60}


def run(repeats: int = 4, seed: int = 6, decay: float | None = None, **sizes: int) -> dict[str, Cost]:
    """Costs by method."""
    setting = Setting(**SIZES | sizes, activation="softplus", target=(0, 1, 0.7), noise=0.3, step=8.0)
    return compare_costs(setting.replace(ridge=0.02), np.random.default_rng(seed), repeats, decay)


if __name__ == "__main__":
    for name, cost in run().items():
        losses = cost.losses
        print(f"{name:16s} test {losses.test:.4f} +- {losses.test_se:.4f}", end="  ")
        print(f"{cost.flops:.2e} flops, {cost.seconds:.3f} s")
