"""The third experiment of Cui et al.: step sizes between too small to learn a feature and too large.

    python tests/experiments/cui_step_sizes.py

The test error against the step size, for a gradient on as many samples as the ridge fit and on ten times as
many, with the best step of each curve.
"""

from collections.abc import Sequence

import numpy as np

from onestep_lib import Setting, giant_step, simulate

COLUMNS = ("rate", "test", "simulated", "its error")


def experiment(
    rates: Sequence[float] = (0, 0.25, 0.5, 1, 2, 4, 8),
    factors: Sequence[int] = (1, 10),
    d: int = 300,
    repeats: int = 30,
    seed: int = 0,
) -> np.ndarray:
    """The table `COLUMNS` of each n_0 = factor n, shape (factors, rates, 4); the step is rate sqrt(N)."""
    N = 3 * d // 2
    tables = []
    for factor in factors:
        s = Setting(
            n=2 * d, d=d, N=N, n_0=2 * d * factor, target="sin", noise=0.1, ridge=0.1, readout="signs",
            step=np.sqrt(N) * np.array(rates, dtype=float),
        )  # fmt: skip
        simulated = simulate(s, np.random.default_rng(seed), repeats)
        tables.append(np.stack([rates, giant_step(s).test, simulated.test, simulated.test_se], axis=-1))
    return np.array(tables)


def best_rate(factor: int, d: int = 300) -> float:
    """The rate whose step has the least test error in theory, to 2 %."""
    N, rates = 3 * d // 2, np.geomspace(0.05, 20, 301)
    s = Setting(
        n=2 * d, d=d, N=N, n_0=2 * d * factor, target="sin", noise=0.1, ridge=0.1, readout="signs",
        step=np.sqrt(N) * rates,
    )  # fmt: skip
    return float(rates[np.argmin(giant_step(s).test)])


if __name__ == "__main__":
    for factor, table in zip((1, 10), experiment(), strict=True):
        print(f"n_0 = {factor} n, best rate {best_rate(factor):.2f}")
        print("".join(f"{name:>11}" for name in COLUMNS))
        for row in table:
            print("".join(f"{value:11.4f}" for value in row))
