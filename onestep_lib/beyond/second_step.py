r"""The second gradient after one step: what it writes, for a reused and for a fresh batch.

A scaled network takes a step of size eta on the batch (X, y) of n samples and computes a gradient again.
With :math:`z_j=\sqrt N\,a_j\sim N(0,1)`, :math:`s=\eta/\sqrt N` and the direction b of the first step,
neuron j sees sample i **of the same batch** through

.. math:: u_+=u+s\,z_j\big[c_1t+\phi\,y\,\sigma'(u)+\sqrt v\,\xi\big],\qquad
          v=\phi\,\mathrm{Var}(\sigma')\,\mathbb Ey^2 ,

where :math:`u=\langle w_j,x_i\rangle`, :math:`t=\langle b_{-i},x_i\rangle` is taken without the
sample's own share of b, the term with :math:`\phi y` is that share (:math:`|x_i|^2/n\to\phi`: the *memory*),
and :math:`\xi\sim N(0,1)` is what the private parts of the other samples leave. On a **fresh** batch the
memory is absent. The new residual is a function of the same two numbers,

.. math:: r_2(t,y)=y-\mathbb E_{z,u,\xi}[z\,\sigma(u_+)],

and so is the weight of a sample in the part of the second gradient along :math:`He_k(z_j)`,

.. math:: h_k=\frac1{\sqrt N}\sum_jHe_k(z_j)\,G_j\approx\frac1n\sum_i\omega(t_i,y_i)\,x_i,\qquad
          \omega(t,y)=r_2(t,y)\;\mathbb E_{z,u,\xi}[He_k(z)\,z\,\sigma'(u_+)] .

Its limits follow by taking samples out (Stein's lemma; :math:`\omega'` is the slope in t, :math:`\phi_2` is d
over the samples of the second batch, here :math:`\phi`, and [same] is 1 or 0):

.. math:: \langle h_k,\beta_*\rangle\to m=\mathbb E[\omega\langle\beta_*,x\rangle],\qquad
          \langle h_k,b\rangle\to
          c_{*,1}m+\phi\,\mathbb E[y^2]\,\mathbb E[\omega']+[\text{same}]\,\phi\,\mathbb E[y\,\omega],

.. math:: |h_k|^2\to m^2+\phi\,\mathbb E[y^2]\,\mathbb E[\omega']^2+\phi_2\,\mathbb E[\omega^2]
          +[\text{same}]\,2\phi\,\mathbb E[\omega']\,\mathbb E[y\,\omega] .

Here :math:`t=c_{*,1}\langle\beta_*,x\rangle+\sqrt{\phi\,\mathbb Ey^2}\,\xi'`. Where
:math:`c_{*,1}=0`, t knows nothing of the target, and m = 0 on a fresh batch; on the reused one the memory
makes :math:`\omega` depend on higher powers of y, and to lowest order in s

.. math:: m\approx\frac{s^2\phi^2}2\,\mathbb E[z^3He_k(z)]\;\mathbb E[\sigma'''\sigma'^2]\;
          \mathbb E[y^3\langle\beta_*,x\rangle]

for an odd activation (k = 1, 3). Derived, not proved; measured in ``tests/beyond/test_second_step.py``.
That reuse of a batch reaches directions which one pass does not is due to Dandi et al., arXiv 2402.03220.

At finite n the inner product with the target fluctuates. On a fresh batch with :math:`c_{*,1}=0`, m = 0 and
this is the whole overlap (``chance``), with n times the variance

.. math:: \mathrm{Var}(\omega\zeta_*)+e^2\,\mathrm{Var}(y\zeta_*),\qquad
          \zeta_*=\langle\beta_*,x\rangle,\ e=\mathbb E[\omega'\zeta_*^2]:

the samples' own scatter, and that of :math:`\langle b,\beta_*\rangle`, to which t reacts. Elsewhere, with
:math:`\mathrm{Var}((\omega+e\,y)\zeta_*)` for the reused batch, it estimates the order of magnitude: m
reacts to :math:`|b|^2` and to the neurons drawn as well.

Functions
---------
sample_weight     omega(t, y)
second_gradient   the limits of the part along :math:`He_k`
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.polynomial.hermite_e import hermegauss

from onestep_lib._checks import check_choice, check_count, check_real, shown
from onestep_lib.activations import Activation, Target
from onestep_lib.hermite import hermite
from onestep_lib.initialisation import Vocabulary
from onestep_lib.schedules import BATCHES
from onestep_lib.settings import Setting
from onestep_lib.small_step.gradient import gradient_of

__all__ = [
    "sample_weight",
    "second_gradient",
]

# Nodes for u, z and xi inside; for <beta_*, x>, t and the noise outside. A saturating activation is a step
# in z where a sample's shift is large, for which equally spaced nodes need half as many as Gauss-Hermite
# ones. Doubling all of them changes the limits of h_1, h_3 by less than 4e-3 of their size for tanh, s <= 1.
_INNER = (36, 45, 6)
_OUTER = (48, 14, 8)
_REACH = 7.0
# Inner averages taken at once: times the inner nodes, numbers in memory.
_BLOCK = 128


@dataclass(frozen=True, eq=False)
class SecondGradient:
    r"""The part :math:`h_k` of a second gradient in the limit.

    Parameters
    ----------
    target : float
        :math:`\langle h_k,\beta_*\rangle`.
    direction : float
        :math:`\langle h_k,b\rangle`, b the direction of the first gradient.
    power : float
        :math:`|h_k|^2`.
    scatter : float
        n times the variance of :math:`\langle h_k,\beta_*\rangle` over draws where m = 0; elsewhere its order
        of magnitude.
    """

    target: float
    direction: float
    power: float
    scatter: float = 0.0

    @property
    def overlap(self) -> float:
        r"""The squared cosine of h_k and :math:`\beta_*`; 0 where h_k vanishes."""
        return self.target**2 / self.power if self.power > 0 else 0.0

    def chance(self, samples: int) -> float:
        r"""What the fluctuations of a batch of n samples add to the squared overlap, scatter/(n power).

        Examples
        --------
        >>> from onestep_lib.beyond.second_step import SecondGradient
        >>> print(f"{SecondGradient(target=0.0, direction=0.0, power=0.5, scatter=7.0).chance(1400):.3f}")
        0.010
        """
        return self.scatter / (samples * self.power) if self.power > 0 else 0.0


def second_gradient(setting: Setting, order: int = 1, batch: str = "same") -> SecondGradient:
    r"""Return the limits of :math:`h_k`, k the order, after one step of the setting's size.

    The formulas are those of :mod:`onestep_lib.beyond.second_step`. Networks of N neurons add to
    :math:`|h_k|^2` a term of order 1/N.

    Parameters
    ----------
    setting : Setting
        With one step size, ``output="scaled"``, a Gaussian readout, a target without a mean and an activation
        without kinks.
    order : int
        k >= 1: the part of the gradient along :math:`He_k(\sqrt N a_j)`.
    batch : {"same", "fresh"}
        The first step's batch again, or one of the same number of samples.

    Returns
    -------
    SecondGradient

    Raises
    ------
    TypeError, ValueError
        If the setting is none of those, or an argument is not allowed.

    Examples
    --------
    >>> from onestep_lib import Setting
    >>> from onestep_lib.beyond import second_gradient
    >>> s = Setting(n=800, d=400, N=400, output="scaled", target=(0, 0, 0, 0.4), step=20)  # no linear part
    >>> for batch in ("same", "fresh"):
    ...     print(f"{second_gradient(s, order=1, batch=batch).overlap:.3f}")
    0.237
    0.000
    """
    batch = check_choice("batch", batch, BATCHES)
    target = _checked(setting)
    gradient = gradient_of(setting)
    phi, power = gradient.phi, gradient.labels.square
    spread = np.sqrt(phi * power)
    points, weights = _grid(_OUTER if setting.noise else (*_OUTER[:2], 1))
    zeta, normal, noise = points
    y = target(zeta) + setting.noise * noise
    t = target.linear * zeta + spread * normal
    omega = sample_weight(setting, t, y, order, batch)
    along, own, square = weights @ (omega * zeta), weights @ (omega * y), weights @ omega**2
    # Stein's lemma: E[f omega'] = E[f omega xi']/sqrt(phi E y^2) for any f of <beta_*, x>.
    steep, turned = (weights @ (omega * normal * f) / spread for f in (1.0, zeta**2))
    kept = float(batch == "same")
    scatter = _variance((omega + kept * turned * y) * zeta, weights)
    scatter += (1 - kept) * turned**2 * _variance(y * zeta, weights)
    return SecondGradient(
        target=float(along),
        direction=float(target.linear * along + spread**2 * steep + kept * phi * own),
        power=float(along**2 + (spread * steep) ** 2 + phi * square + kept * 2 * phi * steep * own),
        scatter=float(scatter),
    )


def sample_weight(
    setting: Setting, t: np.ndarray, y: np.ndarray, order: int = 1, batch: str = "same"
) -> np.ndarray:
    r"""Return the weight :math:`\omega(t,y)` with which samples enter :math:`h_k`, k the order.

    The formula is that of :mod:`onestep_lib.beyond.second_step`.

    Parameters
    ----------
    setting : Setting
        As for `second_gradient`.
    t, y : ndarray, shape (samples,)
        The first direction, made without a sample, at this sample; its label.
    order, batch
        As for `second_gradient`.

    Returns
    -------
    ndarray, shape (samples,)

    Raises
    ------
    TypeError, ValueError
        As `second_gradient`.

    Examples
    --------
    >>> import numpy as np
    >>> from onestep_lib import Setting
    >>> from onestep_lib.beyond import sample_weight
    >>> s = Setting(n=20, d=10, N=9, activation="identity", output="scaled", step=3, target=(0, 1))
    >>> sample_weight(s, np.zeros(1), np.ones(1)).round(6)  # y - step/sqrt(N) (t + phi y)
    array([0.5])
    """
    order, batch = check_count("order", order), check_choice("batch", batch, BATCHES)
    _checked(setting)
    t, y = check_real("t", t), check_real("y", y)
    if t.ndim != 1 or t.shape != y.shape:
        raise ValueError(f"t and y must have one shape (samples,), got {t.shape} and {y.shape}")
    gradient = gradient_of(setting)
    memory = gradient.phi if batch == "same" else 0.0
    s, private = float(setting.steps) / np.sqrt(setting.N), np.sqrt(gradient.spread)
    output, slope = _averages(setting.activation, t, y, memory, s, private, order)
    return (y - output) * slope


def _variance(values: np.ndarray, weights: np.ndarray) -> float:
    return float(weights @ values**2 - (weights @ values) ** 2)


def _checked(setting: Setting) -> Target:
    """The target, if the theory covers the setting."""
    setting.require_theory(stepped=True)
    if isinstance(setting.readout, Vocabulary):
        raise ValueError(f"readout must be one of 'gaussian', 'signs' here, got {shown(setting.readout)}")
    target = setting.single_index()
    setting.require_centred()
    setting.activation.require_slope()
    if setting.steps.ndim:
        raise ValueError(f"step must be one number for a second gradient, got {setting.step}")
    if setting.output != "scaled":
        raise ValueError(f"output must be 'scaled' for a second gradient, got {setting.output!r}")
    if setting.readout != "gaussian":
        raise ValueError(f"readout must be 'gaussian' for a second gradient, got {setting.readout!r}")
    if setting.activation.kinks:
        raise ValueError(f"activation must have no kinks here, got {setting.activation.name!r}")
    if gradient_of(setting).labels.square == 0:
        raise ValueError("target and noise must not both be 0: the gradient would vanish")
    return target


def _spaced(count: int, reach: float = _REACH) -> tuple[np.ndarray, np.ndarray]:
    """Equally spaced nodes for a Gaussian average: for smooth functions the error is exponentially small."""
    nodes = np.linspace(-reach, reach, count)
    mass = np.exp(-(nodes**2) / 2)
    return nodes, mass / mass.sum()


def _gauss(count: int) -> tuple[np.ndarray, np.ndarray]:
    nodes, mass = hermegauss(count)
    return nodes, mass / np.sqrt(2 * np.pi)


@lru_cache(maxsize=8)
def _grid(counts: tuple[int, ...], spaced: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Nodes of independent Gaussians, the first so many spaced: shape (variables, points), and weights."""
    rules = [(_spaced if k < spaced else _gauss)(count) for k, count in enumerate(counts)]
    nodes = np.meshgrid(*(rule[0] for rule in rules), indexing="ij")
    weights = np.ones(1)
    for _, mass in rules:
        weights = np.multiply.outer(weights, mass)
    return np.stack([node.ravel() for node in nodes]), weights.ravel()


def _averages(
    sigma: Activation,
    t: np.ndarray,
    y: np.ndarray,
    memory: float,
    s: float,
    private: float,
    order: int,
) -> tuple[np.ndarray, np.ndarray]:
    r"""The averages over neurons of :math:`z\sigma(u_+)` and of :math:`He_k(z)z\sigma'(u_+)`."""
    (u, z, xi), weights = _grid(_INNER, spaced=2)
    slope = sigma.require_slope()
    first, kth = weights * z, weights * z * hermite(order, z)[order]
    own = memory * slope(u)
    output, slopes = np.empty_like(t), np.empty_like(t)
    for start in range(0, t.size, _BLOCK):
        rows = slice(start, start + _BLOCK)
        shift = sigma.c1 * t[rows, None] + y[rows, None] * own + private * xi
        after = u + s * z * shift
        output[rows], slopes[rows] = sigma(after) @ first, slope(after) @ kth
    return output, slopes
