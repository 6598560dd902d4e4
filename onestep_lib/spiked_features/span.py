r"""The smallest test loss that a readout of spiked random features can reach, with all data and all neurons.

Given :math:`\kappa`, a readout :math:`a` makes of the features of group g the function

.. math:: A_g\,\mu_{0,g}(\kappa)+A'_g\,\kappa\,\mu_{1,g}(\kappa)+A''_g\,m_{2,g}(\kappa)
          +D_g\,\mu_{1,g}(\kappa)\,z,

with :math:`A_g=\sum_ja_j`, :math:`A'_g=\sum_ja_j\langle w_j,v\rangle`,
:math:`A''_g=\frac12\sum_ja_j(|w_j|^2-1)` and :math:`D_g=\sum_ja_j\langle w_j,\beta_\perp\rangle` (bulk rows
:math:`w_j` in units of their scale, spike direction v, z the input along :math:`\beta_\perp`, the part of
the target's direction that is orthogonal to v), plus what averages out over more and more neurons. All
four can be chosen freely once N exceeds d by far, so the labels :math:`h_0(\kappa)+h_1(\kappa)z+\dots`
cost at least

.. math:: \mathbb E\big[\mathrm{Var}(y|\kappa)-h_1^2\big]
          +\min\mathbb E\big(h_0-\textstyle\sum_g(A_g\mu_{0,g}+A'_g\kappa\mu_{1,g}+A''_gm_{2,g})\big)^2
          +\min\mathbb E\big(h_1-\textstyle\sum_gD_g\mu_{1,g}\big)^2

(:eq:`eq-learns-span`). Rows of one length have no :math:`A''_g`.

Functions
---------
span_floor   that loss
"""

from __future__ import annotations

import numpy as np

from onestep_lib.spiked_features.model import SpikedModel

__all__ = [
    "span_floor",
]

# Columns that agree to this share of the longest are one function.
_RANK = 1e-9


def span_floor(model: SpikedModel) -> float:
    r"""Return the smallest test loss of any readout, in the limit :math:`d\ll N\ll n` without a penalty.

    Parameters
    ----------
    model : SpikedModel
        Its bulk is not used: directions that are stretched can be fitted all the same.

    Returns
    -------
    float
        With the label noise.

    Examples
    --------
    >>> from onestep_lib.activations import activation, target
    >>> from onestep_lib.spiked_features import SpikedModel, span_floor
    >>> sigma, labels = activation("tanh"), target("sin")
    >>> one = SpikedModel(sigma, spikes=[3], fractions=[1], target=labels, alignment=0.9)
    >>> two = SpikedModel(sigma, spikes=[1, 3], fractions=[0.5, 0.5], target=labels, alignment=0.9)
    >>> print(f"{span_floor(one):.3f} {span_floor(two):.3f}")  # more values of the spike, more functions
    0.028 0.012
    """
    table = model.table
    weights, labels = table.grid.weights, table.labels
    apart = weights @ (labels.variance - labels.h1**2)
    even = _left_over(table.columns, labels.h0, weights)
    return float(apart + even + _left_over(table.features.means.mu1, labels.h1, weights))


def _left_over(columns: np.ndarray, values: np.ndarray, weights: np.ndarray) -> float:
    """The smallest mean square of the values less a combination of the columns."""
    root = np.sqrt(weights)
    fit, *_ = np.linalg.lstsq((columns * root).T, values * root, rcond=_RANK)
    return float(np.sum((values * root - fit @ columns * root) ** 2))
