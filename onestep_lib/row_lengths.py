r"""How much the lengths of the rows fluctuate after a gradient step.

Off the spike direction a row becomes :math:`b=w+\tau g`, :math:`\tau=\eta z/\sqrt N` with the readout
:math:`a_j=z/\sqrt N`, and

.. math:: g=\frac1n\sum_iy_i\big(\sigma'(w\cdot x_i)-c_1\big)x_i,\qquad
          \nu=\frac d2\frac{\mathrm{Var}|b|^2}{(\mathbb E|b|^2)^2}
             =\frac{p^\top\mathcal Cp}{(\bar q\cdot p)^2},\quad p=(1,\tau,\tau^2),

with the mean :math:`\bar q` and (d/2 times) the covariance :math:`\mathcal C` of
:math:`q=(|w|^2,2w\cdot g,|g|^2)` over the rows w at a fixed batch. For :math:`\mathbb Ey=0`, with
:math:`s_2=\mathbb E[\sigma'He_2]`, :math:`\chi=(\sigma'-c_1)\zeta` and B of :mod:`onestep_lib.one_curve`,

.. math:: \bar q=\Big(1,0,\mathrm{Var}(\sigma')\frac{\mathbb Ey^2}\alpha\Big),\quad
          \mathcal C_{11}=1\ (0\text{ for rows on a sphere}),\quad\mathcal C_{12}=0,\quad
          \mathcal C_{22}=2\Big[s_2^2B+\frac{\mathbb Ey^2}\alpha(\mathrm{Var}\chi-s_2^2)\Big];

the other entries have no closed form here and are sampled with the rest. Gaussian rows of the same
covariance would give up to nine times too much for relu at eta ~ sqrt(N): w.g is a quadratic form in w
that largely cancels the tilt by H-hat.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from onestep_lib._cache import memory, values_of, version_of
from onestep_lib._checks import check_generator
from onestep_lib.settings import Setting

__all__ = ["RowLengths", "expected_lengths", "row_lengths"]

_ROWS = 2500
_BATCHES = 8
_DIMENSION = 400


@dataclass(frozen=True)
class RowLengths:
    r"""Moments of the three parts of a row's squared length, :math:`q=(|w|^2,2w\cdot g,|g|^2)`.

    The bulk row is :math:`w+\tau g`, :math:`\tau=\eta z/\sqrt N`,
    :math:`g=\frac1n\sum_iy_i(\sigma'(w\cdot x_i)-c_1)x_i`.

    Parameters
    ----------
    mean : ndarray, shape (3,)
    covariance : ndarray, shape (3, 3)
        (d/2) Cov(q) over rows at a fixed batch.
    """

    mean: np.ndarray
    covariance: np.ndarray

    def nu(self, tau: np.ndarray) -> np.ndarray:
        r"""Return :math:`\nu=\frac d2\mathrm{Var}|b|^2/(\mathbb E|b|^2)^2` at each tau."""
        powers = np.stack([np.ones_like(tau), tau, tau**2], axis=-1)
        variance = np.einsum("gi,ij,gj->g", powers, self.covariance, powers)
        return np.maximum(variance, 0.0) / (powers @ self.mean) ** 2


def row_lengths(setting: Setting, rng: np.random.Generator) -> RowLengths:
    """Sample the moments of the row lengths: 1250 rows and their opposites on each of 8 batches, d = 400.

    Good to a few percent of each covariance, in about 1 s.

    Parameters
    ----------
    setting : Setting
        Its activation, target, noise, rows and d/n matter.
    rng : numpy.random.Generator
    """
    check_generator(rng)
    slope = setting.activation.c1
    n = max(1, round(_DIMENSION / setting.phi))
    moments = [_sampled_lengths(setting, slope, n, child) for child in rng.spawn(_BATCHES)]
    mean = np.mean([m for m, _ in moments], axis=0)
    covariance = np.mean([c for _, c in moments], axis=0)
    return RowLengths(mean, covariance * _DIMENSION / 2)


def expected_lengths(setting: Setting) -> RowLengths:
    """Return the row lengths of a setting, one value for all its step sizes, penalties and widths.

    A set-up constant, not a simulation: it comes from one fixed stream, so that a theory has one value,
    and is kept on disk.
    """
    d = 10**6
    return _lengths(setting.replace(n=max(1, round(d / setting.phi)), d=d, N=1, ridge=1.0, step=0.0))


@lru_cache(maxsize=32)
def _lengths(setting: Setting) -> RowLengths:
    slope = values_of(setting.activation.require_slope())
    key = version_of(sys.modules[__name__]), slope, values_of(setting.target), setting.rows
    sampled = _kept_lengths(key, setting.noise, setting.phi, setting)
    covariance = sampled.covariance.copy()
    covariance[0, 0] = float(setting.rows == "gaussian")
    return RowLengths(sampled.mean, covariance)


@memory.cache(ignore=["setting"])
def _kept_lengths(key: tuple[str, ...], noise: float, phi: float, setting: Setting) -> RowLengths:
    return row_lengths(setting, np.random.default_rng(0))


def _sampled_lengths(
    setting: Setting, slope: float, n: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    X = rng.standard_normal((n, _DIMENSION))
    y = setting.target(X[:, 0]) + setting.noise * rng.standard_normal(n)
    half = rng.standard_normal((_ROWS // 2, _DIMENSION)) / np.sqrt(_DIMENSION)
    # With each row its opposite: what vanishes by symmetry for an odd activation vanishes here too.
    rows = np.concatenate([half, -half])
    if setting.rows == "spherical":
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    g = ((setting.activation.require_slope()(rows @ X.T) - slope) * y) @ X / n
    q = np.stack([np.sum(rows**2, 1), 2 * np.sum(rows * g, 1), np.sum(g**2, 1)])
    return q.mean(axis=1), np.cov(q)
