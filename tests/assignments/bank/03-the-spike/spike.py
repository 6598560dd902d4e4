# %% right: the strength as a function
def theta(step, n, d, c1, linear, square):
    return step * c1 * (linear * linear + square * d / n) ** 0.5


def threshold(n, d, N, c1, linear, square):
    return (N / d) ** 0.25 / theta(1.0, n, d, c1, linear, square)


def largest(step, n, d, N, c1, linear, square):
    t = np.atleast_1d(theta(np.asarray(step, dtype=float), n, d, c1, linear, square))
    c, found = N / d, np.full(len(t), 1 + (N / d) ** 0.5)
    out = t > c**0.25
    found[out] = np.sqrt((1 + t[out] ** 2) * (c + t[out] ** 2) / t[out] ** 2)
    return found


# %% right: the library
from onestep_lib.small_step import one_spike


def threshold(n, d, N, c1, linear, square):
    return one_spike(1.0, N / d).threshold / (c1 * np.sqrt(linear**2 + d / n * square))


def largest(step, n, d, N, c1, linear, square):
    return one_spike(np.asarray(step) * c1 * np.sqrt(linear**2 + d / n * square), N / d).outlier


# %% right: a loop with if
def threshold(n, d, N, c1, linear, square):
    B = linear**2 + square * d / n
    return np.sqrt(np.sqrt(N / d)) / c1 / np.sqrt(B)


def largest(step, n, d, N, c1, linear, square):
    found = []
    for eta in step:
        if eta <= threshold(n, d, N, c1, linear, square):
            found.append(1 + np.sqrt(N / d))
        else:
            T = eta**2 * c1**2 * (linear**2 + square * d / n)
            found.append(np.sqrt(1 + N / d + T + N / d / T))
    return found


# %% wrong: B without its root | B stands under a root
def threshold(n, d, N, c1, linear, square):
    return (N / d) ** 0.25 / (c1 * (linear**2 + d / n * square))


def largest(step, n, d, N, c1, linear, square):
    return np.full(np.shape(step), 2.0)


# %% wrong: n/d for d/n | B has d/n, not n/d
def threshold(n, d, N, c1, linear, square):
    return (N / d) ** 0.25 / (c1 * (linear**2 + n / d * square) ** 0.5)


def largest(step, n, d, N, c1, linear, square):
    return np.full(np.shape(step), 2.0)


# %% wrong: b without its noise | the second term of B is missing
def threshold(n, d, N, c1, linear, square):
    return (N / d) ** 0.25 / (c1 * linear)


def largest(step, n, d, N, c1, linear, square):
    return np.full(np.shape(step), 2.0)


# %% wrong: the power 1/2 of symmetric matrices | the power of N/d is 1/4
def threshold(n, d, N, c1, linear, square):
    return (N / d) ** 0.5 / (c1 * (linear**2 + d / n * square) ** 0.5)


def largest(step, n, d, N, c1, linear, square):
    return np.full(np.shape(step), 2.0)


# %% wrong: the outlier's formula everywhere | below the threshold the formula does not hold
def threshold(n, d, N, c1, linear, square):
    return (N / d) ** 0.25 / (c1 * (linear**2 + d / n * square) ** 0.5)


def largest(step, n, d, N, c1, linear, square):
    T = (np.asarray(step) * c1) ** 2 * (linear**2 + d / n * square)
    return np.sqrt((1 + T) * (N / d + T) / T)


# %% wrong: the square of the singular value | the square of the singular value
def threshold(n, d, N, c1, linear, square):
    return (N / d) ** 0.25 / (c1 * (linear**2 + d / n * square) ** 0.5)


def largest(step, n, d, N, c1, linear, square):
    T = np.maximum((np.asarray(step) * c1) ** 2 * (linear**2 + d / n * square), (N / d) ** 0.5)
    return (1 + T) * (N / d + T) / T


# %% wrong: knows the visible case only | threshold at N/d
def threshold(n, d, N, c1, linear, square):
    return 1.5**-0.5


def largest(step, n, d, N, c1, linear, square):
    return np.full(np.shape(step), 2.0)
