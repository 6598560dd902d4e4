"""Feature maps: functions (network, X, rng) -> F, one sample a row, and the settings that they describe."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from onestep_lib._checks import shown
from onestep_lib.experiment.network import Network
from onestep_lib.settings import OUTPUTS, Setting

FeatureMap = Callable[[Network, np.ndarray, np.random.Generator], np.ndarray]
# The mark of `one_step_map`: functions and partials carry attributes, and keep them in worker processes.
_MARK = "one_step_outputs"


def one_step_map(feature_map: FeatureMap, outputs: Sequence[str] = OUTPUTS) -> FeatureMap:
    """Mark a feature map that describes the network after exactly one step, and return it.

    Parameters
    ----------
    feature_map : callable
        (network, X, rng) -> F, one sample a row.
    outputs : sequence of str
        What the residual may subtract, see :mod:`onestep_lib.settings`.

    Examples
    --------
    >>> import numpy as np
    >>> from onestep_lib import Setting
    >>> from onestep_lib.experiment import simulate
    >>> from onestep_lib.experiment.feature_maps import one_step_map
    >>> squares = one_step_map(lambda network, X, rng: (X @ network.weights.T) ** 2)
    >>> setting = Setting(n=50, d=20, N=30, step=1, updates=2)
    >>> simulate(setting, np.random.default_rng(0), 2, feature_map=squares)
    Traceback (most recent call last):
        ...
    ValueError: updates must be 1 for features that describe the network after one step, got 2
    """
    setattr(feature_map, _MARK, tuple(outputs))
    return feature_map


def require_covered(feature_map: FeatureMap, setting: Setting) -> None:
    """Raise if the feature map is marked by `one_step_map` and does not describe the setting's network."""
    outputs = getattr(feature_map, _MARK, None)
    if outputs is None:
        return
    if setting.updates != 1:
        raise ValueError(
            f"updates must be 1 for features that describe the network after one step, got "
            f"{shown(setting.updates)}"
        )
    if setting.shared:
        raise ValueError(
            "shared must be 0 for features that describe the network after one step, got "
            f"{setting.shared:.6g}"
        )
    if np.any(setting.steps) and setting.output not in outputs:
        allowed = " or ".join(map(repr, outputs))
        raise ValueError(
            f"output must be {allowed} for features that describe such a step, got {setting.output!r}"
        )
