"""Second gradients of networks beside the limits of chapter 15: `datasets/second_gradients.json`.

    nice -n 10 python tests/experiments/second_gradients.py onestep_lib/datasets/second_gradients.json

Each series draws its networks one after the other from ``default_rng(seed)``. Half a minute of one core.
"""

import json
import sys
from pathlib import Path

import numpy as np

from onestep_lib import Setting
from onestep_lib.experiment import (
    first_layer_gradient,
    gradient_direction,
    gradient_step,
    initial_network,
    sample_batch,
    sample_direction,
)
from onestep_lib.hermite import hermite

CUBIC = Setting(n=800, d=400, N=400, target=(0, 0, 0, 6**-0.5), output="scaled")
WIDE = CUBIC.replace(N=800)
SINE = Setting(
    n=1500, d=500, N=1000, target=lambda z: np.sin(2 * z) - 2 * np.exp(-2) * z, step=0.5 * 1000**0.5,
    output="scaled",
)  # fmt: skip
# Seed, orders of the parts, and for each setting the number of networks.
SERIES = {
    "first": (15, (1,), [(CUBIC.replace(step=size * 20.0), 16) for size in np.arange(7) / 4]),
    "parts": (
        7,
        (1, 3),
        [
            (WIDE.replace(step=0.5 * 800**0.5), 20),
            (WIDE.replace(step=800**0.5), 20),
            (WIDE.replace(target=(0, 0.7, 0, 0.3), noise=0.3, step=0.8 * 800**0.5), 20),
        ],
    ),
    "quarter": (1500, (1,), [(CUBIC.replace(step=5.0), 100)]),
    "sine": (16, (3,), [(SINE, 24)]),
}


def numbers(setting: Setting, rng: np.random.Generator, orders: tuple[int, ...]) -> np.ndarray:
    """<h_k, beta_*>, <h_k, b>, |h_k|^2 for the reused and the fresh batch, shape (2, orders, 3).

    The square is the product of what either half of the neurons gives, which has no noise of single ones.
    """
    direction, network = sample_direction(setting.d, rng), initial_network(setting, rng)
    first, other = (sample_batch(setting, setting.n, direction, rng) for _ in range(2))
    b = gradient_direction(network, *first, setting.output)
    stepped, found = gradient_step(network, *first, setting.step, setting.output), []
    polynomials = hermite(max(orders), setting.N**0.5 * network.readout)[list(orders)] / setting.N**0.5
    for batch in (first, other):
        gradient = first_layer_gradient(stepped, *batch, setting.output)
        halves = [2 * polynomials[:, k::2] @ gradient[k::2] for k in (0, 1)]
        h = (halves[0] + halves[1]) / 2
        found.append(np.stack([h @ direction, h @ b, np.sum(halves[0] * halves[1], axis=1)], axis=1))
    return np.array(found)


def series(name: str, most: int | None = None) -> list[np.ndarray]:
    """The draws of each setting, shape (networks, 2, orders, 3); the first `most` of the first one."""
    seed, orders, settings = SERIES[name]
    rng = np.random.default_rng(seed)
    pairs = settings if most is None else [(settings[0][0], most)]
    return [np.array([numbers(setting, rng, orders) for _ in range(count)]) for setting, count in pairs]


def _rounded(digits: str) -> float:
    return float(f"{float(digits):.6g}")


if __name__ == "__main__":
    lines = []
    for name in SERIES:
        rounded = json.loads(json.dumps([draws.tolist() for draws in series(name)]), parse_float=_rounded)
        lines.append(f"{json.dumps(name)}: {json.dumps(rounded)}")
    Path(sys.argv[1]).write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
