"""Ba et al. (arXiv 2205.01445): one step against linear and kernel predictors, on the same data.

A step of order one does not beat least squares on the full data, one of order sqrt(n) can.

    python tests/experiments/baselines_of_ba.py
"""

import numpy as np

from onestep_lib import Setting, one_step, simulate
from onestep_lib.beyond import baselines

SIZES = {"n": 1500, "d": 300, "N": 450}
STEPS = (0.0, 1.0, 5.0, 30.0)


def run(repeats: int = 8, seed: int = 2, **sizes: int) -> tuple:
    """The network's losses at each step, the theory's, and those of the baselines; draws are paired."""
    setting = Setting(**SIZES | sizes, activation="centred relu", target=(0, 1, 0.6), noise=0.1, step=STEPS)
    setting = setting.replace(output="scaled", ridge=0.02)
    network = simulate(setting, np.random.default_rng(seed), repeats)
    return network, one_step(setting), baselines(setting, np.random.default_rng(seed), repeats)


if __name__ == "__main__":
    network, theory, others = run()
    for step, test, se, expected in zip(STEPS, network.test, network.test_se, theory.test, strict=True):
        print(f"step {step:5.1f}  test {test:.4f} +- {se:.4f}  theory {expected:.4f}")
    for name, losses in others.items():
        print(f"{name:24s} {losses.test:.4f} +- {losses.test_se:.4f}")
