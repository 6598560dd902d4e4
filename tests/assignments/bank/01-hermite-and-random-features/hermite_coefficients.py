# %% right: numpy's own polynomials, one loop
from math import factorial

from numpy.polynomial.hermite_e import hermegauss, hermeval


def hermite_coefficients(function, order):
    z, w = hermegauss(120)
    w = w / w.sum()
    return [float(w @ (function(z) * hermeval(z, [0] * k + [1]))) / factorial(k) for k in range(order + 1)]


# %% right: a fine grid and the trapezoidal rule
def hermite_coefficients(function, order):
    z = np.linspace(-12, 12, 48001)
    density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    basis = [np.ones_like(z), z]
    while len(basis) <= order:
        k = len(basis)
        basis.append(z * basis[-1] - (k - 1) * basis[-2])
    total = [np.trapezoid(function(z) * basis[k] * density, z) for k in range(order + 1)]
    return np.array(total) / np.cumprod([1, *range(1, order + 1)])


# %% right: the library
from onestep_lib.hermite import hermite_coefficients as of_the_library


def hermite_coefficients(function, order):
    return of_the_library(function, order)


# %% right: adaptive quadrature of scipy
from math import factorial

from scipy.integrate import quad
from scipy.special import eval_hermitenorm


def hermite_coefficients(function, order):
    def value(k):
        f = lambda z: float(function(np.array([z]))[0]) * eval_hermitenorm(k, z) * np.exp(-z * z / 2)
        return quad(f, -12, 12, points=[0.0], limit=200)[0] / np.sqrt(2 * np.pi) / factorial(k)

    return np.array([value(k) for k in range(order + 1)])


# %% wrong: not divided by k! | the definition divides by k!
def hermite_coefficients(function, order):
    z, w = np.polynomial.hermite_e.hermegauss(100)
    w = w / w.sum()
    return np.array(
        [w @ (function(z) * np.polynomial.hermite_e.hermeval(z, [0] * k + [1])) for k in range(order + 1)]
    )


# %% wrong: normalised polynomials | divide by k!, not by its root
from math import factorial


def hermite_coefficients(function, order):
    z, w = np.polynomial.hermite_e.hermegauss(100)
    w = w / w.sum()
    series = np.polynomial.hermite_e.hermeval
    return np.array(
        [w @ (function(z) * series(z, [0] * k + [1])) / factorial(k) ** 0.5 for k in range(order + 1)]
    )


# %% wrong: weights that add to sqrt(2 pi) | the weights must add to one
from math import factorial


def hermite_coefficients(function, order):
    z, w = np.polynomial.hermite_e.hermegauss(100)
    series = np.polynomial.hermite_e.hermeval
    return np.array([w @ (function(z) * series(z, [0] * k + [1])) / factorial(k) for k in range(order + 1)])


# %% wrong: physicists' polynomials throughout | physicists' H_k
def hermite_coefficients(function, order):
    from math import factorial

    x, w = np.polynomial.hermite.hermgauss(100)
    w = w / w.sum()
    series = np.polynomial.hermite.hermval
    return np.array(
        [w @ (function(x) * series(x, [0] * k + [1])) / (2**k * factorial(k)) for k in range(order + 1)]
    )


# %% wrong: an average over unseeded draws | is expected
def hermite_coefficients(function, order):
    from math import factorial

    z = np.random.default_rng().standard_normal(100000)
    series = np.polynomial.hermite_e.hermeval
    return np.array(
        [np.mean(function(z) * series(z, [0] * k + [1])) / factorial(k) for k in range(order + 1)]
    )


# %% wrong: knows the visible case only | coefficients of a polynomial
def hermite_coefficients(function, order):
    return np.array([0.0, 3.0, 0.0, 1.0, 0.0, 0.0])[: order + 1]


# %% wrong: the coefficients of the power series | coefficients of z^3
def hermite_coefficients(function, order):
    z = np.linspace(-1, 1, 400)
    return np.polynomial.polynomial.polyfit(z, function(z), order)


# %% wrong: one coefficient short | shape
def hermite_coefficients(function, order):
    z, w = np.polynomial.hermite_e.hermegauss(100)
    return np.array([w @ function(z)] * order)


# %% wrong: prints and returns nothing | returned None
def hermite_coefficients(function, order):
    print(function(0), order)
