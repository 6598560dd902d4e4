r"""One curve: the network after one gradient step of any size, from random features to the giant step.

A row of the stepped weights with readout :math:`a_j=z/\sqrt N` is a spike along the gradient direction
v plus a bulk,

.. math:: w=u(z)\,v+b,\qquad u(z)=\frac{\eta c_1\sqrt B}{\sqrt N}z,\qquad b\sim N(0,\Sigma(z)/d),

.. math:: \Sigma(z)=(I+t\hat H)^2+e\,H,\qquad t=\frac{\eta\,c'_2z}{\sqrt N},\qquad
          e=\frac{\eta^2z^2}N\,\frac{\mathrm{Var}(\sigma')-c_2'^2}\alpha,

with :math:`c'_2=\mathbb E[\zeta\sigma'(\zeta)]=2c_2`, :math:`B=c_{*,1}^2+\bar y^2/\alpha` and the batch
matrices of :mod:`onestep_lib.large_step.batch_squared` and :mod:`onestep_lib.large_step.batch_signed`. Given its readout
the network is therefore a spiked-random-features model (:mod:`onestep_lib.spiked_features.losses`) with a
vocabulary of spikes, one a value of z. A Gaussian readout is a vocabulary only up to a quadrature in z;
the mean part of the fit is kernel ridge with the kernel
:math:`\mathbb E_z[\mu_0(u\kappa)\mu_0(u\kappa')c(z)]` and ridge 1/d, so the nodes must resolve
:math:`\mu_0(u_1z\kappa)` in z (Gauss-Hermite does not), and the finite-d penalty is part of the theory.

A cavity calculation, not a proof (derived in chapter 12), compared with the network in
``tests/data/one_curve.json`` (:mod:`onestep_lib.experiment.sweeps`). It holds for the centred or scaled network and
targets of mean zero. For c_2 != 0 it keeps only the diagonal of H in the basis of H-hat (0.7 % of the test
loss at :math:`\eta=n^{0.62}` for relu). The fluctuation of the row lengths is that of
:mod:`onestep_lib.large_step.row_lengths`.

Its limits: random features at :math:`\eta=0`, :mod:`onestep_lib.large_step.stepped_model` for a readout of signs, and for
small steps the staircase of the exact step (:func:`onestep_lib.small_step.gradient.exact_spike`).

Functions
---------
one_step             losses of a Setting at every step size
stepped_vocabulary   the spiked random features of one step size
readout_nodes        the quadrature over the readout
nearest_setting      what the theory covers that is nearest to any setting
"""

from __future__ import annotations

import numpy as np

from onestep_lib._checks import check_count, check_flag, check_instance
from onestep_lib._threads import one_thread
from onestep_lib.large_step.stepped_model import grouped_rows, is_odd, require_stepped, spike_strength
from onestep_lib.settings import Losses, Setting
from onestep_lib.spiked_features.losses import spiked_losses
from onestep_lib.spiked_features.model import SpikedModel

__all__ = [
    "nearest_setting",
    "one_step",
    "readout_nodes",
    "stepped_vocabulary",
]

_LARGEST = 4.0
_POWER = 1.5
# Where u_1 > 12 the bulk scale grows like the spike, u/c no more: 20 nodes leave 2e-3 of the test loss.
_MOST_NODES = 20
# Far below the error of the readout nodes.
_TOLERANCE = 1e-8


def readout_nodes(count: int) -> tuple[np.ndarray, np.ndarray]:
    r"""Return nodes z > 0 and weights for averages over the half-normal law, dense near 0.

    Gauss-Legendre in s on (0, 1) with :math:`z=4s^{3/2}`: the spacing near 0 shrinks like the width
    :math:`1/(u_1\kappa)` of the features' turn-over asks for.
    """
    count = check_count("count", count)
    points, weights = np.polynomial.legendre.leggauss(count)
    s = (points + 1) / 2
    z = _LARGEST * s**_POWER
    mass = weights * s ** (_POWER - 1) * np.exp(-(z**2) / 2)
    return z, mass / mass.sum()


def stepped_vocabulary(setting: Setting, step: float, count: int | None = None) -> SpikedModel:
    r"""Return the spiked random features equivalent to the network after one step of size eta.

    Parameters
    ----------
    setting : Setting
        See `one_step` for what it covers.
    step : float
        The step size eta >= 0.
    count : int, optional
        Readout nodes a half line; by default :math:`8+\lceil u_1\rceil` for an odd activation,
        :math:`8+\lceil2u_1/3\rceil` otherwise (both signs of z are nodes), at most 20. A readout of signs
        needs one.
    """
    _require(setting)
    return grouped_rows(setting, step, *_vocabulary(setting, step, count))


def _require(setting: Setting) -> None:
    require_stepped(setting)
    setting.target.require_centred()


def _vocabulary(setting: Setting, step: float, count: int | None) -> tuple[np.ndarray, np.ndarray]:
    """The values of z and their fractions; z and -z are one group for an odd activation.

    For a linear one all are: its features are linear in z, and only the mean of z^2 counts.
    """
    strength = abs(spike_strength(setting, step))
    odd = is_odd(setting.activation)
    if setting.readout == "signs" or strength == 0 or setting.activation.nonlinear_power == 0:
        z, fractions = np.ones(1), np.ones(1)
    else:
        growth = strength if odd else strength / 1.5
        z, fractions = readout_nodes(min(8 + int(np.ceil(growth)), _MOST_NODES) if count is None else count)
    if odd:
        return z, fractions
    return np.concatenate([-z[::-1], z]), np.concatenate([fractions[::-1], fractions]) / 2


def one_step(setting: Setting, count: int | None = None, leverage: bool = True) -> Losses:
    r"""Return the losses after one exact gradient step, at every step size of the setting.

    At step 0 they are those of random features, for small steps those of the staircase, for
    :math:`\eta\sim\sqrt N` those of the giant step. Fixed points and averages are good to 1e-8, the
    readout nodes to 5e-4 of the test loss (odd activations, :math:`\eta\ge n^{0.6}`; 3e-4 elsewhere; 4e-3 at
    :math:`u_1\sim100`), and for c_2 != 0 the bins of the spectrum of H-hat to 3e-4.

    Parameters
    ----------
    setting : Setting
        With ``output="centred"`` or ``"scaled"``, Gaussian inputs, a target of mean zero, ridge > 0;
        either readout, either kind of rows.
    count : int, optional
        See `stepped_vocabulary`.
    leverage : bool
        Keep the O(1/d) leverage of the mean part.

    Returns
    -------
    Losses
        Of the shape ``setting.shape``, in the normalisation of :mod:`onestep_lib.settings`.

    Raises
    ------
    ValueError
        For a setting outside these conditions.
    ConvergenceError
        If a solver does not reach its tolerance.
    """
    leverage = check_flag("leverage", leverage)
    _require(setting)
    point = setting.phi, setting.psi, setting.ridges, setting.d, leverage, _TOLERANCE
    models = (stepped_vocabulary(setting, step, count) for step in np.atleast_1d(setting.steps))
    with one_thread():
        losses = [spiked_losses(model, *point) for model in models]
    return Losses.from_steps(losses, setting)


def nearest_setting(setting: Setting) -> Setting:
    """Return the setting that `one_step` covers next to a setting that can only be simulated.

    Gaussian inputs, a fresh batch for the ridge, and one step of the same total size. Its losses, beside a
    simulation of the setting, show where the theory stops.

    Parameters
    ----------
    setting : Setting
        Of any inputs, `fresh` and `updates`.
    """
    check_instance("setting", setting, Setting)
    total = setting.steps * setting.updates
    return setting.replace(inputs="gaussian", fresh=True, updates=1, step=total)
