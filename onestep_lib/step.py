r"""The step: the rank-one part of the gradient, and what it does to the spectrum of the weights.

The gradient of :mod:`onestep_lib.network` is close to rank one,

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

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse.linalg import svds

from onestep_lib._checks import (
    check_instance,
    check_matrix,
    check_nonnegative,
    check_number,
    check_path,
    check_positive,
    check_same_length,
    check_unit_vector,
    check_vector,
)
from onestep_lib.activations import Activation, Target
from onestep_lib.hermite import gaussian_quadrature
from onestep_lib.network import Network, first_layer_gradient, residual
from onestep_lib.settings import Setting
from onestep_lib.spectra import operator_norm

__all__ = [
    "LabelMoments",
    "Spike",
    "SteppedNetwork",
    "WeightSpectrum",
    "exact_spike",
    "gradient_direction",
    "gradient_spike",
    "label_direction_error",
    "label_moments",
    "measured_spike",
    "measured_weight_spectrum",
    "rank_one_error",
    "slope_moments",
    "take_steps",
    "weight_spectrum",
]


@dataclass(frozen=True)
class SteppedNetwork(Network):
    """A network after one gradient step, with what the step started from.

    Parameters
    ----------
    weights, readout, activation
        As in `onestep_lib.network.Network`; the weights are W_1.
    initial : Network
        The network before the step.
    direction : ndarray, shape (d,)
        The direction b = X^T r/n of its batch.
    step : float
        The step size eta.
    """

    initial: Network
    direction: np.ndarray
    step: float

    def __post_init__(self) -> None:
        super().__post_init__()
        check_instance("initial", self.initial, Network)
        direction = check_vector("direction", self.direction, self.weights.shape[1])
        object.__setattr__(self, "direction", direction)
        check_number("step", self.step, check_nonnegative)


def gradient_direction(network: Network, X: np.ndarray, y: np.ndarray, output: str = "centred") -> np.ndarray:
    r"""Return :math:`b=X^\top r/n`, shape (d,), r the residual of `onestep_lib.network.residual`.

    For a centred network :eq:`eq-batch-direction`.
    """
    X = check_matrix("X", X)
    return X.T @ residual(network, X, y, output) / X.shape[0]


def take_steps(
    network: Network, X: np.ndarray, y: np.ndarray, steps: ArrayLike, output: str = "centred"
) -> Iterator[SteppedNetwork]:
    """Yield the network after a step of each size, from one gradient of one batch.

    Parameters
    ----------
    network : Network
    X : ndarray, shape (n, d)
    y : ndarray, shape (n,)
    steps : array_like
        Step sizes eta >= 0.
    output : {"centred", "scaled", "raw"}

    Yields
    ------
    SteppedNetwork
    """
    gradient = first_layer_gradient(network, X, y, output)
    direction = gradient_direction(network, X, y, output)
    for step in np.atleast_1d(check_path("steps", steps)):
        weights = network.weights + step * gradient
        yield SteppedNetwork(weights, network.readout, network.activation, network, direction, float(step))


def rank_one_error(gradient: np.ndarray, network: Network, direction: np.ndarray) -> float:
    r"""Return :math:`\|G-c_1ab^\top\|/\|G\|` in operator norm.

    It falls like n^{-1/2} with b from `gradient_direction` (observed; the split is :eq:`eq-rank-one`).

    Parameters
    ----------
    gradient : ndarray, shape (N, d)
    network : Network
        The network before the step.
    direction : ndarray, shape (d,)
        The direction b.

    Raises
    ------
    ValueError
        If a shape does not fit, or the gradient is 0.
    """
    check_instance("network", network, Network)
    gradient = check_matrix("gradient", gradient, network.weights.shape[1])
    check_same_length("gradient", gradient, "the network's weights", network.weights)
    direction = check_vector("direction", direction, network.weights.shape[1])
    size = operator_norm(gradient)
    if size == 0:
        raise ValueError("gradient must not be 0: it has no relative error")
    rank_one = network.activation.c1 * np.outer(network.readout, direction)
    return operator_norm(gradient - rank_one) / size


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
        check_number("power", self.power, check_positive)
        if abs(check_number("alignment", self.alignment)) > 1 + 1e-12:
            raise ValueError(f"alignment must lie in [-1, 1], got {self.alignment!r}")
        check_widening(self.widening)


def check_widening(value: float) -> float:
    """Return a widening q, or raise: 1 + q is a squared length."""
    widening = check_number("widening", value)
    if widening < -1:
        raise ValueError(f"widening must be >= -1, got {value!r}")
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
    which it is ``target.power + noise**2``; :mod:`onestep_lib.giant_step` keeps the mean.

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

    The theories of :mod:`onestep_lib.spikes`, :mod:`onestep_lib.outliers` and :mod:`onestep_lib.staircase`
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


def measured_spike(direction: np.ndarray, target_direction: np.ndarray) -> Spike:
    """Return |b|^2 and the alignment of one draw of b (shape (d,)) with beta_* (shape (d,)).

    Raises
    ------
    ValueError
        If a shape does not fit, b is 0, or beta_* is not a unit vector.
    """
    direction = check_vector("direction", direction)
    target_direction = check_unit_vector("target_direction", target_direction, direction.size)
    power = float(direction @ direction)
    if power == 0:
        raise ValueError("direction must not be 0: it has no alignment")
    return Spike(power, float(direction @ target_direction / np.sqrt(power)))


def label_direction_error(setting: Setting) -> float:
    r"""Return the limit of `rank_one_error` when b is taken to be :math:`X^\top y/n`.

    :math:`\sqrt{B_f/(c_{*,1}^2+\phi(c_*^2+\text{noise}^2)+B_f)}` with
    :math:`B_f=c_1^2+\phi\,\mathbb E\sigma^2` for a raw network, and 0 otherwise:
    papers that write X^T y/n need a centred or scaled network.
    """
    if setting.output != "raw":
        return 0.0
    missed = setting.activation.c1**2 + setting.phi * _output_power(setting)
    return float(np.sqrt(missed / gradient_spike(setting).power))


@dataclass(frozen=True)
class WeightSpectrum:
    """The largest singular value of the weights and its vectors; arrays of the shape of the steps.

    Parameters
    ----------
    edge : float
        The right end of the bulk of singular values (of one draw: the second singular value, 0 if there is
        only one).
    threshold : float
        The step size at which an outlier leaves the bulk; inf if none does. Of one draw, at one step size,
        it is unknown: nan.
    outlier : float or ndarray
        The largest singular value; the edge where there is no outlier.
    readout, direction, target : float or ndarray
        Squared overlaps of its left vector with a, of its right vector with b and with beta_*.
    """

    edge: float
    threshold: float
    outlier: float | np.ndarray
    readout: float | np.ndarray
    direction: float | np.ndarray
    target: float | np.ndarray


def _threshold(slope: float, pull: float, c: float) -> float:
    """The positive root of slope eta^2 - 2 pull eta = sqrt(c)."""
    if slope == 0:
        return np.inf
    return float((pull + np.sqrt(pull**2 + slope * np.sqrt(c))) / slope)


def weight_spectrum(setting: Setting) -> WeightSpectrum:
    r"""Return edge, threshold, outlier and overlaps of the weights after the step, in the limit.

    The formulas are those of :mod:`onestep_lib.step`, with |a| = 1, for eta = O(1).

    Returns
    -------
    WeightSpectrum
        Arrays of the shape of ``setting.steps``; overlaps are 0 where there is no outlier.

    Raises
    ------
    ValueError
        As in `gradient_spike`, or for an activation without derivative.
    """
    setting.activation.require_slope()
    spike, power = gradient_spike(setting), _noise_power(setting)
    c, c1_sq, eta = setting.N / setting.d, setting.activation.c1**2, setting.steps
    raw = float(setting.output == "raw")
    kap, theta_sq = raw * eta * c1_sq, eta**2 * c1_sq * power
    T = theta_sq - kap * (2 - kap)
    out = np.sqrt(c) < T
    T = np.where(out, T, np.sqrt(c))
    gap = (T**2 - c) * out
    along = gap / (T**2 * (1 + T))
    pull = c1_sq * (eta * power - raw * (1 - kap)) ** 2 / spike.power
    fields = (
        np.sqrt((1 + T) * (c + T) / T),
        gap / (T * (T + c)),
        along * pull,
        along * eta**2 * c1_sq * setting.target.linear**2,
    )
    threshold = _threshold(c1_sq * power + raw * c1_sq**2, raw * c1_sq, c)
    return WeightSpectrum(float(1 + np.sqrt(c)), threshold, *(f if eta.ndim else float(f) for f in fields))


def measured_weight_spectrum(network: SteppedNetwork, target_direction: np.ndarray) -> WeightSpectrum:
    """Return the same quantities of one draw: singular values and overlaps of the weights W_1.

    Parameters
    ----------
    network : SteppedNetwork
    target_direction : ndarray, shape (d,)
        beta_*, a unit vector.

    Raises
    ------
    TypeError, ValueError
        If the network took no step, beta_* does not fit, or the readout or the direction b is 0.
    """
    check_instance("network", network, SteppedNetwork)
    target_direction = check_unit_vector("target_direction", target_direction, network.weights.shape[1])
    left, values, right = _top_singular(network.weights)
    return WeightSpectrum(
        edge=float(values[1]) if values.size > 1 else 0.0,
        threshold=np.nan,
        outlier=float(values[0]),
        readout=_overlap(left[:, 0], "readout", network.readout),
        direction=_overlap(right[0], "direction", network.direction),
        target=_overlap(right[0], "target_direction", target_direction),
    )


# Lanczos asks for fewer vectors than the matrix has; a matrix this small costs nothing whole.
_WHOLE = 20


def _top_singular(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The largest singular values, at least two where there are, in falling order, and their vectors."""
    if min(matrix.shape) <= _WHOLE:
        return np.linalg.svd(matrix, full_matrices=False)
    start = np.random.default_rng(0).standard_normal(min(matrix.shape))
    left, values, right = svds(matrix, k=2, v0=start)
    order = np.argsort(-values)
    return left[:, order], values[order], right[order]


def _overlap(u: np.ndarray, name: str, v: np.ndarray) -> float:
    """The squared cosine of a unit vector u and v."""
    power = float(v @ v)
    if power == 0:
        raise ValueError(f"{name} must not be 0: it has no overlap")
    return float((u @ v) ** 2) / power
