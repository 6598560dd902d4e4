"""The second experiment of Cui et al.: is the activation the target's own function, sigma = sigma_*, or not?

    python tests/experiments/cui_activation_and_target.py

A network of neurons tanh and one of neurons erf learn tanh, sin and sign from one giant step. Random features
(the first two numbers of a row) see the linear part of a target only, whatever the neurons are.
"""

import numpy as np

from onestep_lib import Setting, giant_step, simulate

ACTIVATIONS = ("tanh", "erf", "relu")
TARGETS = ("tanh", "sin", "sign")
COLUMNS = ("before", "simulated", "its error", "after", "simulated", "its error")


def experiment(d: int = 300, repeats: int = 30, seed: int = 0, rate: float = 2.0) -> np.ndarray:
    """Test errors before and after a step of `rate` sqrt(N), shape (activations, targets, `COLUMNS`)."""
    fixed = {"n": 2 * d, "d": d, "N": 3 * d // 2, "n_0": 8 * d, "readout": "signs", "rows": "spherical"}
    step = [0.0, rate * np.sqrt(fixed["N"])]
    rows = []
    for activation in ACTIVATIONS:
        for target in TARGETS:
            s = Setting(**fixed, activation=activation, target=target, noise=0.1, ridge=0.1, step=step)
            simulated = simulate(s, np.random.default_rng(seed), repeats)
            rows.append(np.stack([giant_step(s).test, simulated.test, simulated.test_se], axis=-1).ravel())
    return np.reshape(rows, (len(ACTIVATIONS), len(TARGETS), len(COLUMNS)))


if __name__ == "__main__":
    print(" " * 14 + "".join(f"{name:>11}" for name in COLUMNS))
    for activation, table in zip(ACTIVATIONS, experiment(), strict=True):
        for target, row in zip(TARGETS, table, strict=True):
            print(f"{activation:7}{target:7}" + "".join(f"{value:11.4f}" for value in row))
