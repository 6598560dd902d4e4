"""The activations of tests/data/one_step.json that the library does not name."""

import numpy as np

from onestep_lib import Activation
from onestep_lib.activations import activation


def _tilted(slope: float) -> Activation:
    return Activation(
        "abs + linear",
        lambda x: np.abs(x) - np.sqrt(2 / np.pi) + slope * x,
        (0.0,),
        lambda x: np.sign(x) + slope,
    )


def _shifted_tanh() -> Activation:
    mean = Activation("tanh(x + 0.7)", lambda x: np.tanh(x + 0.7)).c0
    return Activation(
        "shifted tanh", lambda x: np.tanh(x + 0.7) - mean, (), lambda x: 1 - np.tanh(x + 0.7) ** 2
    )


def reference_activation(name: str) -> Activation:
    """The activation of that name in the reference data."""
    special = {
        "he12": lambda: Activation("he12", lambda x: x + (x**2 - 1) / 2, (), lambda x: 1 + x),
        "abs15": lambda: _tilted(0.15),
        "absx": lambda: _tilted(0.5),
        "stanh": _shifted_tanh,
    }
    return special[name]() if name in special else activation(name)
