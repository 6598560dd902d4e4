r"""What cross-validation estimates after a step: leave-one-out the test loss, its generalised form does not.

A sample with the coordinate :math:`\kappa_i` has the leverage :math:`S_{ii}\to1-D(\kappa_i)` in the smoother
:math:`S=F(F^\top F+\lambda nI)^{-1}F^\top`, and the residual :math:`D(\kappa_i)` times the error of the fit
without it, D and E as in :mod:`onestep_lib.spiked_features.losses`. So in the limit

.. math:: \frac1n\sum_i\Big(\frac{y_i-\hat y_i}{1-S_{ii}}\Big)^2\to\langle E\rangle=\text{test},\qquad
          \frac{\frac1n|y-\hat y|^2}{(1-\frac1n\operatorname{tr}S)^2}
          \to\frac{\langle D^2E\rangle}{\langle D\rangle^2}.

Without a step, and on the stairs of small ones, D does not depend on kappa and the two agree. After a giant
step it does: a sample far out along the spike has features of another slope. Then generalised
cross-validation weighs the errors by :math:`D^2/\langle D\rangle^2`, and is no estimate of the test loss.

Functions
---------
validation_losses   both limits at every step size and penalty
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onestep_lib._threads import one_thread
from onestep_lib._values import plain
from onestep_lib.large_step.one_curve import TOLERANCE
from onestep_lib.large_step.stepped_model import stepped_model
from onestep_lib.settings import Setting
from onestep_lib.spiked_features.losses import solve_spiked

__all__ = [
    "validation_losses",
]


@dataclass(frozen=True, eq=False)
class Validation:
    """The limits of two estimates of the test loss; each of the shape of the setting's losses.

    Parameters
    ----------
    leave_one_out : float or ndarray
        The mean square of the residuals without the own sample: the test loss.
    generalised : float or ndarray
        Generalised cross-validation.
    degrees_of_freedom : float or ndarray
        (1/n) tr S.
    """

    leave_one_out: float | np.ndarray
    generalised: float | np.ndarray
    degrees_of_freedom: float | np.ndarray


def validation_losses(setting: Setting) -> Validation:
    """Return what leave-one-out and generalised cross-validation estimate after a step.

    Formulas in :mod:`onestep_lib.beyond.cross_validation`.

    The setting is one that `onestep_lib.large_step.one_curve.one_step` covers.

    Examples
    --------
    >>> from onestep_lib import Setting, one_step
    >>> from onestep_lib.beyond import validation_losses
    >>> setting = Setting(n=400, d=200, N=800, target=(0, 1, 0.7), readout="signs", step=[0, 56])
    >>> found = validation_losses(setting)
    >>> print((found.leave_one_out / one_step(setting).test).round(5))
    [1. 1.]
    >>> print((found.generalised / found.leave_one_out).round(1))  # no estimate of the test loss after a step
    [1.  2.2]
    """
    values = []
    with one_thread():
        for step in np.atleast_1d(setting.steps):
            model, near = stepped_model(setting, float(step)), None
            for ridge in np.atleast_1d(setting.ridges):
                near = solve_spiked(model, setting.phi, setting.psi, ridge, setting.d, near, TOLERANCE)
                kept = float(near.table.grid.weights @ near.point.D)
                values.append([near.test, near.train / kept**2, 1 - kept])
    return Validation(*(plain(column.reshape(setting.shape)) for column in np.array(values).T))
