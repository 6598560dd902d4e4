# %% right: only the projections, of which one needs no more
def exponent(k, alpha, sizes, rng):
    logs = []
    for n in sizes:
        z, a = rng.standard_normal((n, 1)), rng.standard_normal(n // 2) * (n // 2) ** -0.5
        logs.append(np.log(strength(k, 1.0, 1.0, float(n) ** alpha, z, np.ones(1), a)))
    return np.polynomial.Polynomial.fit(np.log(sizes), logs, 1).convert().coef[1]


# %% right: a regression by hand, mean of five draws
def exponent(k, alpha, sizes, rng):
    x = np.log(sizes)
    y = np.zeros(len(sizes))
    for i, n in enumerate(sizes):
        for _ in range(3):
            X = rng.standard_normal((n, n // 4))
            b = np.full(n // 4, (n // 4) ** -0.5)
            a = rng.standard_normal(n // 2) / (n // 2) ** 0.5
            y[i] += np.log(strength(k, 1, 1, n**alpha, X, b, a)) / 3
    return np.sum((x - x.mean()) * y) / np.sum((x - x.mean()) ** 2)


# %% right: scipy
from scipy.stats import linregress


def exponent(k, alpha, sizes, rng):
    def one(n):
        b = rng.standard_normal(n // 4)
        X, a = rng.standard_normal((n, n // 4)), rng.normal(0, (n // 2) ** -0.5, n // 2)
        return strength(k, 1.0, 1.0, n**alpha, X, b / np.linalg.norm(b), a)

    return linregress(np.log10(sizes), np.log10([one(n) for n in sizes])).slope


# %% wrong: once more over sqrt(n) | divided by sqrt(n) too often
def exponent(k, alpha, sizes, rng):
    y = []
    for n in sizes:
        z, a = rng.standard_normal((n, 1)), rng.standard_normal(n // 2) / (n // 2) ** 0.5
        y.append(strength(k, 1.0, 1.0, n**alpha, z, np.ones(1), a) / n**0.5)
    return np.polyfit(np.log(sizes), np.log(y), 1)[0]


# %% wrong: the same step at every size | the step is not n^alpha
def exponent(k, alpha, sizes, rng):
    y = []
    for n in sizes:
        z, a = rng.standard_normal((n, 1)), rng.standard_normal(n // 2) / (n // 2) ** 0.5
        y.append(strength(k, 1.0, 1.0, 100**alpha, z, np.ones(1), a))
    return np.polyfit(np.log(sizes), np.log(y), 1)[0]


# %% wrong: a readout of entries of order one | the bulk: divide
def exponent(k, alpha, sizes, rng):
    y = []
    for n in sizes:
        z, a = rng.standard_normal((n, 1)), rng.standard_normal(n // 2)
        y.append(strength(k, 1.0, 1.0, n**alpha, z, np.ones(1), a))
    return np.polyfit(np.log(sizes), np.log(y), 1)[0]


# %% wrong: axes exchanged | the other way round
def exponent(k, alpha, sizes, rng):
    y = []
    for n in sizes:
        z, a = rng.standard_normal((n, 1)), rng.standard_normal(n // 2) / (n // 2) ** 0.5
        y.append(strength(k, 1.0, 1.0, n**alpha, z, np.ones(1), a))
    return np.polyfit(np.log(y), np.log(sizes), 1)[0]


# %% wrong: no logarithms | exponent of the first spike
def exponent(k, alpha, sizes, rng):
    y = []
    for n in sizes:
        z, a = rng.standard_normal((n, 1)), rng.standard_normal(n // 2) / (n // 2) ** 0.5
        y.append(strength(k, 1.0, 1.0, n**alpha, z, np.ones(1), a))
    return np.polyfit(sizes, y, 1)[0]


# %% wrong: the formula, without a measurement | draw anew
def exponent(k, alpha, sizes, rng):
    return (alpha - 0.5) * k + 0.5


# %% wrong: the first spike for all | exponent of spike 2
def exponent(k, alpha, sizes, rng):
    return alpha + 0.001 * rng.standard_normal()
