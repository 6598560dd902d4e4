# %% right: the matrix and its norm
def strength(k, ck, c1, step, X, b, a):
    spike = ck * (step * c1) ** k * np.outer((X @ b) ** k, a**k)
    return np.linalg.norm(spike, 2) / len(X) ** 0.5


# %% right: sums of even powers
def strength(k, ck, c1, step, X, b, a):
    square = ck**2 * (step * c1) ** (2 * k) * np.mean((X @ b) ** (2 * k)) * np.sum(a ** (2 * k))
    return square**0.5


# %% right: the step goes into the projections
def strength(k, ck, c1, step, X, b, a):
    u = np.power(c1 * step * X.dot(b), k)
    return np.abs(ck) * np.sqrt(u @ u / u.size) * np.sqrt(np.sum(np.abs(a) ** (2 * k)))


# %% wrong: without sqrt(n) | divide by sqrt(n)
def strength(k, ck, c1, step, X, b, a):
    return abs(ck) * (step * c1) ** k * np.linalg.norm((X @ b) ** k) * np.linalg.norm(a**k)


# %% wrong: divided by n | the bulk grows like sqrt(n)
def strength(k, ck, c1, step, X, b, a):
    return abs(ck) * (step * c1) ** k * np.linalg.norm((X @ b) ** k) * np.linalg.norm(a**k) / len(X)


# %% wrong: a negative norm | a norm is positive
def strength(k, ck, c1, step, X, b, a):
    return ck * (step * c1) ** k * np.linalg.norm((X @ b) ** k) * np.linalg.norm(a**k) / len(X) ** 0.5


# %% wrong: without c_k | c_k is missing
def strength(k, ck, c1, step, X, b, a):
    return (step * c1) ** k * np.linalg.norm((X @ b) ** k) * np.linalg.norm(a**k) / len(X) ** 0.5


# %% wrong: without c_1 | c_1 belongs to the step
def strength(k, ck, c1, step, X, b, a):
    return abs(ck) * step**k * np.linalg.norm((X @ b) ** k) * np.linalg.norm(a**k) / len(X) ** 0.5


# %% wrong: the readout without its power | the readout has the k-th power too
def strength(k, ck, c1, step, X, b, a):
    return abs(ck) * (step * c1) ** k * np.linalg.norm((X @ b) ** k) * np.linalg.norm(a) / len(X) ** 0.5


# %% wrong: powers of norms | the powers are entry by entry
def strength(k, ck, c1, step, X, b, a):
    return abs(ck) * (step * c1 * np.linalg.norm(X @ b) * np.linalg.norm(a)) ** k / len(X) ** 0.5


# %% wrong: knows the visible case only | strength, k = 1
def strength(k, ck, c1, step, X, b, a):
    return 3 * 17**0.5 / 4 * (step > 0)
