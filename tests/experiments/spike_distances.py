"""How far the features after a step are from F_l as n grows, for the exact step and for its rank-one part.

    nice -n 10 python tests/experiments/spike_distances.py onestep_lib/datasets/spike_distances.json

relu less its mean, d = n/2, N = 3n/4, target He_1 + He_2/sqrt(2), noise 0.5, spherical rows, steps n^alpha.
Draw k at size n comes from ``default_rng([8, n, k])`` and is the same for both exponents. 3 minutes on
one core, most of them at n = 4000; needs 1.2 GB there.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from onestep_lib import Setting, __version__
from onestep_lib.activations import centred
from onestep_lib.experiment import (
    feature_matrix,
    initial_network,
    operator_norm,
    rank_one_features,
    sample_batch,
    sample_direction,
    take_steps,
)
from onestep_lib.small_step import gradient_of

SIZES = {250: 96, 500: 64, 1000: 48, 2000: 24, 4000: 16}
ALPHAS = (0.15, 0.3)
COLUMNS = (
    "exact 0",
    "exact 1",
    "exact 2",
    "exact 2, constant",
    "rank one 1",
    "rank one 2",
    "q",
    "q, rank one",
)


def setting_of(n: int) -> Setting:
    """The setting of size n, without its step."""
    return Setting(
        n=n, d=n // 2, N=3 * n // 4, activation=centred("relu"), target=(0, 1, 2**-0.5), noise=0.5,
        rows="spherical",
    )  # fmt: skip


def draw(n: int, k: int, alphas: Sequence[float] = ALPHAS) -> np.ndarray:
    """The numbers `COLUMNS` of draw k for each exponent, shape (len(alphas), 8).

    First the norms |F - F_l|/sqrt(n), F_0 for l = 0, without the constant of the widening in the fourth;
    then what 1 (a o a)^T has in F - F_2 over c_2 (eta c_1)^2 |b|^2: an estimate of q.
    """
    setting, rng = setting_of(n), np.random.default_rng([8, n, k])
    direction, network = sample_direction(setting.d, rng), initial_network(setting, rng)
    batch, (X, _) = (sample_batch(setting, n, direction, rng) for _ in range(2))
    before = feature_matrix(network.weights, X, network.activation)
    _, c1, c2 = setting.activation.coefficients(2)
    a, rows = network.readout, []
    for stepped in take_steps(network, *batch, n ** np.asarray(alphas)):
        size = c1 * stepped.step
        along = size * (X @ stepped.direction)
        one, two = np.outer(along, c1 * a), np.outer(along**2, c2 * a**2)
        unit = size**2 * c2 * (stepped.direction @ stepped.direction)
        exact = feature_matrix(stepped.weights, X, stepped.activation) - before
        rank_one = rank_one_features(stepped, X, rng) - before
        constant = np.outer(np.ones(n), unit * gradient_of(setting).widening * a**2)
        left = (
            exact, exact - one, exact - one - two, exact - one - two - constant,
            rank_one - one, rank_one - one - two,
        )  # fmt: skip
        norms = [operator_norm(rest) / np.sqrt(n) for rest in left]
        q = [rest.mean(axis=0) @ a**2 / (np.sum(a**4) * unit) for rest in (left[2], left[5])]
        rows.append([*norms, *q])
    return np.array(rows)


def table(sizes: dict[int, int]) -> dict[str, object]:
    """All draws, by size: a list of shape (draws, len(ALPHAS), 8)."""
    draws = {str(n): [draw(n, k).round(6).tolist() for k in range(count)] for n, count in sizes.items()}
    return {
        "command": "python tests/experiments/spike_distances.py onestep_lib/datasets/spike_distances.json",
        "library": __version__,
        "seeds": "default_rng([8, n, k])",
        "alphas": ALPHAS,
        "columns": COLUMNS,
        "draws": draws,
    }


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(table(SIZES)) + "\n", encoding="utf-8")
