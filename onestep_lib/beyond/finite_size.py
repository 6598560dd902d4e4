r"""One network of finite size: the mean of its losses to order 1/n, and how far a draw may fall from it.

The theories of the stepped network are limits. At finite size one draw has the losses

.. math:: T=\mathbb E\,T+\text{scatter},\qquad \mathbb E\,T=T_\infty+O(1/n),\quad
          \mathrm{Var}\,T=O(1/n),

and this module gives both orders for the readout of signs (or a small vocabulary). Four independent draws
add up in the variance.

**The gradient's batch.** The direction :math:`b=\frac1{n_0}X^\top y` has along :math:`\beta_*` the mean
:math:`p=\frac1{n_0}\sum_iy_i\zeta_i`, and across it, given the labels, exactly a Gaussian vector of squared
length

.. math:: P=\phi_0\,Y\,\chi,\qquad Y=\frac1{n_0}\sum_iy_i^2,\quad \chi=\chi^2_{d-1}/d ,

so that the spike and its alignment are :math:`r=\tilde\eta c_1\sqrt{p^2+P}`,
:math:`\gamma=p/\sqrt{p^2+P}`. The variables :math:`(p,Y,\chi)` have a known covariance, and T is the theory
at them: its first derivatives give the variance (delta method), its second ones a correction of the mean.

**The ridge batch and the rows.** :mod:`onestep_lib.beyond.scatter`.

**The test inputs.** A test loss measured on m inputs has the variance of one squared error over m.

Derived here to leading order, by a cavity argument and not proved; no constant is fitted. What is missing of
order 1/n in the mean is what is not Gaussian in the features, and the effect of the mean part on the other
degrees of freedom of the fit. A scaled output changes the mean by a further term of order 1/N, which is not
known here (measured in the chapter): such a network is refused.

Functions
---------
predicted_losses   mean and variances of the losses of one draw
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri

from onestep_lib._checks import check_choice, check_count, check_number, shown
from onestep_lib.beyond.scatter import loss_scatter
from onestep_lib.large_step.one_curve import one_step
from onestep_lib.large_step.stepped_model import stepped_model
from onestep_lib.quadrature import gaussian_quadrature
from onestep_lib.settings import LOSSES, Losses, Setting
from onestep_lib.small_step.gradient import gradient_of
from onestep_lib.spiked_features.losses import spiked_losses
from onestep_lib.spiked_features.model import SpikedModel

__all__ = [
    "predicted_losses",
]

SCATTER_SOURCES = ("step", "samples", "rows", "test inputs")
"""What one draw of an experiment consists of, in the order of the variances of `PredictedLosses`."""
_TOLERANCE = 1e-8
# The theory is sampled at this many standard deviations of the batch's numbers, on both sides.
_REACH = 0.5
_SMALLEST = 1e-9


@dataclass(frozen=True, eq=False)
class PredictedLosses:
    """The losses of one network of finite size.

    Parameters
    ----------
    losses : Losses
        Their means, to order 1/n.
    variances : ndarray, shape (4, 3)
        Of train, test and objective (columns) over single draws, by ``SCATTER_SOURCES`` (rows).
    """

    losses: Losses
    variances: np.ndarray

    def deviation(self, name: str) -> float:
        """Return the standard deviation of a loss, one of ``LOSSES``, over single draws."""
        column = LOSSES.index(check_choice("name", name, LOSSES))
        return float(np.sqrt(self.variances[:, column].sum()))

    def interval(self, name: str, level: float = 0.95) -> tuple[float, float]:
        """Return the interval that a single draw of a loss falls into with probability `level`.

        Examples
        --------
        >>> import numpy as np
        >>> from onestep_lib import Losses
        >>> from onestep_lib.beyond.finite_size import PredictedLosses
        >>> predicted = PredictedLosses(Losses(0.1, 0.2, 0.15), np.full((4, 3), 0.0001))
        >>> low, high = predicted.interval("test")
        >>> print(round(low, 3), round(high, 3))
        0.161 0.239
        """
        level = check_number("level", level)
        if not 0 < level < 1:
            raise ValueError(f"level must lie in (0, 1), got {shown(level)}")
        half = float(ndtri((1 + level) / 2)) * self.deviation(name)
        mean = float(self.losses[name][0])
        return mean - half, mean + half


def predicted_losses(setting: Setting, test_size: int | None = None) -> PredictedLosses:
    """Return mean and variances of the losses of one draw of `.simulate`.

    Parameters
    ----------
    setting : Setting
        As in `.one_step`, with ``output="centred"``, a readout of signs or a vocabulary,
        one step size and one penalty, and a target of mean zero.
    test_size : int, optional
        Test inputs that the test loss is measured on; by default as many as `.simulate` takes.

    Returns
    -------
    PredictedLosses

    Raises
    ------
    ValueError, ConvergenceError
        For a setting outside these conditions, or as in `one_step`.

    Examples
    --------
    >>> from onestep_lib import Setting
    >>> from onestep_lib.beyond import predicted_losses
    >>> setting = Setting(n=500, d=200, N=100, step=30, readout="signs", target="sin", noise=0.1, ridge=0.01)
    >>> predicted = predicted_losses(setting)
    >>> print(f"{predicted.losses.test:.3f} {predicted.deviation('test'):.3f}")
    0.152 0.014
    """
    _require(setting)
    size = max(2000, 2 * setting.n) if test_size is None else check_count("test_size", test_size)
    model = stepped_model(setting, float(setting.steps), "isotropic")
    bend, of_step = of_gradient_batch(setting, model)
    mean = _values(one_step(setting)) + bend
    found = loss_scatter(model, setting.n, setting.d, setting.N, float(setting.ridges))
    of_test = np.array([0.0, found.squared_error / size, 0.0])
    return PredictedLosses(Losses(*mean.tolist()), np.stack([of_step, found.samples, found.rows, of_test]))


def of_gradient_batch(setting: Setting, model: SpikedModel) -> tuple[np.ndarray, np.ndarray]:
    """What the batch of the gradient does to the mean of the losses, and to their variance; (3,) each."""
    gradient, d = gradient_of(setting), setting.d
    labels = gradient.labels
    # Without a step, or for a linear activation, there is nothing to move but the spike.
    shift = model.spikes / (gradient.activation.c1 * np.sqrt(gradient.power))

    def losses(p: float, Y: float, chi: float) -> np.ndarray:
        Y = max(Y, _SMALLEST * labels.square)
        B = p**2 + gradient.phi * Y * max(chi, _SMALLEST)
        wider = shift**2 * gradient.spread * (Y / labels.square - 1)
        moved = replace(
            model,
            spikes=model.spikes * np.sqrt(B / gradient.power),
            alignment=float(np.clip(p / np.sqrt(B), -1, 1)),
            scales=np.sqrt(np.asarray(model.scales) ** 2 + wider),
        )
        found = spiked_losses(moved, setting.phi, setting.psi, setting.ridge, d, _TOLERANCE)
        return _values(found)

    centre = np.array([labels.linear, labels.square, 1.0])
    levels, vectors = np.linalg.eigh(_batch_covariance(setting))
    base = losses(*centre)
    bend, variance = losses(*(centre - [0, 0, 1 / d])) - base, np.zeros(3)
    for level, vector in zip(levels, vectors.T, strict=True):
        move = _REACH * np.sqrt(max(level, 0.0)) * vector
        up, down = losses(*(centre + move)), losses(*(centre - move))
        variance += ((up - down) / (2 * _REACH)) ** 2
        bend = bend + (up + down - 2 * base) / (2 * _REACH**2)
    return bend, variance


def _batch_covariance(setting: Setting) -> np.ndarray:
    r"""The covariance of :math:`(p,Y,\chi)`, shape (3, 3)."""
    target, power = setting.single_index(), setting.noise**2
    labels = gradient_of(setting).labels
    zeta, weights = gaussian_quadrature(target.kinks)
    clean = target(zeta)
    own = weights @ (clean * zeta) ** 2 + power - labels.linear**2
    mixed = labels.cube_linear - labels.linear * labels.square
    covariance = np.zeros((3, 3))
    covariance[:2, :2] = np.array([[own, mixed], [mixed, labels.fourth - labels.square**2]])
    covariance[:2, :2] /= setting.step_samples
    covariance[2, 2] = 2 / setting.d
    return covariance


def _values(losses: Losses) -> np.ndarray:
    return np.array([losses.train, losses.test, losses.objective], dtype=float)


def _require(setting: Setting) -> None:
    setting.single_index()
    setting.require_centred()
    setting.activation.require_linear_part()
    if setting.output != "centred":
        raise ValueError(f"output must be 'centred' for the scatter of a loss, got {setting.output!r}")
    if setting.shape:
        raise ValueError(
            "step and ridge must be one number each for the scatter of a loss, got "
            f"{shown(setting.step)} and {shown(setting.ridge)}"
        )
    if setting.readout == "gaussian":
        raise ValueError("readout must be 'signs' or a vocabulary here, got 'gaussian'")
