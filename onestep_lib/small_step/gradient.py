r"""The step: the rank-one part of the gradient, and what it does to the spectrum of the weights.

The gradient of :mod:`onestep_lib.experiment.network` is close to rank one,

.. math:: G=c_1\,a\,b^\top+\text{small},\qquad b=\tfrac1nX^\top r ,

with r the residual of the setting's ``output``. Its direction b mixes signal and noise. With
:math:`c_*^2=\sum_{k\ge1}k!\,c_{*,k}^2` and E f_0^2 = 0 for a centred or scaled network, E sigma^2 for a raw
one,

.. math:: B=c_{*,1}^2+\phi\,(c_*^2+\text{noise}^2+\mathbb Ef_0^2),\qquad
          |b|^2\to B+[\text{raw}]\,c_1^2,\qquad \langle b,\beta_*\rangle\to c_{*,1}.

(For a target of mean zero; a mean adds its square to :math:`c_*^2`: `label_moments`.)

A raw network also subtracts its own linear part: b contains :math:`-c_1W_0^\top a`, which is correlated
with W_0. With c = N/d, |a| = 1, :math:`\theta^2=\eta^2c_1^2B`, kap = eta c_1^2 for a raw network and 0
otherwise, and :math:`T=\theta^2-\text{kap}(2-\text{kap})`, the weights W_1 have the singular value

.. math:: s=\sqrt{(1+T)(c+T)/T}\quad\text{above the edge }1+\sqrt c,\ \text{iff }T>\sqrt c ,

with squared overlaps of its singular vectors

.. math:: \text{with }a:\ \frac{T^2-c}{T(T+c)},\qquad
          \text{with }\beta_*:\ \frac{c_{*,1}^2}{B}\,\frac{\theta^2(T^2-c)}{T^2(1+T)},\qquad
          \text{with }b:\ \frac{T^2-c}{T^2}\,
          \frac{c_1^2(\eta B-[\text{raw}](1-\text{kap}))^2}{(1+T)|b|^2}

(Baik, Ben Arous and Peche 2005; Ba et al., arXiv 2205.01445, section 3; the raw network by the
same theorem: along a, W_1 is a row of variance 1 + T among rows of variance 1).

**What is not of rank one lengthens the rows.** The rest of the gradient is small as a matrix, but in row j it
has the squared length :math:`a_j^2\,\mathrm{Var}(\sigma')\,\mathbb Ey^2\,\phi`, a fixed multiple of that of
the rank-one part:

.. math:: |w_j^1|^2-|w_j^0|^2\approx(\eta c_1a_j)^2B\,(1+q),\qquad
          q=\frac{\mathrm{Var}(\sigma'(\zeta))}{c_1^2}\,\frac{\phi\,\mathbb Ey^2}B

(centred or scaled network; the *widening* q. Derived in chapter 7, and part of the giant step of Cui et al.,
arXiv 2402.04980).

Functions
---------
gradient_direction       b = X^T r/n of a batch
label_moments            E y^2, B and the cosine of X^T y/n with beta_*
take_steps               networks after one step, that remember where they came from
rank_one_error           the relative error of c_1 a b^T, measured
label_direction_error    the same in the limit, if b is taken as X^T y/n for a raw network
gradient_spike           |b|^2 and the alignment of b with beta_*, in the limit
exact_spike              the same, with the widening of the rows by the rest of the gradient
slope_moments            Gaussian averages of the activation's slope
weight_spectrum          edge, threshold, outlier and overlaps in the limit
measured_spike, measured_weight_spectrum    the same of one draw
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import factorial

from onestep_lib._checks import check_instance, check_nonnegative, check_number, check_positive, shown
from onestep_lib.activations import Activation, Target
from onestep_lib.no_step.floors import _DEGREES
from onestep_lib.quadrature import gaussian_quadrature
from onestep_lib.settings import Setting

__all__ = [
    "LabelMoments",
    "Spike",
    "direction_floor",
    "exact_spike",
    "gradient_spike",
    "label_direction_error",
    "label_moments",
    "slope_moments",
]


@dataclass(frozen=True)
class Spike:
    """The direction b of a gradient in two numbers, and the rest of the gradient in one.

    Parameters
    ----------
    power : float
        |b|^2.
    alignment : float
        The cosine rho of b and beta_*.
    widening : float
        q, by how much the rest of the gradient lengthens the rows, in units of what b does; 0 for a step
        of rank one.
    """

    power: float
    alignment: float
    widening: float = 0.0

    def __post_init__(self) -> None:
        checked = {
            "power": check_number("power", self.power, check_positive),
            "alignment": check_number("alignment", self.alignment),
            "widening": check_widening(self.widening),
        }
        if abs(checked["alignment"]) > 1 + 1e-12:
            raise ValueError(f"alignment must lie in [-1, 1], got {shown(self.alignment)}")
        for name, value in checked.items():
            object.__setattr__(self, name, value)


def check_widening(value: float) -> float:
    """Return a widening q, or raise: 1 + q is a squared length."""
    widening = check_number("widening", value)
    if widening < -1:
        raise ValueError(f"widening must be >= -1, got {shown(value)}")
    return widening


@dataclass(frozen=True)
class LabelMoments:
    r"""What a gradient takes from the labels alone: its direction is then :math:`X^\top y/n`.

    Parameters
    ----------
    power : float
        :math:`\mathbb Ey^2`: the target's square, its mean included, and the noise.
    direction : float
        :math:`B=c_{*,1}^2+\phi\,\mathbb Ey^2`, the limit of :math:`|X^\top y/n|^2`.
    alignment : float
        :math:`\gamma=c_{*,1}/\sqrt B`, the cosine of :math:`X^\top y/n` with beta_*; 0 without labels.
    """

    power: float
    direction: float
    alignment: float


def label_moments(target: Target, noise: float, phi: float) -> LabelMoments:
    r"""Return :math:`\mathbb Ey^2`, B and :math:`\gamma` of a batch with labels y, in the limit.

    :math:`\mathbb Ey^2=c_{*,0}^2+c_*^2+\text{noise}^2`. Most theories take targets of mean zero, for
    which it is ``target.power + noise**2``; :mod:`onestep_lib.large_step.stepped_model` keeps the mean.

    Parameters
    ----------
    target : Target
    noise : float
        Standard deviation of the label noise.
    phi : float
        d/n of the gradient batch.
    """
    check_instance("target", target, Target)
    noise = check_number("noise", noise, check_nonnegative)
    power = target.c0**2 + target.power + noise**2
    direction = target.linear**2 + check_number("phi", phi, check_positive) * power
    # Without noise, rounding could push the cosine of a linear target beyond 1.
    cosine = float(np.clip(target.linear / np.sqrt(direction), -1, 1)) if direction > 0 else 0.0
    return LabelMoments(power, direction, cosine)


def _label_moments(setting: Setting) -> LabelMoments:
    return label_moments(setting.target, setting.noise, setting.phi)


def _output_power(setting: Setting) -> float:
    """E f_0^2 of what the residual subtracts; with c_0 != 0 the mean over readouts."""
    return setting.activation.second_moment if setting.output == "raw" else 0.0


def _noise_power(setting: Setting) -> float:
    """B: |b|^2 without the part -c_1 W_0^T a of a raw network."""
    return _label_moments(setting).direction + setting.phi * _output_power(setting)


def gradient_spike(setting: Setting) -> Spike:
    r"""Return the limits of :math:`|b|^2` and of :math:`\langle b,\beta_*\rangle/|b|`.

    For a centred or scaled network they are :eq:`eq-direction-overlap`, derived in chapter 1. For a raw
    network with c_0 != 0 the first fluctuates with the readout (through :math:`c_0^2(\sum_ja_j)^2`); its
    mean is returned.

    Raises
    ------
    ValueError
        If the target has a mean, if both target and noise are 0, or as in `Setting.require_theory`.
    """
    check_instance("setting", setting, Setting)
    setting.require_theory()
    setting.target.require_centred()
    power = _noise_power(setting)
    if setting.output == "raw":
        power += setting.activation.c1**2
    if power == 0:
        raise ValueError("target and noise must not both be 0: the gradient would vanish")
    return Spike(power, float(setting.target.linear / np.sqrt(power)))


def exact_spike(setting: Setting) -> Spike:
    r"""Return `gradient_spike` with the widening q of the exact step (formula in the module).

    The theories of :mod:`onestep_lib.small_step.spikes`, :mod:`onestep_lib.small_step.outliers` and :mod:`onestep_lib.small_step.stairs`
    describe a step of rank one unless they are given this spike.

    Raises
    ------
    ValueError
        As in `gradient_spike`; for a raw network, an activation without derivative, or c_1 = 0.
    """
    spike = gradient_spike(setting)
    if setting.output == "raw":
        raise ValueError("output must be 'centred' or 'scaled' for the exact step's spike, got 'raw'")
    slope, _, variance = slope_moments(setting.activation)
    if setting.activation.c1 == 0:
        raise ValueError(
            f"activation must have c_1 != 0: the gradient of {setting.activation.name!r} has no spike"
        )
    spread = variance / slope**2 * setting.phi * _label_moments(setting).power
    return replace(spike, widening=spread / spike.power)


def slope_moments(sigma: Activation) -> tuple[float, float, float]:
    r"""Return three Gaussian averages of the slope.

    Parameters
    ----------
    sigma : Activation
        With a derivative.

    Returns
    -------
    mean, linear, variance : float
        :math:`\mathbb E\sigma'(\zeta)=c_1`, :math:`\mathbb E[\zeta\sigma'(\zeta)]=2c_2` and
        :math:`\mathrm{Var}\,\sigma'(\zeta)`.

    Raises
    ------
    ValueError
        If the activation has no derivative.
    """
    check_instance("sigma", sigma, Activation)
    zeta, weights = gaussian_quadrature(sigma.kinks)
    slope = sigma.require_slope()(zeta)
    mean = float(weights @ slope)
    return mean, float(weights @ (zeta * slope)), float(weights @ (slope - mean) ** 2)


def label_direction_error(setting: Setting) -> float:
    r"""Return the limit of `rank_one_error` when b is taken to be :math:`X^\top y/n`.

    :math:`\sqrt{B_f/(c_{*,1}^2+\phi(c_*^2+\text{noise}^2)+B_f)}` with
    :math:`B_f=c_1^2+\phi\,\mathbb E\sigma^2` for a raw network, and 0 otherwise:
    papers that write X^T y/n need a centred or scaled network.
    """
    check_instance("setting", setting, Setting)
    if setting.output != "raw":
        return 0.0
    missed = setting.activation.c1**2 + setting.phi * _output_power(setting)
    return float(np.sqrt(missed / gradient_spike(setting).power))


def direction_floor(setting: Setting) -> float:
    r"""Return :math:`\text{noise}^2+\sum_{k\ge2}k!\,c_{*,k}^2(1-\rho^{2k})` (:eq:`eq-direction-floor`).

    The mean squared error left when the linear part of the target is known exactly and the rest is
    seen through :math:`\kappa=\langle b,x\rangle/|b|` alone, b the direction of the gradient with
    alignment rho (`onestep_lib.small_step.gradient.gradient_spike`), since
    :math:`\mathbb E[He_k(\langle\beta_*,x\rangle)\mid\kappa]=\rho^kHe_k(\kappa)`. A guide for a network
    after one large step, not a bound (derived in chapter 1). Degrees above 12 count as unseen.

    Raises
    ------
    ValueError
        As in `onestep_lib.small_step.gradient.gradient_spike`.
    """
    rho_sq = gradient_spike(setting).alignment ** 2
    k = np.arange(2, _DEGREES + 1)
    seen = np.sum(factorial(k) * setting.target.coefficients(_DEGREES)[2:] ** 2 * rho_sq**k)
    return float(setting.noise**2 + setting.target.nonlinear_power - seen)
