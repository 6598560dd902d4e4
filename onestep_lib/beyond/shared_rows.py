r"""Rows that have a component in common, before and after a step: spiked features of two coordinates.

Rows :math:`w_j=\sqrt s\,m+\sqrt{1-s}\,w_j'` (``Setting(shared=s)``) read the input through
:math:`\kappa_m=m\cdot x` besides the direction v that a step adds:

.. math:: \sigma\big(\sqrt s\,\kappa_m+u\,\kappa_v+c\,\zeta\big),\qquad c^2=1-s+\eta_z^2\,\mathrm{noise},

with :math:`\eta_z=\eta z/\sqrt N` for the readout :math:`z/\sqrt N`. That is the model of
:mod:`onestep_lib.spiked_features.model` with two numbers in place of the one :math:`\kappa`. Its equations
average over :math:`(\kappa_v,\kappa_m)`, and the rows' components along m are one more column
:math:`\kappa_m\mu_1` of the mean part. The labels know :math:`\kappa_v` only, since :math:`m\cdot\beta_*` is
of order :math:`1/\sqrt d`.

Of the step: given :math:`\kappa_m` the mean slope of a neuron is
:math:`\bar c(\kappa_m)=\mathbb E\,\sigma'(\sqrt s\,\kappa_m+\sqrt{1-s}\,\zeta)`. So it adds to each row
:math:`\eta_z` times one vector, of squared length P (:eq:`eq-curves-shared`) and overlap
:math:`c_1c_{*,1}/\sqrt P` with :math:`\beta_*`, and noise of its own of
:math:`\phi\,\mathbb Ey^2\,(\mathbb E\sigma'^2-\mathbb E\bar c^2)`, whose covariance is that of
:mod:`onestep_lib.large_step.stepped_model`, in units of :math:`1-s`. Derived, not proved. Left out is what a
row's component along m, or its length, does to its own slope: 2 to 3 per cent of the losses of tanh at
:math:`s=\frac34`, :math:`\eta=2\sqrt N`.
"""

from __future__ import annotations

import numpy as np

from onestep_lib._checks import check_instance, check_positive, shown
from onestep_lib._threads import one_thread
from onestep_lib.initialisation import Vocabulary
from onestep_lib.large_step.stepped_model import bulk_covariances
from onestep_lib.settings import Losses, Setting
from onestep_lib.small_step.gradient import label_moments
from onestep_lib.spiked_features.conditional_means import FeatureMeans, feature_means, target_means
from onestep_lib.spiked_features.fit import solve_fit
from onestep_lib.spiked_features.fixed_point import solve_fixed_point
from onestep_lib.spiked_features.model import BulkCovariance, GroupTable, KappaGrid, Ratios, SpikedTable

__all__ = [
    "shared_features",
]

# Trapezoid rule for one coordinate: the functions are as smooth as the bulk makes them.
_NODES = np.linspace(-8, 8, 65)
_MASS = np.exp(-(_NODES**2) / 2) / np.sum(np.exp(-(_NODES**2) / 2))
_TOLERANCE = 1e-10


def shared_features(setting: Setting) -> Losses:
    r"""Return the losses of a network whose initial rows have a component in common.

    Parameters
    ----------
    setting : Setting
        Rows of either law, Gaussian inputs, a single-index target of mean zero, ridge > 0; for steps a
        centred or scaled output, and signs or a vocabulary as readout.

    Returns
    -------
    Losses
        Of the shape ``setting.shape``, in the normalisation of :mod:`onestep_lib.settings`, with the penalty
        of the mean part of order 1/d.

    Raises
    ------
    ValueError, ConvergenceError
        For a setting outside these conditions, or as in `onestep_lib.spiked_features.losses.spiked_losses`.

    Examples
    --------
    >>> from onestep_lib import Setting
    >>> from onestep_lib.beyond import shared_features
    >>> s = Setting(n=400, d=200, N=300, target="sin", noise=0.3, readout="signs", step=[0, 20])
    >>> print(shared_features(s).test.round(3), shared_features(s.replace(shared=0.5)).test.round(3))
    [0.313 0.238] [0.335 0.249]
    """
    check_instance("setting", setting, Setting)
    readout = _readout(setting)
    with one_thread():
        tables = [_table(setting, float(step), readout) for step in np.ravel(setting.steps)]
        return Losses.joined([_losses(setting, table) for table in tables], setting.shape)


def _readout(setting: Setting) -> Vocabulary:
    """The readout's values, after a look at the whole setting."""
    setting.replace(shared=0.0).require_theory()
    check_positive("ridge", setting.ridge)
    setting.single_index()
    setting.require_centred()
    if setting.inputs != "gaussian":
        raise ValueError(f"inputs must be 'gaussian' here, got {setting.inputs!r}")
    if not np.any(setting.step):
        return Vocabulary((1.0,))
    setting.require_small_output()
    if setting.output == "raw" or setting.vocabulary is None:
        raise ValueError(
            "output must be 'centred' or 'scaled' and readout 'signs' or a vocabulary for rows with a common "
            f"component after a step, got {setting.output!r} and {shown(setting.readout)}"
        )
    return setting.vocabulary


def _table(setting: Setting, step: float, readout: Vocabulary) -> SpikedTable:
    """The functions of (kappa_v, kappa_m) after a step."""
    sigma, target, s, phi = setting.activation, setting.single_index(), setting.shared, setting.phi_0
    labels, own = label_moments(target, setting.noise), np.sqrt(1 - s)
    z, shares = (readout.values, readout.shares) if step else ((0.0,), (1.0,))
    shift = step * np.array(z) / np.sqrt(setting.N)
    mean_slope = feature_means(sigma, [np.sqrt(s)], _NODES, own).mu1[0] / own
    common_slope = float(_MASS @ mean_slope**2)
    private = phi * max(sigma.c1**2 + sigma.slope_variance - common_slope, 0.0) if step else 0.0
    power = (sigma.c1 * labels.linear) ** 2 + phi * labels.square * common_slope
    alignment = sigma.c1 * labels.linear / np.sqrt(power) if step else 0.0
    scales = np.sqrt(1 - s + shift**2 * private * labels.square)

    along, across = (axis.ravel() for axis in np.meshgrid(_NODES, _NODES, indexing="ij"))
    each = [
        feature_means(sigma, [1.0], u * np.sqrt(power) * along + np.sqrt(s) * across, c)
        for u, c in zip(shift, scales, strict=True)
    ]
    parts = ([getattr(one, name) for one in each] for name in ("mu0", "mu1", "m2", "mu2_sq"))
    means = FeatureMeans(*map(np.concatenate, parts))
    # Of a row's component along m and of its length, the share that it had before the step.
    before = ((1 - s) / scales**2)[:, None]
    gaussian = float(setting.rows == "gaussian")
    columns = [
        means.mu0,
        along * means.mu1,
        np.sqrt(np.maximum(1 - (1 - gaussian) * before, 0)) * across * means.mu1,
        gaussian * before / np.sqrt(2) * means.m2,
    ]
    bulk = None
    if step:
        batch, tilt = (target, setting.noise, 1 / phi), 2 * sigma.c2
        excess = max(private / (1 - s) - phi * tilt**2, 0.0)
        (bulk,) = bulk_covariances(batch, tilt, excess, [shift])
    weights = np.outer(_MASS, _MASS).ravel()
    features = GroupTable(means, weights, np.array(shares), bulk or BulkCovariance.isotropic(len(z)))
    grid = KappaGrid(np.empty(0), along, weights)
    return SpikedTable(grid, features, target_means(target, along, alignment, setting.noise),
                       np.concatenate(columns))  # fmt: skip


def _losses(setting: Setting, table: SpikedTable) -> Losses:
    ratios = Ratios(1 / setting.phi, 1 / setting.psi, setting.ridges.ravel(), 1 / setting.d, _TOLERANCE)
    found = solve_fit(table, ratios, solve_fixed_point(table.features, ratios))
    return Losses(found.train, found.test, found.objective)
