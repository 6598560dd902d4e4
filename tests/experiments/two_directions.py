"""A target of two directions: what one step sees of each, and what is learned on their plane.

python tests/experiments/two_directions.py
"""

import numpy as np

from onestep_lib import Setting
from onestep_lib.experiment import gradient_direction, plane_profile
from onestep_lib.experiment.profiles import Profile
from onestep_lib.experiment.simulation import Draws
from onestep_lib.small_step import seen_directions
from onestep_lib.two_index import TwoIndexTarget

SIZES = {"n": 2000, "d": 400, "N": 600}
TARGET = TwoIndexTarget(lambda s, t: s + 0.5 * np.tanh(2 * t) + s * t)
EDGES = np.linspace(-1.5, 1.5, 7)


def run(repeats: int = 12, seed: int = 5, **sizes: int) -> tuple[np.ndarray, np.ndarray, Profile]:
    """Overlaps of the gradient with the two directions, drawn and in the limit, and the plane."""
    setting = Setting(**SIZES | sizes, target=TARGET, ridge=0.02, step=(0, 25.0))
    draws = [Draws(setting, child) for child in np.random.default_rng(seed).spawn(repeats)]
    b = [gradient_direction(one.initial(), *one.gradient_batch()) for one in draws]
    seen = np.array([one.direction.T @ v / np.linalg.norm(v) for one, v in zip(draws, b, strict=True)])
    return seen, seen_directions(setting), plane_profile(setting, np.random.default_rng(seed), EDGES, 2)


if __name__ == "__main__":
    seen, limit, plane = run()
    error = seen.std(axis=0, ddof=1) / np.sqrt(len(seen))
    print(f"overlaps {seen.mean(axis=0).round(3)} +- {error.round(3)}, limit {limit.round(3)}")
    print(plane.mean.round(1))
