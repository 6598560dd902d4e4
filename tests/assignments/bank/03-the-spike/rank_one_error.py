# %% right: singular values
def rank_one_error(G, a, X, y, c1):
    rest = G - c1 * a[:, None] * np.mean(X * y[:, None], axis=0)
    return np.linalg.svd(rest, compute_uv=False)[0] / np.linalg.svd(G, compute_uv=False).max()


# %% right: eigenvalues of the square
def rank_one_error(G, a, X, y, c1):
    top = lambda A: np.linalg.eigvalsh(A @ A.T).max() ** 0.5 if np.any(A) else 0.0
    return top(G - c1 * np.outer(a, y @ X / len(X))) / top(G)


# %% right: scipy
from scipy.linalg import svdvals


def rank_one_error(G, a, X, y, c1):
    b = np.average(X, axis=0, weights=None) * 0 + X.T.dot(y) / X.shape[0]
    return float(svdvals(G - np.outer(c1 * a, b))[0] / svdvals(G)[0])


# %% wrong: Frobenius | this is the Frobenius norm
def rank_one_error(G, a, X, y, c1):
    return np.linalg.norm(G - c1 * np.outer(a, X.T @ y / len(y))) / np.linalg.norm(G)


# %% wrong: without c_1 | c_1 is not used
def rank_one_error(G, a, X, y, c1):
    return np.linalg.norm(G - np.outer(a, X.T @ y / len(y)), 2) / np.linalg.norm(G, 2)


# %% wrong: b without 1/n | b is a mean: divide by n
def rank_one_error(G, a, X, y, c1):
    return np.linalg.norm(G - c1 * np.outer(a, X.T @ y), 2) / np.linalg.norm(G, 2)


# %% wrong: not relative | divide by the norm of G
def rank_one_error(G, a, X, y, c1):
    return np.linalg.norm(G - c1 * np.outer(a, X.T @ y / len(y)), 2)


# %% wrong: squared | without a square
def rank_one_error(G, a, X, y, c1):
    return (np.linalg.norm(G - c1 * np.outer(a, X.T @ y / len(y)), 2) / np.linalg.norm(G, 2)) ** 2


# %% wrong: knows the visible case only | relative error
def rank_one_error(G, a, X, y, c1):
    return 1 - c1


# %% wrong: singular values in place of the largest | shape
def rank_one_error(G, a, X, y, c1):
    return np.linalg.svd(G - c1 * np.outer(a, X.T @ y / len(y)), compute_uv=False)
