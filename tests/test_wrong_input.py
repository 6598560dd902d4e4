"""The front doors, with every argument replaced by wrong values: each works, or says which argument is wrong.

`DOORS` holds one valid call each. The call must return finite numbers without a warning, or raise a short
ValueError, TypeError or ConvergenceError whose message names the argument.
"""

import dataclasses
import re
import warnings
from fractions import Fraction

import numpy as np
import pytest

from onestep_lib import (
    Activation,
    ConvergenceError,
    Setting,
    Target,
    giant_step,
    one_step,
    random_features,
    simulate,
    staircase,
)
from onestep_lib.activations import activation, target
from onestep_lib.experiment import initial_network, ridge_path, sample_batch, sample_direction, take_steps
from onestep_lib.figures import Explorer, Line, Panel, Readout, Slider
from onestep_lib.hermite import (
    conditional_mean,
    correlated_mean,
    hermite,
    hermite_coefficients,
    hermite_powers,
    hermite_series,
)
from onestep_lib.initialisation import Vocabulary
from onestep_lib.no_step import best_ridge, error_parts, feature_law, ridge_losses, spectral_density
from onestep_lib.quadrature import gaussian_mean
from onestep_lib.repeats import mean_and_error
from onestep_lib.schedules import Schedule
from onestep_lib.small_step import feature_outliers, weight_spectrum
from onestep_lib.spiked_features import SpikedModel, spiked_losses
from onestep_lib.two_index import TwoIndexTarget

S = Setting(n=12, d=4, N=6, activation="softplus", step=1.0, noise=0.2, readout="signs")
RNG = np.random.default_rng(0)
NETWORK, BETA = initial_network(S, RNG), sample_direction(S.d, RNG)
X, Y = sample_batch(S, S.n, BETA, RNG)
SPIKED = SpikedModel(S.activation, np.ones(1), np.ones(1), S.target)
SLIDER, LINE = Slider("a", [1.0, 2.0]), Line([0.0, 1.0], [1.0, 2.0])
RATIOS = {"phi": 0.5, "psi": 0.4}
POWERS = {"c1_sq": 0.3, "nonlinear_sq": 0.2}
TWO = {"linear_power": 1.0, "other_power": 0.5}

DOORS = {
    Setting: {
        "n": 12, "d": 4, "N": 6, "activation": "tanh", "target": (0, 1), "noise": 0.1, "ridge": 0.1,
        "step": 1.0, "rows": "gaussian", "readout": "signs", "inputs": "gaussian", "output": "centred",
        "fresh": True, "updates": 1, "shared": 0.0, "n_0": None,
    },
    Activation: {"name": "tanh", "function": np.tanh, "kinks": (), "derivative": None},
    Target: {"name": "sin", "function": np.sin, "kinks": (), "polynomial": None},
    TwoIndexTarget: {"function": np.multiply, "name": "product", "kinks": ()},
    activation: {"value": "tanh"},
    target: {"value": (0.0, 1.0)},
    Vocabulary: {"values": (1.0, -2.0), "shares": (0.5, 0.5)},
    Schedule: {"factors": [1.0, 0.5], "batches": "fresh", "samples": 5},
    simulate: {"setting": S, "rng": RNG, "repeats": 2, "test_size": 50, "feature_map": "network", "jobs": 1},
    random_features: {"setting": S.replace(step=0.0)},
    staircase: {"setting": S, "level": 1},
    one_step: {"setting": S},
    giant_step: {"setting": S},
    feature_law: {"setting": S},
    weight_spectrum: {"setting": S},
    feature_outliers: {"setting": S, "level": 1},
    sample_batch: {"setting": S, "count": 3, "direction": BETA, "rng": RNG},
    take_steps: {"network": NETWORK, "X": X, "y": Y, "steps": 1.0, "output": "centred"},
    ridge_path: {"F": X, "y": Y, "ridges": 0.1},
    SpikedModel: {"activation": S.activation, "spikes": [1.0], "fractions": [1.0], "target": S.target},
    spiked_losses: {"model": SPIKED, "ridge": 0.1} | RATIOS,
    ridge_losses: {"ridge": 0.1} | RATIOS | POWERS | TWO,
    error_parts: {"ridge": 0.1} | RATIOS | POWERS | TWO,
    best_ridge: RATIOS | POWERS | TWO,
    spectral_density: {"x": [0.5, 1.0]} | RATIOS | POWERS,
    hermite: {"order": 3, "x": [1.0, 2.0]},
    hermite_series: {"coefficients": [0.0, 1.0], "x": [1.0, 2.0]},
    hermite_coefficients: {"function": np.tanh, "order": 3, "kinks": ()},
    hermite_powers: {"coefficients": [0.0, 1.0]},
    correlated_mean: {"f_coefficients": [0.0, 1.0], "g_coefficients": [0.0, 1.0], "rho": 0.5},
    conditional_mean: {"coefficients": [0.0, 1.0], "rho": 0.5, "x": [1.0, 2.0]},
    gaussian_mean: {"function": np.tanh, "kinks": ()},
    mean_and_error: {"draws": np.ones((2, 3))},
    Slider: {"name": "a", "values": [1.0, 2.0], "label": "", "initial": None, "format": "{:.3g}"},
    Explorer: {
        "title": "T", "sliders": [SLIDER], "panels": [Panel([LINE], "x", "y", "A line.")],
        "readouts": [Readout("value", [1.0, 2.0], "a")], "caption": "",
    },
}  # fmt: skip
WRONG = {
    "None": None, "a word": "no such thing", "bytes": b"1", "nan": np.nan, "infinite": np.inf,
    "negative": -1.0, "zero": 0, "large": 1e200, "huge": 10**400, "complex": 1j, "a flag": True, "empty": [],
    "ragged": [[1.0], [1.0, 2.0]], "words": ["1", "2"], "a cube": np.ones((2, 3, 4)),
    "a mask": np.ma.array([1.0, 2.0], mask=[False, True]),
    "an object": object(), "a dict": {"a": 1.0}, "a long list": [0.5] * 10_000 + ["x"],
}  # fmt: skip
# A wrong shape may be told of either of two arguments, and a setting of what it holds.
SHAPES = {"empty", "a cube"}


def finite(value):
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return all(finite(getattr(value, field.name)) for field in dataclasses.fields(value))
    if isinstance(value, tuple | list):
        return all(map(finite, value))
    if isinstance(value, np.ndarray | float) and np.asarray(value).dtype.kind == "f":
        return bool(np.isfinite(value).all())
    return True


def outcome(call, arguments, *names):
    """None if the call works, or says what is wrong with one of the names; else what it did."""
    try:
        with warnings.catch_warnings(action="error"):
            result = call(**arguments)
            # Steps are taken when they are asked for.
            result = list(result) if call is take_steps else result
    except (ValueError, TypeError, ConvergenceError) as error:
        message = str(error)
        named = isinstance(error, ConvergenceError) or any(
            re.search(rf"\b{name}\b.* must ", message) for name in names
        )
        return None if named and len(message) < 400 else f"{type(error).__name__}: {message[:200]}"
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:150]}"
    return None if finite(result) else f"returned {str(result)[:80]}"


def wrong_ends(call, valid):
    assert outcome(call, valid) is None
    found = []
    for name in valid:
        for label, value in WRONG.items():
            names = [ALIASES.get((call, one), one) for one in (valid if label in SHAPES else [name])]
            if said := outcome(call, valid | {name: value}, *names):
                found.append(f"{name}={label}: {said}")
    return found


# The argument of these is named after what it becomes.
ALIASES = {(activation, "value"): "activation", (target, "value"): "target"}


@pytest.mark.parametrize("call", DOORS, ids=lambda call: call.__name__)
def test_a_wrong_argument_is_named(call):
    assert wrong_ends(call, DOORS[call]) == []


# Fields that Setting accepts or refuses alone: each theory of it gives numbers, or names them.
FIELDS = {
    "noise": 1e200, "ridge": 1e200, "step": 1e200, "target": (0, 1e200),
    "activation": Activation("zero", np.zeros_like, (), np.zeros_like),
}  # fmt: skip


@pytest.mark.parametrize("name", FIELDS)
@pytest.mark.parametrize(
    "call", [one_step, giant_step, staircase, feature_law, feature_outliers, weight_spectrum]
)
def test_a_field_out_of_range_is_named(call, name):
    more = {key: value for key, value in DOORS[call].items() if key != "setting"}
    with pytest.raises(ValueError, match=rf"^{name}\b.* must "):
        call(S.replace(**{name: FIELDS[name]}), **more)


def test_the_sweep_finds_what_it_looks_for():
    def silent(width):
        return np.nan if not isinstance(width, float) else width

    def nameless(width):
        if not isinstance(width, float) or not 0 < width < 10:
            raise ValueError("something is wrong")
        return width

    def crashing(width):
        return {0.5: 1.0}[width]

    found = {call.__name__: wrong_ends(call, {"width": 0.5}) for call in (silent, nameless, crashing)}
    assert "width=None: returned nan" in found["silent"]
    assert "width=negative: ValueError: something is wrong" in found["nameless"]
    assert "width=a word: KeyError: 'no such thing'" in found["crashing"]


@pytest.mark.parametrize("value", [2, np.float32(2), np.int8(2), np.longdouble(2), Fraction(2)], ids=repr)
def test_numbers_of_every_kind_are_read(value):
    if isinstance(value, Fraction):
        with pytest.raises(TypeError, match="ridge must be a real number"):
            Setting(n=2, d=2, N=2, ridge=value)
        return
    assert Setting(n=2, d=2, N=2, ridge=value).ridge == 2.0
    assert Setting(n=np.int64(2), d=2, N=2).n == 2


def test_a_message_stays_short():
    with pytest.raises(TypeError, match=r"draws must be .*\.\.\.$") as error:
        mean_and_error([0.5] * 100_000 + ["x"])
    assert len(str(error.value)) < 200
