"""The losses after a giant step of a network whose readout has finitely many values.

Its rows are those of :mod:`onestep_lib.large_step.stepped_model`, its losses those of spiked features.
"""

from __future__ import annotations

import numpy as np

from onestep_lib._checks import check_instance
from onestep_lib.large_step.stepped_model import stepped_losses, vocabulary_rows
from onestep_lib.settings import Losses, Setting

__all__ = [
    "giant_step",
]


def giant_step(setting: Setting, bulk: str = "full", finite_d: bool = True, leverage: bool = False) -> Losses:
    r"""Return the losses after one gradient step of a network whose readout is of signs or a vocabulary.

    Valid for every step size; the interesting ones are :math:`\eta=O(\sqrt N)`.

    Parameters
    ----------
    setting : Setting
        With ``readout="signs"`` or a vocabulary, ``output="centred"`` or ``"scaled"``, Gaussian inputs,
        ridge > 0.
    bulk : {"full", "isotropic"}
        See `stepped_features`.
    finite_d : bool
        Keep the leading correction of finite d, the penalty on the mean part.
    leverage : bool
        Keep also the O(1/d) leverage of the mean part; needs ``finite_d=True`` and d >= 2. Off by default,
        as in the literature; `onestep_lib.large_step.one_curve.one_step` keeps it.

    Returns
    -------
    Losses
        Of the shape ``setting.shape``, in the normalisation of :mod:`onestep_lib.settings`.

    Raises
    ------
    ValueError, ConvergenceError
        As in `spike_map` and `onestep_lib.spiked_features.losses.spiked_losses`.

    Examples
    --------
    >>> from onestep_lib import Setting, giant_step, one_step
    >>> setting = Setting(n=400, d=200, N=300, step=[0, 17, 52], readout="signs")
    >>> print(giant_step(setting).test.round(3), one_step(setting).test.round(3))
    [0.287 0.135 0.279] [0.287 0.135 0.279]
    """
    check_instance("setting", setting, Setting)
    models = vocabulary_rows(setting, np.atleast_1d(setting.steps).tolist(), bulk)
    return stepped_losses(models, setting, finite_d, leverage)
