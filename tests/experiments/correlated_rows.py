"""Random features and one step from correlated rows; the theory of step 0 beside the simulation.

python tests/experiments/correlated_rows.py
"""

import numpy as np

from onestep_lib import Setting, simulate
from onestep_lib.beyond import shared_features

SIZES = {"n": 800, "d": 400, "N": 600}
SHARED = (0.0, 0.2, 0.5, 0.8)


def run(repeats: int = 24, seed: int = 4, step: float = 20.0, **sizes: int) -> dict:
    """Losses at step 0 and after the step, and the theory of step 0, by the inner product of two rows."""
    each = {s: Setting(**SIZES | sizes, target="sin", noise=0.3, step=(0, step), shared=s) for s in SHARED}
    return {
        s: (simulate(one, np.random.default_rng(seed), repeats), shared_features(one.replace(step=0)))
        for s, one in each.items()
    }


if __name__ == "__main__":
    found = run()
    base, limit = found[0.0]
    for shared, (losses, theory) in found.items():
        z = (losses.test[0] - theory.test) / losses.test_se[0]
        moved = losses.draws[:, 1, 0] - base.draws[:, 1, 0]
        error = moved.std(ddof=1) / np.sqrt(moved.size)
        print(f"shared {shared}: {losses.test.round(4)} +- {losses.test_se.round(4)}", end="  ")
        print(f"theory {theory.test:.4f}, z {z:.1f}")
        print(f"    change {moved.mean():.4f} +- {error:.4f}, theory {theory.test - limit.test:.4f}")
