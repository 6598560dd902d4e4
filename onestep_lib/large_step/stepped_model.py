r"""The giant step: from a network after one step of size :math:`\eta=\tilde\eta\sqrt N` to spiked features.

With a readout of signs :math:`a_j=s_j/\sqrt N` (or of any values :math:`s_j` of a vocabulary), one step of
size eta changes every row by an amount of order one,

.. math:: w_j=w_j^0+\tilde\eta\,s_j\frac1{n_0}\sum_iy_i\,\sigma'(w_j^0\cdot x_i)\,x_i,\qquad
          \tilde\eta=\eta/\sqrt N

(the residual is y for ``output="centred"``, and in the limit for ``"scaled"``; the sum runs over the
gradient's own batch of :math:`n_0` samples, and the ridge batch enters the losses only). Split
:math:`\sigma'` into its mean :math:`c_1`, its linear part :math:`c'_2\,(w\cdot x)`,
:math:`c'_2=\mathbb E[\zeta\sigma'(\zeta)]=2c_2`, and the rest. The mean moves all rows along
:math:`\hat g=\frac1{n_0}\sum_iy_ix_i`: spikes :math:`u_j=s_jr` along :math:`v=\hat g/|\hat g|`,

.. math:: r=\tilde\eta\,c_1\sqrt B,\qquad \gamma=v\cdot\theta=\frac{b_1}{\sqrt B},\qquad
          B=b_1^2+\frac{\bar y^2}{\alpha_0} ,

with :math:`\alpha_0=n_0/d`, :math:`b_1=c_{*,1}`, :math:`\bar y^2=\mathbb Ey^2`, :math:`b_0=\mathbb Ey`. The
rest widens the bulk,

.. math:: |w_j|^2\to c_\pm^2=(1\pm\tilde\eta c'_2b_0)^2
          +\tilde\eta^2\,\mathrm{Var}(\sigma')\,\frac{\bar y^2}{\alpha_0}

(derived in the chapter on spiked random features; Cui et al., arXiv 2402.04980, have the same map in their
normalisation). In full, a bulk row has the covariance

.. math:: \Sigma_\pm/d,\quad\Sigma_\pm=(I\pm\tilde\eta c'_2\hat H)^2+eH,\qquad
          e=\tilde\eta^2\,\frac{\mathrm{Var}(\sigma')-c_2'^2}{\alpha_0},

with the batch matrices :math:`\hat H` and H of :mod:`onestep_lib.large_step.batch_signed`; for :math:`c_2=0`
:mod:`onestep_lib.large_step.batch_squared` has it in closed form.

Functions
---------
spike_map          r, gamma and the bulk scales of one step size
spike_strength     r
require_stepped    raise unless a theory of the stepped network covers the setting, whatever its readout
grouped_rows       the stepped network for any readout, one group a value of it
stepped_features   the spiked random features of one step size
is_odd             whether the signs of the readout make no difference
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import repeat

import numpy as np
from numpy.typing import ArrayLike

from onestep_lib._checks import (
    check_choice,
    check_flag,
    check_instance,
    check_nonnegative,
    check_number,
    check_vector,
    shown,
)
from onestep_lib._threads import one_thread
from onestep_lib.activations import Activation
from onestep_lib.initialisation import Vocabulary
from onestep_lib.large_step.batch_signed import signed_covariance
from onestep_lib.large_step.batch_squared import squared_covariance
from onestep_lib.large_step.row_lengths import expected_lengths
from onestep_lib.settings import Losses, Setting
from onestep_lib.small_step.gradient import Gradient, gradient_of
from onestep_lib.spiked_features.losses import spiked_losses
from onestep_lib.spiked_features.model import BulkCovariance, SpikedModel

__all__ = [
    "grouped_rows",
    "spike_map",
    "spike_strength",
    "stepped_features",
]

BULKS = ("full", "isotropic")
_SIGNS = np.array([1.0, -1.0])
# The strength of a covariance below which it is the identity.
_NARROW = 1e-12


@dataclass(frozen=True, eq=False)
class SpikeMap:
    r"""What a giant step makes of the rows.

    Parameters
    ----------
    strength : float
        The spike r.
    alignment : float
        :math:`\gamma`, its overlap with the target direction.
    scales : ndarray, shape (2,)
        The bulk scales :math:`c_+,c_-` of the neurons with readout + and -.
    """

    strength: float
    alignment: float
    scales: np.ndarray


def spike_map(setting: Setting, step: float) -> SpikeMap:
    r"""Return r, gamma and the bulk scales after a step of size eta (formulas above).

    Raises
    ------
    ValueError
        If the setting has no derivative, no labels, or an output or a readout that the map does not
        cover: it needs ``readout="signs"`` and ``output="centred"`` or ``"scaled"``.

    Examples
    --------
    >>> from onestep_lib import Setting
    >>> from onestep_lib.large_step import spike_map
    >>> setting = Setting(n=400, d=200, N=300, readout="signs")
    >>> found = spike_map(setting, step=20)
    >>> print(f"{found.strength:.3f} {found.alignment:.4f} {(1 + setting.phi) ** -0.5:.4f}")
    0.857 0.8165 0.8165
    """
    check_instance("setting", setting, Setting)
    if setting.readout != "signs":
        raise ValueError(
            f"readout must be 'signs' for r and the scales of two groups, got {shown(setting.readout)}"
        )
    model = grouped_rows(setting, step, _SIGNS, [0.5, 0.5], "isotropic")
    return SpikeMap(float(model.spikes[0]), model.alignment, np.asarray(model.scales))


def spike_strength(setting: Setting, step: float) -> float:
    r"""Return r, the spike of a row with :math:`a_j=1/\sqrt N`, after a step of size eta.

    Examples
    --------
    >>> from onestep_lib import Setting
    >>> from onestep_lib.large_step import spike_strength
    >>> setting = Setting(n=400, d=200, N=100, activation="identity")
    >>> print(f"{spike_strength(setting, step=10):.4f}")  # sqrt(1 + d/n)
    1.2247
    """
    check_instance("setting", setting, Setting)
    rate = check_number("step", step, check_nonnegative) / np.sqrt(setting.N)
    return float(rate * setting.activation.c1 * np.sqrt(gradient_of(setting).power))


def require_stepped(setting: Setting) -> None:
    """Raise unless a theory of the stepped network covers the setting, whatever its readout.

    Examples
    --------
    >>> from onestep_lib import Setting
    >>> from onestep_lib.large_step.stepped_model import require_stepped
    >>> require_stepped(Setting(n=400, d=200, N=300, step=20))
    >>> require_stepped(Setting(n=400, d=200, N=300, inputs="spherical"))
    Traceback (most recent call last):
        ...
    ValueError: inputs must be 'gaussian' for the stepped network, got 'spherical'
    """
    check_instance("setting", setting, Setting)
    setting.require_theory()
    setting.require_independent_rows()
    setting.require_small_output()
    setting.single_index()
    if setting.inputs != "gaussian":
        raise ValueError(f"inputs must be 'gaussian' for the stepped network, got {setting.inputs!r}")
    if setting.output == "raw":
        raise ValueError(
            "output must be 'centred' or 'scaled' for the stepped network, got 'raw': its residual contains "
            "the network's own output, so that the spike is correlated with the rows"
        )
    setting.activation.require_slope()
    if setting.target.second_moment + setting.noise == 0:
        raise ValueError("target must not be 0 without noise: the gradient would vanish")


def grouped_rows(
    setting: Setting, step: float, z: ArrayLike, fractions: ArrayLike, bulk: str = "full"
) -> SpikedModel:
    r"""Return the network after one step as spiked features, one group a value of :math:`\sqrt N\,a_j`.

    Parameters
    ----------
    setting : Setting
    step : float
        The step size eta.
    z, fractions : array_like, shape (G,)
        Values of :math:`z=\sqrt N\,a_j`, which take :math:`\pm\tilde\eta` to the shift
        :math:`\delta=\eta z/\sqrt N`, and the shares of the neurons that have them.
    bulk : {"full", "isotropic"}
        See `stepped_features`.

    Examples
    --------
    >>> from onestep_lib import Setting
    >>> from onestep_lib.large_step import grouped_rows, spike_strength
    >>> setting = Setting(n=400, d=200, N=300)
    >>> model = grouped_rows(setting, step=20, z=[0.5, 2], fractions=[0.7, 0.3])
    >>> print((model.spikes / spike_strength(setting, step=20)).round(3))
    [0.5 2. ]
    """
    require_stepped(setting)
    bulk = check_choice("bulk", bulk, BULKS)
    step = check_number("step", step, check_nonnegative)
    rate = step / np.sqrt(setting.N)
    z = check_vector("z", z)
    fractions = check_vector("fractions", fractions, z.size)
    return next(rows_of(setting, gradient_of(setting), [(rate * z, fractions)], bulk))


def rows_of(
    setting: Setting, gradient: Gradient, groups: Sequence[tuple[np.ndarray, np.ndarray]], bulk: str
) -> Iterator[SpikedModel]:
    r"""The models of `grouped_rows` along a curve, one a step size.

    Each has the shifts :math:`\delta=\eta a_j` and the fractions of its groups, which a theory has checked.
    """
    if bulk != "full":
        covariances: Iterable[BulkCovariance | None] = repeat(None)
    else:
        covariances = _covariances(setting, gradient, [shift for shift, _ in groups])
    for (shift, fractions), covariance in zip(groups, covariances, strict=False):
        yield _rows(setting, gradient, shift, fractions, covariance)


def _rows(
    setting: Setting,
    gradient: Gradient,
    shift: np.ndarray,
    fractions: np.ndarray,
    covariance: BulkCovariance | None,
) -> SpikedModel:
    sigma, labels = gradient.activation, gradient.labels
    tilt = 2 * sigma.c2
    return SpikedModel(
        activation=sigma,
        spikes=shift * sigma.c1 * np.sqrt(gradient.power),
        fractions=fractions,
        target=setting.single_index(),
        alignment=gradient.alignment,
        noise=setting.noise,
        scales=np.sqrt((1 + shift * tilt * labels.mean) ** 2 + shift**2 * gradient.spread),
        row_variance=expected_lengths(setting).nu(shift),
        bulk=covariance,
    )


def _covariances(
    setting: Setting, gradient: Gradient, shifts: Sequence[np.ndarray]
) -> Iterator[BulkCovariance | None]:
    """The bulk covariances of the rows with these shifts, one a step size; None for the identity."""
    sigma = gradient.activation
    tilt = 2 * sigma.c2
    # Exactly 0 for a linear activation, where rounding could leave less.
    strengths = [shift**2 * max(sigma.slope_variance - tilt**2, 0.0) * gradient.phi for shift in shifts]
    batch = setting.single_index(), setting.noise, 1 / gradient.phi
    if abs(tilt) >= 1e-12:
        for shift, strength in zip(shifts, strengths, strict=True):
            yield signed_covariance(*batch, shift * tilt, strength) if np.any(shift) else None
        return
    # One spectrum serves the whole curve: the steps differ by the strength e of its matrix only.
    wide = [np.any(strength > _NARROW) for strength in strengths]
    shared = squared_covariance(*batch, np.concatenate(strengths)) if any(wide) else None
    ends = np.cumsum([strength.size for strength in strengths])[:-1]
    for seen, rows in zip(wide, np.split(np.arange(sum(map(np.size, strengths))), ends), strict=True):
        yield replace(shared, scales=shared.scales[rows]) if seen and shared is not None else None


def stepped_features(setting: Setting, step: float, bulk: str = "full") -> SpikedModel:
    r"""Return the spiked random features equivalent to the network after one giant step.

    Parameters
    ----------
    setting : Setting
        With ``readout="signs"`` or a vocabulary.
    step : float
        The step size eta.
    bulk : {"full", "isotropic"}
        The whole covariance of the bulk rows, or the scales :math:`c_\pm` only.

    Examples
    --------
    >>> from onestep_lib import Setting
    >>> from onestep_lib.large_step import stepped_features
    >>> setting = Setting(n=400, d=200, N=300, activation="relu", readout="signs")
    >>> model = stepped_features(setting, step=20, bulk="isotropic")
    >>> print(model.spikes.round(3), model.fractions)
    [ 0.707 -0.707] [0.5 0.5]
    """
    step = check_number("step", step, check_nonnegative)
    return next(vocabulary_rows(setting, [step], bulk))


def vocabulary_rows(setting: Setting, steps: Iterable[float], bulk: str) -> Iterator[SpikedModel]:
    """`stepped_features` along a curve of step sizes."""
    check_instance("setting", setting, Setting)
    if setting.readout == "gaussian":
        raise ValueError(
            "readout must be 'signs' or a vocabulary for the giant step, got 'gaussian' "
            "(see onestep_lib.large_step.one_curve for a Gaussian readout)"
        )
    require_stepped(setting)
    bulk = check_choice("bulk", bulk, BULKS)
    z, shares = readout_groups(setting)
    groups = [(step / np.sqrt(setting.N) * z, shares) for step in steps]
    return rows_of(setting, gradient_of(setting), groups, bulk)


def readout_groups(setting: Setting) -> tuple[np.ndarray, np.ndarray]:
    """The values of z and their shares for a readout that is not Gaussian, as groups of equal neurons.

    For an odd activation z and -z are one group; for a linear one all are: its features are linear in z, and
    only the mean of z^2 counts.
    """
    sigma = setting.activation
    if isinstance(setting.readout, Vocabulary):
        z, shares = np.array(setting.readout.values), np.array(setting.readout.shares)
    else:
        z, shares = _SIGNS, np.array([0.5, 0.5])
    if not is_odd(sigma):
        return z, shares
    if sigma.nonlinear_power == 0:
        return np.sqrt([shares @ z**2]), np.ones(1)
    values, group = np.unique(np.abs(z), return_inverse=True)
    return values, np.bincount(group, shares)


def stepped_losses(
    models: Iterable[SpikedModel],
    setting: Setting,
    finite_d: bool,
    leverage: bool,
    tolerance: float = 1e-12,
) -> Losses:
    """The losses of models, one a step size of the setting, with the options that the theories share."""
    finite_d, leverage = check_flag("finite_d", finite_d), check_flag("leverage", leverage)
    if leverage and not finite_d:
        raise ValueError("finite_d must be True with leverage=True: the leverage is of order 1/d")
    options = setting.d if finite_d else None, leverage, tolerance
    with one_thread():
        losses = [
            spiked_losses(model, setting.phi, setting.psi, setting.ridges, *options) for model in models
        ]
    return Losses.from_steps(losses, setting)


def is_odd(sigma: Activation) -> bool:
    """Return whether sigma is odd: neurons with the readouts a and -a are then one group, up to a sign.

    Examples
    --------
    >>> from onestep_lib.activations import activation
    >>> from onestep_lib.large_step.stepped_model import is_odd
    >>> print([name for name in ("tanh", "relu", "he3", "abs") if is_odd(activation(name))])
    ['tanh', 'he3']
    """
    check_instance("sigma", sigma, Activation)
    x = np.linspace(0.05, 8, 160)
    return bool(np.allclose(sigma(x), -sigma(-x), rtol=1e-13, atol=1e-13))
