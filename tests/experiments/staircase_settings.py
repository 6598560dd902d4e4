"""The two settings that Moniri et al. (arXiv 2310.07891) simulate: a target with one stair, one with more.

    python tests/experiments/staircase_settings.py

Setting 1 is He_1 with noise of variance 1, setting 2 He_1 + He_2/sqrt(2) without noise. Their labels have
the same power, so that random features cannot tell them apart; after a step of size n^alpha the losses can.
Printed beside the network's losses: the formula at this n (spikes of finite strength, rows as the exact step
makes them), and the plateau of alpha for infinite n (at alpha = 0: the one that begins there). 10 s of one
core; seed 0.
"""

from collections.abc import Sequence

import numpy as np

from onestep_lib import Losses, Setting, simulate, staircase
from onestep_lib.small_step import exact_spike, finite_staircase, spike_level

SETTINGS = {"1": {"target": (0, 1), "noise": 1.0}, "2": {"target": (0, 1, 2**-0.5)}}
SIZES = {"n": 1000, "d": 250, "N": 500}
EXPONENTS = (0.0, 0.1, 0.2, 0.3, 0.35)
SPIKES = 8


def run(
    exponents: Sequence[float] = EXPONENTS, repeats: int = 16, seed: int = 0, **sizes: int
) -> dict[str, tuple[Losses, Losses, list[Losses]]]:
    """The network's losses, the formula's at this n, and the plateau of each exponent, by setting."""
    results = {}
    for name, labels in SETTINGS.items():
        s = Setting(**SIZES | sizes, **labels, activation="centred softplus", rows="spherical")
        s = s.replace(step=s.n ** np.array(exponents))
        network, spike = simulate(s, np.random.default_rng(seed), repeats), exact_spike(s)
        plateaus = [staircase(s.replace(step=0.0), spike_level(alpha), spike) for alpha in exponents]
        results[name] = network, finite_staircase(s, SPIKES, spike), plateaus
    return results


if __name__ == "__main__":
    for name, (network, theory, plateaus) in run().items():
        for loss in ("test", "objective"):
            found, se, line = (getattr(network, loss), getattr(network, f"{loss}_se"), getattr(theory, loss))
            print(f"setting {name}, {loss}")
            for i, alpha in enumerate(EXPONENTS):
                level = getattr(plateaus[i], loss)
                print(f"  {alpha:.2f}  {found[i]:.3f} +- {se[i]:.3f} at n {line[i]:.3f}  limit {level:.3f}")
