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

**The scaled output.** With :math:`z_j=\sqrt N\,a_j`, the residual
:math:`y-\frac1N\sum_kz_k\sigma(w_k\cdot x)` has two effects of order 1/N.

* The mean slope adds one vector to all rows, :math:`-z_ju` with
  :math:`u=\frac{\tilde\eta c_1}{n_0}\sum_if_0(x_i)x_i/\sqrt N=\varsigma\bar w+\text{noise}`,
  :math:`\varsigma=\tilde\eta c_1^2`, :math:`\bar w=\frac1N\sum_kz_kw_k`. It is short,
  :math:`|\bar w|^2\approx1/N`, but the rows get the *same* one, along which the mean of the features over the
  neurons is noisy: the mean over group g becomes :math:`\bar w_g-z_gu` in place of :math:`\bar w_g`, and the
  Gram matrix of these noises changes from :math:`\delta_{gh}/(N\pi_g)` (times :math:`c_gc_h`) by

  .. math:: \frac{z_gz_h}N\big[-2\varsigma+\varsigma^2\,\mathbb Ez^2
            +\tilde\eta^2c_1^2\,\phi_0\,\mathbb E\sigma^2\,\mathbb Ez^2\big].

  The last term is the output as label noise of the gradient, :math:`\phi_0=d/n_0`. For
  :math:`\varsigma=1` and signs the first two remove the noise of the mean altogether. This is why a
  scaled network is *better* than a centred one at small width: part of what the penalty of the means at
  finite d costs is taken back.
* Row by row, :math:`|w_j|^2` changes by :math:`z_j^2/N` times
  :math:`-2\tilde\eta(\mathbb E[\zeta\sigma\sigma']-c_1^2)`, a neuron's own share in the output, and by
  :math:`\tilde\eta^2\,\mathrm{Var}(\sigma')\,\phi_0\,\mathbb E\sigma^2\,\mathbb Ez^2`, label noise in the
  private part of the gradient.

What the first costs goes with the square of the fit's weight M on the mean, and that weight depends on the
*whole* covariance of the bulk rows: labels of uneven size, such as those of :math:`He_1+0.3\,He_3`, make the
rows long along the spike, and M^2 larger by a fifth than isotropic rows of the same lengths have it (by 1 per
cent for linear labels).

Derived here to leading order, by a cavity argument and not proved; no constant is fitted. What is missing of
order 1/n in the mean is the leverage of the mean part and what is not Gaussian in the features; in the shift
the terms of second order in u, which are of order 1/N too but not multiplied by M^2: the rows' lengths, and
the squares of the features, :math:`(u\cdot x)(w_j\cdot x)`. They have opposite signs; a spike that is longer
by a random vector, which has them all, differs by up to 6 per cent. For
:math:`c_2\ne0` the tilt of the rows is left out of the Gram matrix too. Labels with heavy tails add
the curvature of the shift itself in the numbers of the batch, of relative order 1/n: a fifth at
n = 250, 4 per cent at n = 1000 for :math:`He_1+0.3\,He_3`.

Functions
---------
predicted_losses      mean and variances of the losses of one draw
scaled_output_shift   what a scaled output changes in the losses, against a centred one
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri

from onestep_lib._checks import check_choice, check_count, check_number, shown
from onestep_lib._threads import one_thread
from onestep_lib.beyond.scatter import loss_scatter
from onestep_lib.large_step.giant import giant_step
from onestep_lib.large_step.stepped_model import readout_groups, require_stepped, stepped_features
from onestep_lib.quadrature import gaussian_quadrature
from onestep_lib.settings import LOSSES, Losses, Setting
from onestep_lib.small_step.gradient import gradient_of
from onestep_lib.spiked_features.losses import solve_spiked, spiked_losses
from onestep_lib.spiked_features.model import SpikedModel

__all__ = [
    "predicted_losses",
    "scaled_output_shift",
]

SCATTER_SOURCES = ("step", "samples", "rows", "test inputs")
"""What one draw of an experiment consists of, in the order of the variances of `PredictedLosses`."""
_MOST_GROUPS = 6
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
    """Return mean and variances of the losses of one draw of `onestep_lib.simulate`.

    Parameters
    ----------
    setting : Setting
        As in `onestep_lib.large_step.giant.giant_step`, with one step size and one penalty, a target of
        mean zero, and a vocabulary of at most 6 values.
    test_size : int, optional
        Test inputs that the test loss is measured on; by default as many as `onestep_lib.simulate` takes.

    Returns
    -------
    PredictedLosses

    Raises
    ------
    ValueError, ConvergenceError
        For a setting outside these conditions, or as in `giant_step`.

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
    model = stepped_features(setting, float(setting.steps), "isotropic")
    bend, of_step = _of_gradient_batch(setting, model)
    mean = _values(giant_step(setting)) + bend
    if setting.output == "scaled":
        mean = mean + _values(scaled_output_shift(setting))
    found = loss_scatter(model, setting.n, setting.d, setting.N, float(setting.ridges))
    of_test = np.array([0.0, found.squared_error / size, 0.0])
    return PredictedLosses(Losses(*mean.tolist()), np.stack([of_step, found.samples, found.rows, of_test]))


@one_thread()
def scaled_output_shift(setting: Setting) -> Losses:
    """Return what a scaled output adds to the losses of a centred one, to order 1/N (formulas above).

    Parameters
    ----------
    setting : Setting
        As in `predicted_losses`; its output does not matter.

    Returns
    -------
    Losses
        Differences of the three losses.

    Raises
    ------
    ValueError, ConvergenceError
        As in `predicted_losses`.

    Examples
    --------
    >>> from onestep_lib import Setting
    >>> from onestep_lib.beyond import scaled_output_shift
    >>> setting = Setting(n=500, d=200, N=100, step=30, readout="signs", target="sin", noise=0.1, ridge=0.01)
    >>> print(f"{scaled_output_shift(setting).test:.5f}")
    -0.00047
    """
    _require(setting)
    sigma, N, step = setting.activation, setting.N, float(setting.steps)
    z, shares = readout_groups(setting)
    rate, power, c1_sq = step / np.sqrt(N), float(shares @ z**2), sigma.c1**2
    nodes, weights = gaussian_quadrature(sigma.kinks)
    own = float(weights @ (sigma(nodes) ** 2 * (nodes**2 - 1))) / 2 - c1_sq
    output = setting.phi_0 * sigma.second_moment * power
    common = rate * c1_sq * (rate * (c1_sq * power + output) - 2)
    model = stepped_features(setting, step, "full")
    longer = rate * (rate * sigma.slope_variance * output - 2 * own) * z**2 / N
    scales = np.sqrt(np.asarray(model.scales) ** 2 + longer)
    at = setting.phi, setting.psi, float(setting.ridges), setting.d
    before = solve_spiked(model, *at)
    noise = common * np.outer(z, z) / np.outer(scales, scales)
    after = solve_spiked(replace(model, scales=scales), *at, mean_noise=noise)
    return Losses(*(getattr(after, name) - getattr(before, name) for name in LOSSES))


def _of_gradient_batch(setting: Setting, model: SpikedModel) -> tuple[np.ndarray, np.ndarray]:
    """What the batch of the gradient does to the mean of the losses, and to their variance; (3,) each."""
    gradient, phi, d = gradient_of(setting), setting.phi_0, setting.d
    labels, sigma = gradient.labels, setting.activation
    shift = setting.steps / np.sqrt(setting.N) * readout_groups(setting)[0]

    def losses(p: float, Y: float, chi: float) -> np.ndarray:
        Y = max(Y, _SMALLEST * labels.square)
        B = p**2 + phi * Y * max(chi, _SMALLEST)
        wider = shift**2 * sigma.slope_variance * phi * (Y - labels.square)
        moved = replace(
            model,
            spikes=shift * sigma.c1 * np.sqrt(B),
            alignment=float(np.clip(p / np.sqrt(B), -1, 1)),
            scales=np.sqrt(np.asarray(model.scales) ** 2 + wider),
        )
        found = spiked_losses(moved, setting.phi, setting.psi, setting.ridge, d, tolerance=_TOLERANCE)
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
    mixed = weights @ (clean**3 * zeta) + 3 * power * labels.linear - labels.linear * labels.square
    covariance = np.zeros((3, 3))
    covariance[:2, :2] = np.array([[own, mixed], [mixed, labels.fourth - labels.square**2]])
    covariance[:2, :2] /= setting.step_samples
    covariance[2, 2] = 2 / setting.d
    return covariance


def _values(losses: Losses) -> np.ndarray:
    return np.array([losses.train, losses.test, losses.objective], dtype=float)


def _require(setting: Setting) -> None:
    require_stepped(setting)
    setting.single_index().require_centred()
    if setting.shape:
        raise ValueError(
            "step and ridge must be one number each for the scatter of a loss, got "
            f"{shown(setting.step)} and {shown(setting.ridge)}"
        )
    if setting.readout == "gaussian" or readout_groups(setting)[0].size > _MOST_GROUPS:
        raise ValueError(
            f"readout must be 'signs' or a vocabulary of at most {_MOST_GROUPS} values here, "
            f"got {shown(setting.readout)}"
        )
