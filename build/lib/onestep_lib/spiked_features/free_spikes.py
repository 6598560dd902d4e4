r"""The losses of spiked random features with the spike's size r and its overlap gamma as free parameters.

After a step r and gamma follow from the step size and its batch
(:mod:`onestep_lib.large_step.stepped_model`). As a model of their own, spiked random features

.. math:: \phi_j(x)=\sigma(w_j\cdot x+r\,s_j\,\kappa),\qquad \kappa=v\cdot x,\qquad
          y=\sigma_*(\gamma\kappa+\sqrt{1-\gamma^2}\,z)+\text{noise}

have both free, and s_j from any vocabulary of finitely many values with given shares: where a good direction
helps, how much of it, and what the network must write with it (Cui et al., arXiv 2402.04980, on the influence
of the spike's overlap).

Functions
---------
free_losses   losses for every overlap gamma and every size r
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from onestep_lib._checks import (
    check_broadcast,
    check_instance,
    check_nonnegative,
    check_positive,
    check_real,
    shown,
)
from onestep_lib._values import plain
from onestep_lib.activations import Target
from onestep_lib.settings import Losses
from onestep_lib.spiked_features.losses import spiked_losses
from onestep_lib.spiked_features.model import SpikedModel

__all__ = [
    "free_losses",
]


def free_losses(
    model: SpikedModel,
    alignment: ArrayLike,
    strength: ArrayLike,
    phi: ArrayLike,
    psi: ArrayLike,
    ridge: ArrayLike,
    d: int | None = None,
    leverage: bool = False,
) -> Losses:
    r"""Return the losses of a model with other overlaps and larger or smaller spikes; all of them broadcast.

    Parameters
    ----------
    model : SpikedModel
        Its spikes are the vocabulary :math:`s_g`, its fractions the shares; its alignment is not used.
    alignment : array_like
        :math:`\gamma` in [-1, 1].
    strength : array_like
        r >= 0, by which the spikes are multiplied.
    phi, psi, ridge, d, leverage
        As in `onestep_lib.spiked_features.losses.spiked_losses`.

    Returns
    -------
    Losses
        Arrays of the broadcast shape (floats for scalars).

    Raises
    ------
    TypeError, ValueError
        For arguments outside these ranges, or a target of two directions, which has no overlap.
    ConvergenceError
        As in `onestep_lib.spiked_features.losses.spiked_losses`.

    Examples
    --------
    >>> from onestep_lib.activations import activation, target
    >>> from onestep_lib.spiked_features import SpikedModel, free_losses
    >>> model = SpikedModel(activation("tanh"), [1, -1], [0.5, 0.5], target("sin"))
    >>> losses = free_losses(model, [0, 0.5, 1], 2.0, phi=0.5, psi=0.5, ridge=0.1)
    >>> print((losses.test[1:] < losses.test[:-1]).all())  # a spike nearer to the target is better
    True
    """
    check_instance("model", model, SpikedModel)
    if not isinstance(model.target, Target):
        raise ValueError(
            f"model must have a single-index target to vary its overlap, got {shown(model.target)}"
        )
    gamma = check_real("alignment", alignment)
    if np.any(np.abs(gamma) > 1):
        raise ValueError(f"alignment must lie in [-1, 1], got {shown(alignment)}")
    points = check_broadcast(
        alignment=gamma,
        strength=check_nonnegative("strength", strength),
        phi=check_positive("phi", phi),
        psi=check_positive("psi", psi),
        ridge=check_positive("ridge", ridge),
    )
    flat = np.stack([point.ravel() for point in points])
    values = np.empty((3, flat.shape[1]))
    # Points of one model are solved together: each starts from the one before it.
    for gamma_, r in dict.fromkeys(zip(*flat[:2].tolist(), strict=True)):
        here = (flat[0] == gamma_) & (flat[1] == r)
        one = replace(model, alignment=gamma_, spikes=r * model.spikes)
        found = spiked_losses(one, flat[2, here], flat[3, here], flat[4, here], d, leverage)
        values[:, here] = found.train, found.test, found.objective
    train, test, objective = map(plain, values.reshape(3, *points[0].shape))
    return Losses(train, test, objective)
