r"""Random features whose rows have a component in common: spiked random features without a step.

Rows :math:`w_j=\sqrt s\,m+\sqrt{1-s}\,w_j'` (``Setting(shared=s)``) give

.. math:: \sigma(w_j\cdot x)=\sigma\big(\sqrt s\,\kappa+\sqrt{1-s}\;w_j'\cdot x\big),\qquad
          \kappa=m\cdot x,

which is the model of :mod:`onestep_lib.spiked_features.model` with one spike :math:`u=\sqrt s` along
:math:`v=m`, the bulk scale :math:`c=\sqrt{1-s}`, and an alignment :math:`m\cdot\beta_*` of order
:math:`1/\sqrt d`, 0 in the limit. As kappa then says nothing about the labels, the mean
:math:`\mathbb E[\sigma|\kappa]` of the features costs nothing, however large it is. Derived, not proved. It
does not go beyond step 0: the slopes :math:`\sigma'(w_j\cdot x)` depend on kappa, so that a gradient step
adds a second direction.
"""

from __future__ import annotations

import numpy as np

from onestep_lib._checks import check_instance, shown
from onestep_lib._threads import one_thread
from onestep_lib.settings import Losses, Setting
from onestep_lib.spiked_features.losses import spiked_losses
from onestep_lib.spiked_features.model import SpikedModel

__all__ = [
    "shared_features",
]


def shared_model(setting: Setting) -> SpikedModel:
    r"""Return the random features of a setting with correlated rows as spiked random features.

    Parameters
    ----------
    setting : Setting
        With step 0, rows of either law, Gaussian inputs and a single-index target of mean zero.

    Raises
    ------
    ValueError
        For a setting outside these conditions.

    Examples
    --------
    >>> from onestep_lib import Setting
    >>> from onestep_lib.beyond.shared_rows import shared_model
    >>> model = shared_model(Setting(n=400, d=200, N=300, shared=0.36))
    >>> print(model.spikes.round(3), model.scales.round(3), model.alignment)
    [0.6] [0.8] 0.0
    """
    check_instance("setting", setting, Setting)
    if np.any(setting.step):
        raise ValueError(f"step must be 0 for rows with a common component, got {shown(setting.step)}")
    setting.require_theory()
    setting.single_index()
    if setting.inputs != "gaussian":
        raise ValueError(f"inputs must be 'gaussian' here, got {setting.inputs!r}")
    setting.target.require_centred()
    return SpikedModel(
        activation=setting.activation,
        spikes=np.array([np.sqrt(setting.shared)]),
        fractions=np.ones(1),
        target=setting.target,
        noise=setting.noise,
        scales=np.sqrt(1 - setting.shared),
        row_variance=float(setting.rows == "gaussian"),
    )


def shared_features(setting: Setting) -> Losses:
    r"""Return the losses of random features whose rows have a common component.

    Parameters
    ----------
    setting : Setting
        As in `shared_model`, ridge > 0.

    Returns
    -------
    Losses
        Of the shape ``setting.shape``, in the normalisation of :mod:`onestep_lib.settings`.

    Raises
    ------
    ValueError, ConvergenceError
        As in `shared_model` and `onestep_lib.spiked_features.losses.spiked_losses`.

    Examples
    --------
    >>> from onestep_lib import Setting, random_features
    >>> from onestep_lib.beyond import shared_features
    >>> s = Setting(n=400, d=200, N=300)
    >>> print(f"{random_features(s).test:.3f} {shared_features(s).test:.3f}")
    0.287 0.287
    >>> print(f"{shared_features(s.replace(shared=0.5)).test:.3f}")  # the features' linear part is smaller
    0.390
    """
    model = shared_model(setting)
    with one_thread():
        losses = spiked_losses(model, setting.phi, setting.psi, setting.ridges)
    return Losses.from_steps([losses] * setting.steps.size, setting)
