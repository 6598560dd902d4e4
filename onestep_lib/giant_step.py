r"""The giant step: from a network after one step of size :math:`\eta=\tilde\eta\sqrt N` to spiked features.

With a readout of signs :math:`a_j=s_j/\sqrt N`, one step of size eta changes every row by an amount of
order one,

.. math:: w_j=w_j^0+\tilde\eta\,s_j\frac1n\sum_iy_i\,\sigma'(w_j^0\cdot x_i)\,x_i,\qquad
          \tilde\eta=\eta/\sqrt N

(the residual is y for ``output="centred"``, and in the limit for ``"scaled"``). Split :math:`\sigma'` into
its mean :math:`c_1`, its linear part :math:`c'_2\,(w\cdot x)`,
:math:`c'_2=\mathbb E[\zeta\sigma'(\zeta)]=2c_2`, and the rest. The mean moves all rows along
:math:`\hat g=\frac1n\sum_iy_ix_i`: spikes :math:`u_j=s_jr` along :math:`v=\hat g/|\hat g|`,

.. math:: r=\tilde\eta\,c_1\sqrt B,\qquad \gamma=v\cdot\theta=\frac{b_1}{\sqrt B},\qquad
          B=b_1^2+\frac{\bar y^2}\alpha ,

with :math:`\alpha=n/d`, :math:`b_1=c_{*,1}`, :math:`\bar y^2=\mathbb Ey^2`, :math:`b_0=\mathbb Ey`. The
rest widens the bulk,

.. math:: |w_j|^2\to c_\pm^2=1\pm2\tilde\eta c'_2b_0+(\tilde\eta c'_2b_0)^2
          +\tilde\eta^2\,\mathrm{Var}(\sigma')\,\frac{\bar y^2}\alpha

(derived in chapter 9; Cui et al., arXiv 2402.04980, have the same map in their normalisation). For
:math:`c_2=0` the bulk is known in full: its covariance is :math:`(I+eH)/d`,
:math:`e=\tilde\eta^2\mathrm{Var}(\sigma')/\alpha`, see :mod:`onestep_lib.batch_spectrum`.

Functions
---------
giant_step        losses of a Setting with readout="signs"
spike_map         r, gamma and the bulk scales of one step size
stepped_features  the spiked random features of one step size
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onestep_lib._checks import check_choice, check_nonnegative
from onestep_lib.batch_spectrum import spectral_bulk
from onestep_lib.row_lengths import expected_lengths
from onestep_lib.settings import Losses, Setting
from onestep_lib.spiked_features import SpikedFeatures, spiked_losses
from onestep_lib.step import slope_moments

__all__ = [
    "BULKS",
    "SpikeMap",
    "giant_step",
    "require_stepped",
    "spike_map",
    "stepped_features",
]

BULKS = ("auto", "isotropic", "anisotropic")


@dataclass(frozen=True)
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
    bulk_noise : float
        e, the weight of H in the bulk covariance.
    rates : ndarray, shape (2,)
        :math:`\pm\tilde\eta`, the step sizes of the two kinds of rows.
    """

    strength: float
    alignment: float
    scales: np.ndarray
    bulk_noise: float
    rates: np.ndarray


def spike_map(setting: Setting, step: float) -> SpikeMap:
    r"""Return r, gamma and the bulk scales after a step of size eta (formulas above).

    Raises
    ------
    ValueError
        If the setting has no derivative, no labels, or an output or a readout that the map does not
        cover: it needs ``readout="signs"`` and ``output="centred"`` or ``"scaled"``.
    """
    require_stepped(setting)
    if setting.readout != "signs":
        raise ValueError(
            f"readout must be 'signs' for the giant step, got {setting.readout!r} "
            "(see onestep_lib.one_curve for a Gaussian readout)"
        )
    sigma, target = setting.activation, setting.target
    rate = float(check_nonnegative("step", step)) / np.sqrt(setting.N)
    slope_mean, slope_linear, slope_variance = slope_moments(sigma)
    power = target.second_moment + setting.noise**2
    B = target.linear**2 + power * setting.phi
    shift = rate * slope_linear * target.c0
    spread = rate**2 * slope_variance * power * setting.phi
    return SpikeMap(
        strength=rate * slope_mean * np.sqrt(B),
        alignment=float(np.clip(target.linear / np.sqrt(B), -1, 1)),
        scales=np.sqrt((1 + np.array([shift, -shift])) ** 2 + spread),
        bulk_noise=rate**2 * slope_variance * setting.phi,
        rates=rate * np.array([1.0, -1.0]),
    )


def require_stepped(setting: Setting) -> None:
    """Raise unless a theory of the stepped network covers the setting, whatever its readout."""
    setting.require_theory()
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


def stepped_features(setting: Setting, step: float, bulk: str = "auto") -> SpikedFeatures:
    r"""Return the spiked random features equivalent to the network after one giant step.

    Parameters
    ----------
    setting : Setting
        With ``readout="signs"``.
    step : float
        The step size eta.
    bulk : {"auto", "isotropic", "anisotropic"}
        ``"isotropic"`` keeps only the scales :math:`c_\pm` of the bulk; ``"anisotropic"`` its whole
        covariance (c_2 = 0 only); ``"auto"`` the second where it can. For c_2 != 0 the covariance is in
        :mod:`onestep_lib.one_curve`, which takes a readout of signs too.
    """
    check_choice("bulk", bulk, BULKS)
    found = spike_map(setting, step)
    odd = abs(setting.activation.c2) < 1e-12
    if bulk == "anisotropic" and not odd:
        raise ValueError(
            f"bulk must be 'isotropic' for an activation with c_2 != 0 ({setting.activation.name!r}), "
            f"got {bulk!r}"
        )
    spectrum = None
    if bulk != "isotropic" and odd and found.bulk_noise > 1e-12:
        strengths = np.full(2, found.bulk_noise)
        spectrum = spectral_bulk(setting.target, setting.noise, 1 / setting.phi, strengths)
    return SpikedFeatures(
        activation=setting.activation,
        spikes=found.strength * np.array([1.0, -1.0]),
        fractions=np.array([0.5, 0.5]),
        target=setting.target,
        alignment=found.alignment,
        noise=setting.noise,
        scales=found.scales,
        row_variance=expected_lengths(setting).nu(found.rates),
        bulk=spectrum,
    )


def giant_step(setting: Setting, bulk: str = "auto", finite_d: bool = True) -> Losses:
    r"""Return the losses after one gradient step of a network with a readout of signs.

    Valid for every step size; the interesting ones are :math:`\eta=O(\sqrt N)`.

    Parameters
    ----------
    setting : Setting
        With ``readout="signs"``, ``output="centred"`` or ``"scaled"``, Gaussian inputs, ridge > 0.
    bulk : {"auto", "isotropic", "anisotropic"}
        See `stepped_features`.
    finite_d : bool
        Keep the leading correction of finite d (see `onestep_lib.spiked_features.spiked_losses`).

    Returns
    -------
    Losses
        Of the shape ``setting.shape``, in the normalisation of :mod:`onestep_lib.settings`.

    Raises
    ------
    ValueError, ConvergenceError
        As in `spike_map` and `onestep_lib.spiked_features.spiked_losses`.
    """
    d = setting.d if finite_d else None
    models = (stepped_features(setting, step, bulk) for step in np.atleast_1d(setting.steps))
    losses = [spiked_losses(model, setting.phi, setting.psi, setting.ridges, d) for model in models]
    return Losses.from_steps(losses, setting)
