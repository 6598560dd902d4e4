"""The first experiment of Cui et al.: more samples for the gradient step, as many as before for the ridge.

    python tests/experiments/cui_vary_step_samples.py

alpha_0 = n_0/d varies at fixed alpha = n/d and beta = N/d. The alignment gamma of the spike with the target
and the test error follow it: from random features (alpha_0 = 0) to a direction that is known.
"""

from collections.abc import Sequence

import numpy as np

from onestep_lib import Setting, giant_step, simulate
from onestep_lib.conventions import PaperProblem, setting_from
from onestep_lib.experiment import measured_spike
from onestep_lib.experiment.simulation import Draws
from onestep_lib.large_step import stepped_model

COLUMNS = ("alpha_0", "gamma", "simulated", "its error", "test", "simulated", "its error")


def setting(alpha_0: float, d: int, rate: float = 1.5) -> Setting:
    """alpha = 2, beta = 1.5 and a step of `rate` times p, in the paper's numbers."""
    ratios = {"alpha": 2.0, "beta": 1.5, "alpha_0": alpha_0}
    problem = PaperProblem("cui", ratios, penalty=0.1, step=rate * 1.5 * d)
    return setting_from(problem, d, target="sin", noise=0.1, readout="signs")


def gammas(s: Setting, rng: np.random.Generator, repeats: int) -> np.ndarray:
    """The alignment of `repeats` gradients with the target, measured on networks."""
    draws = [Draws(s, child) for child in rng.spawn(repeats)]
    pairs = [(next(one.networks()).direction, one.direction) for one in draws]
    return np.array([measured_spike(*pair).alignment for pair in pairs])


def experiment(
    alphas_0: Sequence[float] = (0.5, 1, 2, 5, 10, 20), d: int = 300, repeats: int = 40, seed: int = 0
) -> np.ndarray:
    """The rows of the table `COLUMNS`; the first, alpha_0 = 0, has no step."""
    before = setting(1.0, d, rate=0.0)
    rows = [[0.0, np.nan, np.nan, np.nan, giant_step(before).test, *tested(before, seed, repeats)]]
    for alpha_0 in alphas_0:
        s = setting(alpha_0, d)
        gamma = gammas(s, np.random.default_rng([seed, 1]), repeats)
        measured = stepped_model(s, s.step, "isotropic").alignment, gamma.mean(), gamma.std(ddof=1) / np.sqrt(repeats)
        rows.append([alpha_0, *measured, giant_step(s).test, *tested(s, seed, repeats)])
    return np.array(rows)


def tested(s: Setting, seed: int, repeats: int) -> tuple[float, float]:
    """The simulated test error and its standard error."""
    return simulate(s, np.random.default_rng(seed), repeats)["test"]


if __name__ == "__main__":
    print("".join(f"{name:>11}" for name in COLUMNS))
    for row in experiment():
        print("".join(f"{value:11.4f}" for value in row))
