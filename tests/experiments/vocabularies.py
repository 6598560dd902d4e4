"""Vocabularies of one to four values (Dandi et al., arXiv 2410.18938), theory beside simulation.

python tests/experiments/vocabularies.py
"""

import numpy as np

from onestep_lib import Setting, one_step, simulate

SIZES = {"n": 800, "d": 400, "N": 600}
WORDS = {"all ones": [1], "two": [1, 2], "three": [1, -1, 2], "four": [0.5, 1, -1, 2]}


def run(repeats: int = 24, seed: int = 3, **sizes: int) -> dict:
    """Losses of simulation and theory at a giant step, by the vocabulary."""
    setting = Setting(**SIZES | sizes, activation="relu", target=(0, 1, 0.4), noise=0.3, step=20.0)
    each = {name: setting.replace(readout=words) for name, words in WORDS.items()}
    return {
        name: (simulate(one, np.random.default_rng(seed), repeats), one_step(one))
        for name, one in each.items()
    }


if __name__ == "__main__":
    for name, (losses, theory) in run().items():
        z = [(losses[kind][0] - theory[kind][0]) / losses[kind][1] for kind in ("train", "test")]
        print(f"{name:9s} test {losses.test:.4f} +- {losses.test_se:.4f}  theory {theory.test:.4f}  z {z}")
