r"""The losses of an even target after one giant step, at the size that they have.

In the limit one step at n ~ d leaves the losses of an even target where they were, because a row's
component along :math:`\beta_*` is one of d. Its share is of order 1/d, and its constant is large. Given the
batch, row j of :mod:`onestep_lib.large_step.spectral` has along :math:`\beta_*` the variance
:math:`\beta_*^\top C_j\beta_*`, and along a direction that knows nothing :math:`L_j/d`, with

.. math:: L_j=(1+t_jc_{*,0})^2+\delta_j^2\phi\,\mathbb E[\sigma'^2]\,\mathbb Ey^2,\qquad

          d\,\beta_*^\top C_j\beta_*-L_j\to
          X_j=(1+t_jh)^2-(1+t_jc_{*,0})^2+\delta_j^2\phi\,\mathbb E[\sigma'^2]\,
          \big(\mathbb E[y^2\zeta^2]-\mathbb Ey^2\big),

:math:`h=\mathbb E[y\zeta^2]=c_{*,0}+2c_{*,2}`, :math:`\delta_j=\eta z_j/\sqrt N`,
:math:`t_j=2c_2\delta_j`; both count the noise spike along :math:`\hat g`, too. Of the squared lengths
:math:`\beta_*` has the share :math:`\mathbb E(L+X)/\mathbb E(dL+X)`: after a large step
:math:`16c_2^2c_{*,2}^2\,n/(d^2\,\mathbb E[\sigma'^2]\,\mathbb Ey^2)` and more, of order one for n ~ d^2, the
size at which one step is known to learn degree two.

**The losses.** So the stepped network is taken as *spiked random features* whose spikes stand along
:math:`\beta_*` itself and are Gaussian over the neurons, :math:`u_j\sim N(0,X_j/d)`
(:mod:`onestep_lib.spiked_features.losses` with :math:`\gamma=1`; Gauss-Hermite values of u), in isotropic
rows of length :math:`\sqrt{L_j}`. This keeps what is of order X/d and drops the rest of the order 1/d. It is
*not* a derivation: the noise spike is counted among the bulk, whose shape is dropped. Observed for relu
and bounded labels, n = 16 d to 27 d, N = n/4 and d = 60 to 240: within 10 % of the networks up to steps of
8 sqrt(N); beyond, the noise spike costs the networks up to 20 % more. (Labels without a bound, such as
:math:`He_2`, gain less than it says.)

**How large must n be?** :math:`He_2` of :math:`\beta_*\cdot x` is a function of the features' kernel with an
eigenvalue of order :math:`(X/(dL))^2\sim(n/d^2)^2`. Ridge regression learns it once n times that is of
order one: for :math:`n\gg d^{4/3}` (if N grows like n), long before a single row knows the direction.

**The second step.** After a step with a readout of signs the output has grown to
:math:`f_1-f_0\simeq\sqrt N\,c_1r\,\kappa`, :math:`\kappa=v\cdot x` along the noise :math:`\hat g`: the
residual of a second step, up to the labels, so that one of size :math:`\eta_2` changes the spike to
:math:`r(1-\eta_2c_1^2)`. Of the first one's size it buries the rows under that noise, and the gain is lost.
Of size :math:`1/c_1^2`, of order one, it takes the noise spike away and keeps the gain (observed: relu,
n = 16 d, N = 4 d, 8 sqrt(N), then 4 on a fresh batch: 1.30 to 1.02 at d = 60, 1.47 to 1.17 at 120, 1.75 to
1.50 at 240).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from onestep_lib._checks import check_count, check_positive, check_vector
from onestep_lib.large_step.spectral import readout_nodes, require_even
from onestep_lib.quadrature import gaussian_quadrature
from onestep_lib.settings import Losses, Setting
from onestep_lib.small_step.gradient import gradient_of
from onestep_lib.spiked_features.losses import spiked_losses
from onestep_lib.spiked_features.model import SpikedModel

__all__ = [
    "even_losses",
    "even_map",
    "even_share",
]


def _rows(setting: Setting, z: np.ndarray, step: float) -> tuple[np.ndarray, np.ndarray]:
    r"""L, and the excess X of d times the variance along :math:`\beta_*`, at readouts z."""
    gradient, target = gradient_of(setting), setting.single_index()
    zeta, weights = gaussian_quadrature(target.kinks)
    y = target(zeta)
    along = float(weights @ (y * zeta**2))
    squared = float(weights @ ((y * zeta) ** 2)) + setting.noise**2 - gradient.labels.square
    shift = step / np.sqrt(setting.N) * z
    tilt, sigma = 2 * gradient.activation.c2 * shift, gradient.activation
    spread = shift**2 * gradient.phi * (sigma.slope_variance + sigma.c1**2)
    usual = (1 + tilt * gradient.labels.mean) ** 2
    return usual + spread * gradient.labels.square, (1 + tilt * along) ** 2 - usual + spread * squared


def even_share(setting: Setting) -> np.ndarray:
    r"""Return the share :math:`\mathbb E(L+X)/\mathbb E(dL+X)` of :math:`\beta_*` in the rows.

    Returns
    -------
    ndarray, shape of the steps
        1/d at step 0.

    Examples
    --------
    >>> from onestep_lib import Setting
    >>> from onestep_lib.beyond.even_targets import even_share
    >>> s = Setting(1600, 100, 400, "relu", (0, 0, 0.5), readout="signs", step=[0, 1000])
    >>> print((100 * even_share(s)).round(2))
    [ 1.   13.03]
    """
    require_even(setting)
    z, shares = readout_nodes(setting)
    rows = [shares @ np.transpose(_rows(setting, z, step)) for step in np.atleast_1d(setting.steps)]
    found = [(usual + excess) / (setting.d * usual + excess) for usual, excess in rows]
    return np.reshape(found, setting.steps.shape)


def even_losses(setting: Setting, nodes: int = 6) -> Losses:
    """Return the losses of an even target after one step, its order 1/d included as far as it is large.

    Parameters
    ----------
    setting : Setting
        With an even target and ``readout="signs"`` or a vocabulary.
    nodes : int
        Values of the spike in a group; 4 and 8 differ by less than 1 %.

    Examples
    --------
    >>> from onestep_lib import Setting
    >>> from onestep_lib.beyond.even_targets import even_losses
    >>> s = Setting(960, 60, 240, "relu", (0, 0, 0.5), readout="signs", step=[0, 100])
    >>> print(even_losses(s).test.round(2))
    [0.55 0.18]
    """
    require_even(setting)
    if setting.readout == "gaussian":
        raise ValueError("readout must be 'signs' or a vocabulary for the losses, got 'gaussian'")
    points, mass = np.polynomial.hermite_e.hermegauss(check_count("nodes", nodes, 2, 12))
    z, shares = readout_nodes(setting)
    models = []
    for step in np.atleast_1d(setting.steps):
        length, excess = _rows(setting, z, step)
        models.append(
            SpikedModel(
                activation=setting.activation,
                spikes=np.outer(np.sqrt(np.maximum(excess, 0.0) / setting.d), points).ravel(),
                fractions=np.outer(shares, mass / mass.sum()).ravel(),
                target=setting.single_index(),
                alignment=1.0,
                noise=setting.noise,
                scales=np.repeat(np.sqrt(length), points.size),
                row_variance=float(setting.rows == "gaussian"),
            )
        )
    each = [spiked_losses(model, setting.phi, setting.psi, setting.ridges, setting.d) for model in models]
    return Losses.joined(each, setting.shape)


def even_map(setting: Setting, dimensions: ArrayLike, exponents: ArrayLike) -> np.ndarray:
    r"""Return the test losses of `even_losses` over d and p, where the samples grow like d^p.

    From the setting's own size on, n and N grow like :math:`d^p`, and the step like
    :math:`\sqrt{Nn/d}`, which keeps the noise in a row's length.

    Parameters
    ----------
    setting : Setting
        With one step size and one penalty.
    dimensions : array_like of int, shape (D,)
    exponents : array_like, shape (P,)

    Returns
    -------
    ndarray, shape (P, D)

    Examples
    --------
    >>> from onestep_lib import Setting
    >>> from onestep_lib.beyond.even_targets import even_map
    >>> s = Setting(960, 60, 240, "relu", (0, 0, 0.5), readout="signs", step=100)
    >>> print(even_map(s, [60, 6000], [1, 4 / 3, 5 / 3]).round(2))
    [[0.18 0.54]
     [0.18 0.17]
     [0.18 0.  ]]
    """
    if setting.shape:
        raise ValueError("step and ridge must be single numbers for a map over n and d")
    dimensions = check_vector("dimensions", check_positive("dimensions", dimensions))
    exponents = check_vector("exponents", exponents)
    return np.array([[_grown(setting, int(d), p) for d in dimensions] for p in exponents])


def _grown(setting: Setting, d: int, exponent: float) -> float:
    factor = (d / setting.d) ** exponent
    n, N = round(factor * setting.n), round(factor * setting.N)
    step = setting.steps * np.sqrt(N * n / d / (setting.N * setting.n / setting.d))
    return float(even_losses(setting.replace(n=n, d=d, N=N, step=step)).test)
