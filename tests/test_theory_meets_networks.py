"""Theory against networks, in one table: a row is a setting, its theory and the repeats of `make test`.

The mean loss over the repeats is compared point by point. A penalty of 1e12 in each path is a free control
variate: there the train loss is the mean square of the batch's labels and the test loss that of the test's,
whose expectations are known, so that their scatter is taken out. A row fails if the mean gap over its points,
relative to the theory, is more than `LIMIT` of its standard errors; or if that error is so large that a bias
of `SEEN` would pass. With eight times the repeats test losses lie up to 2 % above the theory and train losses
up to 3 % below, in four rows of 25 by more than `LIMIT` errors: at these sizes the terms of order 1/n show.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest

from onestep_lib import Losses, Setting, giant_step, one_step, random_features, simulate
from onestep_lib.beyond import shared_features
from onestep_lib.experiment import spike_features
from onestep_lib.experiment.feature_maps import FeatureMap
from onestep_lib.initialisation import Vocabulary
from onestep_lib.repeats import mean_and_error
from onestep_lib.settings import LOSSES
from onestep_lib.small_step import finite_staircase
from onestep_lib.two_index import TwoIndexTarget

HE12, HE13 = (0.0, 1.0, 2**-0.5), (0.0, 1.0, 0.0, 0.3)
HUGE = 1e12
LIMIT = 3.5
SEEN = 0.075


@dataclass(frozen=True)
class Row:
    setting: Setting
    theory: Callable[[Setting], Losses] = one_step
    repeats: int = 40
    features: str | FeatureMap = "network"

    @property
    def formula(self) -> str:
        theory = getattr(self.theory, "func", self.theory)
        return f"{theory.__module__.rpartition('.')[2]}.{theory.__name__}"


def size(n: int, a: float, b: float, **others: object) -> Setting:
    return Setting(n=n, d=round(a * n), N=round(b * n), noise=0.3, **others)


def stepped(n: int, a: float, b: float, rates: tuple[float, ...], **others: object) -> Setting:
    return size(n, a, b, step=np.sqrt(round(b * n)) * np.array(rates), **others)


PATH = (0.003, 0.05, 1.0)
MIXED = TwoIndexTarget(lambda s, t: 0.9 * s + 0.5 * t + 0.6 * s * t + 0.3 * (t**2 - 1), "mixed")
FOUR = Vocabulary((0.5, -1.0, 2.0, 0.0), (0.4, 0.3, 0.2, 0.1))
TWO_SPIKES = {"theory": partial(finite_staircase, level=2), "features": spike_features(2)}
ROWS = {
    "random features, tanh, wide": Row(size(400, 0.5, 2, target=HE12, ridge=PATH), random_features),
    "random features, relu, narrow": Row(
        size(400, 0.4, 0.6, activation="relu", target=HE13, ridge=PATH, rows="spherical"), random_features
    ),
    "random features, no linear part": Row(
        size(300, 0.5, 0.8, activation="he2", target="sin", ridge=PATH), random_features
    ),
    "random features, sign": Row(
        size(300, 0.6, 0.8, activation="sign", target="sign", ridge=PATH, rows="spherical"), random_features
    ),
    "random features, two directions": Row(size(300, 0.5, 0.8, target=MIXED, ridge=PATH), random_features),
    "the Gaussian equivalent, erf, spherical inputs": Row(
        size(300, 0.6, 0.8, activation="erf", target=HE13, ridge=PATH, inputs="spherical"),
        random_features, 80, "gaussian_equivalent",
    ),
    "shared rows, relu": Row(
        size(400, 0.5, 0.75, activation="relu", target=HE12, ridge=PATH, rows="spherical", shared=0.1),
        shared_features,
    ),
    "shared rows, abs": Row(
        size(400, 0.5, 0.75, activation="abs", target=HE12, ridge=PATH, shared=0.9), shared_features
    ),
    "shared rows after a step, relu": Row(
        stepped(600, 0.25, 0.5, (0.5, 2), activation="centred relu", target=HE12, ridge=0.05, readout="signs",
                shared=0.75), shared_features,
    ),
    "shared rows after a step, softplus": Row(
        stepped(600, 0.25, 0.5, (0.5, 2), activation="softplus", target="sin", ridge=0.05, shared=0.4,
                readout=[1.0, -0.5], rows="spherical", n_0=900), shared_features,
    ),
    "two spikes, signs": Row(
        size(400, 0.6, 0.8, activation="softplus", target=HE12, step=(3.0, 8.0), ridge=0.1, readout="signs"),
        **TWO_SPIKES,
    ),
    "two spikes, four values": Row(
        size(400, 0.6, 0.8, activation="softplus", target=HE12, step=(3.0, 8.0), ridge=0.1, readout=FOUR),
        **TWO_SPIKES,
    ),
    "two spikes, two directions": Row(
        size(400, 0.6, 0.8, activation="softplus", target=MIXED, step=(3.0, 8.0), ridge=0.1), **TWO_SPIKES
    ),
    "two values, relu": Row(
        stepped(400, 0.5, 0.75, (0.25, 1), activation="relu", target=HE12, ridge=0.1, readout=[1.0, 2.0])
    ),
    "four values, softplus": Row(
        stepped(400, 0.5, 0.75, (0.25, 1), activation="softplus", target=HE12, ridge=0.1, readout=FOUR)
    ),
    "no linear part, abs": Row(
        stepped(400, 0.5, 0.75, (1, 10), activation="abs", target="sin", ridge=0.1)
    ),
    "as many samples as dimensions, relu": Row(
        stepped(300, 1, 1.3, (0.3, 2), activation="centred relu", target=HE12, ridge=0.1)
    ),
    "labels with a mean, softplus, signs": Row(
        stepped(600, 0.5, 0.75, (0.5, 3), activation="softplus", target=(0.3, 1, 2**-0.5), ridge=0.1,
                readout="signs"),
        giant_step,
    ),
    "conditional Gaussian features, scaled output": Row(
        stepped(300, 0.5, 0.75, (0.5, 1.5, 5), target=HE12, ridge=0.1, readout="signs", rows="spherical",
                output="scaled"),
        giant_step, features="conditional_gaussian",
    ),
    "small and giant steps, tanh": Row(
        stepped(600, 0.4, 0.8, (0.1, 0.5, 2, 6), target=HE13, ridge=0.1)
    ),
    "signs, tanh": Row(
        stepped(600, 0.4, 0.8, (0.3, 1, 4), target="sin", ridge=0.1, readout="signs")
    ),
    "three values, erf, spherical rows": Row(
        stepped(
            600, 0.5, 0.5, (0.5, 2), activation="erf", target=HE13, ridge=0.2, readout=[0.5, -1, 1.5],
            rows="spherical",
        )
    ),
    "relu, signs, linear and quadratic labels": Row(
        stepped(600, 0.4, 0.6, (0.3, 1), activation="centred relu", target="sin", ridge=0.2, readout="signs")
    ),
    "a large batch for the step": Row(
        stepped(500, 0.5, 0.6, (0.5, 2), target="sin", ridge=0.1, readout="signs", n_0=2500)
    ),
    "a small batch for the step": Row(
        stepped(500, 0.5, 0.6, (0.5, 2), target="sin", ridge=0.1, readout="signs", n_0=200)
    ),
    "one constant readout": Row(
        stepped(500, 0.5, 0.6, (0.5, 2), target=HE13, ridge=0.1, readout=[1.0])
    ),
    "lengths that know the component along v": Row(
        stepped(1600, 0.125, 0.25, (4,), target=(0, 1), ridge=0.05, readout="signs", rows="spherical"),
        repeats=40,
    ),
    "Gaussian rows along v": Row(
        stepped(1600, 0.125, 0.25, (4,), target=(0, 1), ridge=0.05, readout="signs"),
        repeats=40,
    ),
    "scaled output": Row(
        stepped(600, 0.4, 0.8, (0.5, 2), target="sin", ridge=0.1, output="scaled")
    ),
}  # fmt: skip


def corrected(row: Row, rng: np.random.Generator) -> np.ndarray:
    """Draws of the losses without the scatter of the labels: (repeats, 3, points)."""
    setting, repeats = row.setting, row.repeats
    ridges = np.append(np.atleast_1d(setting.ridges), HUGE)
    draws = simulate(setting.replace(ridge=ridges), rng, repeats, row.features).draws
    draws = draws.reshape(repeats, 3, -1, ridges.size)
    power = setting.target.second_moment + setting.noise**2
    labels = draws[..., -1] - power
    # The fit's coefficient of each point on the labels' power; its own error is of second order.
    seen = draws[..., :-1]
    centred = seen - seen.mean(axis=0)
    slope = (centred * labels[..., None]).sum(axis=0) / (labels**2).sum(axis=0)[..., None]
    return (seen - slope * labels[..., None]).reshape(repeats, 3, -1)


@pytest.mark.parametrize("name", ROWS)
def test_networks_have_the_losses_of_the_theory(name, deviation):
    row = ROWS[name]
    losses = row.theory(row.setting)
    theory = np.array([np.ravel(getattr(losses, loss)) for loss in LOSSES])
    draws = corrected(row, np.random.default_rng([2, *map(ord, name)]))
    gaps = (draws / theory - 1).mean(axis=-1)  # (repeats, 3)
    mean, error = mean_and_error(gaps)
    seen = zip(LOSSES, 100 * mean, 100 * error, strict=True)
    print(f"{name}:", ", ".join(f"{loss} {gap:+.2f}({se:.2f}) %" for loss, gap, se in seen))
    for k, loss in enumerate(LOSSES):
        deviation(row.formula, f"networks, {loss}", 1 + mean[k], 1.0, error[k])
    assert np.all(LIMIT * error <= SEEN), f"too few repeats to see a bias: {error}"
    assert np.all(np.abs(mean) <= LIMIT * error), dict(
        zip(LOSSES, zip(mean, error, strict=True), strict=True)
    )
