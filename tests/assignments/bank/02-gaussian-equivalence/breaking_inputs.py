# %% right: Student's law, one factor an input
def breaking_inputs(n, d, rng):
    scale = np.sqrt(5 / rng.chisquare(5, size=(n, 1)))  # E scale^2 = 5 / 3
    return scale * rng.standard_normal((n, d)) / np.sqrt(5 / 3)


# %% right: log-normal lengths on the sphere
def breaking_inputs(n, d, rng):
    X = rng.standard_normal((n, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    s = 0.6
    return np.sqrt(d) * np.exp(s * rng.standard_normal((n, 1)) - s**2) * X


# %% right: signs, a quarter of them long
def breaking_inputs(n, d, rng):
    long = rng.random(n) < 0.25
    r = np.where(long, np.sqrt(3.1), np.sqrt(0.3))
    return r[:, None] * rng.choice([-1.0, 1.0], size=(n, d))


# %% wrong: Gaussian | do your lengths |x| vary
def breaking_inputs(n, d, rng):
    return rng.standard_normal((n, d))


# %% wrong: independent signs, whose lengths are all the same | do your lengths |x| vary
def breaking_inputs(n, d, rng):
    return rng.choice([-1.0, 1.0], size=(n, d))


# %% wrong: one length for all, twice too long | the covariance must be I: the mean variance
def breaking_inputs(n, d, rng):
    return 2 * rng.standard_normal((n, d))


# %% wrong: a mean | the mean must be zero
def breaking_inputs(n, d, rng):
    return 0.5 + np.sqrt(0.75) * rng.standard_normal((n, d))


# %% wrong: without the generator | draw everything from `rng`
def breaking_inputs(n, d, rng):
    free = np.random.default_rng()
    return np.sqrt(free.choice([0.2, 1.8], size=(n, 1))) * free.standard_normal((n, d))


# %% wrong: correlated coordinates | coordinates are correlated
def breaking_inputs(n, d, rng):
    return np.sqrt(0.5) * (rng.standard_normal((n, d)) + rng.standard_normal((n, 1)))


# %% wrong: uniform coordinates | do your lengths |x| vary
def breaking_inputs(n, d, rng):
    return rng.uniform(-(3**0.5), 3**0.5, size=(n, d))


# %% wrong: a constant | all rows are equal
def breaking_inputs(n, d, rng):
    return np.ones((n, d))


# %% wrong: variances that differ between coordinates | coordinates differ in their variance
def breaking_inputs(n, d, rng):
    scale = np.where(np.arange(d) % 2, np.sqrt(1.8), np.sqrt(0.2))
    return scale * rng.standard_normal((n, d))
