r"""The gradient in the limit: its part of rank one, and what the rest does to the lengths of the rows.

The gradient of :mod:`onestep_lib.experiment.network` is close to rank one,

.. math:: G=c_1\,a\,b^\top+\text{small},\qquad b=\tfrac1nX^\top r ,

with r the residual of the setting's ``output``. **On this page n counts the samples of the gradient's batch
and** :math:`\phi=d/n`: the :math:`n_0` and :math:`\phi_0` of a `Setting` whose two batches differ. Nothing
here depends on the ridge batch. The direction b mixes signal and noise. With
:math:`c_*^2=\sum_{k\ge1}k!\,c_{*,k}^2` and E f_0^2 = 0 for a centred or scaled network, E sigma^2 for a raw
one,

.. math:: B=c_{*,1}^2+\phi\,(c_*^2+\text{noise}^2+\mathbb Ef_0^2),\qquad
          |b|^2\to B+[\text{raw}]\,c_1^2,\qquad \langle b,\beta_*\rangle\to c_{*,1}.

(For a target of mean zero; a mean adds its square to :math:`c_*^2`: `label_moments`.)

**What is not of rank one lengthens the rows.** The rest of the gradient is small as a matrix, but in row j it
has the squared length :math:`a_j^2\,\mathrm{Var}(\sigma')\,\mathbb Ey^2\,\phi`, a fixed multiple of that of
the rank-one part:

.. math:: |w_j^1|^2-|w_j^0|^2\approx(\eta c_1a_j)^2B\,(1+q),\qquad
          q=\frac{\mathrm{Var}(\sigma'(\zeta))}{c_1^2}\,\frac{\phi\,\mathbb Ey^2}B

(centred or scaled network; the *widening* q: derived by a Hermite expansion and measured, not proved; part of
the giant step of Cui et al., arXiv 2402.04980, and absent from a step of rank one, which is what the theorems
of Moniri et al., arXiv 2310.07891, hold for: :mod:`onestep_lib.small_step.spikes`).

**On its own batch** the step changes the output of a centred network by

.. math:: f_1(x_i)-f_0(x_i)\approx\eta\,\big[c_1^2\langle b,x_i\rangle+\phi\,\mathrm{Var}(\sigma')\,y_i\big],

to first order in :math:`\eta/\sqrt N`: the second term is the sample's own share in the gradient,
:math:`\eta\sum_ja_j^2\sigma'(\langle w_j,x_i\rangle)^2|x_i|^2y_i/n`, less what b has of it. Both are of the
same order, as :math:`\langle b,x_i\rangle` contains :math:`\phi y_i` besides the signal. So the direction
:math:`b_2=X^\top(y-f_1+f_0)/n` of a second step on the batch has

.. math:: \frac{\langle b_2,b\rangle}{|b|^2}\to
          1-\eta\,\big[c_1^2(1+\phi+\phi\gamma^2)+\phi\,\mathrm{Var}(\sigma')\big],\qquad

          \frac{\langle b_2,\beta_*\rangle}{\langle b,\beta_*\rangle}\to
          1-\eta\,\big[c_1^2(1+\phi)+\phi\,\mathrm{Var}(\sigma')\big],

:math:`\gamma=c_{*,1}/\sqrt B` (`second_direction`; for a vocabulary eta is multiplied by
:math:`|a|^2=\mathbb Ez^2`). The first follows from
:math:`\frac1n\sum_i\langle b,x_i\rangle^2\to B(1+\phi)+\phi c_{*,1}^2`.

Functions
---------
label_moments           averages of the labels
gradient_of             B, gamma, q and what they are made of, once for a setting
gradient_spike          |b|^2 and the alignment of b with beta_*, in the limit
seen_directions         the overlaps of b with the two directions of a target
exact_spike             the same, with the widening of the rows by the rest of the gradient
second_direction        what a second step on the same batch has left of b
label_direction_error   the same in the limit, if b is taken as :math:`X^\top y/n` for a raw network
direction_floor         the loss left when the non-linear part is seen through the gradient's direction
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from scipy.special import factorial

from onestep_lib._checks import shown
from onestep_lib._values import plain
from onestep_lib.activations import Activation, Target
from onestep_lib.quadrature import gaussian_quadrature
from onestep_lib.settings import Setting
from onestep_lib.two_index import TwoIndexTarget

__all__ = [
    "direction_floor",
    "exact_spike",
    "gradient_of",
    "gradient_spike",
    "label_direction_error",
    "label_moments",
    "second_direction",
    "seen_directions",
]


# Degrees above it count as unseen.
_SEEN_DEGREES = 12


@dataclass(frozen=True, eq=False)
class Spike:
    r"""The direction b of a gradient in two numbers, and the rest of the gradient in one.

    Parameters
    ----------
    power : float
        :math:`|b|^2`.
    alignment : float
        The cosine gamma of b and :math:`\beta_*`.
    widening : float
        q, by how much the rest of the gradient lengthens the rows, in units of what b does; 0 for a step
        of rank one.
    """

    power: float
    alignment: float
    widening: float = 0.0


@dataclass(frozen=True, eq=False)
class LabelMoments:
    r"""Averages of the labels :math:`y=\sigma_*(\zeta)+` noise, alone and with :math:`\zeta\sim N(0,1)`.

    Parameters
    ----------
    mean, square, cube, fourth : float
        :math:`\mathbb Ey^k`, k = 1, ..., 4.
    linear, square_linear, cube_linear : float
        :math:`\mathbb E[y\zeta]=c_{*,1}`, :math:`\mathbb E[y^2\zeta]` and :math:`\mathbb E[y^3\zeta]`.
    """

    mean: float
    square: float
    cube: float
    fourth: float
    linear: float
    square_linear: float
    cube_linear: float

    def direction_power(self, phi: float) -> float:
        r"""Return :math:`B=c_{*,1}^2+\phi\,\mathbb Ey^2`, the limit of :math:`|X^\top y/n|^2`."""
        return self.linear**2 + phi * self.square

    def alignment(self, phi: float) -> float:
        r"""Return :math:`\gamma=c_{*,1}/\sqrt B`, the cosine of :math:`X^\top y/n` with :math:`\beta_*`.

        0 without labels.
        """
        power = self.direction_power(phi)
        # Without noise, rounding could push the cosine of a linear target beyond 1.
        return float(np.clip(self.linear / np.sqrt(power), -1, 1)) if power > 0 else 0.0


@lru_cache(maxsize=256)
def label_moments(target: Target | TwoIndexTarget, noise: float) -> LabelMoments:
    r"""Return the averages of the labels of a target; of one of two directions, with zeta along beta_lin.

    :math:`\mathbb Ey^2=c_{*,0}^2+c_*^2+\text{noise}^2`; the noise enters the higher ones by its Gaussian
    moments.

    Parameters
    ----------
    target : Target or TwoIndexTarget
    noise : float
        Standard deviation of the label noise.

    Examples
    --------
    >>> from onestep_lib.activations import target
    >>> from onestep_lib.small_step import label_moments
    >>> moments = label_moments(target((0, 1)), noise=0.5)  # Gaussian labels
    >>> print(f"{moments.square:.4f} {moments.fourth / moments.square**2:.4f}")
    1.2500 3.0000
    """
    power = noise**2
    if isinstance(target, TwoIndexTarget):
        zeta, weights, y = target.label_samples()
    else:
        zeta, weights = gaussian_quadrature(target.kinks)
        y = target(zeta)
    third, fourth = float(weights @ y**3), float(weights @ y**4)
    clean = target.c0**2 + target.power
    return LabelMoments(
        mean=target.c0,
        square=clean + power,
        cube=third + 3 * power * target.c0,
        fourth=fourth + 6 * power * clean + 3 * power**2,
        linear=target.linear,
        square_linear=float(weights @ (y**2 * zeta)),
        cube_linear=float(weights @ (y**3 * zeta)) + 3 * power * target.linear,
    )


@dataclass(frozen=True, eq=False)
class Gradient:
    r"""The numbers of a gradient in the limit: all of a step but its size.

    Parameters
    ----------
    activation : Activation
    labels : LabelMoments
    phi : float
        d over the samples of the gradient's batch.
    output_power : float
        :math:`\mathbb Ef_0^2` of what the residual subtracts: 0 unless the network is raw.
    """

    activation: Activation
    labels: LabelMoments
    phi: float
    output_power: float = 0.0

    @property
    def power(self) -> float:
        r""":math:`B=c_{*,1}^2+\phi\,(\mathbb Ey^2+\mathbb Ef_0^2)`, less the raw network's own part."""
        return self.labels.direction_power(self.phi) + self.phi * self.output_power

    @property
    def alignment(self) -> float:
        r""":math:`\gamma`, the cosine of :math:`X^\top y/n` with :math:`\beta_*`."""
        return self.labels.alignment(self.phi)

    @property
    def spread(self) -> float:
        r""":math:`\phi\,\mathrm{Var}(\sigma')\,\mathbb Ey^2`: what is not of rank one, over a_j^2."""
        return self.phi * self.activation.slope_variance * self.labels.square

    @property
    def tilt(self) -> float:
        r""":math:`c'_2=\mathbb E[\zeta\sigma']=2c_2`, with which the signed batch matrix tilts the rows."""
        return 2 * self.activation.c2

    @property
    def excess(self) -> float:
        r""":math:`\phi\,(\mathrm{Var}(\sigma')-c_2'^2)`: what is left of a slope's variance, times phi."""
        # Exactly 0 for a linear activation, where rounding could leave less.
        return self.phi * max(self.activation.slope_variance - self.tilt**2, 0.0)

    @property
    def widening(self) -> float:
        r""":math:`q=\phi\,\mathrm{Var}(\sigma')\,\mathbb Ey^2/(c_1^2B)`."""
        return self.spread / (self.activation.c1**2 * self.power)


def gradient_of(setting: Setting) -> Gradient:
    """Return the numbers of a setting's gradient, whatever its step sizes.

    Examples
    --------
    >>> from onestep_lib import Setting
    >>> from onestep_lib.small_step import gradient_of
    >>> gradient = gradient_of(Setting(n=1000, d=500, N=400, activation="relu", noise=1.0))
    >>> print(f"{gradient.power:.4f} {gradient.alignment:.4f}")  # 1 + phi (1 + noise^2) and 1/sqrt(2)
    2.0000 0.7071
    """
    # With c_0 != 0 the power of a raw output is the mean over readouts.
    raw = setting.activation.second_moment if setting.output == "raw" else 0.0
    return Gradient(setting.activation, label_moments(setting.target, setting.noise), setting.phi_0, raw)


def gradient_spike(setting: Setting) -> Spike:
    r"""Return the limits of :math:`|b|^2` and of :math:`\langle b,\beta_*\rangle/|b|`.

    For a centred or scaled network they are :eq:`eq-direction-overlap`. For a raw network with
    :math:`c_0\ne0` the first fluctuates with the readout (through :math:`c_0^2(\sum_ja_j)^2`); its mean is
    returned.

    Raises
    ------
    ValueError
        If the target has a mean, if both target and noise are 0, or as in `Setting.require_theory`.

    Examples
    --------
    >>> from onestep_lib import Setting
    >>> from onestep_lib.small_step import gradient_spike
    >>> spikes = [gradient_spike(Setting(n=n, d=500, N=400)) for n in (500, 5000, 50000)]
    >>> [round(spike.alignment**2, 4) for spike in spikes]  # 1/(1 + d/n)
    [0.5, 0.9091, 0.9901]
    """
    setting.require_theory()
    setting.require_small_output()
    setting.require_centred()
    power = gradient_of(setting).power
    if setting.output == "raw":
        power += setting.activation.c1**2
    if power == 0:
        raise ValueError("target and noise must not both be 0: the gradient would vanish")
    return Spike(power, float(setting.target.linear / np.sqrt(power)))


def seen_directions(setting: Setting) -> np.ndarray:
    r"""Return the overlaps of the gradient's direction with the two directions of the target, shape (2,).

    .. math:: \frac{\langle b,\beta_k\rangle}{|b|}\to\frac{\mathbb E[g\,z_k]}{\sqrt{|b|^2}}

    with :math:`|b|^2` from `gradient_spike`: one step sees a direction through its mean slope alone, and
    nothing of one along which the target is even (such as both of :math:`z_1z_2`).

    Raises
    ------
    ValueError
        If the target has one direction, or as in `gradient_spike`.

    Examples
    --------
    >>> from onestep_lib import Setting
    >>> from onestep_lib.small_step import seen_directions
    >>> from onestep_lib.two_index import TwoIndexTarget
    >>> target = TwoIndexTarget(lambda s, t: s + t**2 - 1)
    >>> seen_directions(Setting(n=1000, d=500, N=400, target=target)).round(4)  # B = 1 + 3 phi
    array([0.6325, 0.    ])
    """
    if not isinstance(setting.target, TwoIndexTarget):
        raise ValueError(f"target must have two directions here, got {shown(setting.target.name)} of one")
    return setting.target.slopes / np.sqrt(gradient_spike(setting).power)


def exact_spike(setting: Setting) -> Spike:
    r"""Return `gradient_spike` with the widening q of the exact step (formula in the module).

    The theories of :mod:`onestep_lib.small_step.spikes`, :mod:`onestep_lib.small_step.outliers` and
    :mod:`onestep_lib.small_step.stairs` describe a step of rank one unless they are given this spike.

    Raises
    ------
    ValueError
        As in `gradient_spike`; for a raw network, an activation without derivative, or :math:`c_1=0`.

    Examples
    --------
    >>> from onestep_lib import Setting
    >>> from onestep_lib.small_step import exact_spike
    >>> s = Setting(n=1000, d=500, N=400, activation="relu")
    >>> print(f"{exact_spike(s).widening:.4f}")  # Var(sigma') = c_1^2, so that q = phi/(1 + phi)
    0.3333
    """
    spike = gradient_spike(setting)
    if setting.output == "raw":
        raise ValueError("output must be 'centred' or 'scaled' for the exact step's spike, got 'raw'")
    setting.activation.require_linear_part()
    return replace(spike, widening=gradient_of(setting).widening)


@dataclass(frozen=True, eq=False)
class SecondDirection:
    r"""The direction b_2 of a second step on the first one's batch, as shares of b; arrays like the steps.

    Parameters
    ----------
    direction : float or ndarray
        :math:`\langle b_2,b\rangle/|b|^2`.
    target : float or ndarray
        :math:`\langle b_2,\beta_*\rangle/\langle b,\beta_*\rangle`. Where it is negative, the first step has
        learned too much of the target's linear part on its batch.
    """

    direction: float | np.ndarray
    target: float | np.ndarray


def second_direction(setting: Setting) -> SecondDirection:
    r"""Return the direction that a step of size eta leaves to a second one on its batch, in the limit.

    The formulas are those of :mod:`onestep_lib.small_step.gradient`, to first order in
    :math:`\eta/\sqrt N`. An activation with a kink is slower to reach them, with an error of order
    :math:`\eta/\sqrt N` (observed for relu: 0.1 at :math:`\eta=3.7`, N = 600).

    Parameters
    ----------
    setting : Setting
        With ``output="centred"``.

    Returns
    -------
    SecondDirection
        1 at step 0.

    Raises
    ------
    ValueError
        As in `gradient_spike`; for another output (the scaled one hardly changes), or an activation without
        derivative.

    Examples
    --------
    >>> from onestep_lib import Setting
    >>> from onestep_lib.small_step import second_direction
    >>> s = Setting(n=1000, d=500, N=400, activation="identity", step=[0, 0.5, 1])
    >>> second_direction(s).target.round(4)  # 1 - eta (1 + phi)
    array([ 1.  ,  0.25, -0.5 ])
    """
    spike = gradient_spike(setting)
    if setting.output != "centred":
        raise ValueError(f"output must be 'centred' for the second direction, got {setting.output!r}")
    slope, variance = setting.activation.c1, setting.activation.slope_variance
    along_target = slope**2 * (1 + setting.phi_0) + setting.phi_0 * variance
    along_b = along_target + slope**2 * setting.phi_0 * spike.alignment**2
    reach = setting.steps * setting.readout_power
    shares = (1 - reach * rate for rate in (along_b, along_target))
    return SecondDirection(*map(plain, shares))


def label_direction_error(setting: Setting) -> float:
    r"""Return the limit of `rank_one_error` when b is taken to be :math:`X^\top y/n`.

    :math:`\sqrt{B_f/(c_{*,1}^2+\phi(c_*^2+\text{noise}^2)+B_f)}` with
    :math:`B_f=c_1^2+\phi\,\mathbb E\sigma^2` for a raw network, and 0 otherwise:
    papers that write :math:`X^\top y/n` need a centred or scaled network.

    Examples
    --------
    >>> from onestep_lib import Setting
    >>> from onestep_lib.small_step import label_direction_error
    >>> s = Setting(n=1000, d=500, N=400, activation="identity")
    >>> [round(label_direction_error(s.replace(output=output)), 4) for output in ("centred", "raw")]
    [0.0, 0.7071]
    """
    if setting.output != "raw":
        return 0.0
    missed = setting.activation.c1**2 + setting.phi_0 * gradient_of(setting).output_power
    return float(np.sqrt(missed / gradient_spike(setting).power))


def direction_floor(setting: Setting) -> float:
    r"""Return :math:`\text{noise}^2+\sum_{k\ge2}k!\,c_{*,k}^2(1-\gamma^{2k})` (:eq:`eq-direction-floor`).

    The mean squared error left when the linear part of the target is known exactly and the rest is
    seen through :math:`\kappa=\langle b,x\rangle/|b|` alone, b the direction of the gradient with
    alignment gamma (`onestep_lib.small_step.gradient.gradient_spike`), since
    :math:`\mathbb E[He_k(\langle\beta_*,x\rangle)\mid\kappa]=\gamma^kHe_k(\kappa)`. A guide for a network
    after one large step, not a bound. Degrees above 12 count as unseen.

    Raises
    ------
    ValueError
        As in `onestep_lib.small_step.gradient.gradient_spike`.

    Examples
    --------
    >>> from onestep_lib import Setting
    >>> from onestep_lib.small_step import direction_floor
    >>> s = Setting(n=1000, d=500, N=400, target=(0, 1, 2**-0.5))  # gamma^2 = 1/2
    >>> print(f"{direction_floor(s):.4f}")  # 1 - gamma^4
    0.7500
    """
    target, gamma_sq = setting.single_index(), gradient_spike(setting).alignment ** 2
    k = np.arange(2, _SEEN_DEGREES + 1)
    seen = np.sum(factorial(k) * target.coefficients(_SEEN_DEGREES)[2:] ** 2 * gamma_sq**k)
    return float(setting.noise**2 + target.nonlinear_power - seen)
